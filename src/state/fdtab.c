/* SPDX-License-Identifier: MIT */
#include "state/fdtab.h"

#include <string.h>

#include "base/compat.h"
#include "base/sys.h"
#include "state/fdtab_slot.h"

#define BLOCK 64 /* records that are mapped together */
#define BLOCKS (FDTAB_PENDING / BLOCK)

/*
 * The word of a slot: the record's number + 1, three marks, and the low bits of
 * the record's generation: a link that was left behind names a life that is
 * over. It is the truth about who belongs to a record; .fds only tells where
 * to look. A descriptor that leaves first loses its link, one that joins has
 * its link before it stands in .fds, and both look again afterwards, all in the
 * one order of sequential consistency: so of two that leave together at least
 * one sees that nobody is left.
 */
#define LINK_NUMBER UINT32_C(0x1fff)
#define LINK_GENERATION UINT32_C(0xffff0000)
#define LINK_MASK (LINK_NUMBER | LINK_GENERATION)

_Static_assert(FDTAB_PENDING < LINK_NUMBER, "a record's number must fit in a link");
_Static_assert(FDTAB_PENDING % BLOCK == 0, "blocks are whole");

_Atomic uint32_t fdtab_gate = FDTAB_CLOSED;
_Atomic uint32_t fdtab_aged;

static struct pending first_block[BLOCK];
static void *_Atomic blocks[BLOCKS];
static _Atomic uint32_t high;       /* no record from here on was ever used */
static _Atomic uint32_t maybe_free; /* where to look for a free one first */

static struct pending *record_make(uint32_t number)
{
	unsigned block = number / BLOCK;
	struct pending *records = atomic_load_explicit(&blocks[block], memory_order_acquire);

	if (lr_unlikely(!records))
		records = fdtab_map(&blocks[block], block == 0 ? first_block : NULL,
		                    sizeof(first_block));

	return records ? &records[number % BLOCK] : NULL;
}

/* For the number of a record that was used before. */
static struct pending *record(uint32_t number)
{
	struct pending *records = atomic_load_explicit(&blocks[number / BLOCK],
	                                               memory_order_acquire);

	return &records[number % BLOCK];
}

#define NEXT_LIFE (UINT32_C(1) << 8)

static uint32_t state_word(uint32_t word, enum pend_state to)
{
	return (word & ~UINT32_C(0x7f)) | (uint32_t)to;
}

static uint32_t next_life(uint32_t word)
{
	return (word & ~UINT32_C(0xff)) + NEXT_LIFE;
}

static bool same_life(uint32_t a, uint32_t b)
{
	return a >> 8 == b >> 8;
}

static uint32_t link_of(const struct pend_ref *ref)
{
	uint32_t number = atomic_load_explicit(&ref->p->number, memory_order_relaxed);

	return (number + 1) | (ref->word >> 8) << 16;
}

/* The live record that the word of a slot names. */
static bool record_of(uint32_t slot_word, struct pend_ref *ref)
{
	uint32_t number = slot_word & LINK_NUMBER;

	if (number == 0)
		return false;
	ref->p = record(number - 1);
	ref->word = atomic_load(&ref->p->word);
	return pend_state(ref) != PEND_FREE && link_of(ref) == (slot_word & LINK_MASK);
}

static bool linked(int fd, uint32_t link)
{
	struct fdtab_slot *slot = fdtab_slot(fd);

	return slot && (atomic_load(&slot->word) & LINK_MASK) == link;
}

/* Links the slot; what its word was before is returned. */
static uint32_t relink(struct fdtab_slot *slot, uint32_t link)
{
	uint32_t old = atomic_load_explicit(&slot->word, memory_order_relaxed);

	while (!atomic_compare_exchange_weak(&slot->word, &old, (old & ~LINK_MASK) | link))
		;
	return old;
}

/* The same, unless the slot's record is alive, or a mark of <marks> is missing. */
static bool relink_free(struct fdtab_slot *slot, uint32_t link, uint32_t marks)
{
	uint32_t old = atomic_load(&slot->word);
	struct pend_ref ref;

	do
		if ((old & marks) != marks ||
		    ((old & LINK_MASK) != link && record_of(old, &ref)))
			return false;
	while (!atomic_compare_exchange_weak(&slot->word, &old, (old & ~LINK_MASK) | link));
	return true;
}

