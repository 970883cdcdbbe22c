/* SPDX-License-Identifier: MIT */
/* Makes calls, for others to count or time. Without arguments: the names of the
 * calls, in the order of the table.
 *
 *   calls make NAME N    the call, N times
 *   calls count NAME N   N times, then 2 N times, phase() around each
 *   calls time NAME N    prints nanoseconds a call, the best of CHUNKS parts
 *   calls stay           says "started"; on a line makes a connect, a look-up and
 *                        an exchange and says "used"; ends with its input */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MANY 64
#define WARM 10
#define CHUNKS 50

/* The server's part, and all that shall not be measured, goes to libc past every
 * preload. Not by syscall(), which some of them have replaced as well. */
static struct {
	ssize_t (*read)(int, void *, size_t);
	ssize_t (*write)(int, const void *, size_t);
	int (*accept)(int, struct sockaddr *, socklen_t *);
	int (*setsockopt)(int, int, int, const void *, socklen_t);
	int (*dup)(int);
	int (*close)(int);
} libc;

static int null_fd, zero_fd, pair[2], epfd, epfd_many, listener, client = -1, server = -1;
static struct pollfd many[MANY];
static struct sockaddr_in to;
static char buf[1];

static void need(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void find_libc(void)
{
	void *handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	const struct {
		void *pointer;
		const char *name;
	} all[] = {
		{ &libc.read, "read" }, { &libc.write, "write" },
		{ &libc.accept, "accept" }, { &libc.setsockopt, "setsockopt" },
		{ &libc.dup, "dup" }, { &libc.close, "close" },
	};

	need(handle != NULL, "libc.so.6");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		void *address = dlsym(handle, all[i].name);

		need(address != NULL, all[i].name);
		memcpy(all[i].pointer, &address, sizeof(address));
	}
}

static void listen_on_loopback(void)
{
	socklen_t len = sizeof(to);

	listener = socket(AF_INET, SOCK_STREAM, 0);
	need(listener >= 0, "socket");
	to.sin_family = AF_INET;
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(bind(listener, (struct sockaddr *)&to, sizeof(to)) == 0, "bind");
	need(getsockname(listener, (struct sockaddr *)&to, &len) == 0, "getsockname");
	need(listen(listener, 8) == 0, "listen");
}

