/* SPDX-License-Identifier: MIT */
#include "state/said.h"

#include <stdatomic.h>

#define SAID 256
static _Atomic uint64_t said[SAID];

bool said_before(uint64_t hash)
{
	hash |= 1;
	return atomic_exchange(&said[hash / 2 % SAID], hash) == hash;
}

void said_reset(void)
{
	for (unsigned i = 0; i < SAID; i++)
		atomic_store(&said[i], 0);
}
