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
#include <stdlib.h>

#include "base/compat.h"

/* Check writes down the place of each assertion that holds, for the report of a
 * crash. In a loop of millions that is most of what a test costs. */
static inline void unit_mark_point(const char *file, int line)
{
	static int lately[4];
	static unsigned next;

	for (size_t i = 0; i < ARRAY_LEN(lately); i++)
		if (lately[i] == line)
			return;
	lately[next++ % ARRAY_LEN(lately)] = line;
	_mark_point(file, line);
}
#define _mark_point unit_mark_point

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
	failed = srunner_ntests_failed(runner);
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
