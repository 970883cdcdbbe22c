/* SPDX-License-Identifier: MIT */
/*
 * retry.h - what the loops of connect and look-up have in common: decide, log,
 * wait, count. One struct retry per call of the program, on its stack.
 */
#ifndef LIBRETRY_ENGINE_RETRY_H
#define LIBRETRY_ENGINE_RETRY_H

#include "engine/guard.h"
#include "engine/ops.h"
#include "state/turns.h"

/* Room for "name:port" with the longest host name. */
#define DEST_TEXT_MAX (255 + 1 + 5 + 1)

struct retry {
	const struct engine_ops *ops;
	void *ctx;
	enum op op;
	enum mode mode;
	const struct policy *policy;
	const struct rule *rule; /* NULL: none matched */
	const char *dest;        /* for the log */
	const struct addr *addr; /* NULL for a look-up */
	int64_t began;           /* when the operation began */
	int64_t attempt_began;   /* when the current attempt began */
	int64_t limit;           /* the program's own bound, ns; DUR_NONE */
	int64_t waited;          /* ns, all waits so far */
	int64_t previous_wait;
	struct guard *guard; /* NULL: nobody else is asked */
	struct turn *turn;   /* NULL: max_concurrent_retries is no concern of its. Where
	                      * neither retry_end() nor retry_succeeded() is the end, the
	                      * caller gives it back */
	unsigned attempt;    /* the current one, from 1 */
	enum reason ended;   /* why it ended, if it did */
	uint16_t carried;    /* waits of calls before: state/carry */
	bool at_once;        /* without a wait */
	bool elsewhere;    /* the attempt is at a place that the rule names: what comes
	                    * of it says nothing about the destination */
	bool detour;       /* if the breaker refuses, there is another place to go to:
	                    * nothing is logged then */
	bool parked;       /* that it waits for others has been logged */
	bool hurry;        /* a signal has ended the wait for a first attempt: it is to
	                    * be a short one */
};

/* "db1:5432", "[::1]:80", "/run/x.sock", "@name", "db1" (port < 0). <host>
 * NULL: the printed address. */
void dest_text(char *text, size_t size, const char *host, const struct addr *a, int port);

/*
 * The attempt r->attempt failed with <e> (<sys_errno> for EAI_SYSTEM). Decides
 * and logs, does not wait. True: the attempt is to be made again d->wait ns from
 * now, and waiting, .previous_wait, .waited and .attempt are the caller's to see
 * to. False: hand <e> to the program; .ended says why, REASON_NONE in observe
 * mode. Reads the clock once, and again if the series has come to nothing.
 */
bool retry_decide(struct retry *r, struct err e, int sys_errno, struct decision *d);

/*
 * Before an attempt, r->attempt + 1 or (<first>) the first one: may it be made?
 * GUARD_PARK: ask again at *until, which is never past the deadline; GUARD_REFUSED:
 * it may not, or the deadline is over, .ended says which, and it has been logged
 * with <e>. Does not wait.
 */
enum guard_answer retry_ask(struct retry *r, struct err e, bool first, int64_t *until);

/* The same for a first attempt, of a policy that may have a say in it. GUARD_GO if it has
 * not. *e: the last failure that anybody saw, else .code 0. */
enum guard_answer retry_first_ask(struct retry *r, struct err *e, int64_t *until);

/* The first attempt of a policy that has a say in it: waits until it may be made, or until
 * a signal (.hurry). False: it may not, hand *e to the program. */
bool retry_first(struct retry *r, struct err *e);

/* The same as retry_decide(), and waits if it is to be tried again. True: r->attempt has been
 * counted up, make the next attempt. False: hand <e> to the program. */
bool retry_after(struct retry *r, struct err e, int sys_errno);

/* The program gets <e> after attempt r->attempt for <reason>: "passed" if
 * nothing of ours happened yet, else "gave-up". */
void retry_end(struct retry *r, struct err e, enum reason reason);

/* The attempt r->attempt succeeded: "recovered", unless it was the first. */
void retry_succeeded(const struct retry *r);

#endif
