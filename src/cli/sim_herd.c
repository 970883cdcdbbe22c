/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "cli/sim.h"

struct herd {
	struct sim_times *calls, *retries;
};

static int refused(struct sim_call *call)
{
	struct herd *h = call->world;

	sim_times_add(h->calls, call->now);
	/* The call that lost the server is no retry; those that follow are, also one
	 * that follows at once. */
	if (call->attempts > 0)
		sim_times_add(h->retries, call->now);
	return ECONNREFUSED;
}

void sim_herd_run(uint64_t clients, const struct policy *p, int64_t window, uint64_t seed,
                  struct sim_result *result, size_t *peak, struct sim_times *calls)
{
	struct sim_times took = { .at = NULL }, lost = { .at = NULL }, retries = { .at = NULL };
	struct herd h = { calls, &retries };

	sim_times_clear(calls);
	for (uint64_t i = 0; i < clients; i++) {
		struct sim_call call = { .policy = p,
		                         .attempt = refused,
		                         .world = &h,
		                         .jitter = sim_stream(seed, SIM_STREAM_JITTER, i) };

		sim_call(&call);
		sim_times_add(&lost, call.now);
	}
	*peak = sim_times_peak(&retries, window);
	*result = (struct sim_result){ .policy = p->name, .wasted = calls->count };
	sim_result_fill(result, &took, &lost, calls);
	sim_times_free(&lost);
	sim_times_free(&retries);
}
