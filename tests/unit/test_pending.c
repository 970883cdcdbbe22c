/* SPDX-License-Identifier: MIT */
/* What becomes of a non-blocking connect: successes, failures, and all the ways
 * in which programs learn of them. */
#include "engine/pending.h"

#include "tests/unit/under_way.h"

/* What a call fails with and tells nothing about how the connect ended. */
static const int no_outcome[] = { EAGAIN, EALREADY, EINPROGRESS, ENOTCONN,
	                          EINTR,  EFAULT,   EINVAL };

START_TEST(success_makes_no_call)
{
	setup();
	begin(FD);
	ck_assert_uint_eq(fdtab_busy(), 1);
	ck_assert_int_eq(pending_event(&no_ops, NULL, FD, false), SIGHT_SHOW);
	assert_over();
	/* Or the program found out by itself. */
	begin(FD);
	pending_connected(&no_ops, NULL, FD);
	assert_over();
	begin(FD);
	ck_assert_int_eq(pending_result(&no_ops, NULL, FD, EISCONN), EISCONN);
	assert_over();
	/* It only looks whether it is connected yet, and then closes it. */
	begin(FD);
	ck_assert_int_eq(pending_ask(&no_ops, NULL, FD, NULL), ANSWER_CALL);
	ck_assert(!pending_hidden(&no_ops, NULL, FD));
	for (size_t i = 0; i < ARRAY_LEN(no_outcome); i++)
		ck_assert_int_eq(pending_result(&no_ops, NULL, FD, no_outcome[i]), no_outcome[i]);
	ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	closing(FD);
	ck_assert_uint_eq(actions() + w.conditions.used + w.now_asked + w.event_count, 0);
	assert_over();
}
END_TEST

START_TEST(nothing_known_is_nothing_done)
{
	int error = -1;
	int rc = -1;

	setup();
	ck_assert_int_eq(pending_event(&no_ops, NULL, FD, true), SIGHT_SHOW);
	ck_assert(!pending_hidden(&no_ops, NULL, FD));
	ck_assert_int_eq(pending_ask(&no_ops, NULL, FD, &error), ANSWER_CALL);
	ck_assert_int_eq(pending_result(&no_ops, NULL, FD, ECONNREFUSED), ECONNREFUSED);
	ck_assert_int_eq(pending_result(&no_ops, NULL, FD, EISCONN), EISCONN);
	pending_connected(&no_ops, NULL, FD);
	pending_closing(&no_ops, NULL, FD);
	pending_withdraw(&no_ops, NULL, FD);
	pending_swallowed(&no_ops, NULL, EP, FD);
	pending_unknown_event(&no_ops, NULL);
	ck_assert(!pending_epoll_ctl(&no_ops, NULL, EP, EPOLL_CTL_ADD, FD, EPOLLIN, 1, &rc));
	ck_assert_int_eq(error, -1);
	ck_assert_int_eq(rc, -1);
	/* What fits nowhere is not remembered. */
	begin(-1);
	begin(FDTAB_FDS);
	sa_len = sizeof(sa) + 1;
	begin(FD);
	assert_over();
}
END_TEST

START_TEST(a_failure_is_taken_and_waited_out)
{
	int error = -1;

	setup();
	begin(FD);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	ck_assert_uint_eq(w.dissolved, 1);
	ck_assert_uint_eq(w.errors.used, 2); /* and what dissolving leaves */
	ck_assert_uint_eq(w.thread, THREAD);
	ck_assert_int_eq(fdtab_next_due(), w.clock + 100 * DUR_MS);
	ck_assert_uint_eq(w.event_count, 1);
	ck_assert_int_eq(w.events[0].kind, EVENT_RETRY);
	ck_assert_uint_eq(w.events[0].attempt, 1);
	ck_assert_int_eq(w.events[0].error.code, ECONNREFUSED);
	ck_assert_int_eq(w.events[0].wait, 100 * DUR_MS);
	ck_assert_str_eq(w.dests[0], "127.0.0.1:5432");
	/* Whatever the program does now, it sees a connect under way. */
	w.clock += 100 * DUR_MS - 1;
	ck_assert(pending_hidden(&world_ops, &w, FD));
	ck_assert_int_eq(ask(FD, &error), ANSWER_PENDING);
	ck_assert_int_eq(error, -1);
	ck_assert_int_eq(event(FD, true), SIGHT_HIDE);
	ck_assert_int_eq(event(FD, false), SIGHT_HIDE);
	ck_assert_int_eq(result(FD, ECONNREFUSED), 0);
	ck_assert_int_eq(result(FD, ECONNABORTED), 0);
	for (size_t i = 0; i < ARRAY_LEN(no_outcome); i++)
		ck_assert_int_eq(result(FD, no_outcome[i]), no_outcome[i]);
	pending_connected(&world_ops, &w, FD);
	wait_drive(&world_ops, &w);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	ck_assert_uint_eq(actions(), 3);
	closing(FD);
	assert_over();
}
END_TEST

