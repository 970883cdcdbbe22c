/* SPDX-License-Identifier: MIT */
#include "engine/pending_act.h"

#include <errno.h>
#include <string.h>

#include "base/compat.h"

/* The record is about <first>, a socket of <identity>. What was read while somebody has it
 * may be of its life before: it has just been taken for another connect. */
static bool is_about(struct act *a, struct pend_ref *ref, int first, uint64_t identity)
{
	uint64_t its;

	if (pend_state(ref) != PEND_BUSY)
		return true;
	if (!fdtab_wait_idle(ref) || pend_state(ref) == PEND_BUSY ||
	    atomic_load(&ref->p->fds[0]) != first)
		return false;
	its = atomic_load(&ref->p->identity);
	return (its ? its : a->ops->identity(a->ctx, first)) == identity;
}

/* <fd> may be a dup that was made before the connect: of the same socket. The
 * other one was marked, too, so mostly no system call is needed to say no. */
static bool join(struct act *a, int fd)
{
	uint64_t identity = 0;
	struct pend_ref ref;

	for (unsigned at = 0; fdtab_next(&at, &ref);) {
		int first = atomic_load(&ref.p->fds[0]);
		uint64_t its = atomic_load(&ref.p->identity);

		if (first < 0 || !fdtab_is_dup(first))
			continue;
		if (!identity)
			identity = a->ops->identity(a->ctx, fd);
		if (!identity)
			return false;
		if (!its)
			its = a->ops->identity(a->ctx, first);
		/* Another thread may be about to close it. */
		if (its == identity && is_about(a, &ref, first, its) &&
		    fdtab_join(&ref, fd, true)) {
			a->ref = ref;
			return true;
		}
	}
	return false;
}

/* <fd> stands for the socket of the record. Of .fds[0] that is asked before anything is
 * done; another one may have been closed unseen, and be another socket by now. */
static bool stands_for_it(struct act *a, int fd)
{
	uint64_t known = atomic_load(&a->ref.p->identity);

	if (!known || fd == act_number(a) || a->ops->identity(a->ctx, fd) == known)
		return true;
	fdtab_part(&a->ref, fd);
	return false;
}

bool act_find(struct act *a, const struct engine_ops *ops, void *ctx, int fd)
{
	a->ops = ops;
	a->ctx = ctx;
	a->foreign = false;
	if (!fdtab_find(fd, &a->ref)) {
		if (!fdtab_is_dup(fd) || !join(a, fd))
			return false;
	} else if (!stands_for_it(a, fd)) {
		return false;
	}
	return pend_state(&a->ref) != PEND_BUSY || fdtab_wait_idle(&a->ref);
}

bool act_claim(struct act *a)
{
	a->foreign = !a->ops->enter(a->ctx);
	if (a->foreign)
		return false;
	if (fdtab_claim(&a->ref))
		return true;
	a->ops->leave(a->ctx);
	return false;
}

void act_release(struct act *a, enum pend_state to)
{
	if (to == PEND_FREE || to == PEND_FAILED)
		guard_abandoned(&a->ref.p->guard);
	if (to != PEND_CONNECTING && to != PEND_BACKOFF)
		turns_give(&a->ref.p->turn);
	/* Closed while we had it: that call left the last word to us. */
	if (!fdtab_settle(&a->ref, to)) {
		act_last_word(a, to);
		turns_give(&a->ref.p->turn);
		fdtab_release(&a->ref, PEND_FREE);
	}
	a->ops->leave(a->ctx);
}

bool act_ours(struct act *a)
{
	uint64_t now = a->ops->identity(a->ctx, act_number(a));
	uint64_t known = atomic_load(&a->ref.p->identity);

	if (now && !known)
		atomic_store(&a->ref.p->identity, now);
	return now && (!known || known == now);
}

enum condition act_condition(struct act *a)
{
	struct pending *p = a->ref.p;
	enum condition now = a->ops->condition(a->ctx, act_number(a));
	bool over = now == CONDITION_RESET || (now == CONDITION_CONNECTED && p->replay);

