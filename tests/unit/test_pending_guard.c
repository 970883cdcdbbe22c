/* SPDX-License-Identifier: MIT */
/* Non-blocking connects of which others know. */
#include "engine/pending.h"

#include "policy/breaker.h"
#include "policy/pace.h"
#include "tests/unit/under_way.h"

static void known(void)
{
	setup();
	w.remembers = true;
	w.first_calls = 1;
}

static uint64_t counted(enum tally what)
{
	return atomic_load(&w.slot.tally[what]);
}

static struct pending_call call;
static struct target to;

/* What connect() does under a policy that has a say. */
static enum guard_answer first(int *error)
{
	memset(&to, 0, sizeof(to));
	to.policy = &p;
	to.rule = w.rule;
	addr_from_sockaddr(&to.addr, (struct sockaddr *)&sa, sa_len);
	call = call_of(FD, DUR_NONE);
	return pending_first(&world_ops, &w, &call, &to, error);
}

START_TEST(outcomes_are_counted)
{
	known();
	at_attempt(FD, 3);
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	ck_assert_uint_eq(counted(TALLY_CALLS), 1);
	ck_assert_uint_eq(counted(TALLY_RETRIES), 2);
	ck_assert_uint_eq(counted(TALLY_RECOVERED), 1);
	assert_over();
	at_attempt(FD, 2);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
	pending_closing(&world_ops, &w, FD);
	ck_assert_uint_eq(counted(TALLY_ABANDONED), 1);
	assert_over();
}
END_TEST

START_TEST(the_budget_ends_it)
{
	int error;

	known();
	p.budget.min_retries_per_second = 0;
	w.first_calls = 10; /* two retries */
	at_attempt(FD, 3);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW_ERROR);
	ck_assert_int_eq(pending_ask(&world_ops, &w, FD, &error), ANSWER_ERROR);
	ck_assert_int_eq(error, ECONNREFUSED);
	ck_assert_uint_eq(counted(TALLY_BUDGET_REFUSED), 1);
	ck_assert_int_eq(w.events[w.event_count - 1].reason, REASON_BUDGET);
	assert_over();
}
END_TEST

static void open_breaker(void)
{
	p.breaker.enabled = true;
	p.breaker.consecutive_failures = 1;
	begin(FD);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW_ERROR);
	ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock), BREAKER_OPEN);
}

START_TEST(the_breaker_ends_it)
{
	int error;

	known();
	open_breaker();
	ck_assert_uint_eq(world_count(&w, EVENT_RETRY), 0);
	ck_assert_uint_eq(w.starts.used, 0);
	ck_assert_int_eq(pending_ask(&world_ops, &w, FD, &error), ANSWER_ERROR);
	ck_assert_int_eq(error, ECONNREFUSED);
	ck_assert_uint_eq(counted(TALLY_BREAKER_REFUSED), 1);
	assert_over();
}
END_TEST

/* While it waits for an attempt that was announced. */
START_TEST(the_breaker_opens_meanwhile)
{
	int error;

	known();
	p.breaker.enabled = true;
	p.breaker.consecutive_failures = 2;
	in_backoff(FD);
	ck_assert_uint_eq(world_count(&w, EVENT_RETRY), 1);
	atomic_store(&w.slot.breaker, breaker_failed(&p, atomic_load(&w.slot.breaker), w.clock,
	                                             BREAKER_NO_TICKET, false, 0).word);
	next_attempt();
	ck_assert_uint_eq(w.starts.used, 0);
	ck_assert_int_eq(pending_ask(&world_ops, &w, FD, &error), ANSWER_ERROR);
	ck_assert_int_eq(error, ECONNREFUSED);
	ck_assert_uint_eq(counted(TALLY_BREAKER_REFUSED), 1);
	assert_over();
}
END_TEST

/* max_attempts = 1: nothing is retried or taken from the kernel, and the breaker hears of
 * it, in whichever way the program does. */
