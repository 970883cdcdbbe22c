/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/un.h>

#include "base/prng.h"
#include "tests/unit/fdtab.h"

static const struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = 80 };

static bool begin_young(int fd)
{
	return fdtab_begin_young(fd, (const struct sockaddr *)&in, sizeof(in), 7, 42);
}

/* As connect() does, where nothing is known. */
static bool begin_quickly(int fd)
{
	uint64_t busy;

	return fdtab_note_four(fd, (const struct sockaddr *)&in, 42, 7, FDTAB_NOTE_YOUNG, &busy);
}

static struct pend_ref found(int fd)
{
	struct pend_ref ref;

	ck_assert(fdtab_find(fd, &ref));
	return ref;
}

static void is_as_new(int fd)
{
	static const struct guard none;
	struct pend_ref ref = found(fd);
	struct pending *p = ref.p;

	ck_assert_int_eq(pend_state(&ref), PEND_CONNECTING);
	ck_assert(!fdtab_any_aged());
	ck_assert_int_eq(first_fd(&ref), fd);
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

/* A note is all that most of them have. */
START_TEST(short_lives)
{
	fdtab_reset();
	for (int fd = 0; fd < 2 * FDTAB_CHUNK; fd += 5) {
		ck_assert(fd < FDTAB_CHUNK ? begin_quickly(fd) : begin_young(fd));
		ck_assert_uint_eq(count_busy(), 1);
		ck_assert_uint_eq(count_live(), 0);
		ck_assert(fdtab_knows(fd));
		ck_assert(fdtab_drop_young(fd));
		ck_assert_uint_eq(count_busy(), 0);
		ck_assert(!fdtab_knows(fd));
		ck_assert(fdtab_drop_young(fd)); /* nothing is known */
		ck_assert_uint_eq(count_busy(), 0);
	}
	ck_assert(fdtab_drop_young(-1));
	ck_assert(fdtab_drop_young(INT_MAX));
}
END_TEST

START_TEST(who_asks_gets_a_record)
{
	struct pend_ref ref;

	fdtab_reset();
	ck_assert(begin_quickly(3));
	is_as_new(3);
	ck_assert_uint_eq(count_busy(), 1);
	ck_assert_uint_eq(count_live(), 1);
	is_as_new(3);
	ck_assert_uint_eq(count_live(), 1);
	/* Which is another's to drop. */
	ck_assert(!fdtab_drop_young(3));
	ref = found(3);
	ck_assert(fdtab_drop(&ref));
	ck_assert(fdtab_drop_young(3));
	ck_assert_uint_eq(count_busy(), 0);
	/* Who looks at all of them. */
	ck_assert(begin_young(4));
	ck_assert(begin_young(FDTAB_CHUNK + 4));
	ck_assert_uint_eq(count_live(), 0);
	fdtab_record_all();
	ck_assert_uint_eq(count_live(), 2);
	ck_assert_uint_eq(count_busy(), 2);
}
END_TEST

START_TEST(of_each_family)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = 81, .sin6_scope_id = 7 };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_storage long_one = { .ss_family = AF_INET };

	fdtab_reset();
	memset(&six.sin6_addr, 0x5a, sizeof(six.sin6_addr));
	ck_assert(fdtab_begin_young(3, (struct sockaddr *)&six, sizeof(six), 7, 42));
	ck_assert_uint_eq(found(3).p->len, sizeof(six));
	ck_assert_mem_eq(&found(3).p->sa, &six, sizeof(six));
	/* What a note has no room for: its length, a path. */
	ck_assert(!fdtab_begin_young(4, (struct sockaddr *)&un, sizeof(un), 7, 42));
	ck_assert(!fdtab_begin_young(4, (struct sockaddr *)&long_one, sizeof(long_one), 7, 42));
	ck_assert(!fdtab_begin_young(4, (struct sockaddr *)&long_one, 1, 7, 42));
	ck_assert_uint_eq(count_busy(), 1);
	/* Nothing is left of the longer one. */
	fdtab_reset();
	ck_assert(begin_quickly(3));
	is_as_new(3);
	ck_assert_int_eq(found(3).p->sa.ss_family, AF_INET);
}
END_TEST

