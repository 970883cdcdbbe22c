/* SPDX-License-Identifier: MIT */
#include "policy/pace.h"

#include <string.h>

#include "base/prng.h"
#include "policy/builtin.h"
#include "tests/unit/unit.h"

#define PROBE (3 * DUR_S)
#define START (1000 * DUR_S)

static struct policy p;
static uint64_t word;
static int64_t now;
static struct prng random_numbers;

static void setup(void)
{
	p = builtin_default();
	p.coordinate = true;
	word = 0;
	now = START;
	prng_seed(&random_numbers, 7);
}

static struct pace_asked ask(void)
{
	struct pace_asked a = pace_ask(&p, word, now, PROBE, prng_next(&random_numbers));

	word = a.word;
	return a;
}

static void failed(uint16_t ticket)
{
	word = pace_failed(&p, word, now, ticket, prng_next(&random_numbers));
}

static void succeed(uint16_t ticket, bool slow)
{
	word = pace_succeeded(&p, word, now, ticket, slow);
}

/* Asks every ms until it may go: the answer. */
static struct pace_asked ask_until(int64_t most)
{
	for (int64_t end = now + most; now <= end; now += DUR_MS) {
		struct pace_asked a = ask();

		if (a.answer != PACE_PARK)
			return a;
	}
	ck_abort_msg("still parked");
}

START_TEST(all_go_while_it_is_up)
{
	setup();
	for (unsigned i = 0; i < 1000; i++)
		ck_assert_int_eq(ask().answer, PACE_GO);
	succeed(PACE_NO_TICKET, false);
	ck_assert_uint_eq(word, 0);
	p.coordinate = false;
	failed(PACE_NO_TICKET);
	ck_assert_uint_eq(word, 0);
	ck_assert_int_eq(ask().answer, PACE_GO);
}
END_TEST

START_TEST(one_probe_at_a_time)
{
	struct pace_asked a;

	setup();
	failed(PACE_NO_TICKET);
	ck_assert_int_eq(pace_state(word, now), PACE_DOWN);
	a = ask();
	ck_assert_int_eq(a.answer, PACE_PARK);
	ck_assert_int_ge(a.until - now, 50 * DUR_MS);
	ck_assert_int_le(a.until - now, 150 * DUR_MS);
	for (unsigned round = 0; round < 20; round++) {
		int64_t began = now;

		a = ask_until(DUR_S);
		ck_assert_int_eq(a.answer, PACE_PROBE);
		ck_assert_int_ge(now - began, round ? 49 * DUR_MS : 0);
		ck_assert_uint_ne(a.ticket, PACE_NO_TICKET);
		for (unsigned i = 0; i < 100; i++)
			ck_assert_int_eq(ask().answer, PACE_PARK);
		/* Others' failures change nothing. */
		failed(PACE_NO_TICKET);
		ck_assert_int_eq(ask().answer, PACE_PARK);
		failed(a.ticket);
		ck_assert_int_eq(ask().answer, PACE_PARK);
	}
}
END_TEST

START_TEST(a_probe_that_dies_is_replaced)
{
	struct pace_asked dead, a;

	setup();
	failed(PACE_NO_TICKET);
	dead = ask_until(DUR_S);
	now += PROBE - DUR_MS;
	ck_assert_int_eq(ask().answer, PACE_PARK);
	now += DUR_MS;
	a = ask();
	ck_assert_int_eq(a.answer, PACE_PROBE);
	ck_assert_uint_ne(a.ticket, dead.ticket);
	/* Its word, should it come after all, is no longer the probe's. */
	failed(dead.ticket);
	ck_assert_int_eq(ask().answer, PACE_PARK);
	succeed(a.ticket, false);
	ck_assert_int_eq(pace_state(word, now), PACE_RAMP);
}
END_TEST

START_TEST(who_leaves_frees_the_place)
{
	struct pace_asked a;

	setup();
	failed(PACE_NO_TICKET);
	a = ask_until(DUR_S);
	word = pace_abandoned(word, a.ticket);
	ck_assert_int_eq(ask().answer, PACE_PROBE);
	word = pace_abandoned(word, a.ticket);
	ck_assert_int_eq(ask().answer, PACE_PARK);
}
END_TEST

