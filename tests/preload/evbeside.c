/* SPDX-License-Identifier: MIT */
/*
 * What stands beside a connect that is retried: descriptors with the same data
 * in its set, a vfork child in its memory, another thread in the set's wait, and
 * the file that says how.
 */
#include "tests/preload/evsocks.h"

#include <pthread.h>
#include <sys/syscall.h>

#define LATE_MS 300
#define AT_ONCE_MS 1000 /* on a busy machine; the waits are longer */

/* Another descriptor of the set has the same data: its events are its own. */
static void with_the_same_data(unsigned i)
{
	bool hangs = i & 1, closes = i & 2;
	uint32_t mode = i & 4 ? EPOLLET : 0;
	struct ev e = { .asked = EPOLLOUT, .epfd = set_of_events() };
	int64_t cpu, start;
	int ends[2];

	snprintf(case_name, sizeof(case_name), "same data, %s, the other %s, %s",
	         hangs ? "hangs" : "in backoff", closes ? "hangs up" : "is readable",
	         mode ? "edge" : "level");
	if (hangs)
		full_queue(&e.sa);
	else
		bound_at(SLOW, &e.sa);
	must_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, ends[0], EPOLLIN | mode, DATA), 0);
	e.fd = stream();
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINPROGRESS);
	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, e.fd, EPOLLOUT | mode, DATA), 0);
	cpu = cpu_ms();
	must_eq(wait_slice(EPOLL_WAIT, &e, 100), 0);
	if (closes)
		must_eq(close(ends[1]), 0);
	else
		must_eq(write(ends[1], "x", 1), 1);
	start = ms_now();
	must_eq(wait_for(EPOLL_WAIT, &e, AT_ONCE_MS + 500), 1);
	must(within(start, AT_ONCE_MS));
	must(cpu_ms() - cpu < CPU_LIMIT_MS);
	must_eq(e.got_data, DATA);
	must_eq(e.got, (EPOLLIN | (closes ? EPOLLHUP : 0U)));
}

/* And the connect's event is its own. */
static void rescued_beside_the_same_data(void)
{
	struct ev e = { .asked = EPOLLOUT, .data = DATA };
	int ends[2];

	e.server = bound(&e.sa);
	serve_late(e.server, LATE_MS);
	e.epfd = set_of_events();
	must_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, ends[0], EPOLLIN, DATA), 0);
	e.fd = stream();
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINPROGRESS);
	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, e.fd, EPOLLOUT, DATA), 0);
	ends_well(&e);
}

/* A registration ended with its number, closed unseen; its data is another's by
 * now, and its number a connect's that is not in the set. */
static void beside_a_stale_registration(void)
{
	struct ev e = { .epfd = set_of_events() };
	int64_t start;
	int ends[2];

	full_queue(&e.sa);
	e.fd = stream();
	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, e.fd, EPOLLIN, DATA), 0);
	must_eq(syscall(SYS_close, e.fd), 0);
	must_eq(stream(), e.fd);
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINPROGRESS);
	must_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, ends[0], EPOLLIN, DATA), 0);
	must_eq(close(ends[1]), 0);
	start = ms_now();
	must_eq(wait_for(EPOLL_WAIT, &e, AT_ONCE_MS + 500), 1);
	must(within(start, AT_ONCE_MS));
	must_eq(e.got, (EPOLLIN | EPOLLHUP));
}

START_TEST(data_is_shared)
{
	static const struct named list[] = {
		{ "rescued beside the same data", rescued_beside_the_same_data },
		{ "beside a stale registration", beside_a_stale_registration },
	};

	side_by_side(8, 20, with_the_same_data);
	RUN_GROUP(list);
}
END_TEST

/* A vfork child runs in our memory: it makes none of our retries, and what it
 * does with its descriptors is its own. */
static void beside_child(void (*child)(const struct ev *e, const struct sockaddr_in *other))
{
	struct ev e = { 0 };
	struct sockaddr_in other;
	int server = bound(&other);
	int status;
	pid_t pid;

	must_eq(listen(server, 4), 0);
	in_backoff(&e, "127.0.0.1", LATE_MS);
	pid = vfork();
	if (pid == 0) {
		child(&e, &other);
		_exit(0);
	}
	must_eq(waitpid(pid, &status, 0), pid);
	must_eq(status, 0);
	must_eq(log_lines_of(pid, ""), 0);
	must_eq(log_lines(" abandoned "), 0);
	ends_well(&e);
}

