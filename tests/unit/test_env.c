/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

#include "config/env.h"

static struct env env;

START_TEST(keeps_ours_only)
{
	char *vars[] = { "PATH=/bin", "LIBRETRY_MODE=observe", "LIBRETRY_MODEX=1",
		         "XLIBRETRY_MODE=1", "HOME=/home/u", "LIBRETRY_", "LIBRETRY_CAP", NULL };
	unsigned set = 0;

	env_snapshot(&env, vars, false);
	ck_assert_str_eq(env_get(&env, ENV_MODE), "observe");
	ck_assert_str_eq(env_get(&env, ENV_HOME), "/home/u");
	for (int v = 0; v < ENV_COUNT; v++)
		set += env_get(&env, (enum env_var)v) != NULL;
	ck_assert_uint_eq(set, 2);
	ck_assert_uint_eq(env.dropped, 0);
}
END_TEST

START_TEST(is_a_copy)
{
	char entry[] = "LIBRETRY_POLICY=patient";
	char *vars[] = { entry, NULL };

	env_snapshot(&env, vars, false);
	memset(entry, 'x', sizeof(entry) - 1);
	ck_assert_str_eq(env_get(&env, ENV_POLICY), "patient");
}
END_TEST

START_TEST(first_entry_counts)
{
	char *vars[] = { "LIBRETRY_CAP=hard", "LIBRETRY_CAP=soft", "LIBRETRY_MODE=",
		         "LIBRETRY_MODE=observe", NULL };

	env_snapshot(&env, vars, false);
	ck_assert_str_eq(env_get(&env, ENV_CAP), "hard");
	ck_assert_ptr_null(env_get(&env, ENV_MODE));
}
END_TEST

START_TEST(secure_mode_reads_nothing)
{
	char *vars[] = { "LIBRETRY_CAP=hard", "HOME=/x", NULL };

	env_snapshot(&env, vars, true);
	ck_assert(env.secure);
	for (int v = 0; v < ENV_COUNT; v++)
		ck_assert_ptr_null(env_get(&env, (enum env_var)v));
	env_snapshot(&env, NULL, false);
	ck_assert_ptr_null(env_get(&env, ENV_CAP));
	ck_assert_ptr_null(env_get(&env, ENV_COUNT));
}
END_TEST

START_TEST(drops_what_does_not_fit)
{
	static char big[ENV_BYTES + 64] = "LIBRETRY_CONFIG=", exact[ENV_BYTES + 64];
	char *vars[] = { big, "LIBRETRY_CAP=hard", NULL };
	char *fits[] = { exact, "LIBRETRY_CAP=hard", NULL };

	memset(big + strlen(big), 'a', ENV_BYTES);
	env_snapshot(&env, vars, false);
	ck_assert_ptr_null(env_get(&env, ENV_CONFIG));
	ck_assert_uint_eq(env.dropped, 1);
	ck_assert_str_eq(env_get(&env, ENV_CAP), "hard");

	strcpy(exact, "LIBRETRY_CONFIG=");
	memset(exact + strlen(exact), 'a', ENV_BYTES - 1);
	env_snapshot(&env, fits, false);
	ck_assert_uint_eq(strlen(env_get(&env, ENV_CONFIG)), ENV_BYTES - 1);
	ck_assert_ptr_null(env_get(&env, ENV_CAP));
	ck_assert_uint_eq(env.dropped, 1);
}
END_TEST

START_TEST(leaves_errno)
{
	char *vars[] = { "LIBRETRY_CAP=hard", NULL };

	errno = 4711;
	env_snapshot(&env, vars, false);
	ck_assert_int_eq(errno, 4711);
}
END_TEST

START_TEST(flags)
{
	static const struct {
		const char *entry;
		bool is;
	} table[] = {
		{ "LIBRETRY_STRICT=1", true },     { "LIBRETRY_STRICT=yes", true },
		{ "LIBRETRY_STRICT=TRUE", true },  { "LIBRETRY_STRICT=On", true },
		{ "LIBRETRY_STRICT=0", false },    { "LIBRETRY_STRICT=no", false },
		{ "LIBRETRY_STRICT=11", false },   { "LIBRETRY_STRICT=", false },
		{ "LIBRETRY_STRICT= 1", false },   { "OTHER=1", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		char *vars[] = { (char *)table[i].entry, NULL };

		env_snapshot(&env, vars, false);
		ck_assert_msg(env_flag(&env, ENV_STRICT) == table[i].is, "%s", table[i].entry);
	}
}
END_TEST

START_TEST(names_are_whole)
{
	for (int v = 0; v < ENV_COUNT; v++) {
		char entry[64];
		char *vars[] = { entry, NULL };

		snprintf(entry, sizeof(entry), "%s=value", env_name((enum env_var)v));
		env_snapshot(&env, vars, false);
		ck_assert_str_eq(env_get(&env, (enum env_var)v), "value");
	}
	ck_assert_ptr_null(env_name(ENV_COUNT));
}
END_TEST

UNIT_MAIN("env", &keeps_ours_only, &is_a_copy, &first_entry_counts,
          &secure_mode_reads_nothing, &drops_what_does_not_fit, &leaves_errno, &flags,
          &names_are_whole)
