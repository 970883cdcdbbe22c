/* SPDX-License-Identifier: MIT */
#include "state/fdtab_pool.h"

#include <string.h>

static struct pending first_block[FDTAB_BLOCK];
void *_Atomic fdtab_blocks[FDTAB_BLOCKS] = { first_block };
_Atomic uint32_t fdtab_high = FDTAB_BLOCK;
_Atomic uint32_t fdtab_maybe_free;

_Atomic uint32_t fdtab_gate = FDTAB_CLOSED;
_Atomic uint32_t fdtab_aged = FDTAB_CLOSED;
_Atomic uint32_t fdtab_forks;

struct pending *fdtab_record_make(uint32_t number)
{
	struct pending *records = fdtab_map(&fdtab_blocks[number / FDTAB_BLOCK],
	                                    sizeof(first_block));

	return records ? &records[number % FDTAB_BLOCK] : NULL;
}

void fdtab_unlink(int fd, uint64_t link)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint64_t old = slot ? atomic_load(&slot->word) : 0;

	while ((old & FDTAB_LINK) == link &&
	       !atomic_compare_exchange_weak(&slot->word, &old, old & ~FDTAB_LINK))
		;
}

bool fdtab_give_back(struct pend_ref *ref)
{
	struct pending *p = ref->p;
	uint64_t link = fdtab_link_of(ref);
	uint32_t word = ref->word;
	uint32_t forks = fdtab_forks_now();
	int fds[FDTAB_SHARED];

	for (unsigned i = 0; i < FDTAB_SHARED; i++)
		fds[i] = atomic_load(&p->fds[i]);
	if (!atomic_compare_exchange_strong(&p->word, &word, fdtab_next_life(word)))
		return false;
	if (word & FDTAB_AGED)
		atomic_fetch_sub(&fdtab_aged, 1);
	atomic_fetch_sub(&fdtab_gate, 1);
	for (unsigned i = 0; i < FDTAB_SHARED; i++)
		if (fds[i] >= 0)
			fdtab_unlink(fds[i], link);
	fdtab_lower_free(atomic_load_explicit(&p->number, memory_order_relaxed));
	fdtab_since(forks);
	/* Of the life that is over: the next is not to be taken for it. */
	ref->word = fdtab_state_word(ref->word, PEND_FREE);
	return true;
}

static void raise_high(uint32_t number)
{
	uint32_t old = atomic_load_explicit(&fdtab_high, memory_order_relaxed);

	while (old <= number && !atomic_compare_exchange_weak(&fdtab_high, &old, number + 1))
		;
}

/* <p>, of <number> below fdtab_high, which is free by *word. */
static bool take(struct pending *p, uint32_t number, uint32_t *word)
{
	/* Before it is taken: a child forked right behind that finds it. */
	atomic_store_explicit(&p->number, number, memory_order_relaxed);
	if (!atomic_compare_exchange_strong(&p->word, word, *word | PEND_BUSY))
		return false;
	atomic_fetch_add(&fdtab_gate, 1);
	*word |= PEND_BUSY;
	return true;
}

bool fdtab_take_any(struct pend_ref *ref)
{
	uint32_t start = atomic_load_explicit(&fdtab_maybe_free, memory_order_relaxed);

	for (uint32_t i = 0; i < FDTAB_PENDING; i++) {
		uint32_t number = (start + i) % FDTAB_PENDING;

		ref->p = fdtab_record_make(number);
		if (!ref->p)
			return false;
		ref->word = atomic_load_explicit(&ref->p->word, memory_order_relaxed);
		if ((ref->word & 0xff) != PEND_FREE)
			continue;
		raise_high(number);
		if (!take(ref->p, number, &ref->word))
			continue;
		atomic_compare_exchange_strong(&fdtab_maybe_free, &start, number + 1);
		return true;
	}
	return false;
}

void fdtab_start(struct pend_ref *ref, int fd)
{
	struct pending *p = ref->p;

	for (unsigned i = 0; i < FDTAB_SHARED; i++)
		atomic_store(&p->fds[i], i == 0 ? fd : -1);
	atomic_store_explicit(&p->identity, 0, memory_order_relaxed);
	atomic_store_explicit(&p->due, 0, memory_order_relaxed);
	memset(&p->sa, 0, sizeof(*p) - offsetof(struct pending, sa));
}

bool fdtab_next(unsigned *at, struct pend_ref *ref)
{
	while (*at < atomic_load_explicit(&fdtab_high, memory_order_acquire)) {
		ref->p = fdtab_record((*at)++);
		ref->word = atomic_load_explicit(&ref->p->word, memory_order_acquire);
		if (pend_state(ref) != PEND_FREE)
			return true;
	}
	return false;
}
