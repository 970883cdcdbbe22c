/* SPDX-License-Identifier: MIT */
#include "tests/unit/sending.h"

START_TEST(a_broken_connection_is_made_again)
{
	begin_send(SEND_BROKEN, ECONNRESET);
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(failed(), SEND_AGAIN);
	ck_assert_uint_eq(w.calls, 2);
	/* Before each of the two. */
	ck_assert_uint_eq(w.dissolved, 2);
	ck_assert_uint_eq(so_far.attempt, 3);
	ck_assert_uint_eq(w.event_count, 2);
	ck_assert_int_eq(w.events[0].op, OP_SEND);
	ck_assert_int_eq(w.events[0].error.code, ECONNRESET);
	ck_assert_uint_eq(w.events[0].attempt, 1);
	ck_assert_int_eq(w.events[1].error.code, ECONNREFUSED);
	ck_assert_uint_eq(w.events[1].attempt, 2);
	engine_send_ended(&world_ops, &w, &t, &so_far, 0, REASON_NONE);
	ck_assert_int_eq(w.events[2].kind, EVENT_RECOVERED);
	ck_assert_uint_eq(w.events[2].attempts, 3);
	ck_assert_int_eq(w.events[2].waited, w.waits[0] + w.waits[1]);
}
END_TEST

/* Each new connection breaks: the attempts and the deadline count on. */
START_TEST(a_series_is_bounded)
{
	unsigned n = 0;

	begin_send(SEND_BROKEN, ECONNRESET);
	p.max_attempts = 4;
	while (failed() == SEND_AGAIN)
		ck_assert_uint_lt(n++, 10);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(error, ECONNRESET);
	ck_assert_uint_eq(world_count(&w, EVENT_RETRY), 3);
	ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 1);
	ck_assert_int_eq(w.events[3].reason, REASON_ATTEMPTS);

	begin_send(SEND_BROKEN, ECONNRESET);
	p.max_attempts = 1000;
	p.deadline = DUR_S;
	for (n = 0; failed() == SEND_AGAIN; n++)
		ck_assert_uint_lt(n, 50);
	ck_assert_int_eq(w.events[w.event_count - 1].reason, REASON_DEADLINE);
	ck_assert_int_le(w.clock, (1000 + 1) * DUR_S + 20 * DUR_MS);
}
END_TEST

START_TEST(the_error_is_the_last_real_one)
{
	begin_send(SEND_BROKEN, ECONNRESET);
	p.max_attempts = 3;
	SCRIPT(ECONNREFUSED, EHOSTUNREACH);
	ck_assert_int_eq(failed(), SEND_GIVE);
	ck_assert_int_eq(error, EHOSTUNREACH);
	ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 1);
}
END_TEST

START_TEST(what_is_native)
{
	static const struct {
		const char *what;
		enum send_cause cause;
		int error;
		enum send_mode send;
		unsigned max_attempts;
		bool observe, blocking;
		enum event_kind line;
	} rows[] = {
		{ "off", SEND_BROKEN, ECONNRESET, SEND_OFF, 5, false, true, EVENT_KINDS },
		{ "off", SEND_NO_BUFFERS, ENOBUFS, SEND_OFF, 5, false, true, EVENT_KINDS },
		{ "off", SEND_REFUSED, ECONNREFUSED, SEND_OFF, 5, false, true, EVENT_KINDS },
		{ "1 attempt", SEND_BROKEN, ECONNRESET, SEND_SAFE, 1, false, true, EVENT_KINDS },
		{ "1 attempt", SEND_REFUSED, ECONNREFUSED, SEND_SAFE, 1, false, true,
		  EVENT_KINDS },
		{ "no class", SEND_BROKEN, EPIPE, SEND_SAFE, 5, false, true, EVENT_KINDS },
		{ "not waiting", SEND_NO_BUFFERS, ENOBUFS, SEND_SAFE, 5, false, false,
		  EVENT_KINDS },
		{ "observe", SEND_BROKEN, ECONNRESET, SEND_SAFE, 5, true, true, EVENT_WOULD_RETRY },
		{ "observe", SEND_BROKEN, ECONNRESET, SEND_SAFE, 5, true, false, EVENT_WOULD_RETRY },
		{ "observe", SEND_NO_BUFFERS, ENOMEM, SEND_SAFE, 5, true, true, EVENT_WOULD_RETRY },
		{ "observe", SEND_REFUSED, ECONNREFUSED, SEND_SAFE, 5, true, true,
		  EVENT_WOULD_RETRY },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin_send(rows[i].cause, rows[i].error);
		p.send = rows[i].send;
		p.max_attempts = rows[i].max_attempts;
		t.mode = rows[i].observe ? MODE_OBSERVE : MODE_RETRY;
		f.blocking = rows[i].blocking;
		ck_assert_msg(failed() == SEND_GIVE, "%s", rows[i].what);
		ck_assert_msg(error == rows[i].error, "%s", rows[i].what);
		ck_assert_msg(w.calls + w.dissolved + w.wait_count == 0, "%s", rows[i].what);
		ck_assert_msg(w.event_count == (rows[i].line != EVENT_KINDS), "%s", rows[i].what);
		if (w.event_count)
			ck_assert_int_eq(w.events[0].kind, rows[i].line);
		assert_over();
	}
}
END_TEST