START_TEST(retried_until_it_succeeds)
{
	setup();
	begin(FD);
	w.clock += 3 * DUR_MS;
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
	ck_assert_int_eq(w.events[0].elapsed, 3 * DUR_MS);
	ck_assert_int_eq(next_attempt(), 100 * DUR_MS);
	ck_assert_uint_eq(w.starts.used, 1);
	ck_assert_int_eq(w.started_fd[0], FD);
	ck_assert_int_eq(w.started_to[0].port, 5432);
	ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	ck_assert(!pending_hidden(&world_ops, &w, FD));
	w.clock += 2 * DUR_MS;
	ck_assert_int_eq(fails(FD, ETIMEDOUT), SIGHT_HIDE);
	ck_assert_uint_eq(w.events[1].attempt, 2);
	ck_assert_int_eq(w.events[1].error.code, ETIMEDOUT);
	ck_assert_int_eq(w.events[1].elapsed, 2 * DUR_MS);
	ck_assert_int_eq(next_attempt(), 200 * DUR_MS);
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	ck_assert_uint_eq(w.event_count, 3);
	ck_assert_int_eq(w.events[2].kind, EVENT_RECOVERED);
	ck_assert_uint_eq(w.events[2].attempts, 3);
	ck_assert_int_eq(w.events[2].waited, 300 * DUR_MS);
	ck_assert_uint_eq(w.dissolved, 2);
	ck_assert_uint_eq(w.starts.used, 2);
	assert_over();
	/* What the kernel may say of a socket that somebody else connects. */
	setup();
	in_backoff(FD);
	WORLD_SCRIPT(&w.starts, EALREADY, EISCONN);
	next_attempt();
	ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
	next_attempt();
	ck_assert_int_eq(last_event()->kind, EVENT_RECOVERED);
	assert_over();
	/* An attempt made late was waited for longer. */
	setup();
	in_backoff(FD);
	w.clock += DUR_S;
	wait_drive(&world_ops, &w);
	pending_connected(&world_ops, &w, FD);
	ck_assert_int_eq(last_event()->kind, EVENT_RECOVERED);
	ck_assert_int_eq(last_event()->waited, DUR_S);
	assert_over();
}
END_TEST

/* A program that never waits, but asks again and again. */
START_TEST(asking_makes_the_attempt_that_is_due)
{
	int error = -1;

	setup();
	in_backoff(FD);
	w.clock = fdtab_next_due();
	w.conditions.rest = CONDITION_TRYING;
	ck_assert_int_eq(ask(FD, &error), ANSWER_CALL);
	ck_assert_uint_eq(w.starts.used, 1);
	ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	/* It fails, and the call that was made reads it. */
	w.conditions.rest = CONDITION_CLOSED;
	ck_assert_int_eq(result(FD, ECONNREFUSED), 0);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	ck_assert_int_eq(ask(FD, &error), ANSWER_PENDING);
	w.clock = fdtab_next_due();
	/* Fails at once, and is not to be retried: delivered by this very call. */
	WORLD_SCRIPT(&w.starts, EACCES);
	ck_assert_int_eq(ask(FD, &error), ANSWER_ERROR);
	ck_assert_int_eq(error, EACCES);
	ck_assert_int_eq(ask(FD, &error), ANSWER_CALL);
	assert_over();
}
END_TEST

