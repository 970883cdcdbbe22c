/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log/log.h"
#include "tests/unit/json.h"

/* One log per process: each test has destinations of its own, so that they
 * pass with CK_FORK=no too. */
static struct log_settings settings;
static char got[16384];

/* A pipe that the log writes to as fd:N; answers with the end to read. */
static int log_to_pipe(enum log_format format, uint32_t burst, int64_t per)
{
	int p[2];

	ck_assert_int_eq(pipe(p), 0);
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	settings = (struct log_settings){
		.to = LOG_TO_FD, .fd = p[1], .level = LOG_INFO_LEVEL, .format = format,
		.burst = burst, .per = per,
	};
	log_identify(p[1]);
	log_configure(&settings);
	return p[0];
}

static const char *take(int fd)
{
	ssize_t n = read(fd, got, sizeof(got) - 1);

	got[n > 0 ? n : 0] = '\0';
	return got;
}

static unsigned count(const char *text, const char *part)
{
	unsigned n = 0;

	for (; (text = strstr(text, part)) != NULL; text += strlen(part))
		n++;
	return n;
}

static void emit(const char *dest)
{
	const struct event e = {
		.kind = EVENT_RETRY, .op = OP_CONNECT, .dest = dest, .attempt = 1,
		.max_attempts = 5, .error = { ERR_ERRNO, ECONNREFUSED }, .left = DUR_NONE,
	};

	errno = 77;
	log_emit(&e);
	ck_assert_int_eq(errno, 77);
}

static void emit_config(enum log_level level)
{
	const struct event e = { .kind = EVENT_CONFIG, .level = level, .message = "hello there" };

	log_emit(&e);
}

START_TEST(silent_until_configured)
{
	int fd;

	log_configure(NULL);
	ck_assert(!log_wants(LOG_ERROR_LEVEL));
	emit("a:1");
	log_flush();
	fd = log_to_pipe(LOG_TEXT, 20, DUR_S);
	ck_assert(log_wants(LOG_ERROR_LEVEL));
	ck_assert_str_eq(take(fd), "");
	settings.to = LOG_TO_NONE;
	ck_assert(!log_wants(LOG_ERROR_LEVEL));
	emit("a:1");
	ck_assert_str_eq(take(fd), "");
}
END_TEST

START_TEST(level_decides)
{
	int fd = log_to_pipe(LOG_TEXT, 20, DUR_S);

	ck_assert(log_wants(LOG_INFO_LEVEL));
	ck_assert(!log_wants(LOG_DEBUG_LEVEL));
	emit_config(LOG_DEBUG_LEVEL);
	ck_assert_str_eq(take(fd), "");
	emit_config(LOG_INFO_LEVEL);
	ck_assert_ptr_nonnull(strstr(take(fd), "] INFO config hello there\n"));
	settings.level = LOG_ERROR_LEVEL;
	emit("a:1");
	emit_config(LOG_WARN_LEVEL);
	ck_assert_str_eq(take(fd), "");
	emit_config(LOG_ERROR_LEVEL);
	ck_assert_ptr_nonnull(strstr(take(fd), "] ERROR config hello there\n"));
}
END_TEST

START_TEST(stamps_time_and_process)
{
	int fd = log_to_pipe(LOG_TEXT, 20, DUR_S), year;
	char tail[64];
	time_t now = time(NULL);
	long pid;

	emit("a:1");
	ck_assert_int_eq(sscanf(take(fd), "%d-%*d-%*dT%*d:%*d:%*d.%*dZ libretry[%ld] %63s", &year,
	                        &pid, tail), 3);
	ck_assert_int_eq(pid, getpid());
	ck_assert_str_eq(tail, "WARN");
	/* Near enough, whatever the moment: a year has 31556952 seconds. */
	ck_assert_int_le(labs((long)(now / 31556952 + 1970) - year), 1);
	settings.format = LOG_JSON;
	emit("a:1");
	ck_assert(json_valid(take(fd)));
}
END_TEST

