/* SPDX-License-Identifier: MIT */
/*
 * What is remembered of a connect is believed of that very one only: not of
 * another socket under its number, and not against what the program does to it.
 */
#include "tests/preload/evsocks.h"

#include <sys/syscall.h>

#define LATE_MS 300
#define FEW "127.0.0.4" /* has four attempts, as Unix sockets named *.never */

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* Whether the failure of the connect that is left behind was seen. */
static bool was_seen;

/* A connect that is refused, by now or at the next look. */
static void begin(struct ev *e)
{
	struct setting s = { EPOLL_WAIT, 0, AFTER, false, false };

	if (was_seen) {
		in_backoff(e, "127.0.0.1", -1);
		return;
	}
	e->server = bound(&e->sa);
	e->asked = POLLOUT;
	ev_connect(&s, e);
}

/* Its number becomes another socket's, unseen. */
static int reuse(struct ev *e, int domain, int type)
{
	int fd;

	must_eq(syscall(SYS_close, e->fd), 0);
	fd = socket(domain, type | SOCK_CLOEXEC, 0);
	must_eq(fd, e->fd);
	return fd;
}

/* <fd> to A was left behind: A is not visited by whatever has its number. */
static void it_is_over(struct ev *e)
{
	let_time_pass(e);
	nobody_comes(e);
	must_eq(log_lines(" recovered "), 0);
}

static void tcp_refused(void)
{
	struct ev e = { 0 };
	struct sockaddr_in sa;
	unsigned before;
	int64_t start;
	int fd;

	bound_at(FEW, &sa);
	begin(&e);
	fd = reuse(&e, AF_INET, SOCK_STREAM);
	before = log_lines(" retry ");
	start = ms_now();
	must_fail(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), ECONNREFUSED);
	must(ms_now() - start >= LEAST_MS);
	must_eq(log_lines(" retry ") - before, 3);
	must_eq(log_lines(" gave-up "), 1);
	it_is_over(&e);
	no_peer(fd);
}

static void tcp_reached(void)
{
	struct ev e = { 0 };
	struct sockaddr_in sa;
	int server = bound(&sa);
	int fd;

	must_eq(listen(server, 4), 0);
	begin(&e);
	fd = reuse(&e, AF_INET, SOCK_STREAM);
	must_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	it_is_over(&e);
	connected_to(fd, &sa);
}

static void tcp_deferred(void)
{
	struct ev e = { 0 };
	struct sockaddr_in sa;
	struct pollfd p;
	int server = bound(&sa);
	int fd;

	serve_late(server, LATE_MS);
	begin(&e);
	fd = reuse(&e, AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
	must_fail(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), EINPROGRESS);
	p = (struct pollfd){ fd, POLLOUT, 0 };
	must_eq(poll(&p, 1, 5000), 1);
	must_eq(p.revents, POLLOUT);
	connected_to(fd, &sa);
	echoes(fd);
	nobody_comes(&e);
	rescued_once();
}

/* A Unix socket is connected under the number; or cannot be. */
static void as_unix(int type, const char *name, bool alive)
{
	struct ev e = { 0 };
	struct sockaddr_un un;
	int server = bound_unix(&un, name);
	int fd, c;
	char buf[4];

	if (alive)
		must_eq(listen(server, 4), 0);
	begin(&e);
	fd = reuse(&e, AF_UNIX, type);
	if (!alive) {
		must_fail(connect(fd, (struct sockaddr *)&un, sizeof(un)), ECONNREFUSED);
		it_is_over(&e);
	} else {
		must_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
		it_is_over(&e);
		c = accept(server, NULL, NULL);
		must(c >= 0);
		must_eq(write(fd, "ping", 4), 4);
		must_eq(read(c, buf, sizeof(buf)), 4);
	}
	unlink(un.sun_path);
}

static void unix_refused(void) { as_unix(SOCK_STREAM, "never", false); }
static void unix_refused_nb(void) { as_unix(SOCK_STREAM | SOCK_NONBLOCK, "other", false); }
static void unix_reached(void) { as_unix(SOCK_STREAM, "never", true); }
static void unix_reached_nb(void) { as_unix(SOCK_STREAM | SOCK_NONBLOCK, "other", true); }

