/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "log/flood.h"

static struct flood table;
static struct flood_held held;
static const struct flood_limit limit = { 3, 10 * DUR_S };

static bool admit(const char *dest, int64_t now)
{
	return flood_admit(&table, &limit, dest, true, now, &held);
}

static void reset(void)
{
	memset(&table, 0, sizeof(table));
}

static const char *numbered(unsigned n)
{
	static char name[32];

	snprintf(name, sizeof(name), "host%u:80", n);
	return name;
}

START_TEST(holds_back_after_the_burst)
{
	reset();
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(admit("db1:5432", i), i < 3);
		ck_assert_uint_eq(held.lines, 0);
	}
	/* Another destination has its own count. */
	ck_assert(admit("db2:5432", 10));
	/* The last moment of the window, and the first after it. */
	ck_assert(!admit("db1:5432", 10 * DUR_S - 1));
	ck_assert(admit("db1:5432", 10 * DUR_S));
	ck_assert_uint_eq(held.lines, 8);
	ck_assert_str_eq(held.dest, "db1:5432");
	/* Told once; the new window counts from one. */
	ck_assert(admit("db1:5432", 10 * DUR_S));
	ck_assert_uint_eq(held.lines, 0);
	ck_assert(admit("db1:5432", 10 * DUR_S));
	ck_assert(!admit("db1:5432", 10 * DUR_S));
}
END_TEST

START_TEST(lines_without_destination_count_by_kind)
{
	reset();
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(flood_admit(&table, &limit, "config", false, 0, &held), i < 3);
	/* A destination of that name is something else. */
	ck_assert(admit("config", 0));
	ck_assert(flood_admit(&table, &limit, "config", false, 20 * DUR_S, &held));
	ck_assert_uint_eq(held.lines, 2);
	ck_assert_str_eq(held.dest, "");
}
END_TEST

START_TEST(burst_and_window_at_their_edges)
{
	const struct flood_limit none = { 0, DUR_S }, always = { 1, 0 };
	const struct flood_limit for_ever = { 1, DUR_NONE }, all = { UINT32_MAX, DUR_S };

	reset();
	ck_assert(!flood_admit(&table, &none, "a", true, 0, &held));
	ck_assert(!flood_admit(&table, &none, "a", true, 2 * DUR_S, &held));
	ck_assert_uint_eq(held.lines, 1);
	reset();
	for (int i = 0; i < 5; i++)
		ck_assert(flood_admit(&table, &always, "a", true, 7, &held));
	reset();
	ck_assert(flood_admit(&table, &for_ever, "a", true, 0, &held));
	ck_assert(!flood_admit(&table, &for_ever, "a", true, DUR_NONE - 1, &held));
	reset();
	for (int i = 0; i < 1000; i++)
		ck_assert(flood_admit(&table, &all, "a", true, 0, &held));
}
END_TEST

START_TEST(a_clock_that_steps_back_opens_no_window)
{
	reset();
	for (int i = 0; i < 4; i++)
		admit("a", 100 * DUR_S);
	ck_assert(!admit("a", 99 * DUR_S));
	ck_assert(!admit("a", 0));
	ck_assert_uint_eq(held.lines, 0);
}
END_TEST

START_TEST(full_table_shares_one_slot)
{
	unsigned admitted = 0;

	reset();
	for (unsigned i = 0; i < FLOOD_SLOTS; i++)
		ck_assert(admit(numbered(i), 0));
	for (unsigned i = FLOOD_SLOTS; i < 4 * FLOOD_SLOTS; i++)
		admitted += admit(numbered(i), 0);
	ck_assert_uint_eq(admitted, limit.burst);
	/* The first ones are not disturbed. */
	ck_assert(admit(numbered(0), 0));
	ck_assert(admit(numbered(0), 0));
	ck_assert(!admit(numbered(0), 0));
}
END_TEST

