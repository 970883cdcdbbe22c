/* SPDX-License-Identifier: MIT */
/* Names with several addresses: who waits, and where. Most of it is asked
 * through engine/connect, whose decisions these are. */
#include "engine/walk.h"
#include "state/habit.h"
#include "state/tried.h"
#include "tests/unit/call.h"
#include "tests/unit/names.h"

static struct name_ip name_ip_of(const char *text)
{
	struct addr a;
	struct name_ip ip;

	ck_assert(addr_parse_ip(&a, text));
	ip.family = a.family;
	memcpy(ip.ip, a.ip, sizeof(ip.ip));
	return ip;
}

/* The name "db" with these addresses; the call goes to the first. */
static void name_db(const char *const *ips, unsigned count)
{
	struct name_ip list[NAMES_ADDRS];

	for (unsigned i = 0; i < count; i++)
		list[i] = name_ip_of(ips[i]);
	remember("db", list, count, 1);
	call.name = &name;
	aim_at(ips[0]);
	ck_assert_ptr_nonnull(call.name);
}

static const char *const both[] = { "::1", "127.0.0.1" };
static const char *const pair[] = { "127.0.0.1", "127.0.0.2" };
static const char *const remote[] = { "192.0.2.1", "192.0.2.2", "192.0.2.3" };

START_TEST(another_address_that_is_alive_is_left_to_the_program)
{
	setup();
	name_db(both, 2);
	w.listeners[0].address = "127.0.0.1";
	w.listener_count = 1;
	w.level = LOG_DEBUG_LEVEL;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.wait_count, 0);
	ck_assert(w.events[0].kind == EVENT_PASSED && w.events[0].reason == REASON_OTHER_ADDRESS);
	ck_assert_str_eq(w.dests[0], "db:5432");
}
END_TEST

START_TEST(nobody_alive_waits_at_the_first_address)
{
	setup();
	name_db(both, 2);
	SCRIPT(ECONNREFUSED, ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.wait_count, 2);
}
END_TEST

START_TEST(other_family_comes_alive_during_the_wait)
{
	unsigned attempts = 0;
	int64_t waited = 0;

	setup();
	name_db(both, 2);
	w.listeners[0].address = "127.0.0.1";
	w.listeners[0].from = w.clock + 250 * DUR_MS;
	w.listener_count = 1;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	/* 100 ms: not yet; 200 ms more: alive, so no attempt at the dead one. */
	ck_assert_uint_eq(w.wait_count, 2);
	ck_assert_uint_eq(w.calls, 2);
	ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 0);
	ck_assert_uint_eq(world_count(&w, EVENT_MOVED), 1);
	ck_assert(names_any_pending());
	ck_assert(names_take_pending(&name, 5432, &attempts, &waited));
	ck_assert_uint_eq(attempts, 2);
	ck_assert_int_eq(waited, 300 * DUR_MS);
	ck_assert(!names_any_pending());
}
END_TEST

START_TEST(same_family_comes_alive_and_is_moved_to)
{
	setup();
	name_db(pair, 2);
	/* The program has tried the second one before: it is at its last. */
	aim_at("127.0.0.2");
	tried_failed(&name, 5432, w.clock, w.clock);
	aim_at("127.0.0.1");
	w.listeners[0].address = "127.0.0.2";
	w.listeners[0].from = w.clock + 50 * DUR_MS;
	w.listener_count = 1;
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.calls, 2);
	ck_assert_int_eq(w.targets[1].ip[3], 2);
	ck_assert_int_eq(w.targets[1].port, 5432);
	ck_assert_uint_eq(world_count(&w, EVENT_MOVED), 1);
	ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 1);
}
END_TEST

START_TEST(other_family_that_was_tried_takes_another_socket)
{
	for (int fixed = 0; fixed < 2; fixed++) {
		setup();
		name_db(both, 2);
		tried_failed(&name, 5432, w.clock, w.clock); /* ::1 has failed before */
		aim_at("127.0.0.1");
		w.family_fixed = fixed;
		w.listeners[0].address = "::1";
		w.listeners[0].from = w.clock + 50 * DUR_MS;
		w.listener_count = 1;
		SCRIPT(ECONNREFUSED, 0);
		ck_assert_int_eq(run(), 0);
		ck_assert_uint_eq(w.family_changes, 1);
		ck_assert_int_eq(w.targets[1].family, fixed ? AF_INET : AF_INET6);
		ck_assert_uint_eq(world_count(&w, EVENT_MOVED), fixed ? 0 : 1);
	}
	/* A v6 socket goes to the v4 address in its mapped form. */
	setup();
	name_db(both, 2);
	aim_at("127.0.0.1");
	tried_failed(&name, 5432, w.clock, w.clock);
	aim_at("::1");
	w.listeners[0].address = "127.0.0.1";
	w.listeners[0].from = w.clock + 50 * DUR_MS;
	w.listener_count = 1;
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	ck_assert(w.targets[1].family == AF_INET && w.targets[1].mapped);
}
END_TEST

