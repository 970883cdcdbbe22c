/* SPDX-License-Identifier: MIT */
#include "engine/guard.h"
#include "policy/breaker.h"
#include "policy/budget.h"
#include "policy/pace.h"
#include "tests/unit/call.h"

static struct guard guard;
static struct guarded who;

static void begin(void)
{
	setup();
	w.remembers = true;
	w.first_calls = 1;
	p.breaker.enabled = true;
	p.coordinate = true;
	atomic_store(&w.slot.pace_more, 100);
	who = (struct guarded){ .ops = &world_ops,
		                .ctx = &w,
		                .policy = &p,
		                .dest = "127.0.0.1:5432",
		                .addr = &target,
		                .op = OP_CONNECT,
		                .attempt = 1 };
	guard = (struct guard){ .slot = NULL };
}

static bool is_quiet(void)
{
	guard = (struct guard){ .slot = NULL };
	return guard_is_quiet(&guard, &who);
}

START_TEST(nothing_has_happened)
{
	bool quicker;

	begin();
	ck_assert(is_quiet());
	ck_assert_ptr_eq(guard.slot, &w.slot);
	ck_assert(guard_first_done(&guard, &who, 100, &quicker));
	ck_assert(!quicker);
	ck_assert(guard_first_done(&guard, &who, 99, &quicker));
	ck_assert(quicker);
	/* How quick the quickest was is to be known at first, and only to a pace. */
	atomic_store(&w.slot.pace_more, 0);
	ck_assert(!is_quiet());
	p.coordinate = false;
	ck_assert(is_quiet());
	ck_assert(guard_first_done(&guard, &who, 0, &quicker));
	ck_assert(!quicker);
	w.remembers = false;
	ck_assert(!is_quiet());
}
END_TEST

/* A success would be told of each of these. */
START_TEST(something_has_happened)
{
	static const struct err refused = { ERR_ERRNO, ECONNREFUSED };
	bool quicker;

	begin();
	p.coordinate = false;
	ck_assert(is_quiet());
	guard_failed(&guard, &who, refused, true, w.clock);
	ck_assert(!guard_first_done(&guard, &who, 100, &quicker));
	ck_assert(!is_quiet());
	guard_succeeded(&guard, &who, false, 1, 0, w.clock, w.clock);
	ck_assert(is_quiet());

	begin();
	p.breaker.enabled = false;
	guard_failed(&guard, &who, refused, true, w.clock);
	ck_assert_int_eq(pace_state(atomic_load(&w.slot.pace), w.clock), PACE_DOWN);
	ck_assert(!is_quiet());
	guard_succeeded(&guard, &who, false, 1, 0, w.clock, w.clock);
	ck_assert_int_eq(pace_state(atomic_load(&w.slot.pace), w.clock), PACE_RAMP);
	ck_assert(!is_quiet());
	atomic_store(&w.slot.pace, 0);
	ck_assert(is_quiet());

	begin();
	for (unsigned i = 0; i < 5; i++)
		guard_failed(&guard, &who, refused, true, w.clock);
	atomic_store(&w.slot.pace, 0);
	ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock), BREAKER_OPEN);
	ck_assert(!is_quiet());
	w.clock += 60 * DUR_S;
	ck_assert(!is_quiet());

	begin();
	atomic_store(&w.slot.hold, 1);
	ck_assert(!is_quiet());

	begin();
	p.breaker.failure_ratio = 1;
	ck_assert(!is_quiet());

	begin();
	p.budget.kind = BUDGET_TOKENS;
	ck_assert(is_quiet());
	guard_failed(&guard, &who, refused, false, w.clock);
	ck_assert(guard_pay(&guard, &who, CLASS_REFUSED, w.clock));
	ck_assert(!is_quiet());
}
END_TEST

/* A hold where its outcomes are counted. */
START_TEST(others_are_held)
{
	static struct slot shown;

	begin();
	w.stats = &shown;
	ck_assert(is_quiet());
	atomic_store(&shown.hold, 1);
	ck_assert(!is_quiet());
}
END_TEST

UNIT_MAIN("guard_quiet", &nothing_has_happened, &something_has_happened, &others_are_held)
