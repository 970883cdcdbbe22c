/* SPDX-License-Identifier: MIT */
#include "state/replay.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "state/fdtab.h"
#include "tests/unit/unit.h"

static char out[1024];
static size_t out_len;
static size_t most;

static long collect(void *arg, const void *data, size_t len, size_t given)
{
	(void)arg;
	ck_assert_uint_eq(given, out_len);
	if (most == 0)
		return -EAGAIN;
	if (len > most)
		len = most;
	memcpy(out + out_len, data, len);
	out_len += len;
	return (long)len;
}

static bool add(int fd, const char *text)
{
	struct iovec iov[3] = { { (void *)(uintptr_t)text, 1 },
		{ NULL, 0 },
		{ (void *)(uintptr_t)(text + 1), strlen(text) - 1 } };

	return replay_add(fd, iov, 3, strlen(text));
}

static void setup(size_t size)
{
	replay_postfork_child();
	ck_assert_uint_eq(fdtab_word() & FDTAB_REPLAY, 0);
	out_len = 0;
	most = sizeof(out);
	replay_begin(3, 7, size);
}

START_TEST(what_was_sent_is_sent_again)
{
	uint64_t given = 99;

	setup(100);
	ck_assert_uint_ne(fdtab_word() & FDTAB_REPLAY, 0);
	ck_assert(replay_given(3, 7, &given));
	ck_assert_uint_eq(given, 0);
	ck_assert_int_eq(replay_step(3, 7, collect, NULL), 0);
	add(3, "ping");
	add(3, "-pong");
	ck_assert(replay_given(3, 7, &given));
	ck_assert_uint_eq(given, 9);
	/* All of it went over this connection. */
	ck_assert_int_eq(replay_step(3, 7, collect, NULL), 0);
	replay_restart(3);
	ck_assert(replay_given(3, 7, &given));
	ck_assert_uint_eq(given, 0);
	most = 4;
	ck_assert_int_eq(replay_step(3, 7, collect, NULL), 4);
	most = 0;
	ck_assert_int_eq(replay_step(3, 7, collect, NULL), -EAGAIN);
	ck_assert(replay_given(3, 7, &given));
	ck_assert_uint_eq(given, 4);
	ck_assert(replay_unfinished(3));
	most = 100;
	/* The last part ends it. */
	ck_assert_int_eq(replay_step(3, 7, collect, NULL), 0);
	ck_assert(!replay_unfinished(3));
	ck_assert_int_eq(replay_step(3, 7, collect, NULL), 0);
	ck_assert_uint_eq(out_len, 9);
	ck_assert_mem_eq(out, "ping-pong", 9);
	/* More, and from the start once more. */
	add(3, "!!");
	replay_restart(3);
	out_len = 0;
	ck_assert_int_eq(replay_step(3, 7, collect, NULL), 0);
	ck_assert_mem_eq(out, "ping-pong!!", 11);
	replay_drop(3);
	ck_assert(!replay_given(3, 7, &given));
	ck_assert_uint_eq(fdtab_word() & FDTAB_REPLAY, 0);
}
END_TEST

/* A short write: only what the kernel took. */
START_TEST(parts_of_a_vector)
{
	struct iovec iov[2] = { { (char[]){ "abc" }, 3 }, { (char[]){ "def" }, 3 } };

	setup(100);
	replay_add(3, iov, 2, 4);
	replay_add(3, iov, 2, 2);
	replay_add(3, iov, 2, 0);
	replay_restart(3);
	ck_assert_int_eq(replay_step(3, 7, collect, NULL), 0);
	ck_assert_mem_eq(out, "abcdab", 6);
	replay_drop(3);
}
END_TEST

START_TEST(what_ends_it)
{
	uint64_t given;

	/* One byte too many. */
	setup(9);
	add(3, "ping-pong");
	ck_assert(replay_given(3, 7, &given));
	add(3, "!");
	ck_assert(!replay_given(3, 7, &given));
	setup(9);
	add(3, "ping-pong!");
	ck_assert(!replay_given(3, 7, &given));
	/* Another socket has the number. */
	setup(9);
	ck_assert(!replay_given(3, 8, &given));
	ck_assert(!replay_given(3, 7, &given));
	/* Nothing to keep it in. */
	setup(0);
	ck_assert(!replay_given(3, 7, &given));
	ck_assert_uint_eq(fdtab_word() & FDTAB_REPLAY, 0);
	/* A new connect of the number. */
	setup(9);
	add(3, "ping");
	replay_begin(3, 8, 9);
	ck_assert(replay_given(3, 8, &given));
	ck_assert_uint_eq(given, 0);
	/* fork. */
	replay_postfork_child();
	ck_assert(!replay_given(3, 8, &given));
	ck_assert_int_eq(replay_step(3, 7, collect, NULL), -ENOENT);
	ck_assert(!replay_knows(3) && !replay_unfinished(3));
	/* Another socket has the number: nothing is sent to it. */
	setup(9);
	add(3, "ping");
	replay_restart(3);
	ck_assert_int_eq(replay_step(3, 8, collect, NULL), -ENOENT);
	ck_assert_uint_eq(out_len, 0);
	replay_begin(-1, 1, 9);
	replay_drop(-1);
	ck_assert_uint_eq(fdtab_word() & FDTAB_REPLAY, 0);
}
END_TEST

