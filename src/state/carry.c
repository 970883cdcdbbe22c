/* SPDX-License-Identifier: MIT */
#include "state/carry.h"

#include <string.h>

#include "base/duration.h"
#include "base/prng.h"
#include "state/shm.h"

/* One word, so that nothing of it is another's: 16 bits of the key, 10 of the step, 38
 * of the time in ms until which it counts (8 years after the machine's start). */
#define STEP_BITS 10
#define TIME_BITS 38
#define TIME_MAX ((UINT64_C(1) << TIME_BITS) - 1)
#define KEY_SHIFT (STEP_BITS + TIME_BITS)
_Static_assert(CARRY_STEP_MAX < 1 << STEP_BITS, "a step fits");

static _Atomic uint64_t words[CARRIES];
static _Atomic int64_t waits[CARRIES]; /* only as good as it looks */
static _Atomic uint32_t told;          /* successes */

/* Never 0 in the bits that are kept. */
static uint64_t key_of(uint64_t hash)
{
	return hash | UINT64_C(1) << KEY_SHIFT;
}

uint64_t carry_key_addr(const struct addr *a)
{
	uint64_t hash = hash_bytes(&a->port, sizeof(a->port), a->family);

	if (a->family == AF_UNIX)
		return key_of(hash_bytes(a->path, strlen(a->path), hash));
	return key_of(hash_bytes(a->ip, a->family == AF_INET ? 4 : 16, hash));
}

uint64_t carry_key_name(const char *dest)
{
	return key_of(hash_bytes(dest, strlen(dest), 0));
}

static unsigned place_of(uint64_t key)
{
	return (unsigned)(key % CARRIES);
}

static uint64_t time_of(int64_t ns)
{
	uint64_t ms = ns > 0 ? (uint64_t)(ns / DUR_MS) : 0;

	return ms < TIME_MAX ? ms : TIME_MAX;
}

static bool is_of(uint64_t word, uint64_t key)
{
	return word >> KEY_SHIFT == key >> KEY_SHIFT;
}

void carry_failed(uint64_t key, unsigned step, int64_t wait, int64_t until)
{
	unsigned at = place_of(key);

	if (step == 0)
		return;
	if (step > CARRY_STEP_MAX)
		step = CARRY_STEP_MAX;
	atomic_store(&waits[at], wait);
	atomic_store(&words[at], key >> KEY_SHIFT << KEY_SHIFT | (uint64_t)step << TIME_BITS |
	                                 time_of(until));
	atomic_fetch_or(&names_gate, NAMES_CARRIED);
}

unsigned carry_step(uint64_t key, int64_t now, int64_t *wait)
{
	uint64_t word = atomic_load(&words[place_of(key)]);

	if (!is_of(word, key) || (word & TIME_MAX) <= time_of(now))
		return 0;
	*wait = atomic_load(&waits[place_of(key)]);
	return (unsigned)(word >> TIME_BITS) & ((1U << STEP_BITS) - 1);
}

static bool any(void)
{
	for (unsigned i = 0; i < CARRIES; i++)
		if (atomic_load(&words[i]))
			return true;
	return false;
}

static void sweep(int64_t now)
{
	for (unsigned i = 0; i < CARRIES; i++) {
		uint64_t word = atomic_load(&words[i]);

		if (word && (word & TIME_MAX) <= time_of(now))
			atomic_compare_exchange_strong(&words[i], &word, 0);
	}
}

void carry_succeeded(uint64_t key)
{
	uint64_t word = atomic_load(&words[place_of(key)]);
	bool was = is_of(word, key) &&
	           atomic_compare_exchange_strong(&words[place_of(key)], &word, 0);
	bool sweeps = atomic_fetch_add(&told, 1) % CARRY_SWEEP == CARRY_SWEEP - 1;

	if (sweeps)
		sweep(slot_now());
	if ((!was && !sweeps) || any())
		return;
	atomic_fetch_and(&names_gate, ~NAMES_CARRIED);
	/* One that failed just now. */
	if (any())
		atomic_fetch_or(&names_gate, NAMES_CARRIED);
}

void carry_reset(void)
{
	for (unsigned i = 0; i < CARRIES; i++)
		atomic_store(&words[i], 0);
	atomic_store(&told, 0);
	atomic_fetch_and(&names_gate, ~NAMES_CARRIED);
}
