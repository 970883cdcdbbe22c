/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/sys.h"
#include "tests/unit/fdtab.h"

/* First of all: without a fork for each test, others have opened it. */
START_TEST(gate_is_closed_at_first)
{
	struct pend_ref ref;

	ck_assert_uint_eq(fdtab_busy(), FDTAB_CLOSED);
	ref = begin(3, PEND_CONNECTING);
	ck_assert_uint_eq(fdtab_busy(), FDTAB_CLOSED | 1);
	fdtab_postfork_child();
	ck_assert_uint_eq(fdtab_busy(), FDTAB_CLOSED);
	ck_assert(!fdtab_refresh(&ref));
	fdtab_reset();
	ck_assert_uint_eq(fdtab_busy(), 0);
}
END_TEST

START_TEST(numbers_at_the_edges)
{
	static const struct {
		int fd;
		bool ok;
	} rows[] = {
		{ INT_MIN, false }, { -1, false }, { 0, true }, { 1, true },
		{ FDTAB_CHUNK - 1, true }, { FDTAB_CHUNK, true }, { 5 * FDTAB_CHUNK + 7, true },
		{ FDTAB_FDS - 1, true }, { FDTAB_FDS, false }, { INT_MAX, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd = rows[i].fd;
		struct pend_ref ref;
		struct pend_ref other;
		struct watch w;
		bool alone = true;

		fdtab_reset();
		ck_assert(!fdtab_knows(fd));
		ck_assert(!fdtab_find(fd, &ref));
		ck_assert(!fdtab_forget(fd, &ref, &alone) && !alone);
		ck_assert_int_eq(fdtab_begin(fd, &ref), rows[i].ok);
		ck_assert_uint_eq(fdtab_busy(), rows[i].ok);
		ck_assert_int_eq(fdtab_knows(fd), rows[i].ok);
		ck_assert_int_eq(fdtab_find(fd, &other), rows[i].ok);
		if (rows[i].ok) {
			ck_assert_ptr_eq(other.p, ref.p);
			ck_assert_uint_eq(other.word, ref.word);
			ck_assert_int_eq(first_fd(&ref), fd);
			fdtab_release(&ref, PEND_FREE);
			ck_assert(!fdtab_knows(fd));
		}
		fdtab_watch_set(fd, 9, 1, 77);
		ck_assert_int_eq(fdtab_watch_get(fd, 0, &w), rows[i].ok);
		ck_assert_int_eq(fdtab_watch_find(9, 77, true), rows[i].ok ? fd : -1);
		fdtab_watch_park(fd, 9, 1);
		fdtab_watch_del(fd, 9);
		fdtab_watch_set(8, fd, 1, 78);
		ck_assert_int_eq(fdtab_watch_get(8, 0, &w), rows[i].ok);
		fdtab_watch_park(8, fd, 1);
		fdtab_watch_del(8, fd);
		ck_assert_int_eq(fdtab_watch_find(fd, 78, true), -1);
		fdtab_dup(fd, 6);
		ck_assert_int_eq(fdtab_is_dup(fd), rows[i].ok);
		fdtab_dup(6, fd);
		ref = begin(6, PEND_CONNECTING);
		ck_assert_int_eq(fdtab_attach(&ref, fd), rows[i].ok);
	}
}
END_TEST

START_TEST(begins_zeroed_and_busy)
{
	static const struct pending zero;
	const size_t rest = offsetof(struct pending, sa);
	struct pend_ref ref;

	fdtab_reset();
	for (int round = 0; round < 2; round++) {
		ref = begin(7, PEND_BUSY);
		ck_assert_int_eq(pend_state(&ref), PEND_BUSY);
		ck_assert_int_eq(memcmp((const char *)ref.p + rest, (const char *)&zero + rest,
		                        sizeof(zero) - rest), 0);
		ck_assert_uint_eq(atomic_load(&ref.p->identity), 0);
		ck_assert_int_eq(atomic_load(&ref.p->due), 0);
		ck_assert_int_eq(atomic_load(&ref.p->fds[0]), 7);
		for (int i = 1; i < FDTAB_SHARED; i++)
			ck_assert_int_eq(atomic_load(&ref.p->fds[i]), -1);
		memset((char *)ref.p + rest, 0x5a, sizeof(zero) - rest);
		atomic_store(&ref.p->identity, 1);
		atomic_store(&ref.p->due, 1);
		ck_assert(fdtab_attach(&ref, 8));
		fdtab_release(&ref, PEND_FREE);
	}
}
END_TEST

START_TEST(claims)
{
	struct pend_ref ref;
	struct pend_ref old;
	struct pend_ref other;

	fdtab_reset();
	ref = begin(7, PEND_BUSY);
	other = ref;
	ck_assert(!fdtab_claim(&other)); /* a BUSY one */
	ck_assert(!fdtab_drop(&other));
	fdtab_release(&ref, PEND_CONNECTING);
	ck_assert_int_eq(pend_state(&ref), PEND_CONNECTING);
	old = ref;
	ck_assert(fdtab_claim(&ref));
	ck_assert_int_eq(pend_state(&ref), PEND_BUSY);
	ck_assert(!fdtab_claim(&old)); /* somebody has it */
	ck_assert(!fdtab_drop(&old));
	fdtab_release(&ref, PEND_BACKOFF);
	ck_assert(!fdtab_claim(&old)); /* something has changed */
	ck_assert(!fdtab_drop(&old));
	ck_assert_int_eq(pend_state(&old), PEND_CONNECTING);
	ck_assert(fdtab_refresh(&old));
	ck_assert_int_eq(pend_state(&old), PEND_BACKOFF);
	ck_assert(fdtab_wait_idle(&old));
	ck_assert(fdtab_claim(&old));
	fdtab_release(&old, PEND_FREE);
	ck_assert(!fdtab_claim(&old));
	ck_assert(!fdtab_refresh(&old));
	ck_assert(!fdtab_refresh(&ref));
	ck_assert(!fdtab_wait_idle(&ref));
	ck_assert_uint_eq(fdtab_busy(), 0);
}
END_TEST

START_TEST(drop_gives_back_at_once)
{
	struct pend_ref ref;

	fdtab_reset();
	ref = begin(7, PEND_BACKOFF);
	ck_assert(fdtab_attach(&ref, 300));
	ck_assert(fdtab_drop(&ref));
	ck_assert(!fdtab_drop(&ref));
	ck_assert(!fdtab_knows(7));
	ck_assert(!fdtab_knows(300));
	ck_assert_uint_eq(fdtab_busy(), 0);
}
END_TEST

/* A record that has begun a new life is not the one that was found. */
START_TEST(stale_references)
{
	struct pend_ref old;
	struct pend_ref gone;
	struct pend_ref ref;

	fdtab_reset();
	old = begin(7, PEND_CONNECTING);
	gone = old;
	ck_assert(fdtab_claim(&gone));
	fdtab_release(&gone, PEND_FREE);
	ref = begin(8, PEND_CONNECTING);
	ck_assert_ptr_eq(ref.p, old.p); /* else the rest proves nothing */
	ck_assert(!fdtab_refresh(&old));
	ck_assert(!fdtab_refresh(&gone));
	ck_assert(!fdtab_claim(&old));
	ck_assert(!fdtab_drop(&old));
	ck_assert(!fdtab_claim(&gone));
	ck_assert(!fdtab_wait_idle(&old));
	ck_assert(!fdtab_attach(&old, 9));
	ck_assert(!fdtab_knows(9));
	ck_assert(!fdtab_attach(&old, 8)); /* which keeps what it has */
	ck_assert_int_eq(first_fd(&ref), 8);
	ck_assert(!fdtab_find(7, &gone));
	ck_assert(fdtab_find(8, &ref));
}
END_TEST

/* A link that was left behind, however many lives ago. */
START_TEST(stale_links)
{
	struct pend_ref ref;
	struct pend_ref found;
	uint64_t link;

	fdtab_reset();
	ref = begin(7, PEND_CONNECTING);
	link = atomic_load(&fdtab_slot(7)->word);
	ck_assert(fdtab_drop(&ref));
	for (unsigned i = 0; i < 300; i++) {
		bool alone;

		ref = begin(8, PEND_CONNECTING);
		atomic_store(&fdtab_slot(7)->word, link);
		ck_assert(fdtab_knows(7));
		ck_assert(!fdtab_find(7, &found));
		ck_assert(!fdtab_forget(7, &found, &alone));
		ck_assert(!fdtab_knows(7));
		ck_assert(fdtab_find(8, &found));
		ck_assert_ptr_eq(found.p, ref.p);
		ck_assert(fdtab_drop(&ref));
	}
	ck_assert_uint_eq(fdtab_busy(), 0);
}
END_TEST

START_TEST(pool_is_bounded)
{
	struct pend_ref ref;
	struct pend_ref middle;

	fdtab_reset();
	for (int fd = 0; fd < FDTAB_PENDING; fd++)
		begin(fd, PEND_CONNECTING);
	ck_assert_uint_eq(fdtab_busy(), FDTAB_PENDING);
	ck_assert_uint_eq(count_live(), FDTAB_PENDING);
	ck_assert(!fdtab_begin(FDTAB_PENDING, &ref));
	ck_assert(!fdtab_knows(FDTAB_PENDING));
	ck_assert(!fdtab_begin(0, &ref)); /* what it has stays */
	ck_assert(fdtab_find(0, &ref));
	ck_assert_uint_eq(fdtab_busy(), FDTAB_PENDING);
	ck_assert(fdtab_find(1000, &middle));
	ck_assert(fdtab_drop(&middle));
	ck_assert(fdtab_begin(FDTAB_PENDING, &ref));
	ck_assert_ptr_eq(ref.p, middle.p);
	ck_assert(!fdtab_begin(1000, &ref));
	for (int fd = 0; fd <= FDTAB_PENDING; fd++) {
		bool alone;

		ck_assert_int_eq(close_fd(fd, &alone), fd != 1000);
		ck_assert_int_eq(alone, fd != 1000);
		fdtab_find(fd, &ref);
	}
	ck_assert_uint_eq(fdtab_busy(), 1); /* the last one is still claimed */
	ck_assert_uint_eq(count_live(), 1);
}
END_TEST

/* Iteration looks at what was in use at one time, not at the whole pool. */
START_TEST(lowest_record_is_used_again)
{
	struct pend_ref ref[70];
	struct pend_ref again;
	unsigned at = 0;

	fdtab_reset();
	for (int i = 0; i < 70; i++)
		ref[i] = begin(i, PEND_CONNECTING);
	ck_assert(fdtab_drop(&ref[66]));
	ck_assert(fdtab_drop(&ref[3]));
	ck_assert_uint_eq(count_live(), 68);
	again = begin(400, PEND_CONNECTING);
	ck_assert_ptr_eq(again.p, ref[3].p);
	again = begin(401, PEND_CONNECTING);
	ck_assert_ptr_eq(again.p, ref[66].p);
	while (fdtab_next(&at, &again))
		ck_assert_uint_le(at, 70);
	ck_assert_uint_le(at, 70);
	ck_assert(!fdtab_next(&at, &again));
}
END_TEST

/* The number died unseen, and is another socket's now. */
START_TEST(begin_again_on_a_number)
{
	struct pend_ref old;
	struct pend_ref busy;
	struct pend_ref ref;

	fdtab_reset();
	old = begin(7, PEND_BACKOFF);
	ref = begin(7, PEND_CONNECTING);
	ck_assert(!fdtab_refresh(&old)); /* was its last descriptor */
	ck_assert_uint_eq(fdtab_busy(), 1);

	ck_assert(fdtab_attach(&ref, 8));
	old = ref;
	ref = begin(7, PEND_CONNECTING);
	ck_assert(fdtab_refresh(&old)); /* lives on with the other one */
	ck_assert_int_eq(first_fd(&old), 8);
	ck_assert_uint_eq(fdtab_busy(), 2);

	busy = old;
	ck_assert(fdtab_claim(&busy));
	begin(8, PEND_CONNECTING);
	ck_assert(fdtab_refresh(&busy)); /* the claimer gives it back */
	ck_assert_int_eq(first_fd(&busy), -1);
	ck_assert_uint_eq(fdtab_busy(), 3);
	fdtab_release(&busy, PEND_BACKOFF);
	ck_assert(!fdtab_refresh(&busy));
	ck_assert_uint_eq(fdtab_busy(), 2);
	ck_assert_uint_eq(count_live(), 2);
}
END_TEST

START_TEST(dups_share_a_record)
{
	struct pend_ref ref;
	struct pend_ref found;
	bool alone;

	fdtab_reset();
	ref = begin(7, PEND_CONNECTING);
	ck_assert(!fdtab_is_dup(7));
	fdtab_dup(7, 260);
	fdtab_dup(260, 9);
	fdtab_dup(9, 10);
	ck_assert(fdtab_attach(&ref, 10)); /* has joined already */
	ck_assert(!fdtab_attach(&ref, 11)); /* no room */
	ck_assert(!fdtab_knows(11));
	fdtab_dup(7, 11);
	ck_assert(fdtab_is_dup(7) && fdtab_is_dup(260) && fdtab_is_dup(11));
	ck_assert(!fdtab_find(11, &found));
	ck_assert(fdtab_find(10, &found));
	ck_assert_ptr_eq(found.p, ref.p);

	ck_assert(fdtab_forget(9, &found, &alone) && !alone); /* one in the middle */
	ck_assert_int_eq(first_fd(&ref), 7);
	ck_assert(fdtab_attach(&ref, 12)); /* in its place */
	ck_assert(fdtab_forget(7, &found, &alone) && !alone);
	ck_assert_int_eq(first_fd(&ref), 260);
	ck_assert(!fdtab_is_dup(7));
	ck_assert(!fdtab_forget(7, &found, &alone) && !alone);
	ck_assert(fdtab_forget(260, &found, &alone) && !alone);
	ck_assert_int_eq(first_fd(&ref), 12);
	ck_assert(fdtab_forget(12, &found, &alone) && !alone);
	ck_assert_int_eq(first_fd(&ref), 10);
	for (int i = 1; i < FDTAB_SHARED; i++)
		ck_assert_int_eq(atomic_load(&ref.p->fds[i]), -1);
	ck_assert(fdtab_forget(10, &found, &alone) && alone);
	ck_assert_int_eq(first_fd(&ref), -1);
	ck_assert_ptr_eq(found.p, ref.p);
	ck_assert_int_eq(pend_state(&found), PEND_CONNECTING);
	ck_assert(fdtab_drop(&found));
	ck_assert_uint_eq(fdtab_busy(), 0);
}
END_TEST

START_TEST(dup_marks_without_a_record)
{
	struct pend_ref ref;
	bool alone;

	fdtab_reset();
	fdtab_dup(5, 5); /* dup2 of a number on itself */
	ck_assert(!fdtab_is_dup(5));
	fdtab_dup(-1, 5);
	ck_assert(fdtab_is_dup(5));
	fdtab_dup(5, 6);
	ck_assert(fdtab_is_dup(6));
	ck_assert(fdtab_knows(6));
	ref = begin(6, PEND_CONNECTING); /* the marks outlive the record */
	ck_assert(fdtab_drop(&ref));
	ck_assert(fdtab_is_dup(6));
	ck_assert(!fdtab_forget(6, &ref, &alone));
	ck_assert(!fdtab_knows(6));
	ck_assert(fdtab_is_dup(5));
	ck_assert_uint_eq(fdtab_busy(), 0);
}
END_TEST

/* A descriptor that joins another record leaves the one it had. */
START_TEST(attach_moves_a_descriptor)
{
	struct pend_ref a;
	struct pend_ref b;
	struct pend_ref found;

	fdtab_reset();
	a = begin(7, PEND_CONNECTING);
	b = begin(8, PEND_CONNECTING);
	ck_assert(fdtab_attach(&a, 8));
	ck_assert(!fdtab_refresh(&b));
	ck_assert(fdtab_find(8, &found));
	ck_assert_ptr_eq(found.p, a.p);
	ck_assert_uint_eq(fdtab_busy(), 1);
}
END_TEST

START_TEST(forgets_in_any_state)
{
	static const enum pend_state states[] = {
		PEND_BUSY, PEND_CONNECTING, PEND_BACKOFF, PEND_FAILED, PEND_REPORTED
	};

	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		struct pend_ref ref;
		struct pend_ref found;
		struct watch w;
		bool alone;

		fdtab_reset();
		ref = begin(7, states[i]);
		fdtab_watch_set(7, 4, 1, 7);
		ck_assert(fdtab_forget(7, &found, &alone) && alone);
		ck_assert_int_eq(pend_state(&found), states[i]);
		ck_assert(!fdtab_knows(7));
		ck_assert(!fdtab_watch_get(7, 0, &w));
		ck_assert_uint_eq(fdtab_busy(), 1);
		if (states[i] == PEND_BUSY)
			fdtab_release(&ref, PEND_CONNECTING);
		else
			ck_assert(fdtab_drop(&found));
		ck_assert_uint_eq(fdtab_busy(), 0);
	}
}
END_TEST

