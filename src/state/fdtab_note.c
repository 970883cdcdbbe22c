/* SPDX-License-Identifier: MIT */
#include "state/fdtab_note.h"

#include "state/fdtab_pool.h"

_Static_assert(FDTAB_PENDING < FDTAB_NOTED, "records must not count as notes");
_Static_assert(sizeof(struct fdtab_slot) == 128, "its address is a shift");

static size_t size_of(sa_family_t family)
{
	return family == AF_INET    ? sizeof(struct sockaddr_in)
	       : family == AF_INET6 ? sizeof(struct sockaddr_in6)
	                            : 0;
}

static void put(_Atomic uint64_t *at, uint64_t value)
{
	atomic_store_explicit(at, value, memory_order_release);
}

static uint64_t get(_Atomic uint64_t *at)
{
	return atomic_load_explicit(at, memory_order_acquire);
}

/* Word by word, with release and acquire: who has read a new one sees that the slot's
 * word has changed, too. */
static void copy_in(struct fdtab_slot *slot, const struct sockaddr *sa, uintptr_t thread,
                    int64_t began)
{
	struct sockaddr_in6 in6 = { 0 };
	uint64_t words[3];

	memcpy(&in6, sa, size_of(sa->sa_family));
	memcpy(words, &in6, sizeof(words));
	for (unsigned i = 0; i < ARRAY_LEN(words); i++)
		put(&slot->to[i], words[i]);
	atomic_store_explicit(&slot->scope, in6.sin6_scope_id, memory_order_release);
	put(&slot->thread, thread);
	atomic_store_explicit(&slot->began, began, memory_order_release);
}

/* <open>: of a connect under way. */
static void copy_out(struct fdtab_slot *slot, bool open, struct fdtab_note *out)
{
	uint64_t words[3];

	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < ARRAY_LEN(words); i++)
		words[i] = get(&slot->to[i]);
	memcpy(&out->to, words, sizeof(words));
	out->to.in6.sin6_scope_id = atomic_load_explicit(&slot->scope, memory_order_acquire);
	out->len = (socklen_t)size_of(out->to.sa.sa_family);
	if (!open && out->to.sa.sa_family == AF_INET)
		memset(out->to.in.sin_zero, 0, sizeof(out->to.in.sin_zero));
	/* What is behind it is of an older note. */
	memset((char *)&out->to + out->len, 0, sizeof(out->to) - out->len);
	out->thread = (uintptr_t)get(&slot->thread);
	out->began = atomic_load_explicit(&slot->began, memory_order_acquire);
}

bool fdtab_note_read(int fd, uint64_t state, struct fdtab_note *out)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint64_t word = slot ? atomic_load(&slot->word) : 0;
	uint64_t now;

	if (!(word & state))
		return false;
	copy_out(slot, state & FDTAB_NOTE_OPEN, out);
	out->word = word;
	now = atomic_load_explicit(&slot->word, memory_order_relaxed);
	return (now & state) && !((word ^ now) & FDTAB_NOTE_COUNT);
}

static void one_less(void)
{
	atomic_fetch_sub(&fdtab_gate, FDTAB_NOTED);
}

void fdtab_note_end(int fd, uint64_t busy, uint64_t as)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint64_t word = atomic_load(&slot->word);
	uint32_t forks = fdtab_forks_now();
	struct pend_ref ref;
	uint64_t to;

	do {
		/* A handler has forked meanwhile, and this is the child. */
		if (!(word & FDTAB_NOTE_BUSY)) {
			fdtab_set_right();
			return;
		}
		to = as;
		if ((word ^ busy) & FDTAB_NOTE_COUNT)
			to = 0; /* closed */
		else if (word & FDTAB_LINK_NUMBER)
			to &= ~FDTAB_NOTE_OPEN; /* it has got a record */
		to |= (word & ~FDTAB_NOTE_BUSY) + FDTAB_NOTE_ONE;
	} while (!atomic_compare_exchange_weak(&slot->word, &word, to));
	if (as & ~to & FDTAB_NOTE_OPEN)
		one_less();
	else if (to & FDTAB_MARK_DUP)
		fdtab_find(fd, &ref); /* to be found by the other number */
	fdtab_since(forks);
}

static void forget(int fd)
{
	struct fdtab_slot *slot = fdtab_slot(fd);

	if (slot)
		fdtab_note_forget(slot);
}

