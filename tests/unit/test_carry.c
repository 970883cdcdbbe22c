/* SPDX-License-Identifier: MIT */
#include "state/carry.h"

#include "engine/connect.h"
#include "engine/resolve.h"
#include "state/shm.h"
#include "tests/unit/call.h"

#define NOW (1000 * DUR_S)

START_TEST(what_is_known_and_for_how_long)
{
	uint64_t db = carry_key_name("db:80");
	int64_t wait = 4711;

	carry_reset();
	ck_assert_uint_eq(carry_step(db, NOW, &wait), 0);
	ck_assert_int_eq(wait, 4711);
	carry_failed(db, 0, 0, NOW + DUR_S);
	ck_assert(!carry_watching());
	carry_failed(db, 3, 400 * DUR_MS, NOW + DUR_S);
	ck_assert(carry_watching());
	ck_assert_uint_eq(carry_step(db, NOW + DUR_S - DUR_MS, &wait), 3);
	ck_assert_int_eq(wait, 400 * DUR_MS);
	ck_assert_uint_eq(carry_step(db, NOW + DUR_S, &wait), 0);
	ck_assert_uint_eq(carry_step(carry_key_name("db:81"), NOW, &wait), 0);
	carry_failed(db, 1000000, 0, DUR_NONE);
	ck_assert_uint_eq(carry_step(db, NOW + 1000000 * DUR_S, &wait), CARRY_STEP_MAX);
	carry_succeeded(carry_key_name("db:81"));
	ck_assert(carry_watching());
	carry_succeeded(db);
	ck_assert_uint_eq(carry_step(db, NOW, &wait), 0);
	ck_assert(!carry_watching());
}
END_TEST

START_TEST(keys_differ)
{
	static const char *const texts[] = { "127.0.0.1", "127.0.0.2", "::1", "fd00::1" };
	uint64_t keys[2 * ARRAY_LEN(texts) + 2];
	struct addr a = { .family = AF_UNIX, .path = "/run/a" };
	unsigned n = 0;

	keys[n++] = carry_key_addr(&a);
	a.path[5] = 'b';
	keys[n++] = carry_key_addr(&a);
	for (unsigned i = 0; i < 2 * ARRAY_LEN(texts); i++) {
		ck_assert(addr_parse_ip(&a, texts[i / 2]));
		a.port = (uint16_t)(80 + i % 2);
		keys[n++] = carry_key_addr(&a);
		/* However it was written. */
		a.mapped = true;
		ck_assert_uint_eq(carry_key_addr(&a), keys[n - 1]);
	}
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < i; j++)
			ck_assert_uint_ne(keys[i], keys[j]);
}
END_TEST

/* Those that nobody succeeds at are forgotten in the end. */
START_TEST(old_ones_are_swept)
{
	carry_reset();
	carry_failed(carry_key_name("gone:80"), 2, DUR_S, slot_now() - DUR_S);
	for (unsigned i = 1; i < CARRY_SWEEP; i++)
		carry_succeeded(carry_key_name("well:80"));
	ck_assert(carry_watching());
	carry_succeeded(carry_key_name("well:80"));
	ck_assert(!carry_watching());
	carry_failed(carry_key_name("down:80"), 2, DUR_S, slot_now() + 1000 * DUR_S);
	for (unsigned i = 0; i < CARRY_SWEEP; i++)
		carry_succeeded(carry_key_name("well:80"));
	ck_assert(carry_watching());
}
END_TEST

static void carried(void)
{
	setup();
	carry_reset();
	p.carry = true;
	p.max_attempts = 3;
	p.layering = LAYERING_IGNORE;
}

static void assert_waits(unsigned count, const int64_t *ms)
{
	ck_assert_uint_eq(w.wait_count, count);
	for (unsigned i = 0; i < count; i++)
		ck_assert_int_eq(w.waits[i], ms[i] * DUR_MS);
	w.wait_count = w.calls = 0;
}
#define WAITS(...) \
	assert_waits(ARRAY_LEN(((int64_t[]){ __VA_ARGS__ })), (int64_t[]){ __VA_ARGS__ })

