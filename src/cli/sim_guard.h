/* SPDX-License-Identifier: MIT */
/*
 * sim_guard.h - the words of a budget and a breaker (policy/budget.h,
 * policy/breaker.h) in the memory of one simulated world, for one client or shared
 * by many, and the order in which an attempt meets them:
 *
 *     first call:  sim_guard_call; sim_guard_ask - REFUSED: it fails, nothing was sent
 *     it fails:    sim_guard_failed; engine decides "retry"; sim_guard_retry - false:
 *                  it fails for REASON_BUDGET, without a wait; after the wait
 *                  sim_guard_ask - REFUSED: it fails for REASON_BREAKER
 *     it succeeds: sim_guard_succeeded
 *
 * Begin with zeros.
 */
#ifndef LIBRETRY_CLI_SIM_GUARD_H
#define LIBRETRY_CLI_SIM_GUARD_H

#include "policy/breaker.h"
#include "policy/policy.h"

struct sim_guard {
	uint64_t budget_calls, budget_spent;
	uint64_t breaker, breaker_calls, breaker_failures;
};

/* A first call is about to be made. */
void sim_guard_call(struct sim_guard *g, const struct policy *p, int64_t now);

/* Whether the breaker lets an attempt out. <longest>: how long an attempt can take.
 * *ticket is to be told with its result. */
enum breaker_answer sim_guard_ask(struct sim_guard *g, const struct policy *p, int64_t now,
                                  int64_t longest, uint16_t *ticket);

/* Whether the budget allows a retry after a failure of <class>. */
bool sim_guard_retry(struct sim_guard *g, const struct policy *p, int64_t now,
                     enum err_class class);

/* <counts>: the error is in the policy's retry_on; else a probe's place is given back. */
void sim_guard_failed(struct sim_guard *g, const struct policy *p, int64_t now,
                      uint16_t ticket, bool counts, uint64_t random);

/* <paid>: the class of the failure before it; CLASS_NONE: the first attempt. */
void sim_guard_succeeded(struct sim_guard *g, const struct policy *p, int64_t now,
                         uint16_t ticket, enum err_class paid);

#endif
