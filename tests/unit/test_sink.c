/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "log/sink.h"

#define TEXT "2026-11-29T18:31:37.123Z libretry[42] WARN retry op=connect\n"

static const struct sink_line line = {
	.text = TEXT, .len = sizeof(TEXT) - 1, .level = LOG_WARN_LEVEL, .format = LOG_TEXT, .pid = 42
};

static char folder[64];
static char got[4096];

static const char *path(const char *name)
{
	static char paths[4][128];
	static unsigned turn;
	char *p = paths[turn++ % ARRAY_LEN(paths)];

	if (!folder[0]) {
		snprintf(folder, sizeof(folder), "%s/lr-sink-XXXXXX",
		         getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
		ck_assert_ptr_nonnull(mkdtemp(folder));
	}
	snprintf(p, sizeof(paths[0]), "%s/%s", folder, name);
	return p;
}

/* Removes the folder and what is in it, one level deep. */
static void clean(void)
{
	static const char *const names[] = { "log", "log.1", "link", "fifo", "sock" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		unlink(path(names[i]));
		rmdir(path(names[i]));
	}
	ck_assert_int_eq(rmdir(folder), 0);
	folder[0] = '\0';
}

static const char *take(int fd)
{
	ssize_t n = read(fd, got, sizeof(got) - 1);

	got[n > 0 ? n : 0] = '\0';
	return got;
}

static const char *contents(const char *name)
{
	int fd = open(path(name), O_RDONLY);

	if (fd < 0)
		return NULL;
	take(fd);
	close(fd);
	return got;
}

/* The sink as it is, and around it what must not change: errno, the signal
 * mask, pending signals, the next free descriptor. */
static bool checked(int kind, const char *to, int fd, const struct sink_id *id)
{
	sigset_t mask, mask_after, pending, pending_after;
	int next = dup(STDERR_FILENO), next_after;
	bool result;

	close(next);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigpending(&pending);
	errno = 77;
	switch (kind) {
	case LOG_TO_FILE:
		result = sink_to_file(to, &line);
		break;
	case LOG_TO_UNIX:
		result = sink_to_unix(to, &line);
		break;
	case LOG_TO_SYSLOG:
		result = sink_to_syslog(to, &line);
		break;
	default:
		result = sink_to_fd(fd, id, &line);
		break;
	}
	ck_assert_int_eq(errno, 77);
	sigprocmask(SIG_SETMASK, NULL, &mask_after);
	sigpending(&pending_after);
	for (int s = 1; s < 32; s++) {
		ck_assert_int_eq(sigismember(&mask, s), sigismember(&mask_after, s));
		ck_assert_int_eq(sigismember(&pending, s), sigismember(&pending_after, s));
	}
	next_after = dup(STDERR_FILENO);
	close(next_after);
	ck_assert_int_eq(next, next_after);
	return result;
}

static bool to_file(const char *name)
{
	return checked(LOG_TO_FILE, path(name), -1, NULL);
}

static bool to_fd(int fd)
{
	struct sink_id id;

	sink_identify(&id, fd);
	return checked(LOG_TO_FD, NULL, fd, &id);
}

START_TEST(file_is_created_and_appended)
{
	struct stat st;
	mode_t mask = umask(0);

	ck_assert(to_file("log"));
	umask(mask);
	ck_assert(to_file("log"));
	ck_assert_str_eq(contents("log"), TEXT TEXT);
	ck_assert_int_eq(stat(path("log"), &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640);
	clean();
}
END_TEST

START_TEST(odd_files_are_dropped)
{
	ck_assert_int_eq(mkdir(path("log"), 0700), 0);
	ck_assert(!to_file("log"));
	ck_assert(!to_file("missing/log"));
	ck_assert_int_eq(symlink("missing/log", path("link")), 0);
	ck_assert(!to_file("link"));
	unlink(path("link"));
	ck_assert_int_eq(symlink("link", path("link")), 0);
	ck_assert(!to_file("link"));
	ck_assert(!checked(LOG_TO_FILE, "", -1, NULL));
	/* A full disk. */
	ck_assert(!checked(LOG_TO_FILE, "/dev/full", -1, NULL));
	ck_assert(checked(LOG_TO_FILE, "/dev/null", -1, NULL));
	clean();
}
END_TEST

START_TEST(fifo_never_waits)
{
	int reader;
	size_t lines = 0;

	ck_assert_int_eq(mkfifo(path("fifo"), 0600), 0);
	ck_assert(!to_file("fifo"));
	reader = open(path("fifo"), O_RDONLY | O_NONBLOCK);
	ck_assert(to_file("fifo"));
	ck_assert_str_eq(take(reader), TEXT);
	while (to_file("fifo"))
		lines++;
	ck_assert_uint_gt(lines, 10);
	/* Whole lines only, up to the brim. */
	for (ssize_t n, total = 0;; total += n) {
		n = read(reader, got, sizeof(got));
		if (n <= 0) {
			ck_assert_uint_eq((size_t)total, lines * line.len);
			break;
		}
	}
	close(reader);
	clean();
}
END_TEST

static void make_file(const char *name, off_t size)
{
	int fd = open(path(name), O_WRONLY | O_CREAT, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, size), 0);
	close(fd);
}

static off_t size_of(const char *name)
{
	struct stat st;

	return stat(path(name), &st) == 0 ? st.st_size : -1;
}

START_TEST(large_file_is_renamed_once)
{
	make_file("log", SINK_FILE_MAX - 1);
	ck_assert(to_file("log"));
	ck_assert_int_eq(size_of("log"), SINK_FILE_MAX - 1 + (off_t)line.len);
	ck_assert_int_eq(size_of("log.1"), -1);
	ck_assert(to_file("log"));
	ck_assert_str_eq(contents("log"), TEXT);
	ck_assert_int_eq(size_of("log.1"), SINK_FILE_MAX - 1 + (off_t)line.len);
	/* The next time it replaces the old one. */
	make_file("log", SINK_FILE_MAX + 5);
	ck_assert(to_file("log"));
	ck_assert_int_eq(size_of("log.1"), SINK_FILE_MAX + 5);
	ck_assert_str_eq(contents("log"), TEXT);
	clean();
}
END_TEST

START_TEST(large_file_that_cannot_be_renamed_stops_growing)
{
	struct stat st;

	make_file("log", SINK_FILE_MAX);
	ck_assert_int_eq(symlink("log", path("link")), 0);
	ck_assert(!to_file("link"));
	ck_assert_int_eq(lstat(path("link"), &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_int_eq(mkdir(path("log.1"), 0700), 0);
	ck_assert(!to_file("log"));
	ck_assert_int_eq(size_of("log"), SINK_FILE_MAX);
	clean();
}
END_TEST

/* No assertion under the limit: Check itself writes to a file. */
START_TEST(file_size_limit_kills_nobody)
{
	struct rlimit old, zero;
	const char *log = path("log");
	sigset_t pending;
	bool taken;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	zero = (struct rlimit){ 0, old.rlim_max };
	signal(SIGXFSZ, SIG_DFL);
	setrlimit(RLIMIT_FSIZE, &zero);
	taken = sink_to_file(log, &line);
	sigpending(&pending);
	setrlimit(RLIMIT_FSIZE, &old);
	ck_assert(!taken);
	ck_assert(!sigismember(&pending, SIGXFSZ));
	ck_assert_int_eq(size_of("log"), 0);
	/* The limit was the reason. */
	ck_assert(to_file("log"));
	clean();
}
END_TEST

/* As far as there is room; who comes next does not write behind it. */
START_TEST(a_line_that_was_cut_is_ended)
{
	struct rlimit old, some;
	const char *log = path("log");
	bool first, second, third;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	some = (struct rlimit){ line.len + 10, old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &some);
	first = sink_to_file(log, &line);
	second = sink_to_file(log, &line);
	third = sink_to_file(log, &line);
	setrlimit(RLIMIT_FSIZE, &old);
	ck_assert(first && !second && !third);
	ck_assert(to_file("log"));
	ck_assert(to_file("log"));
	ck_assert_str_eq(contents("log"), TEXT "2026-11-29\n" TEXT TEXT);
	clean();
}
END_TEST

/* With 0 free but nothing above 2 allowed, a sink that used 0 would succeed. */
START_TEST(low_descriptors_are_not_used)
{
	struct rlimit old, few;
	int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);
	const char *log = path("log");
	bool limited;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = (struct rlimit){ STDERR_FILENO + 1, old.rlim_max };
	close(STDIN_FILENO);
	ck_assert(sink_to_file(log, &line));
	ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	limited = sink_to_file(log, &line) || sink_to_unix(log, &line);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
	if (saved >= 0) {
		dup2(saved, STDIN_FILENO);
		close(saved);
	}
	ck_assert(!limited);
	ck_assert_str_eq(contents("log"), TEXT);
	clean();
}
END_TEST

static void fill(int fd)
{
	static char block[4096];
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	while (write(fd, block, sizeof(block)) > 0)
		continue;
	fcntl(fd, F_SETFL, flags);
}

START_TEST(blocking_pipe_never_waits)
{
	int p[2];

	ck_assert_int_eq(pipe(p), 0);
	ck_assert(to_fd(p[1]));
	ck_assert_str_eq(take(p[0]), TEXT);
	fill(p[1]);
	ck_assert(!to_fd(p[1]));
	ck_assert(!(fcntl(p[1], F_GETFL) & O_NONBLOCK));
	/* For reading only, and closed. */
	ck_assert(!to_fd(p[0]));
	close(p[0]);
	close(p[1]);
	ck_assert(!to_fd(p[1]));
	ck_assert(!to_fd(-1));
}
END_TEST

START_TEST(nobody_reads_and_nobody_dies)
{
	int p[2];

	ck_assert_int_eq(pipe(p), 0);
	close(p[0]);
	signal(SIGPIPE, SIG_DFL);
	ck_assert(!to_fd(p[1]));
	signal(SIGPIPE, SIG_IGN);
	ck_assert(!to_fd(p[1]));
	close(p[1]);
}
END_TEST

/* A SIGPIPE that the program holds back is still there afterwards. */
START_TEST(pending_signals_of_the_program_stay)
{
	struct timespec zero = { 0, 0 };
	sigset_t set;
	int p[2];

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ck_assert_int_eq(pipe(p), 0);
	close(p[0]);
	ck_assert(!to_fd(p[1]));
	raise(SIGPIPE);
	ck_assert(!to_fd(p[1]));
	ck_assert_int_eq(sigtimedwait(&set, NULL, &zero), SIGPIPE);
	ck_assert_int_eq(sigtimedwait(&set, NULL, &zero), -1);
	close(p[1]);
}
END_TEST

START_TEST(descriptor_must_be_the_same_file)
{
	struct sink_id id, none = { 0 };
	int a[2], b[2];

	ck_assert_int_eq(pipe(a), 0);
	ck_assert_int_eq(pipe(b), 0);
	sink_identify(&id, a[1]);
	ck_assert(id.known);
	ck_assert(checked(LOG_TO_FD, NULL, a[1], &id));
	ck_assert(!checked(LOG_TO_FD, NULL, a[1], &none));
	dup2(b[1], a[1]);
	ck_assert(!checked(LOG_TO_FD, NULL, a[1], &id));
	fcntl(b[0], F_SETFL, O_NONBLOCK);
	ck_assert_str_eq(take(b[0]), "");
	sink_identify(&id, -1);
	ck_assert(!id.known);
	for (int i = 0; i < 2; i++) {
		close(a[i]);
		close(b[i]);
	}
}
END_TEST

START_TEST(unix_stream_takes_lines)
{
	int s[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	ck_assert(to_fd(s[1]));
	ck_assert_str_eq(take(s[0]), TEXT);
	fill(s[1]);
	ck_assert(!to_fd(s[1]));
	signal(SIGPIPE, SIG_DFL);
	close(s[0]);
	ck_assert(!to_fd(s[1]));
	close(s[1]);
}
END_TEST

START_TEST(network_sockets_are_left_alone)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM };
	struct sockaddr_in in = { .sin_family = AF_INET,
		                  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(in);

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		int server = socket(AF_INET, types[i], 0), client = socket(AF_INET, types[i], 0);
		int peer = server;

		in.sin_port = 0;
		ck_assert_int_eq(bind(server, (struct sockaddr *)&in, sizeof(in)), 0);
		ck_assert_int_eq(getsockname(server, (struct sockaddr *)&in, &len), 0);
		if (types[i] == SOCK_STREAM)
			ck_assert_int_eq(listen(server, 1), 0);
		ck_assert_int_eq(connect(client, (struct sockaddr *)&in, sizeof(in)), 0);
		if (types[i] == SOCK_STREAM)
			peer = accept(server, NULL, NULL);
		ck_assert(!to_fd(client));
		ck_assert_int_eq(recv(peer, got, sizeof(got), MSG_DONTWAIT), -1);
		ck_assert_int_eq(errno, EAGAIN);
		if (peer != server)
			close(peer);
		close(server);
		close(client);
	}
}
END_TEST

static int receiver(const char *name)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(un);

	if (name) {
		snprintf(un.sun_path, sizeof(un.sun_path), "%s", path(name));
	} else {
		int n = snprintf(un.sun_path, sizeof(un.sun_path), "@lr-sink-%ld", (long)getpid());

		un.sun_path[0] = '\0';
		len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n);
	}
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&un, len), 0);
	return fd;
}

