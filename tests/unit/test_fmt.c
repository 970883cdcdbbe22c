/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/duration.h"
#include "base/fmt.h"

static char buffer[256];
static struct fmt out;

static struct fmt *start(void)
{
	memset(buffer, '#', sizeof(buffer));
	fmt_init(&out, buffer, sizeof(buffer));
	return &out;
}

static const char *text(void)
{
	fmt_end(&out);
	return buffer;
}

START_TEST(never_writes_past_the_end)
{
	for (size_t cap = 1; cap <= 8; cap++) {
		struct fmt f;

		memset(buffer, '#', sizeof(buffer));
		fmt_init(&f, buffer, cap);
		fmt_str(&f, "abc");
		fmt_char(&f, 'd');
		fmt_u64(&f, 56);
		ck_assert_uint_eq(fmt_end(&f), cap > 6 ? 6 : cap - 1);
		ck_assert_int_eq(f.cut, cap < 7);
		ck_assert_int_eq(strncmp(buffer, "abcd56", cap - 1 > 6 ? 6 : cap - 1), 0);
		ck_assert_int_eq(buffer[f.len], '\0');
		ck_assert_int_eq(buffer[cap], '#');
	}
}
END_TEST

START_TEST(appends_text)
{
	fmt_str(start(), NULL);
	ck_assert_str_eq(text(), "");
	fmt_str(start(), "x");
	fmt_mem(&out, "yz", 1);
	fmt_mem(&out, NULL, 0);
	fmt_char(&out, '!');
	ck_assert_str_eq(text(), "xy!");
	ck_assert(!out.cut);
}
END_TEST

START_TEST(prints_numbers)
{
	fmt_u64(start(), 0);
	ck_assert_str_eq(text(), "0");
	fmt_u64(start(), UINT64_MAX);
	ck_assert_str_eq(text(), "18446744073709551615");
	fmt_i64(start(), INT64_MIN);
	ck_assert_str_eq(text(), "-9223372036854775808");
	fmt_i64(start(), INT64_MAX);
	ck_assert_str_eq(text(), "9223372036854775807");
	fmt_i64(start(), -1);
	ck_assert_str_eq(text(), "-1");
	fmt_pad(start(), 7, 3);
	ck_assert_str_eq(text(), "007");
	fmt_pad(start(), 12345, 3);
	ck_assert_str_eq(text(), "12345");
	fmt_pad(start(), 0, 0);
	ck_assert_str_eq(text(), "0");
	fmt_hex(start(), 0);
	ck_assert_str_eq(text(), "0");
	fmt_hex(start(), UINT64_C(0xfedcba9876543210));
	ck_assert_str_eq(text(), "fedcba9876543210");
}
END_TEST

START_TEST(prints_durations_for_people)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0us" },
		{ 999, "0us" },
		{ 41999, "41us" },
		{ 99999, "99us" },
		{ 100 * DUR_US, "0.1ms" },
		{ 412 * DUR_US, "0.4ms" },
		{ DUR_MS, "1ms" },
		{ 9999 * DUR_US, "9.9ms" },
		{ 10 * DUR_MS, "10ms" },
		{ 112 * DUR_MS + 999999, "112ms" },
		{ DUR_S - 1, "999ms" },
		{ DUR_S, "1s" },
		{ 1550 * DUR_MS, "1.5s" },
		{ 29999 * DUR_MS, "29.9s" },
		{ 60 * DUR_S - 1, "59.9s" },
		{ 60 * DUR_S, "1m" },
		{ 90 * DUR_S, "1.5m" },
		{ 120 * DUR_S, "2m" },
		{ 3600 * DUR_S - 1, "59.9m" },
		{ 3600 * DUR_S, "1h" },
		{ DUR_MAX_CONFIG, "24h" },
		{ DUR_NONE, "none" },
		{ DUR_NONE - 1, "2562047.7h" },
		{ -1500 * DUR_MS, "-1.5s" },
		{ INT64_MIN, "-2562047.7h" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		fmt_dur(start(), cases[i].ns);
		ck_assert_str_eq(text(), cases[i].text);
	}
}
END_TEST

START_TEST(prints_durations_to_be_read_back)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0s" },
		{ 100 * DUR_MS, "100ms" },
		{ 1500 * DUR_MS, "1500ms" },
		{ 90 * DUR_S, "90s" },
		{ 60 * DUR_S, "1m" },
		{ 7200 * DUR_S, "2h" },
		{ DUR_MAX_CONFIG, "24h" },
		{ 1001, "1001ns" },
		{ 112 * DUR_MS + 1, "112000001ns" },
		{ 1001 * DUR_US, "1001us" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t back = -1;

		fmt_dur_exact(start(), cases[i].ns);
		ck_assert_str_eq(text(), cases[i].text);
		ck_assert_int_eq(dur_parse(buffer, &back), DUR_OK);
		ck_assert_int_eq(back, cases[i].ns);
	}
	fmt_dur_exact(start(), DUR_NONE);
	ck_assert_str_eq(text(), "none");
	fmt_dur_exact(start(), INT64_MIN);
	ck_assert_str_eq(text(), "-9223372036854775808ns");
}
END_TEST

