/* SPDX-License-Identifier: MIT */
/*
 * advise.h - which policy would ride out given outages. Policies are tried by the
 * engine that ships (cli/sim.h), on calls that begin while the destination is down.
 * The result follows from the outages alone: the random numbers are seeded.
 */
#ifndef LIBRETRY_CLI_ADVISE_H
#define LIBRETRY_CLI_ADVISE_H

#include "cli/sim.h"

/* What one policy comes to, of calls that begin in an outage. */
struct advice_figures {
	double success;    /* 0 to 1 */
	double calls;      /* attempts per call */
	double late_ms;    /* mean time from the end of the outage to success */
	double longest_ms; /* of the calls that succeed, 95 % are done after this */
};

struct advice_world {
	const struct sim_outages *outages; /* at least one */
	int64_t latency;  /* ns, that a failed attempt takes */
	double target;    /* success of calls that begin in an outage, 0 to 1 */
	int64_t within;   /* ns, the longest that a call may take */
};

struct advice {
	struct policy policy;         /* named "suggested" */
	struct advice_figures found;
	struct advice_figures usual;  /* of the built-in default */
	bool reached;                 /* the target */
	size_t beyond;                /* outages longer than .within: left out of the search */
	double low, high;             /* 95 % of .found.success over the outages that may come,
	                                 as far as these tell; NAN below ADVISE_SURE outages */
};

/* Below this many outages no interval is given. */
#define ADVISE_SURE 5

/* One policy, on all outages of <w>. */
void advise_try(const struct advice_world *w, const struct policy *p,
                struct advice_figures *f);

/*
 * Looks for the cheapest policy that reaches the target, or else the one that
 * comes nearest. Cheap: few attempts, and soon done after the outage; one attempt
 * more weighs as much as being later by a tenth of the rest of an outage. The next
 * outages may be longer than the few that are known, so the search takes each of n to
 * last 1/n longer; the figures are those of the outages as they were. False if every
 * outage is longer than .within: then waiting is no cure.
 */
bool advise(struct advice *a, const struct advice_world *w);

#endif