START_TEST(no_buffers)
{
	begin_send(SEND_NO_BUFFERS, ENOBUFS);
	p.max_attempts = 3;
	p.backoff.base_local = 2 * DUR_S;
	p.backoff.max = 3 * DUR_S;
	ck_assert_int_eq(failed(), SEND_AGAIN);
	ck_assert_int_eq(failed(), SEND_AGAIN);
	ck_assert_int_eq(w.waits[0], 2 * DUR_S);
	ck_assert_int_eq(w.waits[1], 3 * DUR_S);
	ck_assert_int_eq(failed(), SEND_GIVE);
	ck_assert_int_eq(error, ENOBUFS);
	ck_assert_uint_eq(w.calls + w.dissolved, 0);
	/* Closed while it was waited. */
	begin_send(SEND_NO_BUFFERS, ENOBUFS);
	w.closed_at = 1;
	ck_assert_int_eq(failed(), SEND_GIVE);
	/* The socket's own limit. */
	begin_send(SEND_NO_BUFFERS, ENOBUFS);
	f.limit = 10 * DUR_MS;
	ck_assert_int_eq(failed(), SEND_GIVE);
	ck_assert_uint_eq(w.wait_count, 0);
}
END_TEST

START_TEST(a_datagram_is_sent_once_more_at_once)
{
	begin_send(SEND_REFUSED, ECONNREFUSED);
	ck_assert_int_eq(failed(), SEND_AGAIN);
	ck_assert_uint_eq(w.wait_count, 0);
	ck_assert_int_eq(w.events[0].wait, 0);
	ck_assert_int_eq(failed(), SEND_GIVE);
	ck_assert_int_eq(error, ECONNREFUSED);
	ck_assert_uint_eq(w.event_count, 2);
}
END_TEST

START_TEST(closed_while_it_is_made_again)
{
	begin_send(SEND_BROKEN, ECONNRESET);
	w.closed_at = 1;
	ck_assert_int_eq(failed(), SEND_GIVE);
	ck_assert_int_eq(error, ECONNRESET);
	ck_assert_uint_eq(w.calls + w.dissolved, 0);
	ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 1);
}
END_TEST

/* In the kernel, and another socket has the number: whatever the attempt said. */
START_TEST(closed_during_an_attempt)
{
	static const int results[] = { 0, ECONNREFUSED, EINPROGRESS, EISCONN };

	for (size_t i = 0; i < ARRAY_LEN(results); i++) {
		begin_send(SEND_BROKEN, ECONNRESET);
		SCRIPT(results[i]);
		w.closed_in_call = 1;
		w.self_connect = true;
		ck_assert_int_eq(failed(), SEND_GIVE);
		ck_assert_int_eq(error, ECONNRESET);
		ck_assert_uint_eq(w.calls, 1);
		ck_assert_uint_eq(w.dissolved, 1);
		ck_assert_uint_eq(w.ended, 0);
		ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 1);
		ck_assert_int_eq(w.events[1].op, OP_SEND);
	}
	/* It was another's before. */
	begin_send(SEND_BROKEN, ECONNRESET);
	f.identity = WORLD_OTHER;
	ck_assert_int_eq(failed(), SEND_GIVE);
	ck_assert_uint_eq(w.calls + w.dissolved, 0);
}
END_TEST

