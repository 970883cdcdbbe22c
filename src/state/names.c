/* SPDX-License-Identifier: MIT */
#include "state/names.h"

#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#include "base/compat.h"
#include "base/prng.h"
#include "state/habit.h"
#include "state/literal.h"
#include "state/tried.h"

/* The part of a slot that is copied as a whole, as atomic words: a torn copy is
 * possible and found out by the sequence number, a data race in the language's
 * sense is not. Written with release and read with acquire, so that whoever
 * sees a new word also sees the sequence number that announced it. */
struct payload {
	uint64_t id;
	uint64_t thread;
	int64_t at;
	char name[NAMES_NAME_MAX];
	struct name_list list;
};

#define PAYLOAD_WORDS ((sizeof(struct payload) + 7) / 8)

union payload_words {
	struct payload p;
	uint64_t word[PAYLOAD_WORDS];
};

struct slot {
	_Atomic uint32_t sequence; /* odd: being written */
	_Atomic uint64_t id;       /* 0: empty */
	_Atomic uint64_t name_hash;
	/* What it may hold, to be asked before it is copied: the name, and a bit for
	 * each address. */
	_Atomic uint64_t text_hash;
	_Atomic uint64_t filter;
	_Atomic uint32_t exhausted_port;
	_Atomic int64_t exhausted_at;
	_Atomic uint32_t exhausted_walk; /* the same walk goes on */
	_Atomic uint32_t pending_port;
	_Atomic uint32_t pending_attempts;
	_Atomic int64_t pending_waited;
	_Atomic uint64_t word[PAYLOAD_WORDS];
};

static struct slot slots[NAMES_LOOKUPS];
static _Atomic uint64_t last_id;
_Atomic uint32_t names_gate;

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

uint32_t name_ip_hash(const struct name_ip *ip)
{
	uint64_t hash = hash_bytes(ip->ip, ip->family == AF_INET ? 4 : 16, ip->family);

	return (uint32_t)(hash ^ hash >> 32);
}

/* Adds <ip> to the <count> entries at <ips> unless it is there; the new count. */
static unsigned add_ip(struct name_ip *ips, unsigned count, const struct name_ip *ip)
{
	for (unsigned i = 0; i < count; i++)
		if (same_ip(&ips[i], ip->family, ip->ip))
			return count;
	if (count < NAMES_ADDRS)
		ips[count++] = *ip;
	return count;
}

static void add_hash(struct name_list *l, uint32_t hash)
{
	for (unsigned i = 0; i < l->more; i++)
		if (l->hashes[i] == hash)
			return;
	if (l->more < NAMES_MORE)
		l->hashes[l->more++] = hash;
}

