/* SPDX-License-Identifier: MIT */
/* fdtab_slot.h - among the files of fdtab: slots, their marks, and memory. */
#ifndef LIBRETRY_STATE_FDTAB_SLOT_H
#define LIBRETRY_STATE_FDTAB_SLOT_H

#include "state/fdtab.h"

/* In the word of a slot, next to FDTAB_MARK_DUP. */
#define FDTAB_MARK_WATCHED UINT64_C(0x4000) /* registered in a set */
#define FDTAB_MARK_SET UINT64_C(0x8000)     /* an epoll set */

/* What *where points to. If that is nothing yet it becomes <size> bytes of zeroed
 * memory; NULL if there is none. */
void *fdtab_map(void *_Atomic *where, size_t size);

/* The slot of <fd>, its chunk mapped if need be; NULL if that cannot be. */
struct fdtab_slot *fdtab_slot_make(int fd);

static inline void fdtab_mark(struct fdtab_slot *slot, uint64_t mark)
{
	if (!(atomic_load(&slot->word) & mark))
		atomic_fetch_or(&slot->word, mark);
}

/* The registrations of <fd>, and those in <fd>, are over; <word>: its marks. */
void fdtab_watches_forget(int fd, uint64_t word);

/* In a forked child: what another thread was writing is dropped. */
void fdtab_watches_repair(void);

#endif
