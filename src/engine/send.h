/* SPDX-License-Identifier: MIT */
/*
 * send.h - a read or write that failed where the kernel took nothing and says so:
 * what is done before the call is made again, or whether it is. The call itself is
 * the caller's; between two of its attempts it asks here.
 *
 * Holds no lock and no state but the caller's, as engine/connect does.
 */
#ifndef LIBRETRY_ENGINE_SEND_H
#define LIBRETRY_ENGINE_SEND_H

#include "engine/ops.h"
#include "state/peers.h"
#include "state/turns.h"

enum send_cause {
	SEND_BROKEN = 0, /* the connection is over, and remakable */
	SEND_NO_BUFFERS, /* ENOBUFS, ENOMEM */
	SEND_REFUSED     /* a connected datagram socket: of the datagram before */
};

struct send_failure {
	enum send_cause cause;
	int error;
	int fd;
	bool blocking;
	bool replay;               /* what was sent over it is kept: send it again */
	uint64_t identity;         /* SEND_BROKEN: of the socket */
	const struct sockaddr *sa; /* SEND_BROKEN: where it was connected to */
	socklen_t len;
	const struct target *t;
	uintptr_t thread;          /* that connected it */
	int64_t limit;             /* ns, the socket's own time limit; DUR_NONE */
	struct turn *turn;         /* as in struct retry; none is left in the end */
};

enum send_answer {
	SEND_GIVE = 0, /* the program gets *error */
	SEND_AGAIN,    /* make the call again */
	SEND_LATER     /* the socket is in backoff: EAGAIN */
};

/*
 * *so_far: of this operation; .attempt 0: this is its first failure. Waits, makes
 * the connection again (of a blocking socket; of another one that only begins),
 * and logs. *error: .error, or what came after it: the last real one. With the
 * policy's send = "off", SEND_GIVE.
 */
enum send_answer engine_send_failed(const struct engine_ops *ops, void *ctx,
                                    const struct send_failure *f, struct so_far *so_far,
                                    int *error);

/* The call has ended: with success (0), or with an error that is none of the
 * above, for <reason>. Logs, if something was retried. */
void engine_send_ended(const struct engine_ops *ops, void *ctx, const struct target *t,
                       const struct so_far *so_far, int error, enum reason reason);

#endif