/* The failure of the last attempt stays where the kernel put it. */
START_TEST(the_last_attempt_is_native)
{
	/* How the program learns of it. */
	enum { READS, READS_UNTOLD, LOOKS_AGAIN, CLOSES, WITHDRAWS, WAYS };

	for (int way = 0; way < WAYS; way++) {
		unsigned before;

		setup();
		p.max_attempts = 3;
		at_attempt(FD, 3);
		w.errors.used = 0;
		before = actions();
		w.conditions.rest = CONDITION_CLOSED;
		if (way != READS_UNTOLD) {
			ck_assert_int_eq(fails(FD, ETIMEDOUT), SIGHT_SHOW);
			ck_assert_int_eq(state_of(FD), PEND_REPORTED);
			ck_assert(!pending_hidden(&world_ops, &w, FD));
			ck_assert_int_eq(ask(FD, NULL), ANSWER_CALL);
		}
		if (way == LOOKS_AGAIN)
			for (int i = 0; i < 3; i++)
				ck_assert_int_eq(event(FD, true), SIGHT_SHOW);
		ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 0);
		if (way == CLOSES)
			closing(FD);
		else if (way == WITHDRAWS)
			pending_withdraw(&world_ops, &w, FD);
		else
			ck_assert_int_eq(result(FD, ETIMEDOUT), ETIMEDOUT);
		/* Unread, the error is the one before: the best that is known. */
		assert_gave_up(REASON_ATTEMPTS,
		               way == CLOSES || way == WITHDRAWS ? ECONNREFUSED : ETIMEDOUT, 3);
		ck_assert_int_eq(last_event()->waited, 300 * DUR_MS);
		ck_assert_uint_eq(actions(), before);
		/* The program is done with it, and we are. */
		ck_assert_int_eq(result(FD, ETIMEDOUT), ETIMEDOUT);
		closing(FD);
		ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 1);
		assert_over();
	}
}
END_TEST

START_TEST(a_taken_error_that_nobody_retries_is_delivered_once)
{
	setup();
	w.level = LOG_DEBUG_LEVEL;
	owes(FD);
	ck_assert_uint_eq(w.errors.used, 1);
	ck_assert_uint_eq(w.dissolved, 0);
	ck_assert_uint_eq(w.event_count, 1);
	ck_assert_int_eq(w.events[0].kind, EVENT_PASSED);
	ck_assert_int_eq(w.events[0].reason, REASON_NOT_RETRYABLE);
	/* Until it is read, every wait shows it. */
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW_ERROR);
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW_ERROR);
	ck_assert(!pending_hidden(&world_ops, &w, FD));
	ck_assert_int_eq(fdtab_next_due(), w.clock + 5 * DUR_S);
	w.clock += 6 * DUR_S;
	wait_drive(&world_ops, &w);
	ck_assert_int_eq(fdtab_next_due(), w.clock + 5 * DUR_S);
	assert_delivered_once(FD, EACCES);
	assert_over();
	/* The same at a later attempt. */
	setup();
	at_attempt(FD, 2);
	ck_assert_int_eq(fails(FD, EPERM), SIGHT_SHOW_ERROR);
	assert_gave_up(REASON_NOT_RETRYABLE, EPERM, 2);
	assert_delivered_once(FD, EPERM);
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW);
	assert_over();
	/* Another thread's call has got one of the kernel's own meanwhile. */
	setup();
	owes(FD);
	ck_assert_int_eq(result(FD, ECONNRESET), ECONNRESET);
	ck_assert_int_eq(ask(FD, NULL), ANSWER_CALL);
	assert_over();
	/* Or never read. */
	setup();
	owes(FD);
	closing(FD);
	ck_assert_uint_eq(w.event_count, 0);
	assert_over();
}
END_TEST

/* What the program's own call has read goes through it. */
START_TEST(an_error_that_the_program_read)
{
	setup();
	begin(FD);
	w.conditions.rest = CONDITION_CLOSED;
	ck_assert_int_eq(result(FD, ECONNREFUSED), 0);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	ck_assert_uint_eq(w.dissolved, 1);
	ck_assert_uint_eq(world_count(&w, EVENT_RETRY), 1);
	next_attempt();
	w.conditions.rest = CONDITION_CLOSED;
	ck_assert_int_eq(result(FD, EACCES), EACCES);
	assert_gave_up(REASON_NOT_RETRYABLE, EACCES, 2);
	ck_assert_uint_eq(w.dissolved, 1);
	assert_over();
}
END_TEST

