/* SPDX-License-Identifier: MIT */
/*
 * Handlers of the program while the library works: a timer a thousand times a
 * second whose handler uses what we wrap, jumps and cancellation out of look-ups
 * and out of attempts under a limit, handlers that only set a flag, and the
 * kernel's own answers to an interrupted connect.
 *
 * 127.0.0.2 has waits of a minute, so what ends there within PATIENCE ms has not
 * waited; 127.0.0.3 has attempts of at most 30 s.
 */
#include "tests/preload/guest.h"

#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/time.h>

#define PATIENCE 10000

static int blocking_connect(const struct sockaddr_in *sa)
{
	int fd = tcp_socket();
	int rc = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 ? 0 : errno;

	close(fd);
	return rc;
}

static void every_ms(int ms)
{
	struct itimerval t = { { 0, ms * 1000 }, { 0, ms * 1000 } };

	setitimer(ITIMER_REAL, &t, NULL);
}

static void once_in_ms(int ms)
{
	struct itimerval t = { { 0, 0 }, { ms / 1000, ms % 1000 * 1000 } };

	setitimer(ITIMER_REAL, &t, NULL);
}

/* ------------------------------------------- what a handler may call -- */

static struct sockaddr_in live, dead;
static int pair[2];
static volatile int ticks, wrong;

#define EXPECT(what) ((what) ? (void)0 : (void)(wrong = wrong ? wrong : __LINE__))

static void busy_handler(int sig)
{
	int saved = errno;
	struct pollfd p = { .fd = pair[1], .events = POLLIN };
	char buf[4];
	int copy = dup(pair[0]);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	(void)sig;
	EXPECT(copy >= 0 && fd >= 0);
	EXPECT(send(copy, "x", 1, MSG_DONTWAIT) == 1);
	EXPECT(poll(&p, 1, 0) == 1 && p.revents == POLLIN);
	EXPECT(recv(pair[1], buf, sizeof(buf), 0) == 1);
	EXPECT(close(copy) == 0);
	/* Every other one is refused, and given up at once. */
	EXPECT(connect(fd, (struct sockaddr *)(ticks % 2 ? &dead : &live), sizeof(live)) == -1 &&
	       errno == EINPROGRESS);
	if (ticks % 4 == 0) {
		p.fd = fd;
		p.events = POLLOUT;
		EXPECT(poll(&p, 1, 1000) == 1 && p.revents == POLLOUT);
		EXPECT(write(fd, "y", 1) == 1);
	}
	EXPECT(close(fd) == 0);
	ticks++;
	errno = saved;
}

/* Takes and drops connections, in a process of its own. */
static void serve(void)
{
	int server = bound(&live);

	ck_assert_int_eq(listen(server, 1000), 0);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			close(accept(server, NULL, NULL));
	}
	close(server);
}