START_TEST(there_are_so_many)
{
	uint64_t given;

	setup(9);
	for (int fd = 4; fd < 4 + REPLAY_SOCKETS; fd++)
		replay_begin(fd, 1, 10);
	ck_assert(replay_given(2 + REPLAY_SOCKETS, 1, &given));
	ck_assert(!replay_given(3 + REPLAY_SOCKETS, 1, &given));
	replay_drop(3);
	replay_begin(3 + REPLAY_SOCKETS, 1, 10);
	ck_assert(replay_given(3 + REPLAY_SOCKETS, 1, &given));
	replay_postfork_child();
}
END_TEST

/* A handler, or a thread, that sends in the middle of it. */
static long interrupted(void *arg, const void *data, size_t len, size_t given)
{
	(void)arg;
	(void)data;
	(void)given;
	add(3, "x");
	return (long)len;
}

START_TEST(who_comes_between_spoils_it)
{
	uint64_t given;

	setup(100);
	add(3, "ping");
	replay_restart(3);
	ck_assert_int_eq(replay_step(3, 7, interrupted, NULL), -ECANCELED);
	ck_assert(!replay_given(3, 7, &given));
	ck_assert_uint_eq(fdtab_word() & FDTAB_REPLAY, 0);
	/* Between two parts. */
	for (unsigned how = 0; how < 2; how++) {
		setup(100);
		ck_assert(add(3, "ping"));
		replay_restart(3);
		most = 2;
		ck_assert_int_eq(replay_step(3, 7, collect, NULL), 2);
		ck_assert(!(how ? replay_drop(3) : add(3, "x")));
		ck_assert_int_eq(replay_step(3, 7, collect, NULL), -ENOENT);
	}
	ck_assert(replay_drop(3));
}
END_TEST

static long asked_meanwhile(void *arg, const void *data, size_t len, size_t given)
{
	ck_assert_int_eq(replay_step(3, 7, collect, NULL), -EBUSY);
	return collect(arg, data, len, given);
}

/* Who comes while another one is at it must not take it for gone. */
START_TEST(two_at_a_time)
{
	setup(100);
	add(3, "ping");
	replay_restart(3);
	most = 2;
	ck_assert_int_eq(replay_step(3, 7, asked_meanwhile, NULL), 2);
	ck_assert(replay_unfinished(3));
	ck_assert_int_eq(replay_step(3, 7, asked_meanwhile, NULL), 0);
	ck_assert_uint_eq(out_len, 4);
	ck_assert(replay_drop(3));
	ck_assert_int_eq(replay_step(3, 7, collect, NULL), -ENOENT);
}
END_TEST

static long answered_meanwhile(void *arg, const void *data, size_t len, size_t given)
{
	replay_answered(3);
	return collect(arg, data, len, given);
}

/* An answer that comes early ends it when all has gone, and no sooner. */
START_TEST(an_early_answer)
{
	uint64_t given;

	setup(100);
	add(3, "ping");
	replay_answered(3);
	ck_assert(!replay_knows(3));
	for (unsigned how = 0; how < 2; how++) {
		setup(100);
		add(3, "ping");
		replay_restart(3);
		most = 2;
		if (how == 0)
			replay_answered(3);
		ck_assert_int_eq(replay_step(3, 7, how ? answered_meanwhile : collect, NULL), 2);
		ck_assert(replay_unfinished(3));
		ck_assert_int_eq(replay_step(3, 7, collect, NULL), 0);
		ck_assert_uint_eq(out_len, 4);
		ck_assert(!replay_given(3, 7, &given));
		ck_assert_uint_eq(fdtab_word() & FDTAB_REPLAY, 0);
	}
	/* The next connect begins anew. */
	replay_begin(3, 7, 100);
	add(3, "ping");
	ck_assert(replay_given(3, 7, &given));
	replay_drop(3);
	replay_answered(3);
}
END_TEST

static void *churn(void *arg)
{
	int fd = (int)(intptr_t)arg;
	uint64_t given;

	for (unsigned i = unit_rounds(20000); i > 0; i--) {
		replay_begin(fd, 1, 64);
		add(fd, "ping");
		if (replay_given(fd, 1, &given))
			ck_assert_uint_eq(given % 4, 0);
		if (i % 3)
			replay_drop(fd);
	}
	replay_drop(fd);
	return NULL;
}

START_TEST(threads)
{
	pthread_t list[4];

	setup(0);
	/* Two of them on one number. */
	for (intptr_t i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&list[i], NULL, churn, (void *)(3 + i / 2)), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(list[i], NULL);
	replay_drop(3);
	replay_drop(4);
	ck_assert_uint_eq(fdtab_word() & FDTAB_REPLAY, 0);
}
END_TEST

UNIT_MAIN("replay", &what_was_sent_is_sent_again, &parts_of_a_vector, &what_ends_it,
          &there_are_so_many, &who_comes_between_spoils_it, &two_at_a_time, &an_early_answer,
          &threads)
