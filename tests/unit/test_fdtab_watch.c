/* SPDX-License-Identifier: MIT */
#include <limits.h>

#include "tests/unit/fdtab.h"

START_TEST(watches)
{
	struct watch w;

	fdtab_reset();
	ck_assert(!fdtab_watch_get(300, 0, &w));
	fdtab_watch_set(300, 0, UINT32_MAX, UINT64_MAX);
	ck_assert(fdtab_knows(300));
	ck_assert(!fdtab_watch_get(300, FDTAB_WATCHES, &w));
	ck_assert(!fdtab_watch_get(300, UINT_MAX, &w));
	ck_assert(watch_of(300, 0, &w));
	ck_assert_uint_eq(w.events, UINT32_MAX);
	ck_assert_uint_eq(w.data, UINT64_MAX);
	ck_assert_uint_eq(w.parked, 0);

	fdtab_watch_park(300, 0, 255);
	fdtab_watch_park(300, 5, 3); /* no such set */
	fdtab_watch_set(300, 0, 4, 5); /* modified: stays parked */
	ck_assert(watch_of(300, 0, &w));
	ck_assert_uint_eq(w.events, 4);
	ck_assert_uint_eq(w.data, 5);
	ck_assert_uint_eq(w.parked, 255);
	fdtab_watch_park(300, 0, 0);
	ck_assert(watch_of(300, 0, &w));
	ck_assert_uint_eq(w.parked, 0);

	fdtab_watch_set(300, FDTAB_FDS - 1, 6, 7);
	ck_assert(watch_of(300, FDTAB_FDS - 1, &w));
	ck_assert_uint_eq(w.data, 7);
	fdtab_watch_del(300, 5);
	fdtab_watch_del(300, 0);
	ck_assert(!watch_of(300, 0, &w));
	ck_assert(fdtab_knows(300));
	fdtab_watch_del(300, FDTAB_FDS - 1);
	ck_assert(!fdtab_knows(300));

	fdtab_watch_set(300, 4, 1, 1);
	fdtab_watch_park(300, 4, 2);
	fdtab_watch_del(300, 4);
	fdtab_watch_set(300, 4, 1, 1); /* another registration: armed */
	ck_assert(watch_of(300, 4, &w));
	ck_assert_uint_eq(w.parked, 0);
}
END_TEST

START_TEST(full_slot_loses_its_oldest)
{
	struct watch w;

	fdtab_reset();
	for (int epfd = 20; epfd < 20 + FDTAB_WATCHES; epfd++)
		fdtab_watch_set(7, epfd, 1, 100 + (uint64_t)epfd);
	for (int epfd = 20 + FDTAB_WATCHES; epfd < 40; epfd++) {
		fdtab_watch_park(7, epfd - FDTAB_WATCHES, 1);
		fdtab_watch_set(7, epfd, 1, 100 + (uint64_t)epfd);
		ck_assert(!watch_of(7, epfd - FDTAB_WATCHES, &w));
		for (int other = epfd - FDTAB_WATCHES + 1; other <= epfd; other++) {
			ck_assert(watch_of(7, other, &w));
			ck_assert_uint_eq(w.data, 100 + (uint64_t)other);
			ck_assert_uint_eq(w.parked, 0);
		}
	}
	fdtab_watch_set(7, 37, 2, 2); /* 38 is the oldest now */
	fdtab_watch_set(7, 50, 1, 1);
	ck_assert(watch_of(7, 37, &w));
	ck_assert(!watch_of(7, 38, &w));
	fdtab_watch_del(7, 37);
	fdtab_watch_set(7, 51, 1, 1); /* in the empty place */
	ck_assert(watch_of(7, 39, &w));
	ck_assert(watch_of(7, 50, &w));
}
END_TEST

/* The first place is free, but not for who has another. */
START_TEST(one_place_for_each_set)
{
	struct watch w;

	fdtab_reset();
	fdtab_watch_set(7, 4, 1, 7);
	for (int epfd = 5; epfd < 4 + FDTAB_WATCHES; epfd++)
		fdtab_watch_set(7, epfd, 1, 7);
	fdtab_watch_del(7, 4);
	for (int epfd = 5; epfd < 4 + FDTAB_WATCHES; epfd++) {
		fdtab_watch_set(7, epfd, 4, 8);
		ck_assert(!fdtab_watch_get(7, 0, &w));
		ck_assert(watch_of(7, epfd, &w));
		ck_assert_uint_eq(w.events, 4);
		ck_assert_uint_eq(w.data, 8);
	}
	/* The same data, what was parked, and what is deleted: in the first one too. */
	fdtab_watch_set(7, 4, 1, 7);
	fdtab_watch_park(7, 4, 1);
	fdtab_watch_set(7, 4, 4, 7);
	ck_assert(watch_of(7, 4, &w));
	ck_assert_uint_eq(w.events, 4);
	ck_assert_uint_eq(w.parked, 1);
	fdtab_watch_del(7, 4);
	fdtab_watch_set(7, 4, 4, 7);
	ck_assert(watch_of(7, 4, &w));
	ck_assert_uint_eq(w.parked, 0);
	fdtab_watch_set(7, -1, 4, 7);
	ck_assert(!fdtab_watch_get(7, FDTAB_WATCHES, &w));
}
END_TEST

