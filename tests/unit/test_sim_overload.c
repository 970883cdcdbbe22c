/* SPDX-License-Identifier: MIT */
#include "cli/sim_overload.h"

#include <math.h>

#include "cli/sim_guard.h"
#include "policy/builtin.h"
#include "tests/unit/unit.h"

static struct policy plain(unsigned attempts)
{
	struct policy p = builtin_default();

	p.budget.kind = BUDGET_NONE;
	p.max_attempts = attempts;
	p.backoff.jitter = JITTER_FULL;
	return p;
}

/* The result without its steps, which the caller does not want. */
static struct sim_overload_result run(struct sim_overload o, const struct policy *p)
{
	struct sim_overload_result r, plain_figures;
	uint64_t attempts = 0, begun = 0, succeeded = 0, answered = 0;

	o.policy = p;
	ck_assert(sim_overload(&o, &r));
	for (size_t i = 0; i < r.step_count; i++) {
		attempts += r.steps[i].attempts;
		begun += r.steps[i].begun;
		succeeded += r.steps[i].succeeded;
		answered += r.steps[i].answered;
	}
	ck_assert_uint_eq(attempts, r.attempts);
	ck_assert_uint_eq(begun, r.calls);
	ck_assert_uint_eq(succeeded, r.succeeded);
	ck_assert_uint_eq(answered, r.succeeded);
	plain_figures = r;
	plain_figures.steps = NULL;
	sim_overload_free(&r);
	ck_assert_ptr_null(r.steps);
	return plain_figures;
}

/*
 * 1,000 clients, 800 calls/s on a server for 1,000/s, 5 s down. Published for a world
 * of this kind: full jitter makes 22,813 knocks during the outage and never recovers
 * (19 % of the calls succeed); without a retry 86 %.
 */
START_TEST(independent_backoff_never_recovers)
{
	struct policy once = plain(1), retries = plain(6);
	struct sim_overload o = sim_overload_default();

	for (o.seed = 1; o.seed <= 5; o.seed++) {
		struct sim_overload_result alone = run(o, &once);
		struct sim_overload_result full = run(o, &retries);

		ck_assert_double_ge(alone.success, 0.86);
		ck_assert_double_le(alone.success, 0.89);
		ck_assert_double_le(alone.recovery_s, 0.1);
		ck_assert_double_eq(alone.attempts_per_call, 1);
		ck_assert_uint_ge(alone.knocks, 3800);
		ck_assert_uint_le(alone.knocks, 4200);

		ck_assert(full.recovery_s == -1);
		ck_assert_double_ge(full.success, 0.12);
		ck_assert_double_le(full.success, 0.22);
		ck_assert_uint_ge(full.knocks, 20000);
		ck_assert_uint_le(full.knocks, 24000);
		/* It goes on although the cause is gone: the server works for nobody. */
		ck_assert_uint_ge(full.stale, 25000);
		ck_assert_double_ge(full.peak_per_s, 4000);
	}
}
END_TEST

/* One budget for all ends that; a thousand of them, each with 10 retries/s to spend, do
 * not; the more share one the fewer knocks there are. */
START_TEST(a_budget_helps_if_it_is_shared)
{
	static const unsigned groups[] = { 1000, 100, 10, 1 };
	static const struct {
		uint64_t low, high; /* knocks */
	} expect[] = { { 20000, 24000 }, { 14000, 17000 }, { 6000, 7500 }, { 5000, 6500 } };
	struct sim_overload o = sim_overload_default();
	struct policy p = plain(6);

	p.budget.kind = BUDGET_RATIO;
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		struct sim_overload_result r;

		o.groups = groups[i];
		r = run(o, &p);
		ck_assert_uint_ge(r.knocks, expect[i].low);
		ck_assert_uint_le(r.knocks, expect[i].high);
		ck_assert_int_eq(r.recovery_s == -1, groups[i] == 1000);
		ck_assert_int_eq(r.success > 0.85, groups[i] != 1000);
		ck_assert_int_eq(r.refused_by_budget > 0, groups[i] != 1000);
	}
}
END_TEST

