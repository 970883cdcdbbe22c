/* SPDX-License-Identifier: MIT */
/*
 * A non-blocking connect to a server that never comes: in whichever way the
 * program asks, nothing has happened until the fourth attempt has failed, and
 * then it is told once.
 */
#include "tests/preload/evloop.h"

#include <sys/uio.h>

static void refused(unsigned i)
{
	struct setting s = setting_at(i);
	struct ev e = { .asked = POLLIN | POLLOUT };
	bool again = !(s.mode & (EPOLLET | EPOLLONESHOT));
	bool selects = s.call == SELECT || s.call == PSELECT;
	uint32_t failure = selects ? POLLIN | POLLOUT : (uint32_t)ALL_FAILURE;
	int64_t start = ms_now();
	int n;

	if (!selects)
		e.asked |= POLLRDHUP;
	e.server = bound(&e.sa);
	ev_connect(&s, &e);
	while ((n = wait_slice(s.call, &e, 30)) == 0) {
		must(within(start, 5000));
		if (s.place == TWO_SETS)
			must_eq(log_lines(" gave-up "), 0);
		no_peer(e.fd);
	}
	must_eq(n, 1);
	must_eq(e.got, failure);
	must_eq(e.got_data, s.call >= EPOLL_WAIT ? e.data : 0);
	if (s.place == TWO_SETS) {
		must_eq(wait_epoll(s.call, &e, e.epfd2, 0), 1);
		must_eq(e.got, failure);
		must_eq(e.got_data, e.data + 2);
	}
	must_eq(wait_for(s.call, &e, 0), again);
	must_eq(e.got, failure);
	no_peer(e.fd);
	error_once(e.fd, ECONNREFUSED);
	/* What is left is hung up, without an error. */
	must_eq(wait_for(s.call, &e, 0), again);
	if (again)
		must_eq(e.got, failure & ~(uint32_t)POLLERR);
	no_peer(e.fd);
	gave_up_once(start);
}

START_TEST(a_wait_tells_once)
{
	side_by_side(SETTINGS, 20, refused);
}
END_TEST

static int refused_socket(struct sockaddr_in *sa)
{
	int fd;

	bound(sa);
	fd = stream();
	must_fail(connect(fd, (struct sockaddr *)sa, sizeof(*sa)), EINPROGRESS);
	return fd;
}

static void second_connect(void)
{
	struct sockaddr_in sa;
	int64_t start = ms_now();
	int fd = refused_socket(&sa);
	unsigned pending = 0;

	for (;;) {
		sleep_ms(3);
		must_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), -1);
		if (errno != EALREADY)
			break;
		pending++;
		no_peer(fd);
	}
	must_eq(errno, ECONNREFUSED);
	must(pending >= 3);
	gave_up_once(start);
	must_eq(so_error(fd), 0);
	no_peer(fd);
	/* The next one is a new connect. */
	must_fail(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), EINPROGRESS);
}

static void error_polled(void)
{
	struct sockaddr_in sa;
	int64_t start = ms_now();
	int fd = refused_socket(&sa);
	unsigned pending = 0;
	int error;

	while ((error = so_error(fd)) == 0) {
		pending++;
		no_peer(fd);
		sleep_ms(3);
	}
	must_eq(error, ECONNREFUSED);
	must(pending >= 3);
	must_eq(so_error(fd), 0);
	gave_up_once(start);
	no_peer(fd);
}

static char buffer[16];

/* As recv() and send() would with a buffer of one byte. */
static struct iovec vector = { buffer, 1 };
static struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };

ssize_t __recv_chk(int fd, void *buf, size_t len, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t size, int flags,
                       struct sockaddr *from, socklen_t *from_len);
ssize_t __read_chk(int fd, void *buf, size_t len, size_t size);

static ssize_t by_read(int fd) { return read(fd, buffer, 1); }
static ssize_t by_read_chk(int fd) { return __read_chk(fd, buffer, 1, 16); }
static ssize_t by_readv(int fd) { return readv(fd, &vector, 1); }
static ssize_t by_recv(int fd) { return recv(fd, buffer, 1, 0); }
static ssize_t by_recv_peek(int fd) { return recv(fd, buffer, 1, MSG_PEEK); }
static ssize_t by_recv_chk(int fd) { return __recv_chk(fd, buffer, 1, 16, 0); }
static ssize_t by_recvfrom(int fd) { return recvfrom(fd, buffer, 1, 0, NULL, NULL); }
static ssize_t by_recvfrom_chk(int fd)
{
	return __recvfrom_chk(fd, buffer, 1, 16, 0, NULL, NULL);
}
static ssize_t by_recvmsg(int fd) { return recvmsg(fd, &message, 0); }
static ssize_t by_recvmmsg(int fd)
{
	struct mmsghdr m = { message, 0 };

	return recvmmsg(fd, &m, 1, 0, NULL);
}
static ssize_t by_write(int fd) { return write(fd, buffer, 1); }
static ssize_t by_writev(int fd) { return writev(fd, &vector, 1); }
static ssize_t by_send(int fd) { return send(fd, buffer, 1, MSG_NOSIGNAL); }
static ssize_t by_send_signal(int fd) { return send(fd, buffer, 1, 0); }
static ssize_t by_sendto(int fd) { return sendto(fd, buffer, 1, 0, NULL, 0); }
static ssize_t by_sendmsg(int fd) { return sendmsg(fd, &message, 0); }
static ssize_t by_sendmmsg(int fd)
{
	struct mmsghdr m = { message, 0 };

	return sendmmsg(fd, &m, 1, 0);
}

