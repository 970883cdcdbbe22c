/* SPDX-License-Identifier: MIT */
/*
 * sim_overload.h - the world of "--world overload": many clients, one server that can
 * only do so much, and an outage.
 *
 * Calls begin at random (a Poisson process of .rate per second), each at a client drawn
 * at random. An attempt takes .latency to the server and as long back.
 *  - During the outage it is refused at once.
 *  - A server that is up does one request after the other, each in 1/capacity s. Up to
 *    .queue requests stand in line; past that an attempt is refused at once.
 *  - A client waits .timeout for its answer (or the policy's attempt_timeout, if that is
 *    less). The server does not see that nobody waits any more: it does the work all the
 *    same. This is what keeps an overload up when its cause has gone.
 *  - Requests that are in line when the outage begins are reset then.
 * Each call is one of the engine that ships (cli/sim_host.h: engine/retry and
 * engine/guard), on one of .hosts machines, whose clients remember budget, breaker and
 * coordinated recovery together: 1 = all do, .clients = each for itself.
 */
#ifndef LIBRETRY_CLI_SIM_OVERLOAD_H
#define LIBRETRY_CLI_SIM_OVERLOAD_H

#include <stdbool.h>

#include "policy/policy.h"

struct sim_overload {
	const struct policy *policy;
	unsigned clients;    /* 1 to 1,000,000 */
	unsigned hosts;      /* 1 to clients; clients are spread over them evenly */
	bool at_once;        /* who waits for another's result is let go by the first
	                      * success, without a ramp: what would come of that */
	double rate;         /* calls per second, all clients together */
	double capacity;     /* requests per second */
	unsigned queue;      /* requests in line, the one in work included; at least 1 */
	int64_t timeout;     /* ns */
	int64_t latency;     /* ns, one way */
	int64_t duration;    /* ns in which calls begin; the run ends with the last of them */
	int64_t outage_from, outage_to; /* ns; equal: none */
	uint64_t seed;
};

/* One step of the run, for plots. */
struct sim_overload_step {
	uint32_t attempts;  /* that arrived at the server */
	uint32_t begun;     /* calls that began */
	uint32_t succeeded; /* those of .begun that succeeded in the end */
	uint32_t prompt;    /* ... within SIM_OVERLOAD_PROMPT more than they take alone */
	uint32_t knocks;    /* those of .attempts that met the outage */
	uint32_t answered;  /* answers that reached somebody who still waited */
};

#define SIM_OVERLOAD_STEP (INT64_C(100000000)) /* 100 ms */
#define SIM_OVERLOAD_PROMPT (INT64_C(500000000)) /* 500 ms */

struct sim_overload_result {
	uint64_t calls;          /* that began */
	uint64_t attempts;       /* that arrived at the server */
	uint64_t succeeded;
	double success;          /* 0 to 1 */
	double attempts_per_call;
	double p50_ms, p95_ms, p99_ms, mean_ms; /* of calls that succeeded; NAN: none */
	uint64_t knocks;         /* attempts that arrived during the outage */
	double peak_per_s;       /* most attempts that arrived in any second */
	double knock_peak;       /* ... of them in any second */
	double recovery_s;       /* from the end of the outage until the calls that begin
	                          * are served again: the first two seconds on end of
	                          * which 95 % succeed, and promptly. -1: never. 0 without
	                          * an outage */
	double bad_s;            /* seconds after the outage of whose calls fewer do */
	uint64_t refused_by_budget, refused_by_breaker; /* calls that failed for that */
	uint64_t stale;          /* requests that the server did for nobody */
	struct sim_overload_step *steps; /* the run in steps of SIM_OVERLOAD_STEP */
	size_t step_count;
};

/* 1,000 clients, each its own; 800 calls/s on a server for 1,000/s, a line of 1,000,
 * time-out 500 ms, 1 ms to the server; 40 s, an outage from 5 s to 10 s. .policy is the
 * caller's to set. */
struct sim_overload sim_overload_default(void);

/* False: no memory; else end with sim_overload_free(). Time O(events * log waiting). */
bool sim_overload(const struct sim_overload *o, struct sim_overload_result *r);
void sim_overload_free(struct sim_overload_result *r);

#endif
