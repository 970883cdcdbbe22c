/* SPDX-License-Identifier: MIT */
/* What one thread finds when another has just been there: the states in between,
 * made by hand. */
#include <errno.h>

#include "engine/pending_due.h"
#include "tests/unit/under_way.h"

/* A call failed by what another thread did to the socket; meanwhile the next attempt
 * goes on. */
START_TEST(the_word_of_an_earlier_attempt)
{
	static const struct {
		int error, shown;
	} rows[] = { { EPIPE, 0 }, { ECONNABORTED, 0 }, { EOPNOTSUPP, EOPNOTSUPP } };

	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		setup();
		at_attempt(FD, 2);
		w.conditions.rest = CONDITION_TRYING;
		ck_assert_int_eq(result(FD, rows[i].error), rows[i].shown);
		ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
		ck_assert_uint_eq(record_of(FD)->attempt, 2);
		closing(FD);
		ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 1);
		assert_over();
	}
}
END_TEST

/* ... or has failed as well: what it failed with is what counts. */
START_TEST(the_error_of_the_latest_attempt)
{
	static const struct {
		int told, on_socket, judged;
	} rows[] = {
		{ EPIPE, EHOSTUNREACH, EHOSTUNREACH },
		{ ECONNABORTED, 0, ECONNREFUSED },
		{ ETIMEDOUT, EHOSTUNREACH, ETIMEDOUT },
	};

	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		setup();
		at_attempt(FD, 2);
		w.conditions.rest = CONDITION_CLOSED;
		WORLD_SCRIPT(&w.errors, rows[i].on_socket);
		ck_assert_int_eq(result(FD, rows[i].told), 0);
		ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
		ck_assert_int_eq(last_event()->kind, EVENT_RETRY);
		ck_assert_int_eq(last_event()->error.code, rows[i].judged);
		closing(FD);
		assert_over();
	}
	/* Where nothing ever failed that anybody saw, it is what it is. */
	setup();
	begin(FD);
	w.conditions.rest = CONDITION_CLOSED;
	ck_assert_int_eq(result(FD, EPIPE), EPIPE);
	assert_over();
}
END_TEST

/* Who got an error has a moment to tell us, at each attempt anew. */
START_TEST(patience_with_each_attempt)
{
	setup();
	w.threads = true;
	begin(FD);
	for (unsigned attempt = 1; attempt < 4; attempt++) {
		ck_assert_int_eq(fails(FD, 0), SIGHT_HIDE);
		ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
		ck_assert_int_eq(result(FD, ECONNREFUSED), 0);
		next_attempt();
		w.clock += FDTAB_PATIENCE;
	}
	ck_assert_int_eq(fails(FD, 0), SIGHT_HIDE);
	closing(FD);
	assert_over();
}
END_TEST

START_TEST(an_attempt_that_another_thread_has_made)
{
	struct pend_ref ref;

	setup();
	in_backoff(FD);
	ck_assert(fdtab_find(FD, &ref));
	/* It was due when this thread looked, and then it was made, and failed. */
	pending_due(&world_ops, &w, &ref, w.clock);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	ck_assert_uint_eq(w.starts.used, 0);
	/* A stop signal ends the wait at once. */
	w.stop = true;
	pending_due(&world_ops, &w, &ref, w.clock);
	ck_assert_uint_eq(w.starts.used, 1);
	closing(FD);
	assert_over();
}
END_TEST

/* The program connected a socket that was dissolved just then. */
START_TEST(a_second_connect_is_undone)
{
	unsigned before;

	setup();
	in_backoff(FD);
	before = w.dissolved;
	WORLD_SCRIPT(&w.errors, ECONNREFUSED);
	ck_assert(pending_undo(&world_ops, &w, FD));
	ck_assert_uint_eq(w.dissolved, before + 1);
	ck_assert_uint_eq(w.errors.used, 1);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	/* It is the next attempt. */
	next_attempt();
	before = actions();
	ck_assert(pending_undo(&world_ops, &w, FD));
	ck_assert_uint_eq(actions(), before);
	ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	/* The number was closed unseen, and is another socket's. */
	w.identities[FD] = WORLD_OTHER;
	ck_assert(!pending_undo(&world_ops, &w, FD));
	closing(FD);
	assert_over();
	/* Of one that nothing has happened to nobody can know. */
	setup();
	begin(FD);
	ck_assert(!pending_undo(&no_ops, NULL, FD));
	closing(FD);
	ck_assert(!pending_undo(&no_ops, NULL, FD));
	assert_over();
}
END_TEST

