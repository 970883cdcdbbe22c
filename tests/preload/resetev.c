/* SPDX-License-Identifier: MIT */
/*
 * Connections that are reset before any byte, in event loops: before the program
 * has looked, which is a failed connect; and after it has seen them connected.
 */
#include "tests/preload/resets.h"

/* The reset is there when the program first waits. */
static void before_the_first_look(unsigned call)
{
	struct server *s = serve(SAFE, "rrb");
	struct ev e = { .epfd = -1, .asked = POLLOUT };

	e.fd = e.watched = dial_flags(s, SOCK_NONBLOCK);
	if (call >= EPOLL_WAIT) {
		e.epfd = set_of_events();
		must_eq(enrol(EPOLL_CTL_ADD, e.epfd, e.fd, EPOLLOUT, 7), 0);
	}
	until_closed(e.fd);
	must_eq(wait_for(call, &e, 5000), 1);
	must_eq(so_error(e.fd), 0);
	must_get(e.fd, "hello");
	must(s->accepted >= 3);
	must(log_lines(" retry op=connect ") >= 1);
	must(log_lines(" error=ECONNRESET ") >= 1);
	must_eq(log_lines(" gave-up "), 0);
}

/* Connected, and seen so; the program then waits for what the server says. */
static void before_the_banner(unsigned call, uint32_t mode)
{
	struct server *s = serve(SAFE, "ddb");
	struct ev e = { .epfd = -1, .asked = POLLIN };
	struct pollfd p;
	char buf[8];
	ssize_t n = -1;

	e.fd = e.watched = dial_flags(s, SOCK_NONBLOCK);
	p = (struct pollfd){ e.fd, POLLOUT, 0 };
	must_eq(poll(&p, 1, 5000), 1);
	must_eq(p.revents, POLLOUT);
	if (call >= EPOLL_WAIT) {
		e.epfd = set_of_events();
		must_eq(enrol(EPOLL_CTL_ADD, e.epfd, e.fd, EPOLLIN | EPOLLOUT | mode, 7), 0);
		must_eq(wait_for(call, &e, 5000), 1);
		if (!(mode & EPOLLET))
			must_eq(enrol(EPOLL_CTL_MOD, e.epfd, e.fd, EPOLLIN | mode, 7), 0);
	}
	for (unsigned i = 0; n < 0; i++) {
		must(i < 50);
		must_eq(wait_for(call, &e, 5000), 1);
		n = read(e.fd, buf, sizeof(buf));
		if (n < 0)
			must_eq(errno, EAGAIN);
		if (n < 0 && (mode & EPOLLONESHOT))
			must_eq(enrol(EPOLL_CTL_MOD, e.epfd, e.fd, EPOLLIN | mode, 7), 0);
	}
	must_eq(n, 5);
	must_eq(write(e.fd, "ping", 4), 4);
	must_get(e.fd, "ping");
	must_eq(s->accepted, 3);
	must_eq(log_lines(" retry op=send "), 2);
	must_eq(log_lines(" gave-up "), 0);
}

static const uint32_t modes[] = { 0, EPOLLET, EPOLLONESHOT };

static void in_a_loop(unsigned i)
{
	snprintf(case_name, sizeof(case_name), "loop %u", i);
	if (i < CALLS)
		before_the_first_look(i);
	else if (i < 2 * CALLS)
		before_the_banner(i - CALLS, 0);
	else
		before_the_banner(EPOLL_WAIT, modes[i - 2 * CALLS]);
}

START_TEST(every_loop_is_rescued)
{
	side_by_side(2 * CALLS + ARRAY_LEN(modes), 12, in_a_loop);
}
END_TEST

/* The send finds it. */
static void sends(unsigned how)
{
	struct server *s = serve(SAFE, "re");
	int fd = dial_flags(s, SOCK_NONBLOCK);
	struct pollfd p = { fd, POLLOUT, 0 };
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);
	char c;

	snprintf(case_name, sizeof(case_name), "send by %u", how);
	/* Past the library: it shall take it for connected. */
	while (tcp_state(fd) != TCP_CLOSE)
		sleep_ms(1);
	must_fail(write_by(how, fd, "ping", MSG_NOSIGNAL), EAGAIN);
	must_fail(write_by(how, fd, "ping", MSG_NOSIGNAL), EAGAIN);
	must_fail(read(fd, &c, 1), EAGAIN);
	must_eq(so_error(fd), 0);
	must_eq(poll(&p, 1, 5000), 1);
	must_eq(p.revents, POLLOUT);
	must_eq(getpeername(fd, (struct sockaddr *)&peer, &len), 0);
	must_eq(peer.sin_port, s->sa.sin_port);
	must_eq(write_by(how, fd, "ping", MSG_NOSIGNAL), 4);
	must_get(fd, "ping");
	must_eq(s->accepted, 2);
	must_eq(s->bytes, 4);
}

START_TEST(every_send_is_rescued)
{
	side_by_side(WRITERS, 6, sends);
}
END_TEST

/* SO_ERROR finds it, right after the socket was seen writable. */
static void the_error_is_asked_for(void)
{
	struct server *s = serve(SAFE, "de");
	int fd = dial_flags(s, SOCK_NONBLOCK);
	struct pollfd p = { fd, POLLOUT, 0 };

	must_eq(poll(&p, 1, 5000), 1);
	must_eq(p.revents, POLLOUT);
	until_closed(fd);
	must_eq(so_error(fd), 0);
	must_fail(send(fd, "ping", 4, MSG_NOSIGNAL), EAGAIN);
	must_eq(poll(&p, 1, 5000), 1);
	must_eq(p.revents, POLLOUT);
	must_eq(so_error(fd), 0);
	must_eq(send(fd, "ping", 4, MSG_NOSIGNAL), 4);
	must_get(fd, "ping");
	must_eq(s->accepted, 2);
	must_eq(log_lines(" retry op=send "), 1);
}

