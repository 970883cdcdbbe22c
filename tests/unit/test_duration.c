/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/duration.h"

START_TEST(parses_units)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{ "0", 0 },
		{ "0s", 0 },
		{ "0.000ms", 0 },
		{ "1000ns", DUR_US },
		{ "1us", DUR_US },
		{ "100ms", 100 * DUR_MS },
		{ "007s", 7 * DUR_S },
		{ "1.5s", 1500 * DUR_MS },
		{ "0.1s", 100 * DUR_MS },
		{ "2m", 120 * DUR_S },
		{ "0.5h", 1800 * DUR_S },
		{ "24h", DUR_MAX_CONFIG },
		{ "86400s", DUR_MAX_CONFIG },
		{ "1.0000000001us", DUR_US },
		{ "0.000000001s", -1 },
		{ "0.000001s", DUR_US },
		{ "0.999999999999999999999999999999s", 999999999 },
		{ "0.0000000001h", -1 },
		{ "0.3333333333333333333h", INT64_C(1199999999999) },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t ns = -1;
		enum dur_status status = dur_parse(cases[i].text, &ns);

		ck_assert_msg(ns == cases[i].ns, "%s: %lld", cases[i].text, (long long)ns);
		ck_assert_msg(status == (ns < 0 ? DUR_TOO_SMALL : DUR_OK), "%s: status %d",
		              cases[i].text, status);
	}
}
END_TEST

START_TEST(refuses_junk)
{
	static const struct {
		const char *text;
		enum dur_status status;
	} cases[] = {
		{ "", DUR_EMPTY },
		{ "100", DUR_NO_UNIT },
		{ "1.5", DUR_NO_UNIT },
		{ "00", DUR_NO_UNIT },
		{ "0.0", DUR_NO_UNIT },
		{ "100 parsecs", DUR_BAD_UNIT },
		{ "100 ms", DUR_BAD_UNIT },
		{ "100ms ", DUR_BAD_UNIT },
		{ "100MS", DUR_BAD_UNIT },
		{ "1e3s", DUR_BAD_UNIT },
		{ "1m30s", DUR_BAD_UNIT },
		{ "1,5s", DUR_BAD_UNIT },
		{ "1s\xff", DUR_BAD_UNIT },
		{ "-1s", DUR_BAD_NUMBER },
		{ "+1s", DUR_BAD_NUMBER },
		{ " 1s", DUR_BAD_NUMBER },
		{ ".5s", DUR_BAD_NUMBER },
		{ "1.s", DUR_BAD_NUMBER },
		{ "1..2s", DUR_BAD_NUMBER },
		{ "1.2.3s", DUR_BAD_NUMBER },
		{ "abc", DUR_BAD_NUMBER },
		{ "s", DUR_BAD_NUMBER },
		{ ".", DUR_BAD_NUMBER },
		{ "none", DUR_BAD_NUMBER },
		{ "1ns", DUR_TOO_SMALL },
		{ "999ns", DUR_TOO_SMALL },
		{ "0.9us", DUR_TOO_SMALL },
		{ "0.00000000000000000001s", DUR_TOO_SMALL },
		{ "24.0001h", DUR_TOO_LARGE },
		{ "25h", DUR_TOO_LARGE },
		{ "86400000000001ns", DUR_TOO_LARGE },
		{ "86400000000000.9us", DUR_TOO_LARGE },
		{ "9223372036854775807ns", DUR_TOO_LARGE },
		{ "9223372036854775808h", DUR_TOO_LARGE },
		{ "18446744073709551617s", DUR_TOO_LARGE },
		{ "99999999999999999999999999999999999999999h", DUR_TOO_LARGE },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t ns = 42;
		enum dur_status status = dur_parse(cases[i].text, &ns);

		ck_assert_msg(status == cases[i].status, "\"%s\": %d", cases[i].text, status);
		ck_assert_int_eq(ns, 42);
	}
}
END_TEST

START_TEST(every_status_has_its_own_text)
{
	for (int i = DUR_OK; i <= DUR_TOO_LARGE; i++) {
		const char *text = dur_status_text((enum dur_status)i);

		ck_assert_uint_gt(strlen(text), 0);
		for (int j = DUR_OK; j < i; j++)
			ck_assert_str_ne(text, dur_status_text((enum dur_status)j));
	}
	ck_assert_str_eq(dur_status_text(DUR_NO_UNIT), "has no unit");
}
END_TEST

