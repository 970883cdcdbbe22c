/* SPDX-License-Identifier: MIT */
/* flaky_serve.c - what a connection of the scripted server gets. */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flaky.h"

/* How long a silent client may keep a connection open. */
#define DRAIN_MS 10000

static void send_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			_exit(0);
		data += n;
		len -= (size_t)n;
	}
}

/* Closing with unread bytes would reset what the client has yet to read. */
static void drain(int fd)
{
	char sink[4096];
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, DRAIN_MS) > 0 && read(fd, sink, sizeof(sink)) > 0)
		;
}

static void serve_http(int fd)
{
	static const char answer[] =
		"HTTP/1.1 200 OK\r\n"
		"Content-Type: text/plain\r\n"
		"Content-Length: 16\r\n"
		"Connection: close\r\n"
		"\r\n"
		"hello-from-late\n";
	char request[8192];
	size_t len = 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	request[0] = '\0';
	while (!strstr(request, "\r\n\r\n")) {
		ssize_t n;

		if (len == sizeof(request) - 1 || poll(&p, 1, DRAIN_MS) <= 0)
			return;
		n = read(fd, request + len, sizeof(request) - 1 - len);
		if (n <= 0)
			return;
		len += (size_t)n;
		request[len] = '\0';
	}
	send_all(fd, answer, strlen(answer));
	shutdown(fd, SHUT_WR);
	drain(fd);
}

static void serve_echo(int fd)
{
	char data[4096];
	ssize_t n;

	while ((n = read(fd, data, sizeof(data))) > 0)
		send_all(fd, data, (size_t)n);
}

static void serve_exec(int fd)
{
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	execl("/bin/sh", "sh", "-c", plan.command, (char *)NULL);
	_exit(127);
}

static void reset(int fd)
{
	const struct linger hard = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(fd);
}

void flaky_serve(int fd, long nth)
{
	enum act act = plan.act;

	if (nth <= plan.closed_first)
		act = ACT_CLOSE;
	else if (nth <= plan.closed_first + plan.reset_first)
		act = ACT_RESET;
	if (plan.delay)
		poll(NULL, 0, (int)plan.delay);
	switch (act) {
	case ACT_HTTP:
		serve_http(fd);
		break;
	case ACT_BANNER:
		send_all(fd, plan.banner, plan.banner_len);
		if (plan.half_close)
			shutdown(fd, SHUT_WR);
		drain(fd);
		break;
	case ACT_ECHO:
		serve_echo(fd);
		break;
	case ACT_EXEC:
		serve_exec(fd);
		break;
	case ACT_RESET:
		reset(fd);
		break;
	case ACT_HOLD:
		drain(fd);
		break;
	case ACT_CLOSE:
		break;
	}
}
