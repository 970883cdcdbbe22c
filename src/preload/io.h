/* SPDX-License-Identifier: MIT */
/*
 * io.h - one read or write of the program's, and what becomes of it when it fails
 * where the kernel took nothing (wrap_io.c makes the calls, again.c decides).
 */
#ifndef LIBRETRY_PRELOAD_IO_H
#define LIBRETRY_PRELOAD_IO_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "state/peers.h"

enum way {
	READS = POLLIN,
	WRITES = POLLOUT
};

/* What .data points to. */
enum form {
	NOTHING = 0, /* a read */
	BUFFER,      /* .count bytes */
	VECTOR,      /* .count struct iovec */
	MESSAGE,     /* a struct msghdr */
	MESSAGES     /* .count struct mmsghdr */
};

struct io {
	int fd;
	enum way way;
	int *flags;        /* the call's; NULL: it has none */
	enum form form;
	const void *data;
	size_t count;
	const struct sockaddr *to; /* sendto(); NULL */
	socklen_t to_len;
	bool pending;      /* a connect is under way: the result is looked at */
	unsigned again;    /* times that a dissolved socket answered */
	bool waited;       /* the two below are set */
	int64_t deadline;  /* ns, monotonic: the socket's own time limit; DUR_NONE */
	uint64_t identity;
	int entry_errno;
	/* Of again.c: */
	struct so_far so_far;
	struct peer peer;  /* whom it goes to, if .so_far.attempt > 0 */
	bool remade;       /* its connection was made again, and the call goes on */
};

/* The socket's own limit for one call, ns; DUR_NONE. */
int64_t io_time_limit(const struct io *io);

/* O_NONBLOCK, or MSG_DONTWAIT. */
bool io_must_not_wait(const struct io *io);

/*
 * Before the real call, while what is sent is kept (FDTAB_REPLAY): if some of it is
 * still to be sent again, that goes first. Waits for it on a blocking socket, before
 * a write. False: the call fails with errno.
 */
bool again_before(struct io *io);

/*
 * The real call has failed with <error>, and no connect is under way that it
 * tells of. True: make it again (waits, connects, logs; *io->flags may have
 * changed). False: the program gets errno. Without a failure of the kinds that
 * are retried no system call is made.
 */
bool again_failed(struct io *io, int error);

/*
 * SO_ERROR of <fd> was read, and is <error>; no connect is under way that it tells
 * of. Returns what the program reads: 0, if a non-blocking socket's connection is
 * made again. errno untouched.
 */
int again_option(int fd, int error);

/* The real call has returned <rc> >= 0: for a call that failed before, and while
 * what is sent is kept (FDTAB_REPLAY). False: what it sent made nonsense of what
 * was to be sent again; the connection is gone, the call fails with errno. */
bool again_succeeded(struct io *io, ssize_t rc);

#endif
