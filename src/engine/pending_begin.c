/* SPDX-License-Identifier: MIT */
/* How a connect comes to be under way. */
#include <errno.h>
#include <string.h>

#include "engine/pending_act.h"

static bool new_record(struct act *a, const struct engine_ops *ops, void *ctx,
                       const struct pending_call *call)
{
	struct pending *p;

	*a = (struct act){ .ops = ops, .ctx = ctx };
	if (call->len > sizeof(p->sa) || !fdtab_begin(call->fd, &a->ref))
		return false;
	p = a->ref.p;
	memcpy(&p->sa, call->sa, call->len);
	p->len = call->len;
	if (call->aim) {
		act_aim(a, call->aim);
		p->redirected = true;
	}
	p->attempt = 1;
	p->thread = call->thread;
	p->began = call->began;
	p->attempt_began = call->began;
	p->expires = call->attempt_timeout == DUR_NONE
	                     ? DUR_NONE
	                     : dur_add(ops->entry_time(ctx, call->began),
	                               call->attempt_timeout);
	p->guard = call->guard;
	/* It has more to tell than a connect that nothing happens to. */
	if (p->guard.slot)
		atomic_store(&p->identity, ops->identity(ctx, call->fd));
	/* Not to be looked at by itself: that would need a clock, and a system
	 * call, where all goes well. */
	atomic_store(&p->due, p->expires);
	return true;
}

void pending_begin(const struct engine_ops *ops, void *ctx, const struct pending_call *call)
{
	struct act a;

	/* Claimed for these few stores only: with nothing to jump out of but a
	 * handler that comes just here, and then the record is lost. */
	if (new_record(&a, ops, ctx, call))
		fdtab_release(&a.ref, PEND_CONNECTING);
}

/* Most programs that connect a Unix socket know only yes and no. */
static bool may_be_deferred(const struct target *t)
{
	if (t->mode != MODE_RETRY || t->policy->nonblocking != NONBLOCKING_DEFERRED)
		return false;
	return t->addr.family != AF_UNIX || t->rule;
}

int pending_failed_at_once(const struct engine_ops *ops, void *ctx,
                           const struct pending_call *call, const struct target *t, int error)
{
	struct act a;
	bool retried;

	if (!may_be_deferred(t))
		return error;
	if (!ops->enter(ctx))
		return error;
	if (!new_record(&a, ops, ctx, call)) {
		ops->leave(ctx);
		return error;
	}
	a.ref.p->expires = DUR_NONE;
	retried = act_ours(&a) && act_judge(&a, error) == FATE_OURS && act_retry(&a, error);
	if (!retried)
		act_release(&a, PEND_FREE);
	return retried ? EINPROGRESS : error;
}

/* A record before its first attempt, <error> being what others were told. False: there is
 * none, nor is anything held. */
static bool begin_waiting(struct act *a, const struct engine_ops *ops, void *ctx,
                          const struct pending_call *call, const struct target *t, int error)
{
	struct pending *p;

	if (!ops->enter(ctx))
		return false;
	if (!new_record(a, ops, ctx, call)) {
		ops->leave(ctx);
		return false;
	}
	p = a->ref.p;
	p->policy = t->policy;
	p->rule = t->rule;
	p->mode = t->mode;
	p->attempt = 0;
	p->error = error;
	p->parked = true;
	p->expires = DUR_NONE;
	p->began = ops->now(ctx);
	p->backoff_began = p->began;
	if (act_ours(a) && act_park(a))
		return true;
	act_rearm(a);
	act_release(a, PEND_FREE);
	return false;
}

static bool begin_parked(const struct engine_ops *ops, void *ctx, const struct pending_call *call,
                         const struct target *t, int error, int64_t until)
{
	struct act a;

	if (!begin_waiting(&a, ops, ctx, call, t, error))
		return false;
	atomic_store(&a.ref.p->due, until);
	act_release(&a, PEND_BACKOFF);
	return true;
}

