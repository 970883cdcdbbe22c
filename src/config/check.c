/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/duration.h"
#include "config/loader.h"

/* The setting of <group> that is to blame: the first of two that is there.
 * False if neither is: then the fault is the inherited policy's. */
static bool blame(const struct node *group, const char *first, const char *second,
                  struct node *n)
{
	return node_member(group, first, n) || node_member(group, second, n);
}

/* A duration that was refused has left its default behind, which is nobody's
 * mistake to compare with. */
static bool refused(const struct node *group, const char *name)
{
	struct node n;
	int64_t ns;

	return node_member(group, name, &n) &&
	       (!node_text(&n) ||
	        (strcmp(node_text(&n), "none") != 0 && dur_parse(node_text(&n), &ns) != DUR_OK));
}

/* <low> may not be more than <high>; both are named, and the one that stands
 * in the group is blamed. */
static void check_order(const struct node *group, const char *low_name, int64_t low,
                        const char *high_name, int64_t high)
{
	struct node n;

	if (low <= high || refused(group, low_name) || refused(group, high_name))
		return;
	if (node_member(group, low_name, &n))
		node_fault(&n, DIAG_ERROR, "is more than %s (at most %t)", high_name, high);
	else if (node_member(group, high_name, &n))
		node_fault(&n, DIAG_ERROR, "is less than %s (at least %t)", low_name, low);
}

static void check_delays(const struct node *group, const struct policy *p)
{
	const struct backoff *b = &p->backoff;
	struct node n;

	if (b->schedule_len == 0) {
		check_order(group, "base_delay", b->base, "max_delay", b->max);
		check_order(group, "base_delay", b->base, "deadline", p->deadline);
	}
	if (p->attempt_timeout != DUR_NONE)
		check_order(group, "attempt_timeout", p->attempt_timeout, "deadline", p->deadline);
	if (node_member(group, "attempt_timeout", &n) && p->attempt_timeout < 10 * DUR_MS)
		node_fault(&n, DIAG_WARNING,
		           "is very short: healthy connections may be cut (at least 10ms is "
		           "usual)");
}

static void check_attempts(const struct node *group, const struct policy *p)
{
	struct node n;

	if (p->max_attempts > 5 && blame(group, "max_attempts", "max_retries", &n))
		node_fault(&n, DIAG_NOTE,
		           "more than 5 attempts seldom help and add load (5 is the default)");
	if (p->max_attempts > 10 && p->deadline == DUR_NONE &&
	    blame(group, "deadline", "max_attempts", &n))
		node_fault(&n, DIAG_WARNING,
		           "no deadline and more than 10 attempts: a call may take very long");
}

static void check_jitter(const struct node *group, const struct backoff *b)
{
	bool uses_ratio = b->jitter == JITTER_PROPORTIONAL || b->jitter == JITTER_ADDITIVE;
	struct node n;

	if (!uses_ratio && node_member(group, "jitter_ratio", &n))
		node_fault(&n, DIAG_WARNING,
		           "has no effect with this jitter (only with proportional or additive)");
	if (b->jitter == JITTER_NONE && node_member(group, "jitter", &n))
		node_fault(&n, DIAG_WARNING,
		           "clients that failed together come back together (proportional is "
		           "usual)");
}

static void check_budget(const struct node *group, const struct budget *b)
{
	struct node n;

	if (node_member(group, "budget", &n) && b->kind != BUDGET_NONE && b->ratio == 0 &&
	    b->min_retries_per_second == 0)
		node_say(&n, DIAG_WARNING,
		         "ratio and min_retries_per_second are both 0: no retries at all");
}

static void check_breaker(const struct node *group, const struct breaker *b)
{
	struct node n;

	if (!node_member(group, "breaker", &n))
		return;
	if (b->consecutive_failures == 0 && b->failure_ratio == 0)
		node_say(&n, DIAG_ERROR, "nothing can open it (consecutive_failures at least 1, or "
		                         "failure_ratio more than 0)");
	check_order(&n, "open_for", b->open_for, "max_open_for", b->max_open_for);
}

/* While "coordinate" lets one attempt at a time out, about so many fail in one window: its
 * probes are 0.3 s apart, or max_delay, and closer at first (policy/pace.h). */
static int64_t failures_in_window(const struct policy *p)
{
	int64_t gap = 300 * DUR_MS < p->backoff.max ? 300 * DUR_MS : p->backoff.max;

	return p->breaker.window / (gap > DUR_MS ? gap : DUR_MS) + 5;
}

static void check_together(const struct node *group, const struct policy *p)
{
	const struct breaker *b = &p->breaker;
	int64_t needed = b->failure_ratio * (int64_t)b->minimum_calls;
	struct node n;

	if (!p->coordinate || !b->enabled || !blame(group, "coordinate", "breaker", &n))
		return;
	if (b->consecutive_failures == 1)
		node_say(&n, DIAG_WARNING,
		         "the breaker opens at the first failure, so coordinate has nothing to "
		         "do (consecutive_failures at least 2, or 0)");
	else if (b->consecutive_failures == 0 && needed > failures_in_window(p) * PPM)
		node_say(&n, DIAG_WARNING,
		         "the breaker will hardly open: with coordinate some %i attempts fail "
		         "in a window (minimum_calls is %u)",
		         failures_in_window(p), b->minimum_calls);
}

void policy_check(const struct node *group, const struct pol *p)
{
	check_delays(group, &p->p);
	/* The rest are warnings, which can wait until the errors are gone. */
	if (p->bad)
		return;
	check_attempts(group, &p->p);
	check_jitter(group, &p->p.backoff);
	check_budget(group, &p->p.budget);
	check_breaker(group, &p->p.breaker);
	check_together(group, &p->p);
}