START_TEST(adds_and_subtracts_saturating)
{
	static const struct {
		int64_t a, b, sum, difference;
	} cases[] = {
		{ 1, 2, 3, -1 },
		{ DUR_NONE, 5, DUR_NONE, DUR_NONE },
		{ DUR_NONE, -5, DUR_NONE, DUR_NONE },
		{ DUR_NONE, DUR_NONE, DUR_NONE, DUR_NONE },
		{ 5, DUR_NONE, DUR_NONE, INT64_MIN },
		{ DUR_NONE - 1, 1, DUR_NONE, DUR_NONE - 2 },
		{ DUR_NONE - 1, 2, DUR_NONE, DUR_NONE - 3 },
		{ DUR_NONE - 1, -2, DUR_NONE - 3, DUR_NONE },
		{ INT64_MIN, -1, INT64_MIN, INT64_MIN + 1 },
		{ INT64_MIN, 1, INT64_MIN + 1, INT64_MIN },
		{ 0, INT64_MIN, INT64_MIN, DUR_NONE },
		{ INT64_MIN, DUR_NONE, DUR_NONE, INT64_MIN },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ck_assert_int_eq(dur_add(cases[i].a, cases[i].b), cases[i].sum);
		ck_assert_int_eq(dur_add(cases[i].b, cases[i].a), cases[i].sum);
		ck_assert_int_eq(dur_sub(cases[i].a, cases[i].b), cases[i].difference);
	}
}
END_TEST

START_TEST(scales_exactly)
{
	static const struct {
		int64_t ns, ppm, result;
	} cases[] = {
		{ 0, 500000, 0 },
		{ 100 * DUR_MS, 0, 0 },
		{ 100 * DUR_MS, 1000000, 100 * DUR_MS },
		{ 100 * DUR_MS, 1500000, 150 * DUR_MS },
		{ 3, 500000, 1 },
		{ 1, 999999, 0 },
		{ 1000001, 999999, 999999 },
		{ 1999999, 999999, 1999997 },
		{ DUR_NONE, 0, DUR_NONE },
		{ DUR_NONE, 500000, DUR_NONE },
		{ DUR_NONE - 1, 1000000, DUR_NONE - 1 },
		{ DUR_NONE - 1, 1000001, DUR_NONE },
		{ DUR_NONE - 1, 2000000, DUR_NONE },
		/* (2^63 - 2) * 0.999999, by hand with exact integers */
		{ DUR_NONE - 1, 999999, INT64_C(9223362813482738951) },
		{ 5, DUR_NONE, INT64_C(46116860184273) },
		{ DUR_MAX_CONFIG, 100000000, 100 * DUR_MAX_CONFIG },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_int_eq(dur_scale(cases[i].ns, cases[i].ppm), cases[i].result);
}
END_TEST

START_TEST(makes_durations_of_seconds)
{
	ck_assert_int_eq(dur_of(0, 0), 0);
	ck_assert_int_eq(dur_of(2, 999999999), INT64_C(2999999999));
	ck_assert_int_eq(dur_of(INT64_C(9223372036), 854775806), DUR_NONE - 1);
	ck_assert_int_eq(dur_of(INT64_C(9223372036), 854775808), DUR_NONE);
	ck_assert_int_eq(dur_of(INT64_C(9223372037), 0), DUR_NONE);
	ck_assert_int_eq(dur_of(INT64_MAX, 0), DUR_NONE);
}
END_TEST

START_TEST(makes_timespecs)
{
	struct timespec ts = dur_timespec(1500 * DUR_MS);

	ck_assert_int_eq(ts.tv_sec, 1);
	ck_assert_int_eq(ts.tv_nsec, 500000000);
	ts = dur_timespec(-1);
	ck_assert_int_eq(ts.tv_sec, 0);
	ck_assert_int_eq(ts.tv_nsec, 0);
	ts = dur_timespec(INT64_MIN);
	ck_assert_int_eq(ts.tv_sec, 0);
	ts = dur_timespec(999999999);
	ck_assert_int_eq(ts.tv_sec, 0);
	ck_assert_int_eq(ts.tv_nsec, 999999999);
	ts = dur_timespec(DUR_NONE);
	ck_assert_int_ge(ts.tv_sec, INT32_MAX);
	ck_assert_int_eq(ts.tv_nsec, 0);
}
END_TEST

UNIT_MAIN("duration", &parses_units, &refuses_junk, &every_status_has_its_own_text,
          &adds_and_subtracts_saturating, &scales_exactly, &makes_durations_of_seconds,
          &makes_timespecs)
