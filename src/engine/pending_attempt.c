/* SPDX-License-Identifier: MIT */
/* What becomes due: the next attempt of a connect, or a look at it. */
#include <errno.h>

#include "base/compat.h"
#include "engine/pending_act.h"
#include "engine/pending_due.h"
#include "state/peers.h"

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void started(struct act *a, int64_t now)
{
	struct pending *p = a->ref.p;

	int64_t look = act_next_look(a, now);
	bool first = p->attempt <= 1; /* it was parked; it has as much time as any first one */
	int64_t deadline = dur_add(first ? now : p->began, p->policy->deadline);

	p->expires = DUR_NONE;
	if (p->policy->attempt_timeout != DUR_NONE && !p->observed)
		p->expires = dur_add(now, p->policy->attempt_timeout);
	/* As for a blocking one: no later than the deadline. */
	if (deadline < p->expires && !p->observed && (!first || p->expires != DUR_NONE))
		p->expires = deadline;
	atomic_store(&p->due, p->expires < look ? p->expires : look);
	act_rearm(a);
	act_release(a, PEND_CONNECTING);
}

/* The attempt failed at once; the kernel has told us, and nobody else. */
static void failed_at_once(struct act *a, int error, int64_t now)
{
	struct pending *p = a->ref.p;

	/* On success of this the registrations are parked already. */
	if (act_decide(a, error)) {
		a->ops->dissolve(a->ctx, act_number(a));
		act_release(a, PEND_BACKOFF);
		return;
	}
	p->error = error;
	atomic_store(&p->due, dur_add(now, PENDING_CHECK));
	act_rearm(a);
	act_release(a, PEND_FAILED);
}

/* Should the next connection break as well, its attempts count on. */
static void remember(struct act *a)
{
	const struct pending *p = a->ref.p;
	struct so_far so_far = { .attempt = p->attempt,
	                         .began = p->began,
	                         .waited = p->waited,
	                         .previous_wait = p->previous_wait };

	peers_progress(act_number(a), atomic_load(&a->ref.p->identity), &so_far);
}

static LR_NOINLINE enum guard_answer ask_about(struct act *a, const struct target *t,
                                               int64_t *until)
{
	struct pending *p = a->ref.p;
	struct err error = { ERR_ERRNO, p->error };
	enum guard_answer answer;
	struct story s;

	act_tell(&s, a, t);
	answer = retry_ask(&s.r, error, p->attempt == 0, until);
	p->parked = s.r.parked;
	if (answer != GUARD_REFUSED || !s.r.detour || s.r.ended != REASON_BREAKER)
		return answer;
	if (act_detour(a, t))
		return GUARD_GO;
	retry_end(&s.r, error, REASON_BREAKER);
	return GUARD_REFUSED;
}

static LR_NOINLINE enum guard_answer ask(struct act *a, int64_t *until)
{
	struct target t;

	act_look_up(a, &t);
	return ask_about(a, &t, until);
}

/* Others have a say. False: not now, or not at all, and the record is released. */
static bool may_go(struct act *a, int64_t now)
{
	enum guard_answer answer = GUARD_GO;
	struct pending *p = a->ref.p;
	int64_t until;

	if (p->guard.slot)
		answer = ask(a, &until);
	if (answer == GUARD_GO)
		return true;
	if (answer == GUARD_PARK) {
		atomic_store(&p->due, until);
		act_release(a, PEND_BACKOFF);
		return false;
	}
	act_check_later(a, now);
	act_rearm(a);
	act_release(a, PEND_FAILED);
	return false;
}

