/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "cli/sim.h"
#include "engine/connect.h"
#include "state/carry.h"

/* The world has one socket, and it stays the same one. */
#define SOCKET 1

static int op_connect(void *ctx, int fd, const struct sockaddr *sa, socklen_t len,
                      int64_t limit, bool *expired)
{
	struct sim_call *call = ctx;
	int64_t began = call->now;
	int error = call->attempt(call);

	(void)fd;
	(void)sa;
	(void)len;
	call->attempts++;
	*expired = dur_sub(call->now, began) > limit;
	if (!*expired)
		return error;
	call->now = dur_add(began, limit);
	return ETIMEDOUT;
}

static uint64_t op_identity(void *ctx, int fd)
{
	(void)ctx;
	(void)fd;
	return SOCKET;
}

static bool op_connected_to_self(void *ctx, int fd)
{
	(void)ctx;
	(void)fd;
	return false;
}

static void op_dissolve(void *ctx, int fd)
{
	(void)ctx;
	(void)fd;
}

static int64_t op_now(void *ctx)
{
	return ((struct sim_call *)ctx)->now;
}

static enum wake op_wait(void *ctx, int64_t until)
{
	struct sim_call *call = ctx;

	call->waited = dur_add(call->waited, dur_sub(until, call->now));
	call->now = until;
	return WAKE_TIMEOUT;
}

static bool op_stopping(void *ctx)
{
	(void)ctx;
	return false;
}

static uint64_t op_random(void *ctx)
{
	return prng_next(&((struct sim_call *)ctx)->jitter);
}

static void op_log(void *ctx, const struct event *e)
{
	(void)ctx;
	(void)e;
}

static bool op_log_wants(void *ctx, enum log_level level)
{
	(void)ctx;
	(void)level;
	return false;
}

/* The others belong to connects that do not block, to names and to places that a
 * rule names; none of them is here. */
static const struct engine_ops ops = {
	.connect = op_connect,
	.identity = op_identity,
	.connected_to_self = op_connected_to_self,
	.dissolve = op_dissolve,
	.now = op_now,
	.wait = op_wait,
	.stopping = op_stopping,
	.random = op_random,
	.log = op_log,
	.log_wants = op_log_wants,
};

int sim_call(struct sim_call *call)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(1) };
	struct addr addr = { .family = AF_INET, .port = 1 };
	struct connect_call connect = { .fd = SOCKET,
	                                .sa = (const struct sockaddr *)&sin,
	                                .len = sizeof(sin),
	                                .addr = &addr,
	                                .policy = call->policy,
	                                .mode = MODE_RETRY,
	                                .began = call->now,
	                                .limit = DUR_NONE };
	int error;

	/* Each is the first of a process of its own. */
	if (call->policy->carry)
		carry_reset();
	call->attempts = 0;
	call->waited = 0;
	/* As in a program: the first attempt is its own, unless the policy bounds it. */
	if (call->policy->attempt_timeout != DUR_NONE)
		return engine_connect(&ops, call, &connect, 0);
	error = call->attempt(call);
	call->attempts = 1;
	return error ? engine_connect(&ops, call, &connect, error) : 0;
}
