/* SPDX-License-Identifier: MIT */
#include "engine/guard.h"

#include <netdb.h>

#include "engine/resolve.h"
#include "policy/breaker.h"
#include "policy/pace.h"
#include "policy/window.h"
#include "tests/unit/call.h"

static void begin(void)
{
	setup();
	w.remembers = true;
	w.first_calls = 1;
}

static uint64_t counted(enum tally what)
{
	return atomic_load(&w.slot.tally[what]);
}

static enum reason last_reason(void)
{
	return w.event_count ? w.events[w.event_count - 1].reason : REASON_NONE;
}

START_TEST(outcomes_are_counted)
{
	begin();
	SCRIPT(ECONNREFUSED, ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	ck_assert_str_eq(w.slot_of, "127.0.0.1:5432");
	ck_assert_uint_eq(counted(TALLY_CALLS), 1);
	ck_assert_uint_eq(counted(TALLY_RETRIES), 2);
	ck_assert_uint_eq(counted(TALLY_RECOVERED), 1);
	ck_assert_uint_eq(atomic_load(&w.slot.attempts[2]), 1);
	ck_assert_uint_eq(atomic_load(&w.slot.sum_attempts), 3);
	ck_assert_uint_eq(atomic_load(&w.slot.sum_wait), 300000);
	ck_assert_uint_eq(atomic_load(&w.slot.waits[3]), 1);

	w.calls = 0;
	w.first_calls = 1;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(counted(TALLY_GAVE_UP_ATTEMPTS), 1);
	ck_assert_uint_eq(atomic_load(&w.slot.attempts[4]), 1);
	SCRIPT(EACCES);
	w.calls = 0;
	ck_assert_int_eq(run(), EACCES);
	ck_assert_uint_eq(counted(TALLY_NOT_RETRYABLE), 1);
	ck_assert_uint_eq(counted(TALLY_CALLS), 2);
}
END_TEST

START_TEST(the_budget_ends_it)
{
	unsigned retries = 0;

	begin();
	p.budget.min_retries_per_second = 1; /* 10 in 10 s, and a fifth of the calls */
	SCRIPT(ECONNREFUSED);
	for (unsigned i = 0; i < 5; i++) {
		w.calls = 0;
		w.first_calls = 1;
		w.event_count = 0;
		ck_assert_int_eq(run(), ECONNREFUSED);
		retries += w.calls - 1;
	}
	ck_assert_uint_eq(retries, 11);
	ck_assert_int_eq(last_reason(), REASON_BUDGET);
	ck_assert_int_eq(w.events[w.event_count - 1].kind, EVENT_GAVE_UP);
	ck_assert_uint_eq(counted(TALLY_BUDGET_REFUSED), 3);
	/* None of them waited for nothing. */
	w.wait_count = 0;
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.wait_count, 0);
	p.budget.kind = BUDGET_NONE;
	w.calls = 0;
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 5);
}
END_TEST

/* Successes that nobody looked at count once something fails. */
START_TEST(calls_fill_the_budget)
{
	begin();
	p.budget.min_retries_per_second = 0;
	w.first_calls = 20;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 5);
	ck_assert_uint_eq(counted(TALLY_CALLS), 20);
	w.calls = 0;
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 1);
}
END_TEST

/* A process that was well for a day may not retry for a day's share. */
START_TEST(calls_of_long_ago_do_not)
{
	begin();
	p.budget.min_retries_per_second = 0;
	w.first_calls = 1000;
	w.long_ago = 990;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 3);
	ck_assert_uint_eq(counted(TALLY_CALLS), 1000);
}
END_TEST

START_TEST(tokens_come_back)
{
	begin();
	p.budget.kind = BUDGET_TOKENS;
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(atomic_load(&w.slot.spent), 0);
	SCRIPT(ECONNREFUSED);
	w.calls = 0;
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(atomic_load(&w.slot.spent), 20);
	/* So do those of calls that succeeded at once, unseen, before this one. */
	w.first_calls = 16;
	p.max_attempts = 2;
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(atomic_load(&w.slot.spent), 10);
	/* Where each is asked before, each has told by itself. */
	p.coordinate = true;
	w.first_calls = 16;
	SCRIPT(EACCES);
	ck_assert_int_eq(run(), EACCES);
	ck_assert_uint_eq(atomic_load(&w.slot.spent), 10);
}
END_TEST

