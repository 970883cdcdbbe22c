/* SPDX-License-Identifier: MIT */
/*
 * Reads, writes and closes in the middle of a retried non-blocking connect, most
 * of them on a socket that the program has made blocking meanwhile: they wait,
 * as they would in the kernel for a connect under way.
 */
#include "tests/preload/bare.h"

#include <poll.h>
#include <pthread.h>
#include <sys/time.h>

/* A refused connect that is being retried; *server has its port. */
static int retried(int *server)
{
	struct sockaddr_in sa;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	*server = bound(&sa);
	FAILS(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), EINPROGRESS);
	FAILS(send(fd, "x", 1, 0), EAGAIN);
	ck_assert_uint_ge(log_lines(" retry "), 1);
	return fd;
}

static int made_blocking(int *server)
{
	int fd = retried(server);

	ck_assert_int_eq(fcntl(fd, F_SETFL, 0), 0);
	return fd;
}

START_TEST(it_waits_for_the_server)
{
	char buf[4];
	int server;
	int fd = made_blocking(&server);

	FAILS(recv(fd, buf, 2, MSG_DONTWAIT), EAGAIN);
	listen_late(server, 200);
	WORKS(recv(fd, buf, 2, MSG_WAITALL), 2);
	ck_assert_uint_eq(log_lines(" recovered "), 1);
	fd = made_blocking(&server);
	listen_late(server, 200);
	WORKS(write(fd, "x", 1), 1);
	WORKS(read(fd, buf, 2), 2);
	ck_assert_uint_eq(log_lines(" recovered "), 2);
}
END_TEST

START_TEST(it_gets_the_last_error)
{
	char buf[4];
	int server;
	int fd = made_blocking(&server);

	FAILS(recv(fd, buf, 1, 0), ECONNREFUSED);
	WORKS(recv(fd, buf, 1, 0), 0); /* told once, and then as the kernel */
	FAILS(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
}
END_TEST

START_TEST(the_sockets_time_limits)
{
	struct timeval limit = { 0, 150000 };
	char buf[4];
	int server;
	int fd = made_blocking(&server);
	int64_t start = ms_now();

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	FAILS(send(fd, "x", 1, 0), EAGAIN);
	ck_assert_int_ge(ms_now() - start, 149);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	FAILS(read(fd, buf, 1), EAGAIN);
	ck_assert_int_ge(ms_now() - start, 298);
	ck_assert_int_lt(ms_now() - start, 800);
}
END_TEST

static void on_signal(int sig)
{
	(void)sig;
}

START_TEST(handlers)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct itimerval soon = { { 0, 0 }, { 0, 100000 } };
	struct timeval limit = { 20, 0 };
	char buf[4];
	int server;
	int fd = made_blocking(&server);

	/* Check's own have no SA_RESTART. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	FAILS(recv(fd, buf, 1, 0), EINTR);
	act.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	listen_late(server, 300);
	WORKS(recv(fd, buf, 1, 0), 1);
	/* With a time limit SA_RESTART counts for nothing. */
	fd = made_blocking(&server);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setitimer(ITIMER_REAL, &soon, NULL);
	FAILS(recv(fd, buf, 1, 0), EINTR);
}
END_TEST

static void *close_and_reuse(void *arg)
{
	int fd = *(int *)arg;

	sleep_ms(100);
	close(fd);
	ck_assert_int_eq(tcp_socket(), fd);
	return NULL;
}

/* What comes in under this number is not for the call that waits. */
START_TEST(the_number_becomes_anothers)
{
	pthread_t thread;
	char buf[4];
	int server;
	int fd = made_blocking(&server);

	ck_assert_int_eq(pthread_create(&thread, NULL, close_and_reuse, &fd), 0);
	FAILS(recv(fd, buf, 1, 0), EBADF);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(log_lines(" abandoned "), 1);
}
END_TEST

START_TEST(what_ends_it)
{
	struct pollfd p = { .events = POLLOUT };
	socklen_t len = sizeof(int);
	int server, value;
	int fd = retried(&server);
	int copy = dup(fd);

	FAILS(send(copy, "x", 1, 0), EAGAIN);
	WORKS(getsockopt(copy, SOL_SOCKET, SO_ERROR, &value, &len), 0);
	ck_assert_int_eq(value, 0);
	WORKS(close(fd), 0);
	FAILS(dup2(-1, copy), EBADF);
	FAILS(dup3(0, copy, O_NONBLOCK), EINVAL);
	FAILS(close_range((unsigned)copy, (unsigned)copy, 1 << 10), EINVAL);
	FAILS(shutdown(copy, 7), EINVAL);
	if (vfork() == 0) {
		close(copy);
		dup2(0, copy);
		close_range(3, ~0U, 0);
		_exit(0);
	}
	ck_assert_uint_eq(log_lines(" abandoned "), 0);
	listen_late(server, 100);
	p.fd = copy;
	ck_assert_int_eq(poll(&p, 1, 10000), 1);
	ck_assert_int_eq(p.revents, POLLOUT);
	ck_assert_uint_eq(log_lines(" recovered "), 1);

	fd = retried(&server);
	WORKS(dup2(0, fd), fd);
	ck_assert_uint_eq(log_lines(" abandoned "), 1);
	fd = retried(&server);
	WORKS(close_range((unsigned)fd, (unsigned)fd, 0), 0);
	ck_assert_uint_eq(log_lines(" abandoned "), 2);
	FAILS(send(fd, "x", 1, 0), EBADF);
	fd = retried(&server);
	FAILS(shutdown(fd, SHUT_RDWR), ENOTCONN); /* as after a failed connect */
	ck_assert_uint_eq(log_lines(" abandoned "), 3);
	FAILS(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	fd = retried(&server);
	WORKS(close(fd), 0);
	ck_assert_uint_eq(log_lines(" abandoned "), 4);
}
END_TEST

UNIT_MAIN("preload midway", &it_waits_for_the_server, &it_gets_the_last_error,
          &the_sockets_time_limits, &handlers, &the_number_becomes_anothers, &what_ends_it)
