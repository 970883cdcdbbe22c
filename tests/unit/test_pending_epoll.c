/* SPDX-License-Identifier: MIT */
/* Connects under way and the epoll sets that they are registered in. */
#include "engine/pending.h"

#include "tests/unit/under_way.h"

static int ctl(int epfd, int op, int fd, uint32_t events, uint64_t data)
{
	int rc = -1;

	ck_assert(pending_epoll_ctl(&world_ops, &w, epfd, op, fd, events, data, &rc));
	return rc;
}

START_TEST(every_registration_is_parked_and_armed_again)
{
	setup();
	fdtab_watch_set(FD, EP, EPOLLIN | EPOLLET, 11);
	fdtab_watch_set(FD, EP2, EPOLLOUT | EPOLLONESHOT, 12);
	begin(FD);
	fdtab_dup(FD, DUP);
	fdtab_watch_set(DUP, EP, EPOLLOUT, 13);
	ck_assert_int_eq(fails(DUP, ECONNREFUSED), SIGHT_HIDE);
	ck_assert_uint_eq(w.ctl_count, 3);
	assert_ctl(0, EP, FD, EPOLLONESHOT, 11);
	assert_ctl(0, EP2, FD, EPOLLONESHOT, 12);
	assert_ctl(0, EP, DUP, EPOLLONESHOT, 13);
	ck_assert_uint_eq(parked(FD, EP), 1);
	ck_assert_uint_eq(parked(FD, EP2), 1);
	ck_assert_uint_eq(parked(DUP, EP), 1);
	ck_assert(pending_hidden(&world_ops, &w, DUP));
	/* The program's own changes meanwhile are what counts. */
	ck_assert_int_eq(ctl(EP, EPOLL_CTL_MOD, FD, EPOLLIN | EPOLLOUT, 21), 0);
	assert_ctl(3, EP, FD, EPOLLONESHOT, 21);
	ck_assert_uint_eq(w.ctl_count, 4);
	ck_assert_uint_eq(parked(FD, EP), 1);
	next_attempt();
	ck_assert_int_eq(w.started_fd[0], FD);
	ck_assert_uint_eq(w.ctl_count, 7);
	assert_ctl(4, EP, FD, EPOLLIN | EPOLLOUT, 21);
	assert_ctl(4, EP2, FD, EPOLLOUT | EPOLLONESHOT, 12);
	assert_ctl(4, EP, DUP, EPOLLOUT, 13);
	ck_assert_uint_eq(parked(FD, EP), 0);
	ck_assert_uint_eq(parked(DUP, EP), 0);
	ck_assert_int_eq(event(FD, false), SIGHT_SHOW);
	ck_assert_uint_eq(w.ctl_count, 7);
	assert_over();
}
END_TEST

START_TEST(registered_while_it_waits)
{
	struct watch found;
	int rc = -1;

	setup();
	/* Not in backoff: the real call is to be made. */
	begin(FD);
	ck_assert(!pending_epoll_ctl(&no_ops, NULL, EP, EPOLL_CTL_ADD, FD, EPOLLIN, 1, &rc));
	ck_assert_int_eq(rc, -1);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
	ck_assert_int_eq(ctl(EP, EPOLL_CTL_ADD, FD, EPOLLIN | EPOLLET, 1), 0);
	ck_assert_int_eq(w.ctls[0].op, EPOLL_CTL_ADD);
	ck_assert_uint_eq(w.ctls[0].events, EPOLLONESHOT);
	ck_assert_uint_eq(w.ctls[0].data, 1);
	ck_assert(watch_of(FD, EP, &found));
	ck_assert_uint_eq(found.events, EPOLLIN | EPOLLET);
	ck_assert_uint_eq(found.parked, 1);
	/* Errors are the kernel's, and what it refused did not happen. */
	WORLD_SCRIPT(&w.ctl_results, EEXIST, ENOENT);
	ck_assert_int_eq(ctl(EP, EPOLL_CTL_ADD, FD, EPOLLOUT, 2), EEXIST);
	ck_assert_int_eq(ctl(EP2, EPOLL_CTL_MOD, FD, EPOLLOUT, 3), ENOENT);
	ck_assert(watch_of(FD, EP, &found));
	ck_assert_uint_eq(found.events, EPOLLIN | EPOLLET);
	ck_assert_uint_eq(found.data, 1);
	ck_assert(!watch_of(FD, EP2, &found));
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	next_attempt();
	ck_assert_uint_eq(w.ctl_count, 4);
	assert_ctl(3, EP, FD, EPOLLIN | EPOLLET, 1);
	closing(FD);
	assert_over();
}
END_TEST

