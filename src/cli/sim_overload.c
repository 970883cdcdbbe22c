/* SPDX-License-Identifier: MIT */
#include "cli/sim_overload.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/sim.h"
#include "cli/sim_guard.h"
#include "cli/sim_heap.h"
#include "cli/sim_retry.h"
#include "policy/classify.h"

enum what { CALL_BEGINS, RETRY_BEGINS, ARRIVES, ANSWERED };

/* A call that is under way; when it is over its place is used again. */
struct call {
	struct retry retry;
	uint32_t group;
	uint16_t ticket;     /* of the attempt under way */
	enum err_class paid; /* the class of the failure before it */
	uint32_t next_free;  /* of a free place */
};

#define NO_CALL UINT32_MAX

struct world {
	const struct sim_overload *o;
	struct sim_overload_result *r;
	struct sim_clock clock;
	struct prng arrivals;
	struct sim_heap heap;
	struct sim_guard *guards;
	struct call *calls;
	size_t call_count, call_room;
	uint32_t free_call;
	int64_t service;    /* ns per request */
	int64_t busy_until; /* when the server has done all that it has taken */
	int64_t patience;   /* ns that a client waits for an answer */
	bool restarted;     /* the server, after the outage */
	struct sim_times latencies;
	size_t step_room;
	bool failed; /* no memory */
};

struct sim_overload sim_overload_default(void)
{
	return (struct sim_overload){ .clients = 1000,
		                      .groups = 1000,
		                      .rate = 800,
		                      .capacity = 1000,
		                      .queue = 1000,
		                      .timeout = 500 * DUR_MS,
		                      .latency = DUR_MS,
		                      .duration = 40 * DUR_S,
		                      .outage_from = 5 * DUR_S,
		                      .outage_to = 10 * DUR_S,
		                      .seed = 42 };
}

/* The step that <at> is in; NULL: no memory. */
static struct sim_overload_step *step(struct world *w, int64_t at)
{
	size_t n = (size_t)(at / SIM_OVERLOAD_STEP);

	if (n >= w->step_room) {
		size_t room = n < 500 ? 1000 : 2 * n;
		struct sim_overload_step *steps = reallocarray(w->r->steps, room, sizeof(*steps));

		if (!steps) {
			w->failed = true;
			return NULL;
		}
		for (size_t i = w->step_room; i < room; i++)
			steps[i] = (struct sim_overload_step){ 0 };
		w->r->steps = steps;
		w->step_room = room;
	}
	if (n >= w->r->step_count)
		w->r->step_count = n + 1;
	return &w->r->steps[n];
}

/* ------------------------------------------------------------------- calls -- */

static uint32_t call_new(struct world *w)
{
	uint32_t id = w->free_call;

	if (id != NO_CALL) {
		w->free_call = w->calls[id].next_free;
		return id;
	}
	if (w->call_count == w->call_room) {
		size_t room = w->call_room ? 2 * w->call_room : 1024;
		struct call *calls = reallocarray(w->calls, room, sizeof(*calls));

		if (!calls || room >= NO_CALL) {
			w->calls = calls ? calls : w->calls;
			w->failed = true;
			return NO_CALL;
		}
		w->calls = calls;
		w->call_room = room;
	}
	return (uint32_t)w->call_count++;
}

static void call_over(struct world *w, uint32_t id)
{
	w->calls[id].next_free = w->free_call;
	w->free_call = id;
}

/* An attempt of call <id> sets off, unless the breaker is against it. */
static void attempt_begins(struct world *w, uint32_t id)
{
	struct call *c = &w->calls[id];
	struct sim_guard *g = &w->guards[c->group];

	if (sim_guard_ask(g, w->o->policy, w->clock.now, w->patience, &c->ticket) ==
	    BREAKER_REFUSED) {
		w->r->refused_by_breaker++;
		call_over(w, id);
		return;
	}
	sim_heap_push(&w->heap, w->clock.now + w->o->latency, ARRIVES, id, 0);
}

