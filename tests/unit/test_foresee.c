/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/prng.h"
#include "cli/foresee.h"
#include "policy/builtin.h"
#include "policy/decide.h"

static struct forecast f;

static struct policy named(const char *name)
{
	struct policy p;

	for (unsigned i = 0; builtin_policy(i, &p); i++)
		if (strcmp(p.name, name) == 0)
			return p;
	ck_abort_msg("no policy %s", name);
	return p;
}

/* Times in ms; the table ends with the last attempt. */
static void expect_calls(const struct policy *p, const struct foresight *how,
                         const int64_t (*ms)[2], unsigned count)
{
	foresee(&f, p, how);
	ck_assert_uint_eq(f.attempts, count + 1);
	for (unsigned i = 0; i < count; i++) {
		ck_assert_int_eq(f.retry[i].at_min, ms[i][0] * DUR_MS);
		ck_assert_int_eq(f.retry[i].at_max, ms[i][1] * DUR_MS);
	}
}

START_TEST(default_policy)
{
	static const int64_t ms[][2] = {
		{ 50, 150 }, { 150, 450 }, { 350, 1050 }, { 750, 2250 }
	};
	struct policy p = builtin_default();
	struct foresight how = { .attempt = 0 };

	expect_calls(&p, &how, ms, ARRAY_LEN(ms));
	ck_assert_int_eq(f.waits, 2250 * DUR_MS);
	ck_assert_int_eq(f.total, 2250 * DUR_MS);
	ck_assert(!f.by_deadline);
	ck_assert(!f.cut);
}
END_TEST

/* Attempts that wait for others' results do so up to the deadline; then the first one of
 * a connect is made. */
START_TEST(parked_attempts)
{
	struct policy p = builtin_default();
	struct foresight how = { .attempt = DUR_S, .cuts = true, .first_free = true };

	foresee(&f, &p, &how);
	ck_assert_int_eq(f.total, 7250 * DUR_MS);
	how.parks = true;
	foresee(&f, &p, &how);
	ck_assert(f.by_deadline);
	ck_assert_int_eq(f.total, 31 * DUR_S);
	p.max_attempts = 1;
	foresee(&f, &p, &how);
	ck_assert_int_eq(f.total, 31 * DUR_S);
	/* A send has no first attempt that would be asked for. */
	how.first_free = false;
	foresee(&f, &p, &how);
	ck_assert_int_eq(f.total, DUR_S);
	p.max_attempts = 5;
	foresee(&f, &p, &how);
	ck_assert_int_eq(f.total, 30 * DUR_S);
	how.cuts = false;
	foresee(&f, &p, &how);
	ck_assert_int_eq(f.total, 31 * DUR_S);
	p.deadline = DUR_NONE;
	foresee(&f, &p, &how);
	ck_assert_int_eq(f.total, DUR_NONE);
}
END_TEST

/* Calls at 0 1 3 7 15 s and not at 0 1 2 4 8; six calls, 31 s. */
START_TEST(published_schedules)
{
	static const int64_t doubling[][2] = { { 1000, 1000 }, { 3000, 3000 }, { 7000, 7000 },
		                               { 15000, 15000 }, { 31000, 31000 } };
	static const int64_t capped[][2] = {
		{ 1000, 1000 }, { 3000, 3000 }, { 6000, 6000 }, { 9000, 9000 }
	};
	struct policy p = builtin_default();
	struct foresight how = { .attempt = 0 };

	p.backoff.base = DUR_S;
	p.backoff.max = 30 * DUR_S;
	p.backoff.jitter = JITTER_NONE;
	p.max_attempts = 6;
	p.deadline = DUR_NONE;
	expect_calls(&p, &how, doubling, ARRAY_LEN(doubling));
	p.backoff.max = 3 * DUR_S;
	p.max_attempts = 5;
	expect_calls(&p, &how, capped, ARRAY_LEN(capped));

	p = named("container");
	foresee(&f, &p, &how);
	ck_assert_int_eq(f.retry[3].at_min, 15 * DUR_S);
	ck_assert_int_eq(f.retry[3].at_max, 19500 * DUR_MS);
	p = named("automotive");
	foresee(&f, &p, &how);
	ck_assert_int_eq(f.retry[4].at_min, 1550 * DUR_MS);
	ck_assert_int_eq(f.retry[4].at_max, 4650 * DUR_MS);
}
END_TEST

START_TEST(the_deadline_ends_the_table)
{
	struct policy p = builtin_default();
	struct foresight how = { .attempt = 0 };

	p.backoff.jitter = JITTER_NONE;
	p.backoff.base = p.backoff.max = DUR_S;
	p.max_attempts = 10;
	p.deadline = 3 * DUR_S;
	foresee(&f, &p, &how);
	/* The one at 3 s would not begin before it. */
	ck_assert_uint_eq(f.attempts, 3);
	ck_assert_int_eq(f.waits, 9 * DUR_S);
	ck_assert(f.by_deadline);
	ck_assert_int_eq(f.total, 3 * DUR_S);

	p.backoff.jitter = JITTER_FULL;
	foresee(&f, &p, &how);
	ck_assert_uint_eq(f.attempts, 10);
	ck_assert_int_eq(f.retry[8].at_min, 0);
	ck_assert_int_eq(f.retry[8].at_max, 3 * DUR_S);
}
END_TEST

