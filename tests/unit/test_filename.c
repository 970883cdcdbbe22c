/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/filename.h"

static char got[256];

static bool expand(const char *pattern, size_t size)
{
	struct fmt f;
	bool whole;

	errno = 77;
	fmt_init(&f, got, size);
	whole = filename_expand(&f, pattern);
	ck_assert_int_eq(errno, 77);
	return whole;
}

/* What runs is the test itself, under libtool's name or its own. */
START_TEST(parts_are_filled_in)
{
	char path[256], wanted[256];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *name;

	ck_assert_int_gt(n, 0);
	path[n] = '\0';
	name = strrchr(path, '/') + 1;
	snprintf(wanted, sizeof(wanted), "/x/%s-%ld.%ld", name, (long)getpid(), (long)getpid());
	ck_assert(expand("/x/%e-%p.%p", sizeof(got)));
	ck_assert_str_eq(got, wanted);
}
END_TEST

START_TEST(all_else_stays)
{
	ck_assert(expand("/x/100%%p %q %", sizeof(got)));
	ck_assert_str_eq(got, "/x/100%p %q %");
	ck_assert(expand("", sizeof(got)));
	ck_assert_str_eq(got, "");
}
END_TEST

START_TEST(too_long_is_no_name)
{
	ck_assert(expand("/x/abcdef", 10));
	ck_assert(!expand("/x/abcdef", 9));
	ck_assert(!expand("/x/%e", 8));
}
END_TEST

UNIT_MAIN("filename", &parts_are_filled_in, &all_else_stays, &too_long_is_no_name)
