/* SPDX-License-Identifier: MIT */
/* Connects under way whose descriptors are dup'ed, closed, reused or inherited. */
#include "engine/pending.h"
#include "state/fdtab_pool.h"

#include "tests/unit/under_way.h"

START_TEST(closed)
{
	struct watch found;

	/* Without a record, its registrations go. */
	setup();
	fdtab_watch_set(FD, EP, EPOLLIN, 1);
	pending_closing(&no_ops, NULL, FD);
	ck_assert(!watch_of(FD, EP, &found));
	assert_over();
	/* Before anything failed, nobody is told. */
	setup();
	begin(FD);
	closing(FD);
	ck_assert_uint_eq(w.event_count, 0);
	assert_over();
	setup();
	in_backoff(FD);
	closing(FD);
	ck_assert_int_eq(last_event()->kind, EVENT_ABANDONED);
	ck_assert_uint_eq(last_event()->attempts, 1);
	ck_assert_uint_eq(w.event_count, 2);
	assert_over();
	setup();
	at_attempt(FD, 2);
	closing(FD);
	ck_assert_int_eq(last_event()->kind, EVENT_ABANDONED);
	ck_assert_uint_eq(last_event()->attempts, 2);
	ck_assert_int_eq(last_event()->waited, 100 * DUR_MS);
	assert_over();
	/* It was connected by then, and the program knew by a way of its own. */
	setup();
	at_attempt(FD, 2);
	w.conditions.rest = CONDITION_CONNECTED;
	closing(FD);
	ck_assert_int_eq(last_event()->kind, EVENT_RECOVERED);
	ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 0);
	assert_over();
}
END_TEST

/* The last descriptor's end is the socket's. */
START_TEST(closed_one_by_one)
{
	static const int orders[][3] = { { FD, DUP, LATE }, { DUP, FD, LATE }, { LATE, DUP, FD },
		                         { DUP, LATE, FD }, { FD, LATE, DUP } };

	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		setup();
		begin(FD);
		fdtab_dup(FD, DUP);
		fdtab_dup(FD, LATE);
		ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
		closing(orders[i][0]);
		closing(orders[i][1]);
		ck_assert_msg(world_count(&w, EVENT_ABANDONED) == 0, "order %zu", i);
		ck_assert_int_eq(state_of(orders[i][0]), PEND_FREE);
		ck_assert_int_eq(state_of(orders[i][1]), PEND_FREE);
		ck_assert_int_eq(state_of(orders[i][2]), PEND_BACKOFF);
		/* The attempts go on, on the one that is left. */
		next_attempt();
		ck_assert_int_eq(w.started_fd[0], orders[i][2]);
		closing(orders[i][2]);
		ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 1);
		ck_assert_uint_eq(last_event()->attempts, 2);
		assert_over();
	}
}
END_TEST

/* A record that was just taken for another connect still tells of the one before. */
START_TEST(a_dup_and_a_record_being_taken)
{
	struct pend_ref ref;

	setup();
	fdtab_dup(FD, DUP);
	begin(FD);
	ck_assert(fdtab_find(FD, &ref));
	ck_assert_int_eq(event(FD, true), SIGHT_HIDE);
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	ck_assert_uint_eq(fdtab_busy(), 0);
	ck_assert(fdtab_take_any(&ref));
	ck_assert_int_eq(atomic_load(&ref.p->fds[0]), FD);
	ck_assert_int_eq(atomic_load(&ref.p->identity), WORLD_SOCKET);
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW);
	ck_assert_int_eq(state_of(FD), PEND_FREE);
	fdtab_release(&ref, PEND_FREE);
	assert_over();
}
END_TEST

