/* SPDX-License-Identifier: MIT */
/* "fallback" and "redirect" of connects under way. */
#include "state/habit.h"
#include "state/tried.h"
#include "tests/unit/under_way.h"

static struct endpoint others[3];

static void fallbacks(unsigned after, unsigned count, const char *const *hosts)
{
	setup();
	memset(others, 0, sizeof(others));
	for (unsigned i = 0; i < count; i++) {
		others[i].text = hosts[i];
		if (!addr_parse_ip(&others[i].addr, hosts[i]))
			others[i].host = hosts[i];
		others[i].addr.port = (uint16_t)(6000 + i);
	}
	rule.fallback = others;
	rule.fallback_count = count;
	rule.fallback_after = after;
	w.rule = &rule;
}
#define FALLBACKS(after, ...) \
	fallbacks(after, ARRAY_LEN(((const char *const[]){ __VA_ARGS__ })), \
	          (const char *const[]){ __VA_ARGS__ })

/* The attempt fails, the next one is made: at which port. */
static uint16_t next_port(void)
{
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
	next_attempt();
	return w.started_to[w.starts.used - 1].port;
}

static void leave(void)
{
	closing(FD);
	assert_over();
}

START_TEST(in_order_and_around)
{
	FALLBACKS(2, "127.0.0.2", "127.0.0.3");
	p.max_attempts = 7;
	begin(FD);
	ck_assert_uint_eq(next_port(), 5432);
	ck_assert_uint_eq(next_port(), 6000);
	ck_assert_uint_eq(next_port(), 6001);
	ck_assert_uint_eq(next_port(), 5432);
	ck_assert_uint_eq(next_port(), 6000);
	ck_assert_uint_eq(next_port(), 6001);
	/* The last one is the program's, and its line names where it went. */
	w.conditions.rest = CONDITION_CLOSED;
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW);
	ck_assert_int_eq(result(FD, EHOSTUNREACH), EHOSTUNREACH);
	assert_gave_up(REASON_ATTEMPTS, EHOSTUNREACH, 7);
	ck_assert_uint_eq(last_event()->addr->port, 6001);
	ck_assert_str_eq(last_event()->dest, "127.0.0.1:5432");
	ck_assert_uint_eq(world_count(&w, EVENT_FALLBACK), 5);
	leave();
}
END_TEST

START_TEST(the_move_and_the_success_are_logged)
{
	FALLBACKS(1, "127.0.0.2");
	begin(FD);
	ck_assert_uint_eq(next_port(), 6000);
	ck_assert_int_eq(last_event()->kind, EVENT_FALLBACK);
	ck_assert_str_eq(last_event()->to, "127.0.0.2:6000");
	ck_assert_uint_eq(last_event()->addr->port, 5432);
	w.conditions.rest = CONDITION_CONNECTED;
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	ck_assert_int_eq(last_event()->kind, EVENT_RECOVERED);
	ck_assert_uint_eq(last_event()->addr->port, 6000);
	ck_assert_str_eq(last_event()->dest, "127.0.0.1:5432");
	leave();
}
END_TEST

/* What the rule of the destination says holds on: it is asked about that. */
START_TEST(the_destination_is_remembered)
{
	socklen_t len;

	FALLBACKS(1, "127.0.0.2");
	begin(FD);
	ck_assert_uint_eq(next_port(), 6000);
	ck_assert_ptr_eq(record_of(FD)->rule, &rule);
	ck_assert_int_eq(memcmp(pend_home(record_of(FD), &len), &sa, sa_len), 0);
	ck_assert_uint_eq(len, sa_len);
	leave();
}
END_TEST

/* A descriptor that may not be replaced takes what its socket can: mapped
 * addresses on a v6 one, nothing else. */
START_TEST(families)
{
	FALLBACKS(1, "::1");
	begin(FD);
	ck_assert_uint_eq(next_port(), 5432);
	leave();
	FALLBACKS(1, "127.0.0.2");
	aim_at("::1");
	begin(FD);
	ck_assert_uint_eq(next_port(), 6000);
	ck_assert(w.started_to[0].mapped);
	leave();
}
END_TEST

START_TEST(names_are_not_waited_for)
{
	FALLBACKS(1, "standby");
	begin(FD);
	ck_assert_uint_eq(next_port(), 5432);
	w.resolves_to = "127.0.0.9";
	ck_assert_uint_eq(next_port(), 6000);
	ck_assert_uint_ge(w.resolved, 2);
	ck_assert_int_eq(world_count(&w, EVENT_FALLBACK), 2);
	ck_assert_int_eq(w.events[1].reason, REASON_UNUSABLE);
	ck_assert_uint_eq(w.resolved_waiting, 0);
	leave();
}
END_TEST