START_TEST(a_breaker_without_retries)
{
	unsigned told = 0;
	int error;

	known();
	p.max_attempts = 1;
	p.breaker.enabled = true;
	p.breaker.consecutive_failures = 4;
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_eq(first(&error), GUARD_GO);
		if (i == 2) {
			ck_assert_int_eq(pending_failed_at_once(&world_ops, &w, &call, &to,
			                                        ENETUNREACH), ENETUNREACH);
			continue;
		}
		pending_begin(&world_ops, &w, &call);
		if (i == 0) {
			ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW);
			ck_assert_int_eq(state_of(FD), PEND_REPORTED);
		}
		w.conditions.rest = CONDITION_CLOSED;
		ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock),
		                 BREAKER_CLOSED);
		ck_assert_int_eq(result(FD, ECONNREFUSED), ECONNREFUSED);
		ck_assert_int_eq(state_of(FD), PEND_FREE);
	}
	for (unsigned i = 0; i < w.event_count; i++)
		told += w.events[i].kind != EVENT_PASSED;
	ck_assert_uint_eq(told, 0);
	ck_assert_uint_eq(w.errors.used + w.dissolved, 0);
	ck_assert_int_eq(first(&error), GUARD_REFUSED);
	ck_assert_int_eq(error, ECONNREFUSED);
	/* The probe fails. */
	w.clock += 8 * DUR_S;
	ck_assert_int_eq(first(&error), GUARD_GO);
	pending_begin(&world_ops, &w, &call);
	ck_assert_int_eq(result(FD, ECONNREFUSED), ECONNREFUSED);
	ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock), BREAKER_OPEN);
	assert_over();
}
END_TEST

/* It is closed by a program that never asks: no error is known, and none invented. */
START_TEST(a_failure_that_nobody_asks_for)
{
	int error;

	known();
	p.max_attempts = 1;
	p.breaker.enabled = true;
	p.breaker.consecutive_failures = 1;
	ck_assert_int_eq(first(&error), GUARD_GO);
	pending_begin(&world_ops, &w, &call);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW);
	closing(FD);
	ck_assert_uint_eq(w.errors.used, 0);
	ck_assert_uint_eq(atomic_load(&w.slot.last_failure), 0);
	ck_assert_int_eq(first(&error), GUARD_GO);
	assert_over();
}
END_TEST

START_TEST(a_first_attempt_is_refused)
{
	int error;

	known();
	ck_assert_int_eq(first(&error), GUARD_GO);
	open_breaker();
	pending_closing(&world_ops, &w, FD);
	ck_assert_int_eq(first(&error), GUARD_REFUSED);
	ck_assert_int_eq(error, ECONNREFUSED);
	/* The probe, whose success is told although nothing was retried. */
	w.clock += 8 * DUR_S;
	ck_assert_int_eq(first(&error), GUARD_GO);
	pending_begin(&world_ops, &w, &call);
	w.conditions.rest = CONDITION_CONNECTED;
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock), BREAKER_CLOSED);
	ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 0);
	assert_over();
}
END_TEST

static void with_fallback(struct endpoint *other, const char *ip)
{
	memset(other, 0, sizeof(*other));
	other->text = ip;
	ck_assert(addr_parse_ip(&other->addr, ip));
	other->addr.port = 6000;
	rule.fallback = other;
	rule.fallback_count = 1;
	rule.fallback_after = 2;
	w.rule = &rule;
}

/* As a blocking connect does. */
START_TEST(refused_it_goes_to_the_fallback)
{
	struct endpoint other;
	int error;

	known();
	open_breaker();
	pending_closing(&world_ops, &w, FD);
	with_fallback(&other, "127.0.0.2");
	ck_assert_int_eq(first(&error), GUARD_PARK);
	ck_assert_uint_eq(w.starts.used, 1);
	ck_assert_uint_eq(w.started_to[0].port, 6000);
	ck_assert_uint_eq(world_count(&w, EVENT_FALLBACK), 1);
	ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 1); /* open_breaker()'s */
	w.conditions.rest = CONDITION_CONNECTED;
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	/* Which says nothing about the destination. */
	ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock), BREAKER_OPEN);
	assert_over();
	/* A socket of IPv4 that stays in place does not get there. */
	with_fallback(&other, "::2");
	ck_assert_int_eq(first(&error), GUARD_REFUSED);
	ck_assert_int_eq(error, ECONNREFUSED);
	ck_assert_uint_eq(w.starts.used, 1);
	ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 2);
	ck_assert_int_eq(w.events[w.event_count - 1].reason, REASON_BREAKER);
	ck_assert_uint_eq(counted(TALLY_BREAKER_REFUSED), 2);
	assert_over();
}
END_TEST

