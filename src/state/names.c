/* SPDX-License-Identifier: MIT */
#include "state/names.h"

#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#include "base/compat.h"
#include "base/prng.h"
#include "state/habit.h"

/* The part of a slot that is copied as a whole, as atomic words: a torn copy is
 * possible and found out by the sequence number, a data race in the language's
 * sense is not. Written with release and read with acquire, so that whoever
 * sees a new word also sees the sequence number that announced it. */
struct payload {
	uint64_t id;
	uint64_t thread;
	uint32_t count;
	uint32_t unused;
	char name[NAMES_NAME_MAX];
	struct name_ip ips[NAMES_ADDRS];
};

#define PAYLOAD_WORDS ((sizeof(struct payload) + 7) / 8)

union payload_words {
	struct payload p;
	uint64_t word[PAYLOAD_WORDS];
};

struct slot {
	_Atomic uint32_t sequence; /* odd: being written */
	_Atomic uint32_t tried;    /* bit n: address n has failed */
	_Atomic int64_t tried_at;  /* the last of them */
	_Atomic uint64_t id;       /* 0: empty */
	_Atomic uint64_t name_hash;
	_Atomic uint32_t exhausted_port;
	_Atomic int64_t exhausted_at;
	_Atomic uint32_t pending_port;
	_Atomic uint32_t pending_attempts;
	_Atomic int64_t pending_waited;
	_Atomic uint64_t word[PAYLOAD_WORDS];
};

static struct slot slots[NAMES_LOOKUPS];
static _Atomic uint64_t last_id;
static _Atomic uint32_t any_pending;

bool name_ip_from(struct name_ip *out, const struct sockaddr *sa, socklen_t len)
{
	struct addr a;

	if (!addr_from_sockaddr(&a, sa, len) || a.family == AF_UNIX)
		return false;
	out->family = a.family;
	memcpy(out->ip, a.ip, sizeof(out->ip));
	return true;
}

static bool same_ip(const struct name_ip *a, uint8_t family, const uint8_t *ip)
{
	return a->family == family && memcmp(a->ip, ip, family == AF_INET ? 4 : 16) == 0;
}

unsigned name_ip_add(struct name_ip *ips, unsigned count, const struct name_ip *ip)
{
	for (unsigned i = 0; i < count; i++)
		if (same_ip(&ips[i], ip->family, ip->ip))
			return count;
	if (count >= NAMES_ADDRS)
		return count;
	ips[count] = *ip;
	return count + 1;
}

/*
 * The slot to write: the one that holds this name already, else the one with
 * the smallest id (an empty one has 0). One that is being written is left out:
 * a writer whose handler jumped out leaves it so for good, and as the oldest
 * it would be chosen, in vain, for ever.
 */
static struct slot *choose_slot(uint64_t hash)
{
	struct slot *oldest = NULL;
	uint64_t oldest_id = UINT64_MAX;

	for (unsigned i = 0; i < NAMES_LOOKUPS; i++) {
		uint64_t id = atomic_load_explicit(&slots[i].id, memory_order_relaxed);

		if (atomic_load_explicit(&slots[i].sequence, memory_order_relaxed) & 1)
			continue;
		if (id && atomic_load_explicit(&slots[i].name_hash, memory_order_relaxed) == hash)
			return &slots[i];
		if (id < oldest_id) {
			oldest_id = id;
			oldest = &slots[i];
		}
	}
	return oldest;
}

void names_remember(const char *name, const struct name_ip *ips, unsigned count,
                    uintptr_t thread)
{
	size_t len = strlen(name);
	union payload_words new = { .p = { 0 } };
	struct {
		uint64_t thread;
		uint64_t families;
	} key = { 0, 0 };
	uint64_t hash;
	uint32_t sequence;
	struct slot *s;

	if (count == 0 || len == 0 || len >= NAMES_NAME_MAX)
		return;
	if (count > NAMES_ADDRS)
		count = NAMES_ADDRS;
	key.thread = thread;
	/* A program may ask for the two families one after the other: neither
	 * answer replaces the other. */
	for (unsigned i = 0; i < count; i++)
		key.families |= ips[i].family == AF_INET ? 1 : 2;
	hash = hash_bytes(name, len, hash_bytes(&key, sizeof(key), 0));
	s = choose_slot(hash);
	if (!s)
		return;
	sequence = atomic_load_explicit(&s->sequence, memory_order_relaxed);
	if ((sequence & 1) || !atomic_compare_exchange_strong(&s->sequence, &sequence, sequence + 1))
		return;

	new.p.id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	new.p.thread = thread;
	new.p.count = count;
	memcpy(new.p.name, name, len);
	memcpy(new.p.ips, ips, count * sizeof(*ips));
	if (atomic_load_explicit(&s->name_hash, memory_order_relaxed) != hash)
		atomic_store_explicit(&s->exhausted_at, 0, memory_order_relaxed);
	atomic_store_explicit(&s->tried, 0, memory_order_relaxed);
	atomic_store_explicit(&s->pending_attempts, 0, memory_order_relaxed);
	atomic_store_explicit(&s->name_hash, hash, memory_order_relaxed);
	atomic_store_explicit(&s->id, new.p.id, memory_order_relaxed);
	for (unsigned i = 0; i < PAYLOAD_WORDS; i++)
		atomic_store_explicit(&s->word[i], new.word[i], memory_order_release);
	atomic_store_explicit(&s->sequence, sequence + 2, memory_order_release);
}

