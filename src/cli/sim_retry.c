/* SPDX-License-Identifier: MIT */
#include "cli/sim_retry.h"

#include <string.h>

static int64_t clock_now(void *ctx)
{
	return ((struct sim_clock *)ctx)->now;
}

static uint64_t clock_random(void *ctx)
{
	return prng_next(&((struct sim_clock *)ctx)->random);
}

bool sim_never_stops(void *ctx)
{
	(void)ctx;
	return false;
}

void sim_log_nothing(void *ctx, const struct event *e)
{
	(void)ctx;
	(void)e;
}

bool sim_wants_nothing(void *ctx, enum log_level level)
{
	(void)ctx;
	(void)level;
	return false;
}

/* The deciding half of the engine asks for no more than this; waiting and making the
 * attempts are the world's. */
static const struct engine_ops ops = {
	.now = clock_now,
	.random = clock_random,
	.stopping = sim_never_stops,
	.log = sim_log_nothing,
	.log_wants = sim_wants_nothing,
};

void sim_retry_begin(struct retry *r, struct sim_clock *clock, const struct policy *p)
{
	memset(r, 0, sizeof(*r));
	r->ops = &ops;
	r->ctx = clock;
	r->op = OP_CONNECT;
	r->mode = MODE_RETRY;
	r->policy = p;
	r->dest = "simulated";
	r->began = r->attempt_began = clock->now;
	r->limit = DUR_NONE;
	r->attempt = 1;
}

bool sim_retry_failed(struct retry *r, int error, struct decision *d)
{
	struct err e = { .domain = ERR_ERRNO, .code = error };

	if (!retry_decide(r, e, 0, d))
		return false;
	r->attempt++;
	r->previous_wait = d->wait;
	r->waited = dur_add(r->waited, d->wait);
	r->attempt_began = dur_add(clock_now(r->ctx), d->wait);
	return true;
}
