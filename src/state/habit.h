/* SPDX-License-Identifier: MIT */
/*
 * habit.h - does a program walk a name's addresses, or only ever use one?
 *
 * Learnt after failures that were handed straight back for the program to try
 * another address: the next thing it does with the name is to connect to another
 * one, or it comes back to the same (in a newer look-up, whose order may differ:
 * to the first). Per process, name and port; a walk that was seen once counts for ever.
 * Bounded, static, lock-free: races lose or delay a lesson. errno untouched, no
 * system call.
 */
#ifndef LIBRETRY_STATE_HABIT_H
#define LIBRETRY_STATE_HABIT_H

#include "state/names.h"

enum habit { HABIT_UNKNOWN = 0, HABIT_WALKS, HABIT_FIRST_ONLY };

/* The failure at <e>->self goes straight back to the program at <now> (ns). */
void habit_went_back(const struct name_entry *e, uint16_t port, int64_t now);

/* A connect to <e>->self that began at <began> (same clock) has failed. The
 * habit, as it is known by now. Coming back to the same address is a lesson only
 * after a pause of <pause> ns (DUR_NONE: never): an event loop that begins several
 * connects at a time has not come back. */
enum habit habit_came_back(const struct name_entry *e, uint16_t port, int64_t began,
                           int64_t pause);

enum habit habit_known(const struct name_entry *e, uint16_t port);

/* The program connects to <a>, however that ends: to be told while
 * habit_watching(), which is one load. */
void habit_attempt(const struct addr *a);
static inline bool habit_watching(void)
{
	return atomic_load_explicit(&names_gate, memory_order_relaxed) & NAMES_NOTED;
}

/* Forgets everything (tests). */
void habit_reset(void);

#endif