/* A consistent copy of <s>; false if it is empty or changed meanwhile. */
static bool copy_slot(struct slot *s, union payload_words *out)
{
	uint32_t before = atomic_load_explicit(&s->sequence, memory_order_acquire);

	if ((before & 1) || !atomic_load_explicit(&s->id, memory_order_relaxed))
		return false;
	for (unsigned i = 0; i < PAYLOAD_WORDS; i++)
		out->word[i] = atomic_load_explicit(&s->word[i], memory_order_acquire);
	return atomic_load_explicit(&s->sequence, memory_order_relaxed) == before;
}

static bool find_in(const struct payload *p, const struct addr *a, unsigned *index)
{
	for (unsigned i = 0; i < p->count && i < NAMES_ADDRS; i++)
		if (same_ip(&p->ips[i], a->family, a->ip)) {
			*index = i;
			return true;
		}
	return false;
}

static void copy_out(struct name_entry *e, const struct payload *p, unsigned self)
{
	e->id = p->id;
	e->count = p->count;
	e->self = self;
	e->thread = (uintptr_t)p->thread;
	memcpy(e->name, p->name, sizeof(e->name));
	memcpy(e->ips, p->ips, sizeof(e->ips));
}

bool names_next(unsigned *at, const struct addr *a, struct name_entry *e)
{
	union payload_words copy;
	unsigned index = 0;

	while (*at < NAMES_LOOKUPS) {
		if (!copy_slot(&slots[(*at)++], &copy) || copy.p.thread == NAMES_OURS ||
		    !find_in(&copy.p, a, &index))
			continue;
		copy_out(e, &copy.p, index);
		return true;
	}
	return false;
}

bool names_find(const struct addr *a, uintptr_t thread, struct name_entry *out)
{
	union payload_words copy;
	bool own_found = false;
	unsigned index = 0;

	out->id = 0;
	if (a->family != AF_INET && a->family != AF_INET6)
		return false;
	for (unsigned i = 0; i < NAMES_LOOKUPS; i++) {
		bool own;

		if (!copy_slot(&slots[i], &copy) || copy.p.thread == NAMES_OURS ||
		    !find_in(&copy.p, a, &index))
			continue;
		own = copy.p.thread == thread;
		if (own < own_found || (own == own_found && copy.p.id < out->id))
			continue;
		own_found = own;
		copy_out(out, &copy.p, index);
		out->thread = thread;
	}
	return out->id != 0;
}

/* The slot that still holds look-up <id>; NULL if it was overwritten. */
static struct slot *slot_of(uint64_t id)
{
	for (unsigned i = 0; id && i < NAMES_LOOKUPS; i++)
		if (atomic_load_explicit(&slots[i].id, memory_order_relaxed) == id)
			return &slots[i];
	return NULL;
}

static uint32_t all_of(const struct name_entry *e)
{
	return (UINT32_C(1) << e->count) - 1;
}

uint32_t names_tried(const struct name_entry *e, int64_t began, int64_t now)
{
	struct slot *s = slot_of(e->id);
	uint32_t bit = UINT32_C(1) << e->self;
	uint32_t old;
	uint32_t new;
	int64_t last;

	if (!s)
		return 0;
	last = atomic_exchange_explicit(&s->tried_at, now, memory_order_relaxed);
	old = atomic_load_explicit(&s->tried, memory_order_relaxed);
	do
		new = (old & bit) || began - last > NAMES_ROUND ? bit : old | bit;
	while (!atomic_compare_exchange_weak(&s->tried, &old, new));
	return all_of(e) & ~new;
}

