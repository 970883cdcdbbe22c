/* SPDX-License-Identifier: MIT */
#include "preload/epinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/duration.h"
#include "state/fdtab.h"
#include "tests/unit/unit.h"

/* What was searched for in vain keeps the next search away for 50 ms: each test
 * has a time of its own, for a run without forks. */
static int64_t now;

static int set;

static void setup(void)
{
	static int64_t base;

	fdtab_reset();
	base += DUR_S;
	now = base;
	set = epoll_create1(EPOLL_CLOEXEC);
	ck_assert_int_ge(set, 0);
}

/* A socket with a connect under way, as far as we know. */
static int connecting(void)
{
	struct pend_ref ref;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert(fdtab_begin(fd, &ref));
	fdtab_release(&ref, PEND_CONNECTING);
	return fd;
}

static void add(int fd, uint32_t events, uint64_t data)
{
	struct epoll_event e = { .events = events, .data = { .u64 = data } };

	ck_assert_int_eq(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e), 0);
}

static int learn(uint64_t data)
{
	int fd;

	errno = 4711;
	fd = epinfo_learn_at(set, EPOLLERR | EPOLLHUP, data, now);
	ck_assert_int_eq(errno, 4711);
	return fd;
}

static void expect_watch(int fd, uint32_t events, uint64_t data)
{
	struct watch w;

	ck_assert(fdtab_watch_get(fd, 0, &w));
	ck_assert_int_eq(w.epfd, set);
	ck_assert_uint_eq(w.events & ~(uint32_t)(EPOLLERR | EPOLLHUP), events);
	ck_assert_uint_eq(w.data, data);
	ck_assert_int_eq(fdtab_watch_find(set, data, true), fd);
}

static const struct {
	const char *line;
	bool ok;
	struct epinfo e;
} lines[] = {
	{ "tfd:        7 events: 8000001d data: ffffffffffffffff  pos:0 ino:5a3 sdev:8", true,
	  { 7, 0x8000001d, UINT64_MAX, 0x5a3 } },
	{ "tfd:        0 events:        0 data:                0  pos:-1 ino:0 sdev:0", false,
	  { 0, 0, 0, 0 } },
	{ "tfd:        0 events:        0 data:                0  pos:0 ino:0", true,
	  { 0, 0, 0, 0 } },
	{ "tfd: 2147483647 events: ffffffff data: 1 pos:18446744073709551615 ino:f", true,
	  { 2147483647, UINT32_MAX, 1, 15 } },
	{ "tfd: 2147483648 events: 1 data: 1 pos:0 ino:f sdev:8", false, { 0, 0, 0, 0 } },
	{ "tfd: 1 events: 100000000 data: 1 pos:0 ino:f sdev:8", false, { 0, 0, 0, 0 } },
	{ "tfd: 1 events: 1 data: 10000000000000000 pos:0 ino:f sdev:8", false, { 0, 0, 0, 0 } },
	{ "tfd: 1 events: 1 data: 1 pos:0 ino:fg sdev:8", false, { 0, 0, 0, 0 } },
	{ "tfd: 1 events: 1 data: 1 pos:0 ino: sdev:8", false, { 0, 0, 0, 0 } },
	{ "tfd: 1 events: 1 data: 1", false, { 0, 0, 0, 0 } },
	{ "tfd: -1 events: 1 data: 1 pos:0 ino:f sdev:8", false, { 0, 0, 0, 0 } },
	{ "tfd: 1 events: 1 data: \xff pos:0 ino:f sdev:8", false, { 0, 0, 0, 0 } },
	{ "tfd: 1 data: 1 events: 1 pos:0 ino:f sdev:8", false, { 0, 0, 0, 0 } },
	{ "pos:\t0", false, { 0, 0, 0, 0 } },
	{ "tfd:", false, { 0, 0, 0, 0 } },
	{ "", false, { 0, 0, 0, 0 } },
};

START_TEST(lines_are_read)
{
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct epinfo e = { 0, 0, 0, 0 };

		ck_assert_msg(epinfo_parse(lines[i].line, &e) == lines[i].ok, "%s", lines[i].line);
		if (!lines[i].ok)
			continue;
		ck_assert_msg(e.fd == lines[i].e.fd && e.events == lines[i].e.events &&
		                      e.data == lines[i].e.data && e.ino == lines[i].e.ino,
		              "%s", lines[i].line);
	}
}
END_TEST

START_TEST(a_registration_is_learnt)
{
	int fd;

	setup();
	fd = connecting();
	add(fd, EPOLLIN | EPOLLOUT | EPOLLET, UINT64_C(0xfedcba9876543210));
	ck_assert_int_eq(learn(UINT64_C(0xfedcba9876543210)), fd);
	expect_watch(fd, EPOLLIN | EPOLLOUT | EPOLLET, UINT64_C(0xfedcba9876543210));
	close(fd);
	close(set);
}
END_TEST

/* Once it has been reported the kernel has forgotten what was asked for. */
START_TEST(a_one_shot_registration_is_learnt)
{
	struct epoll_event e;
	int fd;

	setup();
	fd = connecting();
	add(fd, EPOLLOUT | EPOLLONESHOT, 5);
	ck_assert_int_eq(epoll_wait(set, &e, 1, 0), 1);
	ck_assert_int_eq(epinfo_learn_at(set, e.events, 5, now), fd);
	expect_watch(fd, EPOLLOUT | EPOLLONESHOT, 5);
	close(fd);
	close(set);
}
END_TEST

