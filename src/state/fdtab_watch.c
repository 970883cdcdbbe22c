/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/compat.h"
#include "state/fdtab_note.h"
#include "state/fdtab_slot.h"

/*
 * The head of an entry: the set's number + 1 (0: empty), .parked, a bit for
 * "being written", and a count of the writings. One word, so that .parked can
 * be changed and an entry be deleted at any time, by anybody; .data and .events
 * are written by who has set the bit, and a torn copy is found out by the count.
 */
#define HEAD_SET UINT64_C(0xffffff)
#define HEAD_PARKED UINT64_C(0xff000000)
#define HEAD_PARKED_SHIFT 24
#define HEAD_WRITING (UINT64_C(1) << 32)
#define HEAD_COUNT (UINT64_C(1) << 33)

#define READ_TRIES 100 /* a handler may have interrupted the writer */
#define HINTS 1024     /* powers of two */
#define GRAVES 1024

_Static_assert(FDTAB_FDS < HEAD_SET, "a set's number must fit in a head");

/* Descriptor + 1 of the last registration by set and data: lossy. */
static _Atomic int hints[HINTS];

/* Registrations that are over, by the same: hash << 32 | number of the death. */
static _Atomic uint64_t graves[GRAVES];
static _Atomic uint32_t deaths;

/* One multiplication: this is on the way of every epoll_ctl(). */
LR_INLINE uint64_t hash_of(int epfd, uint64_t data)
{
	uint64_t h = (data ^ (uint64_t)epfd << 40 ^ data >> 32) * UINT64_C(0x9e3779b97f4a7c15);

	return h ^ h >> 32;
}

static _Atomic int *hint_of(int epfd, uint64_t data)
{
	return &hints[hash_of(epfd, data) % HINTS];
}

LR_INLINE void bury(int epfd, uint64_t data)
{
	uint64_t hash = hash_of(epfd, data);
	uint32_t number = atomic_fetch_add_explicit(&deaths, 1, memory_order_relaxed) + 1;

	atomic_store_explicit(&graves[hash % GRAVES], hash << 32 | number, memory_order_release);
}

uint32_t fdtab_watch_time(void)
{
	return atomic_load_explicit(&deaths, memory_order_relaxed);
}

bool fdtab_watch_gone(int epfd, uint64_t data, uint32_t since)
{
	uint64_t hash = hash_of(epfd, data);
	uint64_t grave = atomic_load_explicit(&graves[hash % GRAVES], memory_order_acquire);

	return grave >> 32 == (hash & UINT32_MAX) && (int32_t)((uint32_t)grave - since) > 0;
}

static bool is_for(uint64_t head, int epfd)
{
	return (head & HEAD_SET) == (uint64_t)(uint32_t)epfd + 1; /* -1: none */
}

/* <epfd>'s own entry; NULL if there is none. */
LR_INLINE struct fdtab_watch *own_entry(struct fdtab_slot *slot, int epfd, uint64_t *head)
{
	for (unsigned i = 0; i < FDTAB_WATCHES; i++) {
		*head = atomic_load_explicit(&slot->watches[i].head, memory_order_relaxed);
		if (is_for(*head, epfd))
			return &slot->watches[i];
	}
	return NULL;
}

/* An empty entry, else the oldest. NULL if all are being written. */
static LR_NOINLINE struct fdtab_watch *make_room(struct fdtab_slot *slot, uint64_t *head)
{
	struct fdtab_watch *best = NULL;
	uint32_t now = atomic_load_explicit(&slot->age, memory_order_relaxed);
	uint32_t best_age = 0;

	for (unsigned i = 0; i < FDTAB_WATCHES; i++) {
		struct fdtab_watch *entry = &slot->watches[i];
		uint64_t h = atomic_load_explicit(&entry->head, memory_order_relaxed);
		uint32_t age = now - atomic_load_explicit(&entry->age, memory_order_relaxed);

		if (h & HEAD_WRITING)
			continue;
		if (!(h & HEAD_SET))
			age = UINT32_MAX;
		if (!best || age > best_age) {
			best = entry;
			best_age = age;
			*head = h;
		}
	}
	return best;
}

/* Two that register the same at one time do not know whose the kernel took last either:
 * NULL if another is writing it. */
