/* SPDX-License-Identifier: MIT */
#include <limits.h>

#include "state/fdtab.h"
#include "state/options.h"

#include "tests/unit/unit.h"

START_TEST(what_was_set_is_found)
{
	static const int values[] = { 0, 1, 536, INT_MAX, -1, INT_MIN };
	int value;

	options_reset();
	ck_assert(!options_find(3, OPTION_MAXSEG, &value));
	ck_assert(!(fdtab_word() & FDTAB_OPTIONS));
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		options_note(3, OPTION_MAXSEG, values[i]);
		ck_assert(options_find(3, OPTION_MAXSEG, &value));
		ck_assert_int_eq(value, values[i]);
		ck_assert(!options_find(3, OPTION_WINDOW_CLAMP, &value));
	}
	ck_assert(fdtab_word() & FDTAB_OPTIONS);
	options_reset();
	ck_assert(!options_find(3, OPTION_MAXSEG, &value));
	ck_assert(!(fdtab_word() & FDTAB_OPTIONS));
}
END_TEST

START_TEST(a_number_is_its_own)
{
	int value;

	options_reset();
	options_note(3, OPTION_MAXSEG, 500);
	options_note(3, OPTION_WINDOW_CLAMP, 600);
	/* The same place. */
	ck_assert(!options_find(3 + OPTIONS_PLACES, OPTION_MAXSEG, &value));
	options_forget(3 + OPTIONS_PLACES);
	options_forget(-1);
	ck_assert(!options_find(-1, OPTION_MAXSEG, &value));
	ck_assert(options_find(3, OPTION_MAXSEG, &value));
	options_note(3 + OPTIONS_PLACES, OPTION_MAXSEG, 700);
	ck_assert(!options_find(3, OPTION_MAXSEG, &value));
	ck_assert(options_find(3, OPTION_WINDOW_CLAMP, &value));
	ck_assert_int_eq(value, 600);
	options_forget(3);
	ck_assert(!options_find(3, OPTION_WINDOW_CLAMP, &value));
	ck_assert(options_find(3 + OPTIONS_PLACES, OPTION_MAXSEG, &value));
	options_reset();
}
END_TEST

START_TEST(a_dup_has_what_its_socket_has)
{
	int value;

	options_reset();
	options_note(3, OPTION_MAXSEG, 500);
	options_note(4, OPTION_MAXSEG, 700);
	options_note(4, OPTION_WINDOW_CLAMP, 800);
	options_copy(3, 4);
	ck_assert(options_find(4, OPTION_MAXSEG, &value));
	ck_assert_int_eq(value, 500);
	ck_assert(!options_find(4, OPTION_WINDOW_CLAMP, &value));
	options_forget(3);
	ck_assert(options_find(4, OPTION_MAXSEG, &value));
	options_copy(3, 4);
	ck_assert(!options_find(4, OPTION_MAXSEG, &value));
	options_reset();
}
END_TEST

UNIT_MAIN("options", &what_was_set_is_found, &a_number_is_its_own,
          &a_dup_has_what_its_socket_has)