static void child_waits(const struct ev *e, const struct sockaddr_in *other)
{
	struct epoll_event list[2];
	fd_set none;

	(void)other;
	FD_ZERO(&none);
	for (int i = 0; i < 10; i++) {
		struct timeval t = { 0, 20000 };

		poll(NULL, 0, 20);
		epoll_wait(e->epfd, list, 2, 20);
		select(0, &none, NULL, NULL, &t);
	}
}

static void child_closes_and_waits(const struct ev *e, const struct sockaddr_in *other)
{
	(void)other;
	if (close(e->fd) != 0)
		_exit(1);
	poll(NULL, 0, LATE_MS);
}

static void child_connects(const struct ev *e, const struct sockaddr_in *other)
{
	struct pollfd p = { e->fd, POLLOUT, 0 };

	if (close(e->fd) != 0 || stream() != e->fd ||
	    connect(e->fd, (const struct sockaddr *)other, sizeof(*other)) != -1 ||
	    errno != EINPROGRESS || poll(&p, 1, 1000) != 1 || p.revents != POLLOUT)
		_exit(1);
}

static void child_connects_blocking(const struct ev *e, const struct sockaddr_in *other)
{
	if (close(e->fd) != 0 || socket(AF_INET, SOCK_STREAM, 0) != e->fd ||
	    connect(e->fd, (const struct sockaddr *)other, sizeof(*other)) != 0)
		_exit(1);
}

static void waits(void) { beside_child(child_waits); }
static void closes_and_waits(void) { beside_child(child_closes_and_waits); }
static void connects(void) { beside_child(child_connects); }
static void connects_blocking(void) { beside_child(child_connects_blocking); }

START_TEST(a_vfork_child)
{
	static const struct named list[] = {
		{ "vfork child waits", waits },
		{ "vfork child closes it and waits", closes_and_waits },
		{ "vfork child connects", connects },
		{ "vfork child connects, blocking", connects_blocking },
	};

	RUN_GROUP(list);
}
END_TEST

static void write_config(const char *policy)
{
	char path[256], temporary[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/evbeside.conf", getenv("TEST_DIR"));
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	f = fopen(temporary, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "version = 1;\npolicies = { default = { %s }; };\nlog = { burst = 10000; };\n",
	        policy);
	fclose(f);
	ck_assert_int_eq(rename(temporary, path), 0);
}

static _Atomic unsigned errors_seen;
static _Atomic bool enough;

static void *watches(void *arg)
{
	const struct ev *e = arg;
	struct epoll_event event;

	while (!enough)
		if (epoll_wait(e->epfd, &event, 1, 20) == 1 && (event.events & EPOLLERR))
			errors_seen++;
	return NULL;
}

/* Another thread is in the set's wait already when the connect is refused. */
START_TEST(no_refusal_is_quicker_than_its_record)
{
	struct ev e = { .epfd = set_of_events() };
	struct timespec moment = { 0, 100000 };
	pthread_t thread;

	write_config("base_delay = \"20s\"; max_delay = \"20s\"; deadline = \"100s\"; "
	             "attempt_timeout = \"20s\"; max_attempts = 3;");
	bound(&e.sa);
	ck_assert_int_eq(pthread_create(&thread, NULL, watches, &e), 0);
	for (unsigned i = 0; i < 300; i++) {
		e.fd = stream();
		must_eq(enrol(EPOLL_CTL_ADD, e.epfd, e.fd, EPOLLIN | EPOLLOUT | EPOLLET,
		              (uint64_t)e.fd),
		        0);
		/* The event of a fresh socket sends the thread round. */
		if (i % 2)
			nanosleep(&moment, NULL);
		must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINPROGRESS);
		nanosleep(&moment, NULL);
	}
	sleep_ms(50);
	enough = true;
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(errors_seen, 0);
	ck_assert_uint_gt(log_lines(" retry "), 0);
}
END_TEST

static void *makes_a_vfork_child(void *arg)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return arg;
}

/* ... and a third one has made a child by vfork(), and is gone: nobody takes its mark away. */
START_TEST(a_wait_sees_what_begins_after_a_vfork)
{
	struct ev e = { .epfd = set_of_events() };
	pthread_t thread;

	enough = false;
	errors_seen = 0;
	write_config("base_delay = \"20s\"; max_delay = \"20s\"; deadline = \"100s\"; "
	             "max_attempts = 3;");
	bound(&e.sa);
	ck_assert_int_eq(pthread_create(&thread, NULL, makes_a_vfork_child, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, watches, &e), 0);
	for (unsigned i = 0; i < 20; i++) {
		unsigned before = log_lines(" retry ");
		int64_t end = ms_now() + 10000;

		sleep_ms(1);
		e.fd = stream();
		must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINPROGRESS);
		must_eq(enrol(EPOLL_CTL_ADD, e.epfd, e.fd, EPOLLOUT, (uint64_t)e.fd), 0);
		while (log_lines(" retry ") == before && !errors_seen && ms_now() < end)
			sleep_ms(1);
		ck_assert_uint_eq(errors_seen, 0);
		ck_assert_uint_eq(log_lines(" retry "), before + 1);
		close(e.fd);
	}
	enough = true;
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

