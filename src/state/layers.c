/* SPDX-License-Identifier: MIT */
#include "state/layers.h"

#include <stdatomic.h>
#include <string.h>

#include "base/duration.h"
#include "base/prng.h"
#include "policy/policy.h"
#include "policy/window.h"

static struct entry {
	_Atomic uint64_t hash;
	_Atomic uint64_t series; /* policy/window */
	_Atomic int64_t ended;   /* ns; the last of them */
	_Atomic int64_t known;   /* ns; until when */
} entries[LAYERS];

static uint64_t hash_of(const char *dest)
{
	return hash_bytes(dest, strlen(dest), 0) | 1;
}

/* Of <hash>, made if it is another's. */
static struct entry *entry_of(uint64_t hash)
{
	struct entry *e = &entries[hash / 2 % LAYERS];

	if (atomic_load(&e->hash) != hash) {
		atomic_store(&e->series, 0);
		atomic_store(&e->ended, 0);
		atomic_store(&e->known, 0);
		atomic_store(&e->hash, hash);
	}
	return e;
}

bool layers_gave_up(const char *dest, int64_t began, int64_t now)
{
	struct entry *e = entry_of(hash_of(dest));
	uint64_t series;

	if (began < atomic_load(&e->ended))
		return false;
	atomic_store(&e->ended, now);
	series = window_add(atomic_load(&e->series), now, LAYERS_TIME, 1);
	atomic_store(&e->series, series);
	if (window_estimate(series, now, LAYERS_TIME) < LAYERS_SERIES * PPM)
		return false;
	return atomic_exchange(&e->known, dur_add(now, LAYERS_KNOWN)) <= now;
}

bool layers_known(const char *dest, int64_t now)
{
	uint64_t hash = hash_of(dest);
	struct entry *e = &entries[hash / 2 % LAYERS];

	if (atomic_load(&e->hash) != hash || atomic_load(&e->known) <= now)
		return false;
	atomic_store(&e->known, dur_add(now, LAYERS_KNOWN));
	return true;
}

void layers_reset(void)
{
	for (unsigned i = 0; i < LAYERS; i++) {
		atomic_store(&entries[i].hash, 0);
		atomic_store(&entries[i].known, 0);
	}
}
