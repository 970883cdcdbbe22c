/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "cli/advise.h"
#include "policy/builtin.h"

static struct sim_outages outages;
static struct advice_world world;

static void make_world(const struct interval *list, size_t count)
{
	sim_outages_set(&outages, list, count);
	world = (struct advice_world){ .outages = &outages,
		                       .latency = DUR_MS,
		                       .target = 0.99,
		                       .within = 120 * DUR_S };
}

/* Waits of exactly 1 s. */
static struct policy fixed(unsigned attempts)
{
	struct policy p = builtin_default();

	p.backoff.jitter = JITTER_NONE;
	p.backoff.base = p.backoff.max = DUR_S;
	p.max_attempts = attempts;
	p.deadline = DUR_NONE;
	return p;
}

/* Of calls that begin in 4 s, those of the last second reach the end with one wait. */
START_TEST(known_figures)
{
	static const struct interval one[] = { { 10 * DUR_S, 14 * DUR_S } };
	static const double success[] = { 0, 0.25, 0.5, 0.75, 1, 1 };
	static const double calls[] = { 1, 2, 2.75, 3.25, 3.5, 3.5 };

	make_world(one, 1);
	world.latency = 0;
	for (unsigned i = 0; i < ARRAY_LEN(success); i++) {
		struct policy p = fixed(i + 1);
		struct advice_figures f;

		advise_try(&world, &p, &f);
		ck_assert_double_eq_tol(f.success, success[i], 0.001);
		ck_assert_double_eq_tol(f.calls, calls[i], 0.001);
		if (i > 0)
			ck_assert_double_eq_tol(f.late_ms, 500, 1);
	}
	sim_outages_free(&outages);
}
END_TEST

/* A call that meets the second outage after the first. */
START_TEST(outages_in_a_row)
{
	static const struct interval two[] = { { 0, DUR_S }, { 1500 * DUR_MS, 2500 * DUR_MS } };
	struct policy p = fixed(2);
	struct advice_figures f;

	make_world(two, 2);
	world.latency = 0;
	advise_try(&world, &p, &f);
	/* Of the first the earlier half comes back in the gap. */
	ck_assert_double_eq_tol(f.success, 0.75, 0.001);
	sim_outages_free(&outages);
}
END_TEST

START_TEST(reaches_the_target)
{
	static const struct interval list[] = { { 0, 2 * DUR_S }, { 100 * DUR_S, 110 * DUR_S },
		                                { 300 * DUR_S, 301 * DUR_S } };
	struct advice a, again;
	struct advice_figures f;

	make_world(list, 3);
	ck_assert(advise(&a, &world));
	ck_assert(a.reached);
	ck_assert_double_ge(a.found.success, 0.985);
	ck_assert_double_lt(a.usual.success, 0.5);
	ck_assert_int_le(a.policy.deadline, world.within);
	/* Not for a third of the time longer either. */
	outages.list[1].end += 3 * DUR_S;
	advise_try(&world, &a.policy, &f);
	ck_assert_double_ge(f.success, 0.95);
	outages.list[1].end -= 3 * DUR_S;
	/* Few outages: no interval. */
	ck_assert(isnan(a.low) && isnan(a.high));
	ck_assert(advise(&again, &world));
	ck_assert_mem_eq(&a.policy.backoff, &again.policy.backoff, sizeof(a.policy.backoff));
	ck_assert_double_eq(a.found.success, again.found.success);
	sim_outages_free(&outages);
}
END_TEST

START_TEST(what_cannot_be)
{
	static const struct interval list[] = { { 0, 100 * DUR_S }, { 200 * DUR_S, 201 * DUR_S } };
	struct advice a;

	make_world(list, 2);
	world.within = 10 * DUR_S;
	ck_assert(advise(&a, &world));
	ck_assert_uint_eq(a.beyond, 1);
	ck_assert_double_lt(a.found.success, 0.2);
	world.within = DUR_S / 2;
	ck_assert(!advise(&a, &world));
	ck_assert_uint_eq(a.beyond, 2);
	sim_outages_free(&outages);
}
END_TEST

/* Attempts that take as long as all of it may: nothing reaches the target. */
START_TEST(slow_attempts)
{
	static const struct interval list[] = { { 0, 100 * DUR_S } };
	struct advice a;

	make_world(list, 1);
	world.latency = 127 * DUR_S;
	ck_assert(advise(&a, &world));
	ck_assert(!a.reached);
	ck_assert_double_eq(a.found.success, 0);
	sim_outages_free(&outages);
}
END_TEST

START_TEST(interval_of_many)
{
	struct interval list[40];
	struct advice a;

	for (unsigned i = 0; i < ARRAY_LEN(list); i++)
		list[i] = (struct interval){ i * 1000 * DUR_S, i * 1000 * DUR_S + (i + 1) * DUR_S };
	make_world(list, ARRAY_LEN(list));
	world.target = 0.8;
	ck_assert(advise(&a, &world));
	ck_assert_double_lt(a.low, a.found.success);
	ck_assert_double_gt(a.high, a.found.success);
	ck_assert_double_gt(a.low, 0.5);
	ck_assert_double_le(a.high, 1);
	sim_outages_free(&outages);
}
END_TEST

UNIT_MAIN("advise", &known_figures, &outages_in_a_row, &reaches_the_target, &what_cannot_be,
          &slow_attempts, &interval_of_many)
