/* SPDX-License-Identifier: MIT */
/* Of sockets that must not wait: the rest happens behind the waits. */
#include "tests/unit/sending.h"

static void later(bool replay)
{
	begin_send(SEND_BROKEN, ECONNRESET);
	f.blocking = false;
	f.replay = replay;
	ck_assert_int_eq(failed(), SEND_LATER);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	ck_assert_uint_eq(w.dissolved, 1);
	ck_assert_uint_eq(w.wait_count, 0);
	ck_assert_int_eq(w.events[0].kind, EVENT_RETRY);
	ck_assert_int_eq(w.events[0].op, OP_SEND);
}

START_TEST(it_is_made_again_behind_the_waits)
{
	later(false);
	next_attempt();
	ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	w.conditions.rest = CONDITION_CONNECTED;
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	ck_assert_int_eq(w.events[1].kind, EVENT_RECOVERED);
	ck_assert_int_eq(w.events[1].op, OP_SEND);
	ck_assert_uint_eq(w.replays.used, 0);
	assert_over();
	/* It broke again, before it was looked at. */
	later(false);
	next_attempt();
	w.conditions.rest = CONDITION_RESET;
	WORLD_SCRIPT(&w.errors, ECONNRESET);
	ck_assert_int_eq(event(FD, true), SIGHT_HIDE);
	ck_assert_uint_eq(record_of(FD)->attempt, 2);
	pending_closing(&world_ops, &w, FD);
	assert_over();
}
END_TEST

/* What was kept from the program is told once it has ended the connection. */
START_TEST(a_shutdown_brings_the_reset_to_light)
{
	later(false);
	pending_shut_down(&world_ops, &w, FD);
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW_ERROR);
	ck_assert_int_eq(pending_ask(&world_ops, &w, FD, &error), ANSWER_ERROR);
	ck_assert_int_eq(error, ECONNRESET);
	ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 1);
	ck_assert_int_eq(pending_ask(&world_ops, &w, FD, &error), ANSWER_CALL);
	assert_over();
	/* Not if it was the connect that is ended. */
	later(false);
	pending_withdraw(&world_ops, &w, FD);
	assert_over();
}
END_TEST

/* A connection that was made is not moved to another place, blocking or not. */
START_TEST(it_is_made_where_it_was)
{
	struct endpoint other = { .text = "127.0.0.2" };
	struct rule with = { .fallback = &other, .fallback_count = 1, .fallback_after = 1 };

	ck_assert(addr_parse_ip(&other.addr, "127.0.0.2"));
	other.addr.port = 6000;
	for (unsigned i = 0; i < 2; i++) {
		begin_send(SEND_BROKEN, ECONNRESET);
		f.blocking = i == 0;
		t.rule = w.rule = &with;
		SCRIPT(ECONNREFUSED, ECONNREFUSED, 0);
		ck_assert_int_eq(failed(), i == 0 ? SEND_AGAIN : SEND_LATER);
		if (i == 0) {
			ck_assert_uint_eq(w.targets[2].port, 5432);
			continue;
		}
		for (unsigned n = 0; n < 3; n++) {
			next_attempt();
			ck_assert_uint_eq(w.started_to[n].port, 5432);
			w.conditions.rest = CONDITION_RESET;
			WORLD_SCRIPT(&w.errors, ECONNRESET);
			ck_assert_int_eq(event(FD, true), SIGHT_HIDE);
		}
		pending_closing(&world_ops, &w, FD);
		assert_over();
	}
	ck_assert_uint_eq(world_count(&w, EVENT_FALLBACK), 0);
}
END_TEST

START_TEST(its_attempts_count_on)
{
	struct peer peer;

	later(false);
	peers_note(FD, (struct sockaddr *)&sa, sa_len, THREAD);
	next_attempt();
	ck_assert(peers_find(FD, &peer));
	ck_assert_uint_eq(peer.identity, WORLD_SOCKET);
	ck_assert_uint_eq(peer.so_far.attempt, 2);
	pending_closing(&world_ops, &w, FD);
	assert_over();
	/* The third is the last. */
	begin_send(SEND_BROKEN, ECONNRESET);
	p.max_attempts = 3;
	f.blocking = false;
	so_far = (struct so_far){ .attempt = 3, .began = w.clock };
	ck_assert_int_eq(failed(), SEND_GIVE);
	ck_assert_int_eq(error, ECONNRESET);
	ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 1);
	assert_over();
	peers_reset();
	fdtab_reset();
}
END_TEST

