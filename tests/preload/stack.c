/* SPDX-License-Identifier: MIT */
/*
 * The smallest stacks: a thread of PTHREAD_STACK_MIN whose failure is the one
 * that loads the configuration, and a handler on a 16 KiB alternate stack.
 */
#include "tests/preload/guest.h"

#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>

static struct sockaddr_in dead;

/* musl's own is 2 KiB, in which it could not even deliver a signal. */
static size_t smallest(void)
{
	long is = sysconf(_SC_THREAD_STACK_MIN);

	return is > 16384 ? (size_t)is : 16384;
}

static void *on_small_stack(void *arg)
{
	*(int *)arg = connect_once(&dead);
	return NULL;
}

START_TEST(smallest_thread)
{
	pthread_attr_t attr;
	pthread_t t;
	int error = -1;

	bound(&dead);
	pthread_attr_init(&attr);
	ck_assert_int_eq(pthread_attr_setstacksize(&attr, smallest()), 0);
	ck_assert_int_eq(pthread_create(&t, &attr, on_small_stack, &error), 0);
	pthread_join(t, NULL);
	ck_assert_int_eq(error, ECONNREFUSED);
	ck_assert_uint_eq(log_lines("policy=ruled"), 3);
}
END_TEST

/* In each wait, one failure after the other; and a look-up that fails. */
static void *loops_on_small_stack(void *arg)
{
	int *ok = arg;

	for (int way = 0; way < 3; way++) {
		struct timeval limit = { 20, 0 };
		struct epoll_event e = { .events = EPOLLOUT };
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		int set = epoll_create1(0);
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		int error = 0;
		socklen_t len = sizeof(error);
		fd_set w;
		int rc;

		if (connect(fd, (struct sockaddr *)&dead, sizeof(dead)) == 0)
			return NULL;
		FD_ZERO(&w);
		FD_SET(fd, &w);
		epoll_ctl(set, EPOLL_CTL_ADD, fd, &e);
		rc = way == 0 ? poll(&p, 1, 20000)
		   : way == 1 ? select(fd + 1, NULL, &w, NULL, &limit)
		              : epoll_wait(set, &e, 1, 20000);
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
		*ok += rc == 1 && error == ECONNREFUSED;
		close(set);
		close(fd);
	}
	return NULL;
}

static void *looks_up_on_small_stack(void *arg)
{
	struct addrinfo *list;

	/* Injected: what libc needs for it is not our concern. */
	*(int *)arg = getaddrinfo("again.test", "80", NULL, &list);
	return NULL;
}

START_TEST(smallest_thread_in_a_loop)
{
	pthread_attr_t attr;
	pthread_t t;
	int ok = 0;
	int error = 0;

	bound(&dead);
	pthread_attr_init(&attr);
	ck_assert_int_eq(pthread_attr_setstacksize(&attr, smallest()), 0);
	ck_assert_int_eq(pthread_create(&t, &attr, loops_on_small_stack, &ok), 0);
	pthread_join(t, NULL);
	ck_assert_int_eq(ok, 3);
	ck_assert_uint_eq(log_lines(" gave-up op=connect"), 3);
	ck_assert_int_eq(pthread_create(&t, &attr, looks_up_on_small_stack, &error), 0);
	pthread_join(t, NULL);
	ck_assert_int_eq(error, EAI_AGAIN);
	ck_assert_uint_eq(log_lines(" gave-up op=lookup"), 1);
}
END_TEST

static volatile int handler_error = -1;

static void in_handler(int sig)
{
	(void)sig;
	handler_error = connect_once(&dead);
}

START_TEST(alternate_stack)
{
	stack_t stack = { .ss_size = 16384, .ss_sp = aligned_alloc(64, 16384) };
	struct sigaction sa = { .sa_handler = in_handler, .sa_flags = SA_ONSTACK };

	bound(&dead);
	ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
	ck_assert_int_eq(sigaction(SIGTERM, &sa, NULL), 0);
	ck_assert_int_eq(sigaction(SIGUSR1, &sa, NULL), 0);
	/* Such a handler does not read the configuration: alloc.c. */
	ck_assert_int_eq(connect_once(&dead), ECONNREFUSED);
	ck_assert_uint_eq(log_lines("policy=ruled"), 3);
	raise(SIGUSR1);
	ck_assert_int_eq(handler_error, ECONNREFUSED);
	ck_assert_uint_eq(log_lines("policy=ruled"), 6);
}
END_TEST

UNIT_MAIN("preload stack", &smallest_thread, &smallest_thread_in_a_loop, &alternate_stack)
