/* SPDX-License-Identifier: MIT */
#include "cli/sim_budget.h"

#include "base/compat.h"
#include "base/prng.h"
#include "cli/sim.h"
#include "policy/budget.h"
#include "policy/builtin.h"

/* Tokens are counted in thousandths. */
#define TOKEN 1000u

struct world {
	const struct sim_budget *b;
	struct prng random;
	uint64_t calls, spent; /* the words of policy/budget.h */
	int64_t now;
};

static const struct {
	const char *name;
	struct sim_budget column;
} columns[] = {
	{ "none", { .kind = SIM_BUDGET_NO_RETRY } },
	{ "retries 3", { .kind = SIM_BUDGET_RETRIES, .retries = 3 } },
	{ "bucket 10 +0.1",
	  { .kind = SIM_BUDGET_BUCKET, .retries = 3, .tokens = 10, .gain = TOKEN / 10 } },
	{ "gRPC 10 +0.1",
	  { .kind = SIM_BUDGET_GRPC, .retries = 3, .tokens = 10, .gain = TOKEN / 10 } },
	{ "AWS 500 cost 5", { .kind = SIM_BUDGET_COST, .retries = 3, .tokens = 500, .cost = 5 } },
	{ "libretry ratio", { .kind = SIM_BUDGET_POLICY, .retries = 3 } },
};

/* The built-in one with the floor of the published figures, which others have as well. */
static struct budget budget_of_ten(void)
{
	struct budget b = builtin_default().budget;

	b.min_retries_per_second = 10;
	return b;
}

const char *sim_budget_column(unsigned number, struct sim_budget *b)
{
	if (number >= ARRAY_LEN(columns))
		return NULL;
	*b = columns[number].column;
	if (b->kind == SIM_BUDGET_POLICY)
		b->budget = budget_of_ten();
	b->class = CLASS_REFUSED;
	b->every = 10 * DUR_MS;
	b->calls = 200000;
	b->fail = 0.1;
	b->seed = 42;
	return columns[number].name;
}

static bool take(struct world *w, uint32_t thousandths)
{
	struct budget_step s = tokens_take(w->spent, w->b->tokens * TOKEN, thousandths);

	w->spent = s.word;
	return s.allowed;
}

/* An attempt failed. */
static void failed(struct world *w)
{
	/* The last part of a token goes as well. */
	if (w->b->kind == SIM_BUDGET_GRPC && !take(w, TOKEN))
		w->spent = (uint64_t)w->b->tokens * TOKEN;
}

/* Whether a retry may be made now. */
static bool allowed(struct world *w)
{
	struct budget_step s;

	switch (w->b->kind) {
	case SIM_BUDGET_NO_RETRY:
		break;
	case SIM_BUDGET_RETRIES:
		return true;
	case SIM_BUDGET_BUCKET:
		return take(w, TOKEN);
	case SIM_BUDGET_GRPC:
		return w->spent * 2 < (uint64_t)w->b->tokens * TOKEN;
	case SIM_BUDGET_COST:
		return take(w, w->b->cost * TOKEN);
	case SIM_BUDGET_POLICY:
		s = budget_retry(&w->b->budget, w->calls, w->spent, w->now, w->b->class);
		w->spent = s.word;
		return s.allowed;
	}
	return false;
}

static void succeeded(struct world *w, bool by_retry)
{
	const struct sim_budget *b = w->b;

	switch (b->kind) {
	case SIM_BUDGET_NO_RETRY:
	case SIM_BUDGET_RETRIES:
		break;
	case SIM_BUDGET_BUCKET:
	case SIM_BUDGET_GRPC:
		w->spent = tokens_give(w->spent, b->gain);
		break;
	case SIM_BUDGET_COST:
		w->spent = tokens_give(w->spent, by_retry ? b->cost * TOKEN : TOKEN);
		break;
	case SIM_BUDGET_POLICY:
		w->spent = budget_success(&b->budget, w->spent, by_retry ? b->class : CLASS_NONE);
		break;
	}
}

/* How many retries one call made; *ok: it succeeded in the end. */
static uint32_t call(struct world *w, bool *ok)
{
	uint32_t retries = 0;

	if (w->b->kind == SIM_BUDGET_POLICY)
		w->calls = budget_call(&w->b->budget, w->calls, w->now);
	for (;;) {
		*ok = sim_uniform(prng_next(&w->random)) >= w->b->fail;
		if (*ok) {
			succeeded(w, retries > 0);
			return retries;
		}
		failed(w);
		if (retries >= w->b->retries || !allowed(w))
			return retries;
		retries++;
	}
}

struct sim_budget_result sim_budget(const struct sim_budget *b)
{
	struct world w = { .b = b, .random = sim_stream(b->seed, SIM_STREAM_WORLD, 0) };
	struct sim_budget_result r = { 0 };
	uint64_t late = b->calls - b->calls / 3; /* the first of the last third */
	uint64_t late_retries = 0;

	for (uint64_t n = 0; n < b->calls; n++) {
		bool ok;
		uint32_t retries;

		w.now = (int64_t)n * b->every;
		retries = call(&w, &ok);
		r.retries += retries;
		r.successes += ok;
		if (n >= late)
			late_retries += retries;
	}
	r.attempts = b->calls + r.retries;
	if (b->calls > 0) {
		r.load = (double)r.attempts / (double)b->calls;
		r.success = (double)r.successes / (double)b->calls;
	}
	if (b->calls >= 3 && b->every > 0)
		r.per_s = (double)late_retries * (double)DUR_S /
		          ((double)(b->calls - late) * (double)b->every);
	return r;
}
