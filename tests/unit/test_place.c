/* SPDX-License-Identifier: MIT */
/* "fallback" and "redirect": blocking connects in a scripted world. Those behind
 * waits are in test_pending_places.c. */
#include "engine/place.h"
#include "tests/unit/call.h"
#include "tests/unit/names.h"

static struct rule rule;
static struct endpoint others[4];

/* "name:1" stands for a name, everything else for an address with port 6000 + n. */
static void fallbacks(unsigned after, unsigned count, const char *const *hosts)
{
	memset(&rule, 0, sizeof(rule));
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
	rule.source = (struct source){ "x.conf", 3 };
	call.rule = &rule;
}
#define FALLBACKS(after, ...) \
	fallbacks(after, ARRAY_LEN(((const char *const[]){ __VA_ARGS__ })), \
	          (const char *const[]){ __VA_ARGS__ })

/* The port of each attempt tells where it went. */
static void assert_ports(unsigned count, const uint16_t *ports)
{
	ck_assert_uint_eq(w.calls, count);
	for (unsigned i = 0; i < count; i++)
		ck_assert_msg(w.targets[i].port == ports[i], "attempt %u at port %u", i + 1,
		              (unsigned)w.targets[i].port);
}
#define PORTS(...) \
	assert_ports(ARRAY_LEN(((uint16_t[]){ __VA_ARGS__ })), (uint16_t[]){ __VA_ARGS__ })

START_TEST(in_order_and_around)
{
	setup();
	FALLBACKS(1, "127.0.0.2", "127.0.0.3");
	p.max_attempts = 8;
	SCRIPT(ECONNREFUSED, ECONNREFUSED, ECONNREFUSED, ECONNREFUSED, ECONNREFUSED, ECONNREFUSED,
	       ECONNREFUSED, EHOSTUNREACH);
	ck_assert_int_eq(run(), EHOSTUNREACH);
	PORTS(5432, 6000, 6001, 5432, 6000, 6001, 5432, 6000);
	ck_assert_uint_eq(w.wait_count, 7);
	ck_assert_uint_eq(w.family_changes, 0);
	/* The outcome is told of the address in use. */
	ck_assert_uint_eq(world_count(&w, EVENT_FALLBACK), 7);
	ck_assert_int_eq(w.events[w.event_count - 1].kind, EVENT_GAVE_UP);
	ck_assert_uint_eq(w.addrs[w.event_count - 1].port, 6000);
	setup();
	FALLBACKS(3, "127.0.0.2");
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	PORTS(5432, 5432, 5432, 6000, 5432);
}
END_TEST

START_TEST(the_move_and_the_success_are_logged)
{
	setup();
	FALLBACKS(1, "127.0.0.2");
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.event_count, 3);
	ck_assert(w.events[0].kind == EVENT_RETRY && w.addrs[0].port == 5432);
	ck_assert_int_eq(w.events[1].kind, EVENT_FALLBACK);
	ck_assert_str_eq(w.dests[1], "127.0.0.1:5432");
	ck_assert_uint_eq(w.addrs[1].port, 5432);
	ck_assert_str_eq(w.tos[1], "127.0.0.2:6000");
	ck_assert_uint_eq(w.events[1].rule.line, 3);
	ck_assert_int_eq(w.events[2].kind, EVENT_RECOVERED);
	ck_assert_str_eq(w.dests[2], "127.0.0.1:5432");
	ck_assert_uint_eq(w.addrs[2].port, 6000);
	ck_assert_uint_eq(w.events[2].attempts, 2);
}
END_TEST

START_TEST(the_limits_are_what_they_were)
{
	setup();
	FALLBACKS(1, "127.0.0.2");
	p.max_attempts = 1;
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), ECONNREFUSED);
	PORTS(5432);
	setup();
	FALLBACKS(1, "127.0.0.2");
	p.deadline = 50 * DUR_MS;
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), ECONNREFUSED);
	PORTS(5432);
	/* What nobody retries ends it at a fallback as well. */
	setup();
	FALLBACKS(1, "127.0.0.2");
	SCRIPT(ECONNREFUSED, EACCES, 0);
	ck_assert_int_eq(run(), EACCES);
	PORTS(5432, 6000);
}
END_TEST

