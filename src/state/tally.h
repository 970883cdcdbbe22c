/* SPDX-License-Identifier: MIT */
/*
 * tally.h - first attempts, counted on the success path.
 *
 * There is no name and no policy there, only an address, and no time to look for
 * a slot: so they are counted by address in a small table of this process (the hash
 * is the place, of TALLY_WAYS; another address that finds them taken moves the least
 * of what is there to a common remainder), and moved on to the destination's slot when
 * something of it fails. No system call; some 20 instructions for IPv4, twice that for
 * IPv6 or if the first place is another's.
 *
 * What kind of socket it is would take a system call: connects of datagram sockets are
 * counted as well. 2^40 calls that nobody takes count as none.
 *
 * Lock-free; safe in signal handlers, before the constructor and in vfork children
 * (which count into their parent's table). After fork the child begins with nothing.
 * A handler that jumps out of the few stores by which a place is given to another
 * address leaves it unusable.
 */
#ifndef LIBRETRY_STATE_TALLY_H
#define LIBRETRY_STATE_TALLY_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "base/compat.h"

#define TALLY_CELLS 128
#define TALLY_WAYS 4
#define TALLY_SETS (TALLY_CELLS / TALLY_WAYS)

/* tally's own. An address in words: family, port (of IPv4 the address, of IPv6 the
 * scope), address. */
struct tally_cell {
	_Atomic uint64_t head; /* how often, above; below, in TALLY_NUMBER, a number that is
	                        * odd while the cell is being given to another address, and
	                        * that changes when it was */
	_Atomic uint64_t w[3];
};
extern struct tally_cell tally_cells[TALLY_SETS][TALLY_WAYS] LR_HIDDEN;
#define TALLY_NUMBER UINT64_C(0xffffff)
#define TALLY_ODD UINT64_C(1)
#define TALLY_ONE (TALLY_NUMBER + 1)
#define TALLY_SET_SHIFT 59
_Static_assert(TALLY_SETS == 1 << (64 - TALLY_SET_SHIFT), "a set is found by the highest bits");

static inline struct tally_cell *tally_set(uint64_t mix)
{
	return tally_cells[mix * UINT64_C(0x9e3779b97f4a7c15) >> TALLY_SET_SHIFT];
}

/* That .head has not changed says that .w has not. */
LR_INLINE bool tally_change(struct tally_cell *c, uint64_t *head, uint64_t to)
{
	return atomic_compare_exchange_strong_explicit(&c->head, head, to, memory_order_acq_rel,
	                                               memory_order_acquire);
}

/* tally_call() wherever its place is, and whatever <sa> is. */
void tally_call_any(const struct sockaddr *sa, socklen_t len, int64_t now);

/* The same where addr_is_four(), if the first place is its own; else false. Such an
 * address is all in the first word; the others are 0. */
LR_INLINE bool tally_call_four(const struct sockaddr *sa)
{
	struct tally_cell *c;
	uint64_t head;
	uint64_t word;

	memcpy(&word, sa, sizeof(word));
	c = tally_set(word);
	head = atomic_load_explicit(&c->head, memory_order_acquire);
	return lr_likely(!(head & TALLY_ODD) &&
	                 atomic_load_explicit(&c->w[0], memory_order_relaxed) == word &&
	                 tally_change(c, &head, head + TALLY_ONE));
}

/* connect() to <sa>, which can be read: a first attempt at <now> (ns, any clock that is
 * the same in all calls), made or under way. Others than IP are not counted here. */
static inline void tally_call(const struct sockaddr *sa, socklen_t len, int64_t now)
{
	if (!addr_is_four(sa, len) || !tally_call_four(sa))
		tally_call_any(sa, len, now);
}

/* What was counted for <a> since the last time it was taken; whether <a> is mapped does
 * not matter. *recent: how many of them in the last <length> ns before <now>, taken to
 * be spread evenly over the time since then; at least one if there are any. */
uint64_t tally_take(const struct addr *a, int64_t now, int64_t length, uint64_t *recent);

/* The same of <n> calls between <since> and <now>, counted by somebody else. */
uint64_t tally_recent(uint64_t n, int64_t length, int64_t since, int64_t now);

void tally_postfork_child(void);

/* Tests. All cells: calls <out> with what each holds and empties it, then with NULL for
 * the remainder (which may be 0). */
void tally_drain(void (*out)(void *arg, const struct addr *a, uint64_t n), void *arg);

#endif
