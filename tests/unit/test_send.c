/* SPDX-License-Identifier: MIT */
#include "engine/send.h"

#include "tests/unit/under_way.h"

static struct target t;
static struct so_far so_far;
static struct send_failure f;
static int error;

static void begin_send(enum send_cause cause, int with)
{
	setup();
	memset(&t, 0, sizeof(t));
	ck_assert(addr_parse_ip(&t.addr, "127.0.0.1"));
	t.addr.port = 5432;
	t.policy = &p;
	so_far = (struct so_far){ 0 };
	f = (struct send_failure){ .cause = cause,
		                   .error = with,
		                   .fd = FD,
		                   .blocking = true,
		                   .sa = (struct sockaddr *)&sa,
		                   .len = sa_len,
		                   .t = &t,
		                   .thread = THREAD,
		                   .limit = DUR_NONE };
}

static enum send_answer failed(void)
{
	return engine_send_failed(&world_ops, &w, &f, &so_far, &error);
}

static void script(unsigned count, const int *results)
{
	memcpy(w.results, results, count * sizeof(*results));
	w.result_count = count;
}
#define SCRIPT(...) \
	script(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), (int[]){ __VA_ARGS__ })

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
	engine_send_ended(&world_ops, &w, &t, &so_far, 0);
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
	/* A signal stopped it. */
	begin_send(SEND_BROKEN, ECONNRESET);
	f.replay = true;
	w.unremakable = true;
	WORLD_SCRIPT(&w.replays, EAGAIN);
	ck_assert_int_eq(failed(), SEND_GIVE);
	ck_assert_int_eq(error, ECONNRESET);
}
END_TEST

/* ---- a socket that must not wait ---- */

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

/* Nobody waits for it to be writable: it is looked at all the same, less and less
 * often. */
START_TEST(it_is_looked_at_unasked)
{
	int64_t began;

	later(true);
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

UNIT_MAIN("send", &a_broken_connection_is_made_again, &a_series_is_bounded,
          &the_error_is_the_last_real_one, &what_is_native, &no_buffers,
          &a_datagram_is_sent_once_more_at_once, &closed_while_it_is_made_again,
          &what_was_sent_goes_first, &it_is_made_again_behind_the_waits, &its_attempts_count_on,
          &what_was_sent_goes_before_the_program_is_told, &it_is_looked_at_unasked,
          &a_connect_that_was_reset)
