/* SPDX-License-Identifier: MIT */
/*
 * Clocks that lie. libfaketime stands before us and answers for every clock that
 * the program reads; the program itself makes it jump in the middle of our waits
 * by rewriting the file that it reads. Waits, deadlines and the program's own
 * time-outs last as long as the kernel says.
 *
 * 127.0.0.2: two waits of 60 ms, and a deadline of a minute.
 */
#include "tests/preload/guest.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>

/* More than any of this takes, less than what a jump would make of it. */
#define PATIENCE 20000

static int64_t real_ms(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t real_s(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec;
}

static void fake(const char *what)
{
	char path[512];
	char to[520];
	FILE *f;

	snprintf(to, sizeof(to), "%s", getenv("FAKETIME_TIMESTAMP_FILE"));
	snprintf(path, sizeof(path), "%s.new", to);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(what, f);
	fclose(f);
	ck_assert_int_eq(rename(path, to), 0);
}

static atomic_bool enough;

static void *jumps(void *arg)
{
	/* Not nanosleep(), which libfaketime changes. */
	struct timespec some = { 0, 15000000 };

	while (!atomic_load(&enough)) {
		fake(arg);
		syscall(SYS_nanosleep, &some, NULL);
		fake("+0");
		syscall(SYS_nanosleep, &some, NULL);
	}
	return NULL;
}

static int blocking(const struct sockaddr_in *sa)
{
	int fd = tcp_socket();
	int rc = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 ? 0 : errno;

	close(fd);
	return rc;
}

static int in_a_loop(const struct sockaddr_in *sa)
{
	struct pollfd p = { .events = POLLOUT };
	int error = -1;
	socklen_t len = sizeof(error);

	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(connect(p.fd, (const struct sockaddr *)sa, sizeof(*sa)), -1);
	ck_assert_int_eq(poll(&p, 1, 15000), 1);
	ck_assert_int_eq(getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	close(p.fd);
	return error;
}

static const char *const lies[] = { "+1h", "-1h", "+0 x10", "+0 x0.1", "@2001-01-01 00:00:00" };

START_TEST(the_clock_is_faked)
{
	struct timespec t;

	fake("+1h");
	clock_gettime(CLOCK_REALTIME, &t);
	fake("+0"); /* for the test framework, which takes the time */
	ck_assert_int_ge(t.tv_sec - real_s(), 3500); /* or nothing here is tested */
}
END_TEST

START_TEST(waits_last_what_they_should)
{
	struct sockaddr_in dead;

	bound_at("127.0.0.2", &dead);
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		for (int jumping = 0; jumping < 2; jumping++) {
			pthread_t t;
			int64_t start = real_ms();

			atomic_store(&enough, false);
			if (jumping)
				pthread_create(&t, NULL, jumps, (void *)lies[i]);
			else
				fake(lies[i]);
			ck_assert_int_eq(blocking(&dead), ECONNREFUSED);
			ck_assert_int_ge(real_ms() - start, 119);
			ck_assert_int_eq(in_a_loop(&dead), ECONNREFUSED);
			ck_assert_int_ge(real_ms() - start, 238);
			ck_assert_int_lt(real_ms() - start, PATIENCE);
			atomic_store(&enough, true);
			if (jumping)
				pthread_join(t, NULL);
		}
	}
	fake("+0");
	/* None was cut short by a deadline that was not there. */
	ck_assert_uint_eq(log_lines("reason=attempts"), 20);
	ck_assert_uint_eq(log_lines(" gave-up "), 20);
}
END_TEST

/* A wait of the program's keeps its length while retries are made in it. (Where time
 * runs at another speed, libfaketime changes the length that is asked for.) */
START_TEST(the_programs_own_time)
{
	struct sockaddr_in dead;
	struct pollfd p = { .events = POLLOUT };

	bound(&dead);
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		int64_t start;

		if (strchr(lies[i], 'x'))
			continue;
		fake(lies[i]);
		p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		ck_assert_int_eq(connect(p.fd, (struct sockaddr *)&dead, sizeof(dead)), -1);
		start = real_ms();
		ck_assert_int_eq(poll(&p, 1, 150), 0);
		ck_assert_int_ge(real_ms() - start, 149);
		ck_assert_int_lt(real_ms() - start, PATIENCE);
		close(p.fd);
	}
	fake("+0");
}
END_TEST

UNIT_MAIN("preload clocks", &the_clock_is_faked, &waits_last_what_they_should,
          &the_programs_own_time)
