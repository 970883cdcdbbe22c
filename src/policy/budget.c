/* SPDX-License-Identifier: MIT */
#include "policy/budget.h"

#include "policy/window.h"

#define COST 5
#define COST_TIMEOUT 10
#define GAIN 1

uint32_t budget_cost(enum err_class class)
{
	return class == CLASS_TIMEOUT ? COST_TIMEOUT : COST;
}

struct budget_step tokens_take(uint64_t spent, uint32_t size, uint32_t cost)
{
	uint64_t left = spent < size ? size - spent : 0;

	if (left < cost)
		return (struct budget_step){ .word = spent, .allowed = false };
	return (struct budget_step){ .word = spent + cost, .allowed = true };
}

uint64_t tokens_give(uint64_t spent, uint32_t n)
{
	return spent > n ? spent - n : 0;
}

uint64_t budget_call(const struct budget *b, uint64_t calls, int64_t now)
{
	return b->kind == BUDGET_RATIO ? window_add(calls, now, b->ttl, 1) : calls;
}

/* Retries allowed in one ttl, in millionths. */
static int64_t allowance(const struct budget *b, uint64_t calls, int64_t now)
{
	int64_t share = dur_scale(window_estimate(calls, now, b->ttl), b->ratio);
	int64_t per_second = b->ttl / (DUR_S / PPM);

	return dur_add(share, (int64_t)b->min_retries_per_second * per_second);
}

static struct budget_step ratio_retry(const struct budget *b, uint64_t calls, uint64_t spent,
                                      int64_t now)
{
	int64_t with_it = window_estimate(spent, now, b->ttl) + PPM;

	if (with_it > allowance(b, calls, now))
		return (struct budget_step){ .word = spent, .allowed = false };
	return (struct budget_step){ .word = window_add(spent, now, b->ttl, 1), .allowed = true };
}

struct budget_step budget_retry(const struct budget *b, uint64_t calls, uint64_t spent,
                                int64_t now, enum err_class class)
{
	struct budget_step step = { .word = spent, .allowed = true };

	switch (b->kind) {
	case BUDGET_RATIO:
		return ratio_retry(b, calls, spent, now);
	case BUDGET_TOKENS:
		/* Of a word that says more than all, the rest is not owed. */
		if (spent > BUDGET_TOKENS_MAX)
			spent = BUDGET_TOKENS_MAX;
		return tokens_take(spent, BUDGET_TOKENS_MAX, budget_cost(class));
	case BUDGET_NONE:
		break;
	}
	return step;
}

uint64_t budget_success(const struct budget *b, uint64_t spent, enum err_class paid)
{
	if (b->kind != BUDGET_TOKENS)
		return spent;
	if (spent > BUDGET_TOKENS_MAX)
		spent = BUDGET_TOKENS_MAX;
	return tokens_give(spent, paid == CLASS_NONE ? GAIN : budget_cost(paid));
}

int64_t budget_left(const struct budget *b, uint64_t calls, uint64_t spent, int64_t now)
{
	int64_t left;

	switch (b->kind) {
	case BUDGET_RATIO:
		left = dur_sub(allowance(b, calls, now), window_estimate(spent, now, b->ttl)) / PPM;
		return left > 0 ? left : 0;
	case BUDGET_TOKENS:
		return spent < BUDGET_TOKENS_MAX ? (BUDGET_TOKENS_MAX - (int64_t)spent) / COST : 0;
	case BUDGET_NONE:
		break;
	}
	return -1;
}