START_TEST(failures_that_are_the_programs)
{
	static const enum reason rows[] = { REASON_SPECIAL,       REASON_OFF,
		                            REASON_STOPPING,      REASON_OTHER_ADDRESS,
		                            REASON_NAME_EXHAUSTED, REASON_NONE };

	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		enum reason reason = rows[i / 2];

		setup();
		w.level = LOG_DEBUG_LEVEL;
		set_up_native(reason);
		fdtab_watch_set(FD, EP, EPOLLIN, 1);
		begin(FD);
		if (i % 2) {
			ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW);
		} else {
			w.conditions.rest = CONDITION_CLOSED;
			ck_assert_int_eq(result(FD, ECONNREFUSED), ECONNREFUSED);
		}
		ck_assert_uint_eq(actions(), 0);
		ck_assert_uint_eq(w.event_count, reason != REASON_NONE);
		if (reason != REASON_NONE) {
			ck_assert_int_eq(w.events[0].kind, EVENT_PASSED);
			ck_assert_int_eq(w.events[0].reason, reason);
		}
		ck_assert_int_eq(ask(FD, NULL), ANSWER_CALL);
		assert_over();
	}
	/* A rule that names it makes a special address ours. */
	setup();
	set_up_native(REASON_SPECIAL);
	rule.source.file = "libretry.conf";
	rule.source.line = 77;
	w.rule = &rule;
	in_backoff(FD);
	ck_assert_uint_eq(w.events[0].rule.line, 77);
	closing(FD);
	assert_over();
}
END_TEST

START_TEST(observing_changes_nothing)
{
	for (unsigned i = 0; i < 6; i++) {
		setup();
		fdtab_watch_set(FD, EP, EPOLLIN, 1);
		w.level = LOG_DEBUG_LEVEL;
		w.mode = i % 2 ? MODE_OBSERVE : MODE_RETRY;
		p.nonblocking = i % 2 ? NONBLOCKING_DEFERRED : NONBLOCKING_OBSERVE;
		begin(FD);
		w.conditions.rest = CONDITION_CLOSED;
		if (i / 2 != 0) {
			ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW);
			ck_assert_int_eq(state_of(FD), PEND_REPORTED);
			ck_assert_int_eq(event(FD, true), SIGHT_SHOW);
			ck_assert_uint_eq(w.event_count, 0);
		}
		if (i / 2 == 1) {
			/* Never read: what it was is not known. */
			closing(FD);
			ck_assert_uint_eq(w.event_count, 0);
		} else {
			ck_assert_int_eq(result(FD, ECONNREFUSED), ECONNREFUSED);
			ck_assert_uint_eq(w.event_count, 1);
			ck_assert_int_eq(w.events[0].kind, EVENT_WOULD_RETRY);
			ck_assert_int_eq(w.events[0].error.code, ECONNREFUSED);
			ck_assert_int_eq(w.events[0].wait, 100 * DUR_MS);
		}
		ck_assert_uint_eq(actions(), 0);
		assert_over();
	}
}
END_TEST

/* A wait reports what was true before the attempt that goes on now. */
START_TEST(stale_reports)
{
	setup();
	at_attempt(FD, 2);
	w.conditions.rest = CONDITION_TRYING;
	w.errors.used = 0;
	ck_assert_int_eq(event(FD, true), SIGHT_HIDE);
	ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	ck_assert_uint_eq(w.errors.used, 0);
	/* Readiness of another descriptor with the same data is no success, nor is one
	 * from before a failure that is still to be reported. */
	w.event_count = 0;
	for (unsigned i = 0; i < 2; i++) {
		w.conditions.rest = i ? CONDITION_CLOSED : CONDITION_TRYING;
		ck_assert_int_eq(pending_event(&world_ops, &w, FD, false), SIGHT_HIDE);
		ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
		ck_assert_uint_eq(w.event_count, 0);
	}
	w.conditions.rest = CONDITION_TRYING;
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	ck_assert_int_eq(last_event()->kind, EVENT_RECOVERED);
	assert_over();
}
END_TEST

START_TEST(connected_and_broken_is_the_programs)
{
	for (unsigned attempt = 1; attempt <= 2; attempt++)
		for (int read = 0; read < 2; read++) {
			unsigned before;

			setup();
			at_attempt(FD, attempt);
			before = actions();
			w.conditions.rest = CONDITION_CONNECTED;
			if (read)
				ck_assert_int_eq(result(FD, ECONNRESET), ECONNRESET);
			else
				ck_assert_int_eq(event(FD, true), SIGHT_SHOW);
			ck_assert_uint_eq(actions(), before);
			ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), attempt - 1);
			assert_over();
		}
}
END_TEST