/* Nobody counts calls to Unix sockets unseen. */
START_TEST(calls_to_unix_sockets_count)
{
	begin();
	target = (struct addr){ .family = AF_UNIX };
	memcpy(target.path, "/run/x", 7);
	w.first_calls = 0;
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(counted(TALLY_CALLS), 1);
}
END_TEST

static void open_breaker(void)
{
	p.breaker.enabled = true;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock), BREAKER_OPEN);
	w.calls = 0;
	w.event_count = 0;
	w.wait_count = 0;
}

START_TEST(an_open_breaker_refuses_with_the_last_error)
{
	begin();
	open_breaker();
	w.first_calls = 1;
	SCRIPT(0);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 0);
	ck_assert_uint_eq(w.wait_count, 0);
	ck_assert_int_eq(last_reason(), REASON_BREAKER);
	ck_assert_uint_eq(counted(TALLY_BREAKER_REFUSED), 1);
	/* A call without an attempt. */
	ck_assert_uint_eq(w.events[w.event_count - 1].attempts, 0);
	ck_assert_uint_eq(counted(TALLY_CALLS), 2);
	/* When its time is over one goes, and closes it. */
	w.clock += 8 * DUR_S;
	ck_assert_int_eq(run(), 0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.calls, 2);
	ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock), BREAKER_CLOSED);
}
END_TEST

START_TEST(an_open_breaker_ends_retries)
{
	begin();
	p.breaker.enabled = true;
	p.breaker.consecutive_failures = 2;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 2);
	ck_assert_int_eq(last_reason(), REASON_BREAKER);
	/* No retry is announced, waited for and paid that is known not to be made. */
	ck_assert_uint_eq(world_count(&w, EVENT_RETRY), 1);
	ck_assert_uint_eq(w.wait_count, 1);
	ck_assert_uint_eq(counted(TALLY_BREAKER_REFUSED), 1);
	ck_assert_int_eq(window_estimate(atomic_load(&w.slot.spent), w.clock, p.budget.ttl), PPM);
}
END_TEST

/* Half-open for the probe of another by then: one is. */
START_TEST(an_open_breaker_is_waited_out)
{
	begin();
	p.breaker.enabled = true;
	p.breaker.consecutive_failures = 1;
	p.breaker.open_for = 50 * DUR_MS;
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.calls, 2);
	ck_assert_uint_eq(world_count(&w, EVENT_RETRY), 1);
}
END_TEST

START_TEST(an_open_breaker_goes_to_the_fallback)
{
	struct rule rule = { .fallback_count = 1, .fallback_after = 3 };
	struct endpoint standby = { .text = "127.0.0.9:5432" };

	begin();
	ck_assert(addr_parse_ip(&standby.addr, "127.0.0.9"));
	standby.addr.port = 5432;
	rule.fallback = &standby;
	open_breaker();
	call.rule = &rule;
	SCRIPT(0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_uint_eq(w.targets[0].ip[3], 9);
	ck_assert_uint_eq(world_count(&w, EVENT_FALLBACK), 1);
	ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 0);
	/* That it is well there says nothing about the destination. */
	ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock), BREAKER_OPEN);
}
END_TEST

/* Without a failure on record there is nothing to say no with. */
START_TEST(no_error_is_invented)
{
	begin();
	open_breaker();
	atomic_store(&w.slot.last_error, 0);
	SCRIPT(0);
	ck_assert_int_eq(run(), 0);
	atomic_store(&w.slot.last_error, EACCES);
	ck_assert_int_eq(run(), 0);
	atomic_store(&w.slot.last_error, UINT64_MAX);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.calls, 3);
}
END_TEST

START_TEST(a_hold_is_waited_for)
{
	begin();
	SCRIPT(ECONNREFUSED, 0);
	w.slot.key = 1;
	atomic_store(&w.slot.hold, (uint64_t)(w.clock + 7 * DUR_S));
	ck_assert_int_eq(run(), 0);
	ck_assert_int_ge(w.clock, (int64_t)atomic_load(&w.slot.hold));
	ck_assert_uint_eq(world_count(&w, EVENT_PARKED), 1);
	/* Not past the deadline. */
	w.calls = 0;
	w.event_count = 0;
	SCRIPT(ECONNREFUSED);
	atomic_store(&w.slot.hold, (uint64_t)(w.clock + 100 * DUR_S));
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_int_eq(last_reason(), REASON_DEADLINE);
}
END_TEST