	if (!over)
		return now;
	/* Only of the connection that the record is about. */
	return a->ops->remakable(a->ctx, act_number(a), (struct sockaddr *)&p->sa, p->len, p->replay)
	               ? CONDITION_RESET
	               : CONDITION_CONNECTED;
}

void act_look_up(struct act *a, struct target *t)
{
	struct pending *p = a->ref.p;
	socklen_t len;
	const struct sockaddr *sa = pend_home(p, &len);

	memset(t, 0, sizeof(*t));
	if (!a->ops->target(a->ctx, sa, len, p->thread, t)) {
		t->name.id = 0;
		addr_from_sockaddr(&t->addr, sa, len);
	}
}

/* A program that was connected once does not walk on. */
static bool has_walk(const struct act *a, const struct target *t)
{
	return t->name.id && !a->ref.p->redirected && a->ref.p->op == OP_CONNECT;
}

struct walk act_walk(const struct act *a, const struct target *t)
{
	return (struct walk){ .ops = a->ops,
	                      .ctx = a->ctx,
	                      .name = has_walk(a, t) ? &t->name : NULL,
	                      .policy = a->ref.p->policy,
	                      .addr = &t->addr,
	                      .behind_waits = true };
}

void act_tell(struct story *s, const struct act *a, const struct target *t)
{
	const struct pending *p = a->ref.p;

	dest_text(s->dest, sizeof(s->dest), t->name.id ? t->name.name : NULL, &t->addr,
	          t->addr.port);
	addr_from_sockaddr(&s->addr, (const struct sockaddr *)&p->sa, p->len);
	s->r = (struct retry){ .ops = a->ops,
	                       .ctx = a->ctx,
	                       .op = p->op,
	                       .mode = p->observed ? MODE_OBSERVE : p->mode,
	                       .policy = p->policy,
	                       .rule = p->rule,
	                       .dest = s->dest,
	                       .addr = &s->addr,
	                       .began = p->began,
	                       .attempt_began = p->attempt_began,
	                       .limit = DUR_NONE,
	                       .attempt = p->attempt,
	                       .waited = p->waited,
	                       .previous_wait = p->previous_wait,
	                       .carried = (uint16_t)p->carried,
	                       .guard = (struct guard *)&p->guard,
	                       .turn = (struct turn *)&p->turn,
	                       .elsewhere = p->place > 0 || p->redirected,
	                       .detour = p->place == 0 && !p->redirected &&
	                                 p->op == OP_CONNECT && p->rule &&
	                                 p->rule->fallback_count > 0,
	                       .parked = p->parked };
}

static LR_NOINLINE void passed(const struct act *a, const struct target *t, int error,
                               enum reason why)
{
	struct story s;

	if (!a->ops->log_wants(a->ctx, LOG_DEBUG_LEVEL))
		return;
	act_tell(&s, a, t);
	retry_end(&s.r, (struct err){ ERR_ERRNO, error }, why);
}

/* REASON_NONE: ours. */
static enum reason why_native(struct act *a, const struct target *t, int error)
{
	struct pending *p = a->ref.p;
	struct walk w = act_walk(a, t);

	if (!t->rule && addr_is_special(&t->addr))
		return REASON_SPECIAL;
	if (p->policy->max_attempts <= 1)
		return REASON_OFF;
	if (a->ops->stopping(a->ctx))
		return REASON_STOPPING;
	w.in_crowd = walk_applies(&w) && act_in_crowd(a, t);
	return walk_first_failure(&w, error, p->began);
}

LR_NOINLINE enum fate act_judge(struct act *a, int error)
{
	struct pending *p = a->ref.p;
	struct target t;
	enum reason why;

	if (p->policy)
		return p->observed ? FATE_OBSERVED : FATE_OURS;
	act_look_up(a, &t);
	if (!t.policy)
		return FATE_NATIVE;
	p->began = a->ops->entry_time(a->ctx, p->began);
	p->attempt_began = p->began;
	p->policy = t.policy;
	p->rule = t.rule;
	p->mode = t.mode;
	p->observed = t.mode == MODE_OBSERVE || t.policy->nonblocking == NONBLOCKING_OBSERVE;
	why = why_native(a, &t, error);
	if (why == REASON_NONE)
		return p->observed ? FATE_OBSERVED : FATE_OURS;
	/* Never retried, but others want to know what it failed with. */
	if (why == REASON_OFF && t.mode == MODE_RETRY && !p->observed &&
	    guard_wants_first(t.policy)) {
		p->last = true;
		return FATE_OURS;
	}
	passed(a, &t, 0, why);
	return FATE_NATIVE;
}