START_TEST(a_breaker_keeps_them_away)
{
	struct sim_overload o = sim_overload_default();
	struct policy p = plain(6);
	struct sim_overload_result r;

	p.breaker.enabled = true;
	o.groups = 1;
	r = run(o, &p);
	/* Five failures, and a few that were on their way; then one probe. */
	ck_assert_uint_le(r.knocks, 12);
	ck_assert_uint_ge(r.refused_by_breaker, 2000);
	ck_assert_double_ge(r.recovery_s, 0.1);
	ck_assert_uint_eq(r.stale, 0);
	/* By the share of failures, with few calls in between. */
	p.breaker.consecutive_failures = 0;
	p.breaker.failure_ratio = PPM / 2;
	p.breaker.window = 2 * DUR_S;
	r = run(o, &p);
	ck_assert_uint_ge(r.refused_by_breaker, 2000);
	ck_assert_uint_le(r.knocks, 10000);
	ck_assert_double_ge(r.recovery_s, 0.1);
}
END_TEST

START_TEST(without_an_outage_all_is_well)
{
	struct sim_overload o = sim_overload_default();
	struct policy p = plain(6);
	struct sim_overload_result r;

	o.outage_to = o.outage_from;
	r = run(o, &p);
	ck_assert_double_eq(r.success, 1);
	ck_assert_uint_eq(r.attempts, r.calls);
	ck_assert_uint_eq(r.knocks, 0);
	ck_assert(r.recovery_s == 0);
	ck_assert_double_le(fabs((double)r.calls - 32000), 4 * sqrt(32000));
	/* 1 ms there, 1 ms of work, 1 ms back, and little of a line. */
	ck_assert_double_ge(r.p50_ms, 3);
	ck_assert_double_le(r.p50_ms, 6);
}
END_TEST

/* Half of twice the capacity finds no room in a short line; with a long one all wait, and
 * none of them is answered in time. */
START_TEST(too_much_for_the_server)
{
	struct sim_overload o = sim_overload_default();
	struct policy p = plain(1);
	struct sim_overload_result r;

	o.outage_to = o.outage_from;
	o.rate = 2000;
	o.queue = 100;
	r = run(o, &p);
	ck_assert_double_le(fabs(r.success - 0.5), 0.02);
	ck_assert_double_le(fabs(r.p99_ms - 102), 2);
	o.queue = 1000;
	r = run(o, &p);
	ck_assert_double_le(r.success, 0.05);
	/* The policy's own bound of an attempt counts as well. */
	o.timeout = 5 * DUR_S;
	ck_assert_double_ge(run(o, &p).success, 0.5);
	p.attempt_timeout = 500 * DUR_MS;
	ck_assert_double_le(run(o, &p).success, 0.05);
}
END_TEST

START_TEST(a_seed_gives_the_same_again)
{
	struct sim_overload o = sim_overload_default();
	struct policy p = plain(3);
	struct sim_overload_result a = run(o, &p), b = run(o, &p), other;

	ck_assert_mem_eq(&a, &b, sizeof(a));
	o.seed++;
	other = run(o, &p);
	ck_assert_uint_ne(a.calls, other.calls);
	/* The same calls whatever the policy. */
	p = plain(6);
	ck_assert_uint_eq(run(o, &p).calls, other.calls);
}
END_TEST

/* 10,000 clients and 200,000 calls: would take minutes if it grew with the square. */
START_TEST(many_clients)
{
	struct sim_overload o = sim_overload_default();
	struct policy p = plain(6);
	struct sim_overload_result r;

	o.clients = o.groups = 10000;
	o.rate = 8000;
	o.capacity = 10000;
	o.queue = 10000;
	o.duration = 25 * DUR_S;
	r = run(o, &p);
	ck_assert_uint_ge(r.attempts, 800000);
	ck_assert(r.recovery_s == -1);
}
END_TEST

UNIT_MAIN("sim_overload", &independent_backoff_never_recovers,
          &a_budget_helps_if_it_is_shared, &a_breaker_keeps_them_away,
          &without_an_outage_all_is_well, &too_much_for_the_server,
          &a_seed_gives_the_same_again, &many_clients)
