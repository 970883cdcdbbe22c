/* SPDX-License-Identifier: MIT */
/*
 * late - a client for a build of another architecture.
 *
 * Usage: late WAY ADDRESS PORT
 * WAY: blocking, or how it waits for a non-blocking connect: poll, ppoll, select,
 * pselect, epoll, pwait2. Reads what the server says, prints it, and fails if the
 * connect did or if the wait ended early. Its fcntl(), getsockopt() and recvmsg() are
 * those for 64-bit times, if it is built for such.
 */
#define _GNU_SOURCE
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
#include <unistd.h>

#define SECONDS 20

static int by_select(int fd, int is_pselect)
{
	struct timeval tv = { SECONDS, 0 };
	struct timespec ts = { SECONDS, 0 };
	fd_set w;
	int rc;

	FD_ZERO(&w);
	FD_SET(fd, &w);
	if (is_pselect)
		return pselect(fd + 1, NULL, &w, NULL, &ts, NULL);
	rc = select(fd + 1, NULL, &w, NULL, &tv);
	/* What is left is written back. */
	if (tv.tv_sec >= SECONDS || tv.tv_sec < 0)
		return -2;
	return rc;
}

static int by_epoll(int fd, int is_pwait2)
{
	struct epoll_event e = { .events = EPOLLOUT };
	struct timespec ts = { SECONDS, 0 };
	int ep = epoll_create1(0);

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) != 0)
		return -1;
#ifdef __GLIBC__
	if (is_pwait2)
		return epoll_pwait2(ep, &e, 1, &ts, NULL);
#endif
	(void)ts;
	return is_pwait2 ? -1 : epoll_wait(ep, &e, 1, SECONDS * 1000);
}

static int wait_by(const char *way, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	struct timespec ts = { SECONDS, 0 };

	if (strcmp(way, "poll") == 0)
		return poll(&p, 1, SECONDS * 1000);
	if (strcmp(way, "ppoll") == 0)
		return ppoll(&p, 1, &ts, NULL);
	if (strcmp(way, "select") == 0 || strcmp(way, "pselect") == 0)
		return by_select(fd, way[0] == 'p');
	return by_epoll(fd, strcmp(way, "pwait2") == 0);
}

static int fails(const char *what)
{
	fprintf(stderr, "late: %s: %s\n", what, strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	char line[64];
	struct iovec iov = { line, sizeof(line) - 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int error = 0;
	socklen_t len = sizeof(error);
	ssize_t n;
	int fd, rc;

	if (argc != 4 || inet_pton(AF_INET, argv[2], &sa.sin_addr) != 1)
		return 2;
	sa.sin_port = htons((uint16_t)atoi(argv[3]));
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (strcmp(argv[1], "blocking") != 0)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	rc = connect(fd, (struct sockaddr *)&sa, sizeof(sa));
	if (rc != 0 && errno != EINPROGRESS)
		return fails("connect");
	if (rc != 0 && (rc = wait_by(argv[1], fd)) != 1) {
		fprintf(stderr, "late: the wait ended with %d\n", rc);
		return fails(argv[1]);
	}
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0) {
		errno = error;
		return fails("SO_ERROR");
	}
	fcntl(fd, F_SETFL, 0);
	n = recvmsg(fd, &msg, 0);
	if (n <= 0)
		return fails("recvmsg");
	line[n] = '\0';
	printf("%zu-bit time: %s", 8 * sizeof(time_t), line);
	return 0;
}
