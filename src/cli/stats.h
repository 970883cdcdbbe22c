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
#include "state/view.h"

struct stats {
	const struct segment *segment;
	bool present;     /* false: there is no segment (yet) */
	bool narrow;      /* it is shown where a line may have no room for all */
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
