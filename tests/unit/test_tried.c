/* SPDX-License-Identifier: MIT */
#include "state/tried.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/names.h"
#include "tests/unit/unit.h"

#define PORT 80

static struct name_entry e;

static struct addr addr_of(unsigned n)
{
	struct addr a;

	memset(&a, 0, sizeof(a));
	a.family = AF_INET;
	a.ip[0] = 10;
	a.ip[3] = (uint8_t)n;
	a.port = PORT;
	return a;
}

/* "db" has the addresses 10.0.0.0 and so on. */
static void setup(unsigned count)
{
	struct name_list list = { .count = 0 };

	names_reset();
	for (unsigned i = 0; i < count; i++) {
		struct name_ip ip = { AF_INET, { 10, 0, 0, (uint8_t)i } };

		name_list_add(&list, &ip);
	}
	names_remember("db", &list, 1, 0);
}

static const struct name_entry *at(unsigned n, uintptr_t thread)
{
	struct addr a = addr_of(n);

	ck_assert(names_find(&a, thread, &e));
	return &e;
}

static uint32_t fails(unsigned n)
{
	return tried_failed(at(n, 1), PORT, 0, 0);
}

static void succeeds(unsigned n)
{
	struct addr a = addr_of(n);

	tried_success_at(&a);
}

START_TEST(a_walk)
{
	setup(3);
	ck_assert_uint_eq(tried_left(at(0, 1), PORT), TRIED_OVER | 6);
	ck_assert_uint_eq(fails(0), 6);
	ck_assert(tried_is_first(&e, 6));
	ck_assert_uint_eq(fails(1), 4);
	ck_assert(!tried_is_first(&e, 4));
	ck_assert_uint_eq(fails(2), 0);
	/* The next one. */
	ck_assert_uint_eq(fails(0), 6);
	ck_assert_uint_eq(fails(1), 4);
	ck_assert_uint_eq(tried_left(at(2, 1), PORT), 0);
	/* Another port is another server. */
	ck_assert_uint_eq(tried_failed(at(1, 1), PORT + 1, 0, 0), 5);
	ck_assert_uint_eq(tried_left(at(1, 1), PORT), 4);
	/* A newer look-up, in whatever thread, changes nothing. */
	{
		struct name_ip ips[3] = { { AF_INET, { 10, 0, 0, 2 } },
			                  { AF_INET, { 10, 0, 0, 1 } },
			                  { AF_INET, { 10, 0, 0, 0 } } };

		remember("db", ips, 3, 2);
	}
	ck_assert_uint_eq(tried_left(at(1, 2), PORT), 1);
}
END_TEST

/* Side by side: each goes on, and the last waits. */
START_TEST(walks_side_by_side)
{
	setup(2);
	for (unsigned i = 0; i < 300; i++)
		ck_assert_uint_eq(fails(0), 2);
	for (unsigned i = 0; i < 300; i++)
		ck_assert_uint_eq(fails(1), 0);
	setup(2);
	ck_assert_uint_eq(fails(0), 2);
	ck_assert_uint_eq(fails(0), 2);
	ck_assert_uint_eq(fails(1), 0);
	ck_assert_uint_eq(fails(0), 2);
	ck_assert_uint_eq(fails(1), 0);
	ck_assert_uint_eq(fails(1), 0);
}
END_TEST

START_TEST(success_ends_it)
{
	setup(2);
	ck_assert(!names_watching());
	fails(0);
	ck_assert(names_watching());
	succeeds(1);
	ck_assert(!names_watching());
	ck_assert_uint_eq(tried_left(at(0, 1), PORT), TRIED_OVER | 2);
	ck_assert_uint_eq(fails(1), 1);
	/* That of another name does not. */
	{
		struct name_ip ip = { AF_INET, { 10, 0, 0, 9 } };

		remember("other", &ip, 1, 1);
	}
	succeeds(9);
	ck_assert(names_watching());
	ck_assert_uint_eq(fails(0), 0);
	/* Nobody watches for ever. */
	for (unsigned i = 0; i < 255; i++)
		succeeds(9);
	ck_assert(names_watching());
	succeeds(9);
	ck_assert(!names_watching());
}
END_TEST

START_TEST(a_pause_ends_it)
{
	setup(2);
	ck_assert_uint_eq(tried_failed(at(0, 1), PORT, 100, 200), 2);
	ck_assert_uint_eq(tried_failed(at(1, 1), PORT, 200 + NAMES_ROUND, 300 + NAMES_ROUND), 0);
	ck_assert_uint_eq(tried_failed(at(0, 1), PORT, 301 + 2 * NAMES_ROUND,
	                               400 + 2 * NAMES_ROUND), 2);
	ck_assert_uint_eq(tried_left(at(1, 1), PORT), TRIED_OVER);
	/* Not the one that we made. */
	tried_goes_on(&e, PORT, 5 * NAMES_ROUND);
	ck_assert_uint_eq(tried_failed(at(1, 1), PORT, 6 * NAMES_ROUND, 6 * NAMES_ROUND), 0);
}
END_TEST

START_TEST(by_whom)
{
	setup(2);
	tried_failed(at(0, 1), PORT, 0, 0);
	ck_assert(tried_by_thread(at(1, 1), PORT, 0));
	ck_assert(!tried_by_thread(at(1, 1), PORT, 1));
	ck_assert(!tried_by_thread(at(1, 2), PORT, 0));
	succeeds(1);
	ck_assert(!tried_by_thread(at(1, 1), PORT, 0));
}
END_TEST

START_TEST(long_lists)
{
	unsigned count = NAMES_ADDRS + NAMES_MORE;

	for (unsigned round = 0; round < 2; round++) {
		if (round == 0)
			setup(count);
		for (unsigned i = 0; i < count; i++) {
			uint32_t left = fails(i);

			ck_assert_msg(!!(left & TRIED_NOT_MORE) == (i + 1 < count),
			              "round %u, address %u", round, i);
			ck_assert_uint_eq(tried_is_first(&e, left), i == 0);
		}
		ck_assert_uint_eq(tried_left(at(count - 1, 1), PORT), 0);
	}
}
END_TEST

/* Many names at a time: a walk that is forgotten begins anew. */
START_TEST(crowds)
{
	for (unsigned i = 0; i < 1000; i++) {
		struct name_ip ips[2] = { { AF_INET, { 11, (uint8_t)(i >> 8), (uint8_t)i, 1 } },
			                  { AF_INET, { 11, (uint8_t)(i >> 8), (uint8_t)i, 2 } } };
		struct addr a = { .family = AF_INET, .port = PORT };
		char name[16];

		if (i == 0)
			names_reset();
		snprintf(name, sizeof(name), "n%u", i);
		remember(name, ips, 2, 1);
		for (unsigned j = 0; j < 2; j++) {
			memcpy(a.ip, ips[j].ip, sizeof(a.ip));
			ck_assert(names_find(&a, 1, &e));
			ck_assert_uint_eq(tried_failed(&e, PORT, 0, 0), j ? 0 : 2);
		}
	}
}
END_TEST

UNIT_MAIN("tried", &a_walk, &walks_side_by_side, &success_ends_it, &a_pause_ends_it, &by_whom,
          &long_lists, &crowds)