START_TEST(closed_set_takes_its_registrations)
{
	struct pend_ref ref;
	struct watch w;
	bool alone;

	fdtab_reset();
	fdtab_watch_set(7, 4, 1, 7);
	fdtab_watch_set(7, 5, 1, 7);
	fdtab_watch_set(FDTAB_FDS - 1, 4, 1, 8);
	ck_assert(fdtab_knows(4));
	ck_assert(!fdtab_forget(4, &ref, &alone));
	ck_assert(!watch_of(7, 4, &w));
	ck_assert(watch_of(7, 5, &w));
	ck_assert(!fdtab_knows(FDTAB_FDS - 1));
	ck_assert_int_eq(fdtab_watch_find(4, 8, true), -1);
}
END_TEST

START_TEST(finds_by_data)
{
	struct pend_ref ref;

	fdtab_reset();
	ck_assert_int_eq(fdtab_watch_find(4, 7, true), -1);
	ck_assert_int_eq(fdtab_watch_find(-1, UINT64_MAX, true), -1);
	fdtab_watch_set(7, 4, 1, 7);                                  /* data.fd */
	fdtab_watch_set(8, 4, 1, UINT64_C(0x1200000000) + 8);         /* and a count */
	fdtab_watch_set(300, 4, 1, UINT64_C(0x00007f1234567890));     /* a pointer */
	ck_assert_int_eq(fdtab_watch_find(4, 7, false), 7);
	ck_assert_int_eq(fdtab_watch_find(4, UINT64_C(0x1200000000) + 8, false), 8);
	ck_assert_int_eq(fdtab_watch_find(4, UINT64_C(0x00007f1234567890), false), 300);
	ck_assert_int_eq(fdtab_watch_find(5, 7, true), -1);
	ck_assert_int_eq(fdtab_watch_find(4, UINT64_C(0x100000000) + 7, true), -1);
	fdtab_watch_set(7, 4, 1, 70); /* modified */
	ck_assert_int_eq(fdtab_watch_find(4, 7, true), -1);
	ck_assert_int_eq(fdtab_watch_find(4, 70, false), 7);
	/* The data of 9 looks like descriptor 7, which is registered otherwise. */
	fdtab_watch_set(9, 4, 1, 7);
	ck_assert_int_eq(fdtab_watch_find(4, 7, false), 9);
	ref = begin(9, PEND_BACKOFF);
	ck_assert_int_eq(fdtab_watch_find(4, 7, true), 9);
	ck_assert(fdtab_drop(&ref));
	fdtab_watch_del(9, 4);
	ck_assert_int_eq(fdtab_watch_find(4, 7, true), -1);
}
END_TEST

START_TEST(shared_data_prefers_a_record)
{
	struct pend_ref ref;

	fdtab_reset();
	for (int fd = 10; fd < 15; fd++)
		fdtab_watch_set(fd, 4, 1, 12);
	ck_assert_int_eq(fdtab_watch_find(4, 12, false), 12);
	ck_assert_int_eq(fdtab_watch_find(4, 12, true), 12);
	ref = begin(10, PEND_BACKOFF);
	ck_assert_int_eq(fdtab_watch_find(4, 12, false), 12);
	ck_assert_int_eq(fdtab_watch_find(4, 12, true), 10);
	begin(14, PEND_CONNECTING); /* the last registered: a quick answer */
	ck_assert_int_eq(fdtab_watch_find(4, 12, false), 14);
	begin(12, PEND_CONNECTING);
	ck_assert_int_eq(fdtab_watch_find(4, 12, true), 12);
	/* Found by a dup of the record's, too. */
	fdtab_reset();
	ref = begin(20, PEND_BACKOFF);
	fdtab_dup(20, 21);
	fdtab_watch_set(21, 4, 1, 99);
	fdtab_watch_set(30, 4, 1, 99);
	ck_assert_int_eq(fdtab_watch_find(4, 99, false), 30);
	ck_assert_int_eq(fdtab_watch_find(4, 99, true), 21);
	ck_assert(fdtab_drop(&ref));
	ck_assert_int_eq(fdtab_watch_find(4, 99, true), 30);
}
END_TEST