START_TEST(registrations_that_the_kernel_does_not_have)
{
	static const int rows[] = { ENOENT, EBADF };
	struct watch found;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		setup();
		fdtab_watch_set(FD, EP, EPOLLIN, 1);
		WORLD_SCRIPT(&w.ctl_results, rows[i]);
		in_backoff(FD);
		ck_assert_uint_eq(w.ctl_count, 1);
		ck_assert(!watch_of(FD, EP, &found));
		next_attempt();
		ck_assert_uint_eq(w.ctl_count, 1);
		closing(FD);
		assert_over();
	}
}
END_TEST

/* A parked registration reports once. */
START_TEST(swallowed_events)
{
	setup();
	fdtab_watch_set(FD, EP, EPOLLIN, 1);
	in_backoff(FD);
	ck_assert_uint_eq(w.ctl_count, 1);
	pending_swallowed(&world_ops, &w, EP, FD);
	ck_assert_uint_eq(w.ctl_count, 1);
	/* More: somebody has armed it past us. */
	pending_swallowed(&world_ops, &w, EP, FD);
	ck_assert_uint_eq(w.ctl_count, 2);
	assert_ctl(1, EP, FD, EPOLLONESHOT, 1);
	/* And then once again. */
	pending_swallowed(&world_ops, &w, EP, FD);
	ck_assert_uint_eq(w.ctl_count, 2);
	/* Armed by another thread, that did not know of the backoff yet. */
	fdtab_watch_park(FD, EP, 0);
	pending_swallowed(&world_ops, &w, EP, FD);
	ck_assert_uint_eq(w.ctl_count, 3);
	assert_ctl(2, EP, FD, EPOLLONESHOT, 1);
	/* A set that we know nothing of. */
	pending_swallowed(&world_ops, &w, EP2, FD);
	ck_assert_uint_eq(w.ctl_count, 3);
	ck_assert_int_eq(state_of(FD), PEND_BACKOFF);
	/* From before the attempt that goes on now. */
	next_attempt();
	ck_assert_uint_eq(w.ctl_count, 4);
	pending_swallowed(&world_ops, &w, EP, FD);
	ck_assert_uint_eq(w.ctl_count, 4);
	closing(FD);
	assert_over();
}
END_TEST

/* An event of before the connect, when the socket was hung up, that another thread had
 * fetched: what reports but once is armed again, or the program never hears of the connect. */