LR_INLINE struct fdtab_watch *choose(struct fdtab_slot *slot, int epfd, uint64_t *head)
{
	struct fdtab_watch *own = own_entry(slot, epfd, head);

	if (own)
		return *head & HEAD_WRITING ? NULL : own;
	*head = atomic_load_explicit(&slot->watches[0].head, memory_order_relaxed);
	return *head & (HEAD_WRITING | HEAD_SET) ? make_room(slot, head) : &slot->watches[0];
}

/* All but the data; <head>: the entry's, with HEAD_WRITING. */
LR_INLINE void write_rest(struct fdtab_slot *slot, struct fdtab_watch *entry, uint32_t events,
                          uint64_t head)
{
	atomic_store_explicit(&entry->events, events, memory_order_release);
	atomic_store_explicit(&entry->age,
	                      atomic_fetch_add_explicit(&slot->age, 1, memory_order_relaxed),
	                      memory_order_release);
	if (lr_likely(atomic_compare_exchange_strong(&entry->head, &head,
	                                             head - HEAD_WRITING + HEAD_COUNT)))
		return;
	/* It may have been parked or deleted meanwhile, and stays so. */
	while (!atomic_compare_exchange_weak(&entry->head, &head,
	                                     (head & ~HEAD_WRITING) + HEAD_COUNT))
		;
}

static void write_entry(struct fdtab_slot *slot, int epfd, uint32_t events, uint64_t data)
{
	struct fdtab_watch *entry;
	uint64_t head = 0;
	uint64_t new;
	uint64_t old;

	do {
		entry = choose(slot, epfd, &head);
		if (!entry)
			return;
		new = head | HEAD_WRITING;
		if (!is_for(head, epfd))
			new = (new & ~(HEAD_SET | HEAD_PARKED)) | ((uint64_t)epfd + 1);
	} while (!atomic_compare_exchange_strong(&entry->head, &head, new));
	old = atomic_exchange_explicit(&entry->data, data, memory_order_acq_rel);
	/* One that had to make room lives on in the kernel. */
	if (lr_unlikely(old != data && is_for(head, epfd)))
		bury(epfd, old);
	write_rest(slot, entry, events, new);
}

/* The number may be found without a hint: see fdtab_watch_find(). */
LR_INLINE void give_hint(int fd, int epfd, uint64_t data)
{
	if ((uint32_t)data != (uint32_t)fd)
		atomic_store_explicit(hint_of(epfd, data), fd + 1, memory_order_relaxed);
}

/* The straight ways to do what write_entry() does, in the first entry, whose <head> it
 * is. False: it cannot be done so, and nothing was. */
LR_INLINE bool write_again(struct fdtab_slot *slot, uint64_t head, uint32_t events, uint64_t data)
{
	struct fdtab_watch *entry = &slot->watches[0];
	uint64_t new = head | HEAD_WRITING;

	if ((head & HEAD_WRITING) ||
	    atomic_load_explicit(&entry->data, memory_order_relaxed) != data ||
	    !atomic_compare_exchange_strong(&entry->head, &head, new))
		return false;
	write_rest(slot, entry, events, new);
	return true;
}

LR_INLINE bool write_new(struct fdtab_slot *slot, int epfd, uint64_t head, uint32_t events,
                         uint64_t data)
{
	struct fdtab_watch *entry = &slot->watches[0];
	uint64_t new = (head & ~HEAD_PARKED) | ((uint64_t)epfd + 1) | HEAD_WRITING;

	if (head & (HEAD_WRITING | HEAD_SET))
		return false;
	for (unsigned i = 1; i < FDTAB_WATCHES; i++)
		if (is_for(atomic_load_explicit(&slot->watches[i].head, memory_order_relaxed),
		           epfd))
			return false;
	if (!atomic_compare_exchange_strong(&entry->head, &head, new))
		return false;
	atomic_store_explicit(&entry->data, data, memory_order_release);
	write_rest(slot, entry, events, new);
	return true;
}

static LR_NOINLINE int set_anywhere(int fd, int epfd, uint32_t events, uint64_t data)
{
	struct fdtab_slot *slot = fdtab_slot_make(fd);
	struct fdtab_slot *set = fdtab_slot_make(epfd);

	if (!slot || !set)
		return 0;
	fdtab_mark(set, FDTAB_MARK_SET);
	fdtab_mark(slot, FDTAB_MARK_WATCHED);
	write_entry(slot, epfd, events, data);
	fdtab_mark(slot, FDTAB_MARK_WATCHED);
	give_hint(fd, epfd, data);
	return 0;
}