START_TEST(a_call_begins_at_the_last_wait)
{
	carried();
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(100, 200);
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(200, 400);
	w.clock += 9 * DUR_S;
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(400, 800);
	/* Up to max_delay, as ever. */
	for (unsigned i = 0; i < 5; i++) {
		w.wait_count = w.calls = 0;
		ck_assert_int_eq(run(), ECONNREFUSED);
	}
	WAITS(5000, 5000);
	/* Another address, or without the key: from the start. */
	p.carry = false;
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(100, 200);
	p.carry = true;
	aim_at("127.0.0.2");
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(100, 200);
}
END_TEST

START_TEST(it_ends_with_time_and_success)
{
	carried();
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(100, 200);
	w.clock += 10 * DUR_S;
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(100, 200);
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	WAITS(200);
	ck_assert(!carry_watching());
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(100, 200);
	/* What is never retried has nothing to say. */
	w.clock += 5 * DUR_S;
	SCRIPT(EACCES);
	ck_assert_int_eq(run(), EACCES);
	w.calls = 0;
	w.clock += 6 * DUR_S;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(100, 200);
}
END_TEST

/* A failure that is not retried is one all the same. */
START_TEST(failures_without_a_wait_count)
{
	carried();
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(100, 200);
	for (unsigned i = 0; i < 3; i++) {
		w.clock += 9 * DUR_S;
		p.deadline = DUR_MS;
		ck_assert_int_eq(run(), ECONNREFUSED);
		ck_assert_uint_eq(w.wait_count, 0);
	}
	p.deadline = 30 * DUR_S;
	w.calls = 0;
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(200, 400);
}
END_TEST

START_TEST(other_series)
{
	carried();
	p.backoff.jitter = JITTER_DECORRELATED;
	p.backoff.cap = CAP_HARD;
	SCRIPT(ECONNREFUSED);
	carry_failed(carry_key_addr(&target), 4, 2 * DUR_S, w.clock + DUR_S);
	p.backoff.base = 2 * DUR_S;
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_int_ge(w.waits[0], 2 * DUR_S);
	carried();
	SCRIPT(ECONNREFUSED);
	p.backoff.schedule_len = 3;
	p.backoff.schedule[0] = DUR_MS;
	p.backoff.schedule[1] = 2 * DUR_MS;
	p.backoff.schedule[2] = 3 * DUR_MS;
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(1, 2);
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(2, 3);
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(3, 3);
	/* "immediate" is for the first failure, not for that of every call. */
	carried();
	SCRIPT(ECONNREFUSED);
	p.backoff.first_immediate = true;
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(0, 100);
	ck_assert_int_eq(run(), ECONNREFUSED);
	WAITS(100, 200);
}
END_TEST

START_TEST(look_ups_too)
{
	struct lookup_call lookup = { .host = "db", .port = 80, .policy = &p };
	struct err e = { ERR_EAI, EAI_AGAIN };
	int sys_errno = 0;

	carried();
	w.domain = ERR_EAI;
	SCRIPT(EAI_AGAIN);
	for (unsigned i = 0; i < 2; i++) {
		w.wait_count = 0;
		lookup.began = w.clock;
		engine_lookup(&world_ops, &w, &lookup, e, &sys_errno);
	}
	WAITS(200, 400);
	carry_succeeded(carry_key_name("db:80"));
	lookup.began = w.clock;
	engine_lookup(&world_ops, &w, &lookup, e, &sys_errno);
	WAITS(100, 200);
}
END_TEST

START_TEST(who_observes_learns_nothing)
{
	carried();
	call.mode = MODE_OBSERVE;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert(!carry_watching());
}
END_TEST

UNIT_MAIN("carry", &what_is_known_and_for_how_long, &keys_differ, &old_ones_are_swept,
          &a_call_begins_at_the_last_wait, &it_ends_with_time_and_success,
          &failures_without_a_wait_count, &other_series, &look_ups_too,
          &who_observes_learns_nothing)
