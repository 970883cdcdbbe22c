/* SPDX-License-Identifier: MIT */
/*
 * carry.h - how far the waits for a destination had got when a call to it failed last:
 * where the next call goes on (the key carry).
 *
 * By the address of a connect, or by the name and port of a look-up. CARRIES places, by
 * a hash; a newer one takes an older one's, and a few bits of the hash tell them apart. Static,
 * lock-free; a race loses or delays what is known. What is known stays in a forked child.
 *
 * A success ends it. To be told of those that nothing else is done about, NAMES_CARRIED
 * is set in names_gate while anything is known: no program without the key pays for it.
 * errno untouched; no system call, but one in CARRY_SWEEP successes that are told.
 */
#ifndef LIBRETRY_STATE_CARRY_H
#define LIBRETRY_STATE_CARRY_H

#include "base/addr.h"
#include "state/names.h"

#define CARRIES 128
#define CARRY_SWEEP 256
#define CARRY_STEP_MAX 1000

static inline bool carry_watching(void)
{
	return atomic_load_explicit(&names_gate, memory_order_relaxed) & NAMES_CARRIED;
}

/* What a destination is known by: an address, or what the log calls a look-up. */
uint64_t carry_key_addr(const struct addr *a);
uint64_t carry_key_name(const char *dest);

/* A call failed whose latest wait was that before retry <step> (from 1; 0: it had none)
 * and took <wait> ns. That counts until <until> (ns, the clock of slot_now()). */
void carry_failed(uint64_t key, unsigned step, int64_t wait, int64_t until);

/* What counts at <now>: the step, and the wait in *wait; 0: nothing. */
unsigned carry_step(uint64_t key, int64_t now, int64_t *wait);

/* A call succeeded. */
void carry_succeeded(uint64_t key);

/* As in a process that has just begun: for tests, and simulated ones. */
void carry_reset(void);

#endif
