/* SPDX-License-Identifier: MIT */
#include "policy/backoff.h"

#include <string.h>

#include "base/prng.h"
#include "policy/builtin.h"
#include "tests/unit/unit.h"

static struct backoff plain(int64_t base, int64_t max)
{
	struct backoff b = builtin_default().backoff;

	b.base = base;
	b.max = max;
	b.jitter = JITTER_NONE;
	return b;
}

/* Published series, without jitter: the feature table's section 5.5. */
START_TEST(published_series)
{
	static const struct {
		int64_t base, max;
		int64_t wait[8]; /* 0 ends */
	} rows[] = {
		{ DUR_S, 30 * DUR_S, { 1, 2, 4, 8, 16, 30, 30 } },
		{ DUR_S, 3 * DUR_S, { 1, 2, 3, 3 } },
		{ DUR_S, 60 * DUR_S, { 1, 2, 4, 8, 16, 32, 60, 60 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct backoff b = plain(rows[i].base, rows[i].max);

		for (unsigned n = 1; n <= 8 && rows[i].wait[n - 1]; n++)
			ck_assert_int_eq(backoff_wait(&b, n, false, 0, 1).wait,
			                 rows[i].wait[n - 1] * DUR_S);
	}
	/* 0.1 s doubling, cap 5 s: 100 200 400 800 1600 ms, then the cap. */
	struct backoff b = plain(100 * DUR_MS, 5 * DUR_S);
	int64_t sum = 0;

	for (unsigned n = 1; n <= 5; n++)
		sum += backoff_wait(&b, n, false, 0, 1).wait;
	ck_assert_int_eq(sum, 3100 * DUR_MS);
	ck_assert_int_eq(backoff_wait(&b, 11, false, 0, 1).wait, 5 * DUR_S);
	/* Without a cap the eleventh would be 0.1 * 2^10 = 102.4 s. */
	b.max = DUR_MAX_CONFIG;
	ck_assert_int_eq(backoff_wait(&b, 11, false, 0, 1).wait, 102400 * DUR_MS);
}
END_TEST

START_TEST(multiplier_need_not_be_two)
{
	struct backoff b = plain(500 * DUR_MS, 60 * DUR_S);

	b.multiplier = PPM * 3 / 2;
	ck_assert_int_eq(backoff_wait(&b, 2, false, 0, 1).wait, 750 * DUR_MS);
	ck_assert_int_eq(backoff_wait(&b, 3, false, 0, 1).wait, 1125 * DUR_MS);
	b.multiplier = PPM;
	ck_assert_int_eq(backoff_wait(&b, 1000000, false, 0, 1).wait, 500 * DUR_MS);
}
END_TEST

/* The ends of each jitter's range, by the extreme random numbers. */
START_TEST(jitter_ranges)
{
	static const struct {
		enum jitter jitter;
		enum cap cap;
		unsigned n;
		int64_t low, high; /* ms */
	} rows[] = {
		{ JITTER_PROPORTIONAL, CAP_HARD, 1, 500, 1500 },
		{ JITTER_PROPORTIONAL, CAP_HARD, 3, 1333, 4000 }, /* centre 4/1.5 */
		{ JITTER_PROPORTIONAL, CAP_SOFT, 3, 2000, 6000 },
		{ JITTER_ADDITIVE, CAP_HARD, 1, 1000, 1500 },
		{ JITTER_ADDITIVE, CAP_HARD, 3, 2666, 4000 },
		{ JITTER_ADDITIVE, CAP_SOFT, 3, 4000, 6000 },
		{ JITTER_FULL, CAP_HARD, 2, 0, 2000 },
		{ JITTER_EQUAL, CAP_HARD, 2, 1000, 2000 },
		{ JITTER_NONE, CAP_HARD, 9, 4000, 4000 },
	};
	struct backoff b = builtin_default().backoff;

	b.base = DUR_S;
	b.max = 4 * DUR_S;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct backoff_wait w;

		b.jitter = rows[i].jitter;
		b.cap = rows[i].cap;
		w = backoff_wait(&b, rows[i].n, false, 0, 0);
		ck_assert_int_eq(w.wait / DUR_MS, rows[i].low);
		ck_assert_int_eq(w.floor, w.wait);
		w = backoff_wait(&b, rows[i].n, false, 0, UINT64_MAX);
		/* One nanosecond of rounding. */
		ck_assert_int_eq((w.wait + 1000) / DUR_MS, rows[i].high);
		ck_assert_int_eq(w.ceiling, w.wait);
	}
}
END_TEST

START_TEST(decorrelated_depends_on_the_previous_wait)
{
	struct backoff b = builtin_default().backoff;

	b.base = DUR_S;
	b.max = 10 * DUR_S;
	b.jitter = JITTER_DECORRELATED;
	ck_assert_int_eq(backoff_wait(&b, 1, false, 0, 0).wait, DUR_S);
	ck_assert_int_eq(backoff_wait(&b, 1, false, 0, UINT64_MAX).wait, 3 * DUR_S);
	ck_assert_int_eq(backoff_wait(&b, 2, false, 2 * DUR_S, UINT64_MAX).wait, 6 * DUR_S);
	ck_assert_int_eq(backoff_wait(&b, 2, false, 2 * DUR_S, 0).wait, DUR_S);
	ck_assert_int_eq(backoff_wait(&b, 3, false, 9 * DUR_S, UINT64_MAX).wait, 10 * DUR_S);
	/* At the cap: spread under it, or drawn to three times as much and cut. */
	ck_assert_int_eq(backoff_wait(&b, 3, false, 10 * DUR_S, UINT64_MAX / 2).wait / DUR_MS, 5500);
	b.cap = CAP_SOFT;
	ck_assert_int_eq(backoff_wait(&b, 3, false, 10 * DUR_S, UINT64_MAX / 2).wait, 10 * DUR_S);
	ck_assert_int_eq(backoff_wait(&b, 3, false, 10 * DUR_S, UINT64_MAX / 2).ceiling, 10 * DUR_S);
	ck_assert_int_eq(backoff_wait(&b, 3, false, 10 * DUR_S, 0).wait, DUR_S);
}
END_TEST

START_TEST(schedule_replaces_the_formula)
{
	struct backoff b = plain(DUR_S, DUR_S);
	static const int64_t expected[] = { 0, 100, 3000, 3000, 3000 };

	b.schedule_len = 3;
	b.schedule[0] = 0;
	b.schedule[1] = 100 * DUR_MS;
	b.schedule[2] = 3000 * DUR_MS;
	for (unsigned n = 1; n <= 5; n++)
		ck_assert_int_eq(backoff_wait(&b, n, false, 0, 7).wait, expected[n - 1] * DUR_MS);
	/* max_delay belongs to the formula: the list is its own limit. */
	b.jitter = JITTER_PROPORTIONAL;
	ck_assert_int_le(backoff_wait(&b, 3, false, 0, UINT64_MAX).wait, 3 * DUR_S);
	ck_assert_int_gt(backoff_wait(&b, 3, false, 0, UINT64_MAX).wait, 2900 * DUR_MS);
}
END_TEST

START_TEST(first_retry_immediate)
{
	struct backoff b = plain(100 * DUR_MS, 5 * DUR_S);

	b.first_immediate = true;
	ck_assert_int_eq(backoff_wait(&b, 1, false, 0, 9).wait, 0);
	ck_assert_int_eq(backoff_wait(&b, 2, false, 0, 9).wait, 100 * DUR_MS);
	ck_assert_int_eq(backoff_wait(&b, 3, false, 0, 9).wait, 200 * DUR_MS);
	/* Lack of a local resource needs time. */
	ck_assert_int_eq(backoff_wait(&b, 1, true, 0, 9).wait, DUR_S);
}
END_TEST

START_TEST(local_errors_have_their_own_base)
{
	struct backoff b = plain(100 * DUR_MS, 5 * DUR_S);

	ck_assert_int_eq(backoff_wait(&b, 1, true, 0, 9).wait, DUR_S);
	ck_assert_int_eq(backoff_wait(&b, 2, true, 0, 9).wait, 2 * DUR_S);
	ck_assert_int_eq(backoff_wait(&b, 4, true, 0, 9).wait, 5 * DUR_S);
}
END_TEST

static struct backoff any_backoff(struct prng *r)
{
	struct backoff b;

	memset(&b, 0, sizeof(b));
	b.base = 1 + prng_below(prng_next(r), DUR_MAX_CONFIG - 1);
	b.base_local = 1 + prng_below(prng_next(r), DUR_MAX_CONFIG - 1);
	b.max = b.base + prng_below(prng_next(r), INT64_MAX / 4);
	b.multiplier = PPM + prng_below(prng_next(r), 99 * PPM);
	b.jitter_ratio = prng_below(prng_next(r), PPM);
	b.jitter = (enum jitter)prng_below(prng_next(r), JITTER_NONE);
	b.cap = (enum cap)prng_below(prng_next(r), CAP_SOFT);
	b.first_immediate = prng_next(r) & 1;
	return b;
}

/* All parameters at random, n to 10^6: never negative, within its own bounds,
 * never above max_delay under a hard cap, whatever overflows inside. */
START_TEST(property_bounds)
{
	struct prng r;

	prng_seed(&r, 20261129);
	for (int i = 0; i < 200000; i++) {
		struct backoff b = any_backoff(&r);
		unsigned n = 1 + (unsigned)prng_below(prng_next(&r), 999999);
		bool local = prng_next(&r) & 1;
		int64_t previous = prng_below(prng_next(&r), INT64_MAX - 1);
		struct backoff_wait w = backoff_wait(&b, n, local, previous, prng_next(&r));

		ck_assert_int_ge(w.floor, 0);
		ck_assert_int_le(w.floor, w.wait);
		ck_assert_int_le(w.wait, w.ceiling);
		if (b.cap == CAP_HARD)
			ck_assert_int_le(w.ceiling, b.max);
	}
}
END_TEST

/* The ceiling never falls with n and stands still at the cap; spread survives
 * there (a series whose jitter dies at the cap marches in step). */
START_TEST(property_growth)
{
	struct prng r;

	prng_seed(&r, 7);
	for (int i = 0; i < 2000; i++) {
		struct backoff b = any_backoff(&r);
		int64_t last = 0;

		b.jitter = JITTER_PROPORTIONAL;
		b.jitter_ratio = PPM / 2;
		b.first_immediate = false;
		for (unsigned n = 1; n < 1000000; n = n < 70 ? n + 1 : n * 3) {
			struct backoff_wait w = backoff_wait(&b, n, false, 0, 1);

			ck_assert_int_ge(w.ceiling, last);
			if (w.ceiling > 10)
				ck_assert_int_gt(w.ceiling - w.floor, w.ceiling / 2);
			last = w.ceiling;
		}
	}
}
END_TEST

/* Full jitter over many draws: each within its ceiling, and the mean near the
 * middle (a generator or scaling fault would show). */
START_TEST(full_jitter_is_uniform)
{
	struct backoff b = plain(DUR_S, 30 * DUR_S);
	struct prng r;
	int64_t sum = 0;

	b.jitter = JITTER_FULL;
	prng_seed(&r, 42);
	for (int i = 0; i < 100000; i++) {
		int64_t w = backoff_wait(&b, 4, false, 0, prng_next(&r)).wait;

		ck_assert_int_le(w, 8 * DUR_S);
		sum += w / 1000;
	}
	ck_assert_int_gt(sum / 100000, 3950000);
	ck_assert_int_lt(sum / 100000, 4050000);
}
END_TEST

UNIT_MAIN("backoff", &published_series, &multiplier_need_not_be_two, &jitter_ranges,
          &decorrelated_depends_on_the_previous_wait, &schedule_replaces_the_formula,
          &first_retry_immediate, &local_errors_have_their_own_base, &property_bounds,
          &property_growth, &full_jitter_is_uniform)
