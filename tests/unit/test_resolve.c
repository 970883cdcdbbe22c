/* SPDX-License-Identifier: MIT */
#include "engine/resolve.h"

#include <netdb.h>

#include "base/libc.h"
#include "policy/builtin.h"
#include "policy/classify.h"
#include "tests/unit/unit.h"
#include "tests/unit/world.h"

static struct world w;
static struct policy p;
static struct lookup_call call;

static void setup(enum err_domain domain)
{
	world_init(&w);
	p = builtin_default();
	p.backoff.jitter = JITTER_NONE;
	w.domain = domain;
	call = (struct lookup_call){ .host = "db1", .port = 5432, .policy = &p, .began = w.clock };
}

static struct err run(void)
{
	int sys_errno = 0;

	return engine_lookup(&world_ops, &w, &call, (struct err){ w.domain, 0 }, &sys_errno);
}

START_TEST(temporary_failures_are_repeated)
{
	setup(ERR_EAI);
	w.results[0] = w.results[1] = EAI_AGAIN;
	w.result_count = 3;
	ck_assert_int_eq(run().code, 0);
	ck_assert_uint_eq(w.calls, 3);
	ck_assert_uint_eq(world_count(&w, EVENT_RETRY), 2);
	ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 1);
	ck_assert_str_eq(w.dests[0], "db1:5432");
	ck_assert(w.events[0].op == OP_LOOKUP);
	ck_assert_int_eq(w.limits[0], DUR_NONE);
}
END_TEST

START_TEST(missing_names_fail_at_once_unless_listed)
{
	setup(ERR_EAI);
	w.results[0] = EAI_NONAME;
	w.result_count = 1;
	ck_assert_int_eq(run().code, EAI_NONAME);
	ck_assert_uint_eq(w.calls, 1);
	err_set_add_class(&p.retry, CLASS_DNS_MISSING);
	ck_assert_int_eq(run().code, EAI_NONAME);
	ck_assert_uint_eq(w.calls, 6);
}
END_TEST

START_TEST(gethostbyname_codes)
{
	setup(ERR_HERRNO);
	w.results[0] = TRY_AGAIN;
	w.result_count = 2;
	ck_assert_int_eq(run().code, 0);
	ck_assert_uint_eq(w.calls, 2);
	setup(ERR_HERRNO);
	w.results[0] = HOST_NOT_FOUND;
	w.result_count = 1;
	ck_assert_int_eq(run().code, HOST_NOT_FOUND);
	ck_assert_uint_eq(w.calls, 1);
	/* "Your buffer is too small" gets through at once. */
	setup(ERR_HERRNO);
	w.results[0] = NETDB_INTERNAL;
	w.sys_errno = ERANGE;
	w.result_count = 1;
	ck_assert_int_eq(run().code, NETDB_INTERNAL);
	ck_assert_uint_eq(w.calls, 1);
}
END_TEST

START_TEST(system_errors_go_by_errno)
{
	setup(ERR_EAI);
	w.results[0] = EAI_SYSTEM;
	w.sys_errno = ENETUNREACH;
	w.result_count = 2;
	ck_assert_int_eq(run().code, 0);
	ck_assert_uint_eq(w.calls, 2);
	setup(ERR_EAI);
	w.results[0] = EAI_SYSTEM;
	w.sys_errno = EMFILE;
	w.result_count = 2;
	ck_assert_int_eq(run().code, EAI_SYSTEM);
	ck_assert_uint_eq(w.calls, 1);
}
END_TEST

/* The time of the calls counts: a slow resolver uses up the deadline. */
START_TEST(slow_calls_use_up_the_deadline)
{
	setup(ERR_EAI);
	p.deadline = 3 * DUR_S;
	p.max_attempts = 100;
	w.call_time = 2 * DUR_S;
	w.results[0] = EAI_AGAIN;
	w.result_count = 1;
	ck_assert_int_eq(run().code, EAI_AGAIN);
	ck_assert_uint_eq(w.calls, 2);
	ck_assert_int_le(w.clock - call.began, 5 * DUR_S);
	ck_assert(w.events[w.event_count - 1].reason == REASON_DEADLINE);
	p.dns_attempt_timeout = DUR_S;
	run();
	ck_assert_int_eq(w.limits[w.calls - 1], DUR_S);
}
END_TEST

