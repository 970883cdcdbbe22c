/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <string.h>

#include "tests/unit/fdtab.h"

static const struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = 80 };

static bool begin_young(int fd)
{
	return fdtab_begin_young(fd, (const struct sockaddr *)&in, sizeof(in), 7, 42);
}

static struct pend_ref found(int fd)
{
	struct pend_ref ref;

	ck_assert(fdtab_find(fd, &ref));
	return ref;
}

/* The slots of the first numbers are there once one of them was used. */
static void setup(void)
{
	fdtab_reset();
	fdtab_release(&(struct pend_ref){ begin(3, PEND_CONNECTING).p, found(3).word },
	              PEND_FREE);
	ck_assert_uint_eq(count_live(), 0);
}

static void is_as_new(const struct pend_ref *ref, int fd)
{
	static const struct guard none;
	struct pending *p = ref->p;

	ck_assert_int_eq(pend_state(ref), PEND_CONNECTING);
	ck_assert(!fdtab_any_aged());
	ck_assert_int_eq(first_fd(ref), fd);
	for (unsigned i = 1; i < FDTAB_SHARED; i++)
		ck_assert_int_eq(atomic_load(&p->fds[i]), -1);
	ck_assert_uint_eq(atomic_load(&p->identity), 0);
	ck_assert_int_eq(atomic_load(&p->due), DUR_NONE);
	ck_assert_mem_eq(&p->sa, &in, sizeof(in));
	ck_assert_uint_eq(p->len, sizeof(in));
	ck_assert_uint_eq(p->attempt, 1);
	ck_assert_uint_eq(p->thread, 42);
	ck_assert_int_eq(p->began, 7);
	ck_assert_int_eq(p->attempt_began, 7);
	ck_assert_int_eq(p->expires, DUR_NONE);
	ck_assert(!p->policy && !p->rule && !p->home_len && !p->redirected && !p->last);
	ck_assert(!p->observed && !p->replay && !p->parked && !p->place && !p->why && !p->op);
	ck_assert_int_eq(p->error, 0);
	ck_assert_int_eq(p->taken + p->waited + p->previous_wait + p->backoff_began, 0);
	ck_assert_mem_eq(&p->guard, &none, sizeof(none));
}

START_TEST(short_lives)
{
	struct pend_ref ref;

	setup();
	for (int fd = 0; fd < FDTAB_CHUNK; fd += 5) {
		ck_assert(begin_young(fd));
		ck_assert_uint_eq(fdtab_busy(), 1);
		ref = found(fd);
		is_as_new(&ref, fd);
		ck_assert(fdtab_drop_young(fd));
		ck_assert_uint_eq(fdtab_busy(), 0);
		ck_assert(!fdtab_knows(fd));
		ck_assert(!fdtab_refresh(&ref));
		ck_assert(fdtab_drop_young(fd)); /* nothing is known */
		ck_assert_uint_eq(fdtab_busy(), 0);
	}
	ck_assert(fdtab_drop_young(-1));
	ck_assert(fdtab_drop_young(INT_MAX));
}
END_TEST

START_TEST(what_is_not_the_quick_ways)
{
	struct sockaddr_storage ss = { .ss_family = AF_UNIX };

	setup();
	ck_assert(!begin_young(-1));
	ck_assert(!begin_young(FDTAB_FDS));
	ck_assert(!begin_young(7 * FDTAB_CHUNK)); /* no slot yet */
	ck_assert(!fdtab_begin_young(3, (struct sockaddr *)&ss, sizeof(ss) + 1, 7, 42));
	ck_assert_uint_eq(fdtab_busy(), 0);
	ck_assert(fdtab_begin_young(3, (struct sockaddr *)&ss, sizeof(ss), 7, 42));
	ck_assert_uint_eq(found(3).p->len, sizeof(ss));
	/* Taken. */
	ck_assert(!begin_young(3 + 64));
	ck_assert(!begin_young(3));
	ck_assert_uint_eq(fdtab_busy(), 1);
}
END_TEST

