/* SPDX-License-Identifier: MIT */
/*
 * guard.h - what all who call a destination know together: asked before attempts,
 * told what came of them. Budget, breaker, pace and hold are decided by policy/ on
 * the words of a slot (state/slot); here is the compare-and-swap, and the counting.
 *
 * A slot is looked for only once something failed, or if the policy has a say before
 * the first attempt (guard_wants_first()). Without one everything goes and nothing is
 * counted. In observe mode there is none.
 *
 * No lock, no wait; async-signal-safe; errno untouched. A struct guard is one
 * operation's, and may be copied.
 */
#ifndef LIBRETRY_ENGINE_GUARD_H
#define LIBRETRY_ENGINE_GUARD_H

#include "engine/ops.h"
#include "state/slot.h"

enum guard_answer {
	GUARD_GO = 0, /* make the attempt, then tell what came of it */
	GUARD_PARK,   /* not yet, for *reason: ask again at *until */
	GUARD_REFUSED /* not at all: the breaker is open */
};

/* Who asks: one operation. */
struct guarded {
	const struct engine_ops *ops;
	void *ctx;
	const struct policy *policy;
	const char *dest;        /* as in the log */
	const struct addr *addr; /* of the first attempt; NULL: a look-up */
	enum op op;
	unsigned attempt;        /* the current one */
};

/* The policy lets nobody make even a first connect unasked, and is told of every look-up:
 * the first attempt of one is made whatever others say. */
static inline bool guard_wants_first(const struct policy *p)
{
	return p->breaker.enabled || p->coordinate;
}

/* Says that something was counted, once nothing more is to be of this moment. */
static inline void guard_counted(const struct engine_ops *ops, void *ctx, bool end)
{
	if (ops->counted)
		ops->counted(ctx, end);
}

/* Finds the slot of <who>, unless it has one. */
void guard_open(struct guard *g, const struct guarded *who);

/* It has a slot, which is still there: there may have been a long wait since it was
 * opened. */
bool guard_is_open(const struct guard *g);

/*
 * A first attempt of <who>, whose policy guard_wants_first(), may be made, and its success
 * would change nothing that is known. Opens <g>. Such an attempt need not be asked for. If
 * it succeeds, guard_first_done(): it has taken <took> ns. False: others have failed
 * meanwhile, and guard_succeeded() is to tell of it. *quicker: no other was as quick, so
 * the next one is to be asked for, which measures better.
 */
bool guard_is_quiet(struct guard *g, const struct guarded *who);
bool guard_first_done(const struct guard *g, const struct guarded *who, int64_t took,
                      bool *quicker);

/* May attempt number <attempt> be made at <now> (ns, ops->now)? */
enum guard_answer guard_ask(struct guard *g, const struct guarded *who, unsigned attempt,
                            int64_t now, int64_t *until, enum reason *reason);

/* The attempt failed with <e> at <now>. <counts>: that is the destination's fault, by
 * an error that the policy retries. Opens <g> if need be. */
void guard_failed(struct guard *g, const struct guarded *who, struct err e, bool counts,
                  int64_t now);

/* Whether the breaker will still be open in <wait> ns: then it is no use to wait. */
bool guard_is_shut(const struct guard *g, const struct guarded *who, int64_t now, int64_t wait);

/* It is to be made again: has the budget a retry for it? */
bool guard_pay(struct guard *g, const struct guarded *who, enum err_class class, int64_t now);

/* Attempt number <attempt> succeeded; it began at <began>. <elsewhere>: which says
 * nothing about the destination. */
void guard_succeeded(struct guard *g, const struct guarded *who, bool elsewhere,
                     unsigned attempt, int64_t waited, int64_t began, int64_t now);

/* The operation is over with an error after <attempts>, for <reason>. None at all: the
 * call was refused at once. */
void guard_gave_up(struct guard *g, const struct guarded *who, unsigned attempts,
                   int64_t waited, enum reason reason);

/* The attempt ends without saying anything about the destination. */
void guard_abandoned(struct guard *g);

/* The same, and the program has closed the descriptor. */
void guard_left(struct guard *g);

/* An attempt of <who> was struck on purpose. */
void guard_injected(const struct guarded *who);

/* An old answer was handed out for the look-up. */
void guard_stale(const struct guard *g);

/* The error of the last failure that anybody saw, for a call that is refused: .code 0
 * if there is none. */
struct err guard_last_error(const struct guard *g, const struct guarded *who);

#endif
