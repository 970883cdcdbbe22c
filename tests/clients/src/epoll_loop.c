/* SPDX-License-Identifier: MIT */
/*
 * epoll_loop - a client that lives long: WIDTH connects at a time, in one epoll set.
 *
 * Usage: epoll_loop PORT ...
 * Until SIGTERM; then it prints "ok=N failed=N left=N": connects that were answered,
 * those that failed or were cut, those that it closed half-way. It ends with 0.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define WIDTH 8
#define GIVEN_UP 7 /* every so many connects one is closed before it has ended */

static volatile sig_atomic_t done;
static unsigned long ok, failed, left, begun;
static int ep;

static void stop(int sig)
{
	(void)sig;
	done = 1;
}

static int start(int argc, char **argv)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct epoll_event e = { .events = EPOLLIN | EPOLLRDHUP, .data.fd = fd };

	sa.sin_port = htons((uint16_t)atoi(argv[1 + begun++ % (unsigned long)(argc - 1)]));
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0 && errno != EINPROGRESS) {
		perror("connect");
		exit(1);
	}
	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) != 0) {
		perror("epoll_ctl");
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = stop };
	struct epoll_event e[WIDTH];
	char buf[4096];
	int newest = -1;

	if (argc < 2)
		return 2;
	sigaction(SIGTERM, &sa, NULL);
	ep = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < WIDTH; i++)
		newest = start(argc, argv);
	while (!done) {
		int n = epoll_wait(ep, e, WIDTH, 1000);

		for (int i = 0; i < n; i++) {
			if (read(e[i].data.fd, buf, sizeof(buf)) > 0)
				ok++;
			else
				failed++;
			close(e[i].data.fd);
			newest = start(argc, argv);
		}
		if (begun / GIVEN_UP > left) {
			close(newest);
			left = begun / GIVEN_UP;
			newest = start(argc, argv);
		}
	}
	printf("ok=%lu failed=%lu left=%lu\n", ok, failed, left);
	return 0;
}