/* Datagrams to a receiver that is gone, and to one that is there. */
static void unix_datagram(void)
{
	struct ev e = { 0 };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int server = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int gone = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un there = un;
	char c;
	int fd;

	snprintf(un.sun_path, sizeof(un.sun_path), "%s/%d.gone", getenv("TEST_DIR"),
	         (int)getpid());
	snprintf(there.sun_path, sizeof(there.sun_path), "%s/%d.there", getenv("TEST_DIR"),
	         (int)getpid());
	must_eq(bind(gone, (struct sockaddr *)&un, sizeof(un)), 0);
	must_eq(bind(server, (struct sockaddr *)&there, sizeof(there)), 0);
	must_eq(close(gone), 0);
	socket(AF_UNIX, SOCK_DGRAM, 0); /* takes that number */
	begin(&e);
	fd = reuse(&e, AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK);
	must_fail(sendto(fd, "x", 1, 0, (struct sockaddr *)&un, sizeof(un)), ECONNREFUSED);
	must_eq(sendto(fd, "x", 1, 0, (struct sockaddr *)&there, sizeof(there)), 1);
	must_eq(recv(server, &c, 1, 0), 1);
	it_is_over(&e);
}

/* A UDP port that takes nothing from us: it is connected to another. */
static void deaf_port(struct sockaddr_in *sa)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in other = { .sin_family = AF_INET, .sin_port = htons(9) };
	socklen_t len = sizeof(*sa);

	other.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must_eq(connect(fd, (struct sockaddr *)&other, sizeof(other)), 0);
	must_eq(getsockname(fd, (struct sockaddr *)sa, &len), 0);
}

/* The ICMP error of a datagram is the program's, connected or not. */
static void udp_datagram(bool connected)
{
	struct ev e = { 0 };
	struct sockaddr_in sa;
	int one = 1;
	char c;
	int fd;

	deaf_port(&sa);
	begin(&e);
	fd = reuse(&e, AF_INET, SOCK_DGRAM | SOCK_NONBLOCK);
	must_eq(setsockopt(fd, IPPROTO_IP, IP_RECVERR, &one, sizeof(one)), 0);
	if (connected)
		must_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	must_eq(sendto(fd, "x", 1, 0, (struct sockaddr *)&sa, sizeof(sa)), 1);
	must_fail(recv(fd, &c, 1, 0), ECONNREFUSED);
	must_fail(recv(fd, &c, 1, 0), EAGAIN);
	must_eq(sendto(fd, "x", 1, 0, (struct sockaddr *)&sa, sizeof(sa)), 1);
	error_once(fd, ECONNREFUSED);
	it_is_over(&e);
	if (connected)
		connected_to(fd, &sa);
	else
		no_peer(fd);
}

static void udp_unconnected(void) { udp_datagram(false); }
static void udp_connected(void) { udp_datagram(true); }

/* The set's number becomes a file's: that says nothing of the connect. */
static void set_is_gone(void)
{
	struct ev e = { 0 };
	struct pollfd p;

	e.server = bound(&e.sa);
	serve_late(e.server, LATE_MS);
	e.epfd = set_of_events();
	e.fd = stream();
	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, e.fd, EPOLLIN, DATA), 0);
	must_eq(syscall(SYS_close, e.fd), 0);
	must_eq(syscall(SYS_close, e.epfd), 0);
	must_eq(open("/dev/null", O_RDONLY | O_CLOEXEC), e.epfd);
	must_eq(stream(), e.fd);
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINPROGRESS);
	p = (struct pollfd){ e.fd, POLLOUT, 0 };
	must_eq(poll(&p, 1, 5000), 1);
	must_eq(p.revents, POLLOUT);
	connected_to(e.fd, &e.sa);
	echoes(e.fd);
	rescued_once();
}

static const struct named numbers[] = {
	{ "TCP, refused", tcp_refused },
	{ "TCP, reached", tcp_reached },
	{ "TCP, deferred", tcp_deferred },
	{ "Unix, refused", unix_refused },
	{ "Unix, refused, non-blocking", unix_refused_nb },
	{ "Unix, reached", unix_reached },
	{ "Unix, reached, non-blocking", unix_reached_nb },
	{ "Unix datagram", unix_datagram },
	{ "UDP", udp_unconnected },
	{ "UDP, connected", udp_connected },
};

/* Case i / 2 of the group; its failure was not seen, or was. */
static void run_both(unsigned i)
{
	was_seen = i % 2;
	snprintf(case_name, sizeof(case_name), "%s, %s", group[i / 2].name,
	         was_seen ? "seen" : "not seen");
	group[i / 2].run();
}

#define RUN_BOTH(list) \
	do { \
		group = (list); \
		side_by_side(2 * ARRAY_LEN(list), 20, run_both); \
	} while (0)

START_TEST(a_number_is_used_again)
{
	static const struct named set[] = { { "the set's number, too", set_is_gone } };

	RUN_BOTH(numbers);
	RUN_GROUP(set);
}
END_TEST

