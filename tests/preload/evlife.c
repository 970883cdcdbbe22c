/* SPDX-License-Identifier: MIT */
/*
 * What happens to a descriptor while its connect is retried: it is closed and
 * its number reused, dup'ed over, made blocking, inherited by children.
 */
#include "tests/preload/evsocks.h"

#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define LATE_MS 500

static void end_it(struct ev *e, bool raw)
{
	if (raw)
		must_eq(syscall(SYS_close, e->fd), 0);
	else
		must_eq(close(e->fd), 0);
}

/* The number becomes a pipe, which works. */
static void as_pipe(bool raw)
{
	struct ev e = { 0 };
	struct pollfd p;
	int ends[2];
	char c;

	in_backoff(&e, "127.0.0.1", -1);
	end_it(&e, raw);
	must_eq(pipe(ends), 0);
	must_eq(ends[0], e.fd);
	let_time_pass(&e);
	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, ends[0], EPOLLIN, 5), 0);
	must_eq(wait_for(EPOLL_WAIT, &e, 20), 0);
	must_eq(write(ends[1], "x", 1), 1);
	must_eq(wait_for(EPOLL_WAIT, &e, 1000), 1);
	must_eq(e.got, EPOLLIN);
	must_eq(e.got_data, 5);
	p = (struct pollfd){ ends[0], POLLIN, 0 };
	must_eq(poll(&p, 1, 0), 1);
	must_eq(p.revents, POLLIN);
	must_eq(read(ends[0], &c, 1), 1);
	must_eq(close(ends[1]), 0);
	must_eq(poll(&p, 1, 0), 1);
	must_eq(p.revents, POLLHUP);
	nobody_comes(&e);
	must_eq(log_lines(" abandoned "), 1);
	must_eq(log_lines(" recovered "), 0);
}

/* It becomes a fresh socket, which nobody connects. */
static void as_fresh_socket(bool raw)
{
	struct ev e = { 0 };
	struct pollfd p;

	in_backoff(&e, "127.0.0.1", -1);
	end_it(&e, raw);
	must_eq(stream(), e.fd);
	let_time_pass(&e);
	nobody_comes(&e);
	no_peer(e.fd);
	must_eq(so_error(e.fd), 0);
	p = (struct pollfd){ e.fd, POLLOUT, 0 };
	must_eq(poll(&p, 1, 0), 1);
	must_eq(p.revents, (POLLOUT | POLLHUP));
	must_eq(log_lines(" abandoned "), 1);
	/* And can be connected anew. */
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINPROGRESS);
	must_eq(poll(&p, 1, 1000), 1);
	must_eq(p.revents, POLLOUT);
	connected_to(e.fd, &e.sa);
	must_eq(log_lines(" recovered "), 0);
}

/* It becomes a connection that was accepted, which stays as it is. */
static void as_connection(bool raw)
{
	struct ev e = { 0 };
	struct sockaddr_in sa;
	struct pollfd p;
	int server = bound(&sa);
	int client = stream();
	char buf[8];

	must_eq(listen(server, 4), 0);
	in_backoff(&e, "127.0.0.1", -1);
	must_fail(connect(client, (struct sockaddr *)&sa, sizeof(sa)), EINPROGRESS);
	end_it(&e, raw);
	must_eq(accept(server, NULL, NULL), e.fd);
	let_time_pass(&e);
	must_eq(write(client, "ping", 4), 4);
	p = (struct pollfd){ e.fd, POLLIN | POLLOUT, 0 };
	must_eq(poll(&p, 1, 1000), 1);
	must_eq(p.revents, (POLLIN | POLLOUT));
	must_eq(read(e.fd, buf, sizeof(buf)), 4);
	must_eq(so_error(e.fd), 0);
	must_eq(fcntl(e.fd, F_GETFL) & O_NONBLOCK, 0);
	must_eq(write(e.fd, "pong", 4), 4);
	must_eq(read(client, buf, sizeof(buf)), 4);
	nobody_comes(&e);
	must_eq(log_lines(" abandoned "), 1);
}

static void closed_as_pipe(void) { as_pipe(false); }
static void raw_as_pipe(void) { as_pipe(true); }
static void closed_as_fresh_socket(void) { as_fresh_socket(false); }
static void raw_as_fresh_socket(void) { as_fresh_socket(true); }
static void closed_as_connection(void) { as_connection(false); }
static void raw_as_connection(void) { as_connection(true); }

/* dup2 and close_range end it as well. */
static void dup2_over_it(void)
{
	struct ev e = { 0 };
	struct pollfd p;

	in_backoff(&e, "127.0.0.1", -1);
	must_eq(dup2(quiet(), e.fd), e.fd);
	must_eq(log_lines(" abandoned "), 1);
	let_time_pass(&e);
	p = (struct pollfd){ e.fd, POLLIN, 0 };
	must_eq(poll(&p, 1, 0), 0);
	nobody_comes(&e);
}

