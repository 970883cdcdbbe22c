/* SPDX-License-Identifier: MIT */
#include "policy/budget.h"

#include <pthread.h>

#include "base/prng.h"
#include "policy/builtin.h"
#include "policy/window.h"
#include "tests/unit/unit.h"

#define START (INT64_C(5000) * 10 * DUR_S)

static struct budget ratio(int64_t ppm, uint32_t per_second)
{
	struct budget b = builtin_default().budget;

	b.ratio = ppm;
	b.min_retries_per_second = per_second;
	return b;
}

static struct budget kind(enum budget_kind k)
{
	struct budget b = builtin_default().budget;

	b.kind = k;
	return b;
}

/* How many retries in a row are allowed at <now>; *spent goes along. */
static unsigned take_all(const struct budget *b, uint64_t calls, uint64_t *spent, int64_t now,
                         enum err_class class)
{
	unsigned n = 0;

	for (;;) {
		struct budget_step s = budget_retry(b, calls, *spent, now, class);

		if (!s.allowed) {
			ck_assert_uint_eq(s.word, *spent);
			return n;
		}
		*spent = s.word;
		n++;
	}
}

START_TEST(ratio_and_floor_add_up)
{
	static const struct {
		int64_t ratio;
		uint32_t per_second, calls;
		unsigned expect;
	} rows[] = {
		{ PPM / 5, 10, 0, 100 },    { PPM / 5, 10, 1000, 300 }, { PPM / 5, 0, 4, 0 },
		{ PPM / 5, 0, 5, 1 },       { PPM / 5, 0, 14, 2 },      { 0, 1, 100000, 10 },
		{ 0, 0, 100000, 0 },        { 10 * PPM, 0, 3, 30 },     { PPM, 0, 1, 1 },
		{ 1, 0, 999999, 0 },        { 1, 0, 1000000, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct budget b = ratio(rows[i].ratio, rows[i].per_second);
		uint64_t calls = 0, spent = 0;

		for (uint32_t n = 0; n < rows[i].calls; n++)
			calls = budget_call(&b, calls, START);
		ck_assert_uint_eq(take_all(&b, calls, &spent, START, CLASS_REFUSED),
		                  rows[i].expect);
		/* All of it comes back with the time. */
		ck_assert_uint_eq(take_all(&b, calls, &spent, START + 2 * b.ttl - 1,
		                           CLASS_REFUSED),
		                  (unsigned)(rows[i].per_second * 10));
	}
}
END_TEST

/* Published for a budget of 20 % and 10 per second: 100 calls/s that all fail get
 * 20 + 10 retries/s. */
START_TEST(a_hundred_calls_a_second_get_thirty_retries)
{
	struct budget b = ratio(PPM / 5, 10);
	uint64_t calls = 0, spent = 0;
	unsigned retries = 0;

	for (int64_t at = 0; at < 220 * DUR_S; at += 10 * DUR_MS) {
		calls = budget_call(&b, calls, START + at);
		for (unsigned n = 0; n < 4; n++) {
			struct budget_step s = budget_retry(&b, calls, spent, START + at,
			                                    CLASS_REFUSED);

			spent = s.word;
			retries += at >= 20 * DUR_S && s.allowed;
		}
	}
	ck_assert_uint_ge(retries, 200 * 30 * 98 / 100);
	ck_assert_uint_le(retries, 200 * 30 * 102 / 100);
}
END_TEST

START_TEST(tokens_last_for_a_hundred)
{
	struct budget b = kind(BUDGET_TOKENS);
	uint64_t spent = 0;

	ck_assert_uint_eq(take_all(&b, 0, &spent, 0, CLASS_REFUSED), 100);
	ck_assert_uint_eq(take_all(&b, 0, &spent, DUR_NONE, CLASS_DNS_TEMPORARY), 0);
	spent = 0;
	ck_assert_uint_eq(take_all(&b, 0, &spent, 0, CLASS_TIMEOUT), 50);
	/* First calls are nothing to them. */
	ck_assert_uint_eq(budget_call(&b, 17, 5), 17);
}
END_TEST

START_TEST(tokens_come_back_by_success)
{
	struct budget b = kind(BUDGET_TOKENS);
	uint64_t spent = BUDGET_TOKENS_MAX;

	for (unsigned n = 1; n <= 5; n++) {
		ck_assert(!budget_retry(&b, 0, spent, 0, CLASS_RESET).allowed);
		spent = budget_success(&b, spent, CLASS_NONE);
		ck_assert_uint_eq(spent, BUDGET_TOKENS_MAX - n);
	}
	ck_assert(!budget_retry(&b, 0, spent, 0, CLASS_TIMEOUT).allowed);
	spent = budget_retry(&b, 0, spent, 0, CLASS_RESET).word;
	ck_assert_uint_eq(spent, BUDGET_TOKENS_MAX);
	/* The retry worked. */
	spent = budget_success(&b, spent, CLASS_RESET);
	ck_assert_uint_eq(spent, BUDGET_TOKENS_MAX - 5);
	ck_assert_uint_eq(budget_success(&b, spent, CLASS_TIMEOUT), BUDGET_TOKENS_MAX - 15);
	/* Never more than full. */
	ck_assert_uint_eq(budget_success(&b, 3, CLASS_TIMEOUT), 0);
	ck_assert_uint_eq(budget_success(&b, 0, CLASS_NONE), 0);
}
END_TEST

START_TEST(a_hostile_word_is_an_empty_bucket)
{
	struct budget b = kind(BUDGET_TOKENS);

	ck_assert(!budget_retry(&b, 0, UINT64_MAX, 0, CLASS_REFUSED).allowed);
	ck_assert_uint_eq(budget_success(&b, UINT64_MAX, CLASS_NONE), BUDGET_TOKENS_MAX - 1);
	ck_assert(!tokens_take(UINT64_MAX, 10, 1).allowed);
}
END_TEST

START_TEST(none_is_always_yes)
{
	struct budget b = kind(BUDGET_NONE);
	struct budget_step s = budget_retry(&b, 1, 2, 3, CLASS_TIMEOUT);

	ck_assert(s.allowed);
	ck_assert_uint_eq(s.word, 2);
	ck_assert_uint_eq(budget_call(&b, 1, 3), 1);
	ck_assert_uint_eq(budget_success(&b, 2, CLASS_NONE), 2);
}
END_TEST

#define THREADS 4

struct shared {
	struct budget budget;
	uint64_t calls, spent;
	unsigned allowed;
};

static void *take_many(void *arg)
{
	struct shared *s = arg;

	for (unsigned n = 0; n < 5000; n++) {
		uint64_t old = __atomic_load_n(&s->spent, __ATOMIC_ACQUIRE);
		struct budget_step step;

		do
			step = budget_retry(&s->budget, s->calls, old, START, CLASS_REFUSED);
		while (step.allowed &&
		       !__atomic_compare_exchange_n(&s->spent, &old, step.word, false,
		                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
		if (step.allowed)
			__atomic_fetch_add(&s->allowed, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Four at a time get exactly what one would get. */
START_TEST(threads_share_it_exactly)
{
	static const struct {
		enum budget_kind kind;
		unsigned expect;
	} rows[] = { { BUDGET_TOKENS, 100 }, { BUDGET_RATIO, 700 }, { BUDGET_NONE, 20000 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct shared s = { .budget = kind(rows[i].kind) };
		pthread_t t[THREADS];

		for (unsigned n = 0; n < 1000; n++)
			s.calls = budget_call(&s.budget, s.calls, START);
		for (unsigned n = 0; n < THREADS; n++)
			ck_assert_int_eq(pthread_create(&t[n], NULL, take_many, &s), 0);
		for (unsigned n = 0; n < THREADS; n++)
			pthread_join(t[n], NULL);
		ck_assert_uint_eq(s.allowed, rows[i].expect);
	}
}
END_TEST

/* Whatever is asked for and when: what the two windows show is within the limit. */
START_TEST(never_shows_more_than_allowed)
{
	struct prng r;
	uint64_t calls = 0, spent = 0;
	int64_t now = START;
	struct budget b = ratio(PPM / 10, 1);

	prng_seed(&r, 3);
	for (unsigned n = 0; n < 200000; n++) {
		struct budget_step s;

		now += prng_below(prng_next(&r), n / 1000 % 2 ? DUR_MS : 100 * DUR_MS);
		if (prng_next(&r) % 4 == 0)
			calls = budget_call(&b, calls, now);
		s = budget_retry(&b, calls, spent, now, CLASS_REFUSED);
		spent = s.word;
		if (s.allowed && window_estimate(spent, now, b.ttl) >
		                         window_estimate(calls, now, b.ttl) / 10 + 10 * PPM)
			ck_abort_msg("too many at step %u", n);
	}
}
END_TEST

UNIT_MAIN("budget", &ratio_and_floor_add_up, &a_hundred_calls_a_second_get_thirty_retries,
          &tokens_last_for_a_hundred, &tokens_come_back_by_success,
          &a_hostile_word_is_an_empty_bucket, &none_is_always_yes, &threads_share_it_exactly,
          &never_shows_more_than_allowed)