START_TEST(remote_addresses_are_possible_until_tried)
{
	setup();
	name_db(remote, 3);
	SCRIPT(ETIMEDOUT);
	for (unsigned i = 0; i < 2; i++) {
		aim_at(remote[i]);
		ck_assert_int_eq(run(), ETIMEDOUT);
		ck_assert_uint_eq(w.wait_count, 0);
	}
	aim_at(remote[2]);
	ck_assert_int_eq(run(), ETIMEDOUT);
	ck_assert_uint_eq(w.wait_count, 4);
}
END_TEST

START_TEST(three_dead_addresses_are_waited_for_once)
{
	static const char *const dead[] = { "127.0.0.1", "127.0.0.2", "127.0.0.3" };

	setup();
	name_db(dead, 3);
	SCRIPT(ECONNREFUSED);
	for (unsigned i = 0; i < 3; i++) {
		aim_at(dead[i]);
		ck_assert_int_eq(run(), ECONNREFUSED);
		ck_assert_uint_eq(w.wait_count, 4);
		w.clock += DUR_MS;
	}
	/* However slowly it goes on. */
	setup();
	name_db(dead, 3);
	SCRIPT(ECONNREFUSED);
	for (unsigned i = 0; i < 3; i++) {
		aim_at(dead[i]);
		ck_assert_int_eq(run(), ECONNREFUSED);
		ck_assert_uint_eq(w.wait_count, 4);
		w.clock += NAME_GRACE - 2 * DUR_MS;
	}
	/* Later it is a new call like any other. */
	w.clock += 2 * NAME_GRACE;
	aim_at(dead[0]);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.wait_count, 8);
}
END_TEST

START_TEST(an_absent_family_is_no_verdict)
{
	setup();
	name_db(both, 2);
	SCRIPT(EADDRNOTAVAIL);
	ck_assert_int_eq(run(), EADDRNOTAVAIL);
	ck_assert_uint_eq(w.wait_count, 0);
	/* At the last address it is waited for like the others. */
	aim_at("127.0.0.1");
	ck_assert_int_eq(run(), EADDRNOTAVAIL);
	ck_assert_uint_eq(w.wait_count, 4);
}
END_TEST

START_TEST(address_walk_each_and_off_do_not_look_around)
{
	setup();
	name_db(both, 2);
	w.listeners[0].address = "127.0.0.1";
	w.listener_count = 1;
	SCRIPT(ECONNREFUSED);
	p.address_walk = WALK_EACH;
	run();
	ck_assert_uint_eq(w.wait_count, 4);
	p.address_walk = WALK_OFF;
	run();
	ck_assert_uint_eq(w.wait_count, 8);
	ck_assert_uint_eq(w.listening_asked, 0);
}
END_TEST

static struct walk walk_of_call(void)
{
	return (struct walk){ .ops = &world_ops,
	                      .ctx = &w,
	                      .name = call.name,
	                      .policy = &p,
	                      .addr = &target };
}

/* One address, no name, or not wanted: nothing is asked, nothing remembered. */
START_TEST(nothing_is_done_where_the_walk_does_not_apply)
{
	for (unsigned i = 0; i < 3; i++) {
		struct walk walk;
		struct addr to;
		bool untried;

		setup();
		name_db(pair, i == 1 ? 1 : 2);
		w.listeners[0].address = "127.0.0.2";
		w.listener_count = 1;
		p.address_walk = i == 2 ? WALK_EACH : WALK_DETECT;
		walk = walk_of_call();
		if (i == 0)
			walk.name = NULL;
		ck_assert(!walk_applies(&walk));
		ck_assert(walk_first_failure(&walk, ECONNREFUSED, w.clock) == REASON_NONE);
		ck_assert(!walk_other_alive(&walk, true, &to, &untried));
		walk_exhausted(&walk, w.clock);
		ck_assert_uint_eq(w.listening_asked, 0);
		ck_assert_int_eq(names_exhausted_at(&name, 5432), 0);
		ck_assert_uint_eq(tried_left(&name, 5432), TRIED_OVER | (i == 1 ? 0 : 2));
	}
}
END_TEST