START_TEST(datagrams_to_unix_sockets)
{
	char abstract[64], longest[300];
	int fd = receiver("sock");

	ck_assert(checked(LOG_TO_UNIX, path("sock"), -1, NULL));
	ck_assert_str_eq(take(fd), TEXT);
	/* Its queue is bounded; a full one takes no line and keeps nobody. */
	while (checked(LOG_TO_UNIX, path("sock"), -1, NULL))
		continue;
	close(fd);
	ck_assert(!checked(LOG_TO_UNIX, path("sock"), -1, NULL));
	ck_assert(!checked(LOG_TO_UNIX, path("missing"), -1, NULL));
	ck_assert(!checked(LOG_TO_UNIX, "", -1, NULL));
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	ck_assert(!checked(LOG_TO_UNIX, longest, -1, NULL));

	fd = receiver(NULL);
	snprintf(abstract, sizeof(abstract), "@lr-sink-%ld", (long)getpid());
	ck_assert(checked(LOG_TO_UNIX, abstract, -1, NULL));
	ck_assert_str_eq(take(fd), TEXT);
	close(fd);
	clean();
}
END_TEST

START_TEST(syslog_form)
{
	static const struct {
		struct sink_line line;
		const char *out;
	} cases[] = {
		{ { TEXT, sizeof(TEXT) - 1, LOG_WARN_LEVEL, LOG_TEXT, 42, false },
		  "<12>libretry[42]: WARN retry op=connect" },
		{ { "{\"a\":1}\n", 8, LOG_ERROR_LEVEL, LOG_JSON, 7, false },
		  "<11>libretry[7]: {\"a\":1}" },
		{ { "time=x pid=1 level=info\n", 24, LOG_INFO_LEVEL, LOG_LOGFMT, 1, false },
		  "<14>libretry[1]: time=x pid=1 level=info" },
		{ { "\n", 1, LOG_DEBUG_LEVEL, LOG_TEXT, 1, false }, "<15>libretry[1]: " },
	};
	int fd = receiver("sock");

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ck_assert(sink_to_syslog(path("sock"), &cases[i].line));
		ck_assert_str_eq(take(fd), cases[i].out);
	}
	close(fd);
	ck_assert(!checked(LOG_TO_SYSLOG, path("sock"), -1, NULL));
	clean();
}
END_TEST

