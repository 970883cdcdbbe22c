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
	struct pace_asked a = pace_ask(&p, word, now, PROBE, false, prng_next(&random_numbers));

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

#define TICK (100 * DUR_MS)

/* Places that become free are not given away in the same tick: attempts may be quick, and
 * all that wait would be gone at once. */
START_TEST(the_ramp_widens)
{
	uint16_t ticket = 0;
	unsigned expect = PACE_WINDOW;

	setup();
	bring_to_ramp();
	for (unsigned i = 0; i < 8; i++) {
		ck_assert_uint_eq(release(1000, &ticket), expect);
		for (unsigned n = 0; n < expect; n++)
			succeed(ticket, false);
		now += TICK - DUR_MS;
		ck_assert_uint_eq(release(1000, &ticket), 0);
		now += DUR_MS;
		expect = 2 * expect < PACE_WINDOW_MAX ? 2 * expect : PACE_WINDOW_MAX;
	}
	/* No more than a window is out, however long that takes. */
	ck_assert_uint_eq(release(1000, &ticket), expect);
	now += TICK;
	ck_assert_uint_eq(release(1000, &ticket), 0);
	ck_assert_int_eq(pace_state(word, now), PACE_RAMP);
}
END_TEST

START_TEST(it_is_up_when_nobody_waits)
{
	uint16_t ticket = 0;

	setup();
	bring_to_ramp();
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned out = release(100, &ticket); out > 0; out--)
			succeed(ticket, false);
		now += TICK;
	}
	ck_assert_uint_eq(release(3, &ticket), 3);
	ck_assert_int_eq(pace_state(word, now), PACE_RAMP);
	now += TICK;
	ck_assert_int_eq(pace_state(word, now), PACE_UP);
	ck_assert_uint_eq(release(1000, &ticket), 1000);
	ck_assert_uint_eq(ticket, PACE_NO_TICKET);
	/* Those that were waiting may have been killed. */
	bring_to_ramp();
	release(100, &ticket);
	now += 5 * DUR_S;
	ck_assert_int_eq(pace_state(word, now), PACE_RAMP);
	now += 6 * DUR_S;
	ck_assert_int_eq(pace_state(word, now), PACE_UP);
}
END_TEST

/* Calls that begin now are not made to pay for those that have waited. */
START_TEST(fresh_calls_go_in_the_ramp)
{
	uint16_t ticket = 0;

	setup();
	failed(PACE_NO_TICKET);
	ck_assert_int_eq(pace_ask(&p, word, now, PROBE, true, 0).answer, PACE_PARK);
	succeed(ask_until(DUR_S).ticket, false);
	ck_assert_uint_eq(release(100, &ticket), PACE_WINDOW);
	for (unsigned i = 0; i < 100; i++) {
		struct pace_asked a = pace_ask(&p, word, now, PROBE, true, 0);

		ck_assert_int_eq(a.answer, PACE_GO);
		ck_assert_uint_eq(a.ticket, PACE_NO_TICKET);
		word = pace_succeeded(&p, a.word, now, a.ticket, false);
	}
	/* They do not widen the window, ... */
	for (unsigned i = 0; i < PACE_WINDOW; i++)
		word = pace_abandoned(word, ticket);
	now += TICK;
	ck_assert_uint_eq(release(100, &ticket), PACE_WINDOW);
	/* ... but what they meet counts. */
	succeed(PACE_NO_TICKET, true);
	for (unsigned i = 0; i < PACE_WINDOW; i++)
		word = pace_abandoned(word, ticket);
	now += TICK;
	ck_assert_uint_eq(release(100, &ticket), PACE_WINDOW / 2);
}
END_TEST

START_TEST(failures_and_slow_ones_halve_it)
{
	uint16_t ticket = 0;
	unsigned out;

	setup();
	bring_to_ramp();
	for (unsigned i = 0; i < 2; i++) {
		for (out = release(100, &ticket); out > 0; out--)
			succeed(ticket, false);
		now += TICK;
	}
	ck_assert_uint_eq(release(100, &ticket), 16);
	/* Once in a tick: these were out at one time. */
	failed(ticket);
	succeed(ticket, true);
	failed(ticket);
	for (out = 13; out > 0; out--)
		word = pace_abandoned(word, ticket);
	ck_assert_uint_eq(release(100, &ticket), 0);
	now += TICK;
	ck_assert_uint_eq(release(100, &ticket), 8);
	for (out = 8; out > 0; out--)
		succeed(ticket, true);
	now += TICK;
	ck_assert_uint_eq(release(100, &ticket), 4);
}
END_TEST

/* From the present tick on, until one may go. */
static int64_t until_next(uint16_t *ticket)
{
	int64_t began = now;

	while (release(100, ticket) == 0) {
		ck_assert_int_lt(now - began, 20 * DUR_S);
		now += 10 * DUR_MS;
	}
	return now - began;
}

