/* SPDX-License-Identifier: MIT */
/*
 * A little of everything in half a second, for what stands beside us: other
 * preloaded libraries and their allocators (beside.sh).
 */
#include "tests/preload/guest.h"

#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#define THREADS 4

static struct sockaddr_in dead, to;

static int connect_to(const struct sockaddr_in *sa)
{
	int fd = tcp_socket();
	int rc = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 ? 0 : errno;

	close(fd);
	return rc;
}

static void *busy(void *arg)
{
	void *kept[64] = { NULL };

	for (size_t i = 0; i < 5000; i++) {
		free(kept[i % 64]);
		kept[i % 64] = malloc(i % 4000);
	}
	for (size_t i = 0; i < 64; i++)
		free(kept[i]);
	*(int *)arg = connect_to(&to);
	return NULL;
}

START_TEST(threads_that_allocate)
{
	pthread_t t[THREADS];
	int errors[THREADS];

	listen_when_retried(bound(&to));
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, busy, &errors[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		ck_assert_int_eq(errors[i], 0);
	}
}
END_TEST

START_TEST(a_loop_a_lookup_and_a_child)
{
	struct pollfd p = { .events = POLLOUT };
	struct addrinfo *list;
	int error = -1;
	socklen_t len = sizeof(error);
	int status = -1;
	pid_t pid;

	listen_when_retried(bound(&to));
	bound_at("127.0.0.2", &dead);
	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	errno = 0;
	ck_assert_int_eq(connect(p.fd, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	ck_assert_int_eq(poll(&p, 1, 20000), 1);
	ck_assert_int_eq(getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	ck_assert_int_eq(error, 0);
	ck_assert_uint_eq(log_lines(" recovered op=connect"), 1);
	ck_assert_int_eq(getaddrinfo("localhost", "80", NULL, &list), 0);
	freeaddrinfo(list);
	pid = fork();
	if (pid == 0)
		_exit(connect_to(&dead) == ECONNREFUSED ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_ge(log_lines_of(pid, " retry op=connect"), 1);
}
END_TEST

UNIT_MAIN("preload beside", &threads_that_allocate, &a_loop_a_lookup_and_a_child)
