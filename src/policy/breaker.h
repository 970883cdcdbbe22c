/* SPDX-License-Identifier: MIT */
/*
 * breaker.h - leave a destination alone that keeps failing, and look now and then
 * whether it is back. Pure: words in, words out, as in window.h.
 *
 * The state of one breaker is three words, which begin as 0:
 *
 *   state     the one that decides; changed by the functions below
 *   calls     attempts that ended, a window of breaker.window  } kept only
 *   failures  those of them that failed, the same              } if failure_ratio > 0
 *
 * closed: attempts go. consecutive_failures in a row, or failure_ratio of the calls in
 *     the window (of at least minimum_calls), open it.
 * open: attempts are refused until open_for is over, doubled each time that it opened
 *     in a row, up to max_open_for; spread by the policy's jitter_ratio (more or less,
 *     whatever the kind of jitter; not for jitter "none"), never above max_open_for.
 * half-open: at most half_open_probes attempts are out as probes, the others are
 *     refused. The first that succeeds closes it, the first that fails opens it again.
 *     The places of probes that never report are free again <probe_for> after the latest
 *     probe went out, so there are never more out than that.
 *
 * A probe gets a ticket; what it came to is told with it. Results of attempts that were
 * made when the breaker was closed count only while it is closed. A probe that overran
 * its time, so that others were let out in its place, or one whose sister failed, can
 * still close the breaker, not open it.
 *
 * Times are kept in ms of 28 bits. A word that nobody touched for 2^28 ms (3.1 days) may
 * refuse for one more open time (or probe_for) and 10 s; never longer, whatever is in the
 * word. <now>: as in window.h; it may be up to 10 s behind that of others.
 */
#ifndef LIBRETRY_POLICY_BREAKER_H
#define LIBRETRY_POLICY_BREAKER_H

#include "policy/policy.h"

enum breaker_state { BREAKER_CLOSED = 0, BREAKER_OPEN, BREAKER_HALF_OPEN };

enum breaker_answer { BREAKER_GO = 0, BREAKER_PROBE, BREAKER_REFUSED };

#define BREAKER_NO_TICKET 0

struct breaker_asked {
	uint64_t word; /* the new state; often the old one, then there is nothing to store */
	enum breaker_answer answer;
	uint16_t ticket; /* of a probe; else BREAKER_NO_TICKET */
};

struct breaker_told {
	uint64_t word;
	bool opened; /* this opened it */
	bool closed; /* this closed it: set the words <calls> and <failures> to 0 */
};

/* May an attempt be made at <now>? Always, if the breaker is not enabled. <probe_for>: ns
 * that a probe has, the same in every call; whoever passes less lets probes out sooner. */
struct breaker_asked breaker_ask(const struct policy *p, uint64_t word, int64_t now,
                                 int64_t probe_for);

/* An attempt failed at <now>, with an error that counts. <too_many>: what
 * breaker_too_many() says after it was counted. <random>: 64 random bits. */
struct breaker_told breaker_failed(const struct policy *p, uint64_t word, int64_t now,
                                   uint16_t ticket, bool too_many, uint64_t random);

/* An attempt succeeded. Closed and without failures, as nearly always, the word stays the
 * same and there is nothing to store. */
struct breaker_told breaker_succeeded(uint64_t word, uint16_t ticket);

/* An attempt ended without saying anything about the destination (given up by the program, a
 * signal, an error that does not count): the place of a probe is free again. */
uint64_t breaker_abandoned(uint64_t word, uint16_t ticket);

/* Whether failure_ratio is reached. False if it is off. */
bool breaker_too_many(const struct breaker *b, uint64_t calls, uint64_t failures, int64_t now);

/* For people: what the word says at <now>. An open time that is over shows as half-open. */
enum breaker_state breaker_state(const struct policy *p, uint64_t word, int64_t now);

/* ns that it still stays open; 0 if it is not open. */
int64_t breaker_left(const struct policy *p, uint64_t word, int64_t now);

/* "closed", "open", "half-open". */
const char *breaker_state_name(enum breaker_state s);

#endif
