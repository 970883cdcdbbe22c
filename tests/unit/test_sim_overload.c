/* SPDX-License-Identifier: MIT */
#include "cli/sim_overload.h"

#include <math.h>

#include "policy/builtin.h"
#include "tests/unit/unit.h"

static struct policy plain(unsigned attempts)
{
	struct policy p = builtin_default();

	p.budget.kind = BUDGET_NONE;
	p.budget.min_retries_per_second = 10; /* as in the published figures */
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

	for (o.seed = 1; o.seed <= 2; o.seed++) {
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

/*
 * That world: time-outs of 1 s, a line of 2,000, 35 s of which the fifth to the tenth are
 * the outage, full jitter without a limit of attempts. (Ours serves in a fixed time, the
 * published one in a random one.)
 */
static struct sim_overload published(unsigned hosts)
{
	struct sim_overload o = sim_overload_default();

	o.hosts = hosts;
	o.timeout = DUR_S;
	o.queue = 2000;
	o.duration = 35 * DUR_S;
	return o;
}

static struct policy coordinated(int64_t deadline)
{
	struct policy p = plain(100);

	p.budget.kind = BUDGET_RATIO;
	p.budget.scope = SCOPE_USER;
	p.coordinate = true;
	p.deadline = deadline;
	return p;
}

/* Published: 22,813 knocks, never, 19 %; no retry 3,886 knocks, 86 %; a budget alone 4,700,
 * 86 %. (Ours has a floor of ten retries a second.) */
START_TEST(published_without_coordination)
{
	struct sim_overload o = published(1);
	struct policy once = plain(1), full = plain(100), budget = plain(100);

	full.deadline = budget.deadline = 10 * DUR_S;
	budget.budget.kind = BUDGET_RATIO;
	for (o.seed = 1; o.seed <= 2; o.seed++) {
		struct sim_overload_result a = run(o, &once), b = run(o, &full), c = run(o, &budget);

		ck_assert_double_le(fabs(a.success - 0.86), 0.01);
		ck_assert_double_le(fabs((double)a.knocks - 4000), 200);
		ck_assert_double_le(fabs((double)b.knocks - 22813), 1000);
		ck_assert_double_le(fabs(b.success - 0.19), 0.02);
		ck_assert(b.recovery_s == -1);
		ck_assert_double_le(fabs(c.success - 0.86), 0.01);
		ck_assert_double_le(c.recovery_s, 0.1);
		ck_assert_uint_le(c.knocks, 6000);
		ck_assert_uint_gt(c.knocks, a.knocks);
	}
}
END_TEST

/* Published: 32 knocks with one host, 322 with 10, 3,028 with 100; recovery after 0.5 s,
 * and after 11.5 s with 100; 90 to 93 % of the calls. All three recover, and with a
 * deadline that leaves the server the time nearly all succeed. */
START_TEST(coordinated_recovery)
{
	static const struct {
		unsigned hosts;
		uint64_t knocks;
		double recovery, success;
	} rows[] = { { 1, 32, 0.6, 0.999 }, { 10, 250, 0.6, 0.999 }, { 100, 2000, 0.9, 0.985 } };
	struct policy p = coordinated(30 * DUR_S);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sim_overload o = published(rows[i].hosts);

		for (o.seed = 1; o.seed <= 2; o.seed++) {
			struct sim_overload_result r = run(o, &p);

			ck_assert_uint_ge(r.knocks, rows[i].hosts * 8);
			ck_assert_uint_le(r.knocks, rows[i].knocks);
			/* Of each host at first what is on its way, then three in a second. */
			ck_assert_double_le(r.knock_peak, 7 * rows[i].hosts + 4);
			ck_assert_double_ge(r.recovery_s, 0);
			ck_assert_double_le(r.recovery_s, rows[i].recovery);
			/* And it lasts. */
			ck_assert_double_le(r.bad_s, 1);
			ck_assert_double_ge(r.success, rows[i].success);
			/* The server is not overrun. */
			ck_assert_double_le(r.peak_per_s, 1400);
			ck_assert_uint_le(r.stale, 50);
		}
	}
}
END_TEST

/* The same 10 s as published. What the server has to spare is not enough for all who wait,
 * and they do not come all the same when their time is over: 90, 92, 93 %. */
START_TEST(a_deadline_that_is_too_short)
{
	static const unsigned hosts[] = { 1, 10, 100 };
	struct policy p = coordinated(10 * DUR_S);

	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		struct sim_overload o = published(hosts[i]);

		for (o.seed = 1; o.seed <= 2; o.seed++) {
			struct sim_overload_result r = run(o, &p);

			ck_assert_double_le(fabs(r.success - 0.92), 0.02);
			ck_assert_double_ge(r.recovery_s, 0);
			ck_assert_double_le(r.recovery_s, 0.9);
			ck_assert_double_le(r.bad_s, 1);
			ck_assert_double_le(r.peak_per_s, 1400);
		}
	}
}
END_TEST