static void unlink_fd(int fd, uint32_t link)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint32_t old = slot ? atomic_load(&slot->word) : 0;

	while ((old & LINK_MASK) == link &&
	       !atomic_compare_exchange_weak(&slot->word, &old, old & ~LINK_MASK))
		;
}

/* A descriptor that belongs to <p>; -1 if none does. */
static int any_descriptor(struct pending *p, uint32_t link)
{
	for (unsigned i = 0; i < FDTAB_SHARED; i++) {
		int fd = atomic_load(&p->fds[i]);

		if (linked(fd, link))
			return fd;
	}
	return -1;
}

static void remove_from(struct pending *p, unsigned from, int fd)
{
	for (unsigned i = from; i < FDTAB_SHARED; i++) {
		int expected = fd;

		atomic_compare_exchange_strong(&p->fds[i], &expected, -1);
	}
}

/*
 * <fd> has lost its link to <p> and goes out of .fds. Another takes the first
 * place without leaving it empty for a moment: who finds -1 there takes the
 * socket for dead. The one that moved may have left meanwhile; so until it holds.
 */
static void detach(struct pending *p, uint32_t link, int fd)
{
	int head = atomic_load(&p->fds[0]);

	remove_from(p, 1, fd);
	while (!linked(head, link)) {
		int next = any_descriptor(p, link);

		if (next == head)
			return;
		if (atomic_compare_exchange_strong(&p->fds[0], &head, next))
			head = next;
	}
	remove_from(p, 1, head);
}

static void lower_maybe_free(uint32_t number)
{
	uint32_t old = atomic_load_explicit(&maybe_free, memory_order_relaxed);

	while (number < old && !atomic_compare_exchange_weak(&maybe_free, &old, number))
		;
}

/*
 * In one step, so that there is no half of it: the descriptors are unlinked after
 * that, as what they name is over already. False if the record has changed. A
 * handler that jumps away right behind the step leaves the gate too high.
 */
static bool give_back(struct pend_ref *ref)
{
	struct pending *p = ref->p;
	uint32_t link = link_of(ref);
	uint32_t word = ref->word;
	int fds[FDTAB_SHARED];

	for (unsigned i = 0; i < FDTAB_SHARED; i++)
		fds[i] = atomic_load(&p->fds[i]);
	if (!atomic_compare_exchange_strong(&p->word, &word, next_life(word)))
		return false;
	if (word & FDTAB_AGED)
		atomic_fetch_sub(&fdtab_aged, 1);
	atomic_fetch_sub(&fdtab_gate, 1);
	for (unsigned i = 0; i < FDTAB_SHARED; i++)
		if (fds[i] >= 0)
			unlink_fd(fds[i], link);
	lower_maybe_free(atomic_load_explicit(&p->number, memory_order_relaxed));
	/* Of the life that is over: the next is not to be taken for it. */
	ref->word = state_word(ref->word, PEND_FREE);
	return true;
}

/* Gives the record back if no descriptor is left and nobody has claimed it; who
 * has looks again in fdtab_settle(). */
static void reap(struct pend_ref ref)
{
	while (fdtab_refresh(&ref) && pend_state(&ref) != PEND_BUSY &&
	       any_descriptor(ref.p, link_of(&ref)) < 0)
		if (give_back(&ref))
			return;
}

/* <fd> belongs to another record now than the word <old> of its slot says. */
static void leave(uint32_t old, int fd)
{
	struct pend_ref ref;

	if (!record_of(old, &ref))
		return;
	detach(ref.p, link_of(&ref), fd);
	reap(ref);
}

static void raise_high(uint32_t number)
{
	uint32_t old = atomic_load_explicit(&high, memory_order_relaxed);

	while (old <= number && !atomic_compare_exchange_weak(&high, &old, number + 1))
		;
}

static bool take_record(struct pend_ref *ref)
{
	uint32_t start = atomic_load_explicit(&maybe_free, memory_order_relaxed);

	for (uint32_t i = 0; i < FDTAB_PENDING; i++) {
		uint32_t number = (start + i) % FDTAB_PENDING;
		struct pending *p = record_make(number);
		uint32_t word;

		if (!p)
			return false;
		word = atomic_load_explicit(&p->word, memory_order_relaxed);
		if ((word & 0xff) != PEND_FREE)
			continue;
		/* Before it is taken: a child forked right behind that finds it. */
		atomic_store_explicit(&p->number, number, memory_order_relaxed);
		raise_high(number);
		if (!atomic_compare_exchange_strong(&p->word, &word, word | PEND_BUSY))
			continue;
		atomic_fetch_add(&fdtab_gate, 1);
		atomic_compare_exchange_strong(&maybe_free, &start, number + 1);
		ref->p = p;
		ref->word = word | PEND_BUSY;
		return true;
	}
	return false;
}