START_TEST(what_was_sent_goes_before_the_program_is_told)
{
	later(true);
	next_attempt();
	w.conditions.rest = CONDITION_CONNECTED;
	w.unremakable = true;
	WORLD_SCRIPT(&w.replays, EAGAIN, EAGAIN, 0);
	ck_assert_int_eq(event(FD, false), SIGHT_HIDE);
	/* The program's own data must not come between. */
	ck_assert_int_eq(pending_ask(&world_ops, &w, FD, &error), ANSWER_PENDING);
	ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 0);
	/* A wait goes on with it by itself, soon. */
	ck_assert_int_le(fdtab_next_due(), w.clock + 10 * DUR_MS);
	w.clock = fdtab_next_due();
	wait_drive(&world_ops, &w);
	ck_assert_uint_eq(w.replays.used, 3);
	ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 1);
	assert_over();
}
END_TEST

/* Something else was sent meanwhile, or nothing is kept any more. */
START_TEST(what_was_sent_cannot_be_sent_again)
{
	static const int stuck[] = { ENOENT, ECANCELED };

	for (size_t i = 0; i < ARRAY_LEN(stuck); i++) {
		later(true);
		next_attempt();
		w.conditions.rest = CONDITION_CONNECTED;
		w.unremakable = true;
		WORLD_SCRIPT(&w.replays, stuck[i]);
		ck_assert_int_eq(event(FD, false), SIGHT_SHOW_ERROR);
		ck_assert_uint_eq(w.dissolved, 2);
		ck_assert_int_eq(pending_ask(&world_ops, &w, FD, &error), ANSWER_ERROR);
		ck_assert_int_eq(error, ECONNRESET);
		ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 1);
		assert_over();
	}
}
END_TEST

/* Nobody waits for it to be writable: it is looked at all the same, less and less
 * often. */
START_TEST(it_is_looked_at_unasked)
{
	int64_t began;

	later(true);
	p.deadline = 1000 * DUR_S;
	next_attempt();
	began = w.clock;
	for (unsigned n = 0; w.clock < began + 100 * DUR_S; n++) {
		ck_assert_uint_lt(n, 80);
		w.clock = fdtab_next_due();
		wait_drive(&world_ops, &w);
		ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	}
	pending_closing(&world_ops, &w, FD);
	assert_over();
}
END_TEST

/* A connect that was reset before the program looked is a failed one, if it is the
 * record's own. */
START_TEST(a_connect_that_was_reset)
{
	setup();
	begin(FD);
	w.conditions.rest = CONDITION_RESET;
	WORLD_SCRIPT(&w.errors, ECONNRESET);
	ck_assert_int_eq(event(FD, true), SIGHT_HIDE);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	ck_assert_int_eq(w.events[0].op, OP_CONNECT);
	ck_assert_int_eq(w.events[0].error.code, ECONNRESET);
	pending_closing(&world_ops, &w, FD);
	assert_over();

	setup();
	begin(FD);
	w.conditions.rest = CONDITION_RESET;
	w.unremakable = true;
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW);
	ck_assert_uint_eq(w.dissolved + w.errors.used + w.event_count, 0);
	assert_over();

	/* By SO_ERROR. */
	setup();
	begin(FD);
	w.conditions.rest = CONDITION_RESET;
	ck_assert_int_eq(pending_result(&world_ops, &w, FD, ECONNRESET), 0);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	pending_closing(&world_ops, &w, FD);
	assert_over();

	/* Not in retry_on. */
	setup();
	memset(&p.retry, 0, sizeof(p.retry));
	begin(FD);
	w.conditions.rest = CONDITION_RESET;
	WORLD_SCRIPT(&w.errors, ECONNRESET);
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW_ERROR);
	ck_assert_int_eq(pending_ask(&world_ops, &w, FD, &error), ANSWER_ERROR);
	ck_assert_int_eq(error, ECONNRESET);
	assert_over();
}
END_TEST

UNIT_MAIN("send, later", &it_is_made_again_behind_the_waits,
          &a_shutdown_brings_the_reset_to_light, &it_is_made_where_it_was,
          &its_attempts_count_on, &what_was_sent_goes_before_the_program_is_told,
          &what_was_sent_cannot_be_sent_again, &it_is_looked_at_unasked, &a_connect_that_was_reset)
