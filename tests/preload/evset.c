/* SPDX-License-Identifier: MIT */
/*
 * Epoll sets while a connect is retried: registrations that change, sets within
 * sets, and what else is in the set.
 */
#include "tests/preload/evloop.h"

#include <sys/syscall.h>

#define LATE_MS 500

/* epoll_ctl during the backoff answers as the kernel does, and counts. */
static void registered_anew(void)
{
	struct ev e = { 0 };
	struct epoll_event event;

	in_backoff(&e, "127.0.0.1", LATE_MS);
	must_fail(enrol(EPOLL_CTL_ADD, e.epfd, e.fd, EPOLLOUT, 3), EEXIST);
	must_eq(wait_for(EPOLL_WAIT, &e, 20), 0);
	must_eq(epoll_ctl(e.epfd, EPOLL_CTL_DEL, e.fd, NULL), 0);
	must_fail(epoll_ctl(e.epfd, EPOLL_CTL_DEL, e.fd, &event), ENOENT);
	must_fail(enrol(EPOLL_CTL_MOD, e.epfd, e.fd, EPOLLOUT, 3), ENOENT);
	must_fail(enrol(EPOLL_CTL_ADD, e.fd, e.fd, EPOLLOUT, 3), EINVAL);
	must_fail(enrol(EPOLL_CTL_ADD, 9999, e.fd, EPOLLOUT, 3), EBADF);
	must_fail(epoll_ctl(e.epfd, EPOLL_CTL_ADD, e.fd, NULL), EFAULT);
	must_eq(wait_for(EPOLL_WAIT, &e, 20), 0);
	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, e.fd, EPOLLIN, 5), 0);
	must_eq(wait_for(EPOLL_WAIT, &e, 20), 0);
	e.data = DATA + 8;
	must_eq(enrol(EPOLL_CTL_MOD, e.epfd, e.fd, EPOLLOUT | EPOLLET, e.data), 0);
	ends_well(&e);
}

/* Taken out of the set, it says nothing there, and is reached by a poll. */
static void taken_out(void)
{
	struct ev e = { 0 };
	struct pollfd p;

	in_backoff(&e, "127.0.0.1", LATE_MS);
	must_eq(epoll_ctl(e.epfd, EPOLL_CTL_DEL, e.fd, NULL), 0);
	p = (struct pollfd){ e.fd, POLLOUT, 0 };
	must_eq(poll(&p, 1, 5000), 1);
	must_eq(p.revents, POLLOUT);
	must_eq(wait_for(EPOLL_WAIT, &e, 20), 0);
	connected_to(e.fd, &e.sa);
	rescued_once();
}

/* A registration that the library did not see: rescued, or failed as alone. */
static void registered_raw(void)
{
	struct ev e = { .data = DATA };
	struct epoll_event event = { .events = EPOLLOUT, .data.u64 = DATA };
	int64_t start = ms_now();
	int n;

	e.server = bound(&e.sa);
	serve_late(e.server, LATE_MS);
	e.epfd = set_of_events();
	e.fd = stream();
	must_eq(syscall(SYS_epoll_ctl, e.epfd, EPOLL_CTL_ADD, e.fd, &event), 0);
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINPROGRESS);
	while ((n = wait_slice(EPOLL_WAIT, &e, 50)) == 0)
		must(within(start, 3000));
	must_eq(n, 1);
	must_eq(e.got_data, DATA);
	if (e.got & (EPOLLERR | EPOLLHUP))
		must_eq(so_error(e.fd), ECONNREFUSED);
	else
		connected_to(e.fd, &e.sa);
}

/* A set within a set: what the outer one says is never more than a few words
 * for nothing, and the end arrives through both. */
static void nested(const char *ip, uint32_t mode)
{
	struct ev e = { 0 };
	int outer = set_of_events();
	unsigned woken = 0;
	int64_t cpu, start;
	int n = 0;

	in_backoff(&e, ip, LATE_MS);
	if (mode)
		must_eq(enrol(EPOLL_CTL_MOD, e.epfd, e.fd, EPOLLOUT | mode, e.data), 0);
	must_eq(enrol(EPOLL_CTL_ADD, outer, e.epfd, EPOLLIN, DATA + 10), 0);
	cpu = cpu_ms();
	start = ms_now();
	while (n == 0) {
		must_eq(wait_epoll(EPOLL_WAIT, &e, outer, 4000), 1);
		must_eq(e.got, EPOLLIN);
		must_eq(e.got_data, DATA + 10);
		n = wait_for(EPOLL_WAIT, &e, 0);
		must(++woken < 50);
	}
	must(cpu_ms() - cpu < CPU_LIMIT_MS);
	must_eq(n, 1);
	must_eq(e.got, EPOLLOUT);
	must_eq(e.got_data, e.data);
	must(within(start, 4000));
	must(woken <= 2 + 3 * log_lines(" retry "));
	connected_to(e.fd, &e.sa);
	rescued_once();
}

