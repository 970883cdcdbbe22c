/* SPDX-License-Identifier: MIT */
/* Where a policy has a say in first attempts, and nothing to say. */
#include "engine/guard.h"
#include "policy/breaker.h"
#include "policy/budget.h"
#include "policy/pace.h"

static bool is_breaker_quiet(const struct slot *s, const struct policy *p)
{
	uint64_t word = atomic_load(&s->breaker);

	if (!p->breaker.enabled)
		return true;
	return p->breaker.failure_ratio == 0 && breaker_state(p, word, 0) == BREAKER_CLOSED &&
	       breaker_succeeded(word, BREAKER_NO_TICKET).word == word;
}

/* It is up: else a success that took long would change the word, at any time. */
static bool is_pace_quiet(const struct slot *s, const struct policy *p)
{
	uint64_t word = atomic_load(&s->pace);

	return pace_succeeded(p, word, 0, PACE_NO_TICKET, true) == word;
}

static bool is_unchanged(const struct guard *g, const struct policy *p)
{
	const struct slot *s = g->slot;
	uint64_t spent = atomic_load(&s->spent);

	if (atomic_load(&s->hold) != 0 || (g->stats && atomic_load(&g->stats->hold) != 0))
		return false;
	return is_breaker_quiet(s, p) && is_pace_quiet(s, p) &&
	       budget_success(&p->budget, spent, CLASS_NONE) == spent;
}

bool guard_is_quiet(struct guard *g, const struct guarded *who)
{
	guard_open(g, who);
	return guard_is_open(g) && is_unchanged(g, who->policy) &&
	       (!who->policy->coordinate || atomic_load(&g->slot->pace_more) != 0);
}

bool guard_first_done(const struct guard *g, const struct guarded *who, int64_t took,
                      bool *quicker)
{
	*quicker = false;
	if (!guard_is_open(g))
		return true;
	*quicker = who->policy->coordinate && took < (int64_t)atomic_load(&g->slot->pace_more);
	return is_unchanged(g, who->policy);
}
