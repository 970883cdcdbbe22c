/* SPDX-License-Identifier: MIT */
/*
 * connect.h - the loop of a blocking connect, on one descriptor.
 *
 * Linux lets a stream socket whose connect failed be connected again with its
 * options, bound port and number kept (measured: TCP, Unix), so nothing of the
 * program's is replaced. Holds no lock and no state outside the caller's frame:
 * a siglongjmp, a cancellation or a close() from a handler may end it anywhere.
 */
#ifndef LIBRETRY_ENGINE_CONNECT_H
#define LIBRETRY_ENGINE_CONNECT_H

#include "engine/ops.h"
#include "state/names.h"
#include "state/peers.h"
#include "state/turns.h"

struct connect_call {
	int fd;
	const struct sockaddr *sa;
	socklen_t len;
	const struct addr *addr;       /* <sa>, parsed */
	const struct addr *aim;        /* where the rule redirects it; NULL: nowhere */
	const struct name_entry *name; /* the look-up it came from; NULL */
	const struct policy *policy;
	const struct rule *rule;       /* NULL: none matched */
	enum mode mode;
	int64_t began;                 /* ns, before the first attempt */
	int64_t limit;                 /* ns, SO_SNDTIMEO of the program; DUR_NONE */
	uint64_t identity;             /* engine_reconnect(): of the socket */
	bool replay;                   /* engine_reconnect(): as for ops->remakable */
	struct turn *turn;             /* as in struct retry; none is left in the end */
};

/*
 * <error>: what the first attempt failed with; 0: no attempt was made yet.
 * If the program closes the descriptor during a wait or an attempt (in another
 * thread or a handler), the call ends: its number may be somebody else's by now.
 * That is not noticed of the first attempt if it was made before this call.
 * Returns 0, or the errno value for the program: always the last real one.
 */
int engine_connect(const struct engine_ops *ops, void *ctx, const struct connect_call *call,
                   int error);

/*
 * The connection of <call> is over, by <error>, before anything came of it: made
 * again, on the same socket and to the same address. A part of the OP_SEND that
 * *so_far tells of (.attempt of it have failed) and that goes on after this; so
 * a success is not logged. Each attempt is bounded by the deadline. Returns 0 also
 * if another thread has made it again; else the last real error that a read or
 * write can have, but <error> itself if the socket is gone, or no longer wanted:
 * then a connection that was made is ended.
 */
int engine_reconnect(const struct engine_ops *ops, void *ctx, const struct connect_call *call,
                     int error, struct so_far *so_far);

#endif