START_TEST(ranges)
{
	static const int fds[] = { 3, 255, 256, 2 * FDTAB_CHUNK, FDTAB_FDS - 1 };
	unsigned found[ARRAY_LEN(fds) + 1];
	unsigned n = 0;
	bool alone;

	fdtab_reset();
	ck_assert(!fdtab_knows_range(0, UINT_MAX));
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		begin(fds[i], PEND_CONNECTING);
	ck_assert(!fdtab_knows_range(0, 2));
	ck_assert(!fdtab_knows_range(4, 254));
	ck_assert(!fdtab_knows_range(4, 3));
	ck_assert(!fdtab_knows_range(FDTAB_FDS, UINT_MAX));
	ck_assert(!fdtab_knows_range(2 * FDTAB_CHUNK + 1, FDTAB_FDS - 2));
	ck_assert(fdtab_knows_range(3, 3));
	ck_assert(fdtab_knows_range(4, 255));
	ck_assert(fdtab_knows_range(2 * FDTAB_CHUNK + 1, FDTAB_FDS - 1));
	for (unsigned fd = 0; fdtab_next_known(&fd, UINT_MAX); fd++) {
		ck_assert_uint_lt(n, ARRAY_LEN(fds));
		found[n++] = fd;
	}
	ck_assert_uint_eq(n, ARRAY_LEN(fds));
	for (n = 0; n < ARRAY_LEN(fds); n++)
		ck_assert_uint_eq(found[n], (unsigned)fds[n]);
	for (unsigned fd = 4; fdtab_next_known(&fd, UINT_MAX); fd++)
		ck_assert(close_fd((int)fd, &alone) && alone);
	ck_assert(fdtab_knows_range(0, UINT_MAX));
	ck_assert(!fdtab_knows_range(4, UINT_MAX));
	ck_assert_uint_eq(fdtab_busy(), 1);
}
END_TEST

