/* SPDX-License-Identifier: MIT */
#include "state/fdtab.h"

#include <string.h>

#include "base/compat.h"
#include "base/sys.h"
#include "state/fdtab_note.h"
#include "state/fdtab_pool.h"

static bool same_life(uint32_t a, uint32_t b)
{
	return a >> 8 == b >> 8;
}

/* Links the slot, unless its connect is under way, or a mark of <marks> is missing. */
static bool relink_free(struct fdtab_slot *slot, uint64_t link, uint64_t marks)
{
	uint64_t old = atomic_load(&slot->word);
	struct pend_ref ref;

	do
		if ((old & marks) != marks || (old & FDTAB_NOTE_OPEN) ||
		    ((old & FDTAB_LINK) != link && fdtab_record_of(old, &ref)))
			return false;
	while (!atomic_compare_exchange_weak(&slot->word, &old, (old & ~FDTAB_LINK) | link));
	return true;
}

/* A descriptor that belongs to <p>; -1 if none does. */
static int any_descriptor(struct pending *p, uint64_t link)
{
	for (unsigned i = 0; i < FDTAB_SHARED; i++) {
		int fd = atomic_load(&p->fds[i]);

		if (fdtab_linked(fd, link))
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
static void detach(struct pending *p, uint64_t link, int fd)
{
	int head = atomic_load(&p->fds[0]);

	remove_from(p, 1, fd);
	while (!fdtab_linked(head, link)) {
		int next = any_descriptor(p, link);

		if (next == head)
			return;
		if (atomic_compare_exchange_strong(&p->fds[0], &head, next))
			head = next;
	}
	remove_from(p, 1, head);
}

/* Gives the record back if no descriptor is left and nobody has claimed it; who
 * has looks again in fdtab_settle(). */
static void reap(struct pend_ref ref)
{
	while (fdtab_refresh(&ref) && pend_state(&ref) != PEND_BUSY &&
	       any_descriptor(ref.p, fdtab_link_of(&ref)) < 0)
		if (fdtab_give_back(&ref))
			return;
}

void fdtab_leave(uint64_t old, int fd)
{
	struct pend_ref ref;

	if (!fdtab_record_of(old, &ref))
		return;
	detach(ref.p, fdtab_link_of(&ref), fd);
	reap(ref);
}

void fdtab_part(const struct pend_ref *ref, int fd)
{
	uint64_t link = fdtab_link_of(ref);

	fdtab_unlink(fd, link);
	fdtab_leave(link, fd);
}

bool fdtab_begin(int fd, struct pend_ref *ref)
{
	struct fdtab_slot *slot = fdtab_slot_make(fd);
	uint64_t old;

	if (!slot || !fdtab_take_any(ref))
		return false;
	fdtab_start(ref, fd);
	old = fdtab_relink(slot, fdtab_link_of(ref));
	if (lr_unlikely(old & FDTAB_LINK_NUMBER))
		fdtab_leave(old, fd);
	return true;
}

bool fdtab_find(int fd, struct pend_ref *ref)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint64_t word = slot ? atomic_load(&slot->word) : 0;

	return word & FDTAB_NOTE_OPEN ? fdtab_record_noted(fd, ref) : fdtab_record_of(word, ref);
}

bool fdtab_under_way(int fd)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint64_t word = slot ? atomic_load(&slot->word) : 0;
	struct pend_ref ref;

	return (word & FDTAB_NOTE_OPEN) || fdtab_record_of(word, &ref);
}

bool fdtab_claim(struct pend_ref *ref)
{
	uint32_t word = ref->word;
	uint32_t claimed = fdtab_state_word(word, PEND_BUSY) | FDTAB_AGED;
	uint32_t forks = fdtab_forks_now();
	bool young = !(word & FDTAB_AGED);

	if (pend_state(ref) == PEND_BUSY || pend_state(ref) == PEND_FREE)
		return false;
	if (young)
		atomic_fetch_add(&fdtab_aged, 1);
	if (!atomic_compare_exchange_strong(&ref->p->word, &word, claimed)) {
		if (young)
			atomic_fetch_sub(&fdtab_aged, 1);
		fdtab_since(forks);
		return false;
	}
	ref->word = claimed;
	return true;
}

/* A claim was ended. False: no descriptor was left then; the record is claimed again. Who
 * takes it from us in between sees as well that nobody is left. */
static bool is_kept(struct pend_ref *ref)
{
	return any_descriptor(ref->p, fdtab_link_of(ref)) >= 0 || !fdtab_claim(ref);
}

bool fdtab_settle(struct pend_ref *ref, enum pend_state to)
{
	uint32_t claimed = ref->word;

	if (to == PEND_FREE) {
		fdtab_give_back(ref);
		return true;
	}
	ref->word = fdtab_state_word(ref->word, to);
	if (!(ref->word & FDTAB_AGED) &&
	    (to != PEND_CONNECTING || atomic_load(&ref->p->due) != DUR_NONE)) {
		atomic_fetch_add(&fdtab_aged, 1);
		ref->word |= FDTAB_AGED;
	}
	if (lr_unlikely(!atomic_compare_exchange_strong(&ref->p->word, &claimed, ref->word))) {
		/* In a child that a handler forked meanwhile it is nobody's. */
		fdtab_set_right();
		return true;
	}
	return is_kept(ref);
}

