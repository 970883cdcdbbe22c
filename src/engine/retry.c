/* SPDX-License-Identifier: MIT */
#include "engine/retry.h"

#include <string.h>

#include "base/compat.h"
#include "base/prng.h"
#include "policy/decide.h"
#include "state/carry.h"
#include "state/layers.h"

/* What the kernel takes for a connect that nothing else bounds. */
#define ATTEMPT_MAX (130 * DUR_S)

void dest_text(char *text, size_t size, const char *host, const struct addr *a, int port)
{
	struct fmt f;

	fmt_init(&f, text, size);
	if (host) {
		fmt_str(&f, host);
		if (port >= 0) {
			fmt_char(&f, ':');
			fmt_u64(&f, (uint64_t)port);
		}
	} else if (a) {
		addr_fmt(&f, a);
	}
	fmt_end(&f);
}

static struct event event_of(const struct retry *r, enum event_kind kind)
{
	struct event e;

	memset(&e, 0, sizeof(e));
	e.kind = kind;
	e.op = r->op;
	e.dest = r->dest;
	e.addr = r->addr;
	e.policy = r->policy->name;
	e.max_attempts = r->policy->max_attempts;
	e.waited = r->waited;
	e.left = DUR_NONE;
	if (r->rule)
		e.rule = r->rule->source;
	return e;
}

static void log_attempt(const struct retry *r, enum event_kind kind, struct err error,
                        const struct decision *d, int64_t now)
{
	struct event e = event_of(r, kind);

	e.attempt = r->attempt;
	e.error = error;
	e.wait = d->wait;
	e.elapsed = dur_sub(now, r->attempt_began);
	e.left = d->left;
	r->ops->log(r->ctx, &e);
}

static struct guarded guarded_by(const struct retry *r)
{
	return (struct guarded){ .ops = r->ops,
		                 .ctx = r->ctx,
		                 .policy = r->policy,
		                 .dest = r->dest,
		                 .addr = r->op == OP_CONNECT ? r->addr : NULL,
		                 .op = r->op,
		                 .attempt = r->attempt };
}

/* In observe mode nothing that others see is changed. */
static bool is_guarded(const struct retry *r)
{
	return r->guard && r->mode == MODE_RETRY;
}

/* Whether it may be in a retry, that is wait until <waits> and make an attempt then. At
 * the end of an attempt that is longer than it can be its place is anybody's. */
static LR_NOINLINE bool has_turn(const struct retry *r, int64_t now, int64_t waits)
{
	const struct policy *p = r->policy;
	int64_t cut = p->attempt_timeout != DUR_NONE ? p->attempt_timeout : ATTEMPT_MAX;
	int64_t end = dur_add(r->began, p->deadline < r->limit ? p->deadline : r->limit);
	int64_t until = dur_add(waits, cut);
	uint64_t key = hash_bytes(r->dest, strlen(r->dest), r->op == OP_LOOKUP);

	key = hash_bytes(p->name, p->name ? strlen(p->name) : 0, key);
	return turns_take(r->turn, key, p->max_concurrent_retries, now,
	                  dur_add(until < end ? until : end, DUR_S));
}

/* A send goes on with the waits that its connection has had. */
static bool is_carried(const struct retry *r)
{
	return r->policy->carry && r->mode == MODE_RETRY && !r->elsewhere && r->op != OP_SEND;
}

static uint64_t carry_key(const struct retry *r)
{
	return r->addr ? carry_key_addr(r->addr) : carry_key_name(r->dest);
}

static LR_NOINLINE void begin_carried(struct retry *r, int64_t now)
{
	unsigned step = carry_step(carry_key(r), now, &r->previous_wait);

	r->carried = step > 0 ? (uint16_t)(step - 1) : 0;
}

/* A retry that is refused after this was no wait; that makes no difference to the next
 * call, which begins there and not after it. */
static LR_NOINLINE void carry_on(const struct retry *r, const struct decision *d, int64_t now)
{
	bool waits = d->verdict == VERDICT_RETRY;
	unsigned step = r->attempt + r->carried - !waits;

	/* What had no wait of its own is as far as it was. */
	if (r->attempt == 1 && !waits && r->previous_wait > 0)
		step++;
	if (d->reason != REASON_NOT_RETRYABLE)
		carry_failed(carry_key(r), step, waits ? d->wait : r->previous_wait,
		             dur_add(now, r->policy->carry_for));
}

static bool is_counted(const struct retry *r)
{
	return r->turn && r->policy->max_concurrent_retries > 0 && r->mode == MODE_RETRY;
}

/* A series has come to nothing: is the program itself retrying? */
static LR_NOINLINE void notice_layers(struct retry *r, enum reason reason)
{
	struct event e;

	if (r->policy->layering == LAYERING_IGNORE || r->mode != MODE_RETRY ||
	    (reason != REASON_ATTEMPTS && reason != REASON_DEADLINE && reason != REASON_BUDGET) ||
	    !layers_gave_up(r->dest, r->began, r->ops->now(r->ctx)))
		return;
	e = event_of(r, EVENT_LAYERING);
	e.reason = REASON_LAYERED;
	e.attempts = r->attempt;
	r->ops->log(r->ctx, &e);
}

