/* SPDX-License-Identifier: MIT */
/* Attempts of a non-blocking connect that fail at once, take too long, or are
 * the last because something else has happened. */
#include "engine/pending.h"

#include "tests/unit/under_way.h"

static int fail_at_once(int error)
{
	struct pending_call call = call_of(FD, DUR_NONE);
	struct target t;

	memset(&t, 0, sizeof(t));
	t.mode = w.mode;
	t.policy = &p;
	t.rule = w.rule;
	addr_from_sockaddr(&t.addr, call.sa, call.len < sizeof(sa) ? call.len : sizeof(sa));
	return pending_failed_at_once(&world_ops, &w, &call, &t, error);
}

START_TEST(failures_at_once)
{
	static const struct {
		const char *path; /* NULL: TCP */
		bool rule;
		int error;
		int64_t wait; /* 0: the program gets the error */
	} rows[] = {
		{ NULL, false, ENETUNREACH, 100 * DUR_MS },
		{ NULL, true, ECONNREFUSED, 100 * DUR_MS },
		{ NULL, false, EADDRNOTAVAIL, DUR_S },
		{ NULL, true, EACCES, 0 },
		{ "/run/x", false, ECONNREFUSED, 0 },
		{ "/run/x", false, EAGAIN, 0 },
		{ "/run/x", true, ECONNREFUSED, 100 * DUR_MS },
		{ "/run/x", true, EAGAIN, DUR_S },
		{ "/run/x", true, ENOENT, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool retried = rows[i].wait != 0;

		setup();
		if (rows[i].path)
			aim_at_path(rows[i].path);
		w.rule = rows[i].rule ? &rule : NULL;
		fdtab_watch_set(FD, EP, EPOLLOUT, 1);
		ck_assert_msg(fail_at_once(rows[i].error) ==
		                      (retried ? EINPROGRESS : rows[i].error),
		              "row %zu", i);
		ck_assert_uint_eq(w.dissolved, retried);
		ck_assert_uint_eq(w.ctl_count, retried);
		ck_assert_int_eq(state_of(FD), retried ? PEND_BACKOFF : PEND_FREE);
		if (retried) {
			ck_assert_int_eq(next_attempt(), rows[i].wait);
			ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
			ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 1);
		}
		assert_over();
	}
}
END_TEST

START_TEST(failures_at_once_that_are_the_programs)
{
	static const enum reason rows[] = { REASON_SPECIAL,       REASON_OFF,
		                            REASON_STOPPING,      REASON_OTHER_ADDRESS,
		                            REASON_NAME_EXHAUSTED, REASON_NONE };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		setup();
		set_up_native(rows[i]);
		ck_assert_int_eq(fail_at_once(ENETUNREACH), ENETUNREACH);
		ck_assert_uint_eq(actions(), 0);
		assert_over();
	}
	for (int i = 0; i < 3; i++) {
		setup();
		w.mode = i == 0 ? MODE_OBSERVE : MODE_RETRY;
		p.nonblocking = i == 1   ? NONBLOCKING_OBSERVE
		                : i == 2 ? NONBLOCKING_BLOCK
		                         : NONBLOCKING_DEFERRED;
		ck_assert_int_eq(fail_at_once(ENETUNREACH), ENETUNREACH);
		ck_assert_uint_eq(actions(), 0);
		assert_over();
	}
	/* No socket, or none that can be remembered. */
	setup();
	w.identities[FD] = 0;
	ck_assert_int_eq(fail_at_once(ENETUNREACH), ENETUNREACH);
	w.identities[FD] = WORLD_SOCKET;
	sa_len = sizeof(sa) + 1;
	ck_assert_int_eq(fail_at_once(ENETUNREACH), ENETUNREACH);
	ck_assert_uint_eq(actions(), 0);
	assert_over();
}
END_TEST

START_TEST(a_later_attempt_fails_at_once)
{
	setup();
	p.max_attempts = 3;
	fdtab_watch_set(FD, EP, EPOLLIN, 1);
	in_backoff(FD);
	w.starts.rest = ENETUNREACH;
	ck_assert_int_eq(next_attempt(), 100 * DUR_MS);
	/* Still silent, and asleep again. */
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	ck_assert_uint_eq(w.ctl_count, 1);
	ck_assert_uint_eq(w.dissolved, 2);
	ck_assert_int_eq(next_attempt(), 200 * DUR_MS);
	ck_assert_int_eq(state_of(FD), PEND_FAILED);
	assert_gave_up(REASON_ATTEMPTS, ENETUNREACH, 3);
	ck_assert_uint_eq(w.ctl_count, 2);
	ck_assert_uint_eq(w.ctls[1].events, EPOLLIN);
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW_ERROR);
	ck_assert_int_ge(fdtab_next_due(), w.clock + DUR_S);
	assert_delivered_once(FD, ENETUNREACH);
	assert_over();
}
END_TEST

