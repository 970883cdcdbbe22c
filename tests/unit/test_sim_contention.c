/* SPDX-License-Identifier: MIT */
/* Against the published experiment: feature table, section 5.2. */
#include "cli/sim_contention.h"

#include <math.h>

#include "cli/sim_heap.h"
#include "policy/builtin.h"
#include "tests/unit/unit.h"

static struct sim_contention_result run(enum jitter jitter, int64_t ratio, bool no_wait,
                                        unsigned clients, unsigned runs)
{
	struct sim_contention c = sim_contention_default();
	struct sim_contention_result r;
	struct policy p;

	sim_contention_policy(&p, jitter, ratio);
	c.policy = &p;
	c.no_wait = no_wait;
	c.clients = clients;
	c.runs = runs;
	ck_assert(sim_contention(&c, &r));
	ck_assert(r.success == 1);
	return r;
}

struct row {
	enum jitter jitter;
	int64_t ratio;
	bool no_wait;
	unsigned clients;
	double calls, calls_ci, ms, ms_ci;
};

/* Means with 95 % intervals, of 100 runs of another program; ours has its own. */
START_TEST(published_with_intervals)
{
	static const struct row rows[] = {
		{ JITTER_NONE, 0, false, 10, 51.0, 0.9, 3590, 274 },
		{ JITTER_NONE, 0, false, 50, 628.5, 6.5, 37012, 688 },
		{ JITTER_NONE, 0, false, 100, 1845.8, 11.9, 62596, 759 },
		{ JITTER_FULL, 0, false, 10, 38.9, 0.4, 453, 17 },
		{ JITTER_FULL, 0, false, 50, 333.3, 1.0, 2854, 108 },
		{ JITTER_FULL, 0, false, 100, 795.5, 1.3, 4885, 111 },
		{ JITTER_EQUAL, 0, false, 10, 41.9, 0.5, 708, 33 },
		{ JITTER_EQUAL, 0, false, 50, 347.6, 1.2, 4298, 115 },
		{ JITTER_EQUAL, 0, false, 100, 812.1, 1.5, 6603, 117 },
		{ JITTER_DECORRELATED, 0, false, 10, 37.5, 0.4, 431, 15 },
		{ JITTER_DECORRELATED, 0, false, 50, 374.7, 2.8, 2210, 102 },
		{ JITTER_DECORRELATED, 0, false, 100, 1002.0, 6.3, 4660, 137 },
		{ JITTER_PROPORTIONAL, PPM / 2, false, 10, 38.5, 0.4, 614, 28 },
		{ JITTER_PROPORTIONAL, PPM / 2, false, 50, 313.1, 1.1, 3656, 159 },
		{ JITTER_PROPORTIONAL, PPM / 2, false, 100, 733.5, 1.1, 6410, 153 },
		{ JITTER_PROPORTIONAL, PPM / 5, false, 100, 839.8, 1.6, 9308, 126 },
		{ JITTER_ADDITIVE, 3 * PPM / 10, false, 100, 874.2, 1.8, 12014, 190 },
		{ JITTER_NONE, 0, true, 10, 50.9, 0.9, 383, 7 },
		{ JITTER_NONE, 0, true, 50, 688.6, 3.4, 1137, 9 },
		{ JITTER_NONE, 0, true, 100, 2420.7, 5.7, 2027, 8 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *w = &rows[i];
		struct sim_contention_result r = run(w->jitter, w->ratio, w->no_wait, w->clients,
		                                     100);

		/* Without a bias each of these sums holds 995 times in a thousand. */
		ck_assert_double_le(fabs(r.calls - w->calls), w->calls_ci + r.calls_ci);
		ck_assert_double_le(fabs(r.ms - w->ms), w->ms_ci + r.ms_ci);
	}
}
END_TEST

/* More clients, from the table without intervals: to 3 % of the calls, 6 % of the time. */
START_TEST(published_with_more_clients)
{
	static const struct row rows[] = {
		{ JITTER_NONE, 0, false, 150, 3542, 0, 85711, 0 },
		{ JITTER_FULL, 0, false, 20, 100, 0, 1034, 0 },
		{ JITTER_FULL, 0, false, 190, 1772, 0, 7526, 0 },
		{ JITTER_EQUAL, 0, false, 190, 1762, 0, 9514, 0 },
		{ JITTER_DECORRELATED, 0, false, 190, 2440, 0, 7973, 0 },
		{ JITTER_NONE, 0, true, 190, 8006, 0, 3539, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *w = &rows[i];
		struct sim_contention_result r = run(w->jitter, w->ratio, w->no_wait, w->clients,
		                                     100);

		ck_assert_double_le(fabs(r.calls / w->calls - 1), 0.03);
		ck_assert_double_le(fabs(r.ms / w->ms - 1), 0.06);
	}
}
END_TEST

/* At 100 clients full jitter makes 43 % of the calls in 8 % of the time. */
START_TEST(full_jitter_against_none)
{
	struct sim_contention_result none = run(JITTER_NONE, 0, false, 100, 100);
	struct sim_contention_result full = run(JITTER_FULL, 0, false, 100, 100);

	ck_assert_int_eq(lround(100 * full.calls / none.calls), 43);
	ck_assert_int_eq(lround(100 * full.ms / none.ms), 8);
}
END_TEST

START_TEST(one_client_alone)
{
	struct sim_contention_result r = run(JITTER_NONE, 0, false, 1, 400);

	ck_assert(r.calls == 1 && r.calls_ci == 0);
	/* Four messages of 10 ms. */
	ck_assert_double_le(fabs(r.ms - 40), 3 * r.ms_ci);
	ck_assert_double_lt(r.ms_ci, 1);
}
END_TEST

START_TEST(a_seed_gives_the_same_again)
{
	struct policy p;
	struct sim_contention c = sim_contention_default();
	struct sim_contention_result a, b, other;

	sim_contention_policy(&p, JITTER_FULL, 0);
	c.policy = &p;
	c.clients = 20;
	c.runs = 3;
	ck_assert(sim_contention(&c, &a));
	ck_assert(sim_contention(&c, &b));
	c.seed++;
	ck_assert(sim_contention(&c, &other));
	ck_assert(a.calls == b.calls && a.ms == b.ms);
	ck_assert(a.ms != other.ms);
}
END_TEST

START_TEST(with_limits_some_give_up)
{
	struct policy p = builtin_default();
	struct sim_contention c = sim_contention_default();
	struct sim_contention_result r;

	c.policy = &p;
	c.clients = 50;
	c.runs = 10;
	c.limits = true;
	ck_assert(sim_contention(&c, &r));
	ck_assert_double_lt(r.success, 1);
	ck_assert_double_gt(r.success, 0.1);
	ck_assert_double_le(r.calls, 5 * 50);
	p.max_attempts = 1;
	ck_assert(sim_contention(&c, &r));
	ck_assert(r.calls == 50);
	c.limits = false;
	ck_assert(sim_contention(&c, &r));
	ck_assert(r.success == 1);
}
END_TEST

START_TEST(the_heap_sorts_and_keeps_the_order_of_equals)
{
	struct sim_heap h = { 0 };
	struct sim_event e, last = { .at = -1 };
	unsigned count = 0;

	ck_assert(!sim_heap_pop(&h, &e));
	for (uint32_t n = 0; n < 5000; n++)
		sim_heap_push(&h, n * 7919 % 1000, 3, n, n);
	while (sim_heap_pop(&h, &e)) {
		ck_assert(e.at > last.at || (e.at == last.at && e.who > last.who));
		ck_assert(e.what == 3 && e.data == e.who && e.at == e.who * 7919 % 1000);
		last = e;
		count++;
	}
	ck_assert_uint_eq(count, 5000);
	ck_assert(!h.failed);
	sim_heap_free(&h);
}
END_TEST

UNIT_MAIN("sim_contention", &published_with_intervals, &published_with_more_clients,
          &full_jitter_against_none, &one_client_alone, &a_seed_gives_the_same_again,
          &with_limits_some_give_up, &the_heap_sorts_and_keeps_the_order_of_equals)