uint32_t names_untried(const struct name_entry *e)
{
	struct slot *s = slot_of(e->id);

	return s ? all_of(e) & ~atomic_load_explicit(&s->tried, memory_order_relaxed) : 0;
}

void names_set_exhausted(const struct name_entry *e, uint16_t port, int64_t now)
{
	struct slot *s = slot_of(e->id);

	if (!s)
		return;
	atomic_store_explicit(&s->exhausted_port, port, memory_order_relaxed);
	atomic_store_explicit(&s->exhausted_at, now, memory_order_relaxed);
}

int64_t names_exhausted_at(const struct name_entry *e, uint16_t port)
{
	struct slot *s = slot_of(e->id);

	if (!s || atomic_load_explicit(&s->exhausted_port, memory_order_relaxed) != port)
		return 0;
	return atomic_load_explicit(&s->exhausted_at, memory_order_relaxed);
}

void names_set_pending(const struct name_entry *e, uint16_t port, unsigned attempts,
                       int64_t waited)
{
	struct slot *s = slot_of(e->id);

	if (!s)
		return;
	atomic_store_explicit(&s->pending_port, port, memory_order_relaxed);
	atomic_store_explicit(&s->pending_waited, waited, memory_order_relaxed);
	atomic_store_explicit(&s->pending_attempts, attempts, memory_order_relaxed);
	atomic_store_explicit(&any_pending, 1, memory_order_relaxed);
}

bool names_any_pending(void)
{
	return atomic_load_explicit(&any_pending, memory_order_relaxed) != 0;
}

bool names_take_pending(const struct name_entry *e, uint16_t port, unsigned *attempts,
                        int64_t *waited)
{
	struct slot *s = slot_of(e->id);
	bool others = false;

	*attempts = 0;
	if (s && atomic_load_explicit(&s->pending_port, memory_order_relaxed) == port) {
		*waited = atomic_load_explicit(&s->pending_waited, memory_order_relaxed);
		*attempts = atomic_exchange(&s->pending_attempts, 0);
	}
	for (unsigned i = 0; i < NAMES_LOOKUPS && !others; i++)
		others = atomic_load_explicit(&slots[i].pending_attempts, memory_order_relaxed);
	if (!others)
		atomic_store_explicit(&any_pending, 0, memory_order_relaxed);
	return *attempts > 0;
}

/* The newest look-up of <name> with an address of <family>; NULL if there is none. */
static LR_NOINLINE struct slot *newest_of(const char *name, uint8_t family)
{
	union payload_words copy;
	struct slot *newest = NULL;
	uint64_t id = 0;

	for (unsigned i = 0; i < NAMES_LOOKUPS; i++) {
		bool has = false;

		if (!copy_slot(&slots[i], &copy) || copy.p.id < id ||
		    strcasecmp(copy.p.name, name) != 0)
			continue;
		for (unsigned j = 0; j < copy.p.count && j < NAMES_ADDRS; j++)
			has |= copy.p.ips[j].family == family;
		if (!has)
			continue;
		newest = &slots[i];
		id = copy.p.id;
	}
	return newest;
}

unsigned names_addresses(const char *name, struct name_ip *ips)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	union payload_words copy;
	unsigned count = 0;

	for (unsigned f = 0; f < 2; f++) {
		struct slot *s = newest_of(name, families[f]);

		if (!s || !copy_slot(s, &copy))
			continue;
		for (unsigned j = 0; j < copy.p.count && j < NAMES_ADDRS; j++)
			if (copy.p.ips[j].family == families[f])
				count = name_ip_add(ips, count, &copy.p.ips[j]);
	}
	return count;
}

void names_postfork_child(void)
{
	for (unsigned i = 0; i < NAMES_LOOKUPS; i++) {
		uint32_t sequence = atomic_load(&slots[i].sequence);

		if (!(sequence & 1))
			continue;
		atomic_store(&slots[i].id, 0);
		atomic_store(&slots[i].sequence, sequence + 1);
	}
}

void names_reset(void)
{
	for (unsigned i = 0; i < NAMES_LOOKUPS; i++) {
		atomic_store(&slots[i].id, 0);
		atomic_store(&slots[i].sequence, 0);
		atomic_store(&slots[i].exhausted_at, 0);
		atomic_store(&slots[i].name_hash, 0);
		atomic_store(&slots[i].pending_attempts, 0);
	}
	atomic_store(&any_pending, 0);
	habit_reset();
}
