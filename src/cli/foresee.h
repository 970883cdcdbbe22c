/* SPDX-License-Identifier: MIT */
/*
 * foresee.h - what a policy will do, worked out before it happens. It asks the
 * functions that decide in the library. Pure.
 */
#ifndef LIBRETRY_CLI_FORESEE_H
#define LIBRETRY_CLI_FORESEE_H

#include "policy/policy.h"

#define FORESEE_MAX 1000 /* the most attempts that a policy may have */

/* The wait before a retry, and when after the first call it begins if the attempts
 * themselves take no time. All ns, both ends included. */
struct step {
	int64_t wait_min, wait_max;
	int64_t at_min, at_max;
};

struct forecast {
	unsigned attempts;  /* that can be made: those that cannot begin before the
	                       deadline are not counted */
	struct step retry[FORESEE_MAX]; /* [0]: before attempt 2 */
	int64_t attempt;    /* the longest that one attempt takes */
	bool cut;           /* ... because attempt_timeout ends it */
	int64_t waits;      /* all waits at their longest, the deadline not considered */
	int64_t total;      /* the longest that the whole can take; DUR_NONE */
	bool by_deadline;   /* ... which the deadline bounds */
};

/* How a call is looked at. */
struct foresight {
	bool local;       /* base_delay_local (an error of the class local-resource) */
	bool at_once;     /* one retry, without a wait */
	bool once;        /* no retry at all */
	bool cuts;        /* attempt_timeout and the deadline hold (not for look-ups) */
	bool first_free;  /* the deadline does not end the first attempt (a connect) */
	bool parks;       /* attempts may have to wait for others', up to the deadline;
	                     of a connect also the first */
	int64_t attempt;  /* ns, of an attempt that nobody answers; DUR_NONE: no end */
};

void foresee(struct forecast *f, const struct policy *p, const struct foresight *how);

/* attempts * the calls of each outer layer, saturating. */
uint64_t amplify(unsigned attempts, const unsigned *outer, unsigned count);

#endif
