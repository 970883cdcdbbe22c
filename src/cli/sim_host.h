/* SPDX-License-Identifier: MIT */
/*
 * sim_host.h - a simulated machine: what its clients remember together about the one
 * destination (a slot, as in state/slot.h), and calls that ask it as programs do:
 * the engine's decisions (engine/retry) with budget, breaker and coordinated recovery
 * (engine/guard) in front of every attempt. The world has the clock, and makes the
 * waits and the attempts:
 *
 *     a call begins    sim_host_call; GO: make the attempt; PARK: sim_host_ask at *until;
 *                      REFUSED: it is over
 *     it fails         sim_host_failed: false: it is over, retry.ended says why; else
 *                      sim_host_ask at *until
 *     sim_host_ask     as sim_host_call
 *     it succeeds      sim_host_succeeded
 *
 * Begin with zeros and .clock. Nothing is logged.
 */
#ifndef LIBRETRY_CLI_SIM_HOST_H
#define LIBRETRY_CLI_SIM_HOST_H

#include "cli/sim_retry.h"

struct sim_host {
	struct sim_clock *clock;
	struct slot slot;
	uint64_t calls; /* first attempts that nobody has counted yet, */
	int64_t since;  /* from then on */
};

/* Stays where it is while the call is under way. */
struct sim_host_call {
	struct retry retry;
	struct guard guard;
	struct err error; /* the last one; of a call that has made no attempt another's */
	bool made;        /* an attempt */
};

/* A call that begins at clock->now. */
enum guard_answer sim_host_call(struct sim_host_call *c, struct sim_host *h,
                                const struct policy *p, int64_t *until);

/* The time for its next attempt has come, or to ask again. */
enum guard_answer sim_host_ask(struct sim_host_call *c, int64_t *until);

/* It goes although it was told to wait. */
void sim_host_go(struct sim_host_call *c);

/* Its attempt failed at clock->now with <error>, an errno value. */
bool sim_host_failed(struct sim_host_call *c, int error, int64_t *until);

void sim_host_succeeded(struct sim_host_call *c);

#endif