/* A minute, in a world of a tenth: at its end as many wait as the server does in 24 s. */
START_TEST(a_long_outage)
{
	struct policy p = coordinated(30 * DUR_S), once = plain(1);

	for (unsigned hosts = 1; hosts <= 10; hosts *= 10) {
		struct sim_overload o = published(hosts);
		struct sim_overload_result r;

		o.clients = 100;
		o.rate = 80;
		o.capacity = 100;
		o.queue = 200;
		o.outage_to = 65 * DUR_S;
		o.duration = 130 * DUR_S;
		r = run(o, &p);
		ck_assert_double_ge(r.recovery_s, 0);
		ck_assert_double_le(r.recovery_s, 2.5);
		ck_assert_double_le(r.bad_s, 5);
		ck_assert_uint_le(r.knocks, 110 * hosts);
		ck_assert_double_ge(r.success, run(o, &once).success + 0.03);
	}
}
END_TEST

/* Published: 32 knocks, never, 50 %: all who wait come at the first success, as a herd that
 * outlasts its patience. (Here they ask every 100 ms, there every 10; so ours has an end.) */
START_TEST(without_a_ramp_there_is_a_herd)
{
	struct policy p = coordinated(10 * DUR_S);
	struct sim_overload o = published(1);

	o.at_once = true;
	for (o.seed = 1; o.seed <= 2; o.seed++) {
		struct sim_overload_result r = run(o, &p);

		ck_assert_uint_le(r.knocks, 32);
		ck_assert(r.recovery_s == -1 || r.recovery_s >= 5);
		ck_assert_double_ge(r.bad_s, 6);
		ck_assert_double_le(r.success, 0.86);
		ck_assert_double_ge(r.peak_per_s, 4000);
	}
}
END_TEST

/* A short outage, a line that is full soon, a rate that the server cannot do at all:
 * never worse than without it. */
START_TEST(coordination_elsewhere)
{
	struct policy p = coordinated(30 * DUR_S), once = plain(1);
	struct sim_overload_result r;

	for (unsigned hosts = 1; hosts <= 100; hosts *= 100) {
		struct sim_overload o = published(hosts);

		o.queue = 200;
		r = run(o, &p);
		ck_assert_double_ge(r.success, 0.99);
		ck_assert_double_ge(r.recovery_s, 0);
		ck_assert_double_le(r.recovery_s, 0.9);
		o = published(hosts);
		o.outage_to = o.outage_from + 500 * DUR_MS;
		r = run(o, &p);
		ck_assert_double_ge(r.success, 0.999);
		ck_assert_double_le(r.recovery_s, 0.5);
		o.outage_to = o.outage_from;
		o.rate = 1500;
		ck_assert_double_ge(run(o, &p).success, run(o, &once).success);
	}
}
END_TEST

/* One budget for all ends that; a thousand of them, each with 10 retries/s to spend, do
 * not; the more share one the fewer knocks there are. */
START_TEST(a_budget_helps_if_it_is_shared)
{
	static const unsigned hosts[] = { 1000, 100, 10, 1 };
	static const struct {
		uint64_t low, high; /* knocks */
	} expect[] = { { 20000, 24000 }, { 14000, 17000 }, { 6000, 7500 }, { 5000, 6500 } };
	struct sim_overload o = sim_overload_default();
	struct policy p = plain(6);

	p.budget.kind = BUDGET_RATIO;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		struct sim_overload_result r;

		o.hosts = hosts[i];
		r = run(o, &p);
		ck_assert_uint_ge(r.knocks, expect[i].low);
		ck_assert_uint_le(r.knocks, expect[i].high);
		ck_assert_int_eq(r.recovery_s == -1, hosts[i] == 1000);
		ck_assert_int_eq(r.success > 0.85, hosts[i] != 1000);
		ck_assert_int_eq(r.refused_by_budget > 0, hosts[i] != 1000);
	}
}
END_TEST

START_TEST(a_breaker_keeps_them_away)
{
	struct sim_overload o = sim_overload_default();
	struct policy p = plain(6);
	struct sim_overload_result r;

	p.breaker.enabled = true;
	o.hosts = 1;
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

/* 10,000 clients and 96,000 calls: would take minutes if it grew with the square. */
START_TEST(many_clients)
{
	struct sim_overload o = sim_overload_default();
	struct policy p = plain(6);
	struct sim_overload_result r;

	o.clients = o.hosts = 10000;
	o.rate = 8000;
	o.capacity = 10000;
	o.queue = 10000;
	o.duration = 12 * DUR_S;
	r = run(o, &p);
	ck_assert_uint_ge(r.attempts, 300000);
	ck_assert(r.recovery_s == -1);
}
END_TEST

UNIT_MAIN("sim_overload", &independent_backoff_never_recovers,
          &published_without_coordination, &coordinated_recovery,
          &a_deadline_that_is_too_short, &a_long_outage, &without_a_ramp_there_is_a_herd,
          &coordination_elsewhere, &a_budget_helps_if_it_is_shared, &a_breaker_keeps_them_away,
          &without_an_outage_all_is_well, &too_much_for_the_server,
          &a_seed_gives_the_same_again, &many_clients)
