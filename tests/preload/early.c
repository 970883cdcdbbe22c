/* SPDX-License-Identifier: MIT */
/*
 * early.c - a library whose constructor and destructor use what we wrap: it is
 * preloaded beside libretry in both orders, so one of the two constructors
 * finds the library not yet, and one of the destructors no longer, set up.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void on_signal(int sig)
{
	(void)sig;
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
	int ok;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(server, (struct sockaddr *)&sa, sizeof(sa));
	getsockname(server, (struct sockaddr *)&sa, &len);
	refused = connect(fd, (struct sockaddr *)&sa, sizeof(sa));
	listen(server, 1);
	ok = connect(fd, (struct sockaddr *)&sa, sizeof(sa));
	if (getaddrinfo("localhost", NULL, NULL, &list) == 0)
		freeaddrinfo(list);
	signal(SIGTERM, on_signal);
	sigaction(SIGTERM, NULL, &old);
	signal(SIGTERM, SIG_DFL);
	close(fd);
	close(server);
	dprintf(1, "%s refused=%d ok=%d handler=%d\n", when, refused, ok,
	        first && old.sa_handler == on_signal);
}

__attribute__((constructor)) static void early(void)
{
	use_everything("early");
}

__attribute__((destructor)) static void late(void)
{
	use_everything("late");
}
