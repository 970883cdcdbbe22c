/* SPDX-License-Identifier: MIT */
#include "engine/retry.h"
#include "tests/unit/call.h"

/* The seed's seven rows: calls, waits, result. */
START_TEST(seven_rows)
{
	static const struct {
		const char *what;
		unsigned max_attempts;
		enum jitter jitter;
		int64_t base, max;
		int results[4];
		unsigned result_count;
		int error;
		unsigned calls, waits;
		int64_t wait[4];
	} rows[] = {
		{ "2.25 first success: one call, no wait", 6, JITTER_NONE, DUR_S, 30 * DUR_S, { 0 },
		  1, 0, 1, 0, { 0 } },
		{ "2.26 two failures, then success: three calls, two waits", 6, JITTER_NONE, DUR_S,
		  30 * DUR_S, { ECONNREFUSED, ETIMEDOUT, 0 }, 3, 0, 3, 2, { 1, 2 } },
		{ "2.27 no retries: one call, the error at once", 1, JITTER_NONE, DUR_S, 30 * DUR_S,
		  { ECONNREFUSED }, 1, ECONNREFUSED, 1, 0, { 0 } },
		{ "2.28 not retryable: the error, no wait", 6, JITTER_NONE, DUR_S, 30 * DUR_S,
		  { EACCES }, 1, EACCES, 1, 0, { 0 } },
		{ "2.29 limit reached: the last error, no wait after it", 3, JITTER_NONE, DUR_S,
		  30 * DUR_S, { ECONNREFUSED, ECONNREFUSED, EHOSTUNREACH }, 3, EHOSTUNREACH, 3, 2,
		  { 1, 2 } },
		{ "2.30 one second, cap three: 1 2 3 3", 5, JITTER_NONE, DUR_S, 3 * DUR_S,
		  { ECONNREFUSED }, 1, ECONNREFUSED, 5, 4, { 1, 2, 3, 3 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		setup();
		p.max_attempts = rows[i].max_attempts;
		p.backoff.jitter = rows[i].jitter;
		p.backoff.base = rows[i].base;
		p.backoff.max = rows[i].max;
		script(rows[i].result_count, rows[i].results);
		ck_assert_msg(run() == rows[i].error, "%s", rows[i].what);
		ck_assert_msg(w.calls == rows[i].calls, "%s", rows[i].what);
		ck_assert_msg(w.wait_count == rows[i].waits, "%s", rows[i].what);
		for (unsigned j = 0; j < rows[i].waits; j++)
			ck_assert_msg(w.waits[j] == rows[i].wait[j] * DUR_S, "%s", rows[i].what);
	}
	/* 2.31 full jitter: each wait within its ceiling. */
	for (uint64_t seed = 0; seed < 200; seed++) {
		static const int64_t ceiling[] = { 1, 2, 3, 3 };

		setup();
		prng_seed(&w.random, seed);
		p.backoff.jitter = JITTER_FULL;
		p.backoff.base = DUR_S;
		p.backoff.max = 3 * DUR_S;
		SCRIPT(ECONNREFUSED);
		ck_assert_int_eq(run(), ECONNREFUSED);
		ck_assert_uint_eq(w.wait_count, 4);
		for (unsigned j = 0; j < 4; j++) {
			ck_assert_int_ge(w.waits[j], 0);
			ck_assert_int_le(w.waits[j], ceiling[j] * DUR_S);
		}
	}
}
END_TEST

START_TEST(log_of_a_recovery)
{
	setup();
	SCRIPT(ECONNREFUSED, ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.event_count, 3);
	ck_assert(w.events[0].kind == EVENT_RETRY && w.events[0].attempt == 1);
	ck_assert_uint_eq(w.events[0].max_attempts, 5);
	ck_assert_str_eq(w.dests[0], "127.0.0.1:5432");
	ck_assert_int_eq(w.events[0].error.code, ECONNREFUSED);
	ck_assert_int_eq(w.events[0].elapsed, DUR_MS);
	ck_assert_int_eq(w.events[0].left, 30 * DUR_S - DUR_MS);
	ck_assert(w.events[1].kind == EVENT_RETRY && w.events[1].attempt == 2);
	ck_assert(w.events[2].kind == EVENT_RECOVERED && w.events[2].attempts == 3);
	ck_assert_int_eq(w.events[2].waited, 300 * DUR_MS);
}
END_TEST

START_TEST(log_of_a_failure)
{
	setup();
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(world_count(&w, EVENT_RETRY), 4);
	ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 1);
	ck_assert(w.events[4].reason == REASON_ATTEMPTS && w.events[4].attempts == 5);
	/* A success at the first attempt, or a failure that is not ours, says
	 * nothing. */
	setup();
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.event_count, 0);
	setup();
	SCRIPT(EACCES);
	ck_assert_int_eq(run(), EACCES);
	ck_assert_uint_eq(w.event_count, 0);
	setup();
	w.level = LOG_DEBUG_LEVEL;
	SCRIPT(EACCES);
	run();
	ck_assert_uint_eq(world_count(&w, EVENT_PASSED), 1);
}
END_TEST

