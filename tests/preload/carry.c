/* SPDX-License-Identifier: MIT */
/* carry: a program that calls again and again goes on with the waits, until one of its
 * calls succeeds, be it at once and behind a wait of its own. */
#include "tests/preload/guest.h"

#include <poll.h>

static struct sockaddr_in to;

static int connect_to(void)
{
	return connect_once(&to);
}

static int connect_behind_waits(void)
{
	struct pollfd p = { .events = POLLOUT };
	int error = 0;
	socklen_t len = sizeof(error);

	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(connect(p.fd, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	ck_assert_int_eq(poll(&p, 1, 20000), 1);
	ck_assert_int_eq(getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	close(p.fd);
	return error;
}

static void assert_waits(unsigned ten, unsigned twenty, unsigned forty, unsigned eighty)
{
	ck_assert_uint_eq(log_lines(" wait=10ms "), ten);
	ck_assert_uint_eq(log_lines(" wait=20ms "), twenty);
	ck_assert_uint_eq(log_lines(" wait=40ms "), forty);
	ck_assert_uint_eq(log_lines(" wait=80ms "), eighty);
}

static void goes_on(int (*call)(void))
{
	ck_assert_int_eq(call(), ECONNREFUSED);
	assert_waits(1, 1, 0, 0);
	ck_assert_int_eq(call(), ECONNREFUSED);
	assert_waits(1, 2, 1, 0);
	ck_assert_int_eq(call(), ECONNREFUSED);
	assert_waits(1, 2, 2, 1);
}

/* Down, up and down again, with the same number of the port. */
static void ends_with_success(int server, int (*call)(void))
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	ck_assert_int_eq(call(), ECONNREFUSED);
	assert_waits(1, 1, 0, 0);
	ck_assert_int_eq(listen(server, 8), 0);
	ck_assert_int_eq(call(), 0);
	/* It stops listening, and keeps its port. */
	ck_assert_int_eq(connect(server, &none, sizeof(none)), 0);
	ck_assert_int_eq(call(), ECONNREFUSED);
	assert_waits(2, 2, 0, 0);
}

START_TEST(blocking_ones_go_on)
{
	bound(&to);
	goes_on(connect_to);
}
END_TEST

START_TEST(those_behind_waits_go_on)
{
	bound(&to);
	goes_on(connect_behind_waits);
}
END_TEST

START_TEST(a_success_at_once_ends_it)
{
	ends_with_success(bound(&to), connect_to);
}
END_TEST

START_TEST(a_success_behind_waits_ends_it)
{
	ends_with_success(bound(&to), connect_behind_waits);
}
END_TEST

UNIT_MAIN("carry", &blocking_ones_go_on, &those_behind_waits_go_on, &a_success_at_once_ends_it,
          &a_success_behind_waits_ends_it)
