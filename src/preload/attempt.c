/* SPDX-License-Identifier: MIT */
#include "preload/attempt.h"

#include <arpa/nameser.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <resolv.h>
#include <sys/time.h>

#include "base/sys.h"
#include "preload/inject.h"
#include "preload/leaving.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "state/fdtab.h"
#include "state/options.h"

/* How long the beginning of an attempt holds signals back. */
#define HELD_MAX (20 * DUR_MS)

void attempt_options(int fd)
{
	static const int names[OPTION_COUNT] = { [OPTION_MAXSEG] = TCP_MAXSEG,
		                                 [OPTION_WINDOW_CLAMP] = TCP_WINDOW_CLAMP };
	int value;

	for (int i = 0; (fdtab_word() & FDTAB_OPTIONS) && i < OPTION_COUNT; i++)
		if (options_find(fd, i, &value))
			sys_setsockopt(fd, IPPROTO_TCP, names[i], &value, sizeof(value));
}

int attempt_call(struct signal_hold *hold, int fd, const struct sockaddr *sa, socklen_t len)
{
	int rc;

	signal_let(hold);
	rc = real.connect(fd, sa, len) == 0 ? 0 : errno;
	signal_hold_again(hold);
	return rc;
}

/* SO_SNDTIMEO = <limit> ns, rounded up: 0 would mean no limit. */
static bool set_send_timeout(int fd, int64_t limit)
{
	struct timeval tv;

	tv.tv_sec = (time_t)(limit / DUR_S);
	tv.tv_usec = (suseconds_t)((limit % DUR_S + DUR_US - 1) / DUR_US);
	if (tv.tv_usec >= 1000000) {
		tv.tv_sec++;
		tv.tv_usec = 0;
	}
	return sys_setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) == 0;
}

/* A connect that SO_SNDTIMEO ended says EINPROGRESS, or EALREADY if it was
 * waited for before; on a Unix socket, whose queue is full, EAGAIN (measured). */
static bool not_done(int rc, const struct sockaddr *sa)
{
	return rc == EINPROGRESS || rc == EALREADY || (rc == EAGAIN && sa->sa_family == AF_UNIX);
}

/*
 * The beginning of an attempt, with signals held back. A refusal by a machine
 * nearby takes some microseconds; a signal that came in them would run its
 * handler and be lost on the wait that follows. <limit> is a few milliseconds.
 * Cancellation would leave the mask and the limit behind.
 */
static int connect_held(int fd, const struct sockaddr *sa, socklen_t len, int64_t limit)
{
	int cancel;
	int rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rc = EINPROGRESS; /* should the limit be refused: the second part is all of it */
	if (set_send_timeout(fd, limit))
		rc = real.connect(fd, sa, len) == 0 ? 0 : errno;
	pthread_setcancelstate(cancel, NULL);
	/* libc's own signals are not held back, and must not be seen. */
	return rc == EINTR ? EINPROGRESS : rc;
}

/*
 * The rest of the attempt under SO_SNDTIMEO until <end>. With a time-out the
 * kernel answers EINTR also after handlers with SA_RESTART (signal(7)), which
 * the program, having set none, would never see: then the attempt, which goes
 * on in the kernel, is waited for again. If some handler has no SA_RESTART it
 * may have been that one, and EINTR stands.
 */
static int connect_until(struct signal_hold *hold, int fd, const struct sockaddr *sa,
                         socklen_t len, int64_t end)
{
	int rc;

	do {
		int64_t left = dur_sub(end, sys_monotonic());

		if (left <= 0)
			return EINPROGRESS;
		if (!set_send_timeout(fd, left))
			return attempt_call(hold, fd, sa, len);
		rc = attempt_call(hold, fd, sa, len);
	} while (rc == EINTR && !signal_may_interrupt());
	return rc;
}

/* The time is over, and the answer is that of a socket that still tries; one
 * that was made non-blocking meanwhile gives it at once. The kernel counts in
 * ticks of up to 10 ms. */
