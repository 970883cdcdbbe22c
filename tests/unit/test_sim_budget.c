/* SPDX-License-Identifier: MIT */
/* Against the feature table, section 5.4. */
#include "cli/sim_budget.h"

#include <math.h>
#include <string.h>

#include "policy/builtin.h"
#include "tests/unit/unit.h"

enum { NONE, RETRIES, BUCKET, GRPC, AWS, OURS, COLUMNS };

/* Of one run of 200,000 calls each: to half a point of success and 0.01 of the load, about
 * three standard deviations where budgets run low. */
START_TEST(published)
{
	static const struct {
		double fail;
		struct {
			double load, success;
		} columns[OURS];
	} rows[] = {
		{ 0.01, { { 1, 99.00 }, { 1.010, 100 }, { 1.010, 100 }, { 1.010, 100 },
		          { 1.010, 100 } } },
		{ 0.05, { { 1, 94.96 }, { 1.053, 100 }, { 1.053, 100 }, { 1.052, 99.95 },
		          { 1.054, 100 } } },
		{ 0.10, { { 1, 90.06 }, { 1.110, 99.99 }, { 1.097, 98.76 }, { 1.021, 91.90 },
		          { 1.112, 99.99 } } },
		{ 0.20, { { 1, 80.04 }, { 1.246, 99.85 }, { 1.087, 86.96 }, { 1.000, 79.95 },
		          { 1.249, 99.85 } } },
		{ 0.50, { { 1, 49.96 }, { 1.872, 93.67 }, { 1.053, 52.73 }, { 1.000, 50.17 },
		          { 1.202, 59.98 } } },
		{ 1.00, { { 1, 0 }, { 4, 0 }, { 1, 0 }, { 1, 0 }, { 1, 0 } } },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (unsigned c = 0; c < OURS; c++) {
			struct sim_budget b;
			struct sim_budget_result r;

			ck_assert_ptr_nonnull(sim_budget_column(c, &b));
			b.fail = rows[i].fail;
			r = sim_budget(&b);
			ck_assert_double_le(fabs(r.load - rows[i].columns[c].load), 0.01);
			ck_assert_double_le(fabs(100 * r.success - rows[i].columns[c].success),
			                    0.5);
		}
	}
}
END_TEST

START_TEST(columns_have_names_and_an_end)
{
	struct sim_budget b;

	ck_assert_str_eq(sim_budget_column(NONE, &b), "none");
	ck_assert_str_eq(sim_budget_column(OURS, &b), "libretry ratio");
	ck_assert_uint_eq(b.calls, 200000);
	ck_assert_ptr_null(sim_budget_column(COLUMNS, &b));
	ck_assert_ptr_null(sim_budget_column(~0u, &b));
}
END_TEST

/* All calls fail; how many retries there are. */
static uint64_t retries(struct sim_budget b, uint64_t calls)
{
	b.calls = calls;
	b.fail = 1;
	return sim_budget(&b).retries;
}

static struct sim_budget column(unsigned number)
{
	struct sim_budget b;

	sim_budget_column(number, &b);
	return b;
}

START_TEST(exact_lines_below_the_table)
{
	struct sim_budget b = column(GRPC);

	/* gRPC {10, 0.1}: 4 retries in an unbroken failure, then none. */
	ck_assert_uint_eq(retries(b, 1000), 3);
	b.retries = 100;
	ck_assert_uint_eq(retries(b, 1), 4);
	ck_assert_uint_eq(retries(b, 1000), 4);
	/* AWS 500: 100 retries; time-outs 50; at the new costs 35 and 100. */
	b = column(AWS);
	ck_assert_uint_eq(retries(b, 1000), 100);
	b.cost = 10;
	ck_assert_uint_eq(retries(b, 1000), 50);
	b.cost = 14;
	ck_assert_uint_eq(retries(b, 1000), 35);
	/* Ours of kind tokens is that. */
	b = column(OURS);
	b.budget.kind = BUDGET_TOKENS;
	ck_assert_uint_eq(retries(b, 1000), 100);
	b.class = CLASS_TIMEOUT;
	ck_assert_uint_eq(retries(b, 1000), 50);
	/* A share of a quarter of 100 calls at one time: 25. (The least of 3 that comes
	 * with it where it was published goes by calls under way, which is not ours.) */
	b = column(OURS);
	b.budget.ratio = PPM / 4;
	b.budget.min_retries_per_second = 0;
	b.every = 0;
	ck_assert_uint_eq(retries(b, 100), 25);
}
END_TEST

/* 100 calls/s that all fail: 20 + 10 retries/s. */
START_TEST(the_ratio_at_a_hundred_calls_a_second)
{
	struct sim_budget b = column(OURS);

	b.fail = 1;
	ck_assert_double_le(fabs(sim_budget(&b).per_s - 30), 0.3);
	b.budget.min_retries_per_second = 0;
	ck_assert_double_le(fabs(sim_budget(&b).per_s - 20), 0.2);
	/* Where it does not bind it is the retries alone. */
	b = column(OURS);
	ck_assert_double_le(fabs(sim_budget(&b).load - 1.11), 0.01);
	/* A load of 4 in a total outage becomes one of 1.3. */
	b.fail = 1;
	ck_assert_double_le(fabs(sim_budget(&b).load - 1.3), 0.005);
}
END_TEST

/* What such a bucket was expected to do: like N retries well below 10 % of failures, like
 * 0.1 retries well above. */
START_TEST(bucket_as_expected)
{
	struct sim_budget bucket = column(BUCKET), three = column(RETRIES);
	struct sim_budget_result r;

	bucket.fail = three.fail = 0.03;
	ck_assert_double_le(fabs(sim_budget(&bucket).load - sim_budget(&three).load), 0.001);
	bucket.fail = 0.5;
	r = sim_budget(&bucket);
	ck_assert_double_le(fabs(r.load - (1 + 0.1 * r.success)), 0.001);
}
END_TEST

START_TEST(a_seed_gives_the_same_again)
{
	struct sim_budget b = column(AWS);
	struct sim_budget_result first, again;

	b.fail = 0.5;
	first = sim_budget(&b);
	again = sim_budget(&b);
	ck_assert_mem_eq(&first, &again, sizeof(first));
	b.seed++;
	ck_assert_uint_ne(sim_budget(&b).attempts, first.attempts);
	b.calls = 0;
	ck_assert_uint_eq(sim_budget(&b).attempts, 0);
}
END_TEST

UNIT_MAIN("sim_budget", &published, &columns_have_names_and_an_end,
          &exact_lines_below_the_table, &the_ratio_at_a_hundred_calls_a_second,
          &bucket_as_expected, &a_seed_gives_the_same_again)
