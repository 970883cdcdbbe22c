/* SPDX-License-Identifier: MIT */
#include "state/tried.h"

#include <string.h>

#include "base/prng.h"

/* The walks through a name, at one port. */
struct round {
	_Atomic uint64_t key;   /* 0: over */
	_Atomic int64_t at;     /* of the last failure */
	_Atomic uint32_t stamp; /* its counts bear it */
	_Atomic uint32_t left;  /* successes that are still looked at for it */
};

#define ROUNDS 128
#define ROUND_SUCCESSES 256
static struct round rounds[ROUNDS];
static _Atomic uint32_t last_stamp;

/* Counts, by a hash of round and address: 40 bits of the hash, 16 of the stamp, 8 of
 * the count, which stops there. One is looked for in a few places; of those, the one
 * with the oldest stamp makes room. */
#define COUNTS 1024
#define COUNT_PLACES 8
static _Atomic uint64_t counts[COUNTS];

static uint64_t key_of(const struct name_entry *e, uint16_t port)
{
	return hash_bytes(e->name, strlen(e->name), port) | 1;
}

static struct round *place_of(uint64_t key)
{
	return &rounds[(key >> 8) % ROUNDS];
}

/* The round that is going on; NULL if there is none. */
static struct round *round_of(uint64_t key)
{
	struct round *r = place_of(key);

	return atomic_load(&r->key) == key ? r : NULL;
}

struct count_key {
	uint64_t hash;
	uint16_t stamp;
};

/* <thread> 0: of all threads. */
static struct count_key count_key(uint64_t key, const struct round *r, uint32_t address,
                                  uintptr_t thread)
{
	const uint64_t facts[3] = { key, address, thread };

	return (struct count_key){ hash_bytes(facts, sizeof(facts), 0),
		                   (uint16_t)atomic_load(&r->stamp) };
}

static bool is_of(uint64_t word, struct count_key k)
{
	return word >> 24 == k.hash >> 24 && (uint16_t)(word >> 8) == k.stamp;
}

static _Atomic uint64_t *find_count(struct count_key k)
{
	for (unsigned i = 0; i < COUNT_PLACES; i++) {
		_Atomic uint64_t *c = &counts[(k.hash + i) % COUNTS];

		if (is_of(atomic_load(c), k))
			return c;
	}
	return NULL;
}

static unsigned count_of(struct count_key k)
{
	const _Atomic uint64_t *c = find_count(k);
	uint64_t word = c ? atomic_load(c) : 0;

	return is_of(word, k) ? word & 0xff : 0;
}

/* The place to put a new count: an empty one, else the one with the oldest stamp. */
static _Atomic uint64_t *make_room(struct count_key k)
{
	_Atomic uint64_t *oldest = NULL;
	unsigned age = 0;

	for (unsigned i = 0; i < COUNT_PLACES; i++) {
		_Atomic uint64_t *c = &counts[(k.hash + i) % COUNTS];
		uint64_t word = atomic_load(c);
		uint16_t its = (uint16_t)(k.stamp - (uint16_t)(word >> 8));

		if (!word)
			return c;
		if (!oldest || its > age) {
			oldest = c;
			age = its;
		}
	}
	return oldest;
}

static void count(struct count_key k)
{
	_Atomic uint64_t *c = find_count(k);
	uint64_t word = c ? atomic_load(c) : 0;

	if (!c)
		atomic_store(make_room(k), k.hash >> 24 << 24 | (uint64_t)k.stamp << 8 | 1);
	else
		while ((word & 0xff) < 0xff && is_of(word, k) &&
		       !atomic_compare_exchange_weak(c, &word, word + 1))
			;
}

/* What is still to be tried. Who sees a round that began after its own failure has
 * failed there as often as once. */
static uint32_t left_in(const struct name_entry *e, uint64_t key, const struct round *r)
{
	uint32_t hashes[NAMES_MORE];
	unsigned more = names_more(e, hashes);
	uint32_t self = name_ip_hash(&e->ip);
	unsigned own = r ? count_of(count_key(key, r, self, 0)) : 0;
	uint32_t left = own ? 0 : TRIED_OVER;

	if (!own)
		own = 1;
	for (unsigned i = 0; i < e->count; i++)
		if (i != e->self &&
		    (!r || count_of(count_key(key, r, name_ip_hash(&e->ips[i]), 0)) < own))
			left |= UINT32_C(1) << i;
	for (unsigned i = 0; i < more; i++)
		if (hashes[i] != self && (!r || count_of(count_key(key, r, hashes[i], 0)) < own))
			left |= TRIED_NOT_MORE;
	return left;
}

uint32_t tried_failed(const struct name_entry *e, uint16_t port, int64_t began, int64_t now)
{
	uint64_t key = key_of(e, port);
	struct round *r = place_of(key);
	uint32_t self = name_ip_hash(&e->ip);
	int64_t last = atomic_exchange(&r->at, now);

	if (atomic_load(&r->key) != key || began - last > NAMES_ROUND) {
		atomic_store(&r->stamp, atomic_fetch_add(&last_stamp, 1) + 1);
		atomic_store(&r->key, key);
	}
	atomic_store(&r->left, ROUND_SUCCESSES);
	atomic_fetch_or(&names_gate, NAMES_TRIED);
	count(count_key(key, r, self, 0));
	count(count_key(key, r, self, e->thread));
	return left_in(e, key, r);
}

uint32_t tried_left(const struct name_entry *e, uint16_t port)
{
	uint64_t key = key_of(e, port);

	return left_in(e, key, round_of(key));
}

bool tried_by_thread(const struct name_entry *e, uint16_t port, unsigned index)
{
	uint64_t key = key_of(e, port);
	const struct round *r = round_of(key);

	return r && count_of(count_key(key, r, name_ip_hash(&e->ips[index]), e->thread)) > 0;
}

bool tried_is_first(const struct name_entry *e, uint32_t left)
{
	uint32_t all = (UINT32_C(1) << e->count) - 1;

	if (e->self < e->count)
		all &= ~(UINT32_C(1) << e->self);
	return (left & all) == all;
}

void tried_goes_on(const struct name_entry *e, uint16_t port, int64_t now)
{
	struct round *r = round_of(key_of(e, port));

	if (r)
		atomic_store(&r->at, now);
}

void tried_succeeded(const struct name_entry *e, uint16_t port)
{
	uint64_t key = key_of(e, port);
	struct round *r = round_of(key);

	if (r)
		atomic_compare_exchange_strong(&r->key, &key, 0);
}

static bool any_round(void)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		if (atomic_load(&rounds[i].key))
			return true;
	return false;
}

void tried_success_at(const struct addr *a)
{
	struct name_entry e;

	for (unsigned at = 0; names_next(&at, a, &e);)
		tried_succeeded(&e, a->port);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct round *r = &rounds[i];

		if (atomic_load(&r->key) && atomic_fetch_sub(&r->left, 1) <= 1)
			atomic_store(&r->key, 0);
	}
	if (any_round())
		return;
	atomic_fetch_and(&names_gate, ~NAMES_TRIED);
	/* One that began just now. */
	if (any_round())
		atomic_fetch_or(&names_gate, NAMES_TRIED);
}

void tried_reset(void)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		atomic_store(&rounds[i].key, 0);
	for (unsigned i = 0; i < COUNTS; i++)
		atomic_store(&counts[i], 0);
}