bool fdtab_begin(int fd, struct pend_ref *ref)
{
	struct fdtab_slot *slot = fdtab_slot_make(fd);
	struct pending *p;
	uint32_t old;

	if (!slot || !take_record(ref))
		return false;
	p = ref->p;
	for (unsigned i = 0; i < FDTAB_SHARED; i++)
		atomic_store(&p->fds[i], i == 0 ? fd : -1);
	atomic_store_explicit(&p->identity, 0, memory_order_relaxed);
	atomic_store_explicit(&p->due, 0, memory_order_relaxed);
	memset(&p->sa, 0, sizeof(*p) - offsetof(struct pending, sa));
	old = relink(slot, link_of(ref));
	if (lr_unlikely(old & LINK_NUMBER))
		leave(old, fd);
	return true;
}

bool fdtab_find(int fd, struct pend_ref *ref)
{
	struct fdtab_slot *slot = fdtab_slot(fd);

	return slot && record_of(atomic_load(&slot->word), ref);
}

bool fdtab_claim(struct pend_ref *ref)
{
	uint32_t word = ref->word;
	uint32_t claimed = state_word(word, PEND_BUSY) | FDTAB_AGED;
	bool young = !(word & FDTAB_AGED);

	if (pend_state(ref) == PEND_BUSY || pend_state(ref) == PEND_FREE)
		return false;
	if (young)
		atomic_fetch_add(&fdtab_aged, 1);
	if (!atomic_compare_exchange_strong(&ref->p->word, &word, claimed)) {
		if (young)
			atomic_fetch_sub(&fdtab_aged, 1);
		return false;
	}
	ref->word = claimed;
	return true;
}

bool fdtab_settle(struct pend_ref *ref, enum pend_state to)
{
	if (to == PEND_FREE) {
		give_back(ref);
		return true;
	}
	ref->word = state_word(ref->word, to);
	if (!(ref->word & FDTAB_AGED) &&
	    (to != PEND_CONNECTING || atomic_load(&ref->p->due) != DUR_NONE)) {
		atomic_fetch_add(&fdtab_aged, 1);
		ref->word |= FDTAB_AGED;
	}
	atomic_store(&ref->p->word, ref->word);
	/* Who takes it from us in between sees as well that nobody is left. */
	return any_descriptor(ref->p, link_of(ref)) >= 0 || !fdtab_claim(ref);
}

void fdtab_release(struct pend_ref *ref, enum pend_state to)
{
	if (!fdtab_settle(ref, to))
		give_back(ref);
}

bool fdtab_drop(struct pend_ref *ref)
{
	return pend_state(ref) != PEND_BUSY && pend_state(ref) != PEND_FREE && give_back(ref);
}

bool fdtab_refresh(struct pend_ref *ref)
{
	uint32_t word = atomic_load(&ref->p->word);

	if (!same_life(word, ref->word) || (word & 0xff) == PEND_FREE)
		return false;
	ref->word = word;
	return true;
}

bool fdtab_next(unsigned *at, struct pend_ref *ref)
{
	while (*at < atomic_load_explicit(&high, memory_order_acquire)) {
		ref->p = record((*at)++);
		ref->word = atomic_load_explicit(&ref->p->word, memory_order_acquire);
		if (pend_state(ref) != PEND_FREE)
			return true;
	}
	return false;
}

bool fdtab_wait_idle(struct pend_ref *ref)
{
	int64_t until = 0;

	while (fdtab_refresh(ref)) {
		int64_t now;

		if (pend_state(ref) != PEND_BUSY)
			return true;
		now = sys_monotonic();
		if (until == 0)
			until = dur_add(now, FDTAB_PATIENCE);
		if (now >= until)
			return true;
		SYS_CALL(SYS_sched_yield);
	}
	return false;
}

int64_t fdtab_next_due(void)
{
	int64_t earliest = DUR_NONE;
	struct pend_ref ref;
	unsigned at = 0;

	while (fdtab_any_aged() && fdtab_next(&at, &ref)) {
		int64_t due = atomic_load_explicit(&ref.p->due, memory_order_relaxed);

		if (due < earliest)
			earliest = due;
	}
	return earliest;
}

