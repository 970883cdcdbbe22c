/* SPDX-License-Identifier: MIT */
/* calls NAME N: makes the call NAME N times, for counts.sh to count. Without
 * NAME: their names, in the order of the table. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int null_fd, zero_fd, pair[2], epfd, listener;
static struct sockaddr_in to;
static char buf[1];

static void need(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void prepare(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	socklen_t len = sizeof(to);

	null_fd = open("/dev/null", O_WRONLY);
	zero_fd = open("/dev/zero", O_RDONLY);
	epfd = epoll_create1(0);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	need(null_fd >= 0 && zero_fd >= 0 && epfd >= 0 && listener >= 0, "open");
	need(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
	need(epoll_ctl(epfd, EPOLL_CTL_ADD, pair[0], &e) == 0, "epoll_ctl");
	to.sin_family = AF_INET;
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(bind(listener, (struct sockaddr *)&to, sizeof(to)) == 0, "bind");
	need(getsockname(listener, (struct sockaddr *)&to, &len) == 0, "getsockname");
	need(listen(listener, 8) == 0, "listen");
}

/* The server's part, and all that shall not be counted as a call: past the
 * library, the same with it and without. */
static void serve(void)
{
	int fd = (int)syscall(SYS_accept4, listener, NULL, NULL, 0);

	need(fd >= 0, "accept");
	syscall(SYS_close, fd);
}

static int stream(int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | flags, 0);

	need(fd >= 0, "socket");
	return fd;
}

static void do_write(void)
{
	need(write(null_fd, buf, 1) == 1, "write");
}

static void do_read(void)
{
	need(read(zero_fd, buf, 1) == 1, "read");
}

static void do_send(void)
{
	need(send(pair[0], buf, 1, 0) == 1, "send");
	need(syscall(SYS_read, pair[1], buf, 1) == 1, "read");
}

static void do_recv(void)
{
	need(syscall(SYS_write, pair[1], buf, 1) == 1, "write");
	need(recv(pair[0], buf, 1, 0) == 1, "recv");
}

static void do_poll(void)
{
	struct pollfd p = { pair[0], POLLIN, 0 };

	need(poll(&p, 1, 0) == 0, "poll");
}

static void do_select(void)
{
	struct timeval now = { 0, 0 };
	fd_set r;

	FD_ZERO(&r);
	FD_SET(pair[0], &r);
	need(select(pair[0] + 1, &r, NULL, NULL, &now) == 0, "select");
}

static void do_epoll_wait(void)
{
	struct epoll_event e;

	need(epoll_wait(epfd, &e, 1, 0) == 0, "epoll_wait");
}

static void do_epoll_ctl(void)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = pair[0] };

	need(epoll_ctl(epfd, EPOLL_CTL_MOD, pair[0], &e) == 0, "epoll_ctl");
}

static void do_close(void)
{
	int fd = (int)syscall(SYS_dup, null_fd);

	need(fd >= 0 && close(fd) == 0, "close");
}

static void do_connect(void)
{
	int fd = stream(0);

	need(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0, "connect");
	need(close(fd) == 0, "close");
	serve();
}

static void do_nonblocking(void)
{
	int fd = stream(SOCK_NONBLOCK);
	struct pollfd p = { fd, POLLOUT, 0 };
	int error = -1;
	socklen_t len = sizeof(error);

	need(connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 && errno == EINPROGRESS,
	     "connect");
	need(poll(&p, 1, -1) == 1, "poll");
	need(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0,
	     "getsockopt");
	need(close(fd) == 0, "close");
	serve();
}

static const struct {
	const char *name;
	void (*call)(void);
} calls[] = {
	{ "write", do_write },
	{ "read", do_read },
	{ "send", do_send },
	{ "recv", do_recv },
	{ "poll", do_poll },
	{ "select", do_select },
	{ "epoll_wait", do_epoll_wait },
	{ "epoll_ctl", do_epoll_ctl },
	{ "close", do_close },
	{ "connect+close", do_connect },
	{ "nonblocking", do_nonblocking },
};

int main(int argc, char **argv)
{
	const size_t count = sizeof(calls) / sizeof(calls[0]);

	for (size_t i = 0; i < count; i++) {
		if (argc == 1)
			puts(calls[i].name);
		if (argc != 3 || strcmp(argv[1], calls[i].name) != 0)
			continue;
		prepare();
		for (int n = atoi(argv[2]); n > 0; n--)
			calls[i].call();
		return 0;
	}
	return argc == 1 ? 0 : 1;
}
