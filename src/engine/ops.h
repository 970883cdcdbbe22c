/* SPDX-License-Identifier: MIT */
/*
 * ops.h - the seam: what an engine may ask of the world.
 *
 * preload/ fills it from libc, the simulator from a scripted world with a
 * virtual clock, unit tests from fakes; the engine above it is the same.
 * Every call answers with values; none of them sets errno for the engine.
 */
#ifndef LIBRETRY_ENGINE_OPS_H
#define LIBRETRY_ENGINE_OPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "log/event.h"
#include "policy/policy.h"

/* How a wait ended. */
enum wake {
	WAKE_TIMEOUT = 0,
	WAKE_INTERRUPTED, /* a handler without SA_RESTART ran */
	WAKE_STOPPING     /* a signal of stop_on was caught */
};

struct engine_ops {
	/* connect(fd, sa, len): 0 or an errno value. <limit> ns bounds this
	 * attempt (DUR_NONE: the socket's own settings do). *expired: the limit
	 * ended it, and a TCP attempt then goes on in the kernel until dissolve;
	 * or <fd> has become another socket while it was under way. */
	int (*connect)(void *ctx, int fd, const struct sockaddr *sa, socklen_t len,
	               int64_t limit, bool *expired);
	/* One look-up of <call> (the caller's own description): the result in
	 * its own domain, {.., 0} = success; *sys_errno = errno after it. */
	struct err (*lookup)(void *ctx, void *call, int64_t limit, int *sys_errno);
	/* Which socket <fd> is now: a number that no other socket of this boot
	 * has; 0 if <fd> is no socket. */
	uint64_t (*identity)(void *ctx, int fd);
	/* True if the connected <fd> is connected to itself. */
	bool (*connected_to_self)(void *ctx, int fd);
	/* connect(AF_UNSPEC): make <fd> ready for another attempt. */
	void (*dissolve)(void *ctx, int fd);
	/* Make <fd> able to connect to addresses of <family>, by mapped ones if
	 * *mapped is set; false if that cannot be. May change its identity. */
	bool (*change_family)(void *ctx, int fd, uint8_t family, bool *mapped);
	/* Whether something listens at <a>, found out without connecting: 1 yes,
	 * 0 no, -1 not known (a remote address). */
	int (*listening)(void *ctx, const struct addr *a);
	/* CLOCK_MONOTONIC in ns. */
	int64_t (*now)(void *ctx);
	/* Waits until <until> (clock of now). A cancellation point. */
	enum wake (*wait)(void *ctx, int64_t until);
	/* Whether retrying has been stopped (a signal of stop_on). */
	bool (*stopping)(void *ctx);
	uint64_t (*random)(void *ctx);
	void (*log)(void *ctx, const struct event *e);
	bool (*log_wants)(void *ctx, enum log_level level);
};

#endif
