/* SPDX-License-Identifier: MIT */
/*
 * sim_retry.h - the engine's decisions (engine/retry.h) for worlds in which many calls
 * are under way at one time: one clock and one stream of random numbers for all. Nothing
 * is logged; whoever decides moves .now first.
 */
#ifndef LIBRETRY_CLI_SIM_RETRY_H
#define LIBRETRY_CLI_SIM_RETRY_H

#include "base/prng.h"
#include "engine/retry.h"

struct sim_clock {
	int64_t now; /* ns */
	struct prng random;
};

/* What of struct engine_ops is the same in every such world: no signals, no log. */
bool sim_never_stops(void *ctx);
void sim_log_nothing(void *ctx, const struct event *e);
bool sim_wants_nothing(void *ctx, enum log_level level);

/* A call that begins at clock->now. */
void sim_retry_begin(struct retry *r, struct sim_clock *clock, const struct policy *p);

/* Its attempt failed at clock->now with <error>, an errno value. True: make the next one
 * d->wait later; it has been counted. */
bool sim_retry_failed(struct retry *r, int error, struct decision *d);

#endif