static void prepare(void)
{
	struct epoll_event e = { .events = EPOLLIN };

	null_fd = open("/dev/null", O_WRONLY);
	zero_fd = open("/dev/zero", O_RDONLY);
	epfd = epoll_create1(0);
	epfd_many = epoll_create1(0);
	need(null_fd >= 0 && zero_fd >= 0 && epfd >= 0 && epfd_many >= 0, "open");
	need(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
	need(epoll_ctl(epfd, EPOLL_CTL_ADD, pair[0], &e) == 0, "epoll_ctl");
	e.events = EPOLLOUT;
	for (int i = 0; i < MANY; i++) {
		many[i] = (struct pollfd){ libc.dup(pair[0]), POLLOUT, 0 };
		need(many[i].fd >= 0, "dup");
		need(epoll_ctl(epfd_many, EPOLL_CTL_ADD, many[i].fd, &e) == 0, "epoll_ctl");
	}
	listen_on_loopback();
}

/* Ends with a reset: no port stays behind in TIME_WAIT. */
static void serve(void)
{
	const struct linger hard = { 1, 0 };
	int fd = libc.accept(listener, NULL, NULL);

	need(fd >= 0, "accept");
	libc.setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	libc.close(fd);
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

static void do_writev(void)
{
	const struct iovec v = { buf, 1 };

	need(writev(null_fd, &v, 1) == 1, "writev");
}

static void do_read(void)
{
	need(read(zero_fd, buf, 1) == 1, "read");
}

static void do_send(void)
{
	need(send(pair[0], buf, 1, 0) == 1, "send");
	need(libc.read(pair[1], buf, 1) == 1, "read");
}

static void do_recv(void)
{
	need(libc.write(pair[1], buf, 1) == 1, "write");
	need(recv(pair[0], buf, 1, 0) == 1, "recv");
}

/* Over a connection that the program has made. */
static void do_ping_pong(void)
{
	if (client < 0) {
		client = stream(0);
		need(connect(client, (struct sockaddr *)&to, sizeof(to)) == 0, "connect");
		server = libc.accept(listener, NULL, NULL);
		need(server >= 0, "accept");
	}
	need(send(client, buf, 1, 0) == 1, "send");
	need(libc.read(server, buf, 1) == 1 && libc.write(server, buf, 1) == 1, "server");
	need(recv(client, buf, 1, 0) == 1, "recv");
}

static void do_poll(void)
{
	struct pollfd p = { pair[0], POLLIN, 0 };

	need(poll(&p, 1, 0) == 0, "poll");
}

static void do_poll_many(void)
{
	need(poll(many, MANY, 0) == MANY, "poll");
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

static void do_epoll_wait_many(void)
{
	struct epoll_event e[MANY];

	need(epoll_wait(epfd_many, e, MANY, 0) == MANY, "epoll_wait");
}

static void do_epoll_ctl(void)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = pair[0] };

	need(epoll_ctl(epfd, EPOLL_CTL_MOD, pair[0], &e) == 0, "epoll_ctl");
}

static void do_close(void)
{
	int fd = libc.dup(null_fd);

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

static void do_getaddrinfo(void)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;

	need(getaddrinfo("localhost", "80", &hints, &found) == 0, "getaddrinfo");
	freeaddrinfo(found);
}

static const struct call {
	const char *name;
	void (*make)(void);
} calls[] = {
	{ "write", do_write },
	{ "writev", do_writev },
	{ "read", do_read },
	{ "send", do_send },
	{ "recv", do_recv },
	{ "ping-pong", do_ping_pong },
	{ "poll", do_poll },
	{ "poll-64", do_poll_many },
	{ "select", do_select },
	{ "epoll_wait", do_epoll_wait },
	{ "epoll_wait-64", do_epoll_wait_many },
	{ "epoll_ctl", do_epoll_ctl },
	{ "close", do_close },
	{ "connect+close", do_connect },
	{ "nonblocking", do_nonblocking },
	{ "getaddrinfo", do_getaddrinfo },
};

static void make(const struct call *call, int n)
{
	while (n-- > 0)
		call->make();
}

/* Where callgrind ends one count and begins another. */
static __attribute__((noipa)) void phase(void)
{
	__asm__ volatile("");
}

static void count(const struct call *call, int n)
{
	make(call, WARM);
	phase();
	make(call, n);
	phase();
	make(call, 2 * n);
	phase();
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void take_time(const struct call *call, int n)
{
	const int part = n / CHUNKS > 0 ? n / CHUNKS : 1;
	int64_t best = INT64_MAX;

	make(call, WARM);
	for (int i = 0; i < CHUNKS; i++) {
		int64_t begin = now(), took;

		make(call, part);
		took = now() - begin;
		best = took < best ? took : best;
	}
	printf("%.1f\n", (double)best / part);
}

static int stay(void)
{
	char line[16];

	find_libc();
	listen_on_loopback();
	if (write(1, "started\n", 8) != 8 || read(0, line, sizeof(line)) <= 0)
		return 0;
	do_getaddrinfo();
	do_ping_pong();
	if (write(1, "used\n", 5) == 5)
		while (read(0, line, sizeof(line)) > 0)
			continue;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "stay") == 0)
		return stay();
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (argc == 1)
			puts(calls[i].name);
		if (argc != 4 || strcmp(argv[2], calls[i].name) != 0)
			continue;
		find_libc();
		prepare();
		if (strcmp(argv[1], "make") == 0)
			make(&calls[i], atoi(argv[3]));
		else if (strcmp(argv[1], "count") == 0)
			count(&calls[i], atoi(argv[3]));
		else if (strcmp(argv[1], "time") == 0)
			take_time(&calls[i], atoi(argv[3]));
		else
			return 1;
		return 0;
	}
	return argc == 1 ? 0 : 1;
}