static LR_NO_CANARY LR_NOINLINE int set_new(int fd, int epfd, uint32_t events, uint64_t data,
                                            struct fdtab_slot *slot, uint64_t head)
{
	struct fdtab_slot *set = fdtab_slot(epfd);

	if (lr_unlikely(!set))
		return set_anywhere(fd, epfd, events, data);
	fdtab_mark(set, FDTAB_MARK_SET);
	/* Before, for fdtab_watches_repair(), and after, for fdtab_watch_del(). */
	fdtab_mark(slot, FDTAB_MARK_WATCHED);
	if (lr_unlikely(!write_new(slot, epfd, head, events, data)))
		return set_anywhere(fd, epfd, events, data);
	fdtab_mark(slot, FDTAB_MARK_WATCHED);
	give_hint(fd, epfd, data);
	return 0;
}

/* Where there is an entry, the marks are there already. */
LR_NO_CANARY int fdtab_watch_set(int fd, int epfd, uint32_t events, uint64_t data)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint64_t head;

	if (lr_unlikely(!slot))
		return set_anywhere(fd, epfd, events, data);
	head = atomic_load_explicit(&slot->watches[0].head, memory_order_relaxed);
	if (!is_for(head, epfd))
		return set_new(fd, epfd, events, data, slot, head);
	if (lr_unlikely(!write_again(slot, head, events, data)))
		return set_anywhere(fd, epfd, events, data);
	fdtab_mark(slot, FDTAB_MARK_WATCHED);
	give_hint(fd, epfd, data);
	return 0;
}

LR_INLINE void delete_entry(struct fdtab_watch *entry, int epfd)
{
	uint64_t head = atomic_load(&entry->head);

	if (!is_for(head, epfd))
		return;
	/* Before: an event that finds no entry any more is to find the grave. */
	bury(epfd, atomic_load_explicit(&entry->data, memory_order_acquire));
	while (is_for(head, epfd) &&
	       !atomic_compare_exchange_weak(&entry->head, &head,
	                                     (head & ~(HEAD_SET | HEAD_PARKED)) + HEAD_COUNT))
		;
}

LR_INLINE bool any_entry(struct fdtab_slot *slot)
{
	uint64_t heads = 0;

	for (unsigned i = 0; i < FDTAB_WATCHES; i++)
		heads |= atomic_load(&slot->watches[i].head);
	return heads & HEAD_SET;
}

LR_NO_CANARY int fdtab_watch_del(int fd, int epfd)
{
	struct fdtab_slot *slot = fdtab_slot(fd);

	if (!slot || epfd < 0)
		return 0;
	for (unsigned i = 0; i < FDTAB_WATCHES; i++)
		delete_entry(&slot->watches[i], epfd);
	if (any_entry(slot) || !(atomic_load(&slot->word) & FDTAB_MARK_WATCHED))
		return 0;
	atomic_fetch_and(&slot->word, ~FDTAB_MARK_WATCHED);
	if (any_entry(slot))
		fdtab_mark(slot, FDTAB_MARK_WATCHED);
	return 0;
}

/* False if there is none, or, as long as a writer does not come to an end, because it
 * was interrupted. Then *w is word by word what it found, or what it writes; not
 * <whole>: that will do. */
static bool read_entry(struct fdtab_watch *entry, struct watch *w, bool whole)
{
	bool is_whole = false;
	uint64_t head = 0;

	for (unsigned i = 0; i < READ_TRIES && !is_whole; i++) {
		uint64_t before = atomic_load_explicit(&entry->head, memory_order_acquire);

		if (!(before & HEAD_SET))
			return false;
		w->data = atomic_load_explicit(&entry->data, memory_order_acquire);
		w->events = atomic_load_explicit(&entry->events, memory_order_acquire);
		head = atomic_load_explicit(&entry->head, memory_order_relaxed);
		is_whole = !(before & HEAD_WRITING) && !((before ^ head) & ~HEAD_PARKED);
	}
	w->epfd = (int)(head & HEAD_SET) - 1;
	w->parked = (unsigned)((head & HEAD_PARKED) >> HEAD_PARKED_SHIFT);
	return w->epfd >= 0 && (is_whole || !whole);
}

bool fdtab_watch_get(int fd, unsigned i, struct watch *w)
{
	struct fdtab_slot *slot = fdtab_slot(fd);

	return slot && i < FDTAB_WATCHES && read_entry(&slot->watches[i], w, true);
}

bool fdtab_watch_of(int fd, int epfd, struct watch *w)
{
	for (unsigned i = 0; i < FDTAB_WATCHES; i++)
		if (fdtab_watch_get(fd, i, w) && w->epfd == epfd)
			return true;
	return false;
}