START_TEST(an_error_that_somebody_else_has_taken)
{
	setup();
	w.level = LOG_DEBUG_LEVEL;
	begin(FD);
	ck_assert_int_eq(fails(FD, 0), SIGHT_SHOW);
	ck_assert_uint_eq(w.dissolved, 0);
	ck_assert_uint_eq(w.event_count, 0);
	ck_assert_int_eq(ask(FD, NULL), ANSWER_CALL);
	assert_over();
	/* Another thread that got it may be about to say so: it has a moment. */
	setup();
	w.threads = true;
	begin(FD);
	ck_assert_int_eq(fails(FD, 0), SIGHT_HIDE);
	ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	w.clock += FDTAB_PATIENCE;
	ck_assert_int_eq(fails(FD, 0), SIGHT_SHOW);
	assert_over();
}
END_TEST

START_TEST(connected_to_itself_counts_as_refused)
{
	setup();
	at_attempt(FD, 2);
	w.self_connect = true;
	ck_assert_int_eq(event(FD, false), SIGHT_HIDE);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	ck_assert_uint_eq(w.dissolved, 2);
	ck_assert_int_eq(last_event()->kind, EVENT_RETRY);
	ck_assert_int_eq(last_event()->error.code, ECONNREFUSED);
	/* As the answer of start(). */
	WORLD_SCRIPT(&w.starts, 0, 0);
	w.self_connect = true;
	next_attempt();
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	next_attempt();
	ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 1);
	ck_assert_uint_eq(last_event()->attempts, 4);
	assert_over();
	/* At the last attempt the truth is that nobody was there. */
	setup();
	p.max_attempts = 2;
	begin(FD);
	ck_assert_int_eq(fails(FD, ETIMEDOUT), SIGHT_HIDE);
	next_attempt();
	w.self_connect = true;
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW_ERROR);
	assert_gave_up(REASON_ATTEMPTS, ECONNREFUSED, 2);
	ck_assert_uint_eq(w.dissolved, 2);
	assert_delivered_once(FD, ECONNREFUSED);
	assert_over();
	setup();
	p.max_attempts = 2;
	in_backoff(FD);
	WORLD_SCRIPT(&w.starts, 0);
	w.self_connect = true;
	next_attempt();
	ck_assert_uint_eq(w.dissolved, 2);
	assert_delivered_once(FD, ECONNREFUSED);
	assert_over();
	/* The first attempt is the program's own. */
	for (int looked = 0; looked < 2; looked++) {
		setup();
		begin(FD);
		if (looked)
			ck_assert_int_eq(event(FD, true), SIGHT_HIDE);
		w.self_connect = true;
		ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
		ck_assert_uint_eq(actions() + w.event_count, 0);
		assert_over();
	}
}
END_TEST

/* connect() a second time says EISCONN. */
START_TEST(connected_to_itself_is_no_success_for_a_second_connect)
{
	setup();
	at_attempt(FD, 2);
	w.self_connect = true;
	ck_assert_int_eq(result(FD, EISCONN), 0);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	/* From before, of another thread. */
	ck_assert_int_eq(result(FD, EISCONN), 0);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 0);
	closing(FD);
	assert_over();
	setup();
	p.max_attempts = 2;
	at_attempt(FD, 2);
	w.self_connect = true;
	ck_assert_int_eq(result(FD, EISCONN), ECONNREFUSED);
	assert_gave_up(REASON_ATTEMPTS, ECONNREFUSED, 2);
	assert_over();
	setup();
	at_attempt(FD, 2);
	ck_assert_int_eq(result(FD, EISCONN), EISCONN);
	ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 1);
	assert_over();
}
END_TEST

UNIT_MAIN("pending", &success_makes_no_call, &nothing_known_is_nothing_done,
          &a_failure_is_taken_and_waited_out, &retried_until_it_succeeds,
          &asking_makes_the_attempt_that_is_due, &the_last_attempt_is_native,
          &a_taken_error_that_nobody_retries_is_delivered_once, &an_error_that_the_program_read,
          &failures_that_are_the_programs, &observing_changes_nothing, &stale_reports,
          &connected_and_broken_is_the_programs, &an_error_that_somebody_else_has_taken,
          &connected_to_itself_counts_as_refused,
          &connected_to_itself_is_no_success_for_a_second_connect)