START_TEST(next_due)
{
	struct pend_ref a;
	struct pend_ref b;

	fdtab_reset();
	ck_assert_int_eq(fdtab_next_due(), DUR_NONE);
	a = begin(7, PEND_BACKOFF);
	b = begin(8, PEND_CONNECTING);
	atomic_store(&a.p->due, 500);
	atomic_store(&b.p->due, DUR_NONE);
	ck_assert_int_eq(fdtab_next_due(), 500);
	atomic_store(&b.p->due, 400);
	ck_assert_int_eq(fdtab_next_due(), 400);
	ck_assert(fdtab_drop(&b));
	ck_assert_int_eq(fdtab_next_due(), 500);
	ck_assert(fdtab_drop(&a));
	ck_assert_int_eq(fdtab_next_due(), DUR_NONE);
}
END_TEST

START_TEST(no_errno)
{
	struct pend_ref ref;

	fdtab_reset();
	errno = 4711;
	ref = begin(3 * FDTAB_CHUNK, PEND_BUSY); /* a chunk is mapped */
	fdtab_wait_idle(&ref);
	fdtab_dup(3 * FDTAB_CHUNK, 17 * FDTAB_CHUNK);
	ck_assert_int_eq(errno, 4711);
}
END_TEST

START_TEST(postfork)
{
	static const struct {
		enum pend_state state;
		int error;
		bool stays;
	} rows[] = {
		{ PEND_BUSY, ECONNREFUSED, false },     { PEND_CONNECTING, ECONNREFUSED, false },
		{ PEND_BACKOFF, ECONNREFUSED, true },   { PEND_BACKOFF, 0, false },
		{ PEND_FAILED, ETIMEDOUT, true },       { PEND_REPORTED, ECONNREFUSED, false },
	};
	struct pend_ref ref;
	struct watch w;
	unsigned stay = 0;

	fdtab_reset();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd = 250 + (int)i;

		ref = begin(fd, PEND_BUSY);
		ref.p->error = rows[i].error;
		atomic_store(&ref.p->due, 5);
		if (rows[i].state != PEND_BUSY)
			fdtab_release(&ref, rows[i].state);
		fdtab_watch_set(fd, 4, 1, (uint64_t)fd);
		fdtab_watch_park(fd, 4, 1);
		stay += rows[i].stays;
	}

	fdtab_postfork_child();
	ck_assert_uint_eq(fdtab_busy(), stay);
	ck_assert_uint_eq(count_live(), stay);
	ck_assert_int_eq(fdtab_next_due(), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd = 250 + (int)i;

		ck_assert_int_eq(fdtab_find(fd, &ref), rows[i].stays);
		if (rows[i].stays) {
			ck_assert_int_eq(pend_state(&ref), PEND_FAILED);
			ck_assert_int_eq(ref.p->error, rows[i].error);
		}
		ck_assert(watch_of(fd, 4, &w));
		ck_assert_uint_eq(w.parked, 1);
	}
}
END_TEST

