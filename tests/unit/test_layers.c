/* SPDX-License-Identifier: MIT */
#include "state/layers.h"

#include "engine/connect.h"
#include "tests/unit/call.h"

START_TEST(three_series_are_a_habit)
{
	int64_t now = 1000 * DUR_S;

	layers_reset();
	ck_assert(!layers_known("db:1", now));
	ck_assert(!layers_gave_up("db:1", now, now));
	ck_assert(!layers_gave_up("db:1", now + 2 * DUR_S, now + 2 * DUR_S));
	ck_assert(!layers_gave_up("db:2", now + 3 * DUR_S, now + 3 * DUR_S));
	ck_assert(!layers_known("db:1", now + 4 * DUR_S));
	ck_assert(layers_gave_up("db:1", now + 4 * DUR_S, now + 4 * DUR_S));
	/* Said once. */
	ck_assert(!layers_gave_up("db:1", now + 5 * DUR_S, now + 5 * DUR_S));
	ck_assert(layers_known("db:1", now + 60 * DUR_S));
	ck_assert(!layers_known("db:2", now + 60 * DUR_S));
	ck_assert(layers_known("db:1", now + 119 * DUR_S));
	ck_assert(!layers_known("db:1", now + 180 * DUR_S));
}
END_TEST

START_TEST(now_and_then_is_none)
{
	int64_t now = 1000 * DUR_S;

	layers_reset();
	for (unsigned i = 0; i < 20; i++, now += 21 * DUR_S)
		ck_assert(!layers_gave_up("db:1", now, now));
}
END_TEST

/* Fifty connections of a pool that fail together are not fifty tries of one. */
START_TEST(a_pool_is_none)
{
	int64_t now = 1000 * DUR_S;

	layers_reset();
	for (unsigned i = 0; i < 50; i++)
		ck_assert(!layers_gave_up("db:1", now + i, now + DUR_S + i));
	ck_assert(!layers_gave_up("db:1", now + 2 * DUR_S, now + 3 * DUR_S));
	ck_assert(!layers_gave_up("db:1", now + 2 * DUR_S, now + 4 * DUR_S));
	/* Until it is opened anew, and again. */
	ck_assert(layers_gave_up("db:1", now + 5 * DUR_S, now + 6 * DUR_S));
}
END_TEST

/* Gives up after <attempts> each, three times in a second. */
static void give_up_thrice(void)
{
	setup();
	layers_reset();
	p.backoff.base = p.backoff.max = DUR_MS;
	SCRIPT(ECONNREFUSED);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(run(), ECONNREFUSED);
}

START_TEST(it_is_said_once)
{
	give_up_thrice();
	ck_assert_uint_eq(world_count(&w, EVENT_LAYERING), 1);
	ck_assert_uint_eq(w.calls, 15);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(world_count(&w, EVENT_LAYERING), 1);
	ck_assert_uint_eq(w.calls, 30);
}
END_TEST

START_TEST(yield_stays_out)
{
	give_up_thrice();
	p.layering = LAYERING_YIELD;
	w.level = LOG_DEBUG_LEVEL;
	w.event_count = 0;
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 16);
	ck_assert_uint_eq(w.event_count, 1);
	ck_assert_int_eq(w.events[0].kind, EVENT_PASSED);
	ck_assert_int_eq(w.events[0].reason, REASON_LAYERED);
	/* Until it has been quiet for a while. */
	w.clock += LAYERS_KNOWN + DUR_S;
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 21);
}
END_TEST

START_TEST(ignore_learns_nothing)
{
	setup();
	layers_reset();
	p.layering = LAYERING_IGNORE;
	SCRIPT(ECONNREFUSED);
	for (unsigned i = 0; i < 4; i++)
		run();
	ck_assert_uint_eq(world_count(&w, EVENT_LAYERING), 0);
	ck_assert(!layers_known("127.0.0.1:5432", w.clock));
}
END_TEST

UNIT_MAIN("layers", &three_series_are_a_habit, &now_and_then_is_none, &a_pool_is_none,
          &it_is_said_once, &yield_stays_out, &ignore_learns_nothing)