START_TEST(first_failures)
{
	struct walk walk;

	setup();
	name_db(both, 2);
	w.listeners[0].address = "127.0.0.1";
	w.listener_count = 1;
	walk = walk_of_call();
	ck_assert(walk_applies(&walk));
	/* Nobody retries these: marked as tried, nobody is asked. */
	ck_assert(walk_first_failure(&walk, EACCES, w.clock) == REASON_NONE);
	ck_assert_uint_eq(tried_left(&name, 5432), 2);
	p.max_attempts = 1;
	ck_assert(walk_first_failure(&walk, ECONNREFUSED, w.clock) == REASON_NONE);
	ck_assert_uint_eq(w.listening_asked, 0);
	p.max_attempts = 2;
	ck_assert(walk_first_failure(&walk, ECONNREFUSED, w.clock) == REASON_OTHER_ADDRESS);
	ck_assert_uint_eq(w.listening_asked, 1);
	/* Who goes on to the other one is known to walk. */
	aim_at("127.0.0.1");
	habit_attempt(&target);
	ck_assert(habit_known(&name, 5432) == HABIT_WALKS);
	aim_at("::1");
	/* The grace time is for the port that was tried, and ends. */
	walk_exhausted(&walk, w.clock);
	ck_assert(walk_first_failure(&walk, ECONNREFUSED, w.clock + NAME_GRACE - 1) ==
	          REASON_NAME_EXHAUSTED);
	ck_assert(walk_first_failure(&walk, ECONNREFUSED, w.clock + NAME_GRACE) ==
	          REASON_OTHER_ADDRESS);
	target.port++;
	ck_assert(walk_first_failure(&walk, ECONNREFUSED, w.clock) == REASON_OTHER_ADDRESS);
}
END_TEST

START_TEST(another_address_alive_after_a_wait)
{
	struct walk walk;
	struct addr to;
	bool untried = false;

	setup();
	name_db(both, 2);
	walk = walk_of_call();
	tried_failed(&name, 5432, w.clock, w.clock);
	ck_assert(!walk_other_alive(&walk, true, &to, &untried));
	w.listeners[0].address = "127.0.0.1";
	w.listener_count = 1;
	ck_assert(walk_other_alive(&walk, true, &to, &untried));
	ck_assert(to.family == AF_INET && to.port == 5432 && to.ip[0] == 127);
	ck_assert(untried);
	aim_at("127.0.0.1");
	tried_failed(&name, 5432, w.clock, w.clock);
	aim_at("::1");
	ck_assert(walk_other_alive(&walk, true, &to, &untried));
	ck_assert(!untried);
	/* This one is alive too: no reason to leave. */
	w.listeners[1].address = "::1";
	w.listener_count = 2;
	ck_assert(!walk_other_alive(&walk, true, &to, &untried));
}
END_TEST

/* An address of the same family that the program has still to try: it may be one
 * that takes each address for a server of its own. */
START_TEST(an_untried_address_is_the_programs_whatever_its_family)
{
	setup();
	name_db(pair, 2);
	w.listeners[0].address = "127.0.0.2";
	w.listeners[0].from = w.clock + 50 * DUR_MS;
	w.listener_count = 1;
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_uint_eq(world_count(&w, EVENT_MOVED), 1);
	ck_assert(w.events[1].reason == REASON_OTHER_ADDRESS);
}
END_TEST

/* A failure long ago at another address is not part of this walk. */
START_TEST(a_round_ends_by_itself)
{
	for (int late = 0; late < 2; late++) {
		setup();
		name_db(pair, 2);
		aim_at("127.0.0.2");
		tried_failed(&name, 5432, w.clock, w.clock);
		aim_at("127.0.0.1");
		w.clock += late ? NAMES_ROUND + 1 : NAMES_ROUND;
		w.listeners[0].address = "127.0.0.2";
		w.listeners[0].from = w.clock + 50 * DUR_MS;
		w.listener_count = 1;
		SCRIPT(ECONNREFUSED, 0);
		ck_assert_int_eq(run(), late ? ECONNREFUSED : 0);
	}
}
END_TEST

