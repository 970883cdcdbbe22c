/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/compat.h"
#include "base/prng.h"
#include "state/literal.h"
#include "state/names_slot.h"

_Static_assert(NAMES_LOOKUPS < UINT8_MAX, "a hint is one byte");

static uint64_t next_id(void)
{
	return atomic_fetch_add_explicit(&names_kept.last_id, 1, memory_order_relaxed) + 1;
}

bool name_ip_from(struct name_ip *out, const struct sockaddr *sa, socklen_t len)
{
	struct addr a;

	if (lr_likely(addr_is_four(sa, len))) {
		memset(out, 0, sizeof(*out));
		out->family = AF_INET;
		memcpy(out->ip, (const char *)sa + offsetof(struct sockaddr_in, sin_addr), 4);
		return true;
	}
	if (!addr_from_sockaddr(&a, sa, len) || a.family == AF_UNIX)
		return false;
	out->family = a.family;
	memcpy(out->ip, a.ip, sizeof(out->ip));
	return true;
}

uint32_t name_ip_hash(const struct name_ip *ip)
{
	uint64_t hash = hash_bytes(ip->ip, ip->family == AF_INET ? 4 : 16, ip->family);

	return (uint32_t)(hash ^ hash >> 32);
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
		if (names_same_ip(&l->ips[i], ip))
			return;
	if (l->count < NAMES_ADDRS)
		l->ips[l->count++] = *ip;
	else
		add_hash(l, name_ip_hash(ip));
}

/* One that was never used; NULL if there is none. It counts as used before anything
 * is written: who jumps out in between leaves it empty, and not in everybody's way. */
static struct slot *fresh_slot(void)
{
	uint32_t used = atomic_load_explicit(&names_kept.used, memory_order_relaxed);

	while (used < NAMES_LOOKUPS)
		if (atomic_compare_exchange_weak(&names_kept.used, &used, used + 1))
			return &names_kept.slots[used];
	return NULL;
}

/*
 * The slot to write: the one that holds this name already, else one that holds
 * nothing, else the one with the smallest id. One that is being written is left out:
 * a writer whose handler jumped out leaves it so for good, and as the oldest
 * it would be chosen, in vain, for ever.
 */
static struct slot *choose_slot(uint64_t hash)
{
	unsigned count = names_count();
	struct slot *oldest = NULL;
	struct slot *fresh;
	uint64_t oldest_id = UINT64_MAX;

	for (unsigned i = 0; i < count; i++) {
		struct slot *s = &names_kept.slots[i];
		uint64_t id = atomic_load_explicit(&s->id, memory_order_relaxed);

		if (atomic_load_explicit(&s->sequence, memory_order_relaxed) & 1)
			continue;
		if (id && atomic_load_explicit(&s->name_hash, memory_order_relaxed) == hash)
			return s;
		if (id < oldest_id) {
			oldest_id = id;
			oldest = s;
		}
	}
	fresh = oldest_id ? fresh_slot() : NULL;
	return fresh ? fresh : oldest;
}

/* 1: IPv4, 2: IPv6, 3: both. */
static unsigned families_of(const struct name_list *l)
{
	unsigned families = 0;

	for (unsigned i = 0; i < l->count; i++)
		families |= l->ips[i].family == AF_INET ? 1 : 2;
	return families;
}

static uint64_t filter_of(const struct name_list *l)
{
	uint64_t filter = 0;

	for (unsigned i = 0; i < l->count; i++)
		filter |= names_filter_bit(name_ip_hash(&l->ips[i]));
	for (unsigned i = 0; i < l->more; i++)
		filter |= names_filter_bit(l->hashes[i]);
	return filter;
}

/* A look-up that is being remembered. */
struct lookup {
	const char *name;
	size_t len;
	uint64_t text_hash;
	uintptr_t thread;
	int64_t now;
	unsigned families;
};

/* The look-up of the other family, by the same thread, that is about as young, in
 * <copy>. */