static bool is_over(int fd, int rc, const struct sockaddr *sa, int64_t end)
{
	return not_done(rc, sa) && end != DUR_NONE && !probe_nonblocking(fd) &&
	       dur_add(sys_monotonic(), 10 * DUR_MS) >= end;
}

/* The program's own limit, which stands aside for ours. */
struct send_limit {
	int fd;
	uint64_t identity;
	struct timeval before;
};

static void put_limit_back(void *arg)
{
	const struct send_limit *l = arg;

	if (probe_identity(l->fd) == l->identity)
		sys_setsockopt(l->fd, SOL_SOCKET, SO_SNDTIMEO, &l->before, sizeof(l->before));
}

/*
 * The descriptor may be closed while we are in the kernel, and name another
 * socket afterwards, so its identity is looked at before anything is done to
 * it again.
 */
int attempt_connect(void *ctx, int fd, const struct sockaddr *sa, socklen_t len, int64_t limit,
                    bool *expired)
{
	struct send_limit own = { .fd = fd, .before = { 0, 0 } };
	socklen_t size = sizeof(own.before);
	int64_t end;
	int rc;

	if (inject_active() && inject_attempt(ctx, fd, sa, len, &limit, expired, &rc))
		return rc;
	attempt_options(fd);
	own.identity = probe_identity(fd);
	end = limit == DUR_NONE ? DUR_NONE : dur_add(sys_monotonic(), limit);
	if (sys_getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &own.before, &size) != 0)
		return attempt_call(ctx, fd, sa, len);
	rc = connect_held(fd, sa, len, limit < HELD_MAX ? limit : HELD_MAX);
	if (not_done(rc, sa) && end != DUR_NONE && probe_identity(fd) == own.identity) {
		LEAVING_PUSH(put_limit_back, &own);
		rc = connect_until(ctx, fd, sa, len, end);
		LEAVING_POP(0);
	}
	if (probe_identity(fd) != own.identity) {
		*expired = not_done(rc, sa);
		return rc;
	}
	*expired = is_over(fd, rc, sa, end);
	sys_setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &own.before, sizeof(own.before));
	if (not_done(rc, sa) && end == DUR_NONE && !probe_nonblocking(fd))
		return attempt_call(ctx, fd, sa, len);
	return rc == EALREADY ? EINPROGRESS : rc;
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

#ifdef __GLIBC__
/* The resolver's settings, which stand aside for ours. */
struct resolver {
	struct __res_state *res;
	int retrans;
	int retry;
};

static void put_resolver_back(void *arg)
{
	const struct resolver *r = arg;

	r->res->retrans = r->retrans;
	r->res->retry = r->retry;
}

/*
 * The resolver's own time-outs are this thread's _res, in whole seconds. One
 * try per server then bounds a look-up with one server by <limit> (measured);
 * search lists and several servers multiply it.
 */
struct err attempt_lookup(void *ctx, void *call, int64_t limit, int *sys_errno)
{
	struct lookup_again *again = call;
	struct resolver own;
	unsigned char query[64];
	struct err e;

	if (limit == DUR_NONE)
		return call_lookup(ctx, again, sys_errno);
	own.res = &_res;
	/* glibc takes a changed resolv.conf over only while _res is as it left
	 * it, so it must have its chance before we change it: making a query
	 * (which asks nobody) gives it one. */
	res_mkquery(QUERY, ".", C_IN, T_A, NULL, 0, NULL, query, sizeof(query));
	if (!(own.res->options & RES_INIT) && res_ninit(own.res) != 0)
		return call_lookup(ctx, again, sys_errno);
	own.retrans = own.res->retrans;
	own.retry = own.res->retry;
	own.res->retrans = (int)(limit / DUR_S);
	own.res->retry = 1;
	LEAVING_PUSH(put_resolver_back, &own);
	e = call_lookup(ctx, again, sys_errno);
	LEAVING_POP(1);
	return e;
}
#else
/* musl's resolver has its time-outs from resolv.conf alone. */
struct err attempt_lookup(void *ctx, void *call, int64_t limit, int *sys_errno)
{
	(void)limit;
	return call_lookup(ctx, call, sys_errno);
}
#endif
