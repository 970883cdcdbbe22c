/* SPDX-License-Identifier: MIT */
#include "engine/wait.h"

#include <limits.h>

#include "engine/pending_due.h"
#include "state/fdtab.h"
#include "tests/unit/unit.h"
#include "tests/unit/world.h"

static struct world w;
static int driven[WORLD_MAX]; /* descriptors, in the order in which they were */
static unsigned driven_count;
static int64_t driven_at;
static bool driven_end; /* a record ends when it is driven */

/* What engine/pending makes of it is another suite's: here, who was called. */
void pending_due(const struct engine_ops *ops, void *ctx, struct pend_ref *ref, int64_t now)
{
	ck_assert(ops == &world_ops && ctx == &w);
	ck_assert_uint_lt(driven_count, WORLD_MAX);
	driven[driven_count++] = atomic_load(&ref->p->fds[0]);
	driven_at = now;
	if (driven_end && fdtab_claim(ref))
		fdtab_release(ref, PEND_FREE);
}

static void setup(void)
{
	world_init(&w);
	fdtab_reset();
	driven_count = 0;
	driven_at = -1;
	driven_end = false;
}

static void record(int fd, enum pend_state state, int64_t due)
{
	struct pend_ref ref;

	ck_assert(fdtab_begin(fd, &ref));
	atomic_store(&ref.p->due, due);
	fdtab_release(&ref, state);
}

static bool was_driven(int fd)
{
	unsigned n = 0;

	for (unsigned i = 0; i < driven_count; i++)
		n += driven[i] == fd;
	ck_assert_uint_le(n, 1);
	return n == 1;
}

START_TEST(whole_milliseconds)
{
	static const struct {
		int64_t ns;
		int ms;
	} rows[] = {
		{ DUR_NONE, -1 },
		{ 0, 0 },
		{ -1, 0 },
		{ INT64_MIN, 0 },
		{ 1, 1 },
		{ DUR_MS - 1, 1 },
		{ DUR_MS, 1 },
		{ DUR_MS + 1, 2 },
		{ DUR_S, 1000 },
		{ (INT_MAX - INT64_C(1)) * DUR_MS, INT_MAX - 1 },
		{ (INT_MAX - INT64_C(1)) * DUR_MS + 1, INT_MAX },
		{ INT_MAX * DUR_MS, INT_MAX },
		{ INT_MAX * DUR_MS + 1, INT_MAX },
		{ DUR_NONE - 1, INT_MAX },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(wait_ms(rows[i].ns) == rows[i].ms, "%lld ns: %d",
		              (long long)rows[i].ns, wait_ms(rows[i].ns));
}
END_TEST

START_TEST(what_is_left)
{
	static const struct {
		int64_t now, until, left;
	} rows[] = {
		{ 1000, DUR_NONE, DUR_NONE },
		{ 1000, 1000, 0 },
		{ 1000, 1001, 1 },
		{ 1000, 999, 0 },
		{ 1000, 0, 0 },
		{ 1000, INT64_MIN, 0 },
		{ 1000, DUR_NONE - 1, DUR_NONE - 1001 },
		{ 0, DUR_NONE - 1, DUR_NONE - 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		setup();
		w.clock = rows[i].now;
		ck_assert_msg(wait_left(&world_ops, &w, rows[i].until) == rows[i].left, "row %zu",
		              i);
		ck_assert_uint_eq(w.now_asked, rows[i].until == DUR_NONE ? 0 : 1);
	}
}
END_TEST

START_TEST(until_the_deadline_or_the_next_attempt)
{
	setup();
	ck_assert_int_eq(wait_until(DUR_NONE), DUR_NONE);
	ck_assert_int_eq(wait_until(0), 0);
	ck_assert_int_eq(wait_until(w.clock), w.clock);
	record(3, PEND_CONNECTING, DUR_NONE);
	ck_assert_int_eq(wait_until(DUR_NONE), DUR_NONE);
	ck_assert_int_eq(wait_until(w.clock), w.clock);
	record(4, PEND_BACKOFF, w.clock + 2);
	record(5, PEND_BACKOFF, w.clock + 5);
	ck_assert_int_eq(wait_until(DUR_NONE), w.clock + 2);
	ck_assert_int_eq(wait_until(w.clock + 3), w.clock + 2);
	ck_assert_int_eq(wait_until(w.clock + 1), w.clock + 1);
	ck_assert_int_eq(wait_until(0), 0);
}
END_TEST

START_TEST(no_record_costs_no_look_at_the_clock)
{
	setup();
	wait_drive(&world_ops, &w);
	ck_assert_uint_eq(w.now_asked, 0);
	ck_assert_uint_eq(driven_count, 0);
}
END_TEST

START_TEST(what_is_due_is_driven)
{
	setup();
	record(3, PEND_BACKOFF, w.clock);
	record(4, PEND_BACKOFF, w.clock + 1);
	record(5, PEND_CONNECTING, w.clock - 1);
	record(6, PEND_CONNECTING, DUR_NONE);
	record(7, PEND_BACKOFF, 0);
	wait_drive(&world_ops, &w);
	ck_assert_uint_eq(driven_count, 3);
	ck_assert(was_driven(3) && was_driven(5) && was_driven(7));
	ck_assert_int_eq(driven_at, w.clock);
	ck_assert_uint_eq(w.now_asked, 1);
	/* Driven again as long as they are due. */
	driven_count = 0;
	w.clock++;
	wait_drive(&world_ops, &w);
	ck_assert_uint_eq(driven_count, 4);
	ck_assert(was_driven(4));
}
END_TEST

START_TEST(records_that_end_while_they_are_driven)
{
	setup();
	for (int fd = 3; fd < 9; fd++)
		record(fd, PEND_BACKOFF, w.clock);
	driven_end = true;
	wait_drive(&world_ops, &w);
	ck_assert_uint_eq(driven_count, 6);
	for (int fd = 3; fd < 9; fd++)
		ck_assert(was_driven(fd));
	ck_assert_uint_eq(fdtab_busy(), 0);
	w.now_asked = 0;
	wait_drive(&world_ops, &w);
	ck_assert_uint_eq(driven_count, 6);
	ck_assert_uint_eq(w.now_asked, 0);
}
END_TEST

/* Nothing is retried after a stop signal, so nothing in backoff has anything to
 * wait for. What the kernel is trying goes on. */
START_TEST(after_a_stop_signal_every_backoff_is_due)
{
	setup();
	w.stop = true;
	record(3, PEND_BACKOFF, w.clock + DUR_S);
	record(4, PEND_BACKOFF, DUR_NONE);
	record(5, PEND_CONNECTING, w.clock + DUR_S);
	record(6, PEND_CONNECTING, w.clock);
	record(7, PEND_FAILED, DUR_NONE);
	record(8, PEND_REPORTED, DUR_NONE);
	wait_drive(&world_ops, &w);
	ck_assert_uint_eq(driven_count, 3);
	ck_assert(was_driven(3) && was_driven(4) && was_driven(6));
	ck_assert_uint_eq(w.now_asked, 1);
}
END_TEST

UNIT_MAIN("wait", &whole_milliseconds, &what_is_left, &until_the_deadline_or_the_next_attempt,
          &no_record_costs_no_look_at_the_clock, &what_is_due_is_driven,
          &records_that_end_while_they_are_driven, &after_a_stop_signal_every_backoff_is_due)