static void nested_quick(void) { nested("127.0.0.1", 0); }
static void nested_edge(void) { nested("127.0.0.1", EPOLLET); }
static void nested_slow(void) { nested(SLOW, 0); }

/* poll() on the set itself. */
static void set_in_poll(void)
{
	struct ev e = { 0 };
	struct pollfd p;
	unsigned woken = 0;
	int64_t cpu;
	int n = 0;

	in_backoff(&e, SLOW, LATE_MS);
	p = (struct pollfd){ e.epfd, POLLIN, 0 };
	cpu = cpu_ms();
	while (n == 0) {
		must_eq(poll(&p, 1, 4000), 1);
		must_eq(p.revents, POLLIN);
		n = wait_for(EPOLL_WAIT, &e, 0);
		must(++woken < 10);
	}
	must(cpu_ms() - cpu < CPU_LIMIT_MS);
	must_eq(e.got, EPOLLOUT);
	rescued_once();
}

START_TEST(registrations)
{
	static const struct named list[] = {
		{ "registered anew", registered_anew }, { "taken out", taken_out },
		{ "registered raw", registered_raw }, { "nested", nested_quick },
		{ "nested, edge", nested_edge }, { "nested, slow", nested_slow },
		{ "set in poll", set_in_poll },
	};

	RUN_GROUP(list);
}
END_TEST

/* A live connection and a listener in the same set do not notice anything. */
static void neighbours(const char *ip)
{
	struct ev e = { 0 };
	struct epoll_event one;
	struct sockaddr_in live_sa, own_sa;
	int live, own, live_server = bound(&live_sa);
	unsigned trips = 0, slow = 0, visits = 0;
	bool done = false;
	int64_t sent, start = ms_now();
	char buf[8];

	must_eq(listen(live_server, 4), 0);
	serve_late(live_server, 0);
	live = stream();
	(void)connect(live, (struct sockaddr *)&live_sa, sizeof(live_sa));
	own = bound(&own_sa);
	must_eq(listen(own, 8), 0);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			int fd = tcp_socket();

			sleep_ms(30);
			(void)connect(fd, (struct sockaddr *)&own_sa, sizeof(own_sa));
			close(fd);
		}
	}
	in_backoff(&e, ip, LATE_MS);
	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, live, EPOLLIN, 2), 0);
	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, own, EPOLLIN | EPOLLET, 4), 0);
	must_eq(write(live, "ping", 4), 4);
	sent = ms_now();
	while (!done) {
		int c;

		/* One at a time: an edge that is not looked at does not come again. */
		must_eq(epoll_wait(e.epfd, &one, 1, 2000), 1);
		must(within(start, 5000));
		if (one.data.u64 == e.data) {
			must_eq(one.events, EPOLLOUT);
			done = true;
		} else if (one.data.u64 == 2) {
			must_eq(one.events, EPOLLIN);
			must_eq(read(live, buf, sizeof(buf)), 4);
			trips++;
			slow += ms_now() - sent > 50;
			sleep_ms(2);
			sent = ms_now();
			must_eq(write(live, "ping", 4), 4);
		} else {
			must_eq(one.data.u64, 4);
			must_eq(one.events, EPOLLIN);
			fcntl(own, F_SETFL, O_NONBLOCK);
			while ((c = accept(own, NULL, NULL)) >= 0) {
				visits++;
				close(c);
			}
		}
	}
	connected_to(e.fd, &e.sa);
	rescued_once();
	must(trips >= 20);
	must(slow * 10 <= trips);
	must(visits >= 3);
}

static void neighbours_quick(void) { neighbours("127.0.0.1"); }
static void neighbours_slow(void) { neighbours(SLOW); }

START_TEST(neighbours_in_the_set)
{
	static const struct named list[] = {
		{ "neighbours", neighbours_quick }, { "neighbours, slow", neighbours_slow },
	};

	RUN_GROUP(list);
}
END_TEST

UNIT_MAIN("preload evset", &registrations, &neighbours_in_the_set)
