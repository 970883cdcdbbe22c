/* SPDX-License-Identifier: MIT */
/*
 * deep.c - a module that behind.c loads with RTLD_DEEPBIND: its calls go straight
 * to libc, past every preload.
 */
#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEEP __attribute__((visibility("default")))

DEEP int deep_close(int fd);
DEEP int deep_connect(int fd, const struct sockaddr *sa, socklen_t len);
DEEP int deep_poll(struct pollfd *p, int timeout);

/* Opened by a name that only this module's own RUNPATH leads to. */
DEEP void *deep_open(const char *name, int flags);

void *deep_open(const char *name, int flags)
{
	void *volatile module = dlopen(name, flags);

	/* Not by a jump: that would be a call of who called this. */
	return module;
}

int deep_close(int fd)
{
	return close(fd);
}

int deep_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	return connect(fd, sa, len);
}

int deep_poll(struct pollfd *p, int timeout)
{
	return poll(p, 1, timeout);
}