START_TEST(destination_text)
{
	char text[DEST_TEXT_MAX];
	char tiny[8];
	struct addr a;

	dest_text(text, sizeof(text), "db1", NULL, -1);
	ck_assert_str_eq(text, "db1");
	dest_text(text, sizeof(text), "db1", NULL, 0);
	ck_assert_str_eq(text, "db1:0");
	ck_assert(addr_parse_ip(&a, "::1"));
	a.port = 80;
	dest_text(text, sizeof(text), NULL, &a, 80);
	ck_assert_str_eq(text, "[::1]:80");
	dest_text(tiny, sizeof(tiny), "a-long-name.example.net", NULL, 80);
	ck_assert_uint_lt(strlen(tiny), sizeof(tiny));
}
END_TEST

static int64_t asked_for;
static int64_t known_age; /* -1: nothing is remembered */

static bool remembered(void *again, int64_t oldest, int64_t *age)
{
	ck_assert_ptr_eq(again, &known_age);
	asked_for = oldest;
	*age = known_age;
	return known_age >= 0 && known_age <= oldest;
}

static void stale(int64_t age)
{
	setup(ERR_EAI);
	w.remembers = true;
	known_age = age;
	asked_for = -1;
	p.stale_dns = 60 * DUR_S;
	p.max_attempts = 2;
	call.call = &known_age;
	call.stale = remembered;
	w.results[0] = EAI_AGAIN;
	w.result_count = 1;
}

START_TEST(an_old_answer_stands_in)
{
	const struct event *e;

	stale(7 * DUR_S);
	ck_assert_int_eq(run().code, 0);
	ck_assert_uint_eq(w.calls, 2);
	ck_assert_int_eq(asked_for, 60 * DUR_S);
	ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 1);
	ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 0);
	e = &w.events[w.event_count - 1];
	ck_assert_int_eq(e->kind, EVENT_STALE);
	ck_assert_int_eq(e->age, 7 * DUR_S);
	ck_assert_int_eq(e->error.code, EAI_AGAIN);
	ck_assert_int_eq(e->op, OP_LOOKUP);
	ck_assert_uint_eq(atomic_load(&w.slot.tally[TALLY_STALE]), 1);
	ck_assert_uint_eq(atomic_load(&w.slot.tally[TALLY_GAVE_UP_ATTEMPTS]), 1);
	/* With retrying off, too. */
	stale(7 * DUR_S);
	p.max_attempts = 1;
	ck_assert_int_eq(run().code, 0);
}
END_TEST

START_TEST(where_none_does)
{
	stale(61 * DUR_S);
	ck_assert_int_eq(run().code, EAI_AGAIN);
	stale(-1);
	ck_assert_int_eq(run().code, EAI_AGAIN);
	ck_assert_uint_eq(world_count(&w, EVENT_STALE), 0);
	/* Nobody is asked: the key, another error, a signal, who observes. */
	stale(0);
	p.stale_dns = DUR_NONE;
	ck_assert_int_eq(run().code, EAI_AGAIN);
	ck_assert_int_eq(asked_for, -1);
	stale(0);
	w.results[0] = EAI_NONAME;
	ck_assert_int_eq(run().code, EAI_NONAME);
	ck_assert_int_eq(asked_for, -1);
	stale(0);
	w.wake_at = 1;
	w.wake = WAKE_INTERRUPTED;
	ck_assert_int_eq(run().code, EAI_AGAIN);
	ck_assert_int_eq(asked_for, -1);
	stale(0);
	w.stop = true;
	ck_assert_int_eq(run().code, EAI_AGAIN);
	ck_assert_int_eq(asked_for, -1);
	stale(0);
	call.mode = MODE_OBSERVE;
	ck_assert_int_eq(run().code, EAI_AGAIN);
	ck_assert_int_eq(asked_for, -1);
	/* gethostbyname() has nothing of the kind. */
	stale(0);
	call.stale = NULL;
	ck_assert_int_eq(run().code, EAI_AGAIN);
	ck_assert_uint_eq(world_count(&w, EVENT_STALE), 0);
}
END_TEST

UNIT_MAIN("resolve", &temporary_failures_are_repeated, &missing_names_fail_at_once_unless_listed,
          &gethostbyname_codes, &system_errors_go_by_errno, &slow_calls_use_up_the_deadline,
          &destination_text,
          &an_old_answer_stands_in, &where_none_does)