static bool other_family(const struct lookup *q, union payload_words *copy)
{
	unsigned count = names_count();
	struct slot *newest = NULL;
	uint64_t id = 0;

	for (unsigned i = 0; i < count; i++) {
		struct slot *s = &names_kept.slots[i];

		if (atomic_load_explicit(&s->text_hash, memory_order_relaxed) == q->text_hash &&
		    names_copy(s, copy) && copy->p.thread == q->thread && copy->p.id > id &&
		    q->now - copy->p.at <= NAMES_ROUND &&
		    (families_of(&copy->p.list) & ~q->families) &&
		    strcmp(copy->p.name, q->name) == 0) {
			newest = s;
			id = copy->p.id;
		}
	}
	return newest && names_copy(newest, copy);
}

/* A program may ask for the two families one after the other: puts the answer of
 * the other look-up before <list>, in <copy>. What is to be remembered. */
static const struct name_list *join_families(const struct lookup *q, const struct name_list *list,
                                             union payload_words *copy)
{
	struct name_list *l = &copy->p.list;
	unsigned kept = 0;

	if (q->families == 3 || !other_family(q, copy))
		return list;
	for (unsigned i = 0; i < l->count && i < NAMES_ADDRS; i++)
		if ((l->ips[i].family == AF_INET) != (q->families == 1))
			l->ips[kept++] = l->ips[i];
	l->count = kept;
	l->more = 0;
	for (unsigned i = 0; i < list->count; i++)
		name_list_add(l, &list->ips[i]);
	for (unsigned i = 0; i < list->more; i++)
		add_hash(l, list->hashes[i]);
	return l;
}

static void put(struct slot *s, size_t word, uint64_t value)
{
	atomic_store_explicit(&s->word[word], value, memory_order_release);
}

/* <from>, <size> bytes, to <word> and on. */
static void put_bytes(struct slot *s, size_t word, const void *from, size_t size)
{
	const char *bytes = from;
	uint64_t value;

	for (; size >= sizeof(value); size -= sizeof(value), bytes += sizeof(value)) {
		memcpy(&value, bytes, sizeof(value));
		put(s, word++, value);
	}
	if (size == 0)
		return;
	value = 0;
	memcpy(&value, bytes, size);
	put(s, word, value);
}

static void put_list(struct slot *s, const struct name_list *l)
{
	put_bytes(s, PAYLOAD_WORD(list), l,
	          offsetof(struct name_list, ips) + l->count * sizeof(l->ips[0]));
	if (l->more)
		put_bytes(s, PAYLOAD_WORD(list.hashes), l->hashes, l->more * sizeof(l->hashes[0]));
}
_Static_assert(offsetof(struct payload, list) % 8 == 0, "a list begins with a word");
_Static_assert(offsetof(struct payload, list.hashes) % 8 == 0, "and its hashes do");
_Static_assert(offsetof(struct payload, name) % 8 == 0, "and a name");

/* What was known of the last look-up in <s> is over. */
LR_INLINE void start_anew(struct slot *s, uint64_t id)
{
	atomic_store_explicit(&names_kept.newest, s, memory_order_relaxed);
	atomic_store_explicit(&s->pending_attempts, 0, memory_order_relaxed);
	atomic_store_explicit(&s->id, id, memory_order_relaxed);
	put(s, PAYLOAD_WORD(id), id);
}

/* True: the slot is the caller's until leave_slot(). */
static inline bool enter_slot(struct slot *s, uint32_t *sequence)
{
	*sequence = atomic_load_explicit(&s->sequence, memory_order_relaxed);
	return !(*sequence & 1) &&
	       atomic_compare_exchange_strong(&s->sequence, sequence, *sequence + 1);
}

static inline void leave_slot(struct slot *s, uint32_t sequence)
{
	atomic_store_explicit(&s->sequence, sequence, memory_order_release);
}