/* A thread in select() when nothing is under way, with <n> numbers. */
static struct {
	int n;
	int quiet;       /* wakes nobody as it is */
	int pipes[2];
	_Atomic pid_t tid;
	int count;
	bool shown;
	int error;       /* of .quiet, if it is shown */
} selecting;

#define BITS (8 * sizeof(unsigned long))

static void *selects(void *arg)
{
	unsigned long r[64] = { 0 }, w[64] = { 0 };
	int fd = selecting.quiet;

	r[(size_t)selecting.pipes[0] / BITS] |= 1UL << (size_t)selecting.pipes[0] % BITS;
	w[(size_t)fd / BITS] |= 1UL << (size_t)fd % BITS;
	selecting.tid = (pid_t)syscall(SYS_gettid);
	selecting.count = select(selecting.n, (fd_set *)r, (fd_set *)w, NULL, NULL);
	selecting.shown = w[(size_t)fd / BITS] >> (size_t)fd % BITS & 1;
	selecting.error = selecting.shown ? so_error(fd) : 0;
	return arg;
}

/* The number becomes a socket whose connect is refused, and then another one wakes the
 * thread. */
static void begins_beside_select(int n)
{
	struct ev e = { 0 };
	pthread_t thread;
	int ends[2];

	bound(&e.sa);
	must_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	must_eq(pipe(selecting.pipes), 0);
	while (write(ends[0], case_name, sizeof(case_name)) > 0)
		;
	selecting.n = n;
	selecting.quiet = ends[0];
	selecting.tid = 0;
	ck_assert_int_eq(pthread_create(&thread, NULL, selects, NULL), 0);
	until_it_sleeps(&selecting.tid);
	must_eq(close(ends[0]), 0);
	e.fd = stream();
	must_eq(e.fd, ends[0]);
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINPROGRESS);
	must_eq(write(selecting.pipes[1], "x", 1), 1);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	close(e.fd);
	close(ends[1]);
	close(selecting.pipes[0]);
	close(selecting.pipes[1]);
}

/* With more than an fd_set there is no copy that the wait could go on with. What it shows is
 * then not retried: a program that asks for the error is not told that there is none. */
START_TEST(a_select_sees_what_begins)
{
	begins_beside_select(FD_SETSIZE);
	ck_assert_int_eq(selecting.count, 1);
	ck_assert(!selecting.shown);
	ck_assert_uint_eq(log_lines(" retry "), 1);
	begins_beside_select(FD_SETSIZE + 1);
	ck_assert_int_eq(selecting.count, 2);
	ck_assert(selecting.shown);
	ck_assert_int_eq(selecting.error, ECONNREFUSED);
	ck_assert_uint_eq(log_lines(" retry "), 1);
}
END_TEST

/* How many attempts a refused connect gets. */
static unsigned attempts(const struct sockaddr_in *sa)
{
	unsigned before = log_lines(" retry ");
	struct pollfd p = { stream(), POLLOUT, 0 };

	must_fail(connect(p.fd, (const struct sockaddr *)sa, sizeof(*sa)), EINPROGRESS);
	ck_assert_int_eq(poll(&p, 1, 5000), 1);
	ck_assert_int_eq(so_error(p.fd), ECONNREFUSED);
	close(p.fd);
	return log_lines(" retry ") - before + 1;
}

/* A changed file is looked for every 2 s, at a failure. */
START_TEST(a_changed_file_is_taken)
{
	struct sockaddr_in sa;
	int64_t give_up;
	unsigned n;

	write_config("base_delay = \"1ms\"; max_delay = \"2ms\"; max_attempts = 3;");
	bound(&sa);
	ck_assert_uint_eq(attempts(&sa), 3);
	write_config("base_delay = \"1ms\"; max_delay = \"2ms\"; max_attempts = 6;");
	give_up = ms_now() + 20000;
	while ((n = attempts(&sa)) != 6 && ms_now() < give_up)
		sleep_ms(50);
	ck_assert_uint_eq(n, 6);
}
END_TEST

UNIT_MAIN("preload evbeside", &data_is_shared, &a_vfork_child,
          &no_refusal_is_quicker_than_its_record, &a_wait_sees_what_begins_after_a_vfork,
          &a_select_sees_what_begins, &a_changed_file_is_taken)