START_TEST(settings_choose_the_sink)
{
	struct log_settings s = { .to = LOG_TO_NONE };
	struct sink_id id;
	int p[2], fd = receiver("sock");

	ck_assert_int_eq(pipe(p), 0);
	sink_identify(&id, p[1]);
	ck_assert(sink_write(&s, &id, &line));
	s.to = LOG_TO_FD;
	s.fd = p[1];
	ck_assert(sink_write(&s, &id, &line));
	ck_assert_str_eq(take(p[0]), TEXT);
	s.to = LOG_TO_FILE;
	snprintf(s.path, sizeof(s.path), "%s", path("log"));
	ck_assert(sink_write(&s, NULL, &line));
	ck_assert_str_eq(contents("log"), TEXT);
	s.to = LOG_TO_UNIX;
	snprintf(s.path, sizeof(s.path), "%s", path("sock"));
	ck_assert(sink_write(&s, NULL, &line));
	ck_assert_str_eq(take(fd), TEXT);
	close(fd);
	close(p[0]);
	close(p[1]);
	clean();
}
END_TEST

UNIT_MAIN("sink", &file_is_created_and_appended, &odd_files_are_dropped, &fifo_never_waits,
          &large_file_is_renamed_once, &large_file_that_cannot_be_renamed_stops_growing,
          &file_size_limit_kills_nobody, &a_line_that_was_cut_is_ended,
           &low_descriptors_are_not_used,
          &blocking_pipe_never_waits, &nobody_reads_and_nobody_dies,
          &pending_signals_of_the_program_stay, &descriptor_must_be_the_same_file,
          &unix_stream_takes_lines, &network_sockets_are_left_alone,
          &datagrams_to_unix_sockets, &syslog_form, &settings_choose_the_sink)
