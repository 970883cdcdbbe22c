/* SPDX-License-Identifier: MIT */
/* names_slot.h - among the files of names: where look-ups are kept. */
#ifndef LIBRETRY_STATE_NAMES_SLOT_H
#define LIBRETRY_STATE_NAMES_SLOT_H

#include <stddef.h>
#include <string.h>

#include "state/names.h"

/* The part of a slot that is copied as a whole, as atomic words: a torn copy is
 * possible and found out by the sequence number, a data race in the language's
 * sense is not. Written with release and read with acquire, so that whoever
 * sees a new word also sees the sequence number that announced it. What is behind
 * the end of the name, and of the lists, was never written, or is an older look-up's. */
struct payload {
	uint64_t id;
	uint64_t thread;
	int64_t at;
	struct name_list list;
	char name[NAMES_NAME_MAX];
};

#define PAYLOAD_WORDS ((sizeof(struct payload) + 7) / 8)
#define PAYLOAD_WORD(member) (offsetof(struct payload, member) / 8)

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
	union {
		_Atomic uint64_t word[PAYLOAD_WORDS];
		struct payload p; /* for who writes the slot, to read */
	};
};

#define NAMES_HINTS 128

/* In one piece, so that the first look-ups take one page. */
extern struct names_kept {
	_Atomic uint64_t last_id;
	_Atomic uint32_t used; /* how many of .slots have held something */
	struct slot *_Atomic newest; /* that was last given .last_id; NULL */
	_Atomic uint8_t hints[NAMES_HINTS]; /* by name and thread, lossy: the slot + 1 that
	                                     * was written last */
	struct slot slots[NAMES_LOOKUPS];
} names_kept LR_HIDDEN;

/* How many of the slots to look at: memory that was never touched is none. */
static inline unsigned names_count(void)
{
	return atomic_load_explicit(&names_kept.used, memory_order_acquire);
}

static inline bool names_same_ip(const struct name_ip *a, const struct name_ip *b)
{
	return a->family == b->family &&
	       memcmp(a->ip, b->ip, a->family == AF_INET ? 4 : 16) == 0;
}

static inline uint64_t names_filter_bit(uint32_t ip_hash)
{
	return UINT64_C(1) << (ip_hash & 63);
}

/* A consistent copy of <s>; false if it is empty or changed meanwhile. */
bool names_copy(struct slot *s, union payload_words *out);

/* Forgets look-ups in digits, and the order of all. */
void names_remember_reset(void);

#endif
