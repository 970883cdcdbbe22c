/* SPDX-License-Identifier: MIT */
#include "engine/connect.h"

#include <errno.h>
#include <string.h>

#include "base/compat.h"
#include "engine/retry.h"
#include "engine/walk.h"

/* One call under way: the target may move to another address of the name. */
struct state {
	struct retry r;
	struct walk walk;
	const struct connect_call *call;
	const struct sockaddr *sa;
	socklen_t len;
	struct addr addr;
	struct sockaddr_storage moved_to;
	uint64_t identity; /* of the socket, to notice that it was closed */
	bool gone;         /* it was, while we were in the kernel */
};

static int64_t left_of(int64_t bound, int64_t elapsed)
{
	int64_t left;

	if (bound == DUR_NONE)
		return DUR_NONE;
	left = dur_sub(bound, elapsed);
	/* Zero would mean "no bound" to the kernel. */
	return left > 0 ? left : 1;
}

static bool same_socket(const struct state *s)
{
	return s->r.ops->identity(s->r.ctx, s->call->fd) == s->identity;
}

/* One attempt. An attempt that attempt_timeout ends counts as ETIMEDOUT; one
 * that the program's own SO_SNDTIMEO ends stays EINPROGRESS, as in the kernel. */
static LR_NOINLINE int attempt(struct state *s, int last_error)
{
	const struct engine_ops *ops = s->r.ops;
	const struct policy *p = s->call->policy;
	int64_t elapsed = dur_sub(s->r.attempt_began, s->r.began);
	int64_t own = left_of(s->call->limit, elapsed);
	int64_t cut = p->attempt_timeout;
	int64_t limit;
	bool expired = false;
	int rc;

	if (cut != DUR_NONE && left_of(p->deadline, elapsed) < cut)
		cut = left_of(p->deadline, elapsed);
	limit = cut < own ? cut : own;
	if (s->r.attempt == 1 && cut >= own)
		limit = DUR_NONE;
	s->identity = ops->identity(s->r.ctx, s->call->fd);
	rc = ops->connect(s->r.ctx, s->call->fd, s->sa, s->len, limit, &expired);
	if (expired && !same_socket(s)) {
		s->gone = true;
		return last_error ? last_error : ETIMEDOUT;
	}
	if (expired && cut < own) {
		ops->dissolve(s->r.ctx, s->call->fd);
		return ETIMEDOUT;
	}
	/* The kernel may pick the very port that is being connected to, and the
	 * socket then talks to itself. A program that retries by itself would
	 * meet this as rarely as anybody; we make it likely, so we look. */
	if (rc == 0 && s->r.attempt > 1 && s->addr.family != AF_UNIX &&
	    ops->connected_to_self(s->r.ctx, s->call->fd)) {
		ops->dissolve(s->r.ctx, s->call->fd);
		return ECONNREFUSED;
	}
	return rc;
}

/* <reason>: REASON_NONE, or why the program itself is to go there. */
static void log_moved(const struct state *s, const struct addr *to, enum reason reason)
{
	struct event e;

	memset(&e, 0, sizeof(e));
	e.kind = EVENT_MOVED;
	e.op = OP_CONNECT;
	e.dest = s->r.dest;
	e.addr = to;
	e.reason = reason;
	e.left = DUR_NONE;
	s->r.ops->log(s->r.ctx, &e);
}

/* The next attempts go to <a>. A v6 socket talks to v4 addresses in their
 * mapped form only. */
static void move_to(struct state *s, const struct addr *a, bool mapped)
{
	struct addr to = *a;

	to.mapped = mapped;
	s->len = addr_to_sockaddr(&to, &s->moved_to);
	s->sa = (const struct sockaddr *)&s->moved_to;
	s->addr = to;
	log_moved(s, &to, REASON_NONE);
}

/*
 * Another address of the name has come alive. Of this one's family: connect
 * there, on the same socket. Of the other: the program shall try it itself if
 * it still can (true); else the socket must change its family.
 */
