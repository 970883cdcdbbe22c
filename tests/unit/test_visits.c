/* SPDX-License-Identifier: MIT */
#include "cli/visits.h"

#include "base/duration.h"
#include "tests/unit/unit.h"

START_TEST(who_takes_too_long)
{
	struct visits v = { 0 };
	struct visit *slow, *quick;

	ck_assert_int_eq(visits_left(&v, 0, 30), DUR_NONE);
	slow = visits_begin(&v, 7, 100);
	quick = visits_begin(&v, 8, 105);
	ck_assert_int_eq(slow->fd, 7);
	ck_assert_int_eq(visits_left(&v, 110, 30), 20);
	ck_assert_ptr_null(visits_over(&v, 129, 30));
	/* Whoever is answered has the time again. */
	visits_answered(quick, 125);
	ck_assert_int_eq(visits_left(&v, 150, 30), 0);
	ck_assert_ptr_eq(visits_over(&v, 140, 30), slow);
	/* Told once. */
	ck_assert_ptr_null(visits_over(&v, 140, 30));
	ck_assert_int_eq(visits_left(&v, 140, 30), 15);
	visits_end(quick);
	ck_assert_int_eq(visits_left(&v, 140, 30), DUR_NONE);
	ck_assert_ptr_null(visits_over(&v, 500, 30));
	visits_end(slow);
	ck_assert_ptr_eq(visits_begin(&v, 9, 600), slow);
	ck_assert_ptr_eq(visits_over(&v, 630, 30), slow);
}
END_TEST

START_TEST(no_more_than_fit)
{
	struct visits v = { 0 };

	for (int i = 0; i < VISITS_MAX; i++)
		ck_assert_ptr_nonnull(visits_begin(&v, i, i));
	ck_assert_ptr_null(visits_begin(&v, 99, 99));
	visits_answered(NULL, 1);
	visits_end(NULL);
	for (int i = 0; i < VISITS_MAX; i++)
		ck_assert_int_eq(visits_over(&v, 1000, 30)->fd, i);
	ck_assert_ptr_null(visits_over(&v, 1000, 30));
}
END_TEST

UNIT_MAIN("visits", &who_takes_too_long, &no_more_than_fit)
