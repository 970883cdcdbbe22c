/* SPDX-License-Identifier: MIT */
/*
 * unit.h - main() of a Check suite: one suite per source file.
 *
 *     START_TEST(parses_units) { ... } END_TEST
 *     UNIT_MAIN("duration", &parses_units, &rejects_junk)
 */
#ifndef LIBRETRY_TESTS_UNIT_H
#define LIBRETRY_TESTS_UNIT_H

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/compat.h"

/* Check writes down the place of each assertion that holds, for the report of a
 * crash. In a loop of millions that is most of what a test costs. */
static inline void unit_mark_point(const char *file, int line)
{
	static _Thread_local int lately[4];
	static _Thread_local unsigned next;

	for (size_t i = 0; i < ARRAY_LEN(lately); i++)
		if (lately[i] == line)
			return;
	lately[next++ % ARRAY_LEN(lately)] = line;
	_mark_point(file, line);
}
#define _mark_point unit_mark_point

/* "make check-valgrind" says so: what it cannot take is left out. */
static inline bool unit_valgrind(void)
{
	return getenv("UNIT_VALGRIND") != NULL;
}

/* How often the same is done over and over: <rounds>, a tenth where each is slow. */
static inline unsigned unit_rounds(unsigned rounds)
{
	return unit_valgrind() ? rounds / 10 : rounds;
}

static int unit_run(const char *name, const TTest *const *tests, size_t count)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	for (size_t i = 0; i < count; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	/* Settings of Check in the environment can leave all of them out. */
	failed = srunner_ntests_run(runner) == 0 || srunner_ntests_failed(runner) != 0;
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define UNIT_MAIN(name, ...) \
	int main(void) \
	{ \
		static const TTest *const *const tests[] = { __VA_ARGS__ }; \
		const TTest *list[ARRAY_LEN(tests)]; \
		for (size_t i = 0; i < ARRAY_LEN(tests); i++) \
			list[i] = *tests[i]; \
		return unit_run(name, list, ARRAY_LEN(list)); \
	}

#endif
