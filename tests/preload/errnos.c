/* SPDX-License-Identifier: MIT */
/*
 * errnos.c - a program in which errno is not libc's, as libraries have it that make
 * threads of their own. The library cannot learn there why a call has failed: it must
 * let all pass, and not read where libc's errno would be.
 */
#include "tests/preload/guest.h"

#include <pthread.h>

/* Far from what is one thread's. */
static int elsewhere;

#pragma GCC visibility push(default)
int *__errno_location(void);
#pragma GCC visibility pop

int *__errno_location(void)
{
	return &elsewhere;
}

static void *connect_some(void *to)
{
	struct sockaddr_in refused;
	int closed = bound(&refused);
	intptr_t wrong = 0;

	close(closed);
	for (int i = 0; i < 3; i++) {
		int fd = tcp_socket();

		wrong += connect(fd, to, sizeof(refused)) != 0;
		close(fd);
		fd = tcp_socket();
		wrong += connect(fd, (struct sockaddr *)&refused, sizeof(refused)) != -1;
		close(fd);
	}
	return (void *)wrong;
}

START_TEST(errno_is_the_programs)
{
	struct sockaddr_in sa;
	int listener = bound(&sa);
	pthread_t thread;
	void *wrong;

	ck_assert_int_eq(listen(listener, 8), 0);
	ck_assert_ptr_null(connect_some(&sa));
	ck_assert_int_eq(pthread_create(&thread, NULL, connect_some, &sa), 0);
	ck_assert_int_eq(pthread_join(thread, &wrong), 0);
	ck_assert_ptr_null(wrong);
	ck_assert_uint_eq(log_lines("retry"), 0);
	close(listener);
}
END_TEST

UNIT_MAIN("preload errnos", &errno_is_the_programs)
