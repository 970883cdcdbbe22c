/* SPDX-License-Identifier: MIT */
/*
 * early.c - a library whose constructor and destructor use what we wrap: it is
 * preloaded beside libretry in both orders, so one of the two constructors
 * finds the library not yet, and one of the destructors no longer, set up.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

static void on_signal(int sig)
{
	(void)sig;
}

/* A connect under way, through each wait, until it is refused for good. */
static int in_a_loop(const struct sockaddr_in *sa)
{
	struct timeval second = { 5, 0 };
	struct epoll_event e = { .events = EPOLLOUT };
	struct pollfd p = { .events = POLLOUT };
	int error = 0;
	socklen_t len = sizeof(error);
	int set = epoll_create1(0);
	fd_set w;

	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (connect(p.fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 || errno != EINPROGRESS)
		return -1;
	FD_ZERO(&w);
	FD_SET(p.fd, &w);
	if (epoll_ctl(set, EPOLL_CTL_ADD, p.fd, &e) != 0 || poll(&p, 1, 5000) != 1 ||
	    select(p.fd + 1, NULL, &w, NULL, &second) != 1 || epoll_wait(set, &e, 1, 5000) != 1 ||
	    getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
		return -2;
	close(set);
	close(p.fd);
	return error == ECONNREFUSED;
}

/* Bytes that come back, by each way to send and receive. */
static int transfers(void)
{
	int pair[2];
	int copy;
	char buf[8];
	int n = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return -1;
	copy = dup(pair[0]);
	n += send(copy, "a", 1, 0) == 1 && recv(pair[1], buf, 1, 0) == 1;
	n += write(pair[0], "bc", 2) == 2 && read(pair[1], buf, 8) == 2;
	n += fcntl(copy, F_GETFD) == 0 && dup2(copy, pair[0]) == pair[0];
	n += close(copy) == 0 && close(pair[0]) == 0 && read(pair[1], buf, 8) == 0;
	n += close(pair[1]) == 0 && close(pair[1]) == -1 && errno == EBADF;
	return n;
}

static void use_everything(const char *when)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);
	struct addrinfo *list = NULL;
	struct sigaction old;
	int first = signal(SIGTERM, on_signal) != SIG_ERR;
	int server = socket(AF_INET, SOCK_STREAM, 0);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int refused;
	int loop;
	int ok;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(server, (struct sockaddr *)&sa, sizeof(sa));
	getsockname(server, (struct sockaddr *)&sa, &len);
	refused = connect(fd, (struct sockaddr *)&sa, sizeof(sa));
	loop = in_a_loop(&sa);
	listen(server, 1);
	ok = connect(fd, (struct sockaddr *)&sa, sizeof(sa));
	if (getaddrinfo("localhost", NULL, NULL, &list) == 0)
		freeaddrinfo(list);
	ok += !list || !gethostbyname("localhost");
	signal(SIGTERM, on_signal);
	sigaction(SIGTERM, NULL, &old);
	signal(SIGTERM, SIG_DFL);
	close(fd);
	close(server);
	dprintf(1, "%s refused=%d loop=%d ok=%d handler=%d transfers=%d\n", when, refused, loop, ok,
	        first && old.sa_handler == on_signal, transfers());
}

__attribute__((constructor)) static void early(void)
{
	use_everything("early");
}

__attribute__((destructor)) static void late(void)
{
	use_everything("late");
}