/* The program ends it, or learns that it is over, in another thread. */
START_TEST(nobody_wants_it_any_more)
{
	begin_send(SEND_BROKEN, ECONNRESET);
	w.unwanted_at = 1;
	ck_assert_int_eq(failed(), SEND_GIVE);
	ck_assert_int_eq(error, ECONNRESET);
	ck_assert_uint_eq(w.calls + w.dissolved + w.ended, 0);
	ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 1);
	/* After it was made. */
	begin_send(SEND_BROKEN, ECONNRESET);
	w.unwanted_after = 1;
	ck_assert_int_eq(failed(), SEND_GIVE);
	ck_assert_int_eq(error, ECONNRESET);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_uint_eq(w.ended, 1);
	ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 1);
	/* Of a socket that must not wait. */
	begin_send(SEND_BROKEN, ECONNRESET);
	f.blocking = false;
	w.unwanted_after = 1;
	w.calls = 1;
	ck_assert_int_eq(failed(), SEND_GIVE);
	ck_assert_int_eq(error, ECONNRESET);
	ck_assert_uint_eq(w.dissolved, 0);
	assert_over();
}
END_TEST

/* What another thread has made is not dissolved, and its attempt is joined. */
START_TEST(two_threads_make_it_again)
{
	static const struct {
		enum condition condition;
		unsigned calls, dissolved;
	} rows[] = { { CONDITION_CLOSED, 1, 1 }, { CONDITION_TRYING, 1, 0 },
		{ CONDITION_CONNECTED, 0, 0 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin_send(SEND_BROKEN, ECONNRESET);
		w.unremakable = true;
		w.conditions.rest = (int)rows[i].condition;
		ck_assert_int_eq(failed(), SEND_AGAIN);
		ck_assert_uint_eq(w.calls, rows[i].calls);
		ck_assert_uint_eq(w.dissolved, rows[i].dissolved);
	}
	begin_send(SEND_BROKEN, ECONNRESET);
	SCRIPT(EISCONN);
	ck_assert_int_eq(failed(), SEND_AGAIN);
	ck_assert_uint_eq(w.dissolved, 1);
}
END_TEST

/* What a read or write cannot say, it does not say. */
START_TEST(errors_of_connect_alone)
{
	static const struct {
		int says, error;
		unsigned dissolved;
	} rows[] = { { EINPROGRESS, ECONNRESET, 2 }, { EALREADY, ECONNRESET, 2 },
		{ EINVAL, ECONNRESET, 1 }, { EPERM, ECONNRESET, 1 }, { EOPNOTSUPP, ECONNRESET, 1 },
		{ EACCES, ECONNRESET, 1 }, { EBADF, ECONNRESET, 1 },
		/* A signal; and an end that a write may have. */
		{ EINTR, EINTR, 1 }, { ENETDOWN, ENETDOWN, 1 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin_send(SEND_BROKEN, ECONNRESET);
		p.max_attempts = 2;
		f.limit = DUR_S;
		SCRIPT(rows[i].says);
		ck_assert_int_eq(failed(), SEND_GIVE);
		ck_assert_msg(error == rows[i].error, "row %zu: %d", i, error);
		ck_assert_msg(w.dissolved == rows[i].dissolved, "row %zu", i);
		if (error != EINTR)
			ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 1);
	}
}
END_TEST

/* No attempt takes the kernel's two minutes. */
START_TEST(attempts_are_bounded)
{
	begin_send(SEND_BROKEN, ECONNRESET);
	p.deadline = 10 * DUR_S;
	w.call_time = 10 * DUR_S;
	SCRIPT(EINPROGRESS);
	ck_assert_int_eq(failed(), SEND_GIVE);
	ck_assert_int_eq(error, ECONNRESET);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_int_gt(w.limits[0], 9 * DUR_S);
	ck_assert_int_lt(w.limits[0], 10 * DUR_S);
	ck_assert_uint_eq(w.dissolved, 2);
	/* The shortest of the three. */
	begin_send(SEND_BROKEN, ECONNRESET);
	p.attempt_timeout = 2 * DUR_S;
	ck_assert_int_eq(failed(), SEND_AGAIN);
	ck_assert_int_eq(w.limits[0], 2 * DUR_S);
	begin_send(SEND_BROKEN, ECONNRESET);
	p.attempt_timeout = 2 * DUR_S;
	f.limit = DUR_S;
	ck_assert_int_eq(failed(), SEND_AGAIN);
	ck_assert_int_le(w.limits[0], DUR_S);
	/* Behind the waits. */
	begin_send(SEND_BROKEN, ECONNRESET);
	p.deadline = 10 * DUR_S;
	f.blocking = false;
	ck_assert_int_eq(failed(), SEND_LATER);
	next_attempt();
	while (state_of(FD) == PEND_CONNECTING) {
		ck_assert_int_lt(w.clock, 1020 * DUR_S);
		w.clock = fdtab_next_due();
		wait_drive(&world_ops, &w);
	}
	ck_assert_int_eq(w.clock, 1010 * DUR_S);
	ck_assert_int_eq(pending_ask(&world_ops, &w, FD, &error), ANSWER_ERROR);
	ck_assert_int_eq(error, ECONNRESET);
	assert_over();
}
END_TEST

START_TEST(what_was_sent_goes_first)
{
	begin_send(SEND_BROKEN, ECONNRESET);
	f.replay = true;
	/* It breaks in the middle, once. */
	WORLD_SCRIPT(&w.replays, ECONNRESET, 0);
	ck_assert_int_eq(failed(), SEND_AGAIN);
	ck_assert_uint_eq(w.calls, 2);
	ck_assert_uint_eq(so_far.attempt, 3);
	ck_assert_uint_eq(w.replays.used, 2);
	/* And an answer had come. */
	begin_send(SEND_BROKEN, ECONNRESET);
	f.replay = true;
	w.unremakable = true;
	WORLD_SCRIPT(&w.replays, EPIPE);
	ck_assert_int_eq(failed(), SEND_GIVE);
	ck_assert_int_eq(error, EPIPE);
	ck_assert_uint_eq(w.calls, 1);
	/* A part of it went: the time is over, a signal, what is kept has gone, and
	 * another thread's data came between. The peer is not to take it for whole. */
	static const int stuck[] = { EAGAIN, EINTR, ENOENT, ECANCELED };

	for (size_t i = 0; i < ARRAY_LEN(stuck); i++) {
		begin_send(SEND_BROKEN, ECONNRESET);
		f.replay = true;
		w.conditions.rest = CONDITION_CLOSED;
		w.unremakable = true;
		WORLD_SCRIPT(&w.replays, stuck[i]);
		ck_assert_int_eq(failed(), SEND_GIVE);
		ck_assert_int_eq(error, ECONNRESET);
		ck_assert_uint_eq(w.calls, 1);
		ck_assert_uint_eq(w.dissolved, 2);
		ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 1);
	}
	/* Another thread was quicker. */
	begin_send(SEND_BROKEN, ECONNRESET);
	f.replay = true;
	w.conditions.rest = CONDITION_CONNECTED;
	WORLD_SCRIPT(&w.replays, ENOENT);
	ck_assert_int_eq(failed(), SEND_AGAIN);
	ck_assert_uint_eq(w.dissolved, 1);
}
END_TEST