START_TEST(takes_over_the_oldest_and_tells_its_count)
{
	reset();
	for (unsigned i = 0; i < FLOOD_SLOTS; i++) {
		for (unsigned j = 0; j < limit.burst + 2; j++)
			admit(numbered(i), i);
	}
	/* Windows 0 ... 5 are over; the oldest goes. */
	ck_assert(admit("newcomer:1", 10 * DUR_S + 5));
	ck_assert_uint_eq(held.lines, 2);
	ck_assert_str_eq(held.dest, "host0:80");
	ck_assert(admit("newcomer:2", 10 * DUR_S + 5));
	ck_assert_str_eq(held.dest, "host1:80");
	ck_assert(admit("newcomer:1", 10 * DUR_S + 5));
	ck_assert_uint_eq(held.lines, 0);
}
END_TEST

START_TEST(drains_each_count_once)
{
	unsigned cursor = 0, found = 0;

	reset();
	for (unsigned i = 0; i < 5; i++) {
		for (unsigned j = 0; j < limit.burst + i; j++)
			admit(numbered(i), 0);
	}
	while (flood_drain(&table, &cursor, &held)) {
		found++;
		ck_assert_str_eq(held.dest, numbered(held.lines));
	}
	ck_assert_uint_eq(found, 4);
	cursor = 0;
	ck_assert(!flood_drain(&table, &cursor, &held));
	/* The windows still hold. */
	ck_assert(!admit(numbered(1), 1));
}
END_TEST

START_TEST(forgets_what_belongs_to_the_parent)
{
	unsigned cursor = 0;

	reset();
	for (int i = 0; i < 9; i++)
		admit("a", 0);
	flood_forget(&table);
	ck_assert(!flood_drain(&table, &cursor, &held));
	ck_assert(!admit("a", 1));
	ck_assert(admit("a", 10 * DUR_S));
	ck_assert_uint_eq(held.lines, 1);
}
END_TEST

START_TEST(long_and_odd_names)
{
	static char name[4096];

	reset();
	memset(name, '\xff', sizeof(name) - 1);
	for (unsigned i = 0; i < limit.burst + 1; i++)
		admit(name, 0);
	ck_assert(admit(name, 10 * DUR_S));
	ck_assert_uint_eq(held.lines, 1);
	ck_assert_uint_eq(strlen(held.dest), FLOOD_NAME_MAX - 1);
	ck_assert_int_eq(strncmp(held.dest, name, FLOOD_NAME_MAX - 1), 0);
	ck_assert(admit("", 0));
}
END_TEST

enum { THREADS = 4, CALLS = 20000, NAMES = 100 };

struct count {
	uint64_t admitted, told;
	unsigned unknown;
};

static void *hammer(void *arg)
{
	struct count *c = arg;
	const struct flood_limit small = { 2, 50 };

	for (unsigned i = 0; i < CALLS; i++) {
		struct flood_held h;
		char name[32];

		snprintf(name, sizeof(name), "host%u:80", i * 7 % NAMES);
		c->admitted += flood_admit(&table, &small, name, true, i, &h);
		c->told += h.lines;
		if (h.lines > 0 && h.dest[0] && strncmp(h.dest, "host", 4) != 0)
			c->unknown++;
	}
	return NULL;
}

/* No line is lost from the books, whatever the threads do to each other. */
START_TEST(threads_lose_no_line)
{
	struct count counts[THREADS] = { { 0, 0, 0 } };
	pthread_t threads[THREADS];
	uint64_t total = 0;
	unsigned cursor = 0;

	reset();
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, &counts[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		total += counts[i].admitted + counts[i].told;
		ck_assert_uint_eq(counts[i].unknown, 0);
	}
	while (flood_drain(&table, &cursor, &held))
		total += held.lines;
	ck_assert_uint_eq(total, (uint64_t)THREADS * CALLS);
}
END_TEST

UNIT_MAIN("flood", &holds_back_after_the_burst, &lines_without_destination_count_by_kind,
          &burst_and_window_at_their_edges, &a_clock_that_steps_back_opens_no_window,
          &full_table_shares_one_slot, &takes_over_the_oldest_and_tells_its_count,
          &drains_each_count_once, &forgets_what_belongs_to_the_parent, &long_and_odd_names,
          &threads_lose_no_line)
