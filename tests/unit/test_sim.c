/* SPDX-License-Identifier: MIT */
/* The parts of the simulator: figures, outages, one call through the engine, the
 * policies of the command line. */
#include "cli/sim.h"

#include <errno.h>
#include <math.h>

#include "cli/sim_policies.h"
#include "policy/builtin.h"
#include "tests/unit/unit.h"

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

/* ----------------------------------------------------------------- figures -- */

START_TEST(times_in_order)
{
	struct sim_times t = { .at = NULL };
	struct prng p;

	prng_seed(&p, 1);
	for (int i = 0; i < 5000; i++)
		sim_times_add(&t, (int64_t)(prng_next(&p) >> (i % 60 + 1)));
	sim_times_sort(&t);
	ck_assert_uint_eq(t.count, 5000);
	for (size_t i = 1; i < t.count; i++)
		ck_assert_int_le(t.at[i - 1], t.at[i]);
	sim_times_add(&t, 0);
	sim_times_sort(&t);
	ck_assert_int_eq(t.at[0], 0);
	sim_times_free(&t);
}
END_TEST

START_TEST(quantiles)
{
	struct sim_times t = { .at = NULL };

	ck_assert(isnan(sim_times_quantile_ms(&t, 0.5)));
	ck_assert(isnan(sim_times_mean_ms(&t)));
	ck_assert_uint_eq(sim_times_peak(&t, DUR_S), 0);
	for (int i = 99; i >= 0; i--)
		sim_times_add(&t, i * DUR_MS);
	ck_assert(near(sim_times_quantile_ms(&t, 0.5), 50));
	ck_assert(near(sim_times_quantile_ms(&t, 0.95), 95));
	ck_assert(near(sim_times_quantile_ms(&t, 1), 99));
	ck_assert(near(sim_times_mean_ms(&t), 49.5));
	/* The window's end is not in it. */
	ck_assert_uint_eq(sim_times_peak(&t, 10 * DUR_MS), 10);
	ck_assert_uint_eq(sim_times_peak(&t, 10 * DUR_MS + 1), 11);
	sim_times_free(&t);
}
END_TEST

START_TEST(spread)
{
	const double values[] = { 1, NAN, 3, 5 }, none[] = { NAN, NAN }, one[] = { 7 };
	struct sim_stat s = sim_stat(values, 4);

	ck_assert(near(s.mean, 3));
	ck_assert(near(s.two_sd, 4));
	ck_assert(isnan(sim_stat(none, 2).mean));
	ck_assert(near(sim_stat(one, 1).mean, 7) && near(sim_stat(one, 1).two_sd, 0));
}
END_TEST

/* ----------------------------------------------------------------- outages -- */

START_TEST(outages_by_time)
{
	const struct interval list[] = { { 50, 60 }, { 10, 20 }, { 15, 30 }, { 16, 18 }, { 30, 31 } };
	struct sim_outages o;

	sim_outages_set(&o, list, ARRAY_LEN(list));
	ck_assert_uint_eq(o.count, 2);
	ck_assert_uint_eq(o.given, 5);
	ck_assert_int_eq(o.sum, 10 + 10 + 15 + 2 + 1);
	ck_assert(!sim_outages_cover(&o, 9));
	ck_assert(sim_outages_cover(&o, 59));
	/* An earlier time is still answered right: no cursor. */
	ck_assert(sim_outages_cover(&o, 10));
	ck_assert(sim_outages_cover(&o, 30));
	ck_assert(!sim_outages_cover(&o, 31));
	ck_assert(!sim_outages_cover(&o, 60));
	ck_assert_int_eq(sim_outages_down(&o, 55), 21 + 5);
	ck_assert_int_eq(sim_outages_down(&o, 12), 2);
	sim_outages_free(&o);
	sim_outages_set(&o, NULL, 0);
	ck_assert(!sim_outages_cover(&o, 0));
	sim_outages_free(&o);
}
END_TEST

