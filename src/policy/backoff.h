/* SPDX-License-Identifier: MIT */
/* backoff.h - how long to wait before retry n. Pure. */
#ifndef LIBRETRY_POLICY_BACKOFF_H
#define LIBRETRY_POLICY_BACKOFF_H

#include "policy/policy.h"

struct backoff_wait {
	int64_t wait;    /* ns */
	int64_t floor;   /* ns, the least it could have been */
	int64_t ceiling; /* ns, the most it could have been */
};

/*
 * The wait before retry <n> (1 = first retry). <local>: use base_local, for
 * errors of the local-resource class. <previous>: the wait before (0 for none),
 * used by decorrelated jitter only. <random>: 64 random bits.
 *
 * raw = min(base * multiplier^(n-1), max), in saturating nanoseconds, then the
 * jitter. cap = hard: never above max, and proportional and additive jitter
 * keep their spread there (the centre is lowered); cap = soft: the jitter goes
 * on top of the capped value, as the published formulas do. Decorrelated jitter
 * is never above max: soft, it is drawn and then cut, as published; hard, drawn under it.
 */
struct backoff_wait backoff_wait(const struct backoff *b, unsigned n, bool local,
                                 int64_t previous, uint64_t random);

#endif