/* The next call: exponential gaps make the Poisson process. */
static void schedule_next(struct world *w)
{
	double u = 1.0 - sim_uniform(prng_next(&w->arrivals));
	double gap = -log(u) / w->o->rate * (double)DUR_S;
	int64_t at = dur_add(w->clock.now, gap < 9e18 ? (int64_t)gap : DUR_NONE);

	if (at < w->o->duration)
		sim_heap_push(&w->heap, at, CALL_BEGINS, 0, 0);
}

static void call_begins(struct world *w)
{
	uint64_t client = (uint64_t)prng_below(prng_next(&w->arrivals), w->o->clients - 1);
	struct sim_overload_step *s = step(w, w->clock.now);
	uint32_t id = call_new(w);
	struct call *c;

	schedule_next(w);
	if (!s || id == NO_CALL)
		return;
	c = &w->calls[id];
	c->group = (uint32_t)(client % w->o->groups);
	c->paid = CLASS_NONE;
	sim_retry_begin(&c->retry, &w->clock, w->o->policy);
	w->r->calls++;
	s->begun++;
	sim_guard_call(&w->guards[c->group], w->o->policy, w->clock.now);
	attempt_begins(w, id);
}

static void attempt_failed(struct world *w, uint32_t id, int error)
{
	struct call *c = &w->calls[id];
	struct sim_guard *g = &w->guards[c->group];
	const struct policy *p = w->o->policy;
	struct err e = { .domain = ERR_ERRNO, .code = error };
	struct decision d;

	sim_guard_failed(g, p, w->clock.now, c->ticket,
	                 policy_retries(p, OP_CONNECT, e, 0, false), prng_next(&w->clock.random));
	if (!sim_retry_failed(&c->retry, error, &d)) {
		call_over(w, id);
		return;
	}
	if (!sim_guard_retry(g, p, w->clock.now, d.class)) {
		w->r->refused_by_budget++;
		call_over(w, id);
		return;
	}
	c->paid = d.class;
	sim_heap_push(&w->heap, c->retry.attempt_began, RETRY_BEGINS, id, 0);
}

static void attempt_succeeded(struct world *w, uint32_t id)
{
	struct call *c = &w->calls[id];
	struct sim_overload_step *s = step(w, w->clock.now);

	if (!s)
		return;
	s->answered++;
	step(w, c->retry.began)->succeeded++;
	w->r->succeeded++;
	sim_times_add(&w->latencies, w->clock.now - c->retry.began);
	sim_guard_succeeded(&w->guards[c->group], w->o->policy, w->clock.now, c->ticket, c->paid);
	call_over(w, id);
}

/* ------------------------------------------------------------------ server -- */

/* What becomes of a request that arrives now: 0 or an errno value, *at: when. */
static int serve(struct world *w, int64_t *at)
{
	const struct sim_overload *o = w->o;
	int64_t now = *at = w->clock.now;

	if (now >= o->outage_from && now < o->outage_to) {
		w->r->knocks++;
		return ECONNREFUSED;
	}
	if (now >= o->outage_to && !w->restarted) {
		w->restarted = true;
		w->busy_until = now;
	}
	if (w->busy_until < now)
		w->busy_until = now;
	if (w->busy_until - now > (int64_t)(o->queue - 1) * w->service)
		return ECONNREFUSED;
	*at = w->busy_until += w->service;
	if (now < o->outage_from && *at > o->outage_from && o->outage_to > o->outage_from) {
		*at = o->outage_from;
		return ECONNRESET;
	}
	return 0;
}

static void arrives(struct world *w, uint32_t id)
{
	struct sim_overload_step *s = step(w, w->clock.now);
	int64_t until = dur_add(w->calls[id].retry.attempt_began, w->patience);
	int64_t at;
	int error;

	if (!s)
		return;
	s->attempts++;
	w->r->attempts++;
	error = serve(w, &at);
	at += w->o->latency;
	if (at > until) {
		w->r->stale += error == 0;
		error = ETIMEDOUT;
		at = until;
	}
	sim_heap_push(&w->heap, at, ANSWERED, id, (uint64_t)error);
}

