/* SPDX-License-Identifier: MIT */
#include "state/habit.h"

#include <string.h>

#include "tests/unit/names.h"
#include "tests/unit/unit.h"

#define PORT 80

static struct name_entry e;

static struct addr addr_of(const char *text)
{
	struct addr a;

	ck_assert(addr_parse_ip(&a, text));
	a.port = PORT;
	return a;
}

/* A look-up of "db" by <thread>. */
static void look_up(uintptr_t thread, const char *first, const char *second)
{
	const char *const texts[] = { first, second };
	struct name_ip ips[2];

	for (unsigned i = 0; i < 2; i++) {
		struct addr a = addr_of(texts[i]);

		ips[i].family = a.family;
		memcpy(ips[i].ip, a.ip, sizeof(a.ip));
	}
	remember("db", ips, 2, thread);
}

static const struct name_entry *at(const char *text, uintptr_t thread)
{
	struct addr a = addr_of(text);

	ck_assert(names_find(&a, thread, &e));
	return &e;
}

static void attempt(const char *text)
{
	struct addr a = addr_of(text);

	habit_attempt(&a);
}

static void setup(void)
{
	names_reset();
	look_up(1, "192.0.2.1", "192.0.2.2");
	ck_assert(!habit_watching());
	habit_went_back(at("192.0.2.1", 1), PORT, 100);
	ck_assert(habit_watching());
	ck_assert(habit_known(&e, PORT) == HABIT_UNKNOWN);
}

START_TEST(who_comes_back_uses_one_only)
{
	setup();
	ck_assert(habit_came_back(at("192.0.2.1", 1), PORT, 101, 0) == HABIT_FIRST_ONLY);
	ck_assert(habit_known(&e, PORT) == HABIT_FIRST_ONLY);
	ck_assert(habit_known(&e, PORT + 1) == HABIT_UNKNOWN);
	/* Seen with a newer look-up, in the same order or another. */
	setup();
	look_up(1, "192.0.2.1", "192.0.2.2");
	ck_assert(habit_came_back(at("192.0.2.1", 1), PORT, 101, 0) == HABIT_FIRST_ONLY);
	setup();
	look_up(1, "192.0.2.2", "192.0.2.1");
	attempt("192.0.2.2");
	ck_assert(habit_came_back(at("192.0.2.2", 1), PORT, 101, 0) == HABIT_FIRST_ONLY);
}
END_TEST

START_TEST(who_goes_on_walks)
{
	setup();
	attempt("192.0.2.2");
	ck_assert(!habit_watching());
	ck_assert(habit_known(at("192.0.2.1", 1), PORT) == HABIT_WALKS);
	/* For ever. */
	habit_went_back(&e, PORT, 200);
	ck_assert(habit_came_back(&e, PORT, 201, 0) == HABIT_WALKS);
	/* A failure there says the same. */
	setup();
	ck_assert(habit_came_back(at("192.0.2.2", 1), PORT, 101, 0) == HABIT_WALKS);
	/* Also after all. */
	setup();
	ck_assert(habit_came_back(at("192.0.2.1", 1), PORT, 101, 0) == HABIT_FIRST_ONLY);
	attempt("192.0.2.2");
	ck_assert(habit_known(&e, PORT) == HABIT_WALKS);
}
END_TEST

START_TEST(what_says_nothing)
{
	struct addr a = addr_of("192.0.2.2");

	/* Begun before the failure went back; another thread's; another port's. */
	setup();
	ck_assert(habit_came_back(at("192.0.2.1", 1), PORT, 99, 0) == HABIT_UNKNOWN);
	ck_assert(habit_came_back(at("192.0.2.1", 2), PORT, 101, 0) == HABIT_UNKNOWN);
	ck_assert(habit_came_back(at("192.0.2.1", 1), PORT + 1, 101, 0) == HABIT_UNKNOWN);
	a.port = PORT + 1;
	habit_attempt(&a);
	ck_assert(habit_known(&e, PORT) == HABIT_UNKNOWN);
	/* An attempt at the same address, by anybody. */
	attempt("192.0.2.1");
	ck_assert(habit_known(&e, PORT) == HABIT_UNKNOWN);
	ck_assert(habit_watching());
	/* The first address, after a failure at a later one. */
	names_reset();
	look_up(1, "192.0.2.1", "192.0.2.2");
	habit_went_back(at("192.0.2.2", 1), PORT, 100);
	attempt("192.0.2.1");
	ck_assert(habit_known(&e, PORT) == HABIT_UNKNOWN);
	ck_assert(!habit_watching());
}
END_TEST

/* Connects to other places are looked at for a while, not for ever. */
START_TEST(watching_ends)
{
	unsigned n = 0;

	setup();
	for (; habit_watching() && n < 1000; n++)
		attempt("198.51.100.1");
	ck_assert_uint_eq(n, 64);
	ck_assert(habit_came_back(at("192.0.2.1", 1), PORT, 101, 0) == HABIT_UNKNOWN);
}
END_TEST

/* An address may belong to several names; what the newest is called does not
 * hide that the other one is walked. */
START_TEST(several_names_share_an_address)
{
	struct name_ip ip = { AF_INET, { 192, 0, 2, 2 } };

	setup();
	remember("alias", &ip, 1, 1);
	attempt("192.0.2.2");
	ck_assert(habit_known(at("192.0.2.1", 1), PORT) == HABIT_WALKS);
}
END_TEST

UNIT_MAIN("habit", &who_comes_back_uses_one_only, &who_goes_on_walks, &what_says_nothing,
          &watching_ends, &several_names_share_an_address)