static void range_closed(void)
{
	struct ev e = { 0 };

	in_backoff(&e, "127.0.0.1", -1);
	must_eq(close_range((unsigned)e.fd, (unsigned)e.fd, 0), 0);
	must_eq(log_lines(" abandoned "), 1);
	let_time_pass(&e);
	nobody_comes(&e);
}

/* One of two numbers is closed: the connect goes on under the other, whose
 * registration the kernel keeps. */
static void one_of_two_closed(void)
{
	struct ev e = { 0 };
	int other;

	in_backoff(&e, "127.0.0.1", LATE_MS);
	other = dup(e.fd);
	must_eq(enrol(EPOLL_CTL_ADD, e.epfd, other, EPOLLOUT, DATA + 4), 0);
	must_eq(epoll_ctl(e.epfd, EPOLL_CTL_DEL, e.fd, NULL), 0);
	must_eq(close(e.fd), 0);
	must_eq(log_lines(" abandoned "), 0);
	e.fd = other;
	e.data = DATA + 4;
	ends_well(&e);
}

/* The other one of them is closed unseen, and its number is a socket of its own. */
static void one_of_two_reused(void)
{
	struct ev e = { 0 };
	struct sockaddr_in sa;
	struct pollfd p;
	int server = bound(&sa);
	int other;

	must_eq(listen(server, 4), 0);
	in_backoff(&e, SLOW, -1);
	other = dup(e.fd);
	must_eq(syscall(SYS_close, other), 0);
	must_eq(stream(), other);
	must_eq(so_error(other), 0);
	must_fail(connect(other, (struct sockaddr *)&sa, sizeof(sa)), EINPROGRESS);
	p = (struct pollfd){ other, POLLOUT, 0 };
	must_eq(poll(&p, 1, 1000), 1);
	must_eq(p.revents, POLLOUT);
	connected_to(other, &sa);
	must_eq(close(other), 0);
	/* The first one's is still under way. */
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EALREADY);
	must_eq(log_lines(" abandoned "), 0);
}

START_TEST(the_descriptor_ends)
{
	static const struct named list[] = {
		{ "closed, then a pipe", closed_as_pipe },
		{ "raw close, then a pipe", raw_as_pipe },
		{ "closed, then a fresh socket", closed_as_fresh_socket },
		{ "raw close, then a fresh socket", raw_as_fresh_socket },
		{ "closed, then a connection", closed_as_connection },
		{ "raw close, then a connection", raw_as_connection },
		{ "dup2 over it", dup2_over_it },
		{ "close_range", range_closed },
		{ "one of two numbers closed", one_of_two_closed },
		{ "one of two numbers reused", one_of_two_reused },
	};

	RUN_GROUP(list);
}
END_TEST

/* The child meets the failure; what it does to its descriptors is its own. */
static void forked(void)
{
	struct ev e = { 0 };
	int status;
	pid_t pid;

	in_backoff(&e, "127.0.0.1", LATE_MS);
	pid = fork();
	if (pid == 0) {
		struct pollfd p = { e.fd, POLLOUT, 0 };

		snprintf(case_name, sizeof(case_name), "forked, the child");
		must_eq(poll(&p, 1, 0), 1);
		must(p.revents & (POLLERR | POLLHUP));
		must_eq(so_error(e.fd), ECONNREFUSED);
		must_eq(so_error(e.fd), 0);
		must_eq(close(e.fd), 0);
		_exit(0);
	}
	must_eq(waitpid(pid, &status, 0), pid);
	must_eq(status, 0);
	must_eq(log_lines(" abandoned "), 0);
	ends_well(&e);
}

/* The child of vfork runs in our memory, with descriptors of its own. */
static void vforked_with(bool set)
{
	struct ev e = { 0 };
	pid_t pid;

	in_backoff(&e, "127.0.0.1", LATE_MS);
	quiet();
	pid = vfork();
	if (pid == 0) {
		if (set) {
			if (dup2(quiet(), e.epfd) != e.epfd || close(e.epfd) != 0)
				_exit(1);
		} else {
			if (dup2(quiet(), e.fd) != e.fd || close(e.fd) != 0)
				_exit(1);
			close_range(3, ~0U, 0);
		}
		_exit(0);
	}
	must_eq(waitpid(pid, NULL, 0), pid);
	must_eq(log_lines(" abandoned "), 0);
	ends_well(&e);
}

static void vforked(void) { vforked_with(false); }
static void vforked_set(void) { vforked_with(true); }

static void spawned(void)
{
	static char *argv[] = { (char *)"true", NULL };
	struct ev e = { 0 };
	posix_spawn_file_actions_t actions;
	int status;
	pid_t pid;

	in_backoff(&e, "127.0.0.1", LATE_MS);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, quiet(), e.epfd);
	posix_spawn_file_actions_addclose(&actions, e.fd);
	must_eq(posix_spawnp(&pid, "true", &actions, NULL, argv, environ), 0);
	must_eq(waitpid(pid, &status, 0), pid);
	must_eq(status, 0);
	posix_spawn_file_actions_destroy(&actions);
	must_eq(log_lines(" abandoned "), 0);
	ends_well(&e);
}