START_TEST(outages_by_chance)
{
	const struct outage shape = { 2 * DUR_S, 50 * DUR_MS, 500 * DUR_MS };
	struct sim_outages a, b, c;

	sim_outages_draw(&a, &shape, 20000 * DUR_S, 1);
	sim_outages_draw(&b, &shape, 20000 * DUR_S, 1);
	sim_outages_draw(&c, &shape, 20000 * DUR_S, 2);
	/* 10,000 +- 4 standard deviations of a Poisson count; 275 ms each. */
	ck_assert_uint_gt(a.given, 9600);
	ck_assert_uint_lt(a.given, 10400);
	ck_assert_int_gt(a.sum / (int64_t)a.given, 270 * DUR_MS);
	ck_assert_int_lt(a.sum / (int64_t)a.given, 280 * DUR_MS);
	ck_assert_mem_eq(a.list, b.list, a.count * sizeof(*a.list));
	ck_assert_int_ne(a.list[0].start, c.list[0].start);
	sim_outages_free(&a);
	sim_outages_free(&b);
	sim_outages_free(&c);
}
END_TEST

/* -------------------------------------------------------------------- call -- */

/* Fails .failures times, each attempt takes .takes. */
struct script {
	unsigned failures, made;
	int64_t takes;
	int64_t began[16];
};

static int scripted(struct sim_call *call)
{
	struct script *s = call->world;

	if (s->made < ARRAY_LEN(s->began))
		s->began[s->made] = call->now;
	s->made++;
	call->now += s->takes;
	return s->made <= s->failures ? ECONNREFUSED : 0;
}

START_TEST(call_through_the_engine)
{
	struct policy p = builtin_default();
	struct script s = { .failures = 2, .takes = 3 * DUR_MS };
	struct sim_call call = { .policy = &p, .attempt = scripted, .world = &s, .now = DUR_S };

	p.backoff.jitter = JITTER_NONE;
	ck_assert_int_eq(sim_call(&call), 0);
	ck_assert_uint_eq(call.attempts, 3);
	ck_assert_int_eq(call.waited, 300 * DUR_MS);
	ck_assert_int_eq(call.now, DUR_S + 309 * DUR_MS);
	ck_assert_int_eq(s.began[1], DUR_S + 103 * DUR_MS);
	ck_assert_int_eq(s.began[2], DUR_S + 306 * DUR_MS);
}
END_TEST

START_TEST(call_that_gives_up)
{
	struct policy p = builtin_default();
	struct script s = { .failures = 100, .takes = DUR_MS };
	struct sim_call call = { .policy = &p, .attempt = scripted, .world = &s };

	ck_assert_int_eq(sim_call(&call), ECONNREFUSED);
	ck_assert_uint_eq(call.attempts, 5);
	p.deadline = 250 * DUR_MS;
	p.backoff.jitter = JITTER_NONE;
	call.now = 0;
	ck_assert_int_eq(sim_call(&call), ECONNREFUSED);
	ck_assert_uint_eq(call.attempts, 2);
	/* An error that nobody retries. */
	p.retry = (struct err_set){ .eais = 0 };
	ck_assert_int_eq(sim_call(&call), ECONNREFUSED);
	ck_assert_uint_eq(call.attempts, 1);
}
END_TEST

START_TEST(call_with_bounded_attempts)
{
	struct policy p = builtin_default();
	struct script s = { .failures = 0, .takes = 10 * DUR_S };
	struct sim_call call = { .policy = &p, .attempt = scripted, .world = &s };

	p.attempt_timeout = DUR_S;
	p.backoff.jitter = JITTER_NONE;
	p.max_attempts = 3;
	ck_assert_int_eq(sim_call(&call), ETIMEDOUT);
	ck_assert_uint_eq(call.attempts, 3);
	ck_assert_int_eq(call.now, 3 * DUR_S + 300 * DUR_MS);
}
END_TEST

/* The world's luck belongs to the request, not to the policy: those that fail at once
 * without retries are those that are retried with them. */
START_TEST(same_luck_for_all)
{
	struct sim_outages none;
	struct sim_outage_world w = { 5000, DUR_MS, DUR_MS, PPM / 4, ECONNREFUSED, &none };
	struct policy once = builtin_default(), twice = once;
	struct sim_times calls = { .at = NULL };
	struct sim_result a, b;

	sim_outages_set(&none, NULL, 0);
	once.max_attempts = 1;
	twice.max_attempts = 2;
	sim_outage_run(&w, &once, 7, &a, &calls);
	sim_outage_run(&w, &twice, 7, &b, &calls);
	ck_assert_uint_gt(a.failures, 1150);
	ck_assert_uint_lt(a.failures, 1350);
	ck_assert_uint_eq(b.calls, 5000 + a.failures);
	ck_assert_uint_eq(calls.count, b.calls);
	ck_assert_uint_eq(a.wasted, 0);
	sim_outage_run(&w, &once, 8, &b, &calls);
	ck_assert_uint_ne(a.failures, b.failures);
	sim_times_free(&calls);
	sim_outages_free(&none);
}
END_TEST