static void retried_loop(int ms)
{
	struct sockaddr_in to;
	int server = bound(&to);
	struct pollfd p = { .events = POLLOUT };
	int error = -1;
	socklen_t len = sizeof(error);
	int rc;

	listen_late(server, ms);
	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(connect(p.fd, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	do
		rc = poll(&p, 1, 20000);
	while (rc < 0 && errno == EINTR);
	ck_assert_int_eq(rc, 1);
	ck_assert_int_eq(getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	ck_assert_int_eq(error, 0);
	close(p.fd);
	close(server);
}

START_TEST(a_handler_a_thousand_times_a_second)
{
	struct sigaction act = { .sa_handler = busy_handler, .sa_flags = SA_RESTART };
	struct addrinfo *list;

	serve();
	bound(&dead);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(sigaction(SIGALRM, &act, NULL), 0);
	every_ms(1);
	for (int i = 0; i < 4; i++) {
		struct sockaddr_in to;
		int server = bound(&to);

		listen_late(server, 100);
		ck_assert_int_eq(blocking_connect(&to), 0);
		close(server);
		retried_loop(100);
		ck_assert_int_eq(getaddrinfo("localhost", NULL, NULL, &list), 0);
		freeaddrinfo(list);
	}
	every_ms(0);
	ck_assert_msg(wrong == 0, "in the handler: line %d", wrong);
	ck_assert_int_gt(ticks, 50);
	ck_assert_uint_eq(log_lines(" recovered op=connect"), 8);
}
END_TEST

/* --------------------------------------------------- jumps and cancellation -- */

static sigjmp_buf out;

static void jump(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static int lookup(const char *name)
{
	struct addrinfo *list;
	int rc = getaddrinfo(name, "80", NULL, &list);

	if (rc == 0)
		freeaddrinfo(list);
	return rc;
}

/* Each look-up of the name fails, and is waited for. */
START_TEST(a_handler_may_jump_out_of_a_lookup)
{
	volatile int jumps = 0;

	signal(SIGALRM, jump);
	for (volatile int i = 0; i < 20; i++) {
		if (sigsetjmp(out, 1) == 0) {
			once_in_ms(15);
			if (i % 2 != 0)
				gethostbyname("again.test");
			else
				lookup("again.test");
			ck_abort_msg("it returned");
		}
		jumps++;
	}
	ck_assert_int_eq(jumps, 20);
	ck_assert_int_eq(lookup("localhost"), 0);
	ck_assert_uint_eq(log_lines(" recovered op=lookup dest=localhost"), 1);
}
END_TEST

static atomic_int entered;

static void *looks_up(void *arg)
{
	(void)arg;
	atomic_fetch_add(&entered, 1);
	lookup("again.test");
	return NULL;
}

START_TEST(lookups_can_be_cancelled)
{
	pthread_t t[50];
	void *result;
	int64_t start;

	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, looks_up, NULL), 0);
	while (atomic_load(&entered) < 50)
		sleep_ms(10);
	start = ms_now();
	for (int i = 0; i < 50; i++)
		pthread_cancel(t[i]);
	for (int i = 0; i < 50; i++) {
		pthread_join(t[i], &result);
		ck_assert_ptr_eq(result, PTHREAD_CANCELED);
	}
	ck_assert_int_le(ms_now() - start, PATIENCE);
	ck_assert_int_eq(lookup("localhost"), 0);
}
END_TEST

static void has_time_limit(int fd, long seconds)
{
	struct timeval tv = { -1, -1 };
	socklen_t len = sizeof(tv);

	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, &len), 0);
	ck_assert_int_eq(tv.tv_sec, seconds);
	ck_assert_int_eq(tv.tv_usec, 0);
}

/* Our limit on an attempt is the socket's SO_SNDTIMEO, until the call is left. */
START_TEST(a_jump_out_of_an_attempt_leaves_no_limit)
{
	static struct sockaddr_in to;
	struct timeval own = { 77, 0 };
	static int fd[2];

	full_queue_at("127.0.0.3", &to);
	signal(SIGALRM, jump);
	for (volatile int i = 0; i < 2; i++) {
		fd[i] = tcp_socket();
		if (i == 1)
			setsockopt(fd[i], SOL_SOCKET, SO_SNDTIMEO, &own, sizeof(own));
		if (sigsetjmp(out, 1) == 0) {
			once_in_ms(200);
			connect(fd[i], (struct sockaddr *)&to, sizeof(to));
			ck_abort_msg("it returned");
		}
		has_time_limit(fd[i], i == 1 ? 77 : 0);
	}
}
END_TEST

struct hanging {
	struct sockaddr_in to;
	int fd;
};

static void *hangs(void *arg)
{
	struct hanging *h = arg;

	atomic_fetch_add(&entered, 1);
	connect(h->fd, (struct sockaddr *)&h->to, sizeof(h->to));
	return NULL;
}

START_TEST(a_cancelled_attempt_leaves_no_limit)
{
	struct hanging h;
	pthread_t t;
	void *result;

	full_queue_at("127.0.0.3", &h.to);
	h.fd = tcp_socket();
	ck_assert_int_eq(pthread_create(&t, NULL, hangs, &h), 0);
	while (atomic_load(&entered) < 1)
		sleep_ms(10);
	sleep_ms(200);
	pthread_cancel(t);
	pthread_join(t, &result);
	ck_assert_ptr_eq(result, PTHREAD_CANCELED);
	has_time_limit(h.fd, 0);
}
END_TEST

/* ------------------------------------------------------------- flags -- */

static volatile sig_atomic_t flag;

