/* SPDX-License-Identifier: MIT */
#include "log/flood.h"

#include <stddef.h>
#include <string.h>

#include "base/compat.h"
#include "base/duration.h"
#include "base/prng.h"

#define NAME_WORDS (FLOOD_NAME_MAX / sizeof(uint64_t))

#define get(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define set(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

union name {
	char text[FLOOD_NAME_MAX];
	uint64_t words[NAME_WORDS];
};

static uint32_t key_of(const char *name, bool is_dest)
{
	size_t len = strnlen(name, FLOOD_NAME_MAX - 1);
	uint64_t hash = hash_bytes(name, len, is_dest ? 0 : 1);
	uint32_t key = (uint32_t)(hash ^ hash >> 32);

	return key ? key : 1;
}

static bool window_over(const struct flood_slot *s, int64_t now, int64_t per)
{
	/* Another thread may have begun the window a moment "after" <now>. */
	return dur_sub(now, get(&s->start)) >= per;
}

/*
 * The name of the destination whose key is <key>, or "". Another thread may be
 * writing the next one: a mixture does not have the hash.
 */
static void read_name(const struct flood_slot *s, uint32_t key, char text[FLOOD_NAME_MAX])
{
	union name n;

	for (size_t i = 0; i < NAME_WORDS; i++)
		n.words[i] = get(&s->name[i]);
	n.text[FLOOD_NAME_MAX - 1] = '\0';
	if (key_of(n.text, true) != key)
		n.text[0] = '\0';
	memcpy(text, n.text, FLOOD_NAME_MAX);
}

static void write_name(struct flood_slot *s, const char *name)
{
	union name n;

	memset(&n, 0, sizeof(n));
	memcpy(n.text, name, strnlen(name, FLOOD_NAME_MAX - 1));
	for (size_t i = 0; i < NAME_WORDS; i++)
		set(&s->name[i], n.words[i]);
}

static struct flood_slot *find(struct flood *t, uint32_t key)
{
	for (unsigned i = 0; i < FLOOD_SLOTS; i++) {
		struct flood_slot *s = &t->slots[(key + i) % FLOOD_SLOTS];

		if (get(&s->key) == key)
			return s;
	}
	return NULL;
}

/* A free slot, else the one whose window has been over longest, else NULL. */
static struct flood_slot *find_victim(struct flood *t, uint32_t key, int64_t now, int64_t per)
{
	struct flood_slot *oldest = NULL;

	for (unsigned i = 0; i < FLOOD_SLOTS; i++) {
		struct flood_slot *s = &t->slots[(key + i) % FLOOD_SLOTS];

		if (get(&s->key) == 0)
			return s;
		if (window_over(s, now, per) &&
		    (!oldest || get(&s->start) < get(&oldest->start)))
			oldest = s;
	}
	return oldest;
}

static struct flood_slot *claim(struct flood *t, uint32_t key, const char *name, int64_t now,
                                int64_t per, struct flood_held *held)
{
	struct flood_slot *shared = &t->slots[FLOOD_SLOTS];
	struct flood_slot *s = find_victim(t, key, now, per);
	uint32_t old;

	if (!s)
		return shared;
	old = get(&s->key);
	read_name(s, old, held->dest);
	if (!__atomic_compare_exchange_n(&s->key, &old, key, false, __ATOMIC_ACQ_REL,
	                                 __ATOMIC_ACQUIRE))
		return shared;
	set(&s->start, now);
	set(&s->count, 0);
	held->lines = __atomic_exchange_n(&s->held, 0, __ATOMIC_ACQ_REL);
	write_name(s, name);
	return s;
}

/* Begins the next window if this one is over; one of many threads does. */
static void roll(struct flood_slot *s, int64_t now, int64_t per, struct flood_held *held)
{
	int64_t start = get(&s->start);
	uint32_t lines;

	/* One summary at a time: a slot just taken over has its own to tell. */
	if (held->lines > 0 || dur_sub(now, start) < per)
		return;
	if (!__atomic_compare_exchange_n(&s->start, &start, now, false, __ATOMIC_ACQ_REL,
	                                 __ATOMIC_ACQUIRE))
		return;
	set(&s->count, 0);
	lines = __atomic_exchange_n(&s->held, 0, __ATOMIC_ACQ_REL);
	if (lines > 0) {
		held->lines = lines;
		read_name(s, get(&s->key), held->dest);
	}
}

bool flood_admit(struct flood *t, const struct flood_limit *limit, const char *name,
                 bool is_dest, int64_t now, struct flood_held *held)
{
	uint32_t key = key_of(name, is_dest);
	struct flood_slot *s = find(t, key);

	held->lines = 0;
	held->dest[0] = '\0';
	if (!s)
		s = claim(t, key, name, now, limit->per, held);
	roll(s, now, limit->per, held);
	/* Counting stops at the limit, so that it cannot wrap round. */
	if (get(&s->count) < limit->burst &&
	    __atomic_fetch_add(&s->count, 1, __ATOMIC_ACQ_REL) < limit->burst)
		return true;
	__atomic_fetch_add(&s->held, 1, __ATOMIC_ACQ_REL);
	return false;
}

bool flood_drain(struct flood *t, unsigned *cursor, struct flood_held *held)
{
	while (*cursor < ARRAY_LEN(t->slots)) {
		struct flood_slot *s = &t->slots[(*cursor)++];

		held->lines = __atomic_exchange_n(&s->held, 0, __ATOMIC_ACQ_REL);
		if (held->lines > 0) {
			read_name(s, get(&s->key), held->dest);
			return true;
		}
	}
	return false;
}

void flood_forget(struct flood *t)
{
	/* Only what is not zero: a forked child should not get pages of its own
	 * for nothing. */
	for (size_t i = 0; i < ARRAY_LEN(t->slots); i++)
		if (get(&t->slots[i].held))
			set(&t->slots[i].held, 0);
}
