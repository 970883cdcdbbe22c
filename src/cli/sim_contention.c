/* SPDX-License-Identifier: MIT */
#include "cli/sim_contention.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sim.h"
#include "cli/sim_heap.h"
#include "cli/sim_retry.h"
#include "policy/builtin.h"

/* The four messages, by where they arrive. */
enum message { READ_AT_SERVER, VERSION_AT_CLIENT, WRITE_AT_SERVER, ANSWER_AT_CLIENT };

struct world {
	const struct sim_contention *c;
	struct policy policy; /* as it is obeyed here */
	struct sim_clock clock;
	struct prng net;
	struct sim_heap heap;
	struct retry *clients;
	uint64_t version;
	uint64_t writes;
	unsigned successes;
};

struct sim_contention sim_contention_default(void)
{
	return (struct sim_contention){ .runs = 100,
		                        .seed = 42,
		                        .latency = 10 * DUR_MS,
		                        .spread = 2 * DUR_MS };
}

void sim_contention_policy(struct policy *p, enum jitter jitter, int64_t ratio)
{
	*p = builtin_default();
	p->name = "contention";
	/* The experiment's exponential waits begin at twice its base. */
	p->backoff.base = jitter == JITTER_DECORRELATED ? 5 * DUR_MS : 10 * DUR_MS;
	p->backoff.max = 2 * DUR_S;
	p->backoff.cap = CAP_SOFT;
	p->backoff.jitter = jitter;
	p->backoff.jitter_ratio = ratio;
}

/* |N(latency, spread)|, by Box and Muller. */
static int64_t delay(struct world *w)
{
	double u = 1.0 - sim_uniform(prng_next(&w->net)); /* (0, 1] */
	double v = sim_uniform(prng_next(&w->net));
	double normal = sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);

	return (int64_t)fabs((double)w->c->latency + normal * (double)w->c->spread);
}

static void send_message(struct world *w, int64_t at, enum message m, uint32_t client,
                         uint64_t data)
{
	sim_heap_push(&w->heap, at + delay(w), m, client, data);
}

static bool write_row(struct world *w, uint64_t version)
{
	w->writes++;
	if (version != w->version)
		return false;
	w->version++;
	return true;
}

static void answer(struct world *w, uint32_t client, bool taken)
{
	struct decision d;

	if (taken)
		w->successes++;
	else if (sim_retry_failed(&w->clients[client], ECONNREFUSED, &d))
		send_message(w, w->clock.now + (w->c->no_wait ? 0 : d.wait), READ_AT_SERVER,
		             client, 0);
}

static void deliver(struct world *w, const struct sim_event *e)
{
	int64_t now = w->clock.now = e->at;

	switch ((enum message)e->what) {
	case READ_AT_SERVER:
		send_message(w, now, VERSION_AT_CLIENT, e->who, w->version);
		break;
	case VERSION_AT_CLIENT:
		send_message(w, now, WRITE_AT_SERVER, e->who, e->data);
		break;
	case WRITE_AT_SERVER:
		send_message(w, now, ANSWER_AT_CLIENT, e->who, write_row(w, e->data));
		break;
	case ANSWER_AT_CLIENT:
		answer(w, e->who, e->data != 0);
		break;
	}
}

static void run(struct world *w, unsigned number)
{
	struct sim_event e;

	w->clock.now = 0;
	w->clock.random = sim_stream(w->c->seed, SIM_STREAM_JITTER, number);
	w->net = sim_stream(w->c->seed, SIM_STREAM_WORLD, number);
	w->version = w->writes = w->successes = 0;
	for (uint32_t i = 0; i < w->c->clients; i++) {
		sim_retry_begin(&w->clients[i], &w->clock, &w->policy);
		send_message(w, 0, READ_AT_SERVER, i, 0);
	}
	while (sim_heap_pop(&w->heap, &e))
		deliver(w, &e);
}

/* Half the width of the 95 % interval of the mean of <n> values. */
static double interval(double two_sd, size_t n)
{
	return n > 1 ? 0.98 * two_sd / sqrt((double)n) : 0;
}

/* Nobody gives up; whatever the policy retries, a lost write is retried. */
static void lift_limits(struct policy *p)
{
	p->max_attempts = UINT32_MAX;
	p->deadline = DUR_NONE;
	p->retry = builtin_default().retry;
}

bool sim_contention(const struct sim_contention *c, struct sim_contention_result *r)
{
	struct world w = { .c = c, .policy = *c->policy };
	double *calls = calloc(c->runs, sizeof(*calls));
	double *ms = calloc(c->runs, sizeof(*ms));
	double successes = 0;
	bool ok;

	if (!c->limits)
		lift_limits(&w.policy);
	w.clients = calloc(c->clients, sizeof(*w.clients));
	ok = calls && ms && w.clients;
	for (unsigned n = 0; ok && n < c->runs; n++) {
		run(&w, n);
		calls[n] = (double)w.writes;
		ms[n] = (double)w.clock.now / (double)DUR_MS;
		successes += w.successes;
		ok = !w.heap.failed;
	}
	if (ok) {
		struct sim_stat of_calls = sim_stat(calls, c->runs);
		struct sim_stat of_ms = sim_stat(ms, c->runs);

		*r = (struct sim_contention_result){
			.calls = of_calls.mean,
			.calls_ci = interval(of_calls.two_sd, c->runs),
			.ms = of_ms.mean,
			.ms_ci = interval(of_ms.two_sd, c->runs),
			.success = successes / c->runs / c->clients,
		};
	}
	sim_heap_free(&w.heap);
	free(w.clients);
	free(calls);
	free(ms);
	return ok;
}