static void set_flag(int sig)
{
	flag = sig;
}

static void kill_later(int sig, int ms)
{
	pid_t parent = getpid();

	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sleep_ms(ms);
		kill(parent, sig);
		_exit(0);
	}
}

/* signal() means SA_RESTART; the program looks at its flag when the call is over. */
START_TEST(a_flag_is_looked_at_soon)
{
	static const int signals[] = { SIGINT, SIGHUP, SIGQUIT, SIGTERM };
	int64_t start = ms_now();

	bound_at("127.0.0.2", &dead);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		pid_t pid;
		int status;

		/* The others' effect lasts half a minute: in a process each. */
		pid = fork();
		if (pid == 0) {
			flag = 0;
			signal(signals[i], set_flag);
			kill_later(signals[i], 100);
			_exit(blocking_connect(&dead) == ECONNREFUSED && flag == signals[i] ? 0
			                                                                     : 1);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_int_le(ms_now() - start, PATIENCE);
}
END_TEST

static void *waits_long(void *arg)
{
	*(int *)arg = blocking_connect(&dead);
	return NULL;
}

START_TEST(a_flag_is_looked_at_soon_in_threads)
{
	pthread_t t[4];
	int errors[4];
	int64_t start = ms_now();

	bound_at("127.0.0.2", &dead);
	signal(SIGTERM, set_flag);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, waits_long, &errors[i]), 0);
	kill_later(SIGTERM, 200);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		ck_assert_int_eq(errors[i], ECONNREFUSED);
	}
	ck_assert_int_eq(flag, SIGTERM);
	ck_assert_int_le(ms_now() - start, PATIENCE);
}
END_TEST

/* ------------------------------------------------------ interrupted connects -- */

static void count(int sig)
{
	(void)sig;
	ticks++;
}

/* The handshake goes on after EINTR; that it was interrupted is no failure to us,
 * and no reason for another attempt. */
START_TEST(an_interrupted_connect_goes_on)
{
	struct sigaction act = { .sa_handler = count };
	struct sockaddr_in to;
	int server = full_queue_at("127.0.0.1", &to);
	int fd = tcp_socket();
	int rc = -1;

	ck_assert_int_eq(sigaction(SIGALRM, &act, NULL), 0);
	every_ms(50);
	for (int i = 0; i < 3; i++) {
		errno = 0;
		ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), -1);
		ck_assert_int_eq(errno, EINTR);
	}
	/* Room for all: the kernel offers the handshake again within seconds. */
	ck_assert_int_eq(listen(server, 16), 0);
	for (int i = 0; rc != 0 && i < 400; i++) {
		rc = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? 0 : errno;
		ck_assert(rc == 0 || rc == EINTR);
	}
	every_ms(0);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert_int_eq(errno, EISCONN);
	ck_assert_uint_eq(log_lines("op=connect"), 0);
}
END_TEST

/* The program's own limit is the kernel's to keep, and its end is no failure. */
START_TEST(a_connect_with_a_limit_is_one_attempt)
{
	struct sigaction act = { .sa_handler = count, .sa_flags = SA_RESTART };
	struct sockaddr_in to;
	struct timeval limit = { 0, 400000 };
	int fd = tcp_socket();

	full_queue_at("127.0.0.1", &to);
	ck_assert_int_eq(sigaction(SIGALRM, &act, NULL), 0);
	/* With one the kernel says EINTR in spite of SA_RESTART. */
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)), 0);
	once_in_ms(100);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert_int_eq(errno, EINTR);
	/* What is still going on is not an attempt of ours, and not given up. */
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert(errno == EALREADY || errno == EINPROGRESS);
	ck_assert_uint_eq(log_lines("op=connect"), 0);
}
END_TEST

UNIT_MAIN("preload handlers", &a_handler_a_thousand_times_a_second,
          &a_handler_may_jump_out_of_a_lookup, &lookups_can_be_cancelled,
          &a_jump_out_of_an_attempt_leaves_no_limit, &a_cancelled_attempt_leaves_no_limit,
          &a_flag_is_looked_at_soon, &a_flag_is_looked_at_soon_in_threads,
          &an_interrupted_connect_goes_on, &a_connect_with_a_limit_is_one_attempt)