/* ------------------------------------------------------------------ results -- */

static bool served_well(const struct sim_overload_step *from, size_t count)
{
	uint64_t begun = 0, succeeded = 0;

	for (size_t i = 0; i < count; i++) {
		begun += from[i].begun;
		succeeded += from[i].succeeded;
	}
	return begun > 0 && succeeded * 100 >= begun * 95;
}

#define SECOND ((size_t)(DUR_S / SIM_OVERLOAD_STEP))

static double recovery_s(const struct world *w)
{
	int64_t end = w->o->outage_to;
	size_t steps = (size_t)(w->o->duration / SIM_OVERLOAD_STEP);
	size_t first = (size_t)((end + SIM_OVERLOAD_STEP - 1) / SIM_OVERLOAD_STEP);

	if (w->o->outage_from >= end)
		return 0;
	for (size_t i = first; i + SECOND <= steps && i + SECOND <= w->r->step_count; i++)
		if (served_well(&w->r->steps[i], SECOND))
			return (double)((int64_t)i * SIM_OVERLOAD_STEP - end) / (double)DUR_S;
	return -1;
}

static double peak_per_s(const struct sim_overload_result *r)
{
	uint64_t now = 0, most = 0;

	for (size_t i = 0; i < r->step_count; i++) {
		now += r->steps[i].attempts;
		if (i >= SECOND)
			now -= r->steps[i - SECOND].attempts;
		most = now > most ? now : most;
	}
	return (double)most;
}

static void fill(struct world *w)
{
	struct sim_overload_result *r = w->r;

	if (r->calls > 0) {
		r->success = (double)r->succeeded / (double)r->calls;
		r->attempts_per_call = (double)r->attempts / (double)r->calls;
	}
	r->mean_ms = sim_times_mean_ms(&w->latencies);
	r->p50_ms = sim_times_quantile_ms(&w->latencies, 0.50);
	r->p95_ms = sim_times_quantile_ms(&w->latencies, 0.95);
	r->p99_ms = sim_times_quantile_ms(&w->latencies, 0.99);
	r->peak_per_s = peak_per_s(r);
	r->recovery_s = recovery_s(w);
}

static void happen(struct world *w, const struct sim_event *e)
{
	w->clock.now = e->at;
	switch ((enum what)e->what) {
	case CALL_BEGINS:
		call_begins(w);
		break;
	case RETRY_BEGINS:
		attempt_begins(w, e->who);
		break;
	case ARRIVES:
		arrives(w, e->who);
		break;
	case ANSWERED:
		if (e->data == 0)
			attempt_succeeded(w, e->who);
		else
			attempt_failed(w, e->who, (int)e->data);
		break;
	}
}

bool sim_overload(const struct sim_overload *o, struct sim_overload_result *r)
{
	struct world w = { .o = o, .r = r, .free_call = NO_CALL };
	struct sim_event e;
	bool ok;

	*r = (struct sim_overload_result){ 0 };
	w.clock.random = sim_stream(o->seed, SIM_STREAM_JITTER, 0);
	w.arrivals = sim_stream(o->seed, SIM_STREAM_WORLD, 0);
	w.service = (int64_t)((double)DUR_S / o->capacity);
	w.patience = o->timeout < o->policy->attempt_timeout ? o->timeout
	                                                     : o->policy->attempt_timeout;
	w.guards = calloc(o->groups, sizeof(*w.guards));
	if (w.guards) {
		schedule_next(&w);
		while (!w.failed && sim_heap_pop(&w.heap, &e))
			happen(&w, &e);
		fill(&w);
	}
	ok = w.guards && !w.failed && !w.heap.failed;
	free(w.guards);
	free(w.calls);
	sim_heap_free(&w.heap);
	sim_times_free(&w.latencies);
	if (!ok)
		sim_overload_free(r);
	return ok;
}

void sim_overload_free(struct sim_overload_result *r)
{
	free(r->steps);
	*r = (struct sim_overload_result){ 0 };
}