static bool follow(struct state *s, const struct addr *a, bool untried)
{
	bool mapped = s->addr.mapped;

	if (a->family == s->addr.family) {
		move_to(s, a, mapped);
		return false;
	}
	if (untried) {
		names_set_pending(s->call->name, s->addr.port, s->r.attempt - 1, s->r.waited);
		log_moved(s, a, REASON_OTHER_ADDRESS);
		return true;
	}
	if (s->r.ops->change_family(s->r.ctx, s->call->fd, a->family, &mapped)) {
		s->identity = s->r.ops->identity(s->r.ctx, s->call->fd);
		move_to(s, a, mapped);
	}
	return false;
}

/* After a wait: is another address alive while this one is not? True: the
 * failure goes back to the program. */
static LR_NOINLINE bool look_again(struct state *s)
{
	struct addr to;
	bool untried;

	return walk_other_alive(&s->walk, &to, &untried) && follow(s, &to, untried);
}

/* The first failure of this call: whose business is it? True: not ours now. */
static bool goes_straight_back(struct state *s, int error)
{
	enum reason reason = walk_first_failure(&s->walk, error, s->r.began);

	if (reason == REASON_NONE)
		return false;
	retry_end(&s->r, (struct err){ ERR_ERRNO, error }, reason);
	return true;
}

/* The program has closed the descriptor meanwhile, and its number may name
 * another socket, or a file. <attempts> were made. */
static void log_abandoned(const struct state *s, unsigned attempts)
{
	struct event e;

	memset(&e, 0, sizeof(e));
	e.kind = EVENT_ABANDONED;
	e.op = OP_CONNECT;
	e.dest = s->r.dest;
	e.addr = &s->addr;
	e.attempts = attempts;
	e.waited = s->r.waited;
	e.policy = s->r.policy->name;
	e.left = DUR_NONE;
	s->r.ops->log(s->r.ctx, &e);
}

/* Not failures that anybody retries: the kernel goes on with the attempt, or
 * the program must see it at once. */
static bool native(int error)
{
	return error == EINTR || error == EINPROGRESS || error == EALREADY || error == EISCONN;
}

static int run(struct state *s, int error)
{
	if (error == 0) {
		error = attempt(s, 0);
		if (error == 0)
			return 0;
	}
	if (native(error))
		return error;
	if (s->r.attempt == 1 && goes_straight_back(s, error))
		return error;
	for (;;) {
		if (s->gone) {
			log_abandoned(s, s->r.attempt);
			return error;
		}
		/* Now, and not when the call began: what lies below us may have
		 * put another socket there. */
		s->identity = s->r.ops->identity(s->r.ctx, s->call->fd);
		if (!retry_after(&s->r, (struct err){ ERR_ERRNO, error }, error))
			break;
		if (!same_socket(s)) {
			log_abandoned(s, s->r.attempt - 1);
			return error;
		}
		if (look_again(s))
			return error;
		error = attempt(s, error);
		if (error == 0 || native(error))
			return error;
	}
	if (walk_applies(&s->walk) &&
	    (s->r.ended == REASON_ATTEMPTS || s->r.ended == REASON_DEADLINE))
		walk_exhausted(&s->walk, s->r.ops->now(s->r.ctx));
	return error;
}

int engine_connect(const struct engine_ops *ops, void *ctx, const struct connect_call *call,
                   int error)
{
	char dest[DEST_TEXT_MAX];
	struct state s = { .call = call, .sa = call->sa, .len = call->len, .addr = *call->addr };

	dest_text(dest, sizeof(dest), call->name ? call->name->name : NULL, call->addr,
	          call->addr->port);
	s.r = (struct retry){ .ops = ops,
	                      .ctx = ctx,
	                      .op = OP_CONNECT,
	                      .mode = call->mode,
	                      .policy = call->policy,
	                      .rule = call->rule,
	                      .dest = dest,
	                      .addr = &s.addr,
	                      .began = call->began,
	                      .attempt_began = call->began,
	                      .limit = call->limit,
	                      .attempt = 1 };
	s.walk = (struct walk){ .ops = ops,
	                        .ctx = ctx,
	                        .name = call->name,
	                        .policy = call->policy,
	                        .addr = &s.addr };
	error = run(&s, error);
	if (error == 0)
		retry_succeeded(&s.r);
	return error;
}
