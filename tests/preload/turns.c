/* SPDX-License-Identifier: MIT */
/*
 * max_concurrent_retries = 1, with a deadline of ten minutes: whatever a program does to
 * a call that is in a retry, the next one may be.
 */
#include "tests/preload/guest.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/time.h>

static struct sockaddr_in to;

/* Until there are so many more lines with <word>. */
static void await_lines(const char *word, unsigned n)
{
	for (int64_t end = ms_now() + 10000; log_lines(word) < n && ms_now() < end;)
		sleep_ms(2);
	ck_assert_uint_ge(log_lines(word), n);
}

static void *connect_in_thread(void *arg)
{
	*(int *)arg = connect_once(&to);
	return NULL;
}

/* The one place is free: a connect to the server, which comes late, is retried. */
static void assert_free(int server)
{
	unsigned before = log_lines(" recovered ");

	listen_late(server, 30);
	ck_assert_int_eq(connect_once(&to), 0);
	ck_assert_uint_eq(log_lines(" recovered "), before + 1);
	ck_assert_uint_eq(log_lines("reason=concurrent"), 0);
}

START_TEST(one_waits_and_another_fails)
{
	int server = bound(&to);
	pthread_t thread;
	int rc = -1;

	ck_assert_int_eq(pthread_create(&thread, NULL, connect_in_thread, &rc), 0);
	await_lines(" retry ", 1);
	ck_assert_int_eq(connect_once(&to), ECONNREFUSED);
	ck_assert_uint_eq(log_lines("gave-up op=connect"), 1);
	ck_assert_uint_eq(log_lines("attempts=1 error=ECONNREFUSED reason=concurrent"), 1);
	ck_assert_int_eq(listen(server, 8), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(rc, 0);
}
END_TEST

static sigjmp_buf back;

static void jump(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

START_TEST(a_jump_out_of_it)
{
	struct itimerval soon = { { 0, 0 }, { 0, 100000 } };
	int server = bound(&to);
	volatile int jumps = 0;

	signal(SIGALRM, jump);
	if (sigsetjmp(back, 1) == 0) {
		setitimer(ITIMER_REAL, &soon, NULL);
		connect_once(&to);
		ck_abort_msg("it was not interrupted");
	}
	jumps++;
	ck_assert_uint_ge(log_lines(" retry "), 1);
	ck_assert_int_eq(jumps, 1);
#ifdef __GLIBC__
	assert_free(server);
#else
	(void)server;
#endif
}
END_TEST

START_TEST(a_cancelled_thread)
{
	int server = bound(&to);
	pthread_t thread;
	int rc = -1;

	ck_assert_int_eq(pthread_create(&thread, NULL, connect_in_thread, &rc), 0);
	await_lines(" retry ", 2);
	pthread_cancel(thread);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	assert_free(server);
}
END_TEST

/* The child is in no retry, and what it does is no concern of its parent's. */
START_TEST(a_fork_meanwhile)
{
	int server = bound(&to);
	pthread_t thread;
	int rc = -1;
	pid_t child;
	int status;

	ck_assert_int_eq(pthread_create(&thread, NULL, connect_in_thread, &rc), 0);
	await_lines(" retry ", 1);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		alarm(20);
		_exit(connect_once(&to));
	}
	for (int64_t end = ms_now() + 10000; log_lines_of(child, " retry ") < 3;) {
		ck_assert_int_lt(ms_now(), end);
		sleep_ms(2);
	}
	ck_assert_uint_eq(log_lines_of(child, "reason=concurrent"), 0);
	ck_assert_int_eq(connect_once(&to), ECONNREFUSED);
	ck_assert_int_eq(listen(server, 8), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(rc, 0);
}
END_TEST

/* Begins a connect that does not block, and waits until it is in backoff. */
static int parked(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	unsigned before = log_lines(" retry ");

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	ck_assert_int_eq(poll(&p, 1, 5), 0);
	ck_assert_uint_gt(log_lines(" retry "), before);
	return fd;
}

START_TEST(one_that_does_not_block)
{
	int server = bound(&to);
	int fd = parked();
	struct pollfd p = { .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = 0;

	/* Both kinds count. */
	ck_assert_int_eq(connect_once(&to), ECONNREFUSED);
	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(connect(p.fd, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	ck_assert_int_eq(poll(&p, 1, 5000), 1);
	ck_assert_int_eq(getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	ck_assert_int_eq(error, ECONNREFUSED);
	close(p.fd);
	ck_assert_uint_eq(log_lines("reason=concurrent"), 2);
	/* Closed while it waits: its place is free. */
	close(fd);
	fd = parked();
	ck_assert_int_eq(listen(server, 8), 0);
	p.fd = fd;
	ck_assert_int_eq(poll(&p, 1, 5000), 1);
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	ck_assert_int_eq(error, 0);
	close(fd);
}
END_TEST

UNIT_MAIN("turns", &one_waits_and_another_fails, &a_jump_out_of_it, &a_cancelled_thread,
          &a_fork_meanwhile, &one_that_does_not_block)
