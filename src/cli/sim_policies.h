/* SPDX-License-Identifier: MIT */
/*
 * sim_policies.h - which policies to simulate: by name from a configuration, by the
 * words below, or described on the command line.
 *
 *   none           no retry
 *   fixed-100ms    100 ms, always; 4 attempts   } those of the published simulation
 *   backoff-40ms   40 ms x 2, x 0.5-1.5; 4      }
 *   seed           the three above
 *   no-jitter full equal proportional additive decorrelated
 *                  one base, each way to spread it; the base is the world's
 *   jitters        the six above
 *   independent    retries until 30 s are over, full jitter, each call for itself
 *   budget-alone   ... with the built-in budget
 *   coordinated    ... and coordinate = true
 *   all-at-once    ... without the ramp: all that wait go at the first success
 *   recovery       none and these four
 *   no-wait        as many attempts, and no wait between them
 *   NAME=base:40ms,mult:2,jitter:full,attempts:4
 *                  the built-in default but for what is said; keys as in
 *                  libretry.conf(5), with some short forms
 */
#ifndef LIBRETRY_CLI_SIM_POLICIES_H
#define LIBRETRY_CLI_SIM_POLICIES_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "policy/policy.h"

enum sim_kind { SIM_OUTAGE = 0, SIM_HERD, SIM_OVERLOAD, SIM_CONTENTION, SIM_BUDGET, SIM_KINDS };

struct sim_policy {
	struct policy policy;
	bool endless; /* one of the experiment's: its clients never give up */
	bool no_wait;
	bool at_once; /* struct sim_overload */
};

struct sim_policies {
	struct sim_policy *list;
	size_t count;
	/* The caller's to set: */
	const struct config *config; /* NULL: built-in policies only */
	enum sim_kind world;
};

/* Adds what <text> says: words and descriptions, with commas between them. One that is
 * there already is not added again. False after a message. */
bool sim_policies_add(struct sim_policies *s, const char *text);
void sim_policies_free(struct sim_policies *s);

#endif