void name_list_add(struct name_list *l, const struct name_ip *ip)
{
	for (unsigned i = 0; i < l->count; i++)
		if (same_ip(&l->ips[i], ip->family, ip->ip))
			return;
	if (l->count < NAMES_ADDRS)
		l->ips[l->count++] = *ip;
	else
		add_hash(l, name_ip_hash(ip));
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

/* 1: IPv4, 2: IPv6, 3: both. */
static unsigned families_of(const struct name_list *l)
{
	unsigned families = 0;

	for (unsigned i = 0; i < l->count; i++)
		families |= l->ips[i].family == AF_INET ? 1 : 2;
	return families;
}

static uint64_t text_hash(const char *name)
{
	return hash_bytes(name, strlen(name), 0);
}

static uint64_t filter_bit(uint32_t ip_hash)
{
	return UINT64_C(1) << (ip_hash & 63);
}

static uint64_t filter_of(const struct name_list *l)
{
	uint64_t filter = 0;

	for (unsigned i = 0; i < l->count; i++)
		filter |= filter_bit(name_ip_hash(&l->ips[i]));
	for (unsigned i = 0; i < l->more; i++)
		filter |= filter_bit(l->hashes[i]);
	return filter;
}

static bool may_hold(struct slot *s, uint64_t bit)
{
	return atomic_load_explicit(&s->filter, memory_order_relaxed) & bit;
}

/* The look-up of the other family, by the same thread, that is about as young; NULL
 * if there is none. <own>: families of <p>. */
static LR_NOINLINE struct slot *other_family(const struct payload *p, unsigned own)
{
	uint64_t hash = text_hash(p->name);
	union payload_words copy;
	struct slot *newest = NULL;
	uint64_t id = 0;

	for (unsigned i = 0; i < NAMES_LOOKUPS; i++)
		if (atomic_load_explicit(&slots[i].text_hash, memory_order_relaxed) == hash &&
		    copy_slot(&slots[i], &copy) && copy.p.thread == p->thread && copy.p.id > id &&
		    p->at - copy.p.at <= NAMES_ROUND && (families_of(&copy.p.list) & ~own) &&
		    strcmp(copy.p.name, p->name) == 0) {
			newest = &slots[i];
			id = copy.p.id;
		}
	return newest;
}

/* A program may ask for the two families one after the other: puts the answer of
 * the other look-up before what <p> holds. */
static LR_NOINLINE void join_families(struct payload *p)
{
	unsigned own = families_of(&p->list);
	struct slot *s = own == 3 ? NULL : other_family(p, own);
	struct name_list *l;
	union payload_words copy;
	unsigned kept = 0;

	if (!s || !copy_slot(s, &copy))
		return;
	l = &copy.p.list;
	for (unsigned i = 0; i < l->count && i < NAMES_ADDRS; i++)
		if ((l->ips[i].family == AF_INET) != (own == 1))
			l->ips[kept++] = l->ips[i];
	l->count = kept;
	l->more = 0;
	for (unsigned i = 0; i < p->list.count; i++)
		name_list_add(l, &p->list.ips[i]);
	for (unsigned i = 0; i < p->list.more; i++)
		add_hash(l, p->list.hashes[i]);
	p->list = *l;
}

static uint64_t key_of(const char *name, const struct name_list *l, uintptr_t thread)
{
	const uint64_t key[2] = { thread, families_of(l) };

	return hash_bytes(name, strlen(name), hash_bytes(key, sizeof(key), 0));
}

/* A new look-up begins: what was known of the last one in <s>. */
static void start_anew(struct slot *s, uint64_t hash, uint64_t id)
{
	if (atomic_load_explicit(&s->name_hash, memory_order_relaxed) != hash)
		atomic_store_explicit(&s->exhausted_at, 0, memory_order_relaxed);
	atomic_store_explicit(&s->pending_attempts, 0, memory_order_relaxed);
	atomic_store_explicit(&s->name_hash, hash, memory_order_relaxed);
	atomic_store_explicit(&s->id, id, memory_order_relaxed);
}

void names_remember(const char *name, const struct name_list *l, uintptr_t thread, int64_t now)
{
	size_t len = strlen(name);
	union payload_words new;
	uint64_t hash;
	uint32_t sequence;
	struct slot *s;

	if (l->count == 0 || len == 0 || len >= NAMES_NAME_MAX)
		return;
	memset(&new, 0, sizeof(new));
	new.p.thread = thread;
	new.p.at = now;
	memcpy(new.p.name, name, len);
	new.p.list = *l;
	join_families(&new.p);
	hash = key_of(name, l, thread);
	s = choose_slot(hash);
	if (!s)
		return;
	sequence = atomic_load_explicit(&s->sequence, memory_order_relaxed);
	if ((sequence & 1) ||
	    !atomic_compare_exchange_strong(&s->sequence, &sequence, sequence + 1))
		return;
	new.p.id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	start_anew(s, hash, new.p.id);
	atomic_store_explicit(&s->text_hash, text_hash(name), memory_order_relaxed);
	atomic_store_explicit(&s->filter, filter_of(&new.p.list), memory_order_relaxed);
	for (unsigned i = 0; i < PAYLOAD_WORDS; i++)
		atomic_store_explicit(&s->word[i], new.word[i], memory_order_release);
	atomic_store_explicit(&s->sequence, sequence + 2, memory_order_release);
}

void names_remember_literal(const struct name_ip *ip, uintptr_t thread)
{
	uint64_t id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;

	literal_mark(ip, 0, id);
	literal_mark(ip, thread, id);
}

static bool find_in(const struct payload *p, const struct name_ip *ip, unsigned *index)
{
	uint32_t hash = p->list.more ? name_ip_hash(ip) : 0;

	for (unsigned i = 0; i < p->list.count && i < NAMES_ADDRS; i++)
		if (same_ip(&p->list.ips[i], ip->family, ip->ip)) {
			*index = i;
			return true;
		}
	for (unsigned i = 0; i < p->list.more && i < NAMES_MORE; i++)
		if (p->list.hashes[i] == hash) {
			*index = NAMES_ADDRS + i;
			return true;
		}
	return false;
}

static void copy_out(struct name_entry *e, const struct payload *p, const struct name_ip *ip,
                     unsigned self)
{
	e->id = p->id;
	e->count = p->list.count;
	e->more = p->list.more;
	e->self = self;
	e->ip = *ip;
	e->thread = (uintptr_t)p->thread;
	memcpy(e->name, p->name, sizeof(e->name));
	memcpy(e->ips, p->list.ips, sizeof(e->ips));
}

static struct name_ip ip_of(const struct addr *a)
{
	struct name_ip ip = { .family = a->family };

	memcpy(ip.ip, a->ip, sizeof(ip.ip));
	return ip;
}

bool names_next(unsigned *at, const struct addr *a, struct name_entry *e)
{
	struct name_ip ip = ip_of(a);
	uint64_t bit = filter_bit(name_ip_hash(&ip));
	union payload_words copy;
	unsigned index = 0;

	while (*at < NAMES_LOOKUPS) {
		struct slot *s = &slots[(*at)++];

		if (!may_hold(s, bit) || !copy_slot(s, &copy) || copy.p.thread == NAMES_OURS ||
		    !find_in(&copy.p, &ip, &index))
			continue;
		copy_out(e, &copy.p, &ip, index);
		return true;
	}
	return false;
}

bool names_find(const struct addr *a, uintptr_t thread, struct name_entry *out)
{
	struct name_ip ip = ip_of(a);
	uint64_t bit = filter_bit(name_ip_hash(&ip));
	union payload_words copy;
	bool own_found = false;
	unsigned index = 0;

	out->id = 0;
	if (a->family != AF_INET && a->family != AF_INET6)
		return false;
	for (unsigned i = 0; i < NAMES_LOOKUPS; i++) {
		bool own;

		if (!may_hold(&slots[i], bit) || !copy_slot(&slots[i], &copy) ||
		    copy.p.thread == NAMES_OURS || !find_in(&copy.p, &ip, &index))
			continue;
		own = copy.p.thread == thread;
		if (own < own_found || (own == own_found && copy.p.id < out->id))
			continue;
		own_found = own;
		copy_out(out, &copy.p, &ip, index);
		out->thread = thread;
	}
	if (out->id && (literal_since(&ip, thread, out->id) ||
	                (!own_found && literal_since(&ip, 0, out->id))))
		out->id = 0;
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

unsigned names_more(const struct name_entry *e, uint32_t *hashes)
{
	struct slot *s = e->more ? slot_of(e->id) : NULL;
	union payload_words copy;

	if (!s || !copy_slot(s, &copy) || copy.p.id != e->id || copy.p.list.more > NAMES_MORE)
		return 0;
	memcpy(hashes, copy.p.list.hashes, copy.p.list.more * sizeof(*hashes));
	return copy.p.list.more;
}

void names_set_exhausted(const struct name_entry *e, uint16_t port, int64_t now)
{
	struct slot *s = slot_of(e->id);

	if (!s)
		return;
	atomic_store_explicit(&s->exhausted_port, port, memory_order_relaxed);
	atomic_store_explicit(&s->exhausted_walk, 1, memory_order_relaxed);
	atomic_store_explicit(&s->exhausted_at, now, memory_order_relaxed);
}

int64_t names_exhausted_at(const struct name_entry *e, uint16_t port)
{
	struct slot *s = slot_of(e->id);

	if (!s || atomic_load_explicit(&s->exhausted_port, memory_order_relaxed) != port)
		return 0;
	return atomic_load_explicit(&s->exhausted_at, memory_order_relaxed);
}

bool names_exhausted_walk(const struct name_entry *e, bool first)
{
	struct slot *s = slot_of(e->id);

	if (s && first)
		atomic_store_explicit(&s->exhausted_walk, 0, memory_order_relaxed);
	return s && atomic_load_explicit(&s->exhausted_walk, memory_order_relaxed);
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
	atomic_fetch_or_explicit(&names_gate, NAMES_PENDING, memory_order_relaxed);
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
		atomic_fetch_and_explicit(&names_gate, ~NAMES_PENDING, memory_order_relaxed);
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
		for (unsigned j = 0; j < copy.p.list.count && j < NAMES_ADDRS; j++)
			has |= copy.p.list.ips[j].family == family;
		if (!has)
			continue;
		newest = &slots[i];
		id = copy.p.id;
	}
	return newest;
}

unsigned names_addresses(const char *name, struct name_ip *ips, int64_t *at)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	union payload_words copy;
	unsigned count = 0;

	for (unsigned f = 0; f < 2; f++) {
		struct slot *s = newest_of(name, families[f]);
		unsigned before = count;

		if (!s || !copy_slot(s, &copy))
			continue;
		for (unsigned j = 0; j < copy.p.list.count && j < NAMES_ADDRS; j++)
			if (copy.p.list.ips[j].family == families[f])
				count = add_ip(ips, count, &copy.p.list.ips[j]);
		if (count > before && (before == 0 || copy.p.at < *at))
			*at = copy.p.at;
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
	literal_reset();
	atomic_store(&names_gate, 0);
	habit_reset();
	tried_reset();
}
