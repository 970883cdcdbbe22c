/* SPDX-License-Identifier: MIT */
#include "base/prng.h"

void prng_seed(struct prng *p, uint64_t seed)
{
	p->state = seed;
}

uint64_t prng_next(struct prng *p)
{
	uint64_t z = p->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* The upper half of the 128-bit product, by 32-bit halves: 32-bit machines
 * have no __int128. */
static uint64_t mul_high(uint64_t a, uint64_t b)
{
	uint64_t a0 = (uint32_t)a, a1 = a >> 32;
	uint64_t b0 = (uint32_t)b, b1 = b >> 32;
	uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
	uint64_t carry = a0 * b1 + (uint32_t)middle;

	return a1 * b1 + (middle >> 32) + (carry >> 32);
}

int64_t prng_below(uint64_t random, int64_t bound)
{
	return (int64_t)mul_high(random, (uint64_t)bound + 1);
}

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
	const unsigned char *s = data;
	uint64_t h = seed ? seed : UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ s[i]) * UINT64_C(0x100000001b3);
	return h;
}