/* A dup from before the connect is the same socket; another's is not. */
START_TEST(a_dup_from_before_the_connect)
{
	setup();
	fdtab_dup(FD, DUP);
	begin(FD);
	ck_assert_int_eq(event(DUP, true), SIGHT_HIDE); /* still trying */
	ck_assert_int_eq(state_of(DUP), PEND_CONNECTING);
	closing(DUP);
	fdtab_dup(FD, DUP);
	w.identities[LATE] = WORLD_OTHER;
	fdtab_dup(FD + 1, LATE);
	ck_assert_int_eq(fails(DUP, ECONNREFUSED), SIGHT_HIDE);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	ck_assert_int_eq(event(LATE, true), SIGHT_SHOW);
	ck_assert(!pending_hidden(&world_ops, &w, LATE));
	ck_assert_int_eq(ask(LATE, NULL), ANSWER_CALL);
	ck_assert_int_eq(state_of(LATE), PEND_FREE);
	closing(FD);
	ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 0);
	closing(DUP);
	ck_assert_uint_eq(world_count(&w, EVENT_ABANDONED), 1);
	assert_over();
	/* A dup that is closed unseen is nobody's. */
	setup();
	begin(FD);
	fdtab_dup(EP, LATE);
	w.identities[LATE] = 0;
	ck_assert_int_eq(ask(LATE, NULL), ANSWER_CALL);
	ck_assert_int_eq(state_of(LATE), PEND_FREE);
	closing(FD);
	assert_over();
}
END_TEST

START_TEST(withdrawn)
{
	setup();
	fdtab_watch_set(FD, EP, EPOLLIN, 1);
	in_backoff(FD);
	pending_withdraw(&world_ops, &w, FD);
	ck_assert_int_eq(state_of(FD), PEND_FREE);
	ck_assert_int_eq(last_event()->kind, EVENT_ABANDONED);
	ck_assert_uint_eq(w.ctl_count, 2);
	assert_ctl(1, EP, FD, EPOLLIN, 1);
	ck_assert_uint_eq(parked(FD, EP), 0);
	ck_assert_uint_eq(w.dissolved, 1);
	assert_over();
	/* Nothing is parked while the kernel is trying. */
	setup();
	fdtab_watch_set(FD, EP, EPOLLIN, 1);
	begin(FD);
	pending_withdraw(&world_ops, &w, FD);
	ck_assert_uint_eq(actions() + w.event_count, 0);
	assert_over();
	/* What we owe is not wanted any more. */
	setup();
	owes(FD);
	pending_withdraw(&world_ops, &w, FD);
	ck_assert_int_eq(ask(FD, NULL), ANSWER_CALL);
	assert_over();
}
END_TEST

START_TEST(another_connect_takes_the_place)
{
	setup();
	in_backoff(FD);
	begin(FD);
	ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	ck_assert_uint_eq(record_of(FD)->attempt, 1);
	ck_assert_uint_eq(fdtab_busy(), 1);
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	assert_over();
}
END_TEST

/* Another thread acts on the record, and does not get on. */
START_TEST(claimed_by_another)
{
	struct pend_ref other;
	int rc = -1;

	setup();
	fdtab_watch_set(FD, EP, EPOLLIN, 1);
	in_backoff(FD);
	ck_assert(fdtab_find(FD, &other) && fdtab_claim(&other));
	ck_assert(pending_hidden(&no_ops, NULL, FD));
	ck_assert_int_eq(pending_event(&no_ops, NULL, FD, true), SIGHT_HIDE);
	ck_assert_int_eq(pending_event(&no_ops, NULL, FD, false), SIGHT_HIDE);
	ck_assert_int_eq(pending_ask(&no_ops, NULL, FD, NULL), ANSWER_PENDING);
	ck_assert_int_eq(pending_result(&no_ops, NULL, FD, ECONNREFUSED), 0);
	pending_connected(&no_ops, NULL, FD);
	pending_swallowed(&no_ops, NULL, EP, FD);
	pending_unknown_event(&no_ops, NULL);
	ck_assert(!pending_epoll_ctl(&no_ops, NULL, EP, EPOLL_CTL_MOD, FD, EPOLLIN, 1, &rc));
	ck_assert_int_eq(rc, -1);
	w.clock = fdtab_next_due();
	wait_drive(&world_ops, &w);
	pending_withdraw(&world_ops, &w, FD);
	ck_assert_uint_eq(w.starts.used, 0);
	ck_assert_uint_eq(w.ctl_count, 1);
	/* Closed under its hands: it ends the record itself. */
	closing(FD);
	ck_assert_int_eq(state_of(FD), PEND_FREE);
	ck_assert_uint_eq(fdtab_busy(), 1);
	fdtab_release(&other, PEND_BACKOFF);
	assert_over();
}
END_TEST

