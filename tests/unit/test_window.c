/* SPDX-License-Identifier: MIT */
#include "policy/window.h"

#include "base/prng.h"
#include "policy/policy.h"
#include "tests/unit/unit.h"

#define LENGTH (10 * DUR_S)
/* The clock of a machine that has been up for a while, at the start of a slice. */
#define START (INT64_C(123456) * LENGTH)

static int64_t estimate(uint64_t word, int64_t at)
{
	return window_estimate(word, START + at, LENGTH);
}

START_TEST(a_fresh_word_is_empty)
{
	ck_assert_int_eq(window_estimate(0, 0, LENGTH), 0);
	ck_assert_int_eq(estimate(0, 0), 0);
	ck_assert_int_eq(estimate(0, LENGTH - 1), 0);
	/* Slice 0 is no exception. */
	ck_assert_int_eq(window_estimate(window_add(0, 0, LENGTH, 3), 5, LENGTH), 3 * PPM);
}
END_TEST

START_TEST(the_slice_before_fades)
{
	static const struct {
		int64_t at, expect; /* ms since the start, millionths */
	} rows[] = {
		{ 0, 100 * PPM },    { 9999, 100 * PPM },  { 10000, 100 * PPM },
		{ 12500, 75 * PPM }, { 15000, 50 * PPM },  { 19990, PPM / 10 },
		{ 20000, 0 },        { 25000, 0 },         { 1000000, 0 },
	};
	uint64_t word = window_add(0, START, LENGTH, 100);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_int_eq(estimate(word, rows[i].at * DUR_MS), rows[i].expect);
	/* What is new counts in full, what is old fades beside it. */
	word = window_add(word, START + 15 * DUR_S, LENGTH, 7);
	ck_assert_int_eq(estimate(word, 15 * DUR_S), 57 * PPM);
	ck_assert_int_eq(estimate(word, 25 * DUR_S), 7 * PPM / 2);
}
END_TEST

START_TEST(counts_stop_at_the_top)
{
	uint64_t word = window_add(0, START, LENGTH, WINDOW_MAX - 1);

	word = window_add(word, START, LENGTH, 1);
	ck_assert_int_eq(estimate(word, 0), WINDOW_MAX * PPM);
	ck_assert_uint_eq(window_add(word, START, LENGTH, 1), word);
	ck_assert_uint_eq(window_add(word, START, LENGTH, UINT32_MAX), word);
	word = window_add(word, START + LENGTH, LENGTH, UINT32_MAX);
	ck_assert_int_eq(estimate(word, LENGTH), 2 * WINDOW_MAX * PPM);
}
END_TEST

START_TEST(a_clock_behind_counts_into_the_later_slice)
{
	uint64_t word = window_add(0, START, LENGTH, 10);

	word = window_add(word, START + LENGTH, LENGTH, 1);
	word = window_add(word, START + LENGTH - 1, LENGTH, 1);
	ck_assert_int_eq(estimate(word, LENGTH), 12 * PPM);
	ck_assert_int_eq(estimate(word, LENGTH - 1), 12 * PPM);
	/* A word from far ahead is nobody's. */
	ck_assert_int_eq(estimate(word, -DUR_S), 0);
}
END_TEST

START_TEST(wraps_where_the_header_says)
{
	int64_t wrap = (INT64_C(1) << 20) * LENGTH;
	uint64_t word = window_add(0, START, LENGTH, 10);

	ck_assert_int_eq(estimate(word, wrap - 2 * LENGTH), 0);
	ck_assert_int_eq(estimate(word, wrap - 3 * LENGTH), 0);
	ck_assert_int_eq(estimate(word, wrap), 10 * PPM);
	ck_assert_int_eq(estimate(word, wrap + LENGTH + LENGTH / 2), 5 * PPM);
	ck_assert_int_eq(estimate(word, wrap + 2 * LENGTH), 0);
}
END_TEST

START_TEST(any_word_any_length)
{
	static const int64_t lengths[] = { 0, 1, WINDOW_LENGTH_MIN, WINDOW_LENGTH_MIN + 1,
		                           DUR_S, DUR_MAX_CONFIG, INT64_MAX };
	struct prng r;

	prng_seed(&r, 1);
	for (unsigned n = 0; n < 100000; n++) {
		int64_t length = lengths[n % ARRAY_LEN(lengths)];
		int64_t now = (int64_t)(prng_next(&r) >> (1 + n % 40));
		uint64_t word = prng_next(&r);
		uint64_t more = window_add(word, now, length, 1);
		int64_t got = window_estimate(word, now, length);

		/* (An assertion costs more than all of this.) */
		if (got < 0 || got > 2 * WINDOW_MAX * PPM ||
		    window_estimate(more, now, length) < PPM)
			ck_abort_msg("%llx at %lld", (unsigned long long)word, (long long)now);
	}
}
END_TEST

/* Against a list of all that happened: the error is less than the slice before had. */
START_TEST(is_off_by_less_than_the_slice_before)
{
	enum { EVENTS = 3000 };
	static int64_t at[EVENTS];
	struct prng r;
	int64_t now = START;
	uint64_t word = 0;

	prng_seed(&r, 7);
	for (unsigned n = 0; n < EVENTS; n++) {
		int64_t slice, truth = 0, before = 0, got;

		/* Sparse and dense times take turns. */
		now += prng_below(prng_next(&r), n / 200 % 2 ? 3 * DUR_S : 20 * DUR_MS);
		at[n] = now;
		word = window_add(word, now, LENGTH, 1);
		slice = now / LENGTH;
		for (unsigned i = 0; i <= n; i++) {
			truth += at[i] > now - LENGTH;
			before += at[i] / LENGTH == slice - 1;
		}
		got = window_estimate(word, now, LENGTH);
		ck_assert_int_le(llabs(got - truth * PPM), before * PPM);
	}
}
END_TEST

START_TEST(is_right_for_what_happens_evenly)
{
	uint64_t word = 0;

	for (int64_t at = 0; at < 10 * LENGTH; at += 10 * DUR_MS) {
		word = window_add(word, START + at, LENGTH, 1);
		if (at >= LENGTH) {
			ck_assert_int_ge(estimate(word, at), 999 * PPM);
			ck_assert_int_le(estimate(word, at), 1001 * PPM);
		}
	}
}
END_TEST

UNIT_MAIN("window", &a_fresh_word_is_empty, &the_slice_before_fades, &counts_stop_at_the_top,
          &a_clock_behind_counts_into_the_later_slice, &wraps_where_the_header_says,
          &any_word_any_length, &is_off_by_less_than_the_slice_before,
          &is_right_for_what_happens_evenly)