/* What a handler that has forked sets in the child is not taken back when the change that it
 * has interrupted ends; the counts, which may have run over by then, are. */
START_TEST(marks_outlive_the_interrupted_change)
{
	const uint32_t before = FDTAB_PEERS | FDTAB_SENDS, since = FDTAB_OPTIONS | FDTAB_VFORKED;

	fdtab_reset();
	fdtab_raise(before);
	fdtab_postfork_child();
	ck_assert_uint_eq(fdtab_word(), before);
	fdtab_raise(since);
	fdtab_lower(FDTAB_SENDS);
	atomic_fetch_sub(&fdtab_gate, FDTAB_NOTED + 1);
	atomic_fetch_sub(&fdtab_aged, 1);
	fdtab_set_right();
	ck_assert_uint_eq(fdtab_word(), FDTAB_PEERS | since);
	ck_assert_uint_eq(atomic_load(&fdtab_aged), FDTAB_VFORKED);
	fdtab_lower(FDTAB_PEERS | since);
	ck_assert_uint_eq(fdtab_word(), 0);
	ck_assert_uint_eq(atomic_load(&fdtab_aged), 0);
}
END_TEST

UNIT_MAIN("fdtab", &gate_is_closed_at_first, &numbers_at_the_edges, &begins_zeroed_and_busy,
          &claims, &drop_gives_back_at_once, &stale_references, &stale_links, &pool_is_bounded,
          &lowest_record_is_used_again, &begin_again_on_a_number, &dups_share_a_record,
          &dup_marks_without_a_record, &attach_moves_a_descriptor, &forgets_in_any_state, &ranges,
          &next_due, &no_errno, &postfork, &marks_outlive_the_interrupted_change)
