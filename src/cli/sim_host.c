/* SPDX-License-Identifier: MIT */
#include "cli/sim_host.h"

#include <string.h>
#include <sys/socket.h>

#include "state/tally.h"

static int64_t host_now(void *ctx)
{
	return ((struct sim_host *)ctx)->clock->now;
}

static uint64_t host_random(void *ctx)
{
	return prng_next(&((struct sim_host *)ctx)->clock->random);
}

static struct slot *host_slot(void *ctx, const struct policy *p, const char *dest, bool *shared)
{
	(void)p;
	(void)dest;
	*shared = true;
	return &((struct sim_host *)ctx)->slot;
}

static uint64_t host_first_calls(void *ctx, const struct addr *a, int64_t length,
                                 uint64_t *recent)
{
	struct sim_host *h = ctx;
	uint64_t calls = h->calls;

	(void)a;
	*recent = tally_recent(calls, length, h->since, h->clock->now);
	h->calls = 0;
	h->since = h->clock->now;
	return calls;
}

static const struct engine_ops ops = {
	.now = host_now,
	.random = host_random,
	.slot = host_slot,
	.first_calls = host_first_calls,
	.stopping = sim_never_stops,
	.log = sim_log_nothing,
	.log_wants = sim_wants_nothing,
};

static const struct addr somewhere = { .family = AF_INET };

static enum guard_answer granted(struct sim_host_call *c, enum guard_answer answer)
{
	if (answer != GUARD_GO)
		return answer;
	if (c->made)
		c->retry.attempt++;
	c->made = true;
	c->retry.attempt_began = c->retry.ops->now(c->retry.ctx);
	return GUARD_GO;
}

enum guard_answer sim_host_call(struct sim_host_call *c, struct sim_host *h,
                                const struct policy *p, int64_t *until)
{
	memset(c, 0, sizeof(*c));
	h->calls++;
	c->retry = (struct retry){ .ops = &ops,
		                   .ctx = h,
		                   .op = OP_CONNECT,
		                   .mode = MODE_RETRY,
		                   .policy = p,
		                   .dest = "simulated",
		                   .addr = &somewhere,
		                   .began = h->clock->now,
		                   .attempt_began = h->clock->now,
		                   .limit = DUR_NONE,
		                   .attempt = 1,
		                   .guard = &c->guard };
	return granted(c, retry_first_ask(&c->retry, &c->error, until));
}

enum guard_answer sim_host_ask(struct sim_host_call *c, int64_t *until)
{
	return granted(c, retry_ask(&c->retry, c->error, !c->made, until));
}

void sim_host_go(struct sim_host_call *c)
{
	granted(c, GUARD_GO);
}

bool sim_host_failed(struct sim_host_call *c, int error, int64_t *until)
{
	struct decision d;

	c->error = (struct err){ .domain = ERR_ERRNO, .code = error };
	if (!retry_decide(&c->retry, c->error, 0, &d))
		return false;
	c->retry.previous_wait = d.wait;
	c->retry.waited = dur_add(c->retry.waited, d.wait);
	*until = dur_add(c->retry.ops->now(c->retry.ctx), d.wait);
	return true;
}

void sim_host_succeeded(struct sim_host_call *c)
{
	retry_succeeded(&c->retry);
}
