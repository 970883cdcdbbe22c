/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "base/compat.h"
#include "state/habit.h"
#include "state/literal.h"
#include "state/names_slot.h"
#include "state/tried.h"

struct names_kept names_kept;
_Atomic uint32_t names_gate;

/* Adds <ip> to the <count> entries at <ips> unless it is there; the new count. */
static unsigned add_ip(struct name_ip *ips, unsigned count, const struct name_ip *ip)
{
	for (unsigned i = 0; i < count; i++)
		if (names_same_ip(&ips[i], ip))
			return count;
	if (count < NAMES_ADDRS)
		ips[count++] = *ip;
	return count;
}

bool names_copy(struct slot *s, union payload_words *out)
{
	uint32_t before = atomic_load_explicit(&s->sequence, memory_order_acquire);

	if ((before & 1) || !atomic_load_explicit(&s->id, memory_order_relaxed))
		return false;
	for (unsigned i = 0; i < PAYLOAD_WORDS; i++)
		out->word[i] = atomic_load_explicit(&s->word[i], memory_order_acquire);
	return atomic_load_explicit(&s->sequence, memory_order_relaxed) == before;
}

static bool may_hold(struct slot *s, uint64_t bit)
{
	return atomic_load_explicit(&s->filter, memory_order_relaxed) & bit;
}

static bool find_in(const struct payload *p, const struct name_ip *ip, unsigned *index)
{
	uint32_t hash = p->list.more ? name_ip_hash(ip) : 0;

	for (unsigned i = 0; i < p->list.count && i < NAMES_ADDRS; i++)
		if (names_same_ip(&p->list.ips[i], ip)) {
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
	uint64_t bit = names_filter_bit(name_ip_hash(&ip));
	union payload_words copy;
	unsigned index = 0;

	while (*at < names_count()) {
		struct slot *s = &names_kept.slots[(*at)++];

		if (!may_hold(s, bit) || !names_copy(s, &copy) || copy.p.thread == NAMES_OURS ||
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
	uint64_t bit = names_filter_bit(name_ip_hash(&ip));
	union payload_words copy;
	bool own_found = false;
	unsigned index = 0;

	out->id = 0;
	if (a->family != AF_INET && a->family != AF_INET6)
		return false;
	for (unsigned i = 0, n = names_count(); i < n; i++) {
		struct slot *s = &names_kept.slots[i];
		bool own;

		if (!may_hold(s, bit) || !names_copy(s, &copy) ||
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
	for (unsigned i = 0, n = names_count(); id && i < n; i++)
		if (atomic_load_explicit(&names_kept.slots[i].id, memory_order_relaxed) == id)
			return &names_kept.slots[i];
	return NULL;
}

unsigned names_more(const struct name_entry *e, uint32_t *hashes)
{
	struct slot *s = e->more ? slot_of(e->id) : NULL;
	union payload_words copy;

	if (!s || !names_copy(s, &copy) || copy.p.id != e->id || copy.p.list.more > NAMES_MORE)
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
	for (unsigned i = 0, n = names_count(); i < n && !others; i++)
		others = atomic_load_explicit(&names_kept.slots[i].pending_attempts,
		                              memory_order_relaxed);
	if (!others)
		atomic_fetch_and_explicit(&names_gate, ~NAMES_PENDING, memory_order_relaxed);
	return *attempts > 0;
}

static bool is_of(const struct name_ip *ip, int family)
{
	return family == AF_UNSPEC || ip->family == family;
}

/* The newest look-up of <name> with an address of <family>, <ours> too; NULL if there is
 * none. */
static LR_NOINLINE struct slot *newest_of(const char *name, int family, bool ours)
{
	union payload_words copy;
	struct slot *newest = NULL;
	uint64_t id = 0;

	for (unsigned i = 0, n = names_count(); i < n; i++) {
		bool has = false;

		if (!names_copy(&names_kept.slots[i], &copy) || copy.p.id < id ||
		    (!ours && copy.p.thread == NAMES_OURS) ||
		    strcasecmp(copy.p.name, name) != 0)
			continue;
		for (unsigned j = 0; j < copy.p.list.count && j < NAMES_ADDRS; j++)
			has |= is_of(&copy.p.list.ips[j], family);
		if (!has)
			continue;
		newest = &names_kept.slots[i];
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
		struct slot *s = newest_of(name, families[f], true);
		unsigned before = count;

		if (!s || !names_copy(s, &copy))
			continue;
		for (unsigned j = 0; j < copy.p.list.count && j < NAMES_ADDRS; j++)
			if (copy.p.list.ips[j].family == families[f])
				count = add_ip(ips, count, &copy.p.list.ips[j]);
		if (count > before && (before == 0 || copy.p.at < *at))
			*at = copy.p.at;
	}
	return count;
}

unsigned names_recall(const char *name, int family, struct name_ip *ips, int64_t *at)
{
	struct slot *s = newest_of(name, family, false);
	union payload_words copy;
	unsigned count = 0;

	if (!s || !names_copy(s, &copy) || strcasecmp(copy.p.name, name) != 0)
		return 0;
	for (unsigned i = 0; i < copy.p.list.count && i < NAMES_ADDRS; i++)
		if (is_of(&copy.p.list.ips[i], family))
			ips[count++] = copy.p.list.ips[i];
	*at = copy.p.at;
	return count;
}

void names_postfork_child(void)
{
	for (unsigned i = 0, n = names_count(); i < n; i++) {
		uint32_t sequence = atomic_load(&names_kept.slots[i].sequence);

		if (!(sequence & 1))
			continue;
		atomic_store(&names_kept.slots[i].id, 0);
		atomic_store(&names_kept.slots[i].sequence, sequence + 1);
	}
}

void names_reset(void)
{
	for (unsigned i = 0, n = names_count(); i < n; i++) {
		atomic_store(&names_kept.slots[i].id, 0);
		atomic_store(&names_kept.slots[i].sequence, 0);
		atomic_store(&names_kept.slots[i].exhausted_at, 0);
		atomic_store(&names_kept.slots[i].name_hash, 0);
		atomic_store(&names_kept.slots[i].pending_attempts, 0);
	}
	atomic_store(&names_kept.used, 0);
	names_remember_reset();
	atomic_store(&names_gate, 0);
	habit_reset();
	tried_reset();
}
