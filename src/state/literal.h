/* SPDX-License-Identifier: MIT */
/* literal.h - which addresses were asked for in digits, and when: for state/names.
 * Static, lock-free; one that is pushed out by another is forgotten. */
#ifndef LIBRETRY_STATE_LITERAL_H
#define LIBRETRY_STATE_LITERAL_H

#include "state/names.h"

/* <thread> (0: anybody) has asked for <ip>: as "look-up" <id>. */
void literal_mark(const struct name_ip *ip, uintptr_t thread, uint64_t id);

/* Whether that was after look-up <id>. Only the low halves of the numbers are kept,
 * so this may be wrong once after 2^31 look-ups. */
bool literal_since(const struct name_ip *ip, uintptr_t thread, uint64_t id);

/* Forgets everything (tests). */
void literal_reset(void);

#endif