/* Java's Socket, redis-cli ...: the others of the list are never tried. */
START_TEST(who_uses_the_first_address_only_is_waited_for)
{
	setup();
	name_db(remote, 3);
	SCRIPT(ETIMEDOUT);
	ck_assert_int_eq(run(), ETIMEDOUT);
	ck_assert_uint_eq(w.wait_count, 0);
	w.clock += DUR_MS;
	ck_assert_int_eq(run(), ETIMEDOUT);
	ck_assert_uint_eq(w.wait_count, 4);
	/* Like a single address: a series each time, also right after the last, and
	 * after a newer look-up. */
	ck_assert_int_eq(run(), ETIMEDOUT);
	ck_assert_uint_eq(w.wait_count, 8);
	name_db(remote, 3);
	ck_assert_int_eq(run(), ETIMEDOUT);
	ck_assert_uint_eq(w.wait_count, 12);
	/* Never handed one that it does not ask for. */
	setup();
	name_db(pair, 2);
	w.listeners[0].address = "127.0.0.2";
	w.listener_count = 1;
	SCRIPT(ECONNREFUSED);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(run(), ECONNREFUSED);
		ck_assert_uint_eq(w.wait_count, i * 4);
		w.clock += DUR_MS;
	}
	ck_assert_uint_eq(world_count(&w, EVENT_MOVED), 0);
	/* Who then goes on after all walks. */
	aim_at("127.0.0.2");
	habit_attempt(&target);
	aim_at("127.0.0.1");
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.wait_count, 4);
}
END_TEST

/* A success ends the walk: what failed before it is of another one, and the program
 * that comes back to one address is not handed the other. */
START_TEST(after_a_success_another_walk_begins)
{
	for (int ended = 0; ended < 2; ended++) {
		setup();
		name_db(pair, 2);
		p.max_attempts = 3;
		w.listeners[0].address = "127.0.0.2";
		w.listener_count = 1;
		SCRIPT(ECONNREFUSED);
		ck_assert_int_eq(run(), ECONNREFUSED); /* at the first: straight back */
		aim_at("127.0.0.2");
		if (ended)
			tried_success_at(&target);
		w.listeners[0].address = "127.0.0.1";
		w.listeners[0].from = w.clock + 50 * DUR_MS;
		w.calls = 0;
		SCRIPT(ECONNREFUSED, 0);
		ck_assert_int_eq(run(), ended ? ECONNREFUSED : 0);
		ck_assert_uint_eq(world_count(&w, EVENT_MOVED), 1);
		ck_assert_int_eq(w.events[w.event_count - 1].kind,
		                 ended ? EVENT_MOVED : EVENT_RECOVERED);
	}
	/* One that was waited for here ends it as well. */
	setup();
	name_db(pair, 2);
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(tried_left(&name, 5432), TRIED_OVER | 2);
}
END_TEST

/* What another thread has tried is no reason to hand this one another address. */
START_TEST(moved_only_to_what_this_thread_has_tried)
{
	setup();
	name_db(pair, 2);
	aim_at("127.0.0.2");
	name.thread = 77;
	tried_failed(&name, 5432, w.clock, w.clock);
	aim_at("127.0.0.1");
	w.listeners[0].address = "127.0.0.2";
	w.listeners[0].from = w.clock + 50 * DUR_MS;
	w.listener_count = 1;
	p.max_attempts = 3;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 3);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(w.targets[i].ip[3], 1);
	ck_assert_uint_eq(world_count(&w, EVENT_MOVED), 0);
}
END_TEST

/* More addresses than are kept: all of them are the program's, and waited for once. */
START_TEST(long_lists_are_walked)
{
	static char texts[40][16];
	const char *list[40];
	struct name_list all;

	setup();
	all.count = all.more = 0;
	for (unsigned i = 0; i < ARRAY_LEN(list); i++) {
		struct name_ip ip;

		snprintf(texts[i], sizeof(texts[i]), "127.0.0.%u", i + 1);
		list[i] = texts[i];
		ip = name_ip_of(list[i]);
		name_list_add(&all, &ip);
	}
	names_remember("db", &all, 1, 0);
	call.name = &name;
	SCRIPT(ECONNREFUSED);
	for (unsigned i = 0; i < ARRAY_LEN(list); i++) {
		aim_at(list[i]);
		ck_assert_ptr_nonnull(call.name);
		ck_assert_int_eq(run(), ECONNREFUSED);
		ck_assert_uint_eq(w.wait_count, i + 1 < ARRAY_LEN(list) ? 0 : 4);
	}
	/* The next walk, in the grace time. */
	w.clock += DUR_MS;
	aim_at(list[0]);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.wait_count, 4);
}
END_TEST