/* The breaker is open: is there another place to go to? */
static LR_NOINLINE bool begin_elsewhere(const struct engine_ops *ops, void *ctx,
                                        const struct pending_call *call,
                                        const struct target *t, int error)
{
	struct act a;

	if (!begin_waiting(&a, ops, ctx, call, t, error))
		return false;
	if (act_detour(&a, t)) {
		act_attempt(&a, a.ref.p->began);
		return true;
	}
	act_rearm(&a);
	act_release(&a, PEND_FREE);
	return false;
}

/* Before there is a record. <dest>: DEST_TEXT_MAX. */
static struct retry first_of(const struct engine_ops *ops, void *ctx, struct pending_call *call,
                             const struct target *t, char *dest)
{
	dest_text(dest, DEST_TEXT_MAX, t->name.id ? t->name.name : NULL, &t->addr, t->addr.port);
	return (struct retry){ .ops = ops,
		               .ctx = ctx,
		               .op = OP_CONNECT,
		               .mode = t->mode,
		               .policy = t->policy,
		               .rule = t->rule,
		               .dest = dest,
		               .addr = &t->addr,
		               .limit = DUR_NONE,
		               .attempt = 1,
		               .guard = &call->guard,
		               .detour = t->rule && t->rule->fallback_count > 0 };
}

enum guard_answer pending_first(const struct engine_ops *ops, void *ctx,
                                struct pending_call *call, const struct target *t, int *error)
{
	enum guard_answer answer;
	char dest[DEST_TEXT_MAX];
	int64_t until = 0;
	struct retry r;
	struct err e;

	if (!may_be_deferred(t))
		return GUARD_GO;
	r = first_of(ops, ctx, call, t, dest);
	r.began = ops->now(ctx);
	answer = retry_first_ask(&r, &e, &until);
	*error = e.code;
	if (answer == GUARD_PARK && !begin_parked(ops, ctx, call, t, e.code, until))
		return GUARD_GO;
	if (answer == GUARD_REFUSED && r.ended == REASON_BREAKER && r.detour) {
		if (begin_elsewhere(ops, ctx, call, t, e.code))
			return GUARD_PARK;
		r.attempt = 0;
		retry_end(&r, e, REASON_BREAKER);
	}
	return answer;
}

void pending_first_over(const struct engine_ops *ops, void *ctx, struct pending_call *call,
                        const struct target *t, int error)
{
	char dest[DEST_TEXT_MAX];
	struct retry r;

	if (!call->guard.slot)
		return;
	if (!error) {
		r = first_of(ops, ctx, call, t, dest);
		r.attempt_began = ops->entry_time(ctx, call->began);
		retry_succeeded(&r);
	}
	guard_abandoned(&call->guard);
}

/* A record that waits for nothing but its next attempt. */
static void fill(struct pending *p, const struct target *t, const struct so_far *so_far)
{
	p->op = OP_SEND;
	p->policy = t->policy;
	p->rule = t->rule;
	p->mode = t->mode;
	p->expires = DUR_NONE;
	p->attempt = so_far->attempt;
	p->began = so_far->began;
	p->waited = so_far->waited;
	p->previous_wait = so_far->previous_wait;
}

int pending_remake(const struct engine_ops *ops, void *ctx, const struct pending_call *call,
                   const struct target *t, const struct so_far *so_far, bool replay, int error)
{
	struct act a;

	if (!ops->enter(ctx))
		return error;
	if (!new_record(&a, ops, ctx, call)) {
		ops->leave(ctx);
		return error;
	}
	fill(a.ref.p, t, so_far);
	a.ref.p->replay = replay;
	atomic_store(&a.ref.p->identity, call->identity);
	/* Now that a shutdown() finds the record: one before that has taken the
	 * note away. */
	if (act_ours(&a) && ops->wanted(ctx, call->fd, call->sa, call->len) &&
	    act_retry(&a, error))
		return EAGAIN;
	act_release(&a, PEND_FREE);
	return error;
}
