/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#include "base/duration.h"
#include "cli/limits.h"

START_TEST(syn_times)
{
	static const struct {
		unsigned retries, linear;
		int64_t user_ms, ms;
		unsigned again;
	} rows[] = {
		{ 6, 0, 0, 127000, 6 },  /* SYNs after 1 3 7 15 31 63 s */
		{ 6, 4, 0, 131000, 10 }, /* ip-sysctl's figure */
		{ 1, 0, 0, 3000, 1 },    /* these are measured */
		{ 2, 0, 0, 7000, 2 },
		{ 1, 2, 0, 3000, 2 },
		{ 6, 0, 2000, 2000, 1 },
		{ 6, 4, 2500, 2500, 2 },
		{ 6, 0, 700, 1000, 0 },
		/* The doubling ends at two minutes. */
		{ 8, 0, 0, 127000 + 2 * 120000, 8 },
		{ 0, 0, 0, 1000, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct syn_limits l = { rows[i].retries, rows[i].linear, 120 * DUR_S,
			                rows[i].user_ms * DUR_MS };
		unsigned again;

		ck_assert_int_eq(syn_time(&l, &again), rows[i].ms * DUR_MS);
		ck_assert_uint_eq(again, rows[i].again);
	}
}
END_TEST

START_TEST(huge_limits_end)
{
	struct syn_limits l = { 4000000000U, 4000000000U, INT64_MAX, 0 };
	unsigned again;

	ck_assert_int_gt(syn_time(&l, &again), 0);
	l.user_timeout = 1;
	ck_assert_int_eq(syn_time(&l, &again), DUR_S);
}
END_TEST

static void put(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

START_TEST(kernel_settings)
{
	char dir[] = "/tmp/limits.XXXXXX";
	char command[64];
	struct syn_limits l;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert(!syn_limits_read(&l, dir));
	ck_assert_uint_eq(l.retries, 6);
	ck_assert_uint_eq(l.linear, 0);
	put(dir, "tcp_syn_retries", "3\n");
	put(dir, "tcp_syn_linear_timeouts", "4\n");
	put(dir, "tcp_rto_max_ms", "2000\n");
	ck_assert(syn_limits_read(&l, dir));
	ck_assert_uint_eq(l.retries, 3);
	ck_assert_uint_eq(l.linear, 4);
	ck_assert_int_eq(l.rto_max, 2 * DUR_S);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

/* All measured with glibc 2.36 but the last two. */
START_TEST(resolver_times)
{
	static const struct {
		struct resolver_limits l;
		int seconds;
	} rows[] = {
		{ { 1, 2, 1, false }, 2 },  { { 1, 2, 1, true }, 4 }, { { 1, 1, 1, true }, 2 },
		{ { 3, 1, 3, false }, 9 },  { { 2, 1, 2, false }, 4 }, { { 1, 1, 1, false }, 1 },
		{ { 5, 2, 1, false }, 10 }, { { 5, 2, 3, false }, 28 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_int_eq(resolver_time(&rows[i].l), rows[i].seconds * DUR_S);
}
END_TEST

START_TEST(resolver_settings)
{
	struct resolver_limits l;

	setenv("RES_OPTIONS", "timeout:7 attempts:3", 1);
	setenv("LOCALDOMAIN", "example.net", 1);
	if (!resolver_limits_read(&l, "db1"))
		return;
	ck_assert_uint_eq(l.timeout, 7);
	ck_assert_uint_eq(l.attempts, 3);
	ck_assert(l.searches);
	resolver_limits_read(&l, "db1.example.org");
	ck_assert(l.searches);
	resolver_limits_read(&l, "db1.example.org.");
	ck_assert(!l.searches);
}
END_TEST

UNIT_MAIN("limits", &syn_times, &huge_limits_end, &kernel_settings, &resolver_times,
          &resolver_settings)