START_TEST(events_of_before_the_connect)
{
	static const struct {
		uint32_t events;
		unsigned ctls[2];
	} rows[] = {
		{ EPOLLOUT | EPOLLONESHOT, { 1, 1 } },
		{ EPOLLOUT | EPOLLET, { 0, 1 } }, /* there will be another edge; or not */
		{ EPOLLOUT, { 0, 0 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (unsigned gone = 0; gone < 2; gone++) {
			setup();
			fdtab_watch_set(FD, EP, rows[i].events, 1);
			begin(FD);
			/* Or its failure was taken by another thread, which has not told yet. */
			w.threads = gone;
			w.conditions.rest = gone ? CONDITION_CLOSED : CONDITION_TRYING;
			ck_assert_int_eq(event(FD, true), SIGHT_HIDE);
			ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
			ck_assert_uint_eq(w.ctl_count, rows[i].ctls[gone]);
			if (rows[i].ctls[gone])
				assert_ctl(0, EP, FD, rows[i].events, 1);
			closing(FD);
			assert_over();
		}
}
END_TEST

/* shutdown() before connect(): hung up as long as it tries. */
START_TEST(what_is_so_for_good_is_shown)
{
	unsigned n = 0;

	setup();
	fdtab_watch_set(FD, EP, EPOLLOUT, 1);
	begin(FD);
	while (event(FD, true) == SIGHT_HIDE)
		ck_assert_uint_lt(n++, 1000);
	ck_assert_int_eq(state_of(FD), PEND_CONNECTING);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
	next_attempt();
	w.conditions.rest = CONDITION_TRYING;
	ck_assert_int_eq(event(FD, true), SIGHT_HIDE);
	closing(FD);
	assert_over();
}
END_TEST

/* What cannot be made silent would make the program's loop spin: the truth. */
START_TEST(exclusive_registrations)
{
	setup();
	fdtab_watch_set(FD, EP, EPOLLIN, 1);
	fdtab_watch_set(FD, EP2, EPOLLIN | EPOLLEXCLUSIVE, 2);
	begin(FD);
	WORLD_SCRIPT(&w.ctl_results, 0, EINVAL);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW_ERROR);
	ck_assert_int_eq(state_of(FD), PEND_FAILED);
	ck_assert_uint_eq(w.dissolved, 0);
	ck_assert_uint_eq(w.ctl_count, 3);
	assert_ctl(2, EP, FD, EPOLLIN, 1);
	ck_assert_uint_eq(parked(FD, EP), 0);
	assert_delivered_once(FD, ECONNREFUSED);
	assert_over();
	/* Whichever of them it is. */
	setup();
	fdtab_watch_set(FD, EP, EPOLLIN | EPOLLEXCLUSIVE, 1);
	fdtab_watch_set(FD, EP2, EPOLLIN, 2);
	begin(FD);
	WORLD_SCRIPT(&w.ctl_results, EINVAL, 0);
	ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_SHOW_ERROR);
	ck_assert_uint_eq(parked(FD, EP2), 0);
	closing(FD);
	assert_over();
	/* Read by the program: it keeps what it has read. */
	setup();
	fdtab_watch_set(FD, EP, EPOLLIN | EPOLLEXCLUSIVE, 2);
	begin(FD);
	w.ctl_results.rest = EINVAL;
	w.conditions.rest = CONDITION_CLOSED;
	ck_assert_int_eq(result(FD, ECONNREFUSED), ECONNREFUSED);
	ck_assert_uint_eq(w.dissolved, 0);
	assert_over();
	/* Registered past us. */
	setup();
	fdtab_watch_set(FD, EP, EPOLLIN, 1);
	in_backoff(FD);
	fdtab_watch_set(FD, EP2, EPOLLIN | EPOLLEXCLUSIVE, 2);
	WORLD_SCRIPT(&w.ctl_results, 0, EINVAL);
	pending_swallowed(&world_ops, &w, EP2, FD);
	ck_assert_int_eq(event(FD, true), SIGHT_SHOW_ERROR);
	ck_assert_uint_eq(parked(FD, EP), 0);
	assert_delivered_once(FD, ECONNREFUSED);
	assert_over();
}
END_TEST

/* The program modifies a registration while it is being armed again. */
static int changing_ctl(void *ctx, int epfd, int op, int fd, uint32_t events, uint64_t data)
{
	if (events == EPOLLIN)
		fdtab_watch_set(fd, epfd, EPOLLOUT, 2);
	return world_ops.epoll_ctl(ctx, epfd, op, fd, events, data);
}

START_TEST(the_programs_word_is_the_last)
{
	struct engine_ops ops = world_ops;

	setup();
	fdtab_watch_set(FD, EP, EPOLLIN, 1);
	in_backoff(FD);
	ops.epoll_ctl = changing_ctl;
	w.clock = fdtab_next_due();
	w.conditions.rest = CONDITION_TRYING;
	wait_drive(&ops, &w);
	ck_assert_uint_eq(w.ctl_count, 3);
	ck_assert_uint_eq(w.ctls[2].events, EPOLLOUT);
	ck_assert_uint_eq(w.ctls[2].data, 2);
	ck_assert_uint_eq(parked(FD, EP), 0);
	closing(FD);
	assert_over();
}
END_TEST

START_TEST(events_of_unknown_registrations)
{
	static const struct {
		bool watched;
		bool backoff;
		enum condition is;
		enum pend_state then;
	} rows[] = {
		{ false, true, CONDITION_CLOSED, PEND_FAILED },
		{ true, true, CONDITION_CLOSED, PEND_BACKOFF },
		{ false, false, CONDITION_TRYING, PEND_CONNECTING },
		{ true, false, CONDITION_CLOSED, PEND_CONNECTING },
		{ false, false, CONDITION_CLOSED, PEND_FREE },
		{ false, false, CONDITION_CONNECTED, PEND_FREE },
		{ false, false, CONDITION_OTHER, PEND_FREE },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned before;

		setup();
		begin(FD);
		if (rows[i].backoff)
			ck_assert_int_eq(fails(FD, ECONNREFUSED), SIGHT_HIDE);
		if (rows[i].watched)
			fdtab_watch_set(FD, EP, EPOLLIN, 1);
		before = actions();
		w.conditions.rest = rows[i].is;
		pending_unknown_event(&world_ops, &w);
		ck_assert_msg(state_of(FD) == rows[i].then, "row %zu", i);
		ck_assert_uint_eq(actions(), before);
		if (rows[i].then == PEND_FAILED)
			assert_delivered_once(FD, ECONNREFUSED);
		closing(FD);
		assert_over();
	}
	setup();
	owes(FD);
	w.mode = MODE_OBSERVE;
	begin(FD + 1);
	ck_assert_int_eq(fails(FD + 1, ECONNREFUSED), SIGHT_SHOW);
	pending_unknown_event(&world_ops, &w);
	ck_assert_int_eq(state_of(FD), PEND_FAILED);
	ck_assert_int_eq(state_of(FD + 1), PEND_REPORTED);
	closing(FD);
	closing(FD + 1);
	assert_over();
}
END_TEST

UNIT_MAIN("pending_epoll", &every_registration_is_parked_and_armed_again,
          &registered_while_it_waits, &registrations_that_the_kernel_does_not_have,
          &swallowed_events, &events_of_before_the_connect, &what_is_so_for_good_is_shown,
          &exclusive_registrations, &the_programs_word_is_the_last, &events_of_unknown_registrations)
