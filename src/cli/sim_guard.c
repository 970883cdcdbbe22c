/* SPDX-License-Identifier: MIT */
#include "cli/sim_guard.h"

#include "policy/budget.h"
#include "policy/window.h"

void sim_guard_call(struct sim_guard *g, const struct policy *p, int64_t now)
{
	g->budget_calls = budget_call(&p->budget, g->budget_calls, now);
}

enum breaker_answer sim_guard_ask(struct sim_guard *g, const struct policy *p, int64_t now,
                                  int64_t longest, uint16_t *ticket)
{
	struct breaker_asked a = breaker_ask(p, g->breaker, now, longest);

	g->breaker = a.word;
	*ticket = a.ticket;
	return a.answer;
}

bool sim_guard_retry(struct sim_guard *g, const struct policy *p, int64_t now,
                     enum err_class class)
{
	struct budget_step s = budget_retry(&p->budget, g->budget_calls, g->budget_spent, now,
	                                    class);

	g->budget_spent = s.word;
	return s.allowed;
}

static void take(struct sim_guard *g, struct breaker_told t)
{
	g->breaker = t.word;
	if (t.closed)
		g->breaker_calls = g->breaker_failures = 0;
}

static void count(struct sim_guard *g, const struct policy *p, int64_t now, bool failed)
{
	const struct breaker *b = &p->breaker;

	if (!b->enabled || b->failure_ratio == 0)
		return;
	g->breaker_calls = window_add(g->breaker_calls, now, b->window, 1);
	if (failed)
		g->breaker_failures = window_add(g->breaker_failures, now, b->window, 1);
}

void sim_guard_failed(struct sim_guard *g, const struct policy *p, int64_t now,
                      uint16_t ticket, bool counts, uint64_t random)
{
	bool too_many;

	if (!counts) {
		g->breaker = breaker_abandoned(g->breaker, ticket);
		return;
	}
	count(g, p, now, true);
	too_many = breaker_too_many(&p->breaker, g->breaker_calls, g->breaker_failures, now);
	take(g, breaker_failed(p, g->breaker, now, ticket, too_many, random));
}

void sim_guard_succeeded(struct sim_guard *g, const struct policy *p, int64_t now,
                         uint16_t ticket, enum err_class paid)
{
	count(g, p, now, false);
	take(g, breaker_succeeded(g->breaker, ticket));
	g->budget_spent = budget_success(&p->budget, g->budget_spent, paid);
}