/* The grace time is for the walk that has used up the retries. */
START_TEST(the_grace_time_ends)
{
	unsigned waits;

	setup();
	name_db(pair, 2);
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.wait_count, 4);
	w.clock += DUR_S;
	aim_at("127.0.0.2");
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.wait_count, 4);
	waits = w.wait_count;
	/* The program tries again each second. */
	for (unsigned i = 0; i < 3; i++) {
		w.clock += DUR_S;
		for (unsigned j = 0; j < 2; j++) {
			aim_at(pair[j]);
			ck_assert_int_eq(run(), ECONNREFUSED);
		}
	}
	ck_assert_uint_gt(w.wait_count, waits);
}
END_TEST

/* Several walks side by side: each goes on, and waits at its last address. */
START_TEST(walks_side_by_side)
{
	setup();
	name_db(remote, 2);
	SCRIPT(ETIMEDOUT);
	for (unsigned i = 0; i < 6; i++) {
		struct walk walk = walk_of_call();

		walk.behind_waits = walk.in_crowd = true;
		aim_at(remote[0]);
		ck_assert(walk_first_failure(&walk, ETIMEDOUT, w.clock) == REASON_OTHER_ADDRESS);
	}
	for (unsigned i = 0; i < 6; i++) {
		struct walk walk = walk_of_call();

		walk.behind_waits = walk.in_crowd = true;
		aim_at(remote[1]);
		ck_assert(walk_first_failure(&walk, ETIMEDOUT, w.clock) == REASON_NONE);
	}
	/* Who has nothing left to try stays; who was kept waiting wrongly goes. */
	{
		struct walk walk = walk_of_call();
		struct addr to;

		ck_assert(!walk_others_turn(&walk, &to));
		habit_attempt(&target);
		ck_assert(habit_known(&name, 5432) == HABIT_WALKS);
		ck_assert(!walk_others_turn(&walk, &to));
		aim_at(remote[0]);
		tried_failed(&name, 5432, w.clock, w.clock);
		ck_assert(walk_others_turn(&walk, &to));
		ck_assert_int_eq(to.ip[3], 2);
		tried_succeeded(&name, 5432);
		ck_assert(!walk_others_turn(&walk, &to));
	}
}
END_TEST

/* Connects that an event loop begins together are no coming back. */
START_TEST(a_burst_is_no_habit)
{
	for (unsigned i = 0; i < 3; i++) {
		struct walk walk;

		setup();
		name_db(remote, 2);
		walk = walk_of_call();
		walk.behind_waits = true;
		ck_assert(walk_first_failure(&walk, ETIMEDOUT, w.clock) == REASON_OTHER_ADDRESS);
		w.clock += i == 0 ? 99 * DUR_MS : 100 * DUR_MS;
		walk.in_crowd = i == 1;
		ck_assert(walk_first_failure(&walk, ETIMEDOUT, w.clock) ==
		          (i == 2 ? REASON_NONE : REASON_OTHER_ADDRESS));
		ck_assert(habit_known(&name, 5432) == (i == 2 ? HABIT_FIRST_ONLY : HABIT_UNKNOWN));
	}
}
END_TEST

UNIT_MAIN("walk", &another_address_that_is_alive_is_left_to_the_program,
          &nobody_alive_waits_at_the_first_address, &other_family_comes_alive_during_the_wait,
          &same_family_comes_alive_and_is_moved_to,
          &other_family_that_was_tried_takes_another_socket,
          &remote_addresses_are_possible_until_tried, &three_dead_addresses_are_waited_for_once,
          &an_absent_family_is_no_verdict, &address_walk_each_and_off_do_not_look_around,
          &nothing_is_done_where_the_walk_does_not_apply, &first_failures,
          &another_address_alive_after_a_wait,
          &an_untried_address_is_the_programs_whatever_its_family, &a_round_ends_by_itself,
          &who_uses_the_first_address_only_is_waited_for, &after_a_success_another_walk_begins,
          &moved_only_to_what_this_thread_has_tried, &long_lists_are_walked,
          &the_grace_time_ends, &walks_side_by_side, &a_burst_is_no_habit)