START_TEST(no_more_at_one_time_than_allowed)
{
	static const enum send_cause causes[] = { SEND_BROKEN, SEND_NO_BUFFERS };

	for (unsigned i = 0; i < 2; i++) {
		int with = i == 0 ? ECONNRESET : ENOBUFS;
		struct turn mine = { .word = 0 };

		begin_send(causes[i], with);
		turns_postfork_child();
		p.max_concurrent_retries = 1;
		f.turn = &mine;
		SCRIPT(0);
		ck_assert_int_eq(failed(), SEND_AGAIN);
		ck_assert_uint_eq(turns_taken(w.clock), 0);
		/* Another connect to it is in a retry. */
		in_backoff(LATE);
		so_far.attempt = 0;
		w.wait_count = 0;
		ck_assert_int_eq(failed(), SEND_GIVE);
		ck_assert_int_eq(error, with);
		ck_assert_uint_eq(w.wait_count, 0);
		ck_assert_int_eq(last_event()->reason, REASON_CONCURRENT);
		closing(LATE);
	}
}
END_TEST

UNIT_MAIN("send", &a_broken_connection_is_made_again, &a_series_is_bounded,
          &the_error_is_the_last_real_one, &what_is_native, &no_buffers,
          &a_datagram_is_sent_once_more_at_once, &closed_while_it_is_made_again,
          &closed_during_an_attempt, &nobody_wants_it_any_more, &two_threads_make_it_again,
          &errors_of_connect_alone, &attempts_are_bounded, &what_was_sent_goes_first,
          &no_more_at_one_time_than_allowed)