static LR_NOINLINE void remember(struct lookup *q, const struct name_list *list,
                                 _Atomic uint8_t *hint)
{
	union payload_words copy;
	uint64_t key[2] = { q->thread, 0 };
	uint64_t hash;
	uint32_t sequence;
	struct slot *s;

	q->text_hash = hash_bytes(q->name, q->len, 0);
	q->families = families_of(list);
	key[1] = q->families;
	hash = hash_bytes(q->name, q->len, hash_bytes(key, sizeof(key), 0));
	list = join_families(q, list, &copy);
	s = choose_slot(hash);
	if (!s || !enter_slot(s, &sequence))
		return;
	if (atomic_load_explicit(&s->name_hash, memory_order_relaxed) != hash)
		atomic_store_explicit(&s->exhausted_at, 0, memory_order_relaxed);
	start_anew(s, next_id());
	atomic_store_explicit(&s->name_hash, hash, memory_order_relaxed);
	atomic_store_explicit(&s->text_hash, q->text_hash, memory_order_relaxed);
	atomic_store_explicit(&s->filter, filter_of(list), memory_order_relaxed);
	put(s, PAYLOAD_WORD(thread), q->thread);
	put(s, PAYLOAD_WORD(at), (uint64_t)q->now);
	put_list(s, list);
	put_bytes(s, PAYLOAD_WORD(name), q->name, q->len + 1);
	leave_slot(s, sequence + 2);
	atomic_store_explicit(hint, (uint8_t)(s - names_kept.slots + 1), memory_order_relaxed);
}

/* Of these two, some that say the same may not be found to. */
LR_INLINE bool same_list(const struct name_list *a, const struct name_list *b)
{
	if (a->count != b->count || a->more || b->more)
		return false;
	for (unsigned i = 0; i < b->count; i++)
		if (a->ips[i].family != b->ips[i].family ||
		    memcmp(a->ips[i].ip, b->ips[i].ip, sizeof(a->ips[i].ip)) != 0)
			return false;
	return true;
}

LR_INLINE bool same_as(const struct name_ip *ip, const struct sockaddr *sa)
{
	const char *raw = (const char *)sa;

	if (!sa || sa->sa_family != ip->family)
		return false;
	if (ip->family == AF_INET)
		return memcmp(raw + offsetof(struct sockaddr_in, sin_addr), ip->ip, 4) == 0;
	return memcmp(raw + offsetof(struct sockaddr_in6, sin6_addr), ip->ip, 16) == 0;
}

/* An address may come several times in a row, once for each type of socket. */
LR_INLINE bool same_answer(const struct name_list *l, const struct addrinfo *answer)
{
	const struct name_ip *at = l->ips;
	const struct name_ip *end = l->ips + l->count;

	for (unsigned i = 0; i < 3 * NAMES_ADDRS; i++) {
		if (at < end && same_as(at, answer->ai_addr))
			at++;
		else if (at == l->ips || !same_as(at - 1, answer->ai_addr))
			return false;
		answer = answer->ai_next;
		if (!answer)
			return at == end && !l->more;
	}
	return false;
}

/*
 * The quick way: the last look-up of this name by this thread, as the hint has it, had
 * the same answer (<l>, or <answer>). It is newer now, and all else stands. (One of the
 * other family would have taken the hint, so there is none to join since.)
 */
LR_INLINE bool remember_again(const struct lookup *q, const struct name_list *l,
                              const struct addrinfo *answer, unsigned hint)
{
	struct slot *s;
	uint32_t sequence;
	bool same;

	if (!hint)
		return false;
	s = &names_kept.slots[hint - 1];
	if (!enter_slot(s, &sequence))
		return false;
	same = atomic_load_explicit(&s->id, memory_order_relaxed) && s->p.thread == q->thread &&
	       (answer ? same_answer(&s->p.list, answer) : same_list(&s->p.list, l)) &&
	       memcmp(s->p.name, q->name, q->len + 1) == 0;
	if (same) {
		start_anew(s, next_id());
		put(s, PAYLOAD_WORD(at), (uint64_t)q->now);
		sequence += 2;
	}
	leave_slot(s, sequence);
	return same;
}

static LR_NOINLINE bool same_answer_any(const struct slot *s, const struct addrinfo *answer)
{
	return answer && same_answer(&s->p.list, answer);
}

/* The most common of same_answer(): one address of IPv4, one answer. */
LR_INLINE bool is_only_four(const struct name_list *l, const struct addrinfo *answer)
{
	uint32_t kept;
	uint32_t now;

	if (!answer || answer->ai_next || l->count != 1 || l->more || !answer->ai_addr ||
	    answer->ai_addr->sa_family != AF_INET || l->ips[0].family != AF_INET)
		return false;
	memcpy(&kept, l->ips[0].ip, sizeof(kept));
	memcpy(&now, (const char *)answer->ai_addr + offsetof(struct sockaddr_in, sin_addr),
	       sizeof(now));
	return kept == now;
}

