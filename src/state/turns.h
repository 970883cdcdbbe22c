/* SPDX-License-Identifier: MIT */
/*
 * turns.h - how many calls to a destination are in a retry at one time, in this
 * process: max_concurrent_retries.
 *
 * Not a count: whoever is in a retry has a place, with the time when it is over at the
 * latest. So nothing is lost for good by who never gives his place back: a handler that
 * jumped out, a thread that was killed, a descriptor that was closed past us.
 *
 * CONCURRENT_MAX places for all; which destination one is of is known by 24 bits of a
 * hash. Static, lock-free; a place is one word. Never are more granted than allowed; of
 * those that ask at the same moment, more than need be may be refused. errno untouched,
 * no system call; async-signal-safe.
 */
#ifndef LIBRETRY_STATE_TURNS_H
#define LIBRETRY_STATE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

/* What one call has of it; all zero: nothing. May be copied, if only one copy is used. */
struct turn {
	uint64_t word;  /* of its place; 0: none */
	uint32_t place;
};

/*
 * <t>, of a call to the destination that <key> is a hash of, is in a retry from <now> to
 * <until> at most (ns, any one clock). False: <most> others are, or there is no place at
 * all; it has none then. Who has one keeps it, until the new time, if that of before is
 * not over.
 */
bool turns_take(struct turn *t, uint64_t key, uint32_t most, int64_t now, int64_t until);

/* It is over, if there was one; <t> may be NULL. */
void turns_give(struct turn *t);

/* The child has none. */
void turns_postfork_child(void);

/* Tests: how many are taken at <now>. */
unsigned turns_taken(int64_t now);

#endif
