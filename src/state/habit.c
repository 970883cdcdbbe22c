/* SPDX-License-Identifier: MIT */
#include "state/habit.h"

#include <stdatomic.h>
#include <string.h>

#include "base/duration.h"
#include "base/prng.h"

/* A failure went back to the program: at which address, in which look-up. */
struct note {
	_Atomic uint64_t name; /* hash; 0: empty */
	_Atomic uint64_t thread;
	_Atomic uint64_t address; /* hash */
	_Atomic uint64_t id;      /* of the look-up, times PLACES, and its index */
	_Atomic int64_t at;
	_Atomic uint32_t left;    /* connects that are still looked at for it */
};

#define NOTES 64
#define NOTE_CONNECTS 64
static struct note notes[NOTES];
#define PLACES (NAMES_ADDRS + NAMES_MORE)

/* The name's hash with the habit in the two low bits. */
#define HABITS 128
static _Atomic uint64_t habits[HABITS];

/* Never 0, and its two low bits are. */
static uint64_t hash_name(const char *name, uint16_t port)
{
	return (hash_bytes(name, strlen(name), port) | 4) & ~UINT64_C(3);
}

static uint64_t hash_ip(const struct name_ip *ip)
{
	return hash_bytes(ip->ip, ip->family == AF_INET ? 4 : 16, ip->family);
}

/* Above the two bits, which are always 0. */
static unsigned place_of(uint64_t hash, unsigned count)
{
	return (unsigned)((hash >> 8) % count);
}

static enum habit known_of(uint64_t name)
{
	uint64_t word = atomic_load_explicit(&habits[place_of(name, HABITS)],
	                                     memory_order_relaxed);

	return (word & ~UINT64_C(3)) == name ? (enum habit)(word & 3) : HABIT_UNKNOWN;
}

static void set_habit(uint64_t name, enum habit habit)
{
	atomic_store_explicit(&habits[place_of(name, HABITS)], name | habit,
	                      memory_order_relaxed);
}

enum habit habit_known(const struct name_entry *e, uint16_t port)
{
	return known_of(hash_name(e->name, port));
}

static struct note *note_of(uint64_t name, uint64_t thread)
{
	return &notes[place_of(hash_bytes(&thread, sizeof(thread), name), NOTES)];
}

void habit_went_back(const struct name_entry *e, uint16_t port, int64_t now)
{
	uint64_t name = hash_name(e->name, port);
	struct note *n = note_of(name, e->thread);

	atomic_store(&n->name, 0);
	atomic_store(&n->thread, e->thread);
	atomic_store(&n->address, hash_ip(&e->ip));
	atomic_store(&n->id, e->id * PLACES + e->self);
	atomic_store(&n->at, now);
	atomic_store(&n->left, NOTE_CONNECTS);
	atomic_store(&n->name, name);
	atomic_fetch_or(&names_gate, NAMES_NOTED);
}

/* The program connects to the address <address>, number <index> of look-up <id>,
 * after <n>. HABIT_UNKNOWN: that says nothing, and <n> stands. */
static enum habit lesson(struct note *n, uint64_t address, uint64_t id, unsigned index)
{
	uint64_t before = atomic_load(&n->id);

	if (atomic_load(&n->address) == address)
		return HABIT_FIRST_ONLY;
	if (index > 0)
		return HABIT_WALKS;
	/* The first again, of a look-up that came in another order. */
	return before % PLACES == 0 && before / PLACES != id ? HABIT_FIRST_ONLY
	                                                               : HABIT_UNKNOWN;
}

enum habit habit_came_back(const struct name_entry *e, uint16_t port, int64_t began,
                           int64_t pause)
{
	uint64_t name = hash_name(e->name, port);
	struct note *n = note_of(name, e->thread);
	enum habit known = known_of(name);
	enum habit new;

	if (known == HABIT_WALKS || atomic_load(&n->name) != name ||
	    atomic_load(&n->thread) != e->thread || began < atomic_load(&n->at))
		return known;
	new = lesson(n, hash_ip(&e->ip), e->id, e->self);
	if (new == HABIT_UNKNOWN ||
	    (new == HABIT_FIRST_ONLY && dur_sub(began, atomic_load(&n->at)) < pause))
		return known;
	/* The note stays: a walk that is seen after all says more. */
	set_habit(name, new);
	return new;
}

/* The program connects to an address of look-up <e>: what does that say about
 * notes? */
static void attempt_in(const struct name_entry *e, uint16_t port)
{
	uint64_t name = hash_name(e->name, port);
	uint64_t address = hash_ip(&e->ip);

	for (unsigned i = 0; i < NOTES; i++) {
		struct note *n = &notes[i];
		enum habit new;

		if (atomic_load(&n->name) != name)
			continue;
		/* That it comes back is for habit_came_back() to say: this may be
		 * another thread. */
		new = lesson(n, address, e->id, e->self);
		if (new == HABIT_FIRST_ONLY)
			continue;
		if (new == HABIT_WALKS)
			set_habit(name, new);
		atomic_store(&n->name, 0);
	}
}

/* Nobody looks for ever. */
static void use_up(void)
{
	bool left = false;

	for (unsigned i = 0; i < NOTES; i++) {
		if (!atomic_load(&notes[i].name))
			continue;
		if (atomic_fetch_sub(&notes[i].left, 1) <= 1)
			atomic_store(&notes[i].name, 0);
		else
			left = true;
	}
	if (!left)
		atomic_fetch_and(&names_gate, ~NAMES_NOTED);
}

void habit_attempt(const struct addr *a)
{
	struct name_entry e;

	for (unsigned at = 0; names_next(&at, a, &e);)
		attempt_in(&e, a->port);
	use_up();
}

void habit_reset(void)
{
	for (unsigned i = 0; i < NOTES; i++)
		atomic_store(&notes[i].name, 0);
	for (unsigned i = 0; i < HABITS; i++)
		atomic_store(&habits[i], 0);
	atomic_fetch_and(&names_gate, ~NAMES_NOTED);
}
