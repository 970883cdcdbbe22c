/* SPDX-License-Identifier: MIT */
/*
 * view.h - what slots say, as values that do not change any more, and as text for
 * collectors: the same for the statistics of a segment, which the command prints, and for
 * those of one process, which it writes by itself (state/stats_file).
 *
 * No malloc, no stdio; errno untouched, safe in signal handlers.
 */
#ifndef LIBRETRY_STATE_VIEW_H
#define LIBRETRY_STATE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errname.h"
#include "base/fmt.h"
#include "policy/breaker.h"
#include "policy/pace.h"
#include "state/slot.h"

#define STATS_ATTEMPTS 7 /* used of SLOT_ATTEMPTS */
#define STATS_WAITS 10   /* used of SLOT_WAITS */

struct stats_dest {
	char text[SLOT_TEXT + 1]; /* "db1:5432", "lookup:db1" */
	char policy[SLOT_POLICY + 1];
	uint64_t tally[TALLY_COUNT];
	uint64_t attempts[STATS_ATTEMPTS];
	uint64_t waits[STATS_WAITS];
	uint64_t sum_attempts;
	uint64_t sum_wait; /* us */
	/* Words of the budget, for stats_budgets(). */
	uint64_t budget_calls, budget_spent;
	int64_t budget_left; /* retries; -1: not known, or no limit */
	bool has_breaker;    /* it was used; else "closed" */
	enum breaker_state breaker;
	int64_t breaker_left; /* ns that it stays open */
	bool has_pace;
	enum pace_state pace;
	int64_t hold_left;     /* ns; 0: not held */
	struct err last_error; /* .code 0: none yet */
	int64_t last_failure;  /* ns ago; -1: never */
};

/* Fills <d> from <s>, at <now> (ns, slot_now()). Whatever it holds is accepted. Budgets are
 * not known yet. */
void view_read(struct stats_dest *d, const struct slot *s, int64_t now);

/* Calls that ended with an error after our trouble: attempts, deadline, budget,
 * breaker, stopping. */
uint64_t stats_gave_up(const struct stats_dest *d);
/* Calls whose failure went straight to the program. */
uint64_t stats_passed(const struct stats_dest *d);
/* Calls that are none of the others: those that succeeded at once, and those that
 * are still under way. */
uint64_t stats_first_ok(const struct stats_dest *d);

/* No line of the texts below is longer. */
#define VIEW_LINE_MAX 2048
#define VIEW_ROOM (2 * VIEW_LINE_MAX)

struct view {
	const char *segment;   /* whose: the label of all series */
	bool present;          /* false: there is nothing to tell of */
	int64_t wall;          /* ns since the epoch, now */
	unsigned places;       /* for destinations, ... */
	unsigned taken;        /* ... and how many are */
	uint64_t overflow;     /* how often there was none left */
	unsigned count;        /* destinations, some of which may be none */
	/* Number <i>, until the next one is asked for; NULL: there is none. */
	const struct stats_dest *(*dest)(void *arg, unsigned i);
	void *arg;
	/* Takes a part of the text: whole lines. */
	void (*flush)(void *to, const char *text, size_t len);
	void *to;
	char *room;            /* of VIEW_ROOM bytes */
};

/* The text format of Prometheus. */
void view_prometheus(const struct view *v);
/* One JSON object, whose members are named as those of "libretry stats --json". */
void view_json(const struct view *v);

#endif
