/* SPDX-License-Identifier: MIT */
/*
 * stats.h - what a segment says about its destinations, as values that do not
 * change any more, and the ways to show them.
 */
#ifndef LIBRETRY_CLI_STATS_H
#define LIBRETRY_CLI_STATS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/errname.h"
#include "cli/out.h"
#include "cli/segment.h"
#include "config/config.h"
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

struct stats {
	const struct segment *segment;
	bool present;     /* false: there is no segment (yet) */
	int64_t now;      /* ns, slot_now() */
	int64_t wall;     /* ns since the epoch, the same moment */
	int64_t created;  /* ns since the epoch */
	uint64_t overflow;
	unsigned count;
	struct stats_dest dests[SHM_SLOTS]; /* sorted by text, then policy */
};

/*
 * Fills <st> from a header and SHM_SLOTS slots that nobody changes any more. Budgets
 * are not known yet. Whatever the slots hold is accepted.
 */
void stats_build(struct stats *st, const struct shm_header *h, const struct slot *slots,
                 int64_t now, int64_t wall);

/* The same from the segment, with budgets as the configuration in use here says. 0 or
 * an errno value as of segment_with(); for ENOENT .present is false. */
int stats_take(struct stats *st, const struct segment *s);

/* Fills .budget_left where the policy of that name in <c> shares its budget. */
void stats_budgets(struct stats *st, const struct config *c);

/* Calls that ended with an error after our trouble: attempts, deadline, budget,
 * breaker, stopping. */
uint64_t stats_gave_up(const struct stats_dest *d);
/* Calls whose failure went straight to the program. */
uint64_t stats_passed(const struct stats_dest *d);
/* Calls that are none of the others: those that succeeded at once, and those that
 * are still under way. */
uint64_t stats_first_ok(const struct stats_dest *d);

/* Tables, or the members of one JSON object. */
void stats_show(struct out *o, const struct stats *st);

/* The text format of Prometheus. */
void stats_prometheus(FILE *to, const struct stats *st);
/* The same into <file>, which has the old content or the new one, never a part. False
 * after a message. */
bool stats_prometheus_file(const char *file, const struct stats *st);

/* One JSON object; false: something is open or held. */
bool stats_health(FILE *to, const struct stats *st);

/* Shows the statistics again every <every> ns, until 'q' on a terminal, or SIGINT or
 * SIGTERM. The exit status. */
int stats_watch(struct stats *st, const struct segment *s, bool json, int64_t every);

/* Answers HTTP at "ADDR:PORT" until SIGTERM or SIGINT. The exit status. */
int stats_serve(struct stats *st, const struct segment *s, const char *where);

#endif
