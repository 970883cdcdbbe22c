/* SPDX-License-Identifier: MIT */
#include "preload/ops.h"

#include <errno.h>
#include <resolv.h>
#include <string.h>
#include <sys/time.h>

#include "base/sys.h"
#include "log/log.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "preload/replace.h"
#include "preload/runtime.h"
#include "preload/signal.h"

static int call_connect(struct signal_hold *hold, int fd, const struct sockaddr *sa,
                        socklen_t len)
{
	int rc;

	signal_let(hold);
	rc = real.connect(fd, sa, len) == 0 ? 0 : errno;
	signal_hold_again(hold);
	return rc;
}

/* A time limit on a blocking connect is SO_SNDTIMEO; it ends with EINPROGRESS
 * and the attempt goes on in the kernel (measured). A program that jumps out
 * of the connect, or is cancelled in it, keeps our value on its socket. */
static int op_connect(void *ctx, int fd, const struct sockaddr *sa, socklen_t len, int64_t limit)
{
	struct timeval before = { 0, 0 };
	socklen_t size = sizeof(before);
	struct timeval tv;
	int rc;

	if (limit == DUR_NONE ||
	    sys_getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &before, &size) != 0)
		return call_connect(ctx, fd, sa, len);
	/* Rounded up: 0 would mean no limit. */
	tv.tv_sec = (time_t)(limit / DUR_S);
	tv.tv_usec = (suseconds_t)((limit % DUR_S + DUR_US - 1) / DUR_US);
	if (tv.tv_usec >= 1000000) {
		tv.tv_sec++;
		tv.tv_usec = 0;
	}
	if (sys_setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) != 0)
		return call_connect(ctx, fd, sa, len);
	rc = call_connect(ctx, fd, sa, len);
	sys_setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &before, sizeof(before));
	return rc;
}

static struct err call_lookup(struct signal_hold *hold, struct lookup_again *again,
                              int *sys_errno)
{
	struct err e;

	signal_let(hold);
	e = again->make(again->args, sys_errno);
	signal_hold_again(hold);
	return e;
}

/*
 * The resolver's own time-outs are this thread's _res, in whole seconds. One
 * try per server then bounds a look-up with one server by <limit> (measured);
 * search lists and several servers multiply it.
 */
static struct err op_lookup(void *ctx, void *call, int64_t limit, int *sys_errno)
{
	struct lookup_again *again = call;
	struct __res_state *res;
	int retrans;
	int retry;
	struct err e;

	if (limit == DUR_NONE)
		return call_lookup(ctx, again, sys_errno);
	res = &_res;
	if (!(res->options & RES_INIT) && res_ninit(res) != 0)
		return call_lookup(ctx, again, sys_errno);
	retrans = res->retrans;
	retry = res->retry;
	res->retrans = (int)(limit / DUR_S);
	res->retry = 1;
	e = call_lookup(ctx, again, sys_errno);
	res->retrans = retrans;
	res->retry = retry;
	return e;
}

static uint64_t op_identity(void *ctx, int fd)
{
	(void)ctx;
	return probe_identity(fd);
}

static bool op_connected_to_self(void *ctx, int fd)
{
	(void)ctx;
	return probe_connected_to_self(fd);
}

static void op_dissolve(void *ctx, int fd)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	(void)ctx;
	sys_connect(fd, &none, sizeof(none));
}

static bool op_change_family(void *ctx, int fd, uint8_t family, bool *mapped)
{
	(void)ctx;
	return replace_family(fd, family, mapped);
}

static int op_listening(void *ctx, const struct addr *a)
{
	(void)ctx;
	return probe_listening(a);
}

static int64_t op_now(void *ctx)
{
	(void)ctx;
	return monotonic_now();
}

/* The first waiter that a stop signal wakes says so, for all. */
static void log_stop(void)
{
	struct event e;
	int sig = signal_take_unlogged();

	if (!sig)
		return;
	runtime_report();
	memset(&e, 0, sizeof(e));
	e.kind = EVENT_STOPPING;
	e.signal = sig;
	e.left = DUR_NONE;
	log_emit(&e);
}

static enum wake op_wait(void *ctx, int64_t until)
{
	struct signal_hold *hold = ctx;
	enum wake wake;

	signal_let(hold);
	wake = hold->interrupted && !signal_stopping() ? WAKE_INTERRUPTED : signal_wait(until);
	signal_hold_again(hold);
	if (wake == WAKE_STOPPING)
		log_stop();
	return wake;
}

static bool op_stopping(void *ctx)
{
	(void)ctx;
	return signal_stopping();
}

static uint64_t op_random(void *ctx)
{
	(void)ctx;
	return thread_random();
}

static void op_log(void *ctx, const struct event *e)
{
	(void)ctx;
	runtime_report();
	log_emit(e);
}

static bool op_log_wants(void *ctx, enum log_level level)
{
	(void)ctx;
	return log_wants(level);
}

const struct engine_ops preload_ops = {
	.connect = op_connect,
	.lookup = op_lookup,
	.identity = op_identity,
	.connected_to_self = op_connected_to_self,
	.dissolve = op_dissolve,
	.change_family = op_change_family,
	.listening = op_listening,
	.now = op_now,
	.wait = op_wait,
	.stopping = op_stopping,
	.random = op_random,
	.log = op_log,
	.log_wants = op_log_wants,
};
