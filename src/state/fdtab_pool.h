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
 * A handler may fork in the middle of a change. In the child fdtab_postfork_child() has
 * set all of it right by then; and who goes on with the change does so once more, at the
 * end, if he finds that this number, of the children in this process's ancestry, is another.
 */
extern _Atomic uint32_t fdtab_forks LR_HIDDEN;

static inline uint32_t fdtab_forks_now(void)
{
	return atomic_load_explicit(&fdtab_forks, memory_order_relaxed);
}

static inline void fdtab_since(uint32_t forks)
{
	if (lr_unlikely(fdtab_forks_now() != forks))
		fdtab_postfork_child();
}

/*
 * The word of a slot: the record's number + 1, three marks, and the low bits of
 * the record's generation: a link that was left behind names a life that is
 * over. It is the truth about who belongs to a record; .fds only tells where
 * to look. A descriptor that leaves first loses its link, one that joins has
 * its link before it stands in .fds, and both look again afterwards, all in the
 * one order of sequential consistency: so of two that leave together at least
 * one sees that nobody is left.
 */
#define FDTAB_LINK_NUMBER UINT32_C(0x1fff)
#define FDTAB_LINK_GENERATION UINT32_C(0xffff0000)
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

static inline uint32_t fdtab_link(uint32_t number, uint32_t word)
{
	return (number + 1) | (word >> 8) << 16;
}

static inline uint32_t fdtab_link_of(const struct pend_ref *ref)
{
	return fdtab_link(atomic_load_explicit(&ref->p->number, memory_order_relaxed), ref->word);
}

/* The live record that the word of a slot names. */
static inline bool fdtab_record_of(uint32_t slot_word, struct pend_ref *ref)
{
	uint32_t number = slot_word & FDTAB_LINK_NUMBER;

	if (number == 0)
		return false;
	ref->p = fdtab_record(number - 1);
	ref->word = atomic_load(&ref->p->word);
	return pend_state(ref) != PEND_FREE &&
	       fdtab_link(number - 1, ref->word) == (slot_word & FDTAB_LINK);
}

static inline bool fdtab_linked(int fd, uint32_t link)
{
	struct fdtab_slot *slot = fdtab_slot(fd);

	return slot && (atomic_load(&slot->word) & FDTAB_LINK) == link;
}

/* Links the slot; what its word was before is returned. */
static inline uint32_t fdtab_relink(struct fdtab_slot *slot, uint32_t link)
{
	uint32_t old = atomic_load_explicit(&slot->word, memory_order_relaxed);

	while (!atomic_compare_exchange_weak(&slot->word, &old, (old & ~FDTAB_LINK) | link))
		;
	return old;
}

/* <fd> has this link no more, if it has it. */
void fdtab_unlink(int fd, uint32_t link);

/* The record <number>, its block mapped if need be; NULL if that cannot be. */
struct pending *fdtab_record_make(uint32_t number);

/* Takes the record <p>, of <number> below fdtab_high, which is free by *word: then it is
 * claimed. False: it is not free. */
LR_INLINE bool fdtab_take(struct pending *p, uint32_t number, uint32_t *word)
{
	/* Before it is taken: a child forked right behind that finds it. */
	atomic_store_explicit(&p->number, number, memory_order_relaxed);
	if (!atomic_compare_exchange_strong(&p->word, word, *word | PEND_BUSY))
		return false;
	atomic_fetch_add(&fdtab_gate, 1);
	*word |= PEND_BUSY;
	return true;
}

/* The same for any record that is free; false: there is none. */
bool fdtab_take_any(struct pend_ref *ref);

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
void fdtab_leave(uint32_t old, int fd);

/* A claim was ended. False: no descriptor was left then; the record is claimed again. */
bool fdtab_is_kept(struct pend_ref *ref);

#endif
