/* SPDX-License-Identifier: MIT */
#include "engine/connect.h"

#include <errno.h>
#include <string.h>

#include "base/compat.h"
#include "engine/place.h"
#include "engine/retry.h"
#include "engine/walk.h"

/* What is left for a first attempt to a signal that asks for the program's attention. */
#define HURRY (1 * DUR_S)

/* One call under way: the target may move to another address of the name, or to
 * another place of the rule. */
struct state {
	struct retry r;
	struct walk walk;
	const struct connect_call *call;
	const struct sockaddr *sa;
	socklen_t len;
	struct addr addr;  /* of the current attempt */
	struct addr home;  /* of attempts at the destination itself */
	unsigned place;    /* 0: there; n: at the rule's n-th fallback */
	struct places places;
	struct sockaddr_storage moved_to;
	uint64_t identity; /* of the socket, to notice that it was closed */
	bool gone;         /* it was, while we were in the kernel */
	struct guard guard;
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

/* Ends an attempt that goes on in the kernel; the error that this leaves on the socket
 * is none that a read or write is to tell. */
static void dissolve(const struct state *s)
{
	s->r.ops->dissolve(s->r.ctx, s->call->fd);
	if (s->r.op == OP_SEND)
		s->r.ops->take_error(s->r.ctx, s->call->fd);
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
	bool first = s->r.attempt == 1 && s->r.op != OP_SEND;
	int64_t left = left_of(p->deadline, first ? 0 : elapsed);
	bool by_deadline;
	int64_t limit;
	bool expired = false;
	int rc;

	/* The first attempt may take the kernel's time, as alone, however long it had to
	 * wait for others. Those that only we make end with the deadline. */
	by_deadline = (cut != DUR_NONE || !first) && left < cut;
	if (by_deadline)
		cut = left;
	if (s->r.hurry && first && HURRY < cut) {
		by_deadline = true;
		cut = HURRY;
	}
	limit = cut < own ? cut : own;
	/* Nor what the program has set, unless some of it is gone. */
	if (s->r.attempt == 1 && cut >= own && elapsed <= 0)
		limit = DUR_NONE;
	rc = ops->connect(s->r.ctx, s->call->fd, s->sa, s->len, limit, &expired);
	/* A first one that goes well costs no system call. */
	if ((rc != 0 || s->r.attempt > 1) && !same_socket(s)) {
		s->gone = rc != 0 || s->r.op == OP_SEND;
		return !expired ? rc : last_error ? last_error : ETIMEDOUT;
	}
	if (expired && cut < own) {
		dissolve(s);
		return by_deadline && last_error ? last_error : ETIMEDOUT;
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

/* The next attempts go to <to>. */
static void aim_at(struct state *s, const struct addr *to)
{
	s->len = addr_to_sockaddr(to, &s->moved_to);
	s->sa = (const struct sockaddr *)&s->moved_to;
	s->addr = *to;
	/* Another family may have taken another socket. */
	s->identity = s->r.ops->identity(s->r.ctx, s->call->fd);
}

/*
 * Another address of the name has come alive. If the program has it still to
 * try, it shall go there itself (true). One that it has tried in this walk is
 * moved to: on the same socket, or on one of the other family. Others never
 * are: who takes each address for a server of its own must not be handed
 * another.
 */
static bool follow(struct state *s, const struct addr *a, bool untried)
{
	struct addr to;

	if (untried) {
		walk_went_back(&s->walk);
		names_set_pending(s->call->name, s->home.port, s->r.attempt - 1, s->r.waited);
		log_moved(s, a, REASON_OTHER_ADDRESS);
		return true;
	}
	if (place_reach(&s->places, &s->addr, a, &to)) {
		aim_at(s, &to);
		s->home = to;
		log_moved(s, &to, REASON_NONE);
	}
	return false;
}

/* Whose turn is it: the destination's, or that of a place its rule names? */
static void fall_back(struct state *s)
{
	int64_t end = dur_add(s->r.began, s->call->policy->deadline);
	struct addr to;
	unsigned place;

	/* What the policy leaves. */
	s->places.patience = PLACE_PATIENCE;
	if (end != DUR_NONE && s->places.rule && s->places.rule->fallback_count > 0)
		s->places.patience = left_of(end, s->r.ops->now(s->r.ctx));
	if (s->places.patience > PLACE_PATIENCE)
		s->places.patience = PLACE_PATIENCE;
	place = place_next(&s->places, s->place, s->r.attempt - 1, &s->addr, &to);

	if (place == s->place ||
	    (place == 0 && !place_reach(&s->places, &s->addr, &s->home, &to)))
		return;
	place_log_moved(&s->places, &s->addr, &to);
	aim_at(s, &to);
	s->place = place;
	s->r.elsewhere = place > 0 || s->call->aim;
	s->r.detour = place == 0;
}

/* After a wait: where does the next attempt go? True: the failure goes back to
 * the program. */
static LR_NOINLINE bool look_again(struct state *s)
{
	struct addr to;
	bool untried;

	if (s->place == 0 && walk_other_alive(&s->walk, true, &to, &untried))
		return follow(s, &to, untried);
	fall_back(s);
	return false;
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
static void log_abandoned(struct state *s, unsigned attempts)
{
	struct event e;

	memset(&e, 0, sizeof(e));
	e.kind = EVENT_ABANDONED;
	e.op = s->r.op;
	e.dest = s->r.dest;
	e.addr = &s->addr;
	e.attempts = attempts;
	e.waited = s->r.waited;
	e.policy = s->r.policy->name;
	e.left = DUR_NONE;
	s->r.ops->log(s->r.ctx, &e);
	guard_left(&s->guard);
	guard_counted(s->r.ops, s->r.ctx, true);
}

/* Not failures that anybody retries: the kernel goes on with the attempt, or
 * the program must see it at once. */
static bool native(int error)
{
	return error == EINTR || error == EINPROGRESS || error == EALREADY || error == EISCONN;
}

/* The breaker is open: is there another place to go to? */
static bool goes_elsewhere(struct state *s, struct err e)
{
	unsigned attempts = s->r.attempt;

	if (s->r.ended != REASON_BREAKER || !s->r.detour)
		return false;
	if (attempts <= s->call->rule->fallback_after)
		s->r.attempt = s->call->rule->fallback_after + 1;
	fall_back(s);
	s->r.attempt = attempts;
	if (s->place > 0)
		return true;
	retry_end(&s->r, e, REASON_BREAKER);
	return false;
}

static LR_NOINLINE int run(struct state *s, int error)
{
	struct err refusal;

	if (error == 0) {
		s->identity = s->r.ops->identity(s->r.ctx, s->call->fd);
		if (!retry_first(&s->r, &refusal) && !goes_elsewhere(s, refusal))
			return refusal.code;
		error = attempt(s, s->r.hurry ? refusal.code : 0);
		if (error == 0)
			return 0;
	}
	if (native(error))
		return error;
	if (s->r.attempt == 1 && goes_straight_back(s, error))
		return error;
	/* A number that was closed during a first attempt that is over is taken for
	 * what has it now: to know better would cost each connect a system call. */
	if (!s->identity)
		s->identity = s->r.ops->identity(s->r.ctx, s->call->fd);
	for (;;) {
		if (s->gone) {
			log_abandoned(s, s->r.attempt);
			return error;
		}
		if (!retry_after(&s->r, (struct err){ ERR_ERRNO, error }, error)) {
			if (!goes_elsewhere(s, (struct err){ ERR_ERRNO, error }))
				break;
			s->r.attempt++;
		}
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
	if (s->r.mode == MODE_OBSERVE && s->r.ended == REASON_NONE)
		place_log_observed(&s->places, s->r.attempt, &s->addr);
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
	                      .attempt = 1,
	                      .guard = &s.guard,
	                      .turn = call->turn };
	s.walk = (struct walk){ .ops = ops,
	                        .ctx = ctx,
	                        .name = call->aim ? NULL : call->name,
	                        .policy = call->policy,
	                        .addr = &s.home };
	s.places = (struct places){ .ops = ops,
	                            .ctx = ctx,
	                            .fd = call->fd,
	                            .wait = true,
	                            .family = call->addr->family,
	                            .rule = call->rule,
	                            .policy = call->policy,
	                            .dest = dest };
	if (call->aim)
		aim_at(&s, call->aim);
	s.home = s.addr;
	s.r.elsewhere = call->aim != NULL;
	s.r.detour = call->rule && call->rule->fallback_count > 0;
	error = run(&s, error);
	if (error == 0) {
		retry_succeeded(&s.r);
		walk_succeeded(&s.walk);
	}
	/* Of an attempt that said nothing, or was not made after all. */
	guard_abandoned(&s.guard);
	turns_give(call->turn);
	return error;
}

/* What connect() says, and neither a read nor a write. */
static bool is_of_connect(int error)
{
	return error == EINPROGRESS || error == EALREADY || error == EISCONN || error == EINVAL ||
	       error == EPERM || error == EACCES || error == EOPNOTSUPP || error == EBADF ||
	       error == ENOTSOCK || error == EAGAIN;
}

static bool is_wanted(const struct state *s)
{
	return s->r.ops->wanted(s->r.ctx, s->call->fd, s->call->sa, s->call->len);
}

/*
 * Another thread may be at it as well. A connection that it has made must not be
 * dissolved: data may have gone over it. False: there is one. An attempt of its is
 * joined.
 */
static bool make_ready(struct state *s)
{
	const struct engine_ops *ops = s->r.ops;
	const struct connect_call *c = s->call;
	enum condition now;

	if (!ops->remakable(s->r.ctx, c->fd, c->sa, c->len, c->replay)) {
		now = ops->condition(s->r.ctx, c->fd);
		if (now != CONDITION_CLOSED)
			return now == CONDITION_TRYING;
	}
	ops->dissolve(s->r.ctx, c->fd);
	return true;
}

/* The time that the program has set, or O_NONBLOCK that it has set meanwhile, has
 * ended an attempt: the kernel is not to go on with it. */
static int cut_off(struct state *s, int error)
{
	dissolve(s);
	retry_end(&s->r, (struct err){ ERR_ERRNO, error }, REASON_DEADLINE);
	return error;
}

/* Waits and tries until it is connected, or over. */
static int run_again(struct state *s, int error)
{
	int first = error;

	for (;;) {
		if (!retry_after(&s->r, (struct err){ ERR_ERRNO, error }, error))
			return is_of_connect(error) ? first : error;
		if (!same_socket(s) || !is_wanted(s)) {
			log_abandoned(s, s->r.attempt - 1);
			return first;
		}
		if (!make_ready(s))
			return 0;
		error = attempt(s, error);
		/* Made by another thread in between. */
		if (error == EISCONN && !s->gone)
			error = 0;
		if (s->gone || (error == 0 && !is_wanted(s))) {
			if (!s->gone)
				s->r.ops->end(s->r.ctx, s->call->fd);
			log_abandoned(s, s->r.attempt);
			return first;
		}
		if (error == EINPROGRESS || error == EALREADY)
			return cut_off(s, first);
		if (error == 0 || error == EINTR)
			return error;
	}
}

int engine_reconnect(const struct engine_ops *ops, void *ctx, const struct connect_call *call,
                     int error, struct so_far *so_far)
{
	char dest[DEST_TEXT_MAX];
	struct state s = { .call = call,
	                   .sa = call->sa,
	                   .len = call->len,
	                   .addr = *call->addr,
	                   .identity = call->identity };

	dest_text(dest, sizeof(dest), call->name ? call->name->name : NULL, call->addr,
	          call->addr->port);
	s.r = (struct retry){ .ops = ops,
	                      .ctx = ctx,
	                      .op = OP_SEND,
	                      .mode = call->mode,
	                      .policy = call->policy,
	                      .rule = call->rule,
	                      .dest = dest,
	                      .addr = &s.addr,
	                      .began = so_far->began,
	                      .attempt_began = call->began,
	                      .limit = call->limit,
	                      .attempt = so_far->attempt,
	                      .waited = so_far->waited,
	                      .previous_wait = so_far->previous_wait,
	                      .guard = &s.guard,
	                      .turn = call->turn };
	error = run_again(&s, error);
	turns_give(call->turn);
	so_far->attempt = s.r.attempt;
	so_far->waited = s.r.waited;
	so_far->previous_wait = s.r.previous_wait;
	return error;
}