/* connect() of a Unix socket answers at once. */
START_TEST(a_later_attempt_succeeds_at_once)
{
	setup();
	aim_at_path("/run/x");
	fdtab_watch_set(FD, EP, EPOLLIN, 1);
	in_backoff(FD);
	WORLD_SCRIPT(&w.starts, 0);
	w.self_connect = true; /* which a Unix socket cannot be */
	next_attempt();
	ck_assert_int_eq(last_event()->kind, EVENT_RECOVERED);
	ck_assert_str_eq(w.dests[w.event_count - 1], "/run/x");
	ck_assert_uint_eq(w.ctl_count, 2);
	ck_assert_uint_eq(w.ctls[1].events, EPOLLIN);
	assert_over();
}
END_TEST

START_TEST(attempt_timeout_of_every_attempt)
{
	setup();
	p.max_attempts = 3;
	p.attempt_timeout = 2 * DUR_S;
	begin_limited(FD, 2 * DUR_S);
	ck_assert_int_eq(fdtab_next_due(), w.clock + 2 * DUR_S);
	w.clock += 2 * DUR_S - 1;
	wait_drive(&world_ops, &w);
	ck_assert_int_eq(event(FD, true), SIGHT_HIDE);
	ck_assert_uint_eq(w.dissolved, 0);
	for (unsigned i = 1; i < 3; i++) {
		ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
		next_attempt();
		ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
		ck_assert_uint_eq(w.dissolved, i);
		ck_assert_uint_eq(w.errors.used, i); /* what dissolving leaves */
		ck_assert_int_eq(last_event()->kind, EVENT_RETRY);
		ck_assert_int_eq(last_event()->error.code, ETIMEDOUT);
		ck_assert_int_eq(last_event()->elapsed, 2 * DUR_S);
		ck_assert_int_eq(next_attempt(), 100 * DUR_MS << (i - 1));
		ck_assert_int_eq(fdtab_next_due(), w.clock + 2 * DUR_S);
	}
	/* The last one as well: the user said so. */
	next_attempt();
	assert_gave_up(REASON_ATTEMPTS, ETIMEDOUT, 3);
	ck_assert_uint_eq(w.dissolved, 3);
	ck_assert_uint_eq(w.errors.used, 3);
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW_ERROR);
	ck_assert_int_gt(fdtab_next_due(), w.clock);
	assert_delivered_once(FD, ETIMEDOUT);
	assert_over();
	/* Looked after in between, and no longer for that. */
	setup();
	p.attempt_timeout = 12 * DUR_S;
	at_attempt(FD, 2);
	ck_assert_int_eq(next_attempt(), 5 * DUR_S);
	ck_assert_int_eq(next_attempt(), 5 * DUR_S);
	ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	ck_assert_int_eq(next_attempt(), 2 * DUR_S);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	closing(FD);
	assert_over();
}
END_TEST

START_TEST(attempt_timeout_of_what_is_not_retried)
{
	static const enum reason rows[] = { REASON_STOPPING, REASON_OTHER_ADDRESS,
		                            REASON_NAME_EXHAUSTED, REASON_NONE };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		setup();
		p.attempt_timeout = 2 * DUR_S;
		set_up_native(rows[i]);
		begin_limited(FD, 2 * DUR_S);
		next_attempt();
		ck_assert_msg(state_of(FD) == PEND_FAILED, "row %zu", i);
		ck_assert_uint_eq(w.dissolved, 1);
		ck_assert_uint_eq(world_count(&w, EVENT_RETRY), 0);
		ck_assert_int_eq(event(FD, true), SIGHT_SHOW_ERROR);
		assert_delivered_once(FD, ETIMEDOUT);
		assert_over();
	}
	/* Who only observes ends nothing. */
	setup();
	p.nonblocking = NONBLOCKING_OBSERVE;
	begin_limited(FD, 2 * DUR_S);
	next_attempt();
	ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	ck_assert_uint_eq(actions(), 0);
	ck_assert_int_gt(fdtab_next_due(), w.clock);
	closing(FD);
	assert_over();
}
END_TEST