START_TEST(one_at_a_time_may_be_too_much)
{
	int64_t tick = TICK;
	uint16_t ticket = 0;

	setup();
	bring_to_ramp();
	/* 4, 2, 1, and then ever more rarely. */
	for (unsigned i = 0; i < 2; i++) {
		release(100, &ticket);
		for (unsigned n = 0; n < PACE_WINDOW; n++)
			succeed(ticket, true);
		now += TICK;
	}
	ck_assert_uint_eq(release(100, &ticket), 1);
	for (unsigned i = 0; i < 10; i++) {
		succeed(ticket, true);
		tick = 2 * tick < 64 * TICK ? 2 * tick : 64 * TICK;
		ck_assert_int_eq(until_next(&ticket), tick);
	}
	/* Good news is believed sooner than that. */
	for (unsigned i = 0; tick > TICK; i++) {
		succeed(ticket, false);
		ck_assert_uint_lt(i, 4);
		tick = until_next(&ticket);
	}
	/* A probe that took long says how it is. */
	for (unsigned i = 0; i < 3; i++)
		failed(PACE_NO_TICKET);
	succeed(ask_until(DUR_S).ticket, true);
	ck_assert_uint_eq(release(100, &ticket), 1);
	succeed(ticket, true);
	ck_assert_int_eq(until_next(&ticket), 64 * TICK);
}
END_TEST

START_TEST(failures_in_a_row_bring_it_down)
{
	uint16_t ticket = 0;

	setup();
	bring_to_ramp();
	release(100, &ticket);
	failed(ticket);
	failed(PACE_NO_TICKET);
	succeed(PACE_NO_TICKET, false);
	failed(ticket);
	failed(ticket);
	ck_assert_int_eq(pace_state(word, now), PACE_RAMP);
	failed(PACE_NO_TICKET);
	ck_assert_int_eq(pace_state(word, now), PACE_DOWN);
	ck_assert_uint_eq(release(100, &ticket), 0);
}
END_TEST

/* 1/20 of the time that it has been down, or so; at first as the policy's waits. */
START_TEST(probes_become_rarer)
{
	int64_t down, gap = 0;
	unsigned probes = 0;

	setup();
	failed(PACE_NO_TICKET);
	for (down = now; now - down < 5 * DUR_S; probes++)
		failed(ask_until(DUR_S).ticket);
	ck_assert_uint_ge(probes, 12);
	ck_assert_uint_le(probes, 26);
	while (now - down < 300 * DUR_S) {
		int64_t began = now;

		failed(ask_until(5 * DUR_S).ticket);
		gap = now - began;
	}
	ck_assert_int_ge(gap, 700 * DUR_MS);
	ck_assert_int_le(gap, 2300 * DUR_MS);
	/* Its max_delay is the policy's word. */
	p.backoff.max = 20 * DUR_MS;
	failed(ask_until(5 * DUR_S).ticket);
	down = now;
	ask_until(DUR_S);
	ck_assert_int_le(now - down, 31 * DUR_MS);
}
END_TEST

START_TEST(the_dead_do_not_narrow_it_for_ever)
{
	uint16_t ticket = 0;

	setup();
	bring_to_ramp();
	ck_assert_uint_eq(release(100, &ticket), PACE_WINDOW);
	now += PROBE - DUR_MS;
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
		a = pace_ask(&p, word, now, DUR_NONE, i % 2, 0);
		ck_assert(a.answer != PACE_PROBE ||
		          pace_ask(&p, a.word, now, DUR_NONE, false, 0).answer == PACE_PARK);
		while ((a = ask()).answer == PACE_PARK) {
			ck_assert_int_gt(a.until, now);
			ck_assert_int_le(a.until - now, 150 * DUR_MS);
			parked += a.until - now;
			now = a.until;
			ck_assert_int_le(parked, 61 * DUR_S);
		}
		failed((uint16_t)prng_next(&random_numbers));
		succeed((uint16_t)prng_next(&random_numbers), i % 2);
		word = pace_abandoned(word, (uint16_t)prng_next(&random_numbers));
		ck_assert_ptr_nonnull(pace_state_name(pace_state(word, now)));
	}
}
END_TEST

UNIT_MAIN("pace", &all_go_while_it_is_up, &one_probe_at_a_time, &a_probe_that_dies_is_replaced,
          &who_leaves_frees_the_place, &the_ramp_widens, &it_is_up_when_nobody_waits,
          &fresh_calls_go_in_the_ramp, &failures_and_slow_ones_halve_it,
          &one_at_a_time_may_be_too_much, &failures_in_a_row_bring_it_down,
          &probes_become_rarer, &the_dead_do_not_narrow_it_for_ever, &any_word_is_survived)