/* ... and if the breaker has opened by its failure, or while it waits. */
START_TEST(the_next_attempt_goes_to_the_fallback)
{
	struct endpoint other;

	known();
	with_fallback(&other, "127.0.0.2");
	rule.fallback_after = 3;
	p.breaker.enabled = true;
	p.breaker.consecutive_failures = 1;
	begin(FD);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
	ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock), BREAKER_OPEN);
	next_attempt();
	ck_assert_uint_eq(w.started_to[w.starts.used - 1].port, 6000);
	w.conditions.rest = CONDITION_CONNECTED;
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 1);
	assert_over();
}
END_TEST

/* The probe's place is free again if the program closes it. */
START_TEST(a_probe_is_abandoned)
{
	int error;

	known();
	open_breaker();
	pending_closing(&world_ops, &w, FD);
	w.clock += 8 * DUR_S;
	ck_assert_int_eq(first(&error), GUARD_GO);
	pending_begin(&world_ops, &w, &call);
	pending_closing(&world_ops, &w, FD);
	assert_over();
	ck_assert_int_eq(first(&error), GUARD_GO);
	ck_assert_int_eq(first(&error), GUARD_REFUSED);
}
END_TEST

/* A Unix socket is connected at once, and nothing is under way then. */
START_TEST(a_probe_is_over_at_once)
{
	int error;

	known();
	open_breaker();
	pending_closing(&world_ops, &w, FD);
	w.clock += 8 * DUR_S;
	ck_assert_int_eq(first(&error), GUARD_GO);
	pending_first_over(&world_ops, &w, &call, &to, EINTR);
	ck_assert_int_eq(first(&error), GUARD_GO);
	ck_assert_int_eq(first(&error), GUARD_REFUSED);
	w.clock += 8 * DUR_S;
	ck_assert_int_eq(first(&error), GUARD_GO);
	pending_first_over(&world_ops, &w, &call, &to, 0);
	ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock), BREAKER_CLOSED);
	ck_assert_int_eq(first(&error), GUARD_GO);
	ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 0);
	assert_over();
}
END_TEST

/* Down, and somebody probes. */
static uint16_t bring_down(void)
{
	struct pace_asked probe;
	uint64_t word;

	p.coordinate = true;
	atomic_store(&w.slot.last_error, ECONNREFUSED);
	word = pace_failed(&p, 0, w.clock, PACE_NO_TICKET, 0);
	probe = pace_ask(&p, word, w.clock + DUR_S, 3 * DUR_S, false, 0);
	atomic_store(&w.slot.pace, probe.word);
	w.clock += DUR_S;
	return probe.ticket;
}

START_TEST(a_first_attempt_is_parked)
{
	uint16_t ticket;
	int error;

	known();
	ticket = bring_down();
	fdtab_watch_set(FD, EP, EPOLLOUT, 1);
	ck_assert_int_eq(first(&error), GUARD_PARK);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	ck_assert_uint_eq(w.ctl_count, 1); /* its registration is silent */
	ck_assert_int_eq(pending_ask(&world_ops, &w, FD, &error), ANSWER_PENDING);
	next_attempt();
	next_attempt();
	ck_assert_uint_eq(w.starts.used, 0);
	atomic_store(&w.slot.pace, pace_succeeded(&p, atomic_load(&w.slot.pace), w.clock, ticket,
	                                          false));
	next_attempt();
	ck_assert_uint_eq(w.starts.used, 1);
	ck_assert_uint_eq(record_of(FD)->attempt, 1);
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	ck_assert_uint_eq(world_count(&w, EVENT_PARKED), 1);
	assert_over();
}
END_TEST

START_TEST(a_retry_is_parked)
{
	known();
	begin(FD);
	bring_down();
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
	for (unsigned i = 0; i < 10; i++)
		next_attempt();
	ck_assert_uint_eq(w.starts.used, 0);
	ck_assert_uint_gt(counted(TALLY_PARKED), 5);
	/* Who probes has died. */
	for (unsigned i = 0; w.starts.used == 0; i++) {
		ck_assert_uint_lt(i, 100);
		next_attempt();
	}
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 1);
	ck_assert_int_eq(pace_state(atomic_load(&w.slot.pace), w.clock), PACE_RAMP);
	assert_over();
}
END_TEST

/* Its own deadline goes on. */
START_TEST(parked_until_the_deadline)
{
	unsigned rounds = 0;
	int error;

	known();
	p.deadline = DUR_S;
	begin(FD);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
	atomic_store(&w.slot.hold, (uint64_t)(w.clock + 100 * DUR_S));
	while (state_of(FD) == PEND_BACKOFF) {
		ck_assert_uint_lt(rounds++, 100);
		next_attempt();
	}
	ck_assert_int_eq(pending_ask(&world_ops, &w, FD, &error), ANSWER_ERROR);
	ck_assert_int_eq(error, ECONNREFUSED);
	ck_assert_int_eq(w.events[w.event_count - 1].reason, REASON_DEADLINE);
	assert_over();
}
END_TEST

