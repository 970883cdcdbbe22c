/* SPDX-License-Identifier: MIT */
/*
 * sim_legacy.h - the simulation that was published, number for number, with its
 * mistake: a cursor into the list of outages that only moves forward. The generator
 * is the MT19937 of Python's "random", seeded as random.seed(N) does it. It does not
 * run our engine: the loop is the published one.
 */
#ifndef LIBRETRY_CLI_SIM_LEGACY_H
#define LIBRETRY_CLI_SIM_LEGACY_H

#include "cli/sim.h"

#define SIM_LEGACY_POLICIES 3 /* none, fixed-100ms, backoff-40ms */

/* Runs all three, as one stream of random numbers goes through them. <outages>: gets
 * the list that they were run on; sim_outages_free() is the caller's. */
void sim_legacy_run(uint64_t seed, struct sim_result results[SIM_LEGACY_POLICIES],
                    struct sim_outages *outages);

/* What it was run with: 10,000 requests every 5 ms, 20 ms, 1 %. */
struct sim_outage_world sim_legacy_world(const struct sim_outages *outages);

#endif
