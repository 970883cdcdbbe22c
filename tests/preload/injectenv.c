/* SPDX-License-Identifier: MIT */
/* LIBRETRY_INJECT with faults of its own, and no file. */
#include "tests/preload/guest.h"

START_TEST(without_a_file)
{
	struct sockaddr_in sa;
	int listener = bound(&sa), fd = tcp_socket(), peer;
	char buf[32];

	ck_assert_int_eq(listen(listener, 8), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	peer = accept(listener, NULL, NULL);
	ck_assert_uint_eq(log_lines("error=ECONNREFUSED rule=LIBRETRY_INJECT:1"), 2);
	ck_assert_uint_eq(log_lines("recovered op=connect"), 1);
	ck_assert_int_eq(send(fd, "12345678", 8, 0), 8);
	ck_assert_int_eq(send(fd, "abcdefgh", 8, 0), 4);
	ck_assert_int_eq(send(fd, "ABCDEFGH", 8, 0), 8);
	ck_assert_int_eq(recv(peer, buf, 20, MSG_WAITALL), 20);
	ck_assert_int_eq(memcmp(buf, "12345678abcdABCDEFGH", 20), 0);
	ck_assert_uint_eq(log_lines("short_write=4 rule=LIBRETRY_INJECT:2"), 1);
}
END_TEST

/* The first call of all is a send: it is struck, too. */
START_TEST(a_send_comes_first)
{
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ck_assert_int_eq(write(pair[0], "12345678", 8), 8);
	ck_assert_int_eq(write(pair[0], "12345678", 8), 4);
	ck_assert_uint_eq(log_lines("injected op=send"), 1);
}
END_TEST

UNIT_MAIN("preload injectenv", &without_a_file, &a_send_comes_first)
