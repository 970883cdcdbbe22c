/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/need.h"
#include "cli/sim.h"

static int by_start(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void merge(struct sim_outages *o)
{
	size_t kept = 0;

	qsort(o->list, o->count, sizeof(*o->list), by_start);
	for (size_t i = 0; i < o->count; i++) {
		struct interval *last = &o->list[kept ? kept - 1 : 0];

		if (kept == 0 || o->list[i].start > last->end)
			o->list[kept++] = o->list[i];
		else if (o->list[i].end > last->end)
			last->end = o->list[i].end;
	}
	o->count = kept;
}

void sim_outages_set(struct sim_outages *o, const struct interval *list, size_t count)
{
	*o = (struct sim_outages){ .count = count, .given = count };
	o->list = need(reallocarray(NULL, count + 1, sizeof(*o->list)));
	for (size_t i = 0; i < count; i++) {
		o->list[i] = list[i];
		o->sum += list[i].end - list[i].start;
	}
	merge(o);
}

void sim_outages_draw(struct sim_outages *o, const struct outage *shape, int64_t horizon,
                      uint64_t seed)
{
	struct prng p = sim_stream(seed, SIM_STREAM_OUTAGES, 0);
	struct interval *list = NULL;
	size_t count = 0, room = 0;
	double at = 0;

	for (;;) {
		at -= (double)shape->mean_gap * log(1 - sim_uniform(prng_next(&p)));
		if (at >= (double)horizon)
			break;
		if (count == room) {
			room = room ? 2 * room : 256;
			list = need(reallocarray(list, room, sizeof(*list)));
		}
		list[count].start = (int64_t)at;
		list[count].end = list[count].start + shape->min +
		                  prng_below(prng_next(&p), shape->max - shape->min);
		count++;
	}
	sim_outages_set(o, list, count);
	free(list);
}

void sim_outages_free(struct sim_outages *o)
{
	free(o->list);
	*o = (struct sim_outages){ .list = NULL };
}

/* How many of them begin at or before <at>. */
static size_t begun(const struct sim_outages *o, int64_t at)
{
	size_t low = 0, high = o->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (o->list[middle].start <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool sim_outages_cover(const struct sim_outages *o, int64_t at)
{
	size_t n = begun(o, at);

	return n > 0 && at < o->list[n - 1].end;
}

int64_t sim_outages_down(const struct sim_outages *o, int64_t until)
{
	int64_t down = 0;

	for (size_t i = 0; i < o->count && o->list[i].start < until; i++)
		down += (o->list[i].end < until ? o->list[i].end : until) - o->list[i].start;
	return down;
}

int64_t sim_outage_window(const struct sim_outage_world *w)
{
	return dur_add(w->every * (int64_t)(w->requests - 1), w->latency);
}

/* One request under way. */
struct request {
	const struct sim_outage_world *w;
	struct prng luck;
	struct sim_times *calls;
	uint64_t wasted;
};

static int attempt(struct sim_call *call)
{
	struct request *r = call->world;
	/* Drawn whether the server is up or not: the n-th attempt of a request has
	 * the same luck under every policy. */
	bool unlucky = prng_below(prng_next(&r->luck), PPM - 1) < r->w->fail;
	bool down = sim_outages_cover(r->w->outages, call->now);

	sim_times_add(r->calls, call->now);
	r->wasted += down;
	call->now = dur_add(call->now, r->w->latency);
	return down || unlucky ? r->w->error : 0;
}

void sim_outage_run(const struct sim_outage_world *w, const struct policy *p, uint64_t seed,
                    struct sim_result *result, struct sim_times *calls)
{
	struct request r = { .w = w, .calls = calls };
	struct sim_times took = { .at = NULL }, lost = { .at = NULL };

	sim_times_clear(calls);
	for (uint64_t i = 0; i < w->requests; i++) {
		int64_t began = w->every * (int64_t)i;
		struct sim_call call = { .policy = p,
		                         .attempt = attempt,
		                         .world = &r,
		                         .now = began,
		                         .jitter = sim_stream(seed, SIM_STREAM_JITTER, i) };
		int error;

		r.luck = sim_stream(seed, SIM_STREAM_WORLD, i);
		error = sim_call(&call);
		sim_times_add(error ? &lost : &took, call.now - began);
	}
	*result = (struct sim_result){ .policy = p->name, .wasted = r.wasted };
	sim_result_fill(result, &took, &lost, calls);
	sim_times_free(&took);
	sim_times_free(&lost);
}