START_TEST(what_must_have_a_record)
{
	struct pend_ref ref;
	bool alone;

	fdtab_reset();
	ck_assert(!begin_young(-1));
	ck_assert(!begin_young(FDTAB_FDS));
	/* Has one. */
	begin(3, PEND_BACKOFF);
	ck_assert(!begin_quickly(3));
	ck_assert(!begin_young(3));
	/* Is a dup, also one that was made before. */
	ck_assert(begin_quickly(4));
	fdtab_dup(4, 5);
	ck_assert(found(4).p == found(5).p);
	ck_assert(!fdtab_drop_young(4));
	ck_assert(!fdtab_drop_young(5));
	ck_assert(close_fd(4, &alone) && !alone);
	ck_assert(!fdtab_drop_young(5));
	ck_assert(!begin_quickly(6) || fdtab_drop_young(6));
	fdtab_dup(6, 7);
	ck_assert(!begin_quickly(6));
	ck_assert(!begin_young(6));
	ck_assert(!fdtab_drop_young(7)); /* may share another's */
	ck_assert(!fdtab_find(7, &ref));
	ck_assert_uint_eq(count_busy(), 2);
	/* There are too many. */
	atomic_fetch_or(&fdtab_gate, FDTAB_NOTED_MANY);
	ck_assert(!begin_young(8));
	atomic_fetch_and(&fdtab_gate, ~FDTAB_NOTED_MANY);
	ck_assert(begin_young(8));
}
END_TEST

START_TEST(registrations_stay)
{
	fdtab_reset();
	fdtab_watch_set(6, 9, 1, 6);
	ck_assert(fdtab_drop_young(6));
	ck_assert(begin_young(6));
	ck_assert_int_eq(fdtab_watch_find(9, 6, true), 6);
	ck_assert(fdtab_drop_young(6));
	ck_assert(fdtab_knows(6));
	ck_assert_int_eq(fdtab_watch_find(9, 6, true), 6);
}
END_TEST

/* A number that was closed unseen, and is connected again. */
START_TEST(an_older_connect_is_over)
{
	struct pend_ref old;

	fdtab_reset();
	ck_assert(begin_quickly(3));
	ck_assert(!begin_quickly(3));
	ck_assert(begin_young(3));
	ck_assert_uint_eq(count_busy(), 1);
	is_as_new(3);
	old = found(3);
	begin(3, PEND_CONNECTING);
	ck_assert(!fdtab_refresh(&old));
	ck_assert_uint_eq(count_busy(), 1);
	/* A record on one that has but a note, and one that was connected at once. */
	ck_assert(begin_quickly(4));
	begin(4, PEND_BACKOFF);
	ck_assert_int_eq(pend_state(&(struct pend_ref){ NULL, found(4).word }), PEND_BACKOFF);
	ck_assert_uint_eq(count_busy(), 2);
	ck_assert(begin_quickly(5));
	fdtab_note_any(5, (const struct sockaddr *)&in, sizeof(in), 42, 0, FDTAB_NOTE_KEPT);
	ck_assert_uint_eq(count_busy(), 2);
	ck_assert(!fdtab_knows(5));
}
END_TEST

START_TEST(closing_forgets_it)
{
	struct fdtab_note note;
	struct pend_ref ref;
	bool alone;

	fdtab_reset();
	ck_assert(begin_quickly(3));
	ck_assert(!fdtab_forget(3, &ref, &alone));
	ck_assert_uint_eq(count_busy(), 0);
	ck_assert(!fdtab_note_read(3, FDTAB_NOTE_YOUNG, &note));
	ck_assert(begin_quickly(3));
	ck_assert(fdtab_note_read(3, FDTAB_NOTE_OPEN, &note));
	ck_assert_mem_eq(&note.to, &in, sizeof(in));
}
END_TEST

/* Between the two steps of the writer. */
START_TEST(what_comes_in_between)
{
	static const uint64_t young = FDTAB_NOTE_YOUNG;
	struct fdtab_slot *slot = fdtab_slot(3);
	struct fdtab_note note;
	struct pend_ref ref;
	uint64_t busy;
	bool alone;
	bool has;

	for (unsigned row = 0; row < 4; row++) {
		fdtab_reset();
		busy = atomic_load(&slot->word) + FDTAB_NOTE_BUSY;
		atomic_store(&slot->word, busy);
		ck_assert(!begin_quickly(3));
		ck_assert(!begin_young(3));
		ck_assert(!fdtab_note_read(3, young, &note));
		atomic_fetch_add(&fdtab_gate, FDTAB_NOTED);
		if (row == 0)
			fdtab_forget(3, &ref, &alone);
		else if (row == 1)
			begin(3, PEND_BACKOFF);
		else if (row == 2)
			fdtab_dup(3, 4);
		else
			fdtab_postfork_child();
		fdtab_note_end(3, busy, young);
		/* Closed: nothing. A record: that. A dup: one, to be found by it. Forked:
		 * it is the parent's. */
		has = row == 1 || row == 2;
		ck_assert_uint_eq(count_live(), has);
		ck_assert_uint_eq(count_busy(), has);
		ck_assert_int_eq(fdtab_note_read(3, FDTAB_NOTE_KEPT, &note), has);
		ck_assert_int_eq(fdtab_find(3, &ref), has);
	}
}
END_TEST

