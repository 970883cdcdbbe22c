/* SPDX-License-Identifier: MIT */
/* attempt_timeout against a listener that never takes the connection. */
#include "tests/preload/guest.h"

#include <sys/time.h>

/* A TCP listener whose queue is full: the kernel drops further SYNs, and a
 * connect hangs. */
static void full_queue(struct sockaddr_in *sa)
{
	int server = bound(sa);

	ck_assert_int_eq(listen(server, 0), 0);
	for (int i = 0; i < 3; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

		connect(fd, (struct sockaddr *)sa, sizeof(*sa));
	}
	sleep_ms(20);
}

START_TEST(hanging_attempts_are_ended)
{
	struct sockaddr_in sa;
	struct timeval left = { 7, 0 };
	socklen_t len = sizeof(left);
	int fd = tcp_socket();
	int64_t start;

	full_queue(&sa);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof(left));
	start = ms_now();
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
	/* Three attempts of 150 ms with two waits of about 10 ms. */
	ck_assert_int_ge(ms_now() - start, 440);
	ck_assert_int_le(ms_now() - start, 900);
	ck_assert_uint_eq(log_lines("error=ETIMEDOUT"), 3);
	ck_assert_uint_eq(log_lines(" retry "), 2);
	/* Nothing of it stays on the socket. */
	left.tv_sec = 9;
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, &len), 0);
	ck_assert_int_eq(left.tv_sec, 0);
	ck_assert_int_eq(left.tv_usec, 0);
}
END_TEST

START_TEST(a_late_server_is_reached)
{
	struct sockaddr_in sa;
	int server = bound(&sa);
	int fd = tcp_socket();

	listen_late(server, 10);
	errno = 4711;
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ck_assert_int_eq(errno, 4711);
}
END_TEST

UNIT_MAIN("preload timeout", &hanging_attempts_are_ended, &a_late_server_is_reached)