/* From here: the number has become another socket's, unseen (a raw close). */

static void at_begin(void)
{
	at_attempt(FD, 2);
}

static void at_backoff(void)
{
	in_backoff(FD);
}

static void at_failed(void)
{
	owes(FD);
}

static void at_reported(void)
{
	p.max_attempts = 2;
	at_attempt(FD, 2);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW);
}

static void at_observed(void)
{
	w.mode = MODE_OBSERVE;
	begin(FD);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW);
}

static void do_bad_event(void)
{
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW);
}

static void do_good_event(void)
{
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
}

static void do_hidden(void)
{
	ck_assert(!pending_hidden(&world_ops, &w, FD));
}

static void do_ask(void)
{
	int error = -1;

	ck_assert_int_eq(ask(FD, &error), ANSWER_CALL);
	ck_assert_int_eq(error, -1);
}

static void do_result(void)
{
	ck_assert_int_eq(result(FD, ECONNRESET), ECONNRESET);
}

static void do_isconn(void)
{
	ck_assert_int_eq(result(FD, EISCONN), EISCONN);
}

static void do_connected(void)
{
	pending_connected(&world_ops, &w, FD);
}

static void do_closing(void)
{
	closing(FD);
}

static void do_withdraw(void)
{
	pending_withdraw(&world_ops, &w, FD);
}

static void do_epoll_ctl(void)
{
	int rc;

	ck_assert(!pending_epoll_ctl(&world_ops, &w, EP, EPOLL_CTL_MOD, FD, EPOLLIN, 9, &rc));
}

static void do_swallowed(void)
{
	pending_swallowed(&world_ops, &w, EP, FD);
	pending_swallowed(&world_ops, &w, EP, FD);
}

static void do_drive(void)
{
	w.clock = fdtab_next_due();
	wait_drive(&world_ops, &w);
}

static void do_unknown(void)
{
	fdtab_watch_del(FD, EP);
	pending_unknown_event(&world_ops, &w);
}

static const struct {
	void (*reach)(void);
	void (*then)(void);
	enum event_kind line; /* EVENT_KINDS: none */
} encounters[] = {
	{ at_begin, do_bad_event, EVENT_ABANDONED },
	{ at_begin, do_good_event, EVENT_ABANDONED },
	{ at_begin, do_result, EVENT_ABANDONED },
	{ at_begin, do_isconn, EVENT_ABANDONED },
	{ at_begin, do_connected, EVENT_ABANDONED },
	{ at_begin, do_closing, EVENT_ABANDONED },
	{ at_begin, do_withdraw, EVENT_ABANDONED },
	{ at_begin, do_drive, EVENT_ABANDONED },
	{ at_begin, do_unknown, EVENT_ABANDONED },
	{ at_backoff, do_bad_event, EVENT_ABANDONED },
	{ at_backoff, do_good_event, EVENT_ABANDONED },
	{ at_backoff, do_hidden, EVENT_ABANDONED },
	{ at_backoff, do_ask, EVENT_ABANDONED },
	{ at_backoff, do_closing, EVENT_ABANDONED },
	{ at_backoff, do_withdraw, EVENT_ABANDONED },
	{ at_backoff, do_epoll_ctl, EVENT_ABANDONED },
	{ at_backoff, do_swallowed, EVENT_ABANDONED },
	{ at_backoff, do_drive, EVENT_ABANDONED },
	{ at_failed, do_bad_event, EVENT_KINDS },
	{ at_failed, do_ask, EVENT_KINDS },
	{ at_failed, do_closing, EVENT_KINDS },
	{ at_failed, do_withdraw, EVENT_KINDS },
	{ at_failed, do_drive, EVENT_KINDS },
	{ at_observed, do_drive, EVENT_KINDS },
	{ at_observed, do_result, EVENT_KINDS },
	{ at_reported, do_result, EVENT_GAVE_UP },
	{ at_reported, do_closing, EVENT_GAVE_UP },
	{ at_reported, do_withdraw, EVENT_GAVE_UP },
	{ at_reported, do_drive, EVENT_GAVE_UP },
};