void act_attempt(struct act *a, int64_t now)
{
	struct pending *p = a->ref.p;
	unsigned place = p->place;
	int rc;

	if (!act_ours(a)) {
		act_last_word(a, PEND_BACKOFF);
		act_release(a, PEND_FREE);
		return;
	}
	if (!may_go(a, now))
		return;
	p->waited = dur_add(p->waited, dur_sub(now, p->backoff_began));
	if (p->place == place)
		act_look_around(a);
	p->attempt++;
	p->taken = 0;
	p->hidden = 0;
	p->attempt_began = a->ops->now(a->ctx);
	if (p->attempt >= p->policy->max_attempts)
		p->last = true;
	if (p->op == OP_SEND)
		remember(a);
	rc = a->ops->start(a->ctx, act_number(a), (struct sockaddr *)&p->sa, p->len);
	if (rc == EINPROGRESS || rc == EALREADY || (rc == 0 && p->replay)) {
		started(a, p->attempt_began);
	} else if (rc != 0 && rc != EISCONN) {
		failed_at_once(a, rc, p->attempt_began);
	} else if (!act_recovered(a)) {
		a->ops->dissolve(a->ctx, act_number(a));
		failed_at_once(a, ECONNREFUSED, p->attempt_began);
	} else {
		act_rearm(a);
		act_release(a, PEND_FREE);
	}
}

/* Behind a wait. What was kept from the program is reported now, edge-triggered
 * or not, because its registrations are modified. */
static void go_on_replaying(struct act *a)
{
	enum sight sight;

	if (!act_replayed(a, &sight))
		return;
	act_recovered(a);
	act_rearm_all(a);
	act_release(a, PEND_FREE);
}

/* What an attempt failed with that is over its time: if that is the deadline's end,
 * nobody has said anything new. */
static int over_time(const struct pending *p, int64_t now)
{
	bool by_deadline = now >= dur_add(p->began, p->policy->deadline);

	return by_deadline && p->attempt > 1 && p->error ? p->error : ETIMEDOUT;
}

/* An attempt in the kernel: over its time, or not looked at for long. */
static void check(struct act *a, int64_t now)
{
	struct pending *p = a->ref.p;
	enum condition is = act_ours(a) ? act_condition(a) : CONDITION_OTHER;
	enum fate fate;
	int error = ETIMEDOUT;

	if (is == CONDITION_CONNECTED && p->replay) {
		go_on_replaying(a);
	} else if (is == CONDITION_CONNECTED) {
		act_recovered(a);
		act_release(a, PEND_FREE);
	} else if (is == CONDITION_OTHER) {
		act_last_word(a, PEND_CONNECTING);
		act_release(a, PEND_FREE);
	} else if (is == CONDITION_CLOSED || is == CONDITION_RESET || now < p->expires) {
		/* A failure is the business of whoever waits for it. */
		act_check_later(a, now);
		if (is == CONDITION_TRYING)
			atomic_store(&p->due, earlier(p->expires, act_next_look(a, now)));
		act_release(a, PEND_CONNECTING);
	} else if ((fate = act_judge(a, ETIMEDOUT)) == FATE_OBSERVED) {
		p->expires = DUR_NONE;
		act_check_later(a, now);
		act_release(a, PEND_CONNECTING);
	} else if (fate == FATE_NATIVE || !act_retry(a, error = over_time(p, now))) {
		/* It ends for the program, too. */
		a->ops->dissolve(a->ctx, atomic_load(&p->fds[0]));
		a->ops->take_error(a->ctx, atomic_load(&p->fds[0]));
		p->error = error;
		act_check_later(a, now);
		act_release(a, PEND_FAILED);
	}
}

void pending_due(const struct engine_ops *ops, void *ctx, struct pend_ref *ref, int64_t now)
{
	struct act a = { .ops = ops, .ctx = ctx, .ref = *ref };
	enum pend_state was = pend_state(ref);

	if (was == PEND_FREE || was == PEND_BUSY || !act_claim(&a))
		return;
	if (was == PEND_BACKOFF && atomic_load(&ref->p->due) > now && !ops->stopping(ctx)) {
		/* Another thread has made the attempt that was due. */
		act_release(&a, was);
	} else if (was == PEND_BACKOFF) {
		act_attempt(&a, now);
	} else if (was == PEND_CONNECTING) {
		check(&a, now);
	} else if (!act_ours(&a)) {
		act_last_word(&a, was);
		act_release(&a, PEND_FREE);
	} else {
		/* In a child after fork the registrations are still parked. */
		act_rearm(&a);
		act_check_later(&a, now);
		act_release(&a, was);
	}
}
