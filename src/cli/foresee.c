/* SPDX-License-Identifier: MIT */
#include "cli/foresee.h"

#include "policy/backoff.h"

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* <times> * <ns>, saturating. */
static int64_t multiply(int64_t ns, unsigned times)
{
	int64_t product;

	if (ns == DUR_NONE || __builtin_mul_overflow(ns, (int64_t)times, &product))
		return times ? DUR_NONE : 0;
	return product;
}

/* A wait is begun only if it ends before the deadline. */
static void see_retries(struct forecast *f, const struct policy *p, const struct foresight *how,
                        unsigned allowed)
{
	struct step before = { 0, 0, 0, 0 };
	int64_t longest = 0;

	for (unsigned n = 1; n < allowed; n++) {
		struct backoff_wait low = backoff_wait(&p->backoff, n, how->local,
		                                       before.wait_min, 0);
		struct backoff_wait high = backoff_wait(&p->backoff, n, how->local, longest,
		                                        UINT64_MAX);
		struct step s = { low.floor, high.ceiling, 0, 0 };

		if (how->at_once)
			s.wait_min = s.wait_max = 0;
		longest = s.wait_max;
		f->waits = dur_add(f->waits, longest);
		s.at_min = dur_add(before.at_min, s.wait_min);
		s.at_max = min64(dur_add(before.at_max, s.wait_max), p->deadline);
		if (s.at_min >= p->deadline || f->attempts <= n - 1)
			continue;
		s.wait_max = min64(s.wait_max, dur_sub(p->deadline, before.at_min));
		f->retry[n - 1] = before = s;
		f->attempts = n + 1;
	}
}

void foresee(struct forecast *f, const struct policy *p, const struct foresight *how)
{
	unsigned allowed = how->once ? 1 : p->max_attempts;
	int64_t sum;

	if (how->at_once && allowed > 2)
		allowed = 2;
	if (allowed > FORESEE_MAX)
		allowed = FORESEE_MAX;
	f->attempts = 1;
	f->waits = 0;
	f->attempt = how->attempt;
	f->cut = how->cuts && allowed > 1 && p->attempt_timeout < how->attempt;
	if (f->cut)
		f->attempt = p->attempt_timeout;
	see_retries(f, p, how, allowed);
	f->by_deadline = false;
	if (how->parks && (allowed > 1 || how->first_free)) {
		f->by_deadline = true;
		f->total = how->cuts && !how->first_free
		                   ? p->deadline
		                   : dur_add(p->deadline, f->attempt);
		return;
	}
	if (how->cuts && allowed > 1) {
		/* The last one is cut where the deadline ends, and not the first. */
		sum = dur_add(f->waits, multiply(f->attempt, allowed));
		f->by_deadline = sum > p->deadline;
		f->total = min64(sum, p->deadline);
		if (how->first_free && !f->cut)
			f->total = max64(f->total, f->attempt);
		return;
	}
	sum = dur_add(f->waits, multiply(f->attempt, allowed - 1));
	f->by_deadline = allowed > 1 && sum > p->deadline;
	f->total = dur_add(allowed > 1 ? min64(sum, p->deadline) : 0, f->attempt);
}

uint64_t amplify(unsigned attempts, const unsigned *outer, unsigned count)
{
	uint64_t calls = attempts;

	for (unsigned i = 0; i < count; i++)
		if (__builtin_mul_overflow(calls, (uint64_t)outer[i], &calls))
			return UINT64_MAX;
	return calls;
}
