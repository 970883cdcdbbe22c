/* SPDX-License-Identifier: MIT */
/*
 * budget.h - how many retries a destination may get from all who share the budget.
 * Pure: words in, words out, as in window.h.
 *
 * The state of one budget is two words, which begin as 0, and each function changes
 * at most one of them:
 *
 *   calls   kind ratio: first calls, a window of ttl. Else unused.
 *   spent   kind ratio: retries, a window of ttl. Kind tokens: how many of the
 *           BUDGET_TOKENS_MAX tokens are gone.
 *
 * ratio: a retry is allowed if with it there are not more of them in the last ttl than
 *        ratio * first calls + min_retries_per_second * ttl. The word <calls> is only
 *        looked at, so among those who take at one time the limit is kept exactly.
 * tokens: a retry costs 5, after a time-out 10. A call that succeeds at once gives 1
 *        back; one that succeeds by a retry gives back what its last retry cost.
 * none:  always; the words stay as they are.
 *
 * A retry that was allowed and then not made (a signal, the program closed its
 * descriptor) stays spent; it is forgotten with the ttl, or by later successes.
 */
#ifndef LIBRETRY_POLICY_BUDGET_H
#define LIBRETRY_POLICY_BUDGET_H

#include "policy/policy.h"

#define BUDGET_TOKENS_MAX 500

struct budget_step {
	uint64_t word; /* the new one; the old one if not allowed */
	bool allowed;
};

/* A first call is made at <now>: the new <calls>. */
uint64_t budget_call(const struct budget *b, uint64_t calls, int64_t now);

/* May a retry be made at <now> after a failure of <class>? .word: the new <spent>. */
struct budget_step budget_retry(const struct budget *b, uint64_t calls, uint64_t spent,
                                int64_t now, enum err_class class);

/* A call succeeded, at once (<paid> CLASS_NONE) or by a retry after a failure of
 * <paid>: the new <spent>, often the old one. */
uint64_t budget_success(const struct budget *b, uint64_t spent, enum err_class paid);

/* For people: how many retries are left at <now>, whole ones (kind tokens: if no
 * time-out is among them); -1: as many as one likes. */
int64_t budget_left(const struct budget *b, uint64_t calls, uint64_t spent, int64_t now);

/* What a retry after a failure of <class> costs, kind tokens. */
uint32_t budget_cost(enum err_class class);

/* The parts of kind tokens, for buckets of any size: <spent> of <size> are gone (more
 * than that counts as all). Take <cost> if so many are left; give <n> back. */
struct budget_step tokens_take(uint64_t spent, uint32_t size, uint32_t cost);
uint64_t tokens_give(uint64_t spent, uint32_t n);

#endif
