/* SPDX-License-Identifier: MIT */
#include "state/turns.h"

#include <stdatomic.h>

#include "base/compat.h"
#include "base/duration.h"
#include "policy/policy.h"

/* The key in the upper bits, below the time, in ms, from which on the place is free:
 * that is 34 years after the machine's start. */
#define TIME_BITS 40
#define TIME_MAX ((UINT64_C(1) << TIME_BITS) - 1)

/* How often a grant is tried that others got in the way of. */
#define TRIES 16

static _Atomic uint64_t places[CONCURRENT_MAX];
static _Atomic uint32_t used; /* those from here on were never taken */
static _Atomic uint64_t forks; /* in this process's ancestry */

static uint64_t time_of(int64_t ns)
{
	uint64_t ms = ns > 0 ? (uint64_t)(ns / DUR_MS) : 0;

	return ms < TIME_MAX ? ms : TIME_MAX;
}

/* Later than <now> by one at least: so a word that is over is never written anew. Nor is
 * one of the parent's, which a copy of his frames still gives back. */
static uint64_t word_of(uint64_t key, int64_t now, int64_t until)
{
	uint64_t from = time_of(now), to = time_of(until);

	key ^= atomic_load(&forks) << TIME_BITS;
	return (key | UINT64_C(1) << 63) >> TIME_BITS << TIME_BITS |
	       (to > from ? to : from < TIME_MAX ? from + 1 : TIME_MAX);
}

static bool is_free(uint64_t word, uint64_t now)
{
	return (word & TIME_MAX) <= now;
}

static uint32_t count_of(uint64_t word, uint64_t now)
{
	uint32_t n = 0;

	for (uint32_t i = 0, end = atomic_load(&used); i < end; i++) {
		uint64_t other = atomic_load(&places[i]);

		n += other >> TIME_BITS == word >> TIME_BITS && !is_free(other, now);
	}
	return n;
}

/* So that nobody who counts overlooks place <i>. */
static void raise_used(uint32_t i)
{
	uint32_t was = atomic_load(&used);

	while (was <= i && !atomic_compare_exchange_weak(&used, &was, i + 1))
		;
}

static bool claim(struct turn *t, uint64_t word, uint64_t now)
{
	for (uint32_t i = 0; i < CONCURRENT_MAX; i++) {
		uint64_t was = atomic_load(&places[i]);

		if (!is_free(was, now))
			continue;
		raise_used(i);
		if (atomic_compare_exchange_strong(&places[i], &was, word)) {
			*t = (struct turn){ .word = word, .place = i };
			return true;
		}
	}
	return false;
}

static bool keep(struct turn *t, uint64_t word)
{
	uint64_t was = t->word;

	if (!was || !atomic_compare_exchange_strong(&places[t->place], &was, word))
		return false;
	t->word = word;
	return true;
}

/* Claims first and counts then: of two who claim at the same time, one at least sees
 * the other. */
bool turns_take(struct turn *t, uint64_t key, uint32_t most, int64_t now, int64_t until)
{
	uint64_t word = word_of(key, now, until);
	uint64_t at = time_of(now);

	if (keep(t, word))
		return true;
	for (unsigned i = 0; i < TRIES; i++) {
		t->word = 0;
		if (count_of(word, at) >= most || !claim(t, word, at))
			return false;
		if (count_of(word, at) <= most)
			return true;
		turns_give(t);
	}
	return false;
}

void turns_give(struct turn *t)
{
	uint64_t was = t ? t->word : 0;

	if (!was)
		return;
	t->word = 0;
	atomic_compare_exchange_strong(&places[t->place], &was, 0);
}

void turns_postfork_child(void)
{
	atomic_fetch_add(&forks, 1);
	for (uint32_t i = 0, end = atomic_load(&used); i < end; i++)
		atomic_store(&places[i], 0);
}

unsigned turns_taken(int64_t now)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < CONCURRENT_MAX; i++)
		n += !is_free(atomic_load(&places[i]), time_of(now));
	return n;
}
