/* SPDX-License-Identifier: MIT */
/* flaky.h - what the two halves of flaky share. */
#ifndef LIBRETRY_TESTS_FLAKY_H
#define LIBRETRY_TESTS_FLAKY_H

#include <stdbool.h>
#include <sys/socket.h>

#define BANNER_MAX 4096

enum act { ACT_CLOSE = 0, ACT_HTTP, ACT_BANNER, ACT_ECHO, ACT_EXEC, ACT_RESET, ACT_HOLD };

struct plan {
	struct sockaddr_storage addr;
	socklen_t addr_len;
	const char *path;       /* Unix socket */
	const char *port_file;
	const char *count_file;
	const char *late_from;  /* lateness counts from the first byte in here */
	long late, up, down, delay, life; /* ms */
	long connections;       /* end after so many; 0 = no such end */
	long closed_first;      /* so many connections are closed at once */
	long reset_first;
	int backlog;
	bool no_accept;
	bool half_close;
	enum act act;
	const char *command;
	char banner[BANNER_MAX];
	size_t banner_len;
};

extern struct plan plan;

/* Treats the <nth> connection (from 1) as the plan says. Runs in a process of
 * its own, which ends afterwards; may also end it. */
void flaky_serve(int fd, long nth);

#endif