void retry_end(struct retry *r, struct err error, enum reason reason)
{
	bool ours = r->attempt > 1 || r->waited > 0 || reason == REASON_DEADLINE ||
	            reason == REASON_ATTEMPTS || reason == REASON_BUDGET ||
	            reason == REASON_BREAKER || reason == REASON_CONCURRENT;
	struct guarded who = guarded_by(r);
	struct event e;

	r->ended = reason;
	turns_give(r->turn);
	if (is_guarded(r)) {
		guard_gave_up(r->guard, &who, r->attempt, r->waited, reason);
		guard_counted(r->ops, r->ctx, true);
	}
	if (r->ops->log_wants(r->ctx, ours ? LOG_ERROR_LEVEL : LOG_DEBUG_LEVEL)) {
		e = event_of(r, ours ? EVENT_GAVE_UP : EVENT_PASSED);
		e.error = error;
		e.reason = reason;
		e.attempts = r->attempt;
		r->ops->log(r->ctx, &e);
	}
	if (ours)
		notice_layers(r, reason);
}

void retry_succeeded(const struct retry *r)
{
	struct guarded who = guarded_by(r);
	struct event e;

	turns_give(r->turn);
	if (is_carried(r))
		carry_succeeded(carry_key(r));
	/* Nobody was asked before the first attempt of a look-up. */
	if (is_guarded(r) && r->op == OP_LOOKUP && guard_wants_first(r->policy))
		guard_open(r->guard, &who);
	if (is_guarded(r) && r->guard->slot)
		guard_succeeded(r->guard, &who, r->elsewhere, r->attempt, r->waited,
		                r->attempt_began, r->ops->now(r->ctx));
	if (r->attempt <= 1)
		return;
	if (is_guarded(r))
		guard_counted(r->ops, r->ctx, true);
	e = event_of(r, EVENT_RECOVERED);
	e.attempts = r->attempt;
	r->ops->log(r->ctx, &e);
}

static struct progress progress_of(struct retry *r, int64_t now)
{
	if (r->attempt == 1 && is_carried(r))
		begin_carried(r, now);
	return (struct progress){ .attempt = r->attempt,
		                  .elapsed = dur_sub(now, r->began),
		                  .previous_wait = r->previous_wait,
		                  .carried = r->carried,
		                  .limit = r->limit };
}

/* What the other calls to the destination leave for a retry: REASON_NONE, or why there is
 * to be none. */
static enum reason refused_by(struct retry *r, const struct decision *d, int64_t now)
{
	struct guarded who = guarded_by(r);

	/* Of another place nobody asks the breaker. */
	if (is_guarded(r) && !r->elsewhere && !r->detour &&
	    guard_is_shut(r->guard, &who, now, d->wait))
		return REASON_BREAKER;
	if (is_counted(r) && !has_turn(r, now, dur_add(now, d->wait)))
		return REASON_CONCURRENT;
	if (is_guarded(r) && !guard_pay(r->guard, &who, d->class, now))
		return REASON_BUDGET;
	return REASON_NONE;
}

bool retry_decide(struct retry *r, struct err error, int sys_errno, struct decision *d)
{
	enum reason refusal;
	int64_t now = r->ops->now(r->ctx);
	struct failure failure = { .op = r->op,
	                           .err = error,
	                           .sys_errno = sys_errno,
	                           .unix_dest = r->addr && r->addr->family == AF_UNIX };
	struct guarded who = guarded_by(r);
	struct progress so_far = progress_of(r, now);

	*d = decide(r->policy, &failure, &so_far, r->ops->random(r->ctx));
	if (r->at_once)
		d->wait = 0;
	if (is_carried(r))
		carry_on(r, d, now);
	if (is_guarded(r))
		guard_failed(r->guard, &who, error,
		             !r->elsewhere && d->reason != REASON_NOT_RETRYABLE, now);
	if (d->verdict != VERDICT_RETRY) {
		retry_end(r, error, d->reason);
		return false;
	}
	if (r->attempt == 1 && r->policy->layering == LAYERING_YIELD &&
	    r->mode == MODE_RETRY && layers_known(r->dest, now)) {
		retry_end(r, error, REASON_LAYERED);
		return false;
	}
	if (r->ops->stopping(r->ctx)) {
		retry_end(r, error, REASON_STOPPING);
		return false;
	}
	if (r->mode == MODE_OBSERVE) {
		log_attempt(r, EVENT_WOULD_RETRY, error, d, now);
		return false;
	}
	refusal = refused_by(r, d, now);
	if (refusal != REASON_NONE) {
		retry_end(r, error, refusal);
		return false;
	}
	log_attempt(r, EVENT_RETRY, error, d, now);
	if (is_guarded(r))
		guard_counted(r->ops, r->ctx, false);
	return true;
}

static enum wake sleep_for(struct retry *r, int64_t wait)
{
	int64_t start = r->ops->now(r->ctx);
	enum wake wake = r->ops->wait(r->ctx, dur_add(start, wait));
	int64_t slept = dur_sub(r->ops->now(r->ctx), start);

