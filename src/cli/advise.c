/* SPDX-License-Identifier: MIT */
#include "cli/advise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/compat.h"
#include "cli/need.h"
#include "policy/backoff.h"
#include "policy/builtin.h"

/* Calls that begin in outages: of a search, and of what is told in the end. */
#define CALLS_SEARCH 600
#define CALLS_FINAL 10000

#define ATTEMPTS_MAX 60
#define RESAMPLES 1000

static const int64_t bases[] = { 20 * DUR_MS, 50 * DUR_MS, 100 * DUR_MS, 200 * DUR_MS,
	                         500 * DUR_MS, 1 * DUR_S, 2 * DUR_S, 5 * DUR_S, 10 * DUR_S };
static const int64_t caps[] = { 200 * DUR_MS, 500 * DUR_MS, 1 * DUR_S, 2 * DUR_S, 5 * DUR_S,
	                        10 * DUR_S, 20 * DUR_S, 30 * DUR_S, 60 * DUR_S };

/* What came of the calls that began in one outage. */
struct share {
	double calls, successes;
};

struct trial {
	const struct advice_world *w;
	const struct sim_outages *outages; /* of w, or some of them */
	size_t count;                      /* calls */
	struct share *shares;              /* one per outage; NULL: not wanted */
};

struct meeting {
	const struct sim_outages *outages;
	int64_t latency;
};

static int attempt(struct sim_call *call)
{
	const struct meeting *m = call->world;

	if (!sim_outages_cover(m->outages, call->now))
		return 0;
	call->now = dur_add(call->now, m->latency);
	return ECONNREFUSED;
}

static int64_t time_down(const struct sim_outages *o)
{
	int64_t down = 0;

	for (size_t i = 0; i < o->count; i++)
		down = dur_add(down, o->list[i].end - o->list[i].start);
	return down;
}

/*
 * <t->count> calls, spread evenly over the time that the destination is down: as
 * they would come at a steady pace. Number n has the same random numbers whatever
 * the policy.
 */
static void run(const struct trial *t, const struct policy *p, struct advice_figures *f)
{
	const struct sim_outages *o = t->outages;
	struct meeting meeting = { o, t->w->latency };
	int64_t down = time_down(o), passed = 0;
	double attempts = 0, late = 0;
	struct sim_times lasted = { .at = NULL };
	size_t at = 0;

	for (size_t n = 0; n < t->count; n++) {
		int64_t offset = (int64_t)((double)down * ((double)n + 0.5) / (double)t->count);
		struct sim_call call = { .policy = p,
			                 .attempt = attempt,
			                 .world = &meeting,
			                 .jitter = sim_stream(1, SIM_STREAM_JITTER, n) };
		int64_t begin;

		while (at + 1 < o->count &&
		       offset >= passed + o->list[at].end - o->list[at].start) {
			passed += o->list[at].end - o->list[at].start;
			at++;
		}
		begin = call.now = o->list[at].start + (offset - passed);
		if (t->shares)
			t->shares[at].calls++;
		if (sim_call(&call) == 0) {
			sim_times_add(&lasted, call.now - begin);
			late += (double)(call.now - o->list[at].end) / (double)DUR_MS;
			if (t->shares)
				t->shares[at].successes++;
		}
		attempts += call.attempts;
	}
	f->success = (double)lasted.count / (double)t->count;
	f->calls = attempts / (double)t->count;
	f->late_ms = lasted.count ? late / (double)lasted.count : NAN;
	f->longest_ms = sim_times_quantile_ms(&lasted, 0.95);
	sim_times_free(&lasted);
}

void advise_try(const struct advice_world *w, const struct policy *p,
                struct advice_figures *f)
{
	struct trial t = { w, w->outages, CALLS_FINAL, NULL };

	run(&t, p, f);
}

/* Up to a number that people write: 1, 1.5, 2, 3, 5, 7 and their tens, seconds. */
static int64_t round_up(int64_t ns)
{
	static const int64_t steps[] = { 10, 15, 20, 30, 50, 70 };

	for (int64_t unit = DUR_S / 10; unit < DUR_MAX_CONFIG; unit *= 10)
		for (size_t i = 0; i < ARRAY_LEN(steps); i++)
			if (steps[i] * unit / 10 >= ns && steps[i] * unit / 10 >= DUR_S)
				return steps[i] * unit / 10;
	return DUR_MAX_CONFIG;
}

/* A policy of so many attempts; the deadline lets all of them be made. */
static struct policy make(const struct advice_world *w, int64_t base, int64_t cap,
                          unsigned attempts)
{
	struct policy p = builtin_default();
	int64_t all = 0;

	p.name = "suggested";
	p.backoff.base = base;
	p.backoff.max = cap;
	p.max_attempts = attempts;
	for (unsigned n = 1; n < attempts; n++) {
		all = dur_add(all, backoff_wait(&p.backoff, n, false, 0, 0).ceiling);
		all = dur_add(all, w->latency);
	}
	p.deadline = round_up(dur_add(all, w->latency));
	if (p.deadline > w->within)
		p.deadline = w->within;
	return p;
}

