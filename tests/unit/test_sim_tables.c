/* SPDX-License-Identifier: MIT */
/* The simulator against published and computed figures: the outage timeline, the
 * published run itself, the herd, the schedules of others, and layers of retries. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/sim.h"
#include "cli/sim_legacy.h"
#include "cli/sim_policies.h"
#include "config/timeline.h"
#include "policy/backoff.h"
#include "policy/builtin.h"
#include "tests/unit/unit.h"

/* -------------------------------------------------- the outage timeline -- */

/* As a figure is given: the mean over 60 seeds +- two standard deviations of a run
 * (NOT_TOLD: ours count), rounded to <unit>. */
struct figure {
	double mean, two_sd, unit;
};

#define RUNS 20
#define NOT_TOLD (-1)

/* Our mean of 20 runs and theirs of 60 differ by no more than 3.5 standard errors of
 * that difference: 40 figures are compared, so two would be met by chance. */
static void agrees(const char *policy, const char *what, const double *values,
                   struct figure f)
{
	struct sim_stat ours = sim_stat(values, RUNS);
	double two_sd = f.two_sd >= 0 ? f.two_sd : ours.two_sd;
	double room = 3.5 * two_sd / 2 * sqrt(1.0 / 60 + 1.0 / RUNS) + f.unit;

	ck_assert_msg(fabs(ours.mean - f.mean) <= room, "%s, %s: %.4f +- %.4f, expected %.4f +- %.4f",
	              policy, what, ours.mean, ours.two_sd, f.mean, f.two_sd);
}

static const struct row {
	const char *name;
	const char *policy; /* as the command line has it */
	struct figure success, attempts, mean, p95, p99;
} outage_rows[] = {
	{ "no retry", "none", { 88.88, 0.22, 0.005 }, { 1, 0, 0.0005 }, { 20, 0, 0.05 },
	  { 20, 0, 0.5 }, { 20, 0, 0.5 } },
	{ "fixed 100 ms, 4", "fixed-100ms", { 99.42, 0.05, 0.005 }, { 1.198, 0.002, 0.0005 },
	  { 41.8, 0.3, 0.05 }, { 260, 0, 0.5 }, { 380, 0, 0.5 } },
	{ "40 ms x2 (0.5-1.5), 4", "backoff-40ms", { 98.98, 0.15, 0.005 },
	  { 1.237, 0.003, 0.0005 }, { 40.0, 0.7, 0.05 }, { 193, 5, 0.5 }, { 398, NOT_TOLD, 0.5 } },
	{ "40 ms x2 none, 4", "no-jitter", { 99.26, 0.05, 0.005 }, { 1.236, 0.002, 0.0005 },
	  { 40.5, 0.2, 0.05 }, { 180, 0, 0.5 }, { 360, 0, 0.5 } },
	{ "40 ms x2 full, 4", "full", { 96.33, 0.19, 0.005 }, { 1.262, 0.003, 0.0005 },
	  { 29.8, 0.5, 0.05 }, { 85, 13, 0.5 }, { 262, NOT_TOLD, 0.5 } },
	{ "40 ms x2 (0.5-1.5), 5", "x=base:40ms,cap:soft,attempts:5", { 99.95, 0.04, 0.005 },
	  { 1.247, 0.003, 0.0005 }, { 46.1, 0.5, 0.05 }, { 217, 6, 0.5 }, { 472, NOT_TOLD, 0.5 } },
	{ "100 ms x2 full, 5, cap 5 s", "x=jitter:full", { 99.81, 0.08, 0.005 },
	  { 1.237, 0.004, 0.0005 }, { 48.8, 0.9, 0.05 }, { 257, 5, 0.5 }, { 573, NOT_TOLD, 0.5 } },
	{ "default", "default", { 100, 0.01, 0.005 }, { 1.184, 0.003, 0.0005 },
	  { 52.6, 1.1, 0.05 }, { 308, 7, 0.5 }, { 616, NOT_TOLD, 0.5 } },
	{ "container", "container", { 100, 0.01, 0.005 }, { 1.117, 0.003, 0.0005 },
	  { 163, 6, 0.5 }, { 1215, 11, 0.5 }, { 1326, NOT_TOLD, 0.5 } },
};

