/* SPDX-License-Identifier: MIT */
/*
 * layers.h - programs that retry by themselves: after we have given up on a
 * destination they call it again and again, and every one of their calls becomes a
 * series of ours. Counted per destination, in this process. Series that run beside each
 * other (a pool of connections) are no retries of each other: they count as one.
 *
 * LAYERS places, by hash of the destination's text; a newer one takes an older
 * one's. Static, lock-free; a race loses or delays a lesson. No errno, no system call.
 */
#ifndef LIBRETRY_STATE_LAYERS_H
#define LIBRETRY_STATE_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

#define LAYERS 64
/* So many series that came to nothing, in this time, are the program's own retries. */
#define LAYERS_SERIES 3
#define LAYERS_TIME (10 * DUR_S)
/* How long after the last failure that is believed. */
#define LAYERS_KNOWN (60 * DUR_S)

/* A series for <dest> that began at <began> has come to nothing at <now> (both ns). True:
 * that is the one by which it is learnt that the program retries; once per LAYERS_KNOWN.
 * Not counted if it began before the last one that counts had ended. */
bool layers_gave_up(const char *dest, int64_t began, int64_t now);

/* The program is known to retry calls to <dest> by itself; its present call failed at
 * <now>. */
bool layers_known(const char *dest, int64_t now);

void layers_reset(void); /* tests */

#endif