/* <n> ask at once: how many may go. */
static unsigned release(unsigned n, uint16_t *ticket)
{
	unsigned count = 0;

	for (unsigned i = 0; i < n; i++) {
		struct pace_asked a = ask();

		if (a.answer == PACE_GO) {
			count++;
			*ticket = a.ticket;
		}
	}
	return count;
}

static void bring_to_ramp(void)
{
	failed(PACE_NO_TICKET);
	succeed(ask_until(DUR_S).ticket, false);
}

START_TEST(the_ramp_widens)
{
	uint16_t ticket = 0;
	unsigned out, window = PACE_WINDOW;

	setup();
	bring_to_ramp();
	out = release(1000, &ticket);
	ck_assert_uint_eq(out, PACE_WINDOW);
	for (unsigned i = 0; pace_state(word, now) == PACE_RAMP; i++) {
		ck_assert_uint_lt(i, 200);
		succeed(ticket, false);
		window += window < PACE_WINDOW_MAX;
		if (pace_state(word, now) != PACE_RAMP)
			break;
		out = out - 1 + release(1000, &ticket);
		ck_assert_uint_eq(out, window);
	}
	ck_assert_int_eq(pace_state(word, now), PACE_UP);
	ck_assert_uint_eq(window, PACE_WINDOW_MAX);
}
END_TEST

START_TEST(failures_and_slow_ones_halve_it)
{
	uint16_t ticket = 0;

	setup();
	bring_to_ramp();
	for (unsigned i = 0; i < 12; i++) {
		release(1, &ticket);
		succeed(ticket, false);
	}
	ck_assert_uint_eq(release(100, &ticket), 16);
	failed(ticket); /* 8, 15 out */
	ck_assert_uint_eq(release(100, &ticket), 0);
	succeed(ticket, true); /* 4 */
	for (unsigned i = 0; i < 14; i++)
		word = pace_abandoned(word, ticket);
	ck_assert_uint_eq(release(100, &ticket), 4);
	failed(ticket); /* 2 */
	failed(ticket); /* 1 */
	ck_assert_int_eq(pace_state(word, now), PACE_RAMP);
	failed(ticket);
	ck_assert_int_eq(pace_state(word, now), PACE_DOWN);
}
END_TEST

START_TEST(the_dead_do_not_narrow_it_for_ever)
{
	uint16_t ticket = 0;

	setup();
	bring_to_ramp();
	ck_assert_uint_eq(release(100, &ticket), PACE_WINDOW);
	now += PROBE - 1;
	ck_assert_uint_eq(release(100, &ticket), 0);
	now += DUR_MS;
	ck_assert_uint_eq(release(100, &ticket), PACE_WINDOW);
}
END_TEST

/* Whatever is in the word: nobody is parked for long, and nothing breaks. */
START_TEST(any_word_is_survived)
{
	setup();
	for (unsigned i = 0; i < 20000; i++) {
		struct pace_asked a;
		int64_t parked = 0;

		word = prng_next(&random_numbers);
		now = START + (int64_t)(prng_next(&random_numbers) >> 20);
		while ((a = ask()).answer == PACE_PARK) {
			ck_assert_int_gt(a.until, now);
			ck_assert_int_le(a.until - now, 150 * DUR_MS);
			parked += a.until - now;
			now = a.until;
			ck_assert_int_le(parked, 121 * DUR_S);
		}
		failed((uint16_t)prng_next(&random_numbers));
		succeed((uint16_t)prng_next(&random_numbers), i % 2);
		word = pace_abandoned(word, (uint16_t)prng_next(&random_numbers));
		ck_assert_ptr_nonnull(pace_state_name(pace_state(word, now)));
	}
}
END_TEST

UNIT_MAIN("pace", &all_go_while_it_is_up, &one_probe_at_a_time, &a_probe_that_dies_is_replaced,
          &who_leaves_frees_the_place, &the_ramp_widens, &failures_and_slow_ones_halve_it,
          &the_dead_do_not_narrow_it_for_ever, &any_word_is_survived)