bool fdtab_note_any(int fd, const struct sockaddr *sa, socklen_t len, uintptr_t thread,
                    int64_t began, uint64_t as)
{
	bool open = as & FDTAB_NOTE_OPEN;
	size_t size = len >= sizeof(sa->sa_family) ? size_of(sa->sa_family) : 0;
	struct fdtab_slot *slot;
	uint64_t word;
	uint64_t busy;

	/* A record keeps the length as well. */
	if (size == 0 || len < size || (open && len != size)) {
		forget(fd);
		return false;
	}
	slot = fdtab_slot_make(fd);
	if (!slot || (open && (fdtab_word() & FDTAB_NOTED_MANY)))
		return false;
	word = atomic_load(&slot->word);
	do {
		if ((word & FDTAB_NOTE_BUSY) ||
		    (open && (word & (FDTAB_LINK_NUMBER | FDTAB_MARK_DUP))))
			return false;
		busy = (word & ~FDTAB_NOTE_YOUNG) | FDTAB_NOTE_BUSY;
	} while (!atomic_compare_exchange_weak(&slot->word, &word, busy));
	if (word & FDTAB_NOTE_OPEN)
		one_less();
	copy_in(slot, sa, thread, began);
	if (open)
		atomic_fetch_add(&fdtab_gate, FDTAB_NOTED);
	fdtab_note_end(fd, busy, as);
	return true;
}

uint64_t fdtab_note_clear(struct fdtab_slot *slot)
{
	uint64_t old = atomic_load(&slot->word);
	uint32_t forks = fdtab_forks_now();

	while ((old & ~FDTAB_NOTE_COUNT) &&
	       !atomic_compare_exchange_weak(&slot->word, &old,
	                                     ((old + FDTAB_NOTE_ONE) & FDTAB_NOTE_COUNT) |
	                                             (old & FDTAB_NOTE_BUSY)))
		;
	if (old & FDTAB_NOTE_OPEN)
		one_less();
	fdtab_since(forks);
	return old;
}

static void fill(struct pending *p, struct fdtab_slot *slot)
{
	struct fdtab_note note;

	copy_out(slot, true, &note);
	memcpy(&p->sa, &note.to, note.len);
	p->len = note.len;
	p->attempt = 1;
	p->thread = note.thread;
	p->began = note.began;
	p->attempt_began = note.began;
	p->expires = DUR_NONE;
	atomic_store(&p->due, DUR_NONE);
}

/*
 * What was read of the note is right if the word has not changed until the record is
 * linked. Nobody holds it then: signals are not held back here, and a handler that jumped
 * away would leave it claimed for good, and the descriptor hidden. One that jumps before
 * leaves a record that belongs to none, and the gate too high.
 */
static bool record_noted(int fd, struct pend_ref *ref)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint64_t word = atomic_load(&slot->word);

	while (word & FDTAB_NOTE_OPEN) {
		bool room = fdtab_take_any(ref);
		uint64_t to = word & ~(FDTAB_NOTE_OPEN | FDTAB_LINK);
		uint32_t held;

		if (room) {
			fdtab_start(ref, fd);
			fill(ref->p, slot);
			held = ref->word;
			ref->word = fdtab_state_word(held, PEND_CONNECTING);
			/* Not in a child that was forked in between. */
			atomic_compare_exchange_strong(&ref->p->word, &held, ref->word);
			to |= fdtab_link_of(ref);
		}
		if (atomic_compare_exchange_strong(&slot->word, &word, to)) {
			one_less();
			return room && fdtab_refresh(ref);
		}
		if (room)
			fdtab_drop(ref);
	}
	return fdtab_record_of(word, ref);
}

LR_NOINLINE bool fdtab_record_noted(int fd, struct pend_ref *ref)
{
	uint32_t forks = fdtab_forks_now();
	bool found = record_noted(fd, ref);

	fdtab_since(forks);
	return found && (fdtab_forks_now() == forks || fdtab_refresh(ref));
}

void fdtab_record_all(void)
{
	struct pend_ref ref;

	if (!(fdtab_busy() & ~FDTAB_CLOSED & ~(FDTAB_NOTED - 1)))
		return;
	for (unsigned fd = 0; fdtab_next_known(&fd, FDTAB_FDS - 1); fd++)
		fdtab_find((int)fd, &ref);
}

void fdtab_notes_repair(void)
{
	for (unsigned fd = 0; fd < FDTAB_FDS; fd++) {
		struct fdtab_slot *slot = fdtab_slot((int)fd);

		if (!slot)
			fd |= FDTAB_CHUNK - 1;
		else if (atomic_load(&slot->word) & (FDTAB_NOTE_OPEN | FDTAB_NOTE_BUSY))
			atomic_fetch_and(&slot->word, ~(FDTAB_NOTE_OPEN | FDTAB_NOTE_BUSY));
	}
}