START_TEST(deadline_stops_before_the_wait_that_would_pass_it)
{
	setup();
	p.max_attempts = 1000;
	p.backoff.base = DUR_S;
	p.backoff.max = DUR_S;
	p.deadline = 5 * DUR_S;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_int_lt(w.clock - call.began, 5 * DUR_S);
	ck_assert_uint_eq(w.calls, 5);
	ck_assert(w.events[w.event_count - 1].reason == REASON_DEADLINE);
}
END_TEST

START_TEST(attempt_timeout_is_clipped_and_counts_as_etimedout)
{
	setup();
	p.attempt_timeout = 2 * DUR_S;
	p.deadline = 5 * DUR_S;
	p.backoff.base = DUR_S;
	w.call_time = 2 * DUR_S;
	SCRIPT(EINPROGRESS);
	ck_assert_int_eq(run(), ETIMEDOUT);
	ck_assert_uint_eq(w.calls, 2);
	ck_assert_int_eq(w.limits[0], 2 * DUR_S);
	ck_assert_int_eq(w.limits[1], 2 * DUR_S);
	ck_assert_uint_eq(w.dissolved, 2);
	setup();
	p.attempt_timeout = 4 * DUR_S;
	p.deadline = 6 * DUR_S;
	p.backoff.base = DUR_S;
	w.call_time = 4 * DUR_S;
	SCRIPT(EINPROGRESS);
	ck_assert_int_eq(run(), ETIMEDOUT);
	ck_assert_int_eq(w.limits[1], 1 * DUR_S);
}
END_TEST

/* The first attempt may take the kernel's time, as alone. One that only we make ends
 * with the deadline, and says nothing new. */
START_TEST(the_deadline_bounds_our_attempts)
{
	setup();
	p.deadline = 5 * DUR_S;
	p.backoff.base = DUR_S;
	w.call_time = 4 * DUR_S - DUR_MS;
	SCRIPT(ECONNREFUSED, EINPROGRESS);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_int_eq(w.limits[0], DUR_NONE);
	ck_assert_int_eq(w.limits[1], DUR_MS);
	ck_assert_uint_eq(w.calls, 2);
	ck_assert_uint_eq(w.dissolved, 1);
	ck_assert(w.events[w.event_count - 1].reason == REASON_DEADLINE);
}
END_TEST

/* A SO_SNDTIMEO of the program's bounds the whole call, and an attempt that
 * it ends goes on in the kernel: the program expects EINPROGRESS. */
START_TEST(the_programs_own_bound)
{
	setup();
	call.limit = DUR_S;
	SCRIPT(EINPROGRESS);
	ck_assert_int_eq(run(), EINPROGRESS);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_int_eq(w.limits[0], DUR_NONE); /* its own value stands */
	ck_assert_uint_eq(w.dissolved, 0);
	setup();
	call.limit = DUR_S;
	p.max_attempts = 100;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_int_lt(w.clock - call.began, DUR_S);
	ck_assert_int_eq(w.limits[1], DUR_S - 101 * DUR_MS);
	setup();
	call.limit = DUR_S;
	p.attempt_timeout = 3 * DUR_S;
	SCRIPT(ECONNREFUSED, EINPROGRESS);
	ck_assert_int_eq(run(), EINPROGRESS);
	ck_assert_uint_eq(w.dissolved, 0);
}
END_TEST

START_TEST(native_results_go_straight_through)
{
	static const int codes[] = { EINTR, EINPROGRESS, EALREADY, EISCONN };

	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		setup();
		SCRIPT(codes[i]);
		ck_assert_int_eq(run(), codes[i]);
		ck_assert_uint_eq(w.wait_count, 0);
		setup();
		p.deadline = DUR_NONE; /* which would end the second one as well */
		SCRIPT(ECONNREFUSED, codes[i]);
		ck_assert_int_eq(run(), codes[i]);
		ck_assert_uint_eq(w.wait_count, 1);
	}
}
END_TEST

START_TEST(interrupted_waits_return_the_last_real_error)
{
	setup();
	SCRIPT(ECONNREFUSED);
	w.wake_at = 2;
	w.wake = WAKE_INTERRUPTED;
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 2);
	ck_assert(w.events[2].kind == EVENT_GAVE_UP && w.events[2].reason == REASON_INTERRUPTED);
	ck_assert_uint_eq(w.events[2].attempts, 2);
	setup();
	SCRIPT(ECONNREFUSED);
	w.wake_at = 1;
	w.wake = WAKE_STOPPING;
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert(w.events[1].kind == EVENT_GAVE_UP && w.events[1].reason == REASON_STOPPING);
	/* After a stop signal nothing is retried. */
	setup();
	w.stop = true;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_uint_eq(w.wait_count, 0);
}
END_TEST