static LR_NOINLINE bool decide_about(struct act *a, const struct target *t, int error)
{
	struct pending *p = a->ref.p;
	struct walk w = act_walk(a, t);
	struct err err = { ERR_ERRNO, error };
	struct decision d;
	struct story s;

	act_tell(&s, a, t);
	if (p->last && p->why == REASON_OTHER_ADDRESS)
		/* Said as "moved". The connect at the other address tells the end. */
		return false;
	if (p->last && p->why != REASON_NONE) {
		retry_end(&s.r, err, p->why);
		return false;
	}
	if (retry_decide(&s.r, err, error, &d)) {
		int64_t now = a->ops->now(a->ctx);

		p->previous_wait = d.wait;
		p->carried = s.r.carried;
		p->error = error;
		p->backoff_began = now;
		atomic_store(&p->due, dur_add(now, d.wait));
		return true;
	}
	if (p->observed && s.r.ended == REASON_NONE)
		act_log_observed(a, &s);
	if (walk_applies(&w) && (s.r.ended == REASON_ATTEMPTS || s.r.ended == REASON_DEADLINE))
		walk_exhausted(&w, a->ops->now(a->ctx));
	return false;
}

LR_NOINLINE bool act_decide(struct act *a, int error)
{
	struct target t;

	act_look_up(a, &t);
	return decide_about(a, &t, error);
}

static LR_NOINLINE void log_given_up(struct act *a, const struct target *t, int error)
{
	struct pending *p = a->ref.p;
	int64_t waited = dur_sub(a->ops->now(a->ctx), p->backoff_began);
	struct story s;

	act_tell(&s, a, t);
	/* At least 1, for the line to be about a retry. */
	s.r.waited = dur_add(p->waited, waited > 0 ? waited : 1);
	retry_end(&s.r, (struct err){ ERR_ERRNO, error }, REASON_NONBLOCKING);
}

LR_NOINLINE void act_give_up(struct act *a, int error)
{
	struct target t;

	act_look_up(a, &t);
	log_given_up(a, &t, error);
}

bool act_retry(struct act *a, int error)
{
	struct pending *p = a->ref.p;

	if (!act_decide(a, error))
		return false;
	if (!act_park(a)) {
		/* Retrying under a registration that reports all the time would
		 * make the program's loop spin. */
		act_rearm(a);
		act_give_up(a, error);
		return false;
	}
	a->ops->dissolve(a->ctx, act_number(a));
	/* Dissolving what still tried leaves an error of its own. */
	a->ops->take_error(a->ctx, act_number(a));
	p->error = error;
	act_release(a, PEND_BACKOFF);
	return true;
}

int64_t act_next_look(const struct act *a, int64_t now)
{
	const struct pending *p = a->ref.p;
	int64_t step = dur_sub(now, p->attempt_began) / 4;

	if (!p->replay || step > PENDING_CHECK)
		step = PENDING_CHECK;
	return dur_add(now, step > REPLAY_STEP ? step : REPLAY_STEP);
}

bool act_still_ours(struct act *a)
{
	enum pend_state was = pend_state(&a->ref);
	uint64_t known = atomic_load(&a->ref.p->identity);

	if (a->ops->identity(a->ctx, atomic_load(&a->ref.p->fds[0])) == known)
		return true;
	if (!act_claim(a))
		return true;
	/* Another thread may have closed one of several descriptors just then. */
	if (act_ours(a)) {
		act_release(a, was);
		return true;
	}
	act_last_word(a, was);
	act_release(a, PEND_FREE);
	return false;
}

void act_check_later(struct act *a, int64_t now)
{
	atomic_store(&a->ref.p->due, dur_add(now, PENDING_CHECK));
}