/* A first attempt is made rather than none. */
START_TEST(a_first_attempt_is_made_in_the_end)
{
	unsigned rounds = 0;
	int error;

	known();
	p.deadline = DUR_S;
	p.coordinate = true;
	atomic_store(&w.slot.last_error, ECONNREFUSED);
	atomic_store(&w.slot.hold, (uint64_t)(w.clock + 100 * DUR_S));
	ck_assert_int_eq(first(&error), GUARD_PARK);
	while (state_of(FD) == PEND_BACKOFF) {
		ck_assert_uint_lt(rounds++, 100);
		next_attempt();
	}
	ck_assert_uint_eq(w.starts.used, 1);
	/* And has the kernel's time, as alone. */
	w.dissolved = 0;
	for (unsigned i = 0; i < 3; i++)
		next_attempt();
	ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	ck_assert_uint_eq(w.dissolved, 0);
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	assert_over();
}
END_TEST

static void one_at_a_time(void)
{
	known();
	turns_postfork_child();
	p.max_concurrent_retries = 1;
}

START_TEST(another_in_a_retry_ends_it)
{
	one_at_a_time();
	in_backoff(FD);
	begin(LATE);
	ck_assert_int_eq(fails(LATE, ECONNREFUSED), SIGHT_SHOW_ERROR);
	assert_gave_up(REASON_CONCURRENT, ECONNREFUSED, 1);
	ck_assert_uint_eq(counted(TALLY_CONCURRENT_REFUSED), 1);
	assert_delivered_once(LATE, ECONNREFUSED);
	/* An attempt counts like the wait before it. */
	next_attempt();
	begin(LATE);
	ck_assert_int_eq(fails(LATE, ECONNREFUSED), SIGHT_SHOW_ERROR);
	assert_delivered_once(LATE, ECONNREFUSED);
	ck_assert_uint_eq(turns_taken(w.clock), 1);
	closing(FD);
	assert_over();
}
END_TEST

/* Success, a failure for good, the last attempt, a close, a withdrawal, a raw close. */
START_TEST(every_end_lets_another_in)
{
	for (unsigned end = 0; end < 6; end++) {
		one_at_a_time();
		p.max_attempts = end == 2 ? 2 : 5;
		at_attempt(FD, 2);
		ck_assert_uint_eq(turns_taken(w.clock), 1);
		if (end == 0) {
			ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
		} else if (end == 1) {
			ck_assert_int_eq(fails(FD, EACCES), SIGHT_SHOW_ERROR);
		} else if (end == 2) {
			ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW);
		} else if (end == 3) {
			closing(FD);
		} else if (end == 4) {
			pending_withdraw(&world_ops, &w, FD);
		} else {
			ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
			w.identities[FD] = WORLD_OTHER;
			ck_assert(!pending_hidden(&world_ops, &w, FD));
		}
		ck_assert_msg(turns_taken(w.clock) == 0, "end %u", end);
		closing(FD);
		assert_over();
	}
}
END_TEST

/* In the child the records are over, and so are the places. */
START_TEST(a_child_is_in_no_retry)
{
	one_at_a_time();
	in_backoff(FD);
	fdtab_postfork_child();
	turns_postfork_child();
	ck_assert_uint_eq(turns_taken(w.clock), 0);
	in_backoff(LATE);
	closing(FD);
	ck_assert_uint_eq(turns_taken(w.clock), 1);
	closing(LATE);
	assert_over();
}
END_TEST

UNIT_MAIN("pending guard", &outcomes_are_counted, &the_budget_ends_it, &the_breaker_ends_it,
          &the_breaker_opens_meanwhile, &a_breaker_without_retries,
          &a_failure_that_nobody_asks_for, &a_first_attempt_is_refused,
          &refused_it_goes_to_the_fallback,
          &the_next_attempt_goes_to_the_fallback, &a_probe_is_abandoned, &a_probe_is_over_at_once,
          &a_first_attempt_is_parked,
          &a_retry_is_parked, &parked_until_the_deadline, &a_first_attempt_is_made_in_the_end,
          &another_in_a_retry_ends_it, &every_end_lets_another_in, &a_child_is_in_no_retry)
