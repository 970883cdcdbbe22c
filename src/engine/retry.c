/* SPDX-License-Identifier: MIT */
#include "engine/retry.h"

#include <string.h>

#include "policy/decide.h"

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

void retry_end(struct retry *r, struct err error, enum reason reason)
{
	bool ours = r->attempt > 1 || r->waited > 0 || reason == REASON_DEADLINE ||
	            reason == REASON_ATTEMPTS;
	struct event e;

	r->ended = reason;
	if (!r->ops->log_wants(r->ctx, ours ? LOG_ERROR_LEVEL : LOG_DEBUG_LEVEL))
		return;
	e = event_of(r, ours ? EVENT_GAVE_UP : EVENT_PASSED);
	e.error = error;
	e.reason = reason;
	e.attempts = r->attempt;
	r->ops->log(r->ctx, &e);
}

void retry_succeeded(const struct retry *r)
{
	struct event e;

	if (r->attempt <= 1)
		return;
	e = event_of(r, EVENT_RECOVERED);
	e.attempts = r->attempt;
	r->ops->log(r->ctx, &e);
}

bool retry_decide(struct retry *r, struct err error, int sys_errno, struct decision *d)
{
	int64_t now = r->ops->now(r->ctx);
	struct failure failure = { .op = r->op,
	                           .err = error,
	                           .sys_errno = sys_errno,
	                           .unix_dest = r->addr && r->addr->family == AF_UNIX };
	struct progress so_far = { .attempt = r->attempt,
	                           .elapsed = dur_sub(now, r->began),
	                           .previous_wait = r->previous_wait,
	                           .limit = r->limit };

	*d = decide(r->policy, &failure, &so_far, r->ops->random(r->ctx));
	if (r->at_once)
		d->wait = 0;
	if (d->verdict != VERDICT_RETRY) {
		retry_end(r, error, d->reason);
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
	log_attempt(r, EVENT_RETRY, error, d, now);
	return true;
}

/* Sleeps out <wait>; true if all of it passed. */
static bool sleep_out(struct retry *r, struct err error, int64_t wait)
{
	int64_t start = r->ops->now(r->ctx);
	enum wake wake = r->ops->wait(r->ctx, dur_add(start, wait));
	int64_t slept = dur_sub(r->ops->now(r->ctx), start);

	/* At least 1: a wait that a signal ends at once was a wait all the same. */
	r->waited = dur_add(r->waited, slept > 0 ? slept : 1);
	r->previous_wait = wait;
	if (wake == WAKE_TIMEOUT && !r->ops->stopping(r->ctx))
		return true;
	retry_end(r, error, wake == WAKE_INTERRUPTED ? REASON_INTERRUPTED : REASON_STOPPING);
	return false;
}

bool retry_after(struct retry *r, struct err error, int sys_errno)
{
	struct decision d;

	if (!retry_decide(r, error, sys_errno, &d) || !sleep_out(r, error, d.wait))
		return false;
	r->attempt++;
	r->attempt_began = r->ops->now(r->ctx);
	return true;
}