/* The fewest attempts that reach the target; ATTEMPTS_MAX if none do. */
static unsigned fewest(const struct trial *t, int64_t base, int64_t cap)
{
	unsigned low = 2, high = ATTEMPTS_MAX;

	while (low < high) {
		unsigned middle = (low + high) / 2;
		struct policy p = make(t->w, base, cap, middle);
		struct advice_figures f;

		run(t, &p, &f);
		if (f.success >= t->w->target)
			high = middle;
		else
			low = middle + 1;
	}
	return high;
}

/* Half an outage, on average over the calls that begin in one, is its rest. */
static double mean_rest_ms(const struct sim_outages *o)
{
	double squares = 0, sum = 0;

	for (size_t i = 0; i < o->count; i++) {
		double ms = (double)(o->list[i].end - o->list[i].start) / (double)DUR_MS;

		squares += ms * ms;
		sum += ms;
	}
	return squares / sum / 2;
}

static double cost(const struct advice_figures *f, double rest_ms)
{
	return f->calls + 10 * f->late_ms / rest_ms;
}

static int64_t longest_of(const struct sim_outages *o)
{
	int64_t longest = 0;

	for (size_t i = 0; i < o->count; i++) {
		int64_t lasted = o->list[i].end - o->list[i].start;

		longest = lasted > longest ? lasted : longest;
	}
	return longest;
}

/* Waits far above or below the outages need not be tried. */
static bool is_sensible(const struct advice_world *w, int64_t longest, int64_t base, int64_t cap)
{
	if (cap < 2 * base || base >= w->within)
		return false;
	if (base == bases[0])
		return cap <= 2 * longest || cap == caps[0];
	return base <= longest && base > longest / 1000 && (cap <= longest || cap < 4 * base);
}

static void search(struct advice *a, const struct trial *t)
{
	double rest = mean_rest_ms(t->outages), best = INFINITY;
	int64_t longest = longest_of(t->outages);
	struct advice_figures figures = { .success = -1 };

	a->reached = false;
	for (size_t b = 0; b < ARRAY_LEN(bases); b++) {
		for (size_t c = 0; c < ARRAY_LEN(caps); c++) {
			struct advice_figures f;
			struct policy p;
			bool reached, better;

			if (!is_sensible(t->w, longest, bases[b], caps[c]))
				continue;
			p = make(t->w, bases[b], caps[c], fewest(t, bases[b], caps[c]));
			run(t, &p, &f);
			reached = f.success >= t->w->target;
			better = reached ? !a->reached || cost(&f, rest) < best
			                 : !a->reached && f.success > figures.success;
			if (!better)
				continue;
			a->reached = reached;
			best = cost(&f, rest);
			figures = f;
			a->policy = p;
		}
	}
}

/*
 * How much these outages tell of others: drawn again and again from themselves, each
 * with what came of its own calls.
 */
static void interval(struct advice *a, const struct share *shares, size_t count)
{
	struct prng random = sim_stream(1, SIM_STREAM_WORLD, 0);
	struct sim_times rates = { .at = NULL };

	a->low = a->high = NAN;
	if (count < ADVISE_SURE)
		return;
	for (unsigned i = 0; i < RESAMPLES; i++) {
		struct share sum = { 0, 0 };

		for (size_t n = 0; n < count; n++) {
			const struct share *one =
				&shares[prng_below(prng_next(&random), (int64_t)count - 1)];

			sum.calls += one->calls;
			sum.successes += one->successes;
		}
		/* A rate, kept as if it were a time. */
		if (sum.calls > 0)
			sim_times_add(&rates, (int64_t)(sum.successes / sum.calls *
			                                (double)DUR_S));
	}
	a->low = sim_times_quantile_ms(&rates, 0.025) / 1000;
	a->high = sim_times_quantile_ms(&rates, 0.975) / 1000;
	sim_times_free(&rates);
}

bool advise(struct advice *a, const struct advice_world *w)
{
	const struct sim_outages *o = w->outages;
	struct interval *kept = need(calloc(o->count, sizeof(*kept)));
	struct share *shares = need(calloc(o->count, sizeof(*shares)));
	struct trial all = { w, o, CALLS_FINAL, shares };
	struct policy usual = builtin_default();
	struct sim_outages fit;
	size_t count = 0;

	for (size_t i = 0; i < o->count; i++) {
		int64_t lasted = o->list[i].end - o->list[i].start;

		if (lasted > w->within)
			continue;
		kept[count] = o->list[i];
		kept[count++].end += lasted / (int64_t)o->count;
	}
	a->beyond = o->count - count;
	if (count) {
		struct trial some = { w, &fit, CALLS_SEARCH, NULL };

		sim_outages_set(&fit, kept, count);
		search(a, &some);
		sim_outages_free(&fit);
		run(&all, &a->policy, &a->found);
		interval(a, shares, o->count);
		advise_try(w, &usual, &a->usual);
	}
	free(kept);
	free(shares);
	return count > 0;
}
