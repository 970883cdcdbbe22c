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

#include <stdint.h>
#include <sys/socket.h>

#include "base/addr.h"

#define TALLY_CELLS 128
#define TALLY_WAYS 4

/* connect() to <sa>, which can be read: a first attempt at <now> (ns, any clock that is
 * the same in all calls), made or under way. Others than IP are not counted here. */
void tally_call(const struct sockaddr *sa, socklen_t len, int64_t now);

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
