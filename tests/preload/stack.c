/* SPDX-License-Identifier: MIT */
/*
 * The smallest stacks: a thread of PTHREAD_STACK_MIN whose failure is the one
 * that loads the configuration, and a handler on a 16 KiB alternate stack.
 */
#include "tests/preload/guest.h"

#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>

static struct sockaddr_in dead;

static int connect_dead(void)
{
	int fd = tcp_socket();
	int rc = connect(fd, (struct sockaddr *)&dead, sizeof(dead)) == 0 ? 0 : errno;

	close(fd);
	return rc;
}

static void *on_small_stack(void *arg)
{
	*(int *)arg = connect_dead();
	return NULL;
}

START_TEST(smallest_thread)
{
	pthread_attr_t attr;
	pthread_t t;
	int error = -1;

	bound(&dead);
	pthread_attr_init(&attr);
	ck_assert_int_eq(pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN)), 0);
	ck_assert_int_eq(pthread_create(&t, &attr, on_small_stack, &error), 0);
	pthread_join(t, NULL);
	ck_assert_int_eq(error, ECONNREFUSED);
	ck_assert_uint_eq(log_lines("policy=ruled"), 3);
}
END_TEST

static volatile int handler_error = -1;

static void in_handler(int sig)
{
	(void)sig;
	handler_error = connect_dead();
}

START_TEST(alternate_stack)
{
	stack_t stack = { .ss_size = 16384, .ss_sp = aligned_alloc(64, 16384) };
	struct sigaction sa = { .sa_handler = in_handler, .sa_flags = SA_ONSTACK };

	bound(&dead);
	ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
	ck_assert_int_eq(sigaction(SIGTERM, &sa, NULL), 0);
	ck_assert_int_eq(sigaction(SIGUSR1, &sa, NULL), 0);
	raise(SIGUSR1);
	ck_assert_int_eq(handler_error, ECONNREFUSED);
	ck_assert_uint_eq(log_lines("policy=ruled"), 3);
}
END_TEST

UNIT_MAIN("preload stack", &smallest_thread, &alternate_stack)