/* Begins to connect to e->sa, and makes the descriptor blocking. */
static void now_blocking(struct ev *e)
{
	struct pollfd p;

	e->fd = stream();
	must_fail(connect(e->fd, (struct sockaddr *)&e->sa, sizeof(e->sa)), EINPROGRESS);
	p = (struct pollfd){ e->fd, POLLOUT, 0 };
	if (was_seen)
		must_eq(poll(&p, 1, 5), 0);
	must_eq(fcntl(e->fd, F_SETFL, 0), 0);
}

static void blocking_late(void)
{
	struct ev e = { 0 };

	e.server = bound(&e.sa);
	serve_late(e.server, LATE_MS);
	now_blocking(&e);
	must_eq(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), 0);
	must_eq(fcntl(e.fd, F_GETFL) & O_NONBLOCK, 0);
	connected_to(e.fd, &e.sa);
	echoes(e.fd);
	rescued_once();
}

static void blocking_never(void)
{
	struct ev e = { 0 };
	int64_t start = ms_now();

	e.server = bound_at(FEW, &e.sa);
	now_blocking(&e);
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), ECONNREFUSED);
	must_eq(so_error(e.fd), 0);
	gave_up_once(start);
}

static void on_signal(int sig)
{
	(void)sig;
}

static void blocking_interrupted(void)
{
	struct ev e = { 0 };
	struct sigaction act = { .sa_handler = on_signal };
	struct sigevent to = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec in = { .it_value = { 0, 100000000 } };
	timer_t timer;

	e.server = bound_at(SLOW, &e.sa);
	now_blocking(&e);
	must_eq(sigaction(SIGUSR1, &act, NULL), 0);
	must_eq(timer_create(CLOCK_MONOTONIC, &to, &timer), 0);
	must_eq(timer_settime(timer, 0, &in, NULL), 0);
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINTR);
	must_eq(so_error(e.fd), 0);
	no_peer(e.fd);
}

START_TEST(a_second_connect_on_a_blocking_descriptor)
{
	static const struct named list[] = {
		{ "late", blocking_late },
		{ "never", blocking_never },
		{ "interrupted", blocking_interrupted },
	};

	RUN_BOTH(list);
}
END_TEST

/* AF_UNSPEC ends it, whatever else the address holds. */
static void dissolved_by(unsigned i)
{
	static const socklen_t lengths[] = { 2, 16, 28, 128 };
	struct sockaddr_storage none = { .ss_family = AF_UNSPEC };
	struct ev e = { 0 };
	struct pollfd p;

	snprintf(case_name, sizeof(case_name), "AF_UNSPEC of %u bytes", (unsigned)lengths[i]);
	in_backoff(&e, "127.0.0.1", -1);
	must_eq(connect(e.fd, (struct sockaddr *)&none, lengths[i]), 0);
	must_eq(log_lines(" abandoned "), 1);
	p = (struct pollfd){ e.fd, POLLOUT, 0 };
	must_eq(poll(&p, 1, 0), 1);
	must_eq(p.revents, (POLLOUT | POLLHUP));
	must_eq(wait_for(EPOLL_WAIT, &e, 0), 1);
	must_eq(e.got, (EPOLLOUT | EPOLLHUP));
	must_eq(so_error(e.fd), 0);
	nobody_comes(&e);
	no_peer(e.fd);
}

START_TEST(the_program_dissolves_it)
{
	side_by_side(4, 4, dissolved_by);
}
END_TEST

/* Told by a signal, a program asks at once what came of it. */
static void told_by_signal(void)
{
	struct ev e = { 0 };
	struct timespec limit = { 2, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	must_eq(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	e.server = bound(&e.sa);
	e.fd = stream();
	must_eq(fcntl(e.fd, F_SETOWN, getpid()), 0);
	must_eq(fcntl(e.fd, F_SETSIG, SIGRTMIN + 1), 0);
	must_eq(fcntl(e.fd, F_SETFL, O_NONBLOCK | O_ASYNC), 0);
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINPROGRESS);
	must_eq(sigtimedwait(&set, NULL, &limit), SIGRTMIN + 1);
	error_once(e.fd, ECONNREFUSED);
}

/* Multipath TCP is not dissolved and connected anew: its failure is shown. */
static void multipath(void)
{
	struct ev e = { 0 };

	e.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_MPTCP);
	if (e.fd < 0)
		return; /* not in this kernel */
	e.server = bound(&e.sa);
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINPROGRESS);
	error_once(e.fd, ECONNREFUSED);
	must_eq(log_lines(" retry "), 0);
}

START_TEST(not_for_us)
{
	static const struct named list[] = {
		{ "told by a signal", told_by_signal },
		{ "multipath", multipath },
	};

	RUN_GROUP(list);
}
END_TEST

UNIT_MAIN("preload evreuse", &a_number_is_used_again,
          &a_second_connect_on_a_blocking_descriptor, &the_program_dissolves_it, &not_for_us)