static const struct transfer {
	const char *name;
	ssize_t (*call)(int fd);
	bool sends;
} transfers[] = {
	{ "read", by_read, false }, { "__read_chk", by_read_chk, false },
	{ "readv", by_readv, false }, { "recv", by_recv, false },
	{ "recv peeking", by_recv_peek, false }, { "__recv_chk", by_recv_chk, false },
	{ "recvfrom", by_recvfrom, false }, { "__recvfrom_chk", by_recvfrom_chk, false },
	{ "recvmsg", by_recvmsg, false }, { "recvmmsg", by_recvmmsg, false },
	{ "write", by_write, true }, { "writev", by_writev, true },
	{ "send", by_send, true }, { "send with a signal", by_send_signal, true },
	{ "sendto", by_sendto, true }, { "sendmsg", by_sendmsg, true },
	{ "sendmmsg", by_sendmmsg, true },
};

static volatile sig_atomic_t pipes_broken;

static void on_sigpipe(int sig)
{
	(void)sig;
	pipes_broken++;
}

static void transfer(unsigned i)
{
	const struct transfer *t = &transfers[i];
	struct sockaddr_in sa;
	int64_t start = ms_now();
	unsigned pending = 0;
	int fd;

	snprintf(case_name, sizeof(case_name), "%s", t->name);
	signal(SIGPIPE, on_sigpipe);
	fd = refused_socket(&sa);
	for (;;) {
		must_eq(t->call(fd), -1);
		if (errno != EAGAIN)
			break;
		pending++;
		no_peer(fd);
		sleep_ms(3);
	}
	must_eq(errno, ECONNREFUSED);
	must_eq(pipes_broken, 0);
	must(pending >= 3);
	gave_up_once(start);
	/* From now on as the kernel has it: the end, or a broken pipe. */
	if (t->sends) {
		must_fail(t->call(fd), EPIPE);
		must_eq(pipes_broken, t->call != by_send);
	} else {
		must_eq(t->call(fd), t->call == by_recvmmsg);
	}
	must_eq(so_error(fd), 0);
}

START_TEST(a_transfer_tells_once)
{
	side_by_side(ARRAY_LEN(transfers), 20, transfer);
}
END_TEST

/* As libcurl does: each look says the same. */
static void polls_and_asks(void)
{
	struct sockaddr_in sa;
	int64_t start = ms_now();
	int fd = refused_socket(&sa);
	struct pollfd p = { fd, POLLOUT, 0 };
	unsigned pending = 0;
	int error = 0;

	for (;;) {
		if (poll(&p, 1, 5) == 1 || poll(&p, 1, 0) == 1)
			break;
		must_eq(p.revents, 0);
		error = so_error(fd);
		if (error)
			break;
		pending++;
	}
	must(pending >= 3);
	if (!error) {
		must_eq(p.revents, (POLLOUT | POLLERR | POLLHUP));
		must_eq(poll(&p, 1, 0), 1);
		must_eq(p.revents, (POLLOUT | POLLERR | POLLHUP));
		error = so_error(fd);
	}
	must_eq(error, ECONNREFUSED);
	must_eq(so_error(fd), 0);
	must_eq(poll(&p, 1, 0), 1);
	must_eq(p.revents, (POLLOUT | POLLHUP));
	gave_up_once(start);
}

/* Every way by turns; whichever is first to learn of it tells, and no other. */
static void by_turns(void)
{
	struct sockaddr_in sa;
	int64_t start = ms_now();
	int fd = refused_socket(&sa);
	struct ev e = { .fd = fd, .watched = fd, .asked = POLLOUT, .epfd = set_of_events() };
	unsigned pending = 0;
	int error = 0;

	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, fd, EPOLLOUT, DATA), 0);
	while (!error) {
		for (enum call c = POLL; c < CALLS && !error; c++)
			error = wait_for(c, &e, 1) ? so_error(fd) : 0;
		if (!error)
			error = so_error(fd);
		if (!error && connect(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0)
			error = errno == EALREADY ? 0 : errno;
		if (!error && send(fd, "x", 1, MSG_NOSIGNAL) < 0)
			error = errno == EAGAIN ? 0 : errno;
		if (!error && recv(fd, buffer, 1, 0) < 0)
			error = errno == EAGAIN ? 0 : errno;
		no_peer(fd);
		pending += !error;
		must(within(start, 5000));
	}
	must_eq(error, ECONNREFUSED);
	must(pending >= 2);
	must_eq(so_error(fd), 0);
	gave_up_once(start);
}

/* A policy without retries: as alone. */
static void not_retried(void)
{
	struct sockaddr_in sa;
	int fd;
	struct pollfd p;

	bound_at("127.0.0.3", &sa);
	fd = stream();
	must_fail(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), EINPROGRESS);
	p = (struct pollfd){ fd, POLLIN | POLLOUT | POLLRDHUP, 0 };
	must_eq(poll(&p, 1, 1000), 1);
	must_eq(p.revents, ALL_FAILURE);
	error_once(fd, ECONNREFUSED);
	must_eq(log_lines(" retry "), 0);
	must_eq(log_lines(" gave-up "), 0);
}

START_TEST(other_ways_tell_once)
{
	static const struct named list[] = {
		{ "a second connect", second_connect }, { "SO_ERROR polled", error_polled },
		{ "polls and asks", polls_and_asks }, { "by turns", by_turns },
		{ "policy off", not_retried },
	};

	RUN_GROUP(list);
}
END_TEST

UNIT_MAIN("preload evfail", &a_wait_tells_once, &a_transfer_tells_once, &other_ways_tell_once)