/* Now and then a record is looked at, as its descriptor may have died unseen. */
START_TEST(looked_after)
{
	static const struct {
		enum condition is;
		unsigned attempt;
		bool lives;
		enum event_kind line; /* EVENT_KINDS: none */
	} rows[] = {
		{ CONDITION_TRYING, 2, true, EVENT_KINDS },
		{ CONDITION_CLOSED, 1, true, EVENT_KINDS },
		{ CONDITION_CLOSED, 2, true, EVENT_KINDS },
		{ CONDITION_CONNECTED, 1, false, EVENT_KINDS },
		{ CONDITION_CONNECTED, 2, false, EVENT_RECOVERED },
		{ CONDITION_OTHER, 1, false, EVENT_KINDS },
		{ CONDITION_OTHER, 2, false, EVENT_ABANDONED },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned before;

		setup();
		/* The first, if there is a limit to it. */
		if (rows[i].attempt == 1)
			begin_limited(FD, DUR_S);
		else
			at_attempt(FD, rows[i].attempt);
		before = actions();
		w.event_count = 0;
		ck_assert_int_gt(fdtab_next_due(), w.clock);
		w.clock = fdtab_next_due();
		w.conditions.rest = rows[i].is;
		wait_drive(&world_ops, &w);
		ck_assert_msg(state_of(FD) == (rows[i].lives ? PEND_CONNECTING : PEND_FREE),
		              "row %zu", i);
		ck_assert_uint_eq(actions(), before);
		ck_assert_uint_eq(w.event_count, rows[i].line != EVENT_KINDS);
		if (w.event_count)
			ck_assert_int_eq(w.events[0].kind, rows[i].line);
		if (rows[i].lives)
			ck_assert_int_gt(fdtab_next_due(), w.clock);
		closing(FD);
		assert_over();
	}
}
END_TEST

START_TEST(another_address_comes_alive)
{
	unsigned attempts = 0;
	int64_t waited = 0;

	setup();
	name_db(pair, 2);
	in_backoff(FD);
	next_attempt();
	ck_assert_uint_eq(world_count(&w, EVENT_MOVED), 0);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
	listen_at("127.0.0.2");
	next_attempt();
	ck_assert_int_eq(last_event()->kind, EVENT_MOVED);
	ck_assert_int_eq(last_event()->reason, REASON_OTHER_ADDRESS);
	ck_assert_str_eq(w.dests[w.event_count - 1], "db:5432");
	ck_assert_int_eq(last_event()->addr->ip[3], 2);
	/* The program has to go there; for that, this one must fail. */
	ck_assert_int_eq(w.started_to[1].ip[3], 1);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW);
	ck_assert_uint_eq(w.errors.used, 0);
	ck_assert_int_eq(result(FD, ECONNREFUSED), ECONNREFUSED);
	/* How it ends is for the connect to the other one to say. */
	ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 0);
	ck_assert(names_take_pending(&name, 5432, &attempts, &waited));
	ck_assert_uint_eq(attempts, 3);
	ck_assert_int_eq(waited, 300 * DUR_MS);
	/* A non-blocking one says it when its first attempt succeeds. */
	names_set_pending(&name, 5432, attempts, waited);
	begin(FD + 1);
	ck_assert_int_eq(pending_event(&world_ops, &w, FD + 1, false), SIGHT_SHOW);
	ck_assert_int_eq(last_event()->kind, EVENT_RECOVERED);
	ck_assert_uint_eq(last_event()->attempts, 4);
	ck_assert(!names_any_pending());
	assert_over();
	/* It fails at once, or not at all. */
	for (int error = 0; error <= ECONNREFUSED; error += ECONNREFUSED) {
		setup();
		name_db(pair, 2);
		in_backoff(FD);
		listen_at("127.0.0.2");
		WORLD_SCRIPT(&w.starts, error);
		next_attempt();
		ck_assert_uint_eq(world_count(&w, EVENT_MOVED), 1);
		ck_assert_uint_eq(world_count(&w, EVENT_RETRY), 1);
		if (error) {
			ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 0);
			assert_delivered_once(FD, ECONNREFUSED);
		} else {
			ck_assert_uint_eq(world_count(&w, EVENT_RECOVERED), 1);
		}
		/* A later success elsewhere would be one more recovery. */
		ck_assert_int_eq(names_any_pending(), error != 0);
		assert_over();
	}
	/* Not if this one is alive, too. */
	setup();
	name_db(pair, 2);
	in_backoff(FD);
	listen_at("127.0.0.1");
	listen_at("127.0.0.2");
	next_attempt();
	ck_assert_uint_eq(world_count(&w, EVENT_MOVED), 0);
	ck_assert(!names_any_pending());
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	ck_assert_str_eq(w.dests[w.event_count - 1], "db:5432");
	assert_over();
}
END_TEST

START_TEST(a_name_is_used_up_when_the_program_gets_the_error)
{
	setup();
	p.max_attempts = 2;
	name_db(pair, 2);
	at_attempt(FD, 2);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW);
	ck_assert_int_eq(result(FD, ECONNREFUSED), ECONNREFUSED);
	ck_assert_int_eq(names_exhausted_at(&name, 5432), w.clock);
	/* The next address of the list does not wait again. */
	aim_at("127.0.0.2");
	begin(FD);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW);
	assert_over();
}
END_TEST