void fdtab_release(struct pend_ref *ref, enum pend_state to)
{
	if (!fdtab_settle(ref, to))
		fdtab_give_back(ref);
}

bool fdtab_drop(struct pend_ref *ref)
{
	return pend_state(ref) != PEND_BUSY && pend_state(ref) != PEND_FREE && fdtab_give_back(ref);
}

bool fdtab_refresh(struct pend_ref *ref)
{
	uint32_t word = atomic_load(&ref->p->word);

	if (!same_life(word, ref->word) || (word & 0xff) == PEND_FREE)
		return false;
	ref->word = word;
	return true;
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
	uint64_t link = fdtab_link_of(ref);

	if (join(ref->p, fd) && fdtab_refresh(&now) && fdtab_linked(fd, link))
		return true;
	fdtab_unlink(fd, link);
	/* Unless it belongs to the record's next life by now. */
	if (!fdtab_find(fd, &now) || now.p != ref->p)
		remove_from(ref->p, 0, fd);
	return false;
}

bool fdtab_attach(const struct pend_ref *ref, int fd)
{
	struct fdtab_slot *slot = fdtab_slot_make(fd);
	struct pend_ref now = *ref;
	uint64_t link = fdtab_link_of(ref);
	uint32_t forks = fdtab_forks_now();
	uint64_t old;

	if (!slot || !fdtab_refresh(&now))
		return false;
	old = fdtab_relink(slot, link);
	if ((old & FDTAB_LINK) != link)
		fdtab_leave(old, fd);
	fdtab_since(forks);
	return attach(ref, fd);
}

bool fdtab_join(const struct pend_ref *ref, int fd, bool marked)
{
	struct fdtab_slot *slot = fdtab_slot_make(fd);
	struct pend_ref now = *ref;

	return slot && fdtab_refresh(&now) &&
	       relink_free(slot, fdtab_link_of(ref), marked ? FDTAB_MARK_DUP : 0) &&
	       attach(ref, fd);
}

bool fdtab_forget(int fd, struct pend_ref *ref, bool *alone)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint64_t old;

	*alone = false;
	if (!slot)
		return false;
	old = fdtab_note_clear(slot);
	fdtab_watches_forget(fd, old);
	if (!fdtab_record_of(old, ref))
		return false;
	detach(ref->p, fdtab_link_of(ref), fd);
	if (!fdtab_refresh(ref))
		return false;
	*alone = any_descriptor(ref->p, fdtab_link_of(ref)) < 0;
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

/* The marks of the gate once more: there the counts may have run over into them. */
static _Atomic uint32_t gate_marks = FDTAB_CLOSED;

#define AGED_MARKS (FDTAB_CLOSED | FDTAB_VFORKED)

void fdtab_raise(uint32_t marks)
{
	atomic_fetch_or(&gate_marks, marks);
	atomic_fetch_or(&fdtab_gate, marks);
	if (marks & AGED_MARKS)
		atomic_fetch_or(&fdtab_aged, marks & AGED_MARKS);
}

void fdtab_lower(uint32_t marks)
{
	atomic_fetch_and(&gate_marks, ~marks);
	if (marks & AGED_MARKS)
		atomic_fetch_and(&fdtab_aged, ~(marks & AGED_MARKS));
	atomic_fetch_and(&fdtab_gate, ~marks);
}

void fdtab_set_right(void)
{
	uint32_t marks = atomic_load(&gate_marks);
	struct pend_ref ref;
	unsigned at = 0;
	uint32_t live = 0;

	while (fdtab_next(&at, &ref)) {
		bool owed = pend_state(&ref) == PEND_FAILED ||
		            (pend_state(&ref) == PEND_BACKOFF && ref.p->error != 0);

		if (!owed) {
			fdtab_give_back(&ref);
			continue;
		}
		/* The next wait puts its registrations back. */
		atomic_store(&ref.p->due, 0);
		atomic_store(&ref.p->word, fdtab_state_word(ref.word, PEND_FAILED) | FDTAB_AGED);
		live++;
	}
	fdtab_notes_repair();
	atomic_store(&fdtab_gate, marks | live);
	atomic_store(&fdtab_aged, (marks & AGED_MARKS) | live);
	fdtab_watches_repair();
}

void fdtab_postfork_child(void)
{
	atomic_fetch_add(&fdtab_forks, 1);
	fdtab_set_right();
}

void fdtab_reset(void)
{
	struct pend_ref ref;
	unsigned at = 0;
	bool alone;

	while (fdtab_next(&at, &ref))
		fdtab_give_back(&ref);
	for (unsigned fd = 0; fd < FDTAB_FDS; fd++) {
		if (fdtab_slot((int)fd))
			fdtab_forget((int)fd, &ref, &alone);
		else
			fd |= FDTAB_CHUNK - 1;
	}
	fdtab_notes_repair();
	atomic_store(&fdtab_high, FDTAB_BLOCK);
	atomic_store(&fdtab_maybe_free, 0);
	atomic_store(&gate_marks, 0);
	atomic_store(&fdtab_gate, 0);
	atomic_store(&fdtab_aged, 0);
}
