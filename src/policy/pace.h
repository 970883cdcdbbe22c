/* SPDX-License-Identifier: MIT */
/*
 * pace.h - coordinated recovery ("coordinate = true"): while a destination is down
 * one attempt at a time finds out whether it is back, and when it is, the waiters are
 * let go in a ramp. Pure: words in, words out, as in window.h. One word, from 0.
 *
 * up: attempts go. A failure that counts brings it down.
 * down: one probe at a time, a while after the one before failed; who asks meanwhile
 *     is parked. The while grows to about 0.3 s, and, slowly, to 1.5 s once it has been
 *     down for a minute; never past the policy's max_delay. The right to probe ends
 *     after <probe_for>, so that nobody can die with it. A probe that succeeds begins
 *     the ramp.
 * ramp: fresh calls, which come at the pace of the program, go as if it was up. Who had
 *     to wait is let go in ticks of 100 ms, at most a window in each, and at most a
 *     window is out: PACE_WINDOW at first, one more for each that succeeds,
 *     PACE_WINDOW_MAX at most. The window halves, once in a tick, when an attempt fails
 *     or took long; where one at a time is too much ticks become longer instead, up to
 *     6.4 s, and after that half as long for each that succeeds. (Many machines that
 *     know nothing of each other may each have few who wait: one in 100 ms from each of
 *     them is more than a server has to spare.) A probe that took long begins the ramp
 *     there. Three failures in a row, whosoever's: it is down again. A tick in which
 *     nobody had to be parked: it is up. Those that never report are forgotten after
 *     <probe_for>, once they fill the window.
 *
 * Results of attempts without a ticket (fresh ones, or of who does not take part) count
 * as what they say about the destination; they do not widen the window.
 *
 * <now>: ns as in window.h. <probe_for>: ns, how long one attempt may take before its
 * place is given to another; more than a minute counts as one.
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

/* May an attempt be made at <now>? Always, unless the policy coordinates. <fresh>: it is
 * the first of its call, which has not been parked. */
struct pace_asked pace_ask(const struct policy *p, uint64_t word, int64_t now,
                           int64_t probe_for, bool fresh, uint64_t random);

/* An attempt failed by an error that counts; <random>: 64 random bits. */
uint64_t pace_failed(const struct policy *p, uint64_t word, int64_t now, uint16_t ticket,
                     uint64_t random);

/* An attempt succeeded; <slow>: it took long for this destination, so it stood in a line. */
uint64_t pace_succeeded(const struct policy *p, uint64_t word, int64_t now, uint16_t ticket,
                        bool slow);

/* It ended without saying anything about the destination. */
uint64_t pace_abandoned(uint64_t word, uint16_t ticket);

enum pace_state pace_state(uint64_t word, int64_t now);
const char *pace_state_name(enum pace_state s); /* "up", "down", "ramp" */

#endif
