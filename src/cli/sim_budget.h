/* SPDX-License-Identifier: MIT */
/*
 * sim_budget.h - the world of "--world budget": what kinds of retry budgets do to load
 * and success. One client makes calls one after the other, each attempt fails by
 * itself with probability p; there are no waits (that they take is of no matter here),
 * and a first call begins every <every> ns, which the ratio budget's ttl goes by.
 */
#ifndef LIBRETRY_CLI_SIM_BUDGET_H
#define LIBRETRY_CLI_SIM_BUDGET_H

#include "policy/policy.h"

enum sim_budget_kind {
	SIM_BUDGET_NO_RETRY = 0,
	SIM_BUDGET_RETRIES, /* .retries per call, no budget */
	SIM_BUDGET_BUCKET,  /* .tokens, a retry takes 1, a success gives .gain */
	SIM_BUDGET_GRPC,    /* .tokens, a failure takes 1, a success gives .gain; a retry
	                     * goes while more than half are left */
	SIM_BUDGET_COST,    /* AWS: .tokens, a retry takes .cost; a call that succeeds at
	                     * once gives 1, by a retry the cost */
	SIM_BUDGET_POLICY   /* .budget, the one that ships (policy/budget.h) */
};

struct sim_budget {
	enum sim_budget_kind kind;
	uint32_t retries;     /* at most, per call */
	uint32_t tokens;      /* they begin full */
	uint32_t gain;        /* thousandths of a token */
	uint32_t cost;
	struct budget budget; /* of kind SIM_BUDGET_POLICY */
	enum err_class class; /* of the failures, for its costs */
	int64_t every;        /* ns from one first call to the next */
	uint64_t calls;
	double fail;          /* 0 to 1 */
	uint64_t seed;
};

struct sim_budget_result {
	uint64_t attempts, retries, successes;
	double load;    /* attempts per call */
	double success; /* 0 to 1 */
	double per_s;   /* retries per second over the last third of the run */
};

/* The columns of the published comparison, by number from 0: their name, or NULL at
 * the end; *b is filled in for 200,000 calls at 100/s with p = 0.1. The last is ours. */
const char *sim_budget_column(unsigned number, struct sim_budget *b);

struct sim_budget_result sim_budget(const struct sim_budget *b);

#endif
