/* SPDX-License-Identifier: MIT */
/*
 * fdtab_note.h - notes of connects: all that most of them ever need.
 *
 * connect() leaves a note in the slot of its descriptor: where it goes to and, while
 * that is under way, since when. Where all is well nobody reads it: the wait that
 * finds the socket connected, and close(), take a bit of the slot's word away. Who
 * wants to know more of a connect under way gets a record (fdtab_find()), which is
 * made from the note, by one of those who want it.
 *
 * A note is only a note: a descriptor dies unseen, and its number may name another
 * socket by now. Whoever uses one asks the socket first.
 *
 * Lock-free, one owner at a time: who writes has set FDTAB_NOTE_BUSY, and a note that
 * is being written is not there. What it is worth to have read one shows the slot's
 * word, whose count changes with the note: a record is linked by a compare-and-swap
 * on it. A handler that jumps out of the few stores leaves the number without notes
 * until its connects are made otherwise. Safe in threads, signal handlers, and vfork
 * children (whose notes are their parent's).
 */
#ifndef LIBRETRY_STATE_FDTAB_NOTE_H
#define LIBRETRY_STATE_FDTAB_NOTE_H

#include <string.h>

#include "base/addr.h"
#include "base/compat.h"
#include "state/fdtab.h"

/* <as>, in what follows: FDTAB_NOTE_KEPT, or with FDTAB_NOTE_OPEN where the connect is
 * under way. Such a one is a first attempt that goes on in the kernel. */
#define FDTAB_NOTE_YOUNG (FDTAB_NOTE_KEPT | FDTAB_NOTE_OPEN)

/* A note, copied out. */
struct fdtab_note {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} to;
	socklen_t len;
	uintptr_t thread;
	int64_t began;
	uint64_t word;    /* of the slot, when it was read */
};

/* The note of <fd> whose word has <state>, one of the two; false if there is none. */
bool fdtab_note_read(int fd, uint64_t state, struct fdtab_note *out);

/* Ends the writing of a note, after which the slot's word was <busy>; it may have changed
 * since. */
void fdtab_note_end(int fd, uint64_t busy, uint64_t as);

/* Notes where nothing is known of <fd>: <sa> addr_is_four(), and read by the kernel.
 * False: that is not so, and nothing was done; or, if *busy is not 0, something came in
 * between, and fdtab_note_end() is for the caller to call. */
LR_INLINE bool fdtab_note_four(int fd, const struct sockaddr *sa, uintptr_t thread,
                               int64_t began, uint64_t as, uint64_t *busy)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint64_t first;
	uint64_t second;
	uint64_t word;
	uint64_t held;

	*busy = 0;
	if (lr_unlikely(!slot))
		return false;
	word = atomic_load_explicit(&slot->word, memory_order_relaxed);
	/* Neither a state of the note, nor anything below it. */
	if (lr_unlikely(word & (2 * FDTAB_NOTE_BUSY - 1)))
		return false;
	held = word + FDTAB_NOTE_BUSY;
	if (lr_unlikely(!atomic_compare_exchange_strong(&slot->word, &word, held)))
		return false;
	memcpy(&first, sa, sizeof(first));
	atomic_store_explicit(&slot->to[0], first, memory_order_release);
	atomic_store_explicit(&slot->thread, thread, memory_order_release);
	if (as & FDTAB_NOTE_OPEN) {
		/* What fills the address up: only who connects again repeats it. */
		memcpy(&second, (const char *)sa + sizeof(first), sizeof(second));
		atomic_store_explicit(&slot->to[1], second, memory_order_release);
		atomic_store_explicit(&slot->began, began, memory_order_release);
		atomic_fetch_add(&fdtab_gate, FDTAB_NOTED);
	}
	*busy = held;
	return lr_likely(atomic_compare_exchange_strong(
		&slot->word, &held, held + (FDTAB_NOTE_ONE + as - FDTAB_NOTE_BUSY)));
}

/* Notes whatever is known of <fd>. False: not an IP address (an older note goes), or, of
 * one under way, that it must have a record. */
bool fdtab_note_any(int fd, const struct sockaddr *sa, socklen_t len, uintptr_t thread,
                    int64_t began, uint64_t as);

/* connect() of <fd> is under way: a first attempt. False: it must have a record from the
 * beginning, by fdtab_begin(). */
static inline bool fdtab_begin_young(int fd, const struct sockaddr *sa, socklen_t len,
                                     int64_t began, uintptr_t thread)
{
	return fdtab_note_any(fd, sa, len, thread, began, FDTAB_NOTE_YOUNG);
}

/* <fd> is connected. True: nothing is under way on it any more. False, and nothing was
 * done: it has a record, may share that of another number, or something came in between. */
LR_INLINE bool fdtab_drop_young(int fd)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint64_t word;
	uint32_t forks;

	if (lr_unlikely(!slot))
		return true;
	word = atomic_load(&slot->word);
	if (!(word & (FDTAB_LINK_NUMBER | FDTAB_MARK_DUP | FDTAB_NOTE_OPEN)))
		return true;
	forks = fdtab_forks_now();
	if (lr_unlikely(!(word & FDTAB_NOTE_OPEN)) ||
	    lr_unlikely(!atomic_compare_exchange_strong(&slot->word, &word,
	                                                word & ~FDTAB_NOTE_OPEN)))
		return false;
	atomic_fetch_sub(&fdtab_gate, FDTAB_NOTED);
	if (lr_unlikely(fdtab_forks_now() != forks)) {
		fdtab_set_right();
		return false;
	}
	return true;
}

/* The connection is the program's no more: its note goes. Who is about to write one has a
 * newer one. */
static inline void fdtab_note_forget(struct fdtab_slot *slot)
{
	atomic_fetch_and(&slot->word, ~FDTAB_NOTE_KEPT);
}

/* Among the files of fdtab: */

/* All that a slot knows goes, but what somebody is just writing; its word before. */
uint64_t fdtab_note_clear(struct fdtab_slot *slot);

/* Of a note under way makes a record; see fdtab_find(). */
bool fdtab_record_noted(int fd, struct pend_ref *ref);

/* In a forked child: what is under way is the parent's, what another thread was writing
 * is dropped. The gate is the caller's to set. */
void fdtab_notes_repair(void);

#endif
