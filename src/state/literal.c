/* SPDX-License-Identifier: MIT */
#include "state/literal.h"

#include "base/prng.h"

/* The upper half of the key's hash, and the lower half of the number. */
#define LITERALS 256
static _Atomic uint64_t literals[LITERALS];

static uint64_t key_of(const struct name_ip *ip, uintptr_t thread)
{
	const uint64_t facts[2] = { name_ip_hash(ip), thread };

	return hash_bytes(facts, sizeof(facts), 0);
}

void literal_mark(const struct name_ip *ip, uintptr_t thread, uint64_t id)
{
	uint64_t key = key_of(ip, thread);

	atomic_store_explicit(&literals[key % LITERALS], key >> 32 << 32 | (uint32_t)id,
	                      memory_order_relaxed);
}

bool literal_since(const struct name_ip *ip, uintptr_t thread, uint64_t id)
{
	uint64_t key = key_of(ip, thread);
	uint64_t word = atomic_load_explicit(&literals[key % LITERALS], memory_order_relaxed);

	return word && word >> 32 == key >> 32 && (int32_t)((uint32_t)word - (uint32_t)id) > 0;
}

void literal_reset(void)
{
	for (unsigned i = 0; i < LITERALS; i++)
		atomic_store(&literals[i], 0);
}