void fdtab_watch_park(int fd, int epfd, unsigned parked)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint64_t bits = (uint64_t)(parked & 0xff) << HEAD_PARKED_SHIFT;

	for (unsigned i = 0; slot && epfd >= 0 && i < FDTAB_WATCHES; i++) {
		_Atomic uint64_t *at = &slot->watches[i].head;
		uint64_t head = atomic_load(at);

		while (is_for(head, epfd) &&
		       !atomic_compare_exchange_weak(at, &head, (head & ~HEAD_PARKED) | bits))
			;
	}
}

/* An event of one that is just being written is not nobody's. */
static bool is_watched(int fd, int epfd, uint64_t data)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	struct watch w;

	for (unsigned i = 0; slot && i < FDTAB_WATCHES; i++)
		if (read_entry(&slot->watches[i], &w, false) && w.epfd == epfd && w.data == data)
			return true;
	return false;
}

bool fdtab_watch_next(int epfd, uint64_t data, unsigned *fd)
{
	for (; fdtab_next_known(fd, FDTAB_FDS - 1); ++*fd)
		if (is_watched((int)*fd, epfd, data))
			return true;
	return false;
}

static int find_in_records(int epfd, uint64_t data)
{
	struct pend_ref ref;
	unsigned at = 0;

	fdtab_record_all();
	while (fdtab_next(&at, &ref))
		for (unsigned i = 0; i < FDTAB_SHARED; i++) {
			int fd = atomic_load(&ref.p->fds[i]);

			if (fdtab_under_way(fd) && is_watched(fd, epfd, data))
				return fd;
		}
	return -1;
}

int fdtab_watch_find(int epfd, uint64_t data, bool thorough)
{
	int quick[2] = { -1, atomic_load_explicit(hint_of(epfd, data), memory_order_relaxed) - 1 };
	int found = -1;

	/* Most programs put the descriptor there. */
	quick[0] = (int)(uint32_t)data;
	for (unsigned i = 0; i < ARRAY_LEN(quick); i++) {
		if (!is_watched(quick[i], epfd, data))
			continue;
		if (fdtab_under_way(quick[i]))
			return quick[i];
		if (found < 0)
			found = quick[i];
	}
	if (thorough) {
		int fd = find_in_records(epfd, data);

		if (fd >= 0)
			found = fd;
	}
	return found;
}

/* The quick way is for the descriptor as the data, and a record of its. */
bool fdtab_watch_connected(int epfd, uint64_t data, uint32_t events)
{
	int fd = (int)(uint32_t)data;
	struct fdtab_slot *slot = fdtab_slot(fd);
	struct fdtab_watch *entry;
	struct watch w;
	uint64_t head;

	if (slot && (entry = own_entry(slot, epfd, &head)) && read_entry(entry, &w, true) &&
	    w.epfd == epfd && w.data == data && (w.events & events) && fdtab_drop_young(fd))
		return true;
	fd = fdtab_watch_find(epfd, data, false);
	/* Its number may have become another's just now. */
	if (fd < 0 || !fdtab_watch_of(fd, epfd, &w) || w.data != data || !(w.events & events))
		return true;
	return fdtab_drop_young(fd);
}

void fdtab_watches_forget(int fd, uint64_t word)
{
	struct fdtab_slot *slot = fdtab_slot(fd);

	for (unsigned i = 0; (word & FDTAB_MARK_WATCHED) && i < FDTAB_WATCHES; i++) {
		_Atomic uint64_t *at = &slot->watches[i].head;
		int epfd = (int)(atomic_load(at) & HEAD_SET) - 1;

		if (epfd >= 0)
			delete_entry(&slot->watches[i], epfd);
	}
	if (!(word & FDTAB_MARK_SET))
		return;
	for (unsigned n = 0; fdtab_next_known(&n, FDTAB_FDS - 1); n++)
		fdtab_watch_del((int)n, fd);
}

void fdtab_watches_repair(void)
{
	for (unsigned n = 0; fdtab_next_known(&n, FDTAB_FDS - 1); n++) {
		struct fdtab_slot *slot = fdtab_slot((int)n);

		for (unsigned i = 0; i < FDTAB_WATCHES; i++)
			if (atomic_load(&slot->watches[i].head) & HEAD_WRITING)
				atomic_store(&slot->watches[i].head, 0);
	}
}
