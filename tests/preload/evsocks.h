/* SPDX-License-Identifier: MIT */
/*
 * evsocks.h - Unix sockets beside those of evloop.h, and that nothing happens
 * any more.
 */
#ifndef LIBRETRY_TESTS_EVSOCKS_H
#define LIBRETRY_TESTS_EVSOCKS_H

#include "tests/preload/evloop.h"

/* Long enough for several retries, by every kind of wait. */
GUEST void let_time_pass(struct ev *e)
{
	for (int i = 0; i < 10; i++) {
		must_eq(wait_for(EPOLL_WAIT, e, 20), 0);
		must_eq(poll(NULL, 0, 20), 0);
	}
}

/* Nobody connects to e->server. */
GUEST void nobody_comes(struct ev *e)
{
	struct pollfd p = { e->server, POLLIN, 0 };

	must_eq(listen(e->server, 4), 0);
	for (int i = 0; i < 6; i++)
		must_eq(poll(&p, 1, 50), 0);
}

/* A bound Unix socket that does not listen. */
GUEST int bound_unix(struct sockaddr_un *un, const char *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const char *dir = getenv("TEST_DIR");

	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	snprintf(un->sun_path, sizeof(un->sun_path), "%s/%d.%s", dir ? dir : "/tmp",
	         (int)getpid(), name);
	must_eq(bind(fd, (struct sockaddr *)un, sizeof(*un)), 0);
	return fd;
}

GUEST int unix_stream(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	must(fd >= 0);
	return fd;
}

#endif