/* Whatever that one is doing; or it is a file, or nothing at all. */
static const struct {
	uint64_t identity;
	enum condition condition;
} others[] = {
	{ WORLD_OTHER, CONDITION_CLOSED },
	{ WORLD_OTHER, CONDITION_TRYING },
	{ WORLD_OTHER, CONDITION_CONNECTED },
	{ 0, CONDITION_OTHER },
};

START_TEST(another_socket_is_left_alone)
{
	for (size_t n = 0; n < ARRAY_LEN(others) * ARRAY_LEN(encounters); n++) {
		size_t i = n / ARRAY_LEN(others);
		unsigned before;

		setup();
		fdtab_watch_set(FD, EP, EPOLLIN, 1);
		encounters[i].reach();
		w.identities[FD] = others[n % ARRAY_LEN(others)].identity;
		w.conditions.rest = others[n % ARRAY_LEN(others)].condition;
		before = actions();
		w.event_count = 0;
		encounters[i].then();
		ck_assert_msg(actions() == before, "row %zu: touched", i);
		ck_assert_msg(fdtab_busy() == 0, "row %zu: lives on", i);
		if (encounters[i].line != EVENT_KINDS)
			ck_assert_msg(w.event_count == 1 && w.events[0].kind == encounters[i].line,
			              "row %zu: log", i);
		else
			ck_assert_msg(w.event_count == 0, "row %zu: log", i);
		assert_over();
	}
}
END_TEST

/* Nothing was retried, so there is nothing to say; but the first look told
 * which socket it was. */
START_TEST(another_socket_at_the_first_attempt)
{
	static void (*const rows[])(void) = { do_bad_event, do_good_event, do_result,
		                              do_connected, do_closing };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		setup();
		begin(FD);
		w.conditions.rest = CONDITION_TRYING;
		ck_assert_int_eq(event(FD, true), SIGHT_HIDE); /* looked at */
		ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
		w.identities[FD] = WORLD_OTHER;
		w.conditions.rest = CONDITION_CLOSED;
		rows[i]();
		ck_assert_uint_eq(actions() + w.event_count, 0);
		assert_over();
	}
}
END_TEST

/* In the child the connect has failed; the sets are shared with the parent, and
 * what is parked in them is armed by the child's next wait. */
START_TEST(after_fork)
{
	setup();
	fdtab_watch_set(FD, EP, EPOLLIN, 1);
	in_backoff(FD);
	begin(DUP);
	fdtab_postfork_child();
	ck_assert_int_eq(state_of(FD), PEND_FAILED);
	ck_assert_int_eq(state_of(DUP), PEND_FREE);
	ck_assert_uint_eq(w.ctl_count, 1);
	wait_drive(&world_ops, &w);
	ck_assert_uint_eq(w.ctl_count, 2);
	assert_ctl(1, EP, FD, EPOLLIN, 1);
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW_ERROR);
	wait_drive(&world_ops, &w);
	ck_assert_uint_eq(w.ctl_count, 2);
	ck_assert_uint_eq(w.starts.used, 0);
	assert_delivered_once(FD, ECONNREFUSED);
	assert_over();
}
END_TEST

UNIT_MAIN("pending_fds", &closed, &closed_one_by_one, &a_dup_and_a_record_being_taken,
          &a_dup_from_before_the_connect, &withdrawn, &another_connect_takes_the_place,
          &claimed_by_another, &another_socket_is_left_alone,
          &another_socket_at_the_first_attempt, &after_fork)