START_TEST(what_is_not_dropped)
{
	struct pend_ref ref;
	bool alone;

	setup();
	/* Claimed, and once claimed. */
	ck_assert(begin_young(3));
	ref = found(3);
	ck_assert(fdtab_claim(&ref));
	ck_assert(!fdtab_drop_young(3));
	fdtab_release(&ref, PEND_CONNECTING);
	ck_assert(!fdtab_drop_young(3));
	fdtab_reset();
	/* Shared, also when the other is gone. */
	ck_assert(begin_young(4));
	fdtab_dup(4, 5);
	ck_assert(!fdtab_drop_young(4));
	ck_assert(!fdtab_drop_young(5));
	ck_assert(close_fd(4, &alone) && !alone);
	ck_assert(!fdtab_drop_young(5));
	ck_assert_int_eq(first_fd(&(struct pend_ref){ found(5).p, 0 }), 5);
	ck_assert_uint_eq(fdtab_busy(), 1);
	/* Without a record: there is more to know. */
	fdtab_watch_set(6, 9, 1, 6);
	ck_assert(!fdtab_drop_young(6));
	/* With one its registrations stay. */
	ck_assert(begin_young(6));
	ck_assert(fdtab_drop_young(6));
	ck_assert(fdtab_knows(6));
	ck_assert_int_eq(fdtab_watch_find(9, 6, true), 6);
}
END_TEST

START_TEST(longer_lives_leave_nothing)
{
	struct pend_ref ref;
	bool alone;

	setup();
	ck_assert(begin_young(3));
	ref = found(3);
	ck_assert(fdtab_claim(&ref));
	atomic_store(&ref.p->identity, 99);
	atomic_store(&ref.p->due, 5);
	memset(&ref.p->sa, 0x5a, sizeof(*ref.p) - offsetof(struct pending, sa));
	fdtab_release(&ref, PEND_BACKOFF);
	ck_assert(fdtab_drop(&ref));
	ck_assert(begin_young(3));
	ref = found(3);
	is_as_new(&ref, 3);
	ck_assert(fdtab_drop_young(3));

	ck_assert(begin_young(4));
	for (int fd = 5; fd < 5 + FDTAB_SHARED; fd++)
		fdtab_dup(4, fd);
	for (int fd = 4; fd < 5 + FDTAB_SHARED; fd++)
		close_fd(fd, &alone);
	ck_assert_uint_eq(fdtab_busy(), 0);
	ck_assert(begin_young(4));
	ref = found(4);
	is_as_new(&ref, 4);
}
END_TEST

/* A number that was closed unseen, and is connected again. */
START_TEST(an_older_record_is_left)
{
	struct pend_ref old;

	setup();
	old = begin(3, PEND_BACKOFF);
	ck_assert(begin_young(3));
	ck_assert(!fdtab_refresh(&old));
	ck_assert_uint_eq(fdtab_busy(), 1);
	is_as_new(&(struct pend_ref){ found(3).p, found(3).word }, 3);
	/* The other way round. */
	old = found(3);
	begin(3, PEND_CONNECTING);
	ck_assert(!fdtab_refresh(&old));
	ck_assert_uint_eq(fdtab_busy(), 1);
}
END_TEST

START_TEST(a_forked_child_has_none)
{
	setup();
	ck_assert(begin_young(3));
	fdtab_postfork_child();
	ck_assert_uint_eq(fdtab_busy(), 0);
	ck_assert(!fdtab_knows(3));
	ck_assert(begin_young(3));
	is_as_new(&(struct pend_ref){ found(3).p, found(3).word }, 3);
}
END_TEST

UNIT_MAIN("fdtab_young", &short_lives, &what_is_not_the_quick_ways, &what_is_not_dropped,
          &longer_lives_leave_nothing, &an_older_record_is_left, &a_forked_child_has_none)
