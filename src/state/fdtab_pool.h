/* SPDX-License-Identifier: MIT */
/* fdtab_pool.h - among the files of fdtab: the pool of records, and links to them. */
#ifndef LIBRETRY_STATE_FDTAB_POOL_H
#define LIBRETRY_STATE_FDTAB_POOL_H

#include "state/fdtab_slot.h"

#define FDTAB_BLOCK 64 /* records that are mapped together; the first are always there */
#define FDTAB_BLOCKS (FDTAB_PENDING / FDTAB_BLOCK)

extern void *_Atomic fdtab_blocks[FDTAB_BLOCKS] LR_HIDDEN;
extern _Atomic uint32_t fdtab_high LR_HIDDEN;       /* no record from here on was ever used;
                                                     * at least FDTAB_BLOCK */
extern _Atomic uint32_t fdtab_maybe_free LR_HIDDEN; /* where to look for a free one first */

/*
 * In the word of a slot: the record's number + 1, three marks, and the low bits of
 * the record's generation: a link that was left behind names a life that is
 * over. It is the truth about who belongs to a record; .fds only tells where
 * to look. A descriptor that leaves first loses its link, one that joins has
 * its link before it stands in .fds, and both look again afterwards, all in the
 * one order of sequential consistency: so of two that leave together at least
 * one sees that nobody is left.
 */
#define FDTAB_LINK_GENERATION (UINT64_C(0xffff) << 32)
#define FDTAB_LINK (FDTAB_LINK_NUMBER | FDTAB_LINK_GENERATION)

_Static_assert(FDTAB_PENDING < FDTAB_LINK_NUMBER, "a record's number must fit in a link");
_Static_assert(FDTAB_PENDING % FDTAB_BLOCK == 0, "blocks are whole");

#define FDTAB_NEXT_LIFE (UINT32_C(1) << 8)

static inline uint32_t fdtab_state_word(uint32_t word, enum pend_state to)
{
	return (word & ~UINT32_C(0x7f)) | (uint32_t)to;
}

static inline uint32_t fdtab_next_life(uint32_t word)
{
	return (word & ~UINT32_C(0xff)) + FDTAB_NEXT_LIFE;
}

/* For the number of a record that was used before. */
static inline struct pending *fdtab_record(uint32_t number)
{
	struct pending *records = atomic_load_explicit(&fdtab_blocks[number / FDTAB_BLOCK],
	                                               memory_order_acquire);

	return &records[number % FDTAB_BLOCK];
}

static inline uint64_t fdtab_link(uint32_t number, uint32_t word)
{
	return (number + 1) | (uint64_t)(word >> 8 & 0xffff) << 32;
}

static inline uint64_t fdtab_link_of(const struct pend_ref *ref)
{
	return fdtab_link(atomic_load_explicit(&ref->p->number, memory_order_relaxed), ref->word);
}

/* The live record that the word of a slot names. */
static inline bool fdtab_record_of(uint64_t slot_word, struct pend_ref *ref)
{
	uint32_t number = (uint32_t)(slot_word & FDTAB_LINK_NUMBER);

	if (number == 0)
		return false;
	ref->p = fdtab_record(number - 1);
	ref->word = atomic_load(&ref->p->word);
	return pend_state(ref) != PEND_FREE &&
	       fdtab_link(number - 1, ref->word) == (slot_word & FDTAB_LINK);
}

static inline bool fdtab_linked(int fd, uint64_t link)
{
	struct fdtab_slot *slot = fdtab_slot(fd);

	return slot && (atomic_load(&slot->word) & FDTAB_LINK) == link;
}

/* Links the slot; what its word was before is returned. A connect that is but noted
 * there is over. */
static inline uint64_t fdtab_relink(struct fdtab_slot *slot, uint64_t link)
{
	uint64_t old = atomic_load_explicit(&slot->word, memory_order_relaxed);

	while (!atomic_compare_exchange_weak(&slot->word, &old,
	                                     (old & ~(FDTAB_LINK | FDTAB_NOTE_OPEN)) | link))
		;
	if (old & FDTAB_NOTE_OPEN)
		atomic_fetch_sub(&fdtab_gate, FDTAB_NOTED);
	return old;
}

/* <fd> has this link no more, if it has it. */
void fdtab_unlink(int fd, uint64_t link);

/* The record <number>, its block mapped if need be; NULL if that cannot be. */
struct pending *fdtab_record_make(uint32_t number);

/* Takes any record that is free, and claims it; false: there is none. */
bool fdtab_take_any(struct pend_ref *ref);

/* Makes one that was just taken <fd>'s; the rest is zero. */
void fdtab_start(struct pend_ref *ref, int fd);

/* The record <number> is free: the next look begins no later than there. */
static inline void fdtab_lower_free(uint32_t number)
{
	uint32_t old = atomic_load_explicit(&fdtab_maybe_free, memory_order_relaxed);

	while (lr_unlikely(number < old) &&
	       !atomic_compare_exchange_weak(&fdtab_maybe_free, &old, number))
		;
}

/*
 * In one step, so that there is no half of it: the descriptors are unlinked after
 * that, as what they name is over already. False if the record has changed. A
 * handler that jumps away right behind the step leaves the gate too high.
 */
bool fdtab_give_back(struct pend_ref *ref);

/* <fd> belongs to another record now than the word <old> of its slot says. */
void fdtab_leave(uint64_t old, int fd);

#endif