START_TEST(observe_tells_and_stays)
{
	FALLBACKS(1, "standby");
	w.mode = MODE_OBSERVE;
	begin(FD);
	w.conditions.rest = CONDITION_CLOSED;
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW);
	ck_assert_int_eq(result(FD, ECONNREFUSED), ECONNREFUSED);
	ck_assert_int_eq(last_event()->kind, EVENT_WOULD_FALLBACK);
	ck_assert_str_eq(last_event()->to, "standby");
	ck_assert_uint_eq(w.resolved, 0);
	leave();
}
END_TEST

/* A rule that redirects: the record is about the destination, the attempts are
 * elsewhere, and the name's other addresses do not matter. */
START_TEST(redirected)
{
	struct pending_call pending;
	struct addr aim;

	FALLBACKS(1, "127.0.0.2");
	name_db(pair, 2);
	listen_at("127.0.0.2");
	others[1].addr = (struct addr){ .family = AF_INET, .ip = { 127, 0, 0, 7 }, .port = 7000 };
	rule.redirect = &others[1];
	aim = others[1].addr;
	pending = call_of(FD, DUR_NONE);
	pending.aim = &aim;
	pending_begin(&no_ops, &w, &pending);
	ck_assert_uint_eq(next_port(), 6000);
	ck_assert_str_eq(last_event()->dest, "db:5432");
	ck_assert_uint_eq(last_event()->addr->port, 7000);
	ck_assert_uint_eq(next_port(), 7000);
	ck_assert_uint_eq(w.listening_asked, 0);
	leave();
}
END_TEST

static const char *const remote[] = { "192.0.2.1", "192.0.2.2" };

/* Its failure was kept from a program that turns out to walk: it goes back. */
START_TEST(who_walks_after_all_goes_on)
{
	struct addr second;

	setup();
	name_db(remote, 2);
	habit_went_back(&name, 5432, w.clock);
	ck_assert(habit_came_back(&name, 5432, w.clock, 0) == HABIT_FIRST_ONLY);
	in_backoff(FD);
	ck_assert(addr_parse_ip(&second, remote[1]));
	second.port = 5432;
	habit_attempt(&second);
	ck_assert(habit_known(&name, 5432) == HABIT_WALKS);
	next_attempt();
	ck_assert_int_eq(last_event()->kind, EVENT_MOVED);
	w.conditions.rest = CONDITION_CLOSED;
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW);
	ck_assert_int_eq(result(FD, ECONNREFUSED), ECONNREFUSED);
	leave();
}
END_TEST

/* A connect among others of the same program says nothing about its habits. */
START_TEST(a_burst_is_no_habit)
{
	setup();
	name_db(remote, 2);
	begin(FD);
	begin(LATE);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW);
	closing(FD);
	w.clock += DUR_S;
	begin(FD);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW);
	ck_assert(habit_known(&name, 5432) == HABIT_UNKNOWN);
	closing(FD);
	closing(LATE);
	/* Alone, and after a pause, it has come back. */
	w.clock += DUR_S;
	begin(FD);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
	leave();
}
END_TEST

START_TEST(a_success_ends_the_walk)
{
	for (unsigned retried = 0; retried < 2; retried++) {
		setup();
		name_db(remote, 2);
		if (!retried)
			tried_failed(&name, 5432, w.clock, w.clock);
		aim_at(remote[1]);
		if (retried) {
			tried_failed(&name, 5432, w.clock, w.clock);
			habit_went_back(&name, 5432, w.clock);
			habit_came_back(&name, 5432, w.clock, 0);
			in_backoff(FD);
			next_attempt();
		} else {
			begin(FD);
		}
		ck_assert(names_watching());
		ck_assert(!(tried_left(&name, 5432) & TRIED_OVER));
		ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
		ck_assert(tried_left(&name, 5432) & TRIED_OVER);
		leave();
	}
}
END_TEST

UNIT_MAIN("pending_places", &in_order_and_around, &the_move_and_the_success_are_logged,
          &the_destination_is_remembered, &families, &names_are_not_waited_for,
          &observe_tells_and_stays, &redirected, &who_walks_after_all_goes_on,
          &a_burst_is_no_habit, &a_success_ends_the_walk)
