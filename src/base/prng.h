/* SPDX-License-Identifier: MIT */
/*
 * prng.h - a small generator (splitmix64) and the project's one hash.
 * State is the caller's; pure; safe in signal handlers. Not for secrets.
 */
#ifndef LIBRETRY_BASE_PRNG_H
#define LIBRETRY_BASE_PRNG_H

#include <stddef.h>
#include <stdint.h>

struct prng {
	uint64_t state;
};

void prng_seed(struct prng *p, uint64_t seed);
uint64_t prng_next(struct prng *p);

/* Uniform in [0, bound] from the 64 random bits <random>; bound >= 0.
 * Multiply-shift: the bias is below bound/2^64. */
int64_t prng_below(uint64_t random, int64_t bound);

/* FNV-1a, 64 bits, continued from <seed> (0 starts a new one). */
uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);

#endif