static void load_timeline(struct sim_outages *o)
{
	struct arena *keep = arena_new(), *scratch = arena_new();
	struct timeline t;
	char why[256];
	struct fmt f;

	fmt_init(&f, why, sizeof(why));
	ck_assert(timeline_load(&t, TOP_SRCDIR "/conf/examples/outages.txt", keep, scratch, &f));
	sim_outages_set(o, t.list, t.count);
	arena_free(keep);
	arena_free(scratch);
}

static void outage_row(const struct row *row)
{
	struct sim_policies s = { .world = SIM_OUTAGE };
	double success[RUNS], attempts[RUNS], mean[RUNS], p95[RUNS], p99[RUNS];
	struct sim_times calls = { .at = NULL };
	struct sim_outage_world w;
	struct sim_outages o;

	load_timeline(&o);
	w = sim_legacy_world(&o);
	ck_assert(sim_policies_add(&s, row->policy));
	for (unsigned i = 0; i < RUNS; i++) {
		struct sim_result r;

		sim_outage_run(&w, &s.list[0].policy, 42 + i, &r, &calls);
		success[i] = 100 * r.success;
		attempts[i] = r.attempts;
		mean[i] = r.mean_ms;
		p95[i] = r.p95_ms;
		p99[i] = r.p99_ms;
	}
	agrees(row->name, "success", success, row->success);
	agrees(row->name, "attempts", attempts, row->attempts);
	agrees(row->name, "mean", mean, row->mean);
	agrees(row->name, "p95", p95, row->p95);
	agrees(row->name, "p99", p99, row->p99);
	sim_times_free(&calls);
	sim_outages_free(&o);
	sim_policies_free(&s);
}

START_TEST(outage_timeline)
{
	for (size_t i = 0; i < ARRAY_LEN(outage_rows); i++)
		outage_row(&outage_rows[i]);
}
END_TEST

/* ------------------------------------------------------ the published run -- */

START_TEST(published_run)
{
	static const struct {
		uint64_t failures, calls;
		double success, mean_ms;
	} published[SIM_LEGACY_POLICIES] = {
		{ 1114, 10000, 0.8886, 20.000 },
		{ 31, 10234, 0.9969, 21.697262 },
		{ 12, 10197, 0.9988, 21.257654 },
	};
	struct sim_result r[SIM_LEGACY_POLICIES];
	struct sim_outages drawn, file;

	sim_legacy_run(42, r, &drawn);
	for (unsigned i = 0; i < SIM_LEGACY_POLICIES; i++) {
		ck_assert_uint_eq(r[i].failures, published[i].failures);
		ck_assert_uint_eq(r[i].calls, published[i].calls);
		ck_assert(fabs(r[i].success - published[i].success) < 1e-12);
		ck_assert(fabs(r[i].mean_ms - published[i].mean_ms) < 1e-5);
		ck_assert(fabs(r[i].p95_ms - 20) < 1e-12);
	}
	/* The file that is shipped is what was drawn. */
	load_timeline(&file);
	ck_assert_uint_eq(file.given, 24);
	ck_assert_uint_eq(file.count, 21);
	for (size_t i = 0; i < file.count; i++) {
		ck_assert_int_lt(llabs(drawn.list[i].start - file.list[i].start), DUR_US);
		ck_assert_int_lt(llabs(drawn.list[i].end - file.list[i].end), 2 * DUR_US);
	}
	ck_assert(fabs((double)file.sum / (50015.0 * 1e6) - 0.1056) < 0.00005);
	ck_assert(fabs((double)sim_outages_down(&file, 50015 * DUR_MS) / (50015.0 * 1e6) -
	               0.1024) < 0.00005);
	sim_outages_free(&drawn);
	sim_outages_free(&file);
}
END_TEST

/* -------------------------------------------------------------------- herd -- */

#define HERD_RUNS 11