START_TEST(children)
{
	static const struct named list[] = {
		{ "forked", forked }, { "vforked", vforked },
		{ "vforked, closes the set", vforked_set }, { "spawned", spawned },
	};

	RUN_GROUP(list);
}
END_TEST

/* The program makes it blocking while it is under way, and so it stays. */
static void blocking_meanwhile(bool by_ioctl)
{
	struct ev e = { 0 };
	struct pollfd p;
	int off = 0, n;

	e.server = bound(&e.sa);
	serve_late(e.server, LATE_MS);
	e.fd = stream();
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINPROGRESS);
	if (by_ioctl)
		must_eq(ioctl(e.fd, FIONBIO, &off), 0);
	else
		must_eq(fcntl(e.fd, F_SETFL, fcntl(e.fd, F_GETFL) & ~O_NONBLOCK), 0);
	p = (struct pollfd){ e.fd, POLLOUT, 0 };
	while ((n = poll(&p, 1, 50)) == 0)
		must_eq(fcntl(e.fd, F_GETFL) & O_NONBLOCK, 0);
	must_eq(n, 1);
	must_eq(p.revents, POLLOUT);
	must_eq(fcntl(e.fd, F_GETFL) & O_NONBLOCK, 0);
	connected_to(e.fd, &e.sa);
	echoes(e.fd);
	rescued_once();
}

static void blocking_by_fcntl(void) { blocking_meanwhile(false); }
static void blocking_by_ioctl(void) { blocking_meanwhile(true); }

static void option(int fd, int level, int name, int value)
{
	must_eq(setsockopt(fd, level, name, &value, sizeof(value)), 0);
}

static void options_stay(void)
{
	static const int names[][2] = { { SOL_SOCKET, SO_KEEPALIVE }, { IPPROTO_TCP, TCP_NODELAY },
		{ IPPROTO_IP, IP_TOS }, { IPPROTO_IP, IP_TTL }, { IPPROTO_TCP, TCP_KEEPIDLE },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT }, { SOL_SOCKET, SO_RCVBUF },
		{ SOL_SOCKET, SO_LINGER } };
	struct ev e = { 0 };
	struct sockaddr_in own, after;
	struct linger linger = { 1, 3 };
	int before[ARRAY_LEN(names)][2], now[2] = { 0, 0 };
	socklen_t len = sizeof(after);
	struct pollfd p;

	e.server = bound(&e.sa);
	serve_late(e.server, LATE_MS);
	e.fd = stream();
	close(bound(&own));
	must_eq(bind(e.fd, (struct sockaddr *)&own, sizeof(own)), 0);
	option(e.fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	option(e.fd, IPPROTO_TCP, TCP_NODELAY, 1);
	option(e.fd, IPPROTO_IP, IP_TOS, 0x10);
	option(e.fd, IPPROTO_IP, IP_TTL, 33);
	option(e.fd, IPPROTO_TCP, TCP_KEEPIDLE, 77);
	option(e.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 12345);
	option(e.fd, SOL_SOCKET, SO_RCVBUF, 30000);
	must_eq(setsockopt(e.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		socklen_t size = sizeof(before[i]);

		memset(before[i], 0, sizeof(before[i]));
		getsockopt(e.fd, names[i][0], names[i][1], before[i], &size);
	}
	must_fail(connect(e.fd, (struct sockaddr *)&e.sa, sizeof(e.sa)), EINPROGRESS);
	p = (struct pollfd){ e.fd, POLLOUT, 0 };
	must_eq(poll(&p, 1, 5000), 1);
	must_eq(p.revents, POLLOUT);
	connected_to(e.fd, &e.sa);
	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		socklen_t size = sizeof(now);

		memset(now, 0, sizeof(now));
		getsockopt(e.fd, names[i][0], names[i][1], now, &size);
		must_eq(now[0], before[i][0]);
		must_eq(now[1], before[i][1]);
	}
	must_eq(getsockname(e.fd, (struct sockaddr *)&after, &len), 0);
	must_eq(after.sin_port, own.sin_port);
	must_eq(after.sin_addr.s_addr, own.sin_addr.s_addr);
	must(fcntl(e.fd, F_GETFL) & O_NONBLOCK);
	must(fcntl(e.fd, F_GETFD) & FD_CLOEXEC);
	rescued_once();
}

START_TEST(what_the_program_set)
{
	static const struct named list[] = {
		{ "made blocking by fcntl", blocking_by_fcntl },
		{ "made blocking by ioctl", blocking_by_ioctl },
		{ "options and own port", options_stay },
	};

	RUN_GROUP(list);
}
END_TEST

UNIT_MAIN("preload evlife", &the_descriptor_ends, &children, &what_the_program_set)
