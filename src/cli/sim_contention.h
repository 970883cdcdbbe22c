/* SPDX-License-Identifier: MIT */
/*
 * sim_contention.h - the world of "--world contention": optimistic concurrency, as
 * in the experiment that AWS published on backoff and jitter.
 *
 * N clients begin at 0 and each wants to change one row once. A client sends a read,
 * gets the row's version, sends a write with it; the server takes the write if the
 * version is still the current one, and says so. Else the client waits and reads
 * again. Each of the four messages is under way for |N(latency, spread)|; the server
 * takes no time. Of N clients that write at one time one succeeds.
 *
 * Each wait is the decision of the engine that ships (engine/retry on a virtual clock):
 * a lost write is a failure of class "refused".
 */
#ifndef LIBRETRY_CLI_SIM_CONTENTION_H
#define LIBRETRY_CLI_SIM_CONTENTION_H

#include <stdbool.h>

#include "policy/policy.h"

struct sim_contention {
	const struct policy *policy;
	bool limits;        /* obey its max_attempts and deadline; else, as in the
	                     * experiment, nobody gives up */
	bool no_wait;       /* "no back-off": its limits, but waits of 0 */
	unsigned clients;   /* 1 to SIM_CONTENTION_CLIENTS_MAX */
	unsigned runs;      /* at least 1 */
	uint64_t seed;
	int64_t latency, spread; /* ns, one way: mean and standard deviation */
};

#define SIM_CONTENTION_CLIENTS_MAX 10000

/* What the experiment was published with: 100 runs, N(10 ms, 2 ms); .policy, .clients
 * are the caller's to set. */
struct sim_contention sim_contention_default(void);

/* The policy of the experiment in <p>, for a kind of jitter: waits under 10, 20, 40 ... ms
 * (its base is 5 ms, and already the first wait is doubled; decorrelated begins at 5 ms),
 * cap 2,000 ms, soft. <ratio>: ppm. Fills all of <p>. */
void sim_contention_policy(struct policy *p, enum jitter jitter, int64_t ratio);

/* Means over the runs, and half the width of their 95 % intervals (0 for one run). */
struct sim_contention_result {
	double calls, calls_ci; /* writes that reached the server */
	double ms, ms_ci;       /* until the last message has arrived */
	double success;         /* clients that got their write in, 0 to 1 */
};

/* False: no memory. Time and memory: O(calls * log clients), O(clients). */
bool sim_contention(const struct sim_contention *c, struct sim_contention_result *r);

#endif