	/* At least 1: a wait that a signal ends at once was a wait all the same. */
	r->waited = dur_add(r->waited, slept > 0 ? slept : 1);
	return wake == WAKE_TIMEOUT && r->ops->stopping(r->ctx) ? WAKE_STOPPING : wake;
}

/* Sleeps out <wait>; true if all of it passed. */
static bool sleep_out(struct retry *r, struct err error, int64_t wait)
{
	enum wake wake = sleep_for(r, wait);

	if (wake == WAKE_TIMEOUT)
		return true;
	retry_end(r, error, wake == WAKE_INTERRUPTED ? REASON_INTERRUPTED : REASON_STOPPING);
	return false;
}

/* Once for each operation. */
static void log_parked(struct retry *r, enum reason reason)
{
	struct event e;

	if (r->parked)
		return;
	r->parked = true;
	e = event_of(r, EVENT_PARKED);
	e.reason = reason;
	r->ops->log(r->ctx, &e);
}

enum guard_answer retry_ask(struct retry *r, struct err error, bool first, int64_t *until)
{
	struct guarded who = guarded_by(r);
	int64_t limit = r->policy->deadline < r->limit ? r->policy->deadline : r->limit;
	int64_t end = dur_add(r->began, limit);
	enum reason reason;
	int64_t now;

	if (!is_guarded(r) || r->elsewhere || !r->guard->slot)
		return GUARD_GO;
	now = r->ops->now(r->ctx);
	switch (guard_ask(r->guard, &who, first ? 1 : r->attempt + 1, now, until, &reason)) {
	case GUARD_GO:
		return GUARD_GO;
	case GUARD_REFUSED:
		r->ended = REASON_BREAKER;
		if (first && !r->detour)
			r->attempt = 0;
		if (!r->detour)
			retry_end(r, error, REASON_BREAKER);
		return GUARD_REFUSED;
	case GUARD_PARK:
		break;
	}
	log_parked(r, reason);
	if (*until < end) {
		if (is_counted(r) && r->turn->word)
			has_turn(r, now, *until);
		return GUARD_PARK;
	}
	/*
	 * A first attempt is made rather than none at all; but not where coordinated
	 * recovery, which the policy has asked for, says no to the last. Alone the call
	 * had failed when it began, by the error that it gets now. And all who wait have
	 * such an end: as many attempts as there were calls, on top of those of the
	 * present, keep a server down that has come back after a long outage (simulated:
	 * 60 s to recover, not 1 s, and 45 % of the calls, fewer than without a retry).
	 */
	if (first && (reason != REASON_PACE || r->detour))
		return GUARD_GO;
	if (first)
		r->attempt = 0;
	retry_end(r, error, REASON_DEADLINE);
	return GUARD_REFUSED;
}

/* Until the attempt may be made. */
static bool wait_for_others(struct retry *r, struct err error)
{
	int64_t until;

	for (;;) {
		switch (retry_ask(r, error, false, &until)) {
		case GUARD_GO:
			return true;
		case GUARD_REFUSED:
			return false;
		case GUARD_PARK:
			if (!sleep_out(r, error, dur_sub(until, r->ops->now(r->ctx))))
				return false;
		}
	}
}

enum guard_answer retry_first_ask(struct retry *r, struct err *e, int64_t *until)
{
	struct guarded who = guarded_by(r);

	*e = (struct err){ ERR_ERRNO, 0 };
	if (!is_guarded(r) || !guard_wants_first(r->policy))
		return GUARD_GO;
	guard_open(r->guard, &who);
	*e = guard_last_error(r->guard, &who);
	/* Where nobody has seen a failure there is nothing to say no with. */
	return e->code != 0 ? retry_ask(r, *e, true, until) : GUARD_GO;
}

/* A signal ends the wait of a first attempt, not the attempt: alone it would have been
 * over before, or interrupted. */
bool retry_first(struct retry *r, struct err *e)
{
	int64_t until;
	enum guard_answer answer = retry_first_ask(r, e, &until);

	while (answer == GUARD_PARK && !r->hurry) {
		enum wake wake = sleep_for(r, dur_sub(until, r->ops->now(r->ctx)));

		if (wake == WAKE_STOPPING) {
			retry_end(r, *e, REASON_STOPPING);
			return false;
		}
		r->hurry = wake == WAKE_INTERRUPTED;
		if (!r->hurry)
			answer = retry_ask(r, *e, true, &until);
	}
	if (r->waited > 0)
		r->attempt_began = r->ops->now(r->ctx);
	return answer != GUARD_REFUSED;
}

bool retry_after(struct retry *r, struct err error, int sys_errno)
{
	struct decision d;

	if (!retry_decide(r, error, sys_errno, &d) || !sleep_out(r, error, d.wait))
		return false;
	r->previous_wait = d.wait;
	if (!wait_for_others(r, error))
		return false;
	r->attempt++;
	r->attempt_began = r->ops->now(r->ctx);
	return true;
}