/* More registrations than hints: those with a record are found all the same. */
START_TEST(lossy_hints_are_made_up_for)
{
	unsigned lost = 0;

	fdtab_reset();
	for (int fd = 1000; fd < 4000; fd++) {
		begin(fd, PEND_CONNECTING);
		fdtab_watch_set(fd, 4, 1, UINT64_C(0x7f0000000000) + (uint64_t)fd * 64);
	}
	for (int fd = 1000; fd < 4000; fd++) {
		uint64_t data = UINT64_C(0x7f0000000000) + (uint64_t)fd * 64;
		int quick = fdtab_watch_find(4, data, false);

		ck_assert(quick == fd || quick == -1);
		lost += quick == -1;
		if (fd % 50 == 0)
			ck_assert_int_eq(fdtab_watch_find(4, data, true), fd);
	}
	ck_assert_uint_gt(lost, 1000);
	ck_assert_uint_lt(lost, 2990);
}
END_TEST

/* In the parent another thread was writing it. */
START_TEST(half_written_in_a_child)
{
	struct watch w;

	fdtab_reset();
	fdtab_watch_set(7, 4, 1, 7);
	atomic_fetch_or(&fdtab_slot(7)->watches[0].head, UINT64_C(1) << 32);
	fdtab_watch_set(7, 4, 2, 8);
	ck_assert(!watch_of(7, 4, &w));
	/* But its events are not nobody's. */
	ck_assert_int_eq(fdtab_watch_find(4, 7, true), 7);
	fdtab_postfork_child();
	ck_assert(!watch_of(7, 4, &w));
	fdtab_watch_set(7, 4, 2, 8);
	ck_assert(watch_of(7, 4, &w));
	ck_assert_uint_eq(w.data, 8);
}
END_TEST

START_TEST(an_event_ends_a_young_connect)
{
	static const struct sockaddr_in in = { .sin_family = AF_INET };
	const struct sockaddr *to = (const struct sockaddr *)&in;
	struct pend_ref ref;

	fdtab_reset();
	for (int fd = 5; fd <= 8; fd++)
		fdtab_watch_set(fd, 9, 4, fd < 7 ? (uint64_t)fd : 77);
	/* The descriptor as data, and something else; the latter is the last one's. */
	for (int fd = 5; fd <= 8; fd++)
		ck_assert(fdtab_begin_young(fd, to, sizeof(in), 7, 42));
	ck_assert(fdtab_watch_connected(9, 5, 1)); /* not what it waits for */
	ck_assert(fdtab_watch_connected(10, 5, 4)); /* another set */
	ck_assert(fdtab_watch_connected(9, 99, 4));
	ck_assert_uint_eq(count_busy(), 4);
	ck_assert(fdtab_watch_connected(9, 5, 4));
	ck_assert(!fdtab_find(5, &ref));
	ck_assert(fdtab_watch_connected(9, 77, 4 | 1));
	ck_assert(!fdtab_find(8, &ref));
	ck_assert(fdtab_find(7, &ref));
	ck_assert_uint_eq(count_busy(), 2);
	/* Without a record. */
	ck_assert(fdtab_watch_connected(9, 5, 4));
	/* More has happened. */
	ck_assert(fdtab_find(6, &ref) && fdtab_claim(&ref));
	ck_assert(!fdtab_watch_connected(9, 6, 4));
	fdtab_release(&ref, PEND_CONNECTING);
	ck_assert(!fdtab_watch_connected(9, 6, 4));
	ck_assert_uint_eq(count_busy(), 2);
	/* A dup of before the connect: whose it is, is still to be found out. */
	fdtab_dup(10, 11);
	fdtab_watch_set(11, 9, 4, 11);
	begin(10, PEND_CONNECTING);
	ck_assert(!fdtab_watch_connected(9, 11, 4));
}
END_TEST

UNIT_MAIN("fdtab_watch", &an_event_ends_a_young_connect, &watches, &full_slot_loses_its_oldest,
          &one_place_for_each_set,
          &closed_set_takes_its_registrations, &finds_by_data, &shared_data_prefers_a_record,
          &lossy_hints_are_made_up_for, &half_written_in_a_child)
