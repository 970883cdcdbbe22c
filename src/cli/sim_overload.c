/* SPDX-License-Identifier: MIT */
#include "cli/sim_overload.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/sim.h"
#include "cli/sim_heap.h"
#include "cli/sim_host.h"
#include "policy/pace.h"

enum what { CALL_BEGINS, ASKS, ARRIVES, ANSWERED };

/* A call that is under way; when it is over its place is used again. They do not move:
 * the engine has pointers into them. */
struct call {
	struct sim_host_call call;
	uint32_t next_free; /* of a free place */
};

#define CALLS_BLOCK 1024

#define NO_CALL UINT32_MAX

struct world {
	const struct sim_overload *o;
	struct sim_overload_result *r;
	struct sim_clock clock;
	struct prng arrivals;
	struct sim_heap heap;
	struct sim_host *hosts;
	struct policy policy;
	struct call **calls; /* in blocks of CALLS_BLOCK */
	size_t call_count, block_count;
	uint32_t free_call;
	int64_t service;    /* ns per request */
	int64_t busy_until; /* when the server has done all that it has taken */
	int64_t patience;   /* ns that a client waits for an answer */
	int64_t prompt;     /* ns that a call may take to be a prompt one */
	bool restarted;     /* the server, after the outage */
	struct sim_times latencies;
	size_t step_room;
	bool failed; /* no memory */
};

