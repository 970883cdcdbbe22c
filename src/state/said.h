/* SPDX-License-Identifier: MIT */
/*
 * said.h - what has been logged once and need not be again. Bounded: a crowd of
 * facts is said more often. Static, lock-free; errno untouched, no system call.
 */
#ifndef LIBRETRY_STATE_SAID_H
#define LIBRETRY_STATE_SAID_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the fact with this hash has been said before; from now on it has. */
bool said_before(uint64_t hash);

/* Forgets everything (tests). */
void said_reset(void);

#endif