static const struct herd_row {
	const char *policy;
	struct {
		size_t median, least, most;
	} of[3]; /* 100, 1,000, 10,000 clients */
} herd_rows[] = {
	{ "no-jitter", { { 100, 100, 100 }, { 1000, 1000, 1000 }, { 10000, 10000, 10000 } } },
	{ "full", { { 8, 6, 9 }, { 43, 41, 47 }, { 338, 327, 354 } } },
	{ "equal", { { 10, 9, 11 }, { 58, 52, 62 }, { 456, 445, 482 } } },
	{ "proportional", { { 6, 6, 8 }, { 34, 31, 35 }, { 245, 233, 263 } } },
	{ "additive", { { 13, 12, 16 }, { 86, 82, 91 }, { 730, 723, 761 } } },
	{ "x=base:1s,max:30s,cap:soft,attempts:6,deadline:none,ratio:0.2",
	  { { 11, 10, 12 }, { 69, 63, 73 }, { 560, 546, 592 } } },
	{ "decorrelated", { { 5, 4, 6 }, { 22, 20, 26 }, { 157, 150, 164 } } },
};

static int by_size(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

static void herd_of(const struct herd_row *row)
{
	struct sim_policies s = { .world = SIM_HERD };
	struct sim_times calls = { .at = NULL };
	uint64_t clients = 100;

	ck_assert(sim_policies_add(&s, row->policy));
	for (unsigned n = 0; n < 3; n++, clients *= 10) {
		size_t peaks[HERD_RUNS];
		struct sim_result r;

		for (unsigned i = 0; i < HERD_RUNS; i++)
			sim_herd_run(clients, &s.list[0].policy, 20 * DUR_MS, 42 + i, &r, &peaks[i],
			             &calls);
		qsort(peaks, HERD_RUNS, sizeof(*peaks), by_size);
		/* Each median of theirs lies in its own range; ours must lie there, too. */
		ck_assert_msg(peaks[HERD_RUNS / 2] >= row->of[n].least &&
		                      peaks[HERD_RUNS / 2] <= row->of[n].most,
		              "%s, %u: median %zu, expected %zu [%zu, %zu]", row->policy,
		              (unsigned)clients, peaks[HERD_RUNS / 2], row->of[n].median,
		              row->of[n].least, row->of[n].most);
		ck_assert(fabs(r.attempts - 6) < 1e-12);
	}
	sim_times_free(&calls);
	sim_policies_free(&s);
}

START_TEST(herd)
{
	for (size_t i = 0; i < ARRAY_LEN(herd_rows); i++)
		herd_of(&herd_rows[i]);
}
END_TEST

/* --------------------------------------------------------------- schedules -- */

/* Attempts that take no time and all fail. */
struct log {
	int64_t at[32];
	unsigned count;
};

static int fails(struct sim_call *call)
{
	struct log *l = call->world;

	if (l->count < ARRAY_LEN(l->at))
		l->at[l->count++] = call->now;
	return ECONNREFUSED;
}

static const struct schedule {
	const char *who;
	int64_t base, max, multiplier; /* ms, ms, ppm; base 0: the list is the schedule */
	int64_t waits[20];             /* ms, 0 ends them */
	int64_t sum;                   /* ms; 0: not told */
} schedules[] = {
	{ "1 s, cap 30", 1000, 30000, 2 * PPM, { 1000, 2000, 4000, 8000, 16000, 30000, 30000 }, 0 },
	{ "1 s, cap 30, five", 1000, 30000, 2 * PPM, { 1000, 2000, 4000, 8000, 16000 }, 31000 },
	{ "1 s, cap 3", 1000, 3000, 2 * PPM, { 1000, 2000, 3000, 3000 }, 0 },
	{ "0.1 s, cap 5, five", 100, 5000, 2 * PPM, { 100, 200, 400, 800, 1600 }, 3100 },
	{ "1 s, cap 60, five attempts", 1000, 60000, 2 * PPM, { 1000, 2000, 4000, 8000 }, 15000 },
	{ "curl", 1000, 600000, 2 * PPM, { 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000,
	  256000, 512000, 600000, 600000 }, 0 },
	{ "wget", 0, 0, 0, { 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000, 10000 }, 0 },
	{ "autossh", 0, 0, 0, { 2000, 8000, 18000, 32000, 50000, 72000, 98000, 128000, 162000,
	  200000, 241000, 288000, 338000, 392000, 450000, 512000, 578000, 600000 }, 0 },
	{ "systemd", 10000, 160000, 2 * PPM, { 10000, 20000, 40000, 80000, 160000, 160000, 160000 },
	  0 },
	{ "Polly", 1000, 86400000, 2 * PPM, { 1000, 2000, 4000, 8000, 16000 }, 0 },
	/* A SYN each: the first at 0, then 1 3 7 15 31 63, the end at 127. */
	{ "Linux SYN", 1000, 120000, 2 * PPM, { 1000, 2000, 4000, 8000, 16000, 32000, 64000 },
	  127000 },
};

static struct policy policy_of(const struct schedule *s, unsigned *count)
{
	struct policy p = builtin_default();

	p.backoff.jitter = JITTER_NONE;
	p.deadline = DUR_NONE;
	for (*count = 0; *count < ARRAY_LEN(s->waits) && s->waits[*count]; ++*count)
		p.backoff.schedule[*count] = s->waits[*count] * DUR_MS;
	p.max_attempts = *count + 1;
	if (s->base) {
		p.backoff.base = s->base * DUR_MS;
		p.backoff.max = s->max * DUR_MS;
		p.backoff.multiplier = s->multiplier;
	} else {
		p.backoff.schedule_len = *count;
	}
	return p;
}

static void schedule_of(const struct schedule *s)
{
	struct log l = { .count = 0 };
	unsigned count;
	struct policy p = policy_of(s, &count);
	struct sim_call call = { .policy = &p, .attempt = fails, .world = &l };

	ck_assert_int_eq(sim_call(&call), ECONNREFUSED);
	ck_assert_uint_eq(l.count, count + 1);
	for (unsigned i = 0; i < count; i++)
		ck_assert_msg(l.at[i + 1] - l.at[i] == s->waits[i] * DUR_MS, "%s, wait %u", s->who,
		              i + 1);
	if (s->sum)
		ck_assert_int_eq(l.at[count], s->sum * DUR_MS);
}

START_TEST(all_schedules)
{
	for (size_t i = 0; i < ARRAY_LEN(schedules); i++)
		schedule_of(&schedules[i]);
}
END_TEST

/* Calls at 0 1 3 7 15 s, and not at 0 1 2 4 8. */
START_TEST(call_times)
{
	static const int64_t expected[] = { 0, 1, 3, 7, 15 };
	struct log l = { .count = 0 };
	unsigned count;
	struct policy p = policy_of(&schedules[1], &count);
	struct sim_call call = { .policy = &p, .attempt = fails, .world = &l };

	sim_call(&call);
	for (unsigned i = 0; i < ARRAY_LEN(expected); i++)
		ck_assert_int_eq(l.at[i], expected[i] * DUR_S);
}
END_TEST

/* cenkalti: 1.5-fold, each +-50 %; given with three digits or so. */
START_TEST(slow_growth)
{
	static const double expected[] = { 0.5, 0.75, 1.125, 1.687, 2.53, 3.795, 5.692, 8.538,
		                           12.807, 19.210 };
	struct policy p = builtin_default();

	p.backoff.base = 500 * DUR_MS;
	p.backoff.max = 60 * DUR_S;
	p.backoff.multiplier = 3 * PPM / 2;
	p.backoff.cap = CAP_SOFT;
	for (unsigned n = 1; n <= ARRAY_LEN(expected); n++) {
		struct backoff_wait w = backoff_wait(&p.backoff, n, false, 0, 0);

		ck_assert(fabs((double)w.floor / 0.5e9 / expected[n - 1] - 1) < 0.001);
		ck_assert(fabs((double)w.ceiling / 1.5e9 / expected[n - 1] - 1) < 0.001);
	}
}
END_TEST

static void range(const struct policy *p, unsigned n, int64_t floor_ms, int64_t ceiling_ms)
{
	struct backoff_wait w = backoff_wait(&p->backoff, n, false, 0, 0);

	ck_assert_int_eq(w.floor, floor_ms * DUR_MS);
	ck_assert_int_eq(w.ceiling, ceiling_ms * DUR_MS);
}

START_TEST(ranges)
{
	struct policy p = builtin_default();
	int64_t least = 0, most = 0;

	for (unsigned n = 1; n <= 5; n++) {
		struct backoff_wait w = backoff_wait(&p.backoff, n, false, 0, 0);

		least += w.floor;
		most += w.ceiling;
	}
	ck_assert_int_eq(least, 1550 * DUR_MS);
	ck_assert_int_eq(most, 4650 * DUR_MS);

	/* +30 % of 1 2 4 8 is at most 19.5 s. */
	p.backoff.base = DUR_S;
	p.backoff.max = 60 * DUR_S;
	p.backoff.jitter = JITTER_ADDITIVE;
	p.backoff.jitter_ratio = 3 * PPM / 10;
	most = 0;
	for (unsigned n = 1; n <= 4; n++)
		most += backoff_wait(&p.backoff, n, false, 0, 0).ceiling;
	ck_assert_int_eq(most, 19500 * DUR_MS);

	/* gRPC */
	p = builtin_default();
	p.backoff.base = 100 * DUR_MS;
	p.backoff.max = DUR_S;
	p.backoff.cap = CAP_SOFT;
	p.backoff.jitter_ratio = PPM / 5;
	range(&p, 1, 80, 120);
	range(&p, 2, 160, 240);
	range(&p, 3, 320, 480);

	/* Envoy, whose ranges end before (2^n - 1) * 25 ms: whole milliseconds, 0-24 ... */
	p.backoff.jitter = JITTER_FULL;
	p.backoff.schedule_len = 4;
	for (unsigned i = 0; i < 4; i++)
		p.backoff.schedule[i] = (25 * ((INT64_C(2) << i) - 1) - 1) * DUR_MS;
	p.backoff.schedule[3] = 250 * DUR_MS;
	range(&p, 1, 0, 24);
	range(&p, 2, 0, 74);
	range(&p, 3, 0, 174);
	range(&p, 4, 0, 250);
	range(&p, 9, 0, 250);
}
END_TEST

/* ----------------------------------------------------------- amplification -- */

/* A service that calls the next one, each with retries of its own; the last is down. */
struct layer {
	struct policy policy;
	struct layer *below;
	unsigned calls;
};

static int through(struct sim_call *call)
{
	struct layer *l = call->world;
	struct sim_call inner;
	int error = ECONNREFUSED;

	l->calls++;
	if (!l->below)
		return error;
	inner = (struct sim_call){ .policy = &l->below->policy, .attempt = through,
		                   .world = l->below, .now = call->now };
	error = sim_call(&inner);
	call->now = inner.now;
	return error;
}

static const struct layering_row {
	unsigned attempts[3]; /* 0: no such layer */
	unsigned calls;
} layers[] = {
	{ { 3, 3 }, 9 },
	{ { 5, 5 }, 25 },
	{ { 5, 3, 3 }, 45 },
	{ { 4 }, 4 }, /* three retries, total outage */
	{ { 1, 1, 1 }, 1 },
};

static void amplify(const struct layering_row *row)
{
	struct layer stack[3];
	unsigned count = 0;

	memset(stack, 0, sizeof(stack));
	for (; count < 3 && row->attempts[count]; count++) {
		stack[count].policy = builtin_default();
		stack[count].policy.deadline = DUR_NONE;
		stack[count].policy.max_attempts = row->attempts[count];
		if (count)
			stack[count - 1].below = &stack[count];
	}
	struct sim_call call = { .policy = &stack[0].policy, .attempt = through,
		                 .world = &stack[0] };

	ck_assert_int_eq(sim_call(&call), ECONNREFUSED);
	ck_assert_uint_eq(stack[count - 1].calls, row->calls);
}

START_TEST(amplification)
{
	for (size_t i = 0; i < ARRAY_LEN(layers); i++)
		amplify(&layers[i]);
}
END_TEST

UNIT_MAIN("sim_tables", &outage_timeline, &published_run, &herd, &all_schedules, &call_times,
          &slow_growth, &ranges, &amplification)