struct sim_overload sim_overload_default(void)
{
	return (struct sim_overload){ .clients = 1000,
		                      .hosts = 1000,
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

static struct call *call_of(const struct world *w, uint32_t id)
{
	return &w->calls[id / CALLS_BLOCK][id % CALLS_BLOCK];
}

static uint32_t call_new(struct world *w)
{
	uint32_t id = w->free_call;

	if (id != NO_CALL) {
		w->free_call = call_of(w, id)->next_free;
		return id;
	}
	if (w->call_count == w->block_count * CALLS_BLOCK) {
		struct call **calls = reallocarray(w->calls, w->block_count + 1, sizeof(*calls));

		w->calls = calls ? calls : w->calls;
		if (!calls || w->call_count >= NO_CALL - CALLS_BLOCK ||
		    !(calls[w->block_count] = calloc(CALLS_BLOCK, sizeof(**calls)))) {
			w->failed = true;
			return NO_CALL;
		}
		w->block_count++;
	}
	return (uint32_t)w->call_count++;
}

static void call_over(struct world *w, uint32_t id)
{
	call_of(w, id)->next_free = w->free_call;
	w->free_call = id;
}

/* As if all who wait were woken by the first success. */
static bool is_stampede(const struct world *w, const struct call *c)
{
	const struct slot *slot = c->call.guard.slot;

	return w->o->at_once && slot && pace_state(atomic_load(&slot->pace), w->clock.now) == PACE_RAMP;
}

/* What came of asking whether an attempt of call <id> may be made. */
static void asked(struct world *w, uint32_t id, enum guard_answer answer, int64_t until)
{
	struct call *c = call_of(w, id);

	if (answer == GUARD_PARK && is_stampede(w, c)) {
		sim_host_go(&c->call);
		answer = GUARD_GO;
	}
	switch (answer) {
	case GUARD_GO:
		sim_heap_push(&w->heap, w->clock.now + w->o->latency, ARRIVES, id, 0);
		break;
	case GUARD_PARK:
		sim_heap_push(&w->heap, until, ASKS, id, 0);
		break;
	case GUARD_REFUSED:
		w->r->refused_by_breaker += c->call.retry.ended == REASON_BREAKER;
		call_over(w, id);
		break;
	}
}

static void asks(struct world *w, uint32_t id)
{
	int64_t until = 0;
	enum guard_answer answer = sim_host_ask(&call_of(w, id)->call, &until);

	asked(w, id, answer, until);
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
	enum guard_answer answer;
	int64_t until = 0;

	schedule_next(w);
	if (!s || id == NO_CALL)
		return;
	w->r->calls++;
	s->begun++;
	answer = sim_host_call(&call_of(w, id)->call, &w->hosts[client % w->o->hosts], &w->policy,
	                       &until);
	asked(w, id, answer, until);
}

static void attempt_failed(struct world *w, uint32_t id, int error)
{
	struct sim_host_call *c = &call_of(w, id)->call;
	int64_t until = 0;

	if (sim_host_failed(c, error, &until)) {
		sim_heap_push(&w->heap, until, ASKS, id, 0);
		return;
	}
	w->r->refused_by_budget += c->retry.ended == REASON_BUDGET;
	call_over(w, id);
}

static void attempt_succeeded(struct world *w, uint32_t id)
{
	struct sim_host_call *c = &call_of(w, id)->call;
	struct sim_overload_step *s = step(w, w->clock.now);
	int64_t took = w->clock.now - c->retry.began;

	if (!s)
		return;
	s->answered++;
	s = step(w, c->retry.began);
	s->succeeded++;
	s->prompt += took <= w->prompt;
	w->r->succeeded++;
	sim_times_add(&w->latencies, took);
	sim_host_succeeded(c);
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
		step(w, now)->knocks++;
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

/* A retry gets no more time than the deadline leaves, as in engine/connect. */
static int64_t patience_ends(const struct world *w, const struct retry *r)
{
	int64_t until = dur_add(r->attempt_began, w->patience);
	int64_t deadline = dur_add(r->began, w->policy.deadline);

	return r->attempt > 1 && deadline < until ? deadline : until;
}

static void arrives(struct world *w, uint32_t id)
{
	struct sim_overload_step *s = step(w, w->clock.now);
	int64_t until = patience_ends(w, &call_of(w, id)->call.retry);
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

#define SECOND ((size_t)(DUR_S / SIM_OVERLOAD_STEP))

static bool served_well(const struct sim_overload_step *from, size_t count)
{
	uint64_t begun = 0, prompt = 0;

	for (size_t i = 0; i < count; i++) {
		begun += from[i].begun;
		prompt += from[i].prompt;
	}
	return begun > 0 && prompt * 100 >= begun * 95;
}

static void recovery(const struct world *w)
{
	struct sim_overload_result *r = w->r;
	int64_t end = w->o->outage_to;
	size_t steps = (size_t)(w->o->duration / SIM_OVERLOAD_STEP);
	size_t first = (size_t)((end + SIM_OVERLOAD_STEP - 1) / SIM_OVERLOAD_STEP);

	if (w->o->outage_from >= end)
		return;
	r->recovery_s = -1;
	if (steps > r->step_count)
		steps = r->step_count;
	for (size_t i = first; i + SECOND <= steps; i += SECOND)
		r->bad_s += !served_well(&r->steps[i], SECOND);
	for (size_t i = first; i + 2 * SECOND <= steps; i++) {
		if (!served_well(&r->steps[i], 2 * SECOND))
			continue;
		r->recovery_s = (double)((int64_t)i * SIM_OVERLOAD_STEP - end) / (double)DUR_S;
		return;
	}
}

/* The most in any second of what is counted at <offset> of a step. */
static double peak_per_s(const struct sim_overload_result *r, size_t offset)
{
	uint64_t now = 0, most = 0;

	for (size_t i = 0; i < r->step_count; i++) {
		now += *(const uint32_t *)((const char *)&r->steps[i] + offset);
		if (i >= SECOND)
			now -= *(const uint32_t *)((const char *)&r->steps[i - SECOND] + offset);
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
	r->peak_per_s = peak_per_s(r, offsetof(struct sim_overload_step, attempts));
	r->knock_peak = peak_per_s(r, offsetof(struct sim_overload_step, knocks));
	recovery(w);
}

static void happen(struct world *w, const struct sim_event *e)
{
	w->clock.now = e->at;
	switch ((enum what)e->what) {
	case CALL_BEGINS:
		call_begins(w);
		break;
	case ASKS:
		asks(w, e->who);
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

/* The policy as it is here: no call is of a program that retries by itself. */
static bool prepare(struct world *w, const struct sim_overload *o)
{
	w->policy = *o->policy;
	w->policy.layering = LAYERING_IGNORE;
	/* The clients are processes, all of them in this one. */
	w->policy.carry = false;
	w->clock.random = sim_stream(o->seed, SIM_STREAM_JITTER, 0);
	w->arrivals = sim_stream(o->seed, SIM_STREAM_WORLD, 0);
	w->service = (int64_t)((double)DUR_S / o->capacity);
	w->patience = o->timeout < w->policy.attempt_timeout ? o->timeout
	                                                     : w->policy.attempt_timeout;
	w->prompt = dur_add(2 * o->latency + w->service, SIM_OVERLOAD_PROMPT);
	w->hosts = calloc(o->hosts, sizeof(*w->hosts));
	for (unsigned i = 0; w->hosts && i < o->hosts; i++)
		w->hosts[i].clock = &w->clock;
	return w->hosts != NULL;
}

bool sim_overload(const struct sim_overload *o, struct sim_overload_result *r)
{
	struct world w = { .o = o, .r = r, .free_call = NO_CALL };
	struct sim_event e;
	bool ok;

	*r = (struct sim_overload_result){ 0 };
	ok = prepare(&w, o);
	if (ok) {
		schedule_next(&w);
		while (!w.failed && sim_heap_pop(&w.heap, &e))
			happen(&w, &e);
		fill(&w);
		ok = !w.failed && !w.heap.failed;
	}
	free(w.hosts);
	for (size_t i = 0; i < w.block_count; i++)
		free(w.calls[i]);
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
