/* SPDX-License-Identifier: MIT */
/*
 * outages.h - when a destination was down, from what libretry logged about it.
 *
 * An outage of a destination begins with a failed attempt after a success, or after
 * a time without any failure, and ends with the next recovery of anybody. First
 * successes are not in the log: if failures just stop, the end was not seen.
 */
#ifndef LIBRETRY_CLI_OUTAGES_H
#define LIBRETRY_CLI_OUTAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/duration.h"
#include "cli/logread.h"
#include "policy/inject.h"
#include "policy/policy.h"

struct outage_seen {
	int64_t start;   /* ns since the epoch: the first failed attempt began */
	int64_t last;    /* the last failure */
	int64_t end;     /* the recovery; .open: the last failure */
	bool open;       /* no recovery was seen: it lasted at least so long */
	unsigned failures;
};

struct dest_seen {
	char *dest;
	struct outage_seen *list; /* in time */
	size_t count;
	unsigned failures;
	int64_t elapsed;      /* ns, the median of failed attempts */
	struct err_set errors;
};

struct seen {
	struct dest_seen *dests; /* most failures first */
	size_t count;
	int64_t first, last;     /* time of the first and the last line */
	uint64_t lines;          /* of ours */
	uint64_t suppressed;     /* lines that the flood protection held back */
	uint64_t injected;       /* failures that were made on purpose */
};

/* What is usual for <gap>. */
#define SEEN_GAP (30 * DUR_S)

/* Reads all of <r>. After <gap> ns without a failure a new outage begins. Memory
 * that runs out ends the command with a message. */
void seen_read(struct seen *s, struct logread *r, int64_t gap);
void seen_free(struct seen *s);

/* The outages of <d> that have a length, into <list>, which has room for d->count: how
 * many. *open (may be NULL): outages without an end, of any length. */
size_t seen_intervals(const struct dest_seen *d, struct interval *list, size_t *open);

#endif