START_TEST(flood_is_held_and_summed_up)
{
	int fd = log_to_pipe(LOG_TEXT, 2, 3600 * DUR_S);

	for (int i = 0; i < 5; i++)
		emit("db1:5432");
	emit("db2:5432");
	take(fd);
	ck_assert_uint_eq(count(got, "retry op=connect dest=db1:5432"), 2);
	ck_assert_uint_eq(count(got, "dest=db2:5432"), 1);
	log_flush();
	ck_assert_uint_eq(count(take(fd), "\n"), 1);
	ck_assert_ptr_nonnull(strstr(got, "] WARN suppressed dest=db1:5432 lines=3\n"));
	log_flush();
	ck_assert_str_eq(take(fd), "");
}
END_TEST

static void emit_end(enum event_kind kind, const char *dest)
{
	const struct event e = {
		.kind = kind, .op = OP_CONNECT, .dest = dest, .attempts = 5,
		.error = { ERR_ERRNO, ECONNREFUSED }, .reason = REASON_ATTEMPTS,
	};

	log_emit(&e);
}

/* An outage is counted by how calls ended; their retries do not use up these lines, and
 * they are bounded as well. */
START_TEST(ends_of_calls_have_a_limit_of_their_own)
{
	int fd = log_to_pipe(LOG_TEXT, 2, 3600 * DUR_S);

	for (int i = 0; i < 12; i++)
		emit("end:1");
	emit_end(EVENT_RECOVERED, "end:1");
	emit_end(EVENT_ABANDONED, "end:1");
	for (int i = 0; i < 30; i++)
		emit_end(EVENT_GAVE_UP, "end:1");
	emit("end:1");
	take(fd);
	ck_assert_uint_eq(count(got, "retry op="), 2);
	ck_assert_uint_eq(count(got, "recovered op="), 1);
	ck_assert_uint_eq(count(got, "abandoned op="), 1);
	ck_assert_uint_eq(count(got, "gave-up op="), 2 * LOG_OUTCOMES - 2);
	log_flush();
	take(fd);
	ck_assert_uint_eq(count(got, "suppressed dest=end:1 lines=11\n"), 1);
	ck_assert_uint_eq(count(got, "suppressed dest=end:1 lines=12\n"), 1);
	ck_assert_uint_eq(count(got, "\n"), 2);
	emit_end(EVENT_GAVE_UP, "end:1");
	log_postfork_child();
	log_flush();
	ck_assert_str_eq(take(fd), "");
}
END_TEST

/* The most that can be said is no number that wraps round. */
START_TEST(ends_of_calls_without_a_limit)
{
	int fd = log_to_pipe(LOG_TEXT, UINT32_MAX / 2, 3600 * DUR_S);

	for (int i = 0; i < 20; i++)
		emit_end(EVENT_GAVE_UP, "end:2");
	ck_assert_uint_eq(count(take(fd), "gave-up op="), 20);
}
END_TEST

START_TEST(summary_comes_with_the_next_window)
{
	int fd = log_to_pipe(LOG_TEXT, 1, DUR_MS);
	unsigned summaries = 0, lines = 0, emitted = 0, told = 0;

	/* The clock moves while we work; each turn writes something or not. */
	while (summaries < 3) {
		char *at;

		emit("db1:5432");
		emitted++;
		take(fd);
		lines += count(got, "] WARN retry");
		at = strstr(got, "suppressed dest=db1:5432 lines=");
		if (at) {
			summaries++;
			told += (unsigned)atoi(strstr(at, "lines=") + strlen("lines="));
			/* Before the line that the new window begins with. */
			ck_assert_ptr_nonnull(strstr(at, "] WARN retry"));
		}
	}
	ck_assert_uint_gt(told, 0);
	ck_assert_uint_eq(lines + told, emitted);
}
END_TEST