/* A blocking one is told. */
static void the_error_of_a_blocking_one(void)
{
	struct server *s = serve(SAFE, "re");
	int fd = dial_reset(s);

	must_eq(so_error(fd), ECONNRESET);
	must_eq(so_error(fd), 0);
	must_eq(s->accepted, 1);
	nothing_done();
}

/* A blocking socket, and calls that must not wait. */
static void dontwait(void)
{
	struct server *s = serve(SAFE, "re");
	int fd = dial_reset(s);
	struct pollfd p = { fd, POLLOUT, 0 };

	must_fail(send(fd, "ping", 4, MSG_DONTWAIT), EAGAIN);
	must_eq(poll(&p, 1, 5000), 1);
	must_eq(p.revents, POLLOUT);
	must_eq(send(fd, "ping", 4, MSG_DONTWAIT), 4);
	must_get(fd, "ping");
	must_eq(log_lines(" recovered op=send "), 1);
}

/* A connection that every server resets: the attempts count on. */
static void bounded(void)
{
	struct server *s = serve(FEW, "d");
	int fd = dial_flags(s, SOCK_NONBLOCK);
	struct pollfd p = { fd, POLLOUT, 0 };
	unsigned i;
	char c;

	must_eq(poll(&p, 1, 5000), 1);
	p.events = POLLIN;
	for (i = 0; i < 50; i++) {
		must_eq(poll(&p, 1, 5000), 1);
		must_eq(read(fd, &c, 1), -1);
		if (errno != EAGAIN)
			break;
	}
	must_eq(errno, ECONNRESET);
	must_eq(s->accepted, 4);
	must_eq(log_lines(" retry op=send "), 3);
	must_eq(log_lines(" gave-up op=send "), 1);
}

static void observed(void)
{
	struct server *s = serve(SEEN, "de");
	int fd = dial_flags(s, SOCK_NONBLOCK);
	struct pollfd p = { fd, POLLOUT, 0 };
	char c;

	must_eq(poll(&p, 1, 5000), 1);
	p.events = POLLIN;
	must_eq(poll(&p, 1, 5000), 1);
	must_fail(read(fd, &c, 1), ECONNRESET);
	must_eq(log_lines(" would-retry op=send "), 1);
	must_eq(s->accepted, 1);
	nothing_done();
}

static void closed_meanwhile(void)
{
	struct server *s = serve(SAFE, "de");
	int fd = dial_flags(s, SOCK_NONBLOCK);
	struct pollfd p = { fd, POLLOUT, 0 };
	char c;

	must_eq(poll(&p, 1, 5000), 1);
	p.events = POLLIN;
	must_eq(poll(&p, 1, 5000), 1);
	must_fail(read(fd, &c, 1), EAGAIN);
	must_eq(close(fd), 0);
	must_eq(log_lines(" abandoned op=send "), 1);
	sleep_ms(100);
	must_eq(s->accepted, 1);
}

/* As bare, but for the end that would follow: the real error is told. */
static void shut_down_meanwhile(void)
{
	struct server *s = serve(SAFE, "de");
	int fd = dial_flags(s, SOCK_NONBLOCK);
	struct pollfd p = { fd, POLLOUT, 0 };
	char c;

	must_eq(poll(&p, 1, 5000), 1);
	p.events = POLLIN;
	must_eq(poll(&p, 1, 5000), 1);
	must_fail(read(fd, &c, 1), EAGAIN);
	must_fail(shutdown(fd, SHUT_WR), ENOTCONN);
	must_eq(poll(&p, 1, 5000), 1);
	must(p.revents & POLLIN);
	must_fail(read(fd, &c, 1), ECONNRESET);
	sleep_ms(100);
	must_eq(s->accepted, 1);
}

/* A record of a connect whose descriptor died unseen, and is another's, which was
 * accepted and is reset: it is not taken for the one that was connected. */
static void not_an_accepted_one(void)
{
	struct server *s = serve(SAFE, "we");
	struct sockaddr_in sa;
	int server = bound_at(SAFE, &sa);
	int fd = dial_flags(s, SOCK_NONBLOCK), client, got;
	struct pollfd p = { fd, POLLIN, 0 };

	must_eq(listen(server, 1), 0);
	must_eq(syscall(SYS_close, fd), 0);
	client = (int)syscall(SYS_fcntl, tcp_socket(), F_DUPFD, 40);
	must_eq(syscall(SYS_connect, client, &sa, sizeof(sa)), 0);
	got = accept(server, NULL, NULL);
	must_eq(syscall(SYS_dup3, got, fd, 0), fd);
	hang_up(client);
	until_closed(fd);
	must_eq(poll(&p, 1, 5000), 1);
	must(p.revents & POLLERR);
	must_eq(so_error(fd), ECONNRESET);
	sleep_ms(100);
	must(s->accepted <= 1);
	nothing_done();
}

static const struct named other[] = { { "MSG_DONTWAIT", dontwait },
	{ "SO_ERROR", the_error_is_asked_for },
	{ "SO_ERROR, blocking", the_error_of_a_blocking_one },
	{ "bounded", bounded },
	{ "observed", observed },
	{ "closed meanwhile", closed_meanwhile },
	{ "shut down meanwhile", shut_down_meanwhile },
	{ "an accepted one", not_an_accepted_one } };

START_TEST(the_rest)
{
	RUN_GROUP(other);
}
END_TEST

UNIT_MAIN("preload resets in loops", &every_loop_is_rescued, &every_send_is_rescued, &the_rest)