/* What has failed for the program is over: it connects anew, whatever it did to the socket
 * past us to get there. */
START_TEST(a_connect_after_the_end_is_its_own)
{
	static const enum pend_state ends[] = { PEND_REPORTED, PEND_FAILED };

	for (unsigned i = 0; i < ARRAY_LEN(ends); i++) {
		struct pend_ref ref;
		unsigned before;

		setup();
		in_backoff(FD);
		ck_assert(fdtab_find(FD, &ref) && fdtab_claim(&ref));
		fdtab_release(&ref, ends[i]);
		before = actions();
		ck_assert(!pending_undo(&world_ops, &w, FD));
		ck_assert_uint_eq(actions(), before);
		ck_assert_int_eq(state_of(FD), ends[i]);
		closing(FD);
		assert_over();
	}
}
END_TEST

/* Two descriptors; the look at the first is too late: another thread closes it. The other
 * one is looked at before, and after. */
static unsigned looks;

static uint64_t closed_at_first_look(void *ctx, int fd)
{
	(void)ctx;
	looks++;
	if (fd == DUP)
		return WORLD_SOCKET;
	ck_assert_int_eq(fd, FD);
	closing(FD);
	return 0;
}

START_TEST(one_of_two_descriptors_is_closed)
{
	struct engine_ops ops = world_ops;

	setup();
	in_backoff(FD);
	fdtab_dup(FD, DUP);
	looks = 0;
	ops.identity = closed_at_first_look;
	ck_assert(pending_hidden(&ops, &w, DUP));
	ck_assert_uint_eq(looks, 3);
	ck_assert_int_eq(state_of(DUP), PEND_BACKOFF);
	ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 0);
	closing(DUP);
	assert_over();
}
END_TEST

/* A dup that is being closed does not join its socket's record any more. */
START_TEST(a_dup_that_is_closed_does_not_join)
{
	struct pend_ref ref, own;
	bool alone;

	setup();
	in_backoff(FD);
	fdtab_dup(FD, DUP);
	ck_assert(fdtab_find(FD, &ref));
	ck_assert(fdtab_forget(DUP, &own, &alone) && !alone);
	ck_assert(!fdtab_join(&ref, DUP, true));
	ck_assert_int_eq(state_of(DUP), PEND_FREE);
	/* One that nobody saw made. */
	ck_assert(fdtab_join(&ref, DUP, false));
	ck_assert_int_eq(state_of(DUP), PEND_BACKOFF);
	closing(DUP);
	closing(FD);
	assert_over();
}
END_TEST

/* Closed while another thread had claimed the record: it is waited for, as it acts on
 * the number. */
static bool claimed_before(void *ctx)
{
	struct pend_ref ref;

	if (looks++ == 0) {
		ck_assert(fdtab_find(FD, &ref) && fdtab_claim(&ref));
		fdtab_release(&ref, PEND_CONNECTING);
		ck_assert(fdtab_find(FD, &ref) && fdtab_claim(&ref));
		fdtab_release(&ref, PEND_BACKOFF);
	}
	return world_ops.enter(ctx);
}

START_TEST(closed_while_another_acts)
{
	struct engine_ops ops = world_ops;

	setup();
	at_attempt(FD, 2);
	looks = 0;
	ops.enter = claimed_before;
	pending_closing(&ops, &w, FD);
	ck_assert_uint_eq(looks, 2);
	ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 1);
	assert_over();
}
END_TEST

/* A socket that is none any more in the middle of a look: the series has an end. */
START_TEST(closed_in_the_middle_of_a_look)
{
	for (unsigned i = 0; i < 2; i++) {
		setup();
		at_attempt(FD, 2);
		w.conditions.rest = CONDITION_OTHER;
		if (i)
			ck_assert_int_eq(result(FD, ECONNREFUSED), ECONNREFUSED);
		else
			ck_assert_int_eq(pending_event(&world_ops, &w, FD, true), SIGHT_SHOW);
		ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 1);
		assert_over();
	}
}
END_TEST

UNIT_MAIN("pending threads", &the_word_of_an_earlier_attempt, &the_error_of_the_latest_attempt,
          &patience_with_each_attempt, &an_attempt_that_another_thread_has_made,
          &a_second_connect_is_undone,
          &a_connect_after_the_end_is_its_own, &one_of_two_descriptors_is_closed,
          &a_dup_that_is_closed_does_not_join, &closed_while_another_acts,
          &closed_in_the_middle_of_a_look)