START_TEST(a_stop_signal_ends_retrying)
{
	for (int by_asking = 0; by_asking < 2; by_asking++) {
		setup();
		in_backoff(FD);
		w.clock += DUR_MS;
		w.stop = true;
		w.conditions.rest = CONDITION_TRYING;
		/* Not due, but what is there to wait for? */
		if (by_asking)
			ck_assert_int_eq(ask(FD, NULL), ANSWER_CALL);
		else
			wait_drive(&world_ops, &w);
		ck_assert_uint_eq(w.starts.used, 1);
		ck_assert_int_eq(fails(FD, ETIMEDOUT), SIGHT_SHOW);
		ck_assert_uint_eq(w.errors.used, 0);
		ck_assert_int_eq(state_of(FD), PEND_REPORTED);
		ck_assert_int_eq(result(FD, ETIMEDOUT), ETIMEDOUT);
		assert_gave_up(REASON_STOPPING, ETIMEDOUT, 2);
		ck_assert_int_eq(last_event()->waited, DUR_MS);
		assert_over();
	}
	/* While the kernel is trying. */
	setup();
	at_attempt(FD, 2);
	w.stop = true;
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW_ERROR);
	assert_gave_up(REASON_STOPPING, ECONNREFUSED, 2);
	assert_delivered_once(FD, ECONNREFUSED);
	assert_over();
}
END_TEST

START_TEST(no_wait_passes_the_deadline)
{
	int64_t end;

	setup();
	p.max_attempts = 100;
	p.backoff.base = 400 * DUR_MS;
	p.deadline = 2 * DUR_S;
	end = w.clock + p.deadline;
	begin(FD);
	while (fails(FD, ECONNREFUSED) == SIGHT_HIDE) {
		ck_assert_int_lt(fdtab_next_due(), end);
		next_attempt();
	}
	/* 0.4 s, 0.8 s, and 1.6 s would be too long. */
	ck_assert_int_eq(end - w.clock, 800 * DUR_MS);
	assert_gave_up(REASON_DEADLINE, ECONNREFUSED, 3);
	assert_delivered_once(FD, ECONNREFUSED);
	assert_over();
	/* A wait that ends just at it is one that passes it. */
	setup();
	name_db(pair, 2);
	p.deadline = 100 * DUR_MS;
	begin(FD);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW_ERROR);
	ck_assert_int_eq(names_exhausted_at(&name, 5432), w.clock);
	assert_delivered_once(FD, ECONNREFUSED);
	assert_over();
}
END_TEST

/* The same for an attempt: the first takes what it takes, those that only we make end
 * with the deadline, and with the last real error. */
START_TEST(no_attempt_of_ours_passes_the_deadline)
{
	int64_t end;

	setup();
	p.deadline = 2 * DUR_S;
	end = w.clock + p.deadline;
	begin(FD);
	ck_assert_int_eq(fdtab_next_due(), DUR_NONE);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
	next_attempt();
	ck_assert_int_eq(fdtab_next_due(), end);
	next_attempt();
	assert_gave_up(REASON_DEADLINE, ECONNREFUSED, 2);
	assert_delivered_once(FD, ECONNREFUSED);
	assert_over();
}
END_TEST

/* Decorrelated jitter draws under three times the wait before. */
START_TEST(a_wait_knows_the_one_before)
{
	int64_t longest = 0;

	for (unsigned seed = 0; seed < 50; seed++) {
		setup();
		prng_seed(&w.random, seed);
		p.backoff.jitter = JITTER_DECORRELATED;
		in_backoff(FD);
		ck_assert_int_le(next_attempt(), 300 * DUR_MS);
		ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
		if (last_event()->wait > longest)
			longest = last_event()->wait;
		closing(FD);
		assert_over();
	}
	ck_assert_int_gt(longest, 300 * DUR_MS);
}
END_TEST

UNIT_MAIN("pending_attempts", &failures_at_once, &failures_at_once_that_are_the_programs,
          &a_later_attempt_fails_at_once, &a_later_attempt_succeeds_at_once,
          &attempt_timeout_of_every_attempt, &attempt_timeout_of_what_is_not_retried,
          &looked_after, &another_address_comes_alive,
          &a_name_is_used_up_when_the_program_gets_the_error, &a_stop_signal_ends_retrying,
          &no_wait_passes_the_deadline, &no_attempt_of_ours_passes_the_deadline,
          &a_wait_knows_the_one_before)