START_TEST(self_connection_counts_as_refused)
{
	setup();
	SCRIPT(ECONNREFUSED, 0, 0);
	w.self_connect = true;
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.calls, 3);
	ck_assert_uint_eq(w.dissolved, 1);
	ck_assert_int_eq(w.events[1].error.code, ECONNREFUSED);
	/* Not looked for at the first attempt: that is the program's own. */
	setup();
	SCRIPT(0);
	w.self_connect = true;
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(w.calls, 1);
}
END_TEST

START_TEST(a_descriptor_closed_during_the_wait_is_left_alone)
{
	setup();
	SCRIPT(ECONNREFUSED);
	w.closed_at = 2;
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 2);
	ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 1);
	ck_assert_uint_eq(w.events[2].attempts, 2);
	ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 0);
}
END_TEST

/* Closed while the kernel tried: nothing may be done to what has the number. */
START_TEST(a_descriptor_closed_during_the_attempt_is_left_alone)
{
	setup();
	p.attempt_timeout = DUR_S;
	SCRIPT(ECONNREFUSED, EINPROGRESS);
	w.closed_in_call = 2;
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 2);
	ck_assert_uint_eq(w.dissolved, 0);
	ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 1);
}
END_TEST

START_TEST(observe_decides_and_changes_nothing)
{
	setup();
	call.mode = MODE_OBSERVE;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_uint_eq(w.wait_count, 0);
	ck_assert_uint_eq(world_count(&w, EVENT_WOULD_RETRY), 1);
	ck_assert_int_eq(w.events[0].wait, 100 * DUR_MS);
}
END_TEST

/* For those who do not wait themselves: the same verdicts and lines. */
START_TEST(a_decision_alone_does_not_wait)
{
	static const struct {
		int error;
		unsigned attempt;
		enum mode mode;
		bool stop;
		bool again;
		enum event_kind line;
		enum reason ended;
	} rows[] = {
		{ ECONNREFUSED, 1, MODE_RETRY, false, true, EVENT_RETRY, REASON_NONE },
		{ ECONNREFUSED, 4, MODE_RETRY, false, true, EVENT_RETRY, REASON_NONE },
		{ ECONNREFUSED, 5, MODE_RETRY, false, false, EVENT_GAVE_UP, REASON_ATTEMPTS },
		{ ECONNREFUSED, 1, MODE_OBSERVE, false, false, EVENT_WOULD_RETRY, REASON_NONE },
		{ ECONNREFUSED, 1, MODE_RETRY, true, false, EVENT_PASSED, REASON_STOPPING },
		{ ECONNREFUSED, 2, MODE_RETRY, true, false, EVENT_GAVE_UP, REASON_STOPPING },
		{ EACCES, 1, MODE_RETRY, false, false, EVENT_PASSED, REASON_NOT_RETRYABLE },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct decision d = { .wait = -1 };
		struct retry r;

		setup();
		w.level = LOG_DEBUG_LEVEL;
		w.stop = rows[i].stop;
		r = (struct retry){ .ops = &world_ops,
		                    .ctx = &w,
		                    .mode = rows[i].mode,
		                    .policy = &p,
		                    .dest = "db:1",
		                    .addr = &target,
		                    .began = w.clock,
		                    .attempt_began = w.clock,
		                    .limit = DUR_NONE,
		                    .attempt = rows[i].attempt };
		ck_assert_msg(retry_decide(&r, (struct err){ ERR_ERRNO, rows[i].error },
		                           rows[i].error, &d) == rows[i].again, "row %zu", i);
		ck_assert_msg(w.event_count == 1 && w.events[0].kind == rows[i].line, "row %zu", i);
		ck_assert_msg(r.ended == rows[i].ended, "row %zu", i);
		ck_assert_uint_eq(r.attempt, rows[i].attempt);
		ck_assert(r.waited == 0 && r.previous_wait == 0);
		ck_assert(w.wait_count == 0 && w.now_asked <= 2);
		if (rows[i].again)
			ck_assert_int_eq(d.wait, (100 * DUR_MS) << (rows[i].attempt - 1));
	}
}
END_TEST

UNIT_MAIN("connect", &seven_rows, &log_of_a_recovery, &log_of_a_failure,
          &deadline_stops_before_the_wait_that_would_pass_it, &the_deadline_bounds_our_attempts,
          &attempt_timeout_is_clipped_and_counts_as_etimedout, &the_programs_own_bound,
          &native_results_go_straight_through, &interrupted_waits_return_the_last_real_error,
          &self_connection_counts_as_refused, &a_descriptor_closed_during_the_wait_is_left_alone,
          &a_descriptor_closed_during_the_attempt_is_left_alone,
          &observe_decides_and_changes_nothing, &a_decision_alone_does_not_wait)