START_TEST(always_down)
{
	const struct interval all = { 0, DUR_NONE };
	struct sim_outages down;
	struct sim_outage_world w = { 10, DUR_MS, DUR_MS, 0, ECONNREFUSED, &down };
	struct policy p = builtin_default();
	struct sim_times calls = { .at = NULL };
	struct sim_result r;

	sim_outages_set(&down, &all, 1);
	sim_outage_run(&w, &p, 1, &r, &calls);
	ck_assert(near(r.success, 0) && near(r.attempts, 5));
	ck_assert(isnan(r.mean_ms) && isnan(r.p99_ms));
	ck_assert_uint_eq(r.wasted, 50);
	ck_assert_uint_eq(r.failures, 10);
	ck_assert(r.fail_ms > 750 && r.fail_ms < 2255);
	sim_times_free(&calls);
	sim_outages_free(&down);
}
END_TEST

/* ---------------------------------------------------------------- policies -- */

static struct sim_policies read_policies(const char *text, bool good)
{
	struct sim_policies s = { .world = SIM_OUTAGE };

	ck_assert_msg(sim_policies_add(&s, text) == good, "%s", text);
	return s;
}

START_TEST(policies_by_name)
{
	struct sim_policies s = read_policies("none,default,seed,patient,none", true);
	static const char *const names[] = { "none", "default", "fixed-100ms", "backoff-40ms",
		                             "patient" };

	ck_assert_uint_eq(s.count, ARRAY_LEN(names));
	for (size_t i = 0; i < s.count; i++)
		ck_assert_str_eq(s.list[i].policy.name, names[i]);
	ck_assert_uint_eq(s.list[0].policy.max_attempts, 1);
	ck_assert_int_eq(s.list[2].policy.backoff.multiplier, PPM);
	ck_assert_int_eq(s.list[4].policy.deadline, 120 * DUR_S);
	sim_policies_free(&s);
}
END_TEST

START_TEST(policies_described)
{
	struct sim_policies s = read_policies(
		"a=base:40ms,mult:3,jitter:full,attempts:4,deadline:none,b=inherit:patient,"
		"base_delay:2s,ratio:0.25,timeout:1s,budget:none,breaker:true,cap:soft,none", true);
	const struct policy *a = &s.list[0].policy, *b = &s.list[1].policy;

	ck_assert_uint_eq(s.count, 3);
	ck_assert_str_eq(a->name, "a");
	ck_assert_int_eq(a->backoff.base, 40 * DUR_MS);
	ck_assert_int_eq(a->backoff.multiplier, 3 * PPM);
	ck_assert_int_eq(a->backoff.jitter, JITTER_FULL);
	ck_assert_uint_eq(a->max_attempts, 4);
	ck_assert_int_eq(a->deadline, DUR_NONE);
	ck_assert_str_eq(b->name, "b");
	ck_assert_uint_eq(b->max_attempts, 8);
	ck_assert_int_eq(b->backoff.base, 2 * DUR_S);
	ck_assert_int_eq(b->backoff.jitter_ratio, PPM / 4);
	ck_assert_int_eq(b->attempt_timeout, DUR_S);
	ck_assert_int_eq(b->budget.kind, BUDGET_NONE);
	ck_assert(b->breaker.enabled);
	ck_assert_int_eq(b->backoff.cap, CAP_SOFT);
	sim_policies_free(&s);
}
END_TEST

START_TEST(policies_refused)
{
	static const char *const bad[] = {
		"", "nonsense", "none,", "a=", "=base:1s", "base:1s", "none,base:1s", "a=base",
		"a=base:40", "a=bass:1s", "a=attempts:0", "a=base:10s", "a=jitter:some",
		"none=base:1s", "a=base:1s,a=base:2s", "a=inherit:nobody", "a=schedule:1s",
		"a=base:1s,max:100ms"
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct sim_policies s = read_policies(bad[i], false);

		sim_policies_free(&s);
	}
}
END_TEST

UNIT_MAIN("sim", &times_in_order, &quantiles, &spread, &outages_by_time, &outages_by_chance,
          &call_through_the_engine, &call_that_gives_up, &call_with_bounded_attempts,
          &same_luck_for_all, &always_down, &policies_by_name, &policies_described,
          &policies_refused)