START_TEST(lines_without_destination_are_counted_by_kind)
{
	const struct event e = { .kind = EVENT_RETRY, .attempt = 1 };
	int fd = log_to_pipe(LOG_TEXT, 2, 3600 * DUR_S);

	for (int i = 0; i < 5; i++)
		log_emit(&e);
	ck_assert_uint_eq(count(take(fd), "WARN retry"), 2);
	/* The summary is told although its own level is below the setting. */
	settings.level = LOG_ERROR_LEVEL;
	log_flush();
	ck_assert_ptr_nonnull(strstr(take(fd), "] WARN suppressed lines=3\n"));
}
END_TEST

START_TEST(stderr_only_as_it_was_at_the_start)
{
	int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100), first, second;
	uint32_t dropped;

	first = log_to_pipe(LOG_TEXT, 1000, DUR_S);
	dup2(settings.fd, STDERR_FILENO);
	settings.to = LOG_TO_STDERR;
	log_start();
	emit("a:1");
	ck_assert_uint_eq(count(take(first), "\n"), 1);
	/* As fd:2 it is the same guard. */
	settings.to = LOG_TO_FD;
	settings.fd = STDERR_FILENO;
	log_configure(&settings);
	emit("a:1");
	ck_assert_uint_eq(count(take(first), "\n"), 1);

	/* The program puts something else there. */
	second = log_to_pipe(LOG_TEXT, 1000, DUR_S);
	dup2(settings.fd, STDERR_FILENO);
	settings.to = LOG_TO_STDERR;
	dropped = log_dropped();
	emit("a:1");
	ck_assert_str_eq(take(second), "");
	ck_assert_uint_eq(log_dropped(), dropped + 1);

	/* Closed at the start, a pipe later. */
	close(STDERR_FILENO);
	log_start();
	dup2(settings.fd, STDERR_FILENO);
	emit("a:1");
	ck_assert_str_eq(take(second), "");
	dup2(saved, STDERR_FILENO);
}
END_TEST

START_TEST(reused_descriptor_number_is_left_alone)
{
	int first = log_to_pipe(LOG_TEXT, 1000, DUR_S), other[2];

	emit("a:1");
	ck_assert_uint_eq(count(take(first), "\n"), 1);
	ck_assert_int_eq(pipe(other), 0);
	fcntl(other[0], F_SETFL, O_NONBLOCK);
	dup2(other[1], settings.fd);
	emit("a:1");
	/* Reading the settings again does not make it ours. */
	log_configure(&settings);
	emit("a:1");
	ck_assert_str_eq(take(other[0]), "");
}
END_TEST

START_TEST(child_does_not_tell_the_parents_counts)
{
	int fd = log_to_pipe(LOG_TEXT, 1, 3600 * DUR_S), status;
	pid_t pid;

	for (int i = 0; i < 4; i++)
		emit("child:1");
	take(fd);
	pid = fork();
	if (pid == 0) {
		log_postfork_child();
		log_flush();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_str_eq(take(fd), "");
	log_flush();
	ck_assert_uint_eq(count(take(fd), "lines=3"), 1);
}
END_TEST

enum { THREADS = 3, LINES = 400 };

static unsigned interrupts;

static void on_alarm(int signo)
{
	const struct event e = { .kind = EVENT_STOPPING, .signal = signo };

	log_emit(&e);
	__atomic_fetch_add(&interrupts, 1, __ATOMIC_RELAXED);
}

static void *writer(void *arg)
{
	char dest[16];

	for (int i = 0; i < LINES; i++) {
		const struct event e = { .kind = EVENT_RECOVERED, .dest = dest };

		snprintf(dest, sizeof(dest), "%s%d", (const char *)arg, i % 100);
		log_emit(&e);
	}
	return NULL;
}

/* Threads and signal handlers, in the middle of everything: whole lines, and
 * none is lost. */
START_TEST(threads_and_handlers_write_whole_lines)
{
	static char text[1024];
	const struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	pthread_t threads[THREADS];
	FILE *file = tmpfile();
	unsigned lines = 0;

	ck_assert_ptr_nonnull(file);
	settings = (struct log_settings){
		.to = LOG_TO_FILE, .level = LOG_INFO_LEVEL, .format = LOG_JSON,
		.burst = UINT32_MAX, .per = DUR_S,
	};
	snprintf(settings.path, sizeof(settings.path), "/proc/self/fd/%d", fileno(file));
	log_configure(&settings);
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, writer, (char *)"x\0y\0z" + 2 * i);
	/* Not before: qemu-i386 breaks a thread that is made while a signal comes. */
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	while (fgets(text, sizeof(text), file)) {
		ck_assert_msg(json_valid(text), "%s", text);
		lines++;
	}
	ck_assert_uint_gt(interrupts, 0);
	ck_assert_uint_eq(lines, THREADS * LINES + interrupts);
	fclose(file);
}
END_TEST