START_TEST(worst_cases)
{
	static const struct {
		int64_t deadline, timeout, attempt, total;
		unsigned attempts;
		bool cut, by_deadline;
	} rows[] = {
		/* Nobody answers for 131 s, and the deadline does not cut the first. */
		{ 30, 0, 131, 131, 5, false, true },
		/* Those after it, it does. */
		{ 30, 0, 20, 30, 5, false, true },
		{ -1, 0, 131, 4 + 5 * 131, 5, false, false },
		/* attempt_timeout is cut to what is left of the deadline. */
		{ 30, 5, 131, 4 + 25, 5, true, false },
		{ 10, 5, 131, 10, 5, true, true },
		/* One that the kernel ends earlier. */
		{ 30, 5, 1, 4 + 5, 5, false, false },
		{ 30, 5, 131, 131, 1, false, false },
		{ 30, 0, -1, -1, 5, false, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct policy p = builtin_default();
		struct foresight how = { .cuts = true, .first_free = true };

		p.backoff.jitter = JITTER_NONE;
		p.backoff.base = p.backoff.max = DUR_S;
		p.max_attempts = rows[i].attempts;
		p.deadline = rows[i].deadline < 0 ? DUR_NONE : rows[i].deadline * DUR_S;
		if (rows[i].timeout)
			p.attempt_timeout = rows[i].timeout * DUR_S;
		how.attempt = rows[i].attempt < 0 ? DUR_NONE : rows[i].attempt * DUR_S;
		foresee(&f, &p, &how);
		ck_assert_int_eq(f.total, rows[i].total < 0 ? DUR_NONE : rows[i].total * DUR_S);
		ck_assert(f.cut == rows[i].cut);
		ck_assert(f.by_deadline == rows[i].by_deadline);
	}
}
END_TEST

START_TEST(not_retried)
{
	struct policy p = builtin_default();
	struct foresight how = { .once = true, .attempt = DUR_S };

	foresee(&f, &p, &how);
	ck_assert_uint_eq(f.attempts, 1);
	ck_assert_int_eq(f.total, DUR_S);
	how = (struct foresight){ .at_once = true };
	foresee(&f, &p, &how);
	ck_assert_uint_eq(f.attempts, 2);
	ck_assert_int_eq(f.retry[0].wait_max, 0);
}
END_TEST

static struct policy random_policy(struct prng *r)
{
	struct policy p = builtin_default();

	p.backoff.base = 1 + prng_below(prng_next(r), 2 * DUR_S);
	p.backoff.base_local = 1 + prng_below(prng_next(r), 2 * DUR_S);
	p.backoff.max = p.backoff.base + prng_below(prng_next(r), 10 * DUR_S);
	p.backoff.multiplier = PPM + prng_below(prng_next(r), 2 * PPM);
	p.backoff.jitter = (enum jitter)prng_below(prng_next(r), JITTER_NONE);
	p.backoff.jitter_ratio = prng_below(prng_next(r), PPM);
	p.backoff.cap = (enum cap)prng_below(prng_next(r), CAP_SOFT);
	p.backoff.first_immediate = prng_next(r) & 1;
	p.max_attempts = 1 + (unsigned)prng_below(prng_next(r), 30);
	p.deadline = prng_next(r) & 1 ? DUR_NONE : prng_below(prng_next(r), 60 * DUR_S) + 1;
	return p;
}

/* What the library decides, step by step, is within what was foreseen. */
static void walk(const struct policy *p, bool local, struct prng *r)
{
	struct failure failure = { .err = { ERR_ERRNO, local ? ENOBUFS : ECONNREFUSED } };
	struct progress so_far = { .attempt = 1, .limit = DUR_NONE };

	for (;; so_far.attempt++) {
		struct decision d = decide(p, &failure, &so_far, prng_next(r));
		const struct step *s = &f.retry[so_far.attempt - 1];

		if (d.verdict != VERDICT_RETRY)
			return;
		ck_assert_uint_lt(so_far.attempt, f.attempts);
		ck_assert_int_ge(d.wait, s->wait_min);
		ck_assert_int_le(d.wait, s->wait_max);
		so_far.elapsed = dur_add(so_far.elapsed, d.wait);
		so_far.previous_wait = d.wait;
		ck_assert_int_ge(so_far.elapsed, s->at_min);
		ck_assert_int_le(so_far.elapsed, s->at_max);
	}
}

START_TEST(agrees_with_the_library)
{
	struct prng r;

	prng_seed(&r, 7);
	for (unsigned i = unit_rounds(3000); i > 0; i--) {
		struct policy p = random_policy(&r);
		struct foresight how = { .local = i & 1 };

		foresee(&f, &p, &how);
		for (unsigned n = 0; n < 5; n++)
			walk(&p, how.local, &r);
	}
}
END_TEST

START_TEST(amplification)
{
	static const unsigned threes[] = { 3, 3 }, five[] = { 5 }, three[] = { 3 };
	static const unsigned many[] = { 1000, 1000, 1000, 1000, 1000, 1000, 1000 };

	ck_assert_uint_eq(amplify(5, threes, 2), 45);
	ck_assert_uint_eq(amplify(3, three, 1), 9);
	ck_assert_uint_eq(amplify(5, five, 1), 25);
	ck_assert_uint_eq(amplify(5, NULL, 0), 5);
	ck_assert_uint_eq(amplify(1000, many, ARRAY_LEN(many)), UINT64_MAX);
}
END_TEST

UNIT_MAIN("foresee", &default_policy, &parked_attempts, &published_schedules,
          &the_deadline_ends_the_table, &worst_cases, &not_retried,
           &agrees_with_the_library, &amplification)