/* A program that looks several names up by turns is told apart by their first letters. */
LR_INLINE bool may_be_of(struct slot *s, const char *name)
{
	uint64_t word = atomic_load_explicit(&s->word[PAYLOAD_WORD(name)], memory_order_relaxed);

	return memcmp(&word, name, 1) == 0;
}

LR_NO_CANARY bool names_remember_same(const char *name, const struct addrinfo *answer,
                                      uintptr_t thread, int64_t now)
{
	struct slot *s = atomic_load_explicit(&names_kept.newest, memory_order_relaxed);
	uint32_t sequence;

	if (lr_unlikely(!s) || lr_unlikely(names_watching()) || lr_unlikely(!may_be_of(s, name)) ||
	    lr_unlikely(!enter_slot(s, &sequence)))
		return false;
	if (lr_unlikely(atomic_load_explicit(&s->id, memory_order_relaxed) !=
	                atomic_load_explicit(&names_kept.last_id, memory_order_relaxed)) ||
	    lr_unlikely(s->p.thread != thread) ||
	    lr_unlikely(!is_only_four(&s->p.list, answer) && !same_answer_any(s, answer)) ||
	    lr_unlikely(strcmp(s->p.name, name) != 0)) {
		leave_slot(s, sequence);
		return false;
	}
	put(s, PAYLOAD_WORD(at), (uint64_t)now);
	leave_slot(s, sequence + 2);
	return true;
}

/* NULL if the name is too long, or none. */
LR_INLINE _Atomic uint8_t *hint_of(const struct lookup *q)
{
	const unsigned char *text = (const unsigned char *)q->name;
	uintptr_t mix;

	if (q->len - 1 >= NAMES_NAME_MAX - 1)
		return NULL;
	mix = q->len * 41 ^ text[0] * 5u ^ text[q->len / 2] * 3u ^ text[q->len - 1];
	return &names_kept.hints[(mix ^ q->thread >> 12 ^ q->thread >> 22) % NAMES_HINTS];
}

LR_NO_CANARY void names_remember(const char *name, const struct name_list *l, uintptr_t thread,
                                 int64_t now)
{
	struct lookup q = { .name = name, .len = strlen(name), .thread = thread, .now = now };
	_Atomic uint8_t *hint = hint_of(&q);

	if (hint && l->count > 0 &&
	    !remember_again(&q, l, NULL, atomic_load_explicit(hint, memory_order_relaxed)))
		remember(&q, l, hint);
}

static LR_NOINLINE void remember_answer(struct lookup *q, const struct addrinfo *answer,
                                        _Atomic uint8_t *hint)
{
	struct name_list all;
	struct name_ip ip;

	all.count = all.more = 0;
	/* The bound is for a list that a broken module made circular. */
	for (unsigned i = 0; answer && i < 1024; answer = answer->ai_next, i++)
		if (answer->ai_addr && name_ip_from(&ip, answer->ai_addr, answer->ai_addrlen))
			name_list_add(&all, &ip);
	if (all.count > 0)
		remember(q, &all, hint);
}

LR_NO_CANARY void names_remember_answer(const char *name, const struct addrinfo *answer,
                                        uintptr_t thread, int64_t now)
{
	struct lookup q = { .name = name, .len = strlen(name), .thread = thread, .now = now };
	_Atomic uint8_t *hint = hint_of(&q);

	if (hint && answer &&
	    !remember_again(&q, NULL, answer,
	                    atomic_load_explicit(hint, memory_order_relaxed)))
		remember_answer(&q, answer, hint);
}

void names_remember_literal(const struct name_ip *ip, uintptr_t thread)
{
	uint64_t id = next_id();

	literal_mark(ip, 0, id);
	literal_mark(ip, thread, id);
}

void names_remember_reset(void)
{
	literal_reset();
	atomic_store(&names_kept.newest, NULL);
	for (unsigned i = 0; i < NAMES_HINTS; i++)
		atomic_store(&names_kept.hints[i], 0);
}