static bool join(struct pending *p, int fd)
{
	for (unsigned i = 0; i < FDTAB_SHARED; i++)
		if (atomic_load(&p->fds[i]) == fd)
			return true;
	for (unsigned i = 0; i < FDTAB_SHARED; i++) {
		int expected = -1;

		if (atomic_compare_exchange_strong(&p->fds[i], &expected, fd))
			return true;
	}
	return false;
}

/* <fd> has its link already. */
static bool attach(const struct pend_ref *ref, int fd)
{
	struct pend_ref now = *ref;
	uint32_t link = link_of(ref);

	if (join(ref->p, fd) && fdtab_refresh(&now) && linked(fd, link))
		return true;
	unlink_fd(fd, link);
	/* Unless it belongs to the record's next life by now. */
	if (!fdtab_find(fd, &now) || now.p != ref->p)
		remove_from(ref->p, 0, fd);
	return false;
}

bool fdtab_attach(const struct pend_ref *ref, int fd)
{
	struct fdtab_slot *slot = fdtab_slot_make(fd);
	struct pend_ref now = *ref;
	uint32_t link = link_of(ref);
	uint32_t old;

	if (!slot || !fdtab_refresh(&now))
		return false;
	old = relink(slot, link);
	if ((old & LINK_MASK) != link)
		leave(old, fd);
	return attach(ref, fd);
}

bool fdtab_join(const struct pend_ref *ref, int fd, bool marked)
{
	struct fdtab_slot *slot = fdtab_slot_make(fd);
	struct pend_ref now = *ref;

	return slot && fdtab_refresh(&now) &&
	       relink_free(slot, link_of(ref), marked ? FDTAB_MARK_DUP : 0) && attach(ref, fd);
}

bool fdtab_forget(int fd, struct pend_ref *ref, bool *alone)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint32_t old;

	*alone = false;
	if (!slot || !fdtab_knows(fd))
		return false;
	old = atomic_exchange(&slot->word, 0);
	fdtab_watches_forget(fd, old);
	if (!record_of(old, ref))
		return false;
	detach(ref->p, link_of(ref), fd);
	if (!fdtab_refresh(ref))
		return false;
	*alone = any_descriptor(ref->p, link_of(ref)) < 0;
	return true;
}

void fdtab_dup(int from, int to)
{
	struct fdtab_slot *slot = fdtab_slot_make(from);
	struct fdtab_slot *other = fdtab_slot_make(to);
	struct pend_ref ref;

	if (from == to)
		return;
	if (slot)
		fdtab_mark(slot, FDTAB_MARK_DUP);
	if (other)
		fdtab_mark(other, FDTAB_MARK_DUP);
	if (fdtab_find(from, &ref))
		fdtab_attach(&ref, to);
}

void fdtab_postfork_child(void)
{
	struct pend_ref ref;
	uint32_t closed = fdtab_word() & (FDTAB_CLOSED | FDTAB_SENDS | FDTAB_PEERS);
	unsigned at = 0;
	uint32_t live = 0;

	while (fdtab_next(&at, &ref)) {
		bool owed = pend_state(&ref) == PEND_FAILED ||
		            (pend_state(&ref) == PEND_BACKOFF && ref.p->error != 0);

		if (!owed) {
			give_back(&ref);
			continue;
		}
		/* The next wait puts its registrations back. */
		atomic_store(&ref.p->due, 0);
		atomic_store(&ref.p->word, state_word(ref.word, PEND_FAILED) | FDTAB_AGED);
		live++;
	}
	atomic_store(&fdtab_gate, closed | live);
	atomic_store(&fdtab_aged, live);
	fdtab_watches_repair();
}

void fdtab_reset(void)
{
	struct pend_ref ref;
	unsigned at = 0;
	bool alone;

	while (fdtab_next(&at, &ref))
		give_back(&ref);
	for (unsigned fd = 0; fdtab_next_known(&fd, FDTAB_FDS - 1); fd++)
		fdtab_forget((int)fd, &ref, &alone);
	atomic_store(&high, 0);
	atomic_store(&maybe_free, 0);
	atomic_store(&fdtab_gate, 0);
	atomic_store(&fdtab_aged, 0);
}
