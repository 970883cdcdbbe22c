/* SPDX-License-Identifier: MIT */
/*
 * tried.h - at which addresses of a name has the program failed in its present walk?
 *
 * Failures are counted by name, port and address, since connects of one process go
 * on side by side: an address is still to be tried by who has just failed at another
 * if it has failed less often than that one. A walk is over with a success at the
 * name and port, and after a pause of NAMES_ROUND. Static, lock-free; what is lost
 * under a race, or by a collision, counts as not tried, so that failures go back to
 * the program. errno untouched, no system call.
 */
#ifndef LIBRETRY_STATE_TRIED_H
#define LIBRETRY_STATE_TRIED_H

#include "state/names.h"

/* Bit n of a set: address n is still to be tried. */
#define TRIED_NOT_MORE (UINT32_C(1) << NAMES_ADDRS) /* one that is not kept in full is */
#define TRIED_OVER UINT32_C(0x80000000)             /* the walk is over: all are, again */

/* A connect to <e>->ip that began at <began> has failed at <now> (ns, one clock):
 * counts it, and returns the set as it is seen from there. */
uint32_t tried_failed(const struct name_entry *e, uint16_t port, int64_t began, int64_t now);

/* The same set, without counting anything. */
uint32_t tried_left(const struct name_entry *e, uint16_t port);

/* Whether thread <e>->thread itself has failed at address <index> in this walk. */
bool tried_by_thread(const struct name_entry *e, uint16_t port, unsigned index);

/* Whether the set says that this failure was the first of a walk. */
bool tried_is_first(const struct name_entry *e, uint32_t left);

/* The program was kept waiting until <now>: the walk is as young as that. */
void tried_goes_on(const struct name_entry *e, uint16_t port, int64_t now);

/* A connect to <e> has succeeded. */
void tried_succeeded(const struct name_entry *e, uint16_t port);

/* A connect to <a> has succeeded: to be told while names_watching(). Nobody is
 * told for ever: after 256 of them a walk is over, too. */
void tried_success_at(const struct addr *a);

/* Forgets everything (tests). */
void tried_reset(void);

#endif