START_TEST(no_room_for_a_record)
{
	struct pend_ref ref;

	fdtab_reset();
	for (int fd = 0; fd < FDTAB_PENDING; fd++)
		begin(fd, PEND_CONNECTING);
	ck_assert(begin_young(FDTAB_PENDING));
	ck_assert_uint_eq(count_busy(), FDTAB_PENDING + 1);
	/* It is the program's. */
	ck_assert(!fdtab_find(FDTAB_PENDING, &ref));
	ck_assert_uint_eq(count_busy(), FDTAB_PENDING);
	ck_assert(!fdtab_knows(FDTAB_PENDING));
	fdtab_reset();
}
END_TEST

START_TEST(a_forked_child_has_none)
{
	fdtab_reset();
	ck_assert(begin_quickly(3));
	atomic_fetch_or(&fdtab_slot(4)->word, FDTAB_NOTE_BUSY); /* by another thread */
	fdtab_postfork_child();
	ck_assert_uint_eq(count_busy(), 0);
	ck_assert(!fdtab_knows(3));
	ck_assert(begin_young(3));
	is_as_new(3);
	ck_assert(begin_quickly(4));
}
END_TEST

#define FDS 4
#define ROUNDS 20000

/* Whatever number is asked about, the record has one whole address. */
static void *mix(void *arg)
{
	struct prng p;

	prng_seed(&p, (uint64_t)(uintptr_t)arg);
	for (unsigned i = 0; i < ROUNDS; i++) {
		int fd = (int)prng_below(prng_next(&p), FDS - 1);
		uint16_t n = (uint16_t)prng_next(&p);
		struct sockaddr_in to = { .sin_family = AF_INET,
			                  .sin_port = n,
			                  .sin_addr.s_addr = n };
		struct pend_ref ref;
		uint64_t busy;
		bool alone;

		memcpy(to.sin_zero, &n, sizeof(n));
		switch (prng_below(prng_next(&p), 4)) {
		case 0:
			if (!fdtab_note_four(fd, (struct sockaddr *)&to, n, n,
			                     FDTAB_NOTE_YOUNG, &busy) &&
			    busy)
				fdtab_note_end(fd, busy, FDTAB_NOTE_YOUNG);
			break;
		case 1:
			fdtab_begin_young(fd, (struct sockaddr *)&to, sizeof(to), n, n);
			break;
		case 2:
			fdtab_drop_young(fd);
			break;
		case 3:
			close_fd(fd, &alone);
			break;
		default:
			if (!fdtab_find(fd, &ref) || !fdtab_claim(&ref))
				break;
			memcpy(&to, &ref.p->sa, sizeof(to));
			ck_assert_uint_eq(to.sin_port, to.sin_addr.s_addr);
			ck_assert_mem_eq(to.sin_zero, &to.sin_port, 2);
			ck_assert_uint_eq(ref.p->thread, to.sin_port);
			ck_assert_int_eq(ref.p->began, to.sin_port);
			fdtab_release(&ref, PEND_FREE);
		}
	}
	return NULL;
}

START_TEST(threads)
{
	pthread_t t[4];
	bool alone;

	fdtab_reset();
	for (uintptr_t i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, mix, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int fd = 0; fd < FDS; fd++)
		close_fd(fd, &alone);
	ck_assert_uint_eq(count_busy(), 0);
	ck_assert(!fdtab_any_aged());
	for (int fd = 0; fd < FDS; fd++)
		ck_assert(begin_quickly(fd));
}
END_TEST

UNIT_MAIN("fdtab_young", &short_lives, &who_asks_gets_a_record, &of_each_family,
          &what_must_have_a_record, &registrations_stay, &an_older_connect_is_over,
          &closing_forgets_it, &what_comes_in_between, &no_room_for_a_record,
          &a_forked_child_has_none, &threads)
