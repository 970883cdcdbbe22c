/* SPDX-License-Identifier: MIT */
#include "policy/decide.h"

#include "policy/backoff.h"
#include "policy/classify.h"

static struct decision end(struct decision d, const struct progress *so_far, enum reason reason)
{
	/* Nothing of ours has happened yet: the failure is simply the program's. */
	if (so_far->attempt <= 1 && (reason == REASON_OFF || reason == REASON_NOT_RETRYABLE))
		d.verdict = VERDICT_PASS;
	else
		d.verdict = VERDICT_GIVE_UP;
	d.reason = reason;
	return d;
}

struct decision decide(const struct policy *p, const struct failure *f,
                       const struct progress *so_far, uint64_t random)
{
	struct decision d = { .verdict = VERDICT_PASS };
	struct backoff_wait w;
	int64_t bound = p->deadline < so_far->limit ? p->deadline : so_far->limit;

	d.class = classify(f->op, f->err, f->sys_errno, f->unix_dest);
	d.left = bound == DUR_NONE ? DUR_NONE : dur_sub(bound, so_far->elapsed);
	if (d.left < 0)
		d.left = 0;
	if (!policy_retries(p, f->op, f->err, f->sys_errno, f->unix_dest))
		return end(d, so_far, REASON_NOT_RETRYABLE);
	if (p->max_attempts <= 1)
		return end(d, so_far, REASON_OFF);
	if (so_far->attempt >= p->max_attempts)
		return end(d, so_far, REASON_ATTEMPTS);

	w = backoff_wait(&p->backoff, so_far->attempt + so_far->carried,
	                 d.class == CLASS_LOCAL_RESOURCE, so_far->previous_wait, random);
	d.wait = w.wait;
	d.ceiling = w.ceiling;
	if (d.left != DUR_NONE && w.wait >= d.left)
		return end(d, so_far, REASON_DEADLINE);
	d.verdict = VERDICT_RETRY;
	return d;
}

const char *op_name(enum op op)
{
	switch (op) {
	case OP_CONNECT:
		return "connect";
	case OP_LOOKUP:
		return "lookup";
	case OP_SEND:
		return "send";
	}
	return "?";
}

const char *reason_name(enum reason r)
{
	switch (r) {
	case REASON_NONE:
		return "none";
	case REASON_ATTEMPTS:
		return "attempts";
	case REASON_DEADLINE:
		return "deadline";
	case REASON_BUDGET:
		return "budget";
	case REASON_CONCURRENT:
		return "concurrent";
	case REASON_BREAKER:
		return "breaker";
	case REASON_HOLD:
		return "hold";
	case REASON_LAYERED:
		return "layered";
	case REASON_PACE:
		return "pace";
	case REASON_STOPPING:
		return "stopping";
	case REASON_INTERRUPTED:
		return "interrupted";
	case REASON_NOT_RETRYABLE:
		return "not-retryable";
	case REASON_OFF:
		return "off";
	case REASON_NONBLOCKING:
		return "non-blocking";
	case REASON_DATAGRAM:
		return "not-a-stream";
	case REASON_SPECIAL:
		return "special-address";
	case REASON_OTHER_ADDRESS:
		return "other-address";
	case REASON_NAME_EXHAUSTED:
		return "name-exhausted";
	case REASON_UNUSABLE:
		return "unusable";
	case REASON_AMBIGUOUS:
		return "ambiguous";
	case REASON_DISABLED:
		return "disabled";
	}
	return "?";
}