START_TEST(another_family)
{
	/* A v4 socket takes a v6 one in its place, and goes back to v4 in the mapped
	 * form. */
	setup();
	FALLBACKS(1, "::1");
	SCRIPT(ECONNREFUSED, ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	PORTS(5432, 6000, 5432);
	ck_assert_uint_eq(w.family_changes, 2);
	ck_assert_int_eq(w.targets[1].family, AF_INET6);
	ck_assert(w.targets[2].family == AF_INET && w.targets[2].mapped);
	/* One that cannot be changed stays where it is; the next one may do. */
	setup();
	w.level = LOG_DEBUG_LEVEL;
	w.family_fixed = true;
	FALLBACKS(1, "::1", "127.0.0.2");
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	PORTS(5432, 6001);
	ck_assert_uint_eq(world_count(&w, EVENT_FALLBACK), 1);
}
END_TEST

START_TEST(names)
{
	setup();
	FALLBACKS(1, "standby");
	w.resolves_to = "127.0.0.9";
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	PORTS(5432, 6000);
	ck_assert_int_eq(w.targets[1].ip[3], 9);
	ck_assert_uint_eq(w.resolved, 1);
	ck_assert_uint_eq(w.resolved_waiting, 1);
	/* Not known: passed over, asked for each time. */
	setup();
	w.level = LOG_DEBUG_LEVEL;
	FALLBACKS(1, "standby", "127.0.0.2", "nobody");
	p.max_attempts = 4;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	PORTS(5432, 6001, 5432, 6001);
	/* Said once each. */
	ck_assert_uint_eq(world_count(&w, EVENT_FALLBACK), 3 + 2);
	/* None of them: the destination alone, as without a fallback. */
	setup();
	FALLBACKS(1, "nobody");
	SCRIPT(ECONNREFUSED, ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	PORTS(5432, 5432, 5432);
	ck_assert_uint_eq(world_count(&w, EVENT_FALLBACK), 1);
	ck_assert_int_eq(w.events[1].reason, REASON_UNUSABLE);
	ck_assert_str_eq(w.tos[1], "nobody");
}
END_TEST

/* The look-ups before one attempt: as many as there is time for, and none after one
 * that has timed out, or for which the policy leaves no time. */
START_TEST(look_ups_are_bounded)
{
	for (unsigned i = 0; i < 3; i++) {
		setup();
		FALLBACKS(1, "a", "b", "c");
		p.max_attempts = 2;
		p.deadline = i == 2 ? 110 * DUR_MS : 30 * DUR_S;
		w.call_time = 0;
		w.resolve_time = i == 0 ? DUR_MS : i == 1 ? 2 * DUR_S : 20 * DUR_MS;
		SCRIPT(ECONNREFUSED);
		run();
		ck_assert_uint_gt(w.resolved, 3);
		ck_assert_uint_eq(w.resolved_waiting, i == 0 ? w.resolved : 1);
	}
}
END_TEST

/* A program that has asked for an IPv4 address meets an IPv6 socket last. */
START_TEST(strange_sockets_come_last)
{
	setup();
	FALLBACKS(1, "::1", "127.0.0.2", "::2");
	p.max_attempts = 6;
	SCRIPT(ECONNREFUSED);
	run();
	PORTS(5432, 6001, 6000, 6002, 5432, 6001);
	setup();
	aim_at("::5");
	FALLBACKS(1, "127.0.0.2", "::2");
	p.max_attempts = 4;
	SCRIPT(ECONNREFUSED);
	run();
	PORTS(5432, 6000, 6001, 5432);
}
END_TEST

/* A Unix socket cannot go anywhere else; nothing is looked up for it. */
START_TEST(unix_sockets_stay)
{
	struct addr from = { .family = AF_UNIX };
	struct addr to;
	struct places places = { .ops = &world_ops, .ctx = &w, .wait = true, .rule = &rule };

	setup();
	FALLBACKS(1, "127.0.0.2", "standby");
	w.resolves_to = "127.0.0.9";
	ck_assert_uint_eq(place_next(&places, 0, 1, &from, &to), 0);
	ck_assert_uint_eq(w.resolved, 0);
}
END_TEST

START_TEST(observe_tells_and_stays)
{
	setup();
	call.mode = MODE_OBSERVE;
	FALLBACKS(1, "standby");
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_uint_eq(w.resolved, 0);
	ck_assert_uint_eq(world_count(&w, EVENT_WOULD_RETRY), 1);
	ck_assert_uint_eq(world_count(&w, EVENT_WOULD_FALLBACK), 1);
	ck_assert_str_eq(w.tos[1], "standby");
	/* Not after the first attempt; or it would not be retried anyway. */
	for (int i = 0; i < 2; i++) {
		setup();
		call.mode = MODE_OBSERVE;
		FALLBACKS(i == 0 ? 2 : 1, "127.0.0.2");
		SCRIPT(i == 0 ? ECONNREFUSED : EACCES);
		run();
		ck_assert_uint_eq(world_count(&w, EVENT_WOULD_FALLBACK), 0);
	}
}
END_TEST

/* The attempts go to the other place from the first on; the name's list is not
 * walked, and the log speaks of the destination. */
START_TEST(redirected)
{
	struct name_ip ips[2] = { { AF_INET, { 127, 0, 0, 1 } }, { AF_INET, { 127, 0, 0, 2 } } };
	struct addr aim;

	setup();
	remember("db", ips, 2, 1);
	call.name = &name;
	aim_at("127.0.0.1");
	ck_assert(addr_parse_ip(&aim, "127.0.0.7"));
	aim.port = 7000;
	FALLBACKS(2, "127.0.0.3");
	call.aim = &aim;
	w.listeners[0].address = "127.0.0.2";
	w.listener_count = 1;
	p.max_attempts = 4;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	PORTS(7000, 7000, 6000, 7000);
	ck_assert_uint_eq(w.listening_asked, 0);
	ck_assert_str_eq(w.dests[0], "db:5432");
	ck_assert_uint_eq(w.addrs[0].port, 7000);
	ck_assert_int_eq(names_exhausted_at(&name, 5432), 0);
}
END_TEST

/* At the last address of a name: its turn comes first, and it is waited for once. */
START_TEST(with_a_walk)
{
	struct name_ip ips[2] = { { AF_INET, { 127, 0, 0, 1 } }, { AF_INET, { 127, 0, 0, 2 } } };

	setup();
	remember("db", ips, 2, 1);
	call.name = &name;
	aim_at("127.0.0.1");
	FALLBACKS(1, "127.0.0.3");
	w.listeners[0].address = "127.0.0.2";
	w.listener_count = 1;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	PORTS(5432);
	aim_at("127.0.0.2");
	w.listener_count = 0;
	w.calls = 0;
	p.max_attempts = 2;
	ck_assert_int_eq(run(), ECONNREFUSED);
	PORTS(5432, 6000);
	/* Exhausted as a name, at its own port. */
	ck_assert_int_ne(names_exhausted_at(&name, 5432), 0);
	aim_at("127.0.0.1");
	w.calls = 0;
	ck_assert_int_eq(run(), ECONNREFUSED);
	PORTS(5432);
}
END_TEST

UNIT_MAIN("place", &in_order_and_around, &the_move_and_the_success_are_logged,
          &the_limits_are_what_they_were, &another_family, &names, &look_ups_are_bounded,
          &strange_sockets_come_last, &unix_sockets_stay,
          &observe_tells_and_stays, &redirected, &with_a_walk)