START_TEST(prints_ratios)
{
	static const struct {
		int64_t ppm;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 1, "0.000001" },
		{ 500000, "0.5" },
		{ 1000000, "1" },
		{ 1234567, "1.234567" },
		{ 2050000, "2.05" },
		{ -500000, "-0.5" },
		{ INT64_MAX, "9223372036854.775807" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		fmt_ppm(start(), cases[i].ppm);
		ck_assert_str_eq(text(), cases[i].text);
	}
}
END_TEST

START_TEST(words_are_harmless)
{
	static const struct {
		const char *in;
		size_t max;
		const char *out;
	} cases[] = {
		{ NULL, 8, "" },
		{ "", 8, "" },
		{ "db1:5432", 8, "db1:5432" },
		{ "db1:54321", 8, "db1:5432..." },
		{ "abc", 0, "..." },
		{ "a b\nc", 9, "a\\x20b\\x0ac" },
		{ "\x1b[31m", 9, "\\x1b[31m" },
		{ "\"\\=~\x7f\xff", 9, "\\x22\\x5c\\x3d~\\x7f\\xff" },
		{ "\xc3\xbc", 1, "\\xc3..." },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		fmt_word(start(), cases[i].in, cases[i].max);
		ck_assert_str_eq(text(), cases[i].out);
	}
}
END_TEST

START_TEST(json_strings_are_valid)
{
	static const struct {
		const char *in;
		size_t max;
		const char *out;
	} cases[] = {
		{ NULL, 8, "" },
		{ "a b=c", 8, "a b=c" },
		{ "\"\\/", 8, "\\\"\\\\/" },
		{ "\n\x01\x7f", 8, "\\u000a\\u0001\\u007f" },
		{ "abc", 2, "ab..." },
		/* two, three and four bytes, whole */
		{ "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80", 9,
		  "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80" },
		/* controls of two bytes; the first that is none */
		{ "\xc2\x80\xc2\x9b" "31m\xc2\x9f\xc2\xa0", 16,
		  "\\u0080\\u009b31m\\u009f\xc2\xa0" },
		/* never cut inside a character */
		{ "a\xe2\x82\xac", 3, "a..." },
		/* stray, overlong, surrogate, past U+10FFFF, unfinished */
		{ "\x80x", 8, "\\u0080x" },
		{ "\xc0\xaf", 8, "\\u00c0\\u00af" },
		{ "\xe0\x80\xaf", 8, "\\u00e0\\u0080\\u00af" },
		{ "\xf0\x80\x80\xaf", 8, "\\u00f0\\u0080\\u0080\\u00af" },
		{ "\xed\xa0\x80", 8, "\\u00ed\\u00a0\\u0080" },
		{ "\xf4\x90\x80\x80", 8, "\\u00f4\\u0090\\u0080\\u0080" },
		{ "\xff\xfe", 8, "\\u00ff\\u00fe" },
		{ "\xe2\x82", 8, "\\u00e2\\u0082" },
		{ "\xe2", 8, "\\u00e2" },
		{ "\xf0\x9f\x98", 8, "\\u00f0\\u009f\\u0098" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		fmt_json(start(), cases[i].in, cases[i].max);
		ck_assert_str_eq(text(), cases[i].out);
	}
}
END_TEST

START_TEST(prints_utc)
{
	static const struct {
		int64_t seconds, ns;
		const char *text;
	} cases[] = {
		{ 0, 0, "1970-01-01T00:00:00.000Z" },
		{ -1, 999999999, "1969-12-31T23:59:59.999Z" },
		{ 951782400, 0, "2000-02-29T00:00:00.000Z" },
		{ 951868800, 0, "2000-03-01T00:00:00.000Z" },
		{ 1709251199, 1000000, "2024-02-29T23:59:59.001Z" },
		{ 1767225599, 0, "2025-12-31T23:59:59.000Z" },
		{ 1795977097, 123456789, "2026-11-29T18:31:37.123Z" },
		{ 4107542399, 0, "2100-02-28T23:59:59.000Z" },
		{ 4107542400, 0, "2100-03-01T00:00:00.000Z" },
		{ 253402300799, 0, "9999-12-31T23:59:59.000Z" },
		{ 253402300800, 0, "10000-01-01T00:00:00.000Z" },
		{ -62135596800, 0, "0001-01-01T00:00:00.000Z" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		fmt_utc(start(), cases[i].seconds, cases[i].ns);
		ck_assert_str_eq(text(), cases[i].text);
	}
	/* Nonsense, but bounded and without overflow. */
	fmt_utc(start(), INT64_MAX, 0);
	ck_assert_uint_lt(strlen(text()), 40);
	fmt_utc(start(), INT64_MIN, 0);
	ck_assert_uint_lt(strlen(text()), 40);
}
END_TEST

UNIT_MAIN("fmt", &never_writes_past_the_end, &appends_text, &prints_numbers,
          &prints_durations_for_people, &prints_durations_to_be_read_back, &prints_ratios,
          &words_are_harmless, &json_strings_are_valid, &prints_utc)
