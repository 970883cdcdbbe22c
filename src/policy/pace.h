/* SPDX-License-Identifier: MIT */
/*
 * pace.h - coordinated recovery ("coordinate = true"): while a destination is down
 * one attempt at a time finds out whether it is back, and when it is, the waiters are
 * let go in a ramp. Pure: words in, words out, as in window.h. One word, from 0.
 *
 * up: attempts go. A failure that counts brings it down.
 * down: one probe at a time, a while after the one before failed; who asks meanwhile
 *     is parked. The right to probe ends after <probe_for>, so that nobody can die
 *     with it. A probe that succeeds begins the ramp.
 * ramp: at most a window of attempts are out: PACE_WINDOW at first, one more for each
 *     that succeeds, half for each that fails or took long, PACE_WINDOW_MAX at most.
 *     At the window's end (one out, and that failed) it is down again; at its full
 *     width it is up. Those that never report are forgotten after <probe_for>.
 *
 * Results of attempts without a ticket (made when it was up, or by who does not take
 * part) count as what they say about the destination, not as part of a window.
 *
 * <now>: ns as in window.h. <probe_for>: ns, how long one attempt may take before its
 * place is given to another.
 */
#ifndef LIBRETRY_POLICY_PACE_H
#define LIBRETRY_POLICY_PACE_H

#include "policy/policy.h"

#define PACE_WINDOW 4
#define PACE_WINDOW_MAX 64
#define PACE_NO_TICKET 0

enum pace_state { PACE_UP = 0, PACE_DOWN, PACE_RAMP };
enum pace_answer { PACE_GO = 0, PACE_PROBE, PACE_PARK };

struct pace_asked {
	uint64_t word;
	enum pace_answer answer;
	uint16_t ticket; /* of a probe, or of a place in the window; PACE_NO_TICKET */
	int64_t until;   /* PACE_PARK: ask again then, ns */
};

/* May an attempt be made at <now>? Always, unless the policy coordinates. */
struct pace_asked pace_ask(const struct policy *p, uint64_t word, int64_t now,
                           int64_t probe_for, uint64_t random);

/* An attempt failed by an error that counts; <random>: 64 random bits. */
uint64_t pace_failed(const struct policy *p, uint64_t word, int64_t now, uint16_t ticket,
                     uint64_t random);

/* An attempt succeeded; <slow>: it took long for this destination. */
uint64_t pace_succeeded(const struct policy *p, uint64_t word, int64_t now, uint16_t ticket,
                        bool slow);

/* It ended without saying anything about the destination. */
uint64_t pace_abandoned(uint64_t word, uint16_t ticket);

enum pace_state pace_state(uint64_t word, int64_t now);
const char *pace_state_name(enum pace_state s); /* "up", "down", "ramp" */

#endif