/* Where "libretry hold" has written it for those who only count in a segment. */
START_TEST(a_hold_that_others_see_is_waited_for)
{
	struct slot stats = { .key = 1 };

	begin();
	w.stats = &stats;
	SCRIPT(ECONNREFUSED, 0);
	atomic_store(&stats.hold, (uint64_t)(w.clock + 7 * DUR_S));
	ck_assert_int_eq(run(), 0);
	ck_assert_int_ge(w.clock, (int64_t)atomic_load(&stats.hold));
	ck_assert_uint_eq(atomic_load(&stats.tally[TALLY_RECOVERED]), 1);
	ck_assert_uint_eq(counted(TALLY_RECOVERED), 0);
}
END_TEST

START_TEST(what_is_struck_is_counted)
{
	struct guarded who = { .ops = &world_ops, .ctx = &w, .policy = &p, .dest = "db1:80" };

	begin();
	who.op = OP_LOOKUP;
	guard_injected(&who);
	ck_assert_str_eq(w.slot_of, "lookup:db1:80");
	who.op = OP_SEND;
	guard_injected(&who);
	ck_assert_str_eq(w.slot_of, "db1:80");
	ck_assert_uint_eq(counted(TALLY_INJECTED), 2);
	w.remembers = false;
	guard_injected(&who);
	ck_assert_uint_eq(counted(TALLY_INJECTED), 2);
}
END_TEST