START_TEST(a_dup_joins_the_record)
{
	struct pend_ref record;
	struct pend_ref ref;
	int fd;
	int copy;

	setup();
	fd = connecting();
	connecting();
	copy = dup(fd);
	add(copy, EPOLLOUT, 1);
	ck_assert(!fdtab_find(copy, &ref));
	ck_assert_int_eq(learn(1), copy);
	expect_watch(copy, EPOLLOUT, 1);
	ck_assert(fdtab_find(fd, &record));
	ck_assert(fdtab_find(copy, &ref));
	ck_assert_ptr_eq(ref.p, record.p);
	close(set);
}
END_TEST

START_TEST(one_more_than_a_record_has_room_for)
{
	int fd;
	int copy;

	setup();
	fd = connecting();
	for (uint64_t i = 1; i < FDTAB_SHARED; i++) {
		copy = dup(fd);
		add(copy, EPOLLOUT, i);
		ck_assert_int_eq(learn(i), copy);
	}
	copy = dup(fd);
	add(copy, EPOLLOUT, FDTAB_SHARED);
	ck_assert_int_eq(learn(FDTAB_SHARED), EPINFO_UNKNOWN);
	close(set);
}
END_TEST

/* Over many reads, at all offsets in them. */
START_TEST(one_of_many_is_found)
{
	int fds[100];

	setup();
	for (unsigned i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = i % 3 ? eventfd(0, 0) : connecting();
		add(fds[i], EPOLLOUT, i);
	}
	for (unsigned i = 0; i < ARRAY_LEN(fds); i += 3)
		ck_assert_int_eq(learn(i), fds[i]);
	for (unsigned i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
	close(set);
}
END_TEST

START_TEST(what_is_not_ours_is_left_alone)
{
	struct watch w;
	int fd;
	int other;
	int copy;
	int file;

	setup();
	fd = connecting();
	other = socket(AF_INET, SOCK_STREAM, 0);
	file = eventfd(0, EFD_CLOEXEC);
	add(fd, EPOLLOUT, 1);
	add(other, EPOLLOUT, 2);
	add(file, EPOLLOUT, 4);
	ck_assert_int_eq(learn(2), EPINFO_OTHER);
	ck_assert_int_eq(learn(4), EPINFO_OTHER);
	ck_assert_int_eq(learn(3), EPINFO_GONE);
	close(file);
	ck_assert_int_eq(learn(4), EPINFO_GONE);
	/* The number is another's by now, and the registration lives on. */
	copy = dup(fd);
	ck_assert_int_eq(dup2(other, fd), fd);
	ck_assert_int_eq(learn(1), EPINFO_UNKNOWN);
	ck_assert(!fdtab_watch_get(fd, 0, &w));
	ck_assert(!fdtab_watch_get(other, 0, &w));
	ck_assert(!fdtab_watch_get(copy, 0, &w));
	now += 50 * DUR_MS;
	close(fd);
	ck_assert_int_eq(learn(1), EPINFO_UNKNOWN);
	now += 50 * DUR_MS;
	ck_assert_int_eq(learn(2), EPINFO_OTHER);
	close(set);
	ck_assert_int_eq(learn(1), EPINFO_UNKNOWN);
	/* Where no registration is listed, as in some sandboxes, nothing is told. */
	set = other;
	now += 50 * DUR_MS;
	ck_assert_int_eq(learn(1), EPINFO_UNKNOWN);
	set = -1;
	now += 50 * DUR_MS;
	ck_assert_int_eq(learn(1), EPINFO_UNKNOWN);
	close(other);
	close(copy);
}
END_TEST

START_TEST(a_search_in_vain_is_not_repeated_at_once)
{
	int copy;
	int fd;
	int lost;

	setup();
	fd = connecting();
	add(fd, EPOLLOUT, 1);
	lost = socket(AF_INET, SOCK_STREAM, 0);
	add(lost, EPOLLOUT, 2);
	copy = dup(lost);
	close(lost);
	ck_assert_int_eq(learn(1), fd);
	ck_assert_int_eq(learn(1), fd);
	ck_assert_int_eq(learn(2), EPINFO_UNKNOWN);
	ck_assert_int_eq(learn(1), EPINFO_UNKNOWN);
	now += 50 * DUR_MS - 1;
	ck_assert_int_eq(learn(1), EPINFO_UNKNOWN);
	now++;
	ck_assert_int_eq(learn(1), fd);
	/* One that told something is repeated soon. By this machine's clock from here on. */
	for (unsigned i = 0; epinfo_learn(set, EPOLLERR, 3) != EPINFO_GONE; i++) {
		ck_assert_uint_lt(i, 1000);
		usleep(1000);
	}
	for (unsigned i = 0; epinfo_learn(set, EPOLLERR, 1) != fd; i++) {
		ck_assert_uint_lt(i, 1000);
		usleep(1000);
	}
	close(copy);
	close(fd);
	close(set);
}
END_TEST

UNIT_MAIN("epinfo", &lines_are_read, &a_registration_is_learnt,
          &a_one_shot_registration_is_learnt, &a_dup_joins_the_record,
          &one_more_than_a_record_has_room_for, &one_of_many_is_found,
          &what_is_not_ours_is_left_alone, &a_search_in_vain_is_not_repeated_at_once)
