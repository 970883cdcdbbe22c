/* SPDX-License-Identifier: MIT */
/*
 * walk.h - the several addresses of one name: is a failure at one of them ours
 * to wait for, or the program's to go on to the next? Nobody is connected to.
 */
#ifndef LIBRETRY_ENGINE_WALK_H
#define LIBRETRY_ENGINE_WALK_H

#include "engine/ops.h"
#include "state/names.h"

/* After a name with several addresses has used up its retries, connects to it
 * go straight through for this long, so that a list of three dead addresses
 * is waited for once and not three times. curl looks after its connects once a
 * second only. */
#define NAME_GRACE (2 * DUR_S)

/* What is asked about: an address of <name>. */
struct walk {
	const struct engine_ops *ops;
	void *ctx;
	const struct name_entry *name; /* NULL: not known */
	const struct policy *policy;
	const struct addr *addr;       /* the one being connected to */
	bool behind_waits;             /* an event loop's: see habit_came_back() */
	bool in_crowd;                 /* and others of its connects to the name are
	                                * under way */
};

/* Whether the name's other addresses matter at all. If not, the functions below
 * answer REASON_NONE and false, and remember nothing. */
bool walk_applies(const struct walk *w);

/*
 * The first attempt at an address failed with <error>; marks it as tried. The
 * reason why the failure goes straight back to the program: REASON_OTHER_ADDRESS
 * (one that it has still to try could answer), REASON_NAME_EXHAUSTED; or
 * REASON_NONE: wait here. That is also for programs which have been seen to use
 * one address of the name only. <began>: ns, when the operation began.
 */
enum reason walk_first_failure(const struct walk *w, int error, int64_t began);

/* After a wait: another address of the name is alive and this one is not. Then
 * *to is that address, and *untried whether the program has it still to try in
 * this round. Never for a program that uses one address only: it has not asked
 * for the others. Where a socket is to be <moved>, only an address counts that this
 * very thread has tried, or that is still to be tried. */
bool walk_other_alive(const struct walk *w, bool moved, struct addr *to, bool *untried);

/* After a wait: the program is known by now to walk, and has an address still to
 * try that could answer: *to. Its failure was kept from it wrongly. */
bool walk_others_turn(const struct walk *w, struct addr *to);

/* The failure goes straight back to the program, which has another address to
 * try: from now on it is watched whether it does. */
void walk_went_back(const struct walk *w);

/* The name's retries are used up at <now>. */
void walk_exhausted(const struct walk *w, int64_t now);

/* The connect has succeeded: whatever was tried before it is another walk's. */
void walk_succeeded(const struct walk *w);

#endif
