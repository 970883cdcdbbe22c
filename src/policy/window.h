/* SPDX-License-Identifier: MIT */
/*
 * window.h - how often something happened in the last <length> ns. Pure.
 *
 * The state is one 64-bit word, so whoever keeps it (a process, or memory that
 * several share) changes it by one compare-and-swap: compute the new word from
 * the old one, and again if somebody was faster. 0 is a counter in which nothing
 * has happened yet.
 *
 * Two slices, each <length> long, are counted: the current one and the one before.
 * What of the one before is older than <length> is taken to be spread evenly over
 * it. So an estimate is off by less than the count of the slice before, and right
 * if things happen evenly; nothing counts for longer than 2 * length, nothing
 * stops counting before length is over if it is the only thing that happened, and
 * the current slice counts in full.
 *
 * Each slice counts to WINDOW_MAX and stops there. The number of the slice wraps
 * after 2^20 slices: a word that nobody touched for just as long (12 days for 1s,
 * 121 for 10s) shows its old counts once more, for two slices. A clock that is
 * behind the word by less than one slice (somebody else was faster) counts into the
 * word's current one; a word that is further ahead is taken for empty.
 *
 * <now>: ns >= 0, of a clock that does not jump and is the same for all who share
 * the word. <length>: ns, at least WINDOW_LENGTH_MIN (less counts as that), the
 * same in every call.
 */
#ifndef LIBRETRY_POLICY_WINDOW_H
#define LIBRETRY_POLICY_WINDOW_H

#include <stdint.h>

#define WINDOW_MAX ((UINT32_C(1) << 22) - 1)
#define WINDOW_LENGTH_MIN INT64_C(1000000)

/* The word after <n> more at <now>. */
uint64_t window_add(uint64_t word, int64_t now, int64_t length, uint32_t n);

/* How many in the last <length>, in millionths (PPM is one): 0 to
 * 2 * WINDOW_MAX * PPM. */
int64_t window_estimate(uint64_t word, int64_t now, int64_t length);

#endif
