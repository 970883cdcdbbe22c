/* SPDX-License-Identifier: MIT */
/*
 * A non-blocking connect that the kernel refuses at once: the program is told
 * that it is under way, and the rest is as for any other. Unix sockets only where
 * a rule names them.
 */
#include "tests/preload/evsocks.h"

#define LATE_MS 500
#define FEW "127.0.0.4" /* has four attempts, as Unix sockets named *.never */

/* Two sockets with one pair of addresses: while <first> lives, <second> cannot
 * connect, and is told so at once. */
static void same_pair(int server, const struct sockaddr_in *sa, int *first, int *second)
{
	struct sockaddr_in own;
	socklen_t len = sizeof(own);
	struct linger reset = { 1, 0 };
	int one = 1;

	must_eq(listen(server, 8), 0);
	*first = tcp_socket();
	*second = stream();
	must_eq(setsockopt(*first, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	must_eq(setsockopt(*second, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	/* Its end leaves no TIME_WAIT behind. */
	must_eq(setsockopt(*first, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
	memset(&own, 0, sizeof(own));
	own.sin_family = AF_INET;
	own.sin_addr = sa->sin_addr;
	must_eq(bind(*first, (struct sockaddr *)&own, len), 0);
	must_eq(getsockname(*first, (struct sockaddr *)&own, &len), 0);
	must_eq(bind(*second, (struct sockaddr *)&own, len), 0);
	must_eq(connect(*first, (const struct sockaddr *)sa, sizeof(*sa)), 0);
}

/* <fd> is "under way", in a set and under poll, until it is connected. */
static void comes_at_last(int fd)
{
	struct ev e = { .epfd = set_of_events(), .fd = fd };
	struct pollfd p = { fd, POLLOUT, 0 };
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	int64_t start = ms_now();

	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, fd, EPOLLOUT, DATA), 0);
	must_eq(wait_slice(EPOLL_WAIT, &e, 50), 0);
	must_eq(poll(&p, 1, 0), 0);
	no_peer(fd);
	must_eq(wait_for(EPOLL_WAIT, &e, 5000), 1);
	must_eq(e.got, EPOLLOUT);
	must_eq(e.got_data, DATA);
	must(ms_now() - start >= 200);
	must_eq(so_error(fd), 0);
	must_eq(getpeername(fd, (struct sockaddr *)&peer, &len), 0);
	rescued_once();
}

/* The kernel says at once that nobody listens on a Unix socket. */
static void unix_late(void)
{
	struct sockaddr_un un;
	int server = bound_unix(&un, "late");
	int fd;

	serve_late(server, LATE_MS);
	fd = unix_stream();
	must_fail(connect(fd, (struct sockaddr *)&un, sizeof(un)), EINPROGRESS);
	comes_at_last(fd);
	echoes(fd);
	unlink(un.sun_path);
}

/* Or that its queue is full. */
static void unix_full(void)
{
	struct sockaddr_un un;
	int server = bound_unix(&un, "late");
	int first = unix_stream();
	int fd;

	must_eq(listen(server, 0), 0);
	must_eq(connect(first, (struct sockaddr *)&un, sizeof(un)), 0);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sleep_past_a_retry(LATE_MS, getppid(), 0);
		(void)accept(server, NULL, NULL);
		pause();
	}
	fd = unix_stream();
	must_fail(connect(fd, (struct sockaddr *)&un, sizeof(un)), EINPROGRESS);
	comes_at_last(fd);
	unlink(un.sun_path);
}

/* Or that the pair of addresses is in use. */
static void pair_in_use(void)
{
	struct sockaddr_in sa;
	int server = bound(&sa);
	int first, fd;
	pid_t pid;

	same_pair(server, &sa, &first, &fd);
	pid = fork();
	if (pid == 0) {
		close(fd);
		sleep_past_a_retry(LATE_MS, getppid(), 0);
		_exit(0);
	}
	close(first); /* ends with the child */
	must_fail(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), EINPROGRESS);
	comes_at_last(fd);
	connected_to(fd, &sa);
}

/* Failed at once, and so the last time: the error is shown all the same. */
static void owed(int fd, int error, int64_t start)
{
	struct ev e = { .fd = fd, .watched = fd, .epfd = set_of_events(),
		.asked = POLLIN | POLLOUT | POLLRDHUP };
	struct pollfd p = { fd, POLLOUT, 0 };

	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, fd, e.asked, DATA), 0);
	must_eq(wait_for(EPOLL_WAIT, &e, 2), 0);
	must_eq(wait_for(POLL, &e, 2), 0);
	must_eq(so_error(fd), 0);
	must_eq(wait_for(EPOLL_WAIT, &e, 5000), 1);
	must_eq(e.got, ALL_FAILURE);
	must_eq(e.got_data, DATA);
	must_eq(poll(&p, 1, 0), 1);
	must_eq(p.revents, (POLLOUT | POLLERR | POLLHUP));
	error_once(fd, error);
	must_eq(poll(&p, 1, 0), 1);
	must_eq(p.revents, (POLLOUT | POLLHUP));
	gave_up_once(start);
}

static void pair_stays_in_use(void)
{
	struct sockaddr_in sa;
	int64_t start = ms_now();
	int server = bound_at(FEW, &sa);
	int first, fd;

	same_pair(server, &sa, &first, &fd);
	must_fail(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), EINPROGRESS);
	owed(fd, EADDRNOTAVAIL, start);
}

static void unix_never(void)
{
	struct sockaddr_un un;
	int64_t start = ms_now();
	int fd = unix_stream();

	bound_unix(&un, "never");
	must_fail(connect(fd, (struct sockaddr *)&un, sizeof(un)), EINPROGRESS);
	owed(fd, ECONNREFUSED, start);
	unlink(un.sun_path);
}

/* The same, learnt by a second connect. */
static void unix_asked_by_connect(void)
{
	struct sockaddr_un un;
	int64_t start = ms_now();
	int fd = unix_stream();
	unsigned pending = 0;

	bound_unix(&un, "never");
	must_fail(connect(fd, (struct sockaddr *)&un, sizeof(un)), EINPROGRESS);
	while (connect(fd, (struct sockaddr *)&un, sizeof(un)) == -1 && errno == EALREADY) {
		pending++;
		sleep_ms(3);
	}
	must_eq(errno, ECONNREFUSED);
	must(pending >= 3);
	must_eq(so_error(fd), 0);
	gave_up_once(start);
	unlink(un.sun_path);
}

/* Without a rule of its own a Unix socket's answer is the kernel's: its EAGAIN
 * means something to programs. */
static void unix_without_rule(void)
{
	struct sockaddr_un un;
	int server = bound_unix(&un, "other");
	int fd = unix_stream();

	must_fail(connect(fd, (struct sockaddr *)&un, sizeof(un)), ECONNREFUSED);
	must_eq(listen(server, 0), 0);
	must_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	fd = unix_stream();
	must_fail(connect(fd, (struct sockaddr *)&un, sizeof(un)), EAGAIN);
	must_eq(log_lines(" retry "), 0);
	unlink(un.sun_path);
}

START_TEST(failures_at_once)
{
	static const struct named list[] = {
		{ "unix, late", unix_late }, { "unix, queue full", unix_full },
		{ "pair in use", pair_in_use }, { "unix, never", unix_never },
		{ "unix, asked by connect", unix_asked_by_connect },
		{ "unix, without a rule", unix_without_rule },
		{ "pair stays in use", pair_stays_in_use },
	};

	RUN_GROUP(list);
}
END_TEST

UNIT_MAIN("preload evnow", &failures_at_once)