START_TEST(one_probes_and_the_others_wait)
{
	struct pace_asked probe;

	begin();
	p.coordinate = true;
	w.first_calls = 1;
	atomic_store(&w.slot.last_error, ECONNREFUSED);
	atomic_store(&w.slot.pace, pace_failed(&p, 0, w.clock, PACE_NO_TICKET, 0));
	w.clock += DUR_S;
	probe = pace_ask(&p, atomic_load(&w.slot.pace), w.clock, 3 * DUR_S, false, 0);
	ck_assert_int_eq(probe.answer, PACE_PROBE);
	atomic_store(&w.slot.pace, probe.word);
	/* Somebody else probes for 3 s, and is killed; then it is our turn. */
	SCRIPT(0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_uint_eq(counted(TALLY_PROBES), 1);
	ck_assert_uint_gt(counted(TALLY_PARKED), 10);
	ck_assert_uint_eq(world_count(&w, EVENT_PARKED), 1);
	ck_assert_int_eq(pace_state(atomic_load(&w.slot.pace), w.clock), PACE_RAMP);
}
END_TEST

/* Is it slow? Then the ramp narrows. */
static bool is_slow(int64_t took)
{
	struct guarded who = { .ops = &world_ops, .ctx = &w, .policy = &p, .dest = "db1:80",
		               .op = OP_CONNECT, .attempt = 1 };
	struct guard g = { .slot = NULL };
	uint64_t down = pace_failed(&p, 0, w.clock, PACE_NO_TICKET, 0);
	uint64_t ramp = pace_succeeded(&p, down, w.clock, PACE_NO_TICKET, false);

	atomic_store(&w.slot.pace, ramp);
	guard_open(&g, &who);
	guard_succeeded(&g, &who, false, 1, 0, w.clock - took, w.clock);
	return atomic_load(&w.slot.pace) != ramp;
}

/* Against the quickest so far: what stood in a line took longer. */
START_TEST(slow_is_slower_than_the_quickest)
{
	begin();
	p.coordinate = true;
	ck_assert(!is_slow(700 * DUR_MS));
	ck_assert(!is_slow(750 * DUR_MS));
	ck_assert(!is_slow(5 * DUR_MS));
	ck_assert(!is_slow(105 * DUR_MS));
	ck_assert(is_slow(106 * DUR_MS));
	ck_assert(is_slow(700 * DUR_MS));
	/* Whatever somebody has left there. */
	atomic_store(&w.slot.pace_more, UINT64_MAX);
	ck_assert(!is_slow(5 * DUR_MS));
	ck_assert(is_slow(106 * DUR_MS));
	atomic_store(&w.slot.pace_more, 1);
	ck_assert(is_slow(106 * DUR_MS));
	ck_assert(!is_slow(5 * DUR_MS));
	ck_assert(!is_slow(0));
}
END_TEST

/* In the ramp a call that begins goes; one that had to wait asks for a place. */
START_TEST(who_waited_asks_in_the_ramp)
{
	struct guarded who = { .ops = &world_ops, .ctx = &w, .policy = &p, .dest = "db1:80",
		               .op = OP_CONNECT, .attempt = 1 };
	struct guard g = { .slot = NULL }, fresh = { .slot = NULL };
	enum reason reason;
	uint64_t word;
	int64_t until;

	begin();
	p.coordinate = true;
	guard_open(&g, &who);
	guard_open(&fresh, &who);
	word = pace_failed(&p, 0, w.clock, PACE_NO_TICKET, 0);
	atomic_store(&w.slot.pace, word);
	ck_assert_int_eq(guard_ask(&g, &who, 1, w.clock, &until, &reason), GUARD_PARK);
	word = pace_succeeded(&p, word, w.clock, PACE_NO_TICKET, false);
	atomic_store(&w.slot.pace, word);
	ck_assert_int_eq(guard_ask(&fresh, &who, 1, w.clock, &until, &reason), GUARD_GO);
	ck_assert_uint_eq(fresh.pace, PACE_NO_TICKET);
	ck_assert_int_eq(guard_ask(&fresh, &who, 2, w.clock, &until, &reason), GUARD_GO);
	ck_assert_uint_ne(fresh.pace, PACE_NO_TICKET);
	ck_assert_int_eq(guard_ask(&g, &who, 1, w.clock, &until, &reason), GUARD_GO);
	ck_assert_uint_ne(g.pace, PACE_NO_TICKET);
}
END_TEST

/* A first attempt is made rather than none: nobody fails earlier than alone. */
START_TEST(who_waits_too_long_goes)
{
	begin();
	p.coordinate = true;
	p.deadline = DUR_S;
	atomic_store(&w.slot.last_error, ECONNREFUSED);
	atomic_store(&w.slot.hold, (uint64_t)(w.clock + 100 * DUR_S));
	SCRIPT(0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.calls, 1);
}
END_TEST

/* That is as much as a configuration can say: another clock, or nobody's word. */
START_TEST(a_hold_of_days_is_none)
{
	begin();
	SCRIPT(ECONNREFUSED, 0);
	atomic_store(&w.slot.hold, (uint64_t)(w.clock + DUR_MAX_CONFIG + DUR_S));
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(world_count(&w, EVENT_PARKED), 0);
	w.calls = 0;
	atomic_store(&w.slot.hold, INT64_MAX);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(world_count(&w, EVENT_PARKED), 0);
}
END_TEST

/* How many would be let go now. */
static unsigned places(void)
{
	uint64_t word = atomic_load(&w.slot.pace);
	unsigned n = 0;

	for (struct pace_asked a; n < 1000; n++) {
		a = pace_ask(&p, word, w.clock, 3 * DUR_S, false, 0);
		if (a.answer == PACE_PARK)
			break;
		word = a.word;
	}
	return n;
}

/* A first attempt that had to wait for its turn did not take long. */
START_TEST(who_waited_is_not_slow)
{
	uint64_t word;

	begin();
	p.coordinate = true;
	w.call_time = DUR_MS;
	atomic_store(&w.slot.last_error, ECONNREFUSED);
	atomic_store(&w.slot.pace_more, DUR_MS);
	/* Down, and who has the right to probe never reports. */
	word = pace_failed(&p, 0, w.clock, PACE_NO_TICKET, 0);
	w.clock += DUR_S;
	word = pace_ask(&p, word, w.clock, 3 * DUR_S, true, 0).word;
	atomic_store(&w.slot.pace, word);
	SCRIPT(0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_gt(counted(TALLY_PARKED), 10);
	ck_assert_uint_eq(places(), PACE_WINDOW);
}
END_TEST

/* What the program has set bounds the wait and the attempt together. */
START_TEST(who_waited_has_the_rest_of_its_time)
{
	int64_t start;

	begin();
	p.coordinate = true;
	call.limit = 2 * DUR_S;
	atomic_store(&w.slot.last_error, ECONNREFUSED);
	atomic_store(&w.slot.hold, (uint64_t)(w.clock + 1500 * DUR_MS));
	SCRIPT(EINPROGRESS);
	start = w.clock;
	ck_assert_int_eq(run(), EINPROGRESS);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_int_eq(w.limits[0], 2 * DUR_S - (w.clock - w.call_time - start));
	/* Who did not wait has what the kernel gives it. */
	ck_assert_int_eq(run(), EINPROGRESS);
	ck_assert_int_eq(w.limits[1], DUR_NONE);
}
END_TEST

/* A server that is up is reached, whatever signals come meanwhile; one that says nothing
 * does not keep the program from what the signal is about. */
START_TEST(a_signal_lets_a_first_attempt_go)
{
	begin();
	p.coordinate = true;
	atomic_store(&w.slot.last_error, EHOSTUNREACH);
	atomic_store(&w.slot.hold, (uint64_t)(w.clock + 20 * DUR_S));
	w.wake_at = 3;
	w.wake = WAKE_INTERRUPTED;
	SCRIPT(0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_int_le(w.limits[0], DUR_S);
	w.wait_count = w.calls = 0;
	p.max_attempts = 1;
	SCRIPT(EINPROGRESS);
	ck_assert_int_eq(run(), EHOSTUNREACH);
	ck_assert_uint_eq(w.calls, 1);
	/* A signal that stops does. */
	w.wait_count = w.calls = 0;
	w.wake = WAKE_STOPPING;
	ck_assert_int_eq(run(), EHOSTUNREACH);
	ck_assert_uint_eq(w.calls, 0);
	ck_assert_int_eq(last_reason(), REASON_STOPPING);
}
END_TEST

/* A probe that says nothing in the end leaves its place to the next. */
static void assert_free(void)
{
	ck_assert_int_eq(breaker_ask(&p, atomic_load(&w.slot.breaker), w.clock, 3 * DUR_S).answer,
	                 BREAKER_PROBE);
}

START_TEST(a_probe_that_says_nothing)
{
	begin();
	open_breaker();
	w.clock += 6 * DUR_S;
	SCRIPT(EINTR);
	ck_assert_int_eq(run(), EINTR);
	ck_assert_uint_eq(w.calls, 1);
	assert_free();
}
END_TEST

/* Not so with coordinated recovery: whoever probes is still at it. */
START_TEST(who_waits_for_others_ends_with_the_deadline)
{
	struct rule rule = { .fallback_count = 1, .fallback_after = 3 };
	struct endpoint standby = { .text = "127.0.0.9:5432" };
	int64_t began;

	begin();
	p.coordinate = true;
	p.deadline = DUR_S;
	p.attempt_timeout = 20 * DUR_S;
	atomic_store(&w.slot.last_error, ECONNREFUSED);
	atomic_store(&w.slot.pace, pace_failed(&p, 0, w.clock, PACE_NO_TICKET, 0));
	w.clock += DUR_S;
	atomic_store(&w.slot.pace, pace_ask(&p, atomic_load(&w.slot.pace), w.clock,
	                                    p.attempt_timeout, false, 0).word);
	SCRIPT(0);
	began = w.clock;
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 0);
	ck_assert_int_ge(w.clock, began + DUR_S - 150 * DUR_MS);
	ck_assert_int_eq(last_reason(), REASON_DEADLINE);
	ck_assert_uint_eq(w.events[w.event_count - 1].attempts, 0);
	ck_assert_uint_eq(counted(TALLY_CALLS), 1);
	ck_assert_uint_eq(counted(TALLY_GAVE_UP_DEADLINE), 1);
	/* If it has somewhere else to go it is on its way there. */
	ck_assert(addr_parse_ip(&standby.addr, "127.0.0.9"));
	standby.addr.port = 5432;
	rule.fallback = &standby;
	call.rule = &rule;
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.calls, 1);
}
END_TEST

START_TEST(observing_changes_nothing)
{
	struct slot before;

	begin();
	call.mode = MODE_OBSERVE;
	p.breaker.enabled = true;
	p.coordinate = true;
	before = w.slot;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_mem_eq(&before, &w.slot, sizeof(before));
}
END_TEST

START_TEST(look_ups_are_another_matter)
{
	struct lookup_call l = { .host = "db", .port = 5432, .policy = &p };
	int sys_errno;

	begin();
	l.began = w.clock;
	w.domain = ERR_EAI;
	SCRIPT(EAI_AGAIN, 0);
	ck_assert_int_eq(engine_lookup(&world_ops, &w, &l, (struct err){ ERR_EAI, 0 },
	                               &sys_errno).code, 0);
	ck_assert_str_eq(w.slot_of, "lookup:db:5432");
	ck_assert_uint_eq(counted(TALLY_CALLS), 1);
	ck_assert_uint_eq(counted(TALLY_RECOVERED), 1);
	/* Nobody sees those that succeed at once. */
	p.budget.kind = BUDGET_TOKENS;
	atomic_store(&w.slot.spent, 500);
	w.clock += 30 * DUR_S;
	l.began = w.clock;
	SCRIPT(EAI_AGAIN);
	w.calls = 0;
	engine_lookup(&world_ops, &w, &l, (struct err){ ERR_EAI, 0 }, &sys_errno);
	ck_assert_uint_gt(w.calls, 1);
}
END_TEST

/* Unlike connects they are not asked before, so failures "in a row" and "of all attempts"
 * are such only if successes are told. */
START_TEST(look_ups_that_succeed_are_told)
{
	struct lookup_call l = { .host = "db", .port = 5432, .policy = &p };
	int sys_errno;

	begin();
	w.domain = ERR_EAI;
	p.max_attempts = 1;
	p.breaker.enabled = true;
	p.breaker.consecutive_failures = 2;
	for (unsigned i = 0; i < 6; i++) {
		l.began = w.clock;
		w.calls = 0;
		if (i % 2 == 0)
			SCRIPT(EAI_AGAIN);
		else
			SCRIPT(0);
		engine_lookup(&world_ops, &w, &l, (struct err){ ERR_EAI, 0 }, &sys_errno);
		ck_assert_uint_eq(w.calls, 1);
		ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock),
		                 BREAKER_CLOSED);
	}
	/* Two in a row: open. A first attempt is made all the same, and is no probe. */
	SCRIPT(EAI_AGAIN);
	for (unsigned i = 0; i < 2; i++)
		engine_lookup(&world_ops, &w, &l, (struct err){ ERR_EAI, 0 }, &sys_errno);
	ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock), BREAKER_OPEN);
	SCRIPT(0);
	w.calls = 0;
	ck_assert_int_eq(engine_lookup(&world_ops, &w, &l, (struct err){ ERR_EAI, 0 },
	                               &sys_errno).code, 0);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_int_eq(breaker_state(&p, atomic_load(&w.slot.breaker), w.clock), BREAKER_OPEN);
	ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 0);
}
END_TEST

UNIT_MAIN("guard", &outcomes_are_counted, &the_budget_ends_it, &calls_fill_the_budget,
          &calls_of_long_ago_do_not, &tokens_come_back,
          &an_open_breaker_refuses_with_the_last_error, &an_open_breaker_ends_retries,
          &an_open_breaker_is_waited_out,
          &an_open_breaker_goes_to_the_fallback,
          &no_error_is_invented, &a_hold_is_waited_for, &a_hold_that_others_see_is_waited_for,
          &what_is_struck_is_counted, &one_probes_and_the_others_wait,
          &slow_is_slower_than_the_quickest, &who_waited_asks_in_the_ramp,
          &who_waits_too_long_goes, &who_waits_for_others_ends_with_the_deadline,
          &calls_to_unix_sockets_count, &a_hold_of_days_is_none, &who_waited_is_not_slow,
          &who_waited_has_the_rest_of_its_time, &a_signal_lets_a_first_attempt_go,
          &a_probe_that_says_nothing, &observing_changes_nothing,
          &look_ups_are_another_matter, &look_ups_that_succeed_are_told)