/* Of all failures, whatever the log itself is told; of nothing else. */
START_TEST(timeline_has_every_failure)
{
	char path[] = "/tmp/libretry-log-XXXXXX";
	int fd = mkstemp(path);
	uint32_t lost;

	ck_assert_int_ge(fd, 0);
	log_to_pipe(LOG_JSON, 1, 3600 * DUR_S);
	settings.to = LOG_TO_NONE;
	ck_assert(!log_wants(LOG_ERROR_LEVEL));
	snprintf(settings.timeline, sizeof(settings.timeline), "%s", path);
	ck_assert(log_wants(LOG_ERROR_LEVEL));
	ck_assert(!log_wants(LOG_DEBUG_LEVEL));
	for (int i = 0; i < 5; i++)
		emit("t:1");
	emit_end(EVENT_GAVE_UP, "t:1");
	emit_end(EVENT_RECOVERED, "t:1");
	emit_end(EVENT_ABANDONED, "t:1");
	emit_config(LOG_ERROR_LEVEL);
	take(fd);
	ck_assert_uint_eq(count(got, "] WARN retry op=connect dest=t:1 attempt=1/5 "), 5);
	ck_assert_uint_eq(count(got, "] ERROR gave-up op=connect dest=t:1 "), 1);
	ck_assert_uint_eq(count(got, "] INFO recovered op=connect dest=t:1 "), 1);
	ck_assert_uint_eq(count(got, "\n"), 7);
	close(fd);
	unlink(path);
	/* A folder that is not there is nobody's trouble. */
	lost = log_dropped();
	snprintf(settings.timeline, sizeof(settings.timeline), "%s/x", path);
	emit("t:1");
	ck_assert_uint_eq(log_dropped(), lost);
}
END_TEST

/* Nor is a full disk under it any matter of the log's lines. */
START_TEST(timeline_without_room)
{
	int fd = log_to_pipe(LOG_TEXT, 10, 3600 * DUR_S);

	strcpy(settings.timeline, "/dev/full");
	emit("t:1");
	emit("t:1");
	take(fd);
	ck_assert_uint_eq(count(got, "] WARN retry op=connect dest=t:1 "), 2);
	ck_assert_uint_eq(count(got, "\n"), 2);
}
END_TEST

UNIT_MAIN("log", &silent_until_configured, &level_decides, &stamps_time_and_process,
          &flood_is_held_and_summed_up, &ends_of_calls_have_a_limit_of_their_own,
          &ends_of_calls_without_a_limit, &summary_comes_with_the_next_window,
          &lines_without_destination_are_counted_by_kind,
          &stderr_only_as_it_was_at_the_start, &reused_descriptor_number_is_left_alone,
          &child_does_not_tell_the_parents_counts, &timeline_has_every_failure,
          &timeline_without_room, &threads_and_handlers_write_whole_lines)
