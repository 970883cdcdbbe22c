/* SPDX-License-Identifier: MIT */
/* attempt_timeout against a listener that never takes the connection. */
#include "tests/preload/guest.h"

#include <sys/syscall.h>
#include <sys/time.h>

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
	/* Alone each would take two minutes. */
	ck_assert_int_le(ms_now() - start, 9000);
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
	int server = bound_at("127.0.0.2", &sa);
	int fd = tcp_socket();

	listen_late(server, 50);
	errno = 4711;
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_ge(log_lines("error=ECONNREFUSED"), 1);
}
END_TEST

/* With a time-out on the socket the kernel interrupts a connect also for
 * handlers with SA_RESTART; the program, which set none, must not see that. */
static volatile int ticks;

static void tick(int sig)
{
	(void)sig;
	ticks++;
}

START_TEST(restarting_handlers_do_not_interrupt)
{
	struct itimerval every = { { 0, 20000 }, { 0, 20000 } };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = tick, .sa_flags = SA_RESTART };
	struct sockaddr_in to;
	int fd = tcp_socket();
	int rc, error;

#ifdef SYS_futex_waitv
	/* Without it every handler ends a wait of ours (doc/decisions.md). */
	if (syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) == -1 && errno == ENOSYS)
		return;
#endif
	/* The test framework's own handlers have no SA_RESTART. */
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	full_queue(&to);
	ck_assert_int_eq(sigaction(SIGALRM, &sa, NULL), 0);
	setitimer(ITIMER_REAL, &every, NULL);
	rc = connect(fd, (struct sockaddr *)&to, sizeof(to));
	error = errno;
	setitimer(ITIMER_REAL, &never, NULL);
	ck_assert_int_eq(rc, -1);
	ck_assert_int_eq(error, ETIMEDOUT);
	ck_assert_int_ge(ticks, 3);
	ck_assert_uint_eq(log_lines(" retry "), 2);
}
END_TEST

START_TEST(wild_addresses_are_the_kernels_to_refuse)
{
	char block[16] = { AF_INET };
	int fd = tcp_socket();

	ck_assert_int_eq(connect(fd, (struct sockaddr *)16, 16), -1);
	ck_assert_int_eq(errno, EFAULT);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)block, 100000), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)block, 2), -1);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

/* A full queue of a Unix socket ends a timed connect with EAGAIN. */
START_TEST(unix_sockets_time_out_too)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd;

	snprintf(un.sun_path, sizeof(un.sun_path), "%s/full", getenv("TEST_DIR"));
	ck_assert_int_eq(bind(server, (struct sockaddr *)&un, sizeof(un)), 0);
	ck_assert_int_eq(listen(server, 0), 0);
	for (int i = 0; i < 2; i++) {
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(fd, (struct sockaddr *)&un, sizeof(un));
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
	ck_assert_uint_eq(log_lines("error=ETIMEDOUT"), 3);
}
END_TEST

UNIT_MAIN("preload timeout", &hanging_attempts_are_ended, &a_late_server_is_reached,
          &restarting_handlers_do_not_interrupt, &wild_addresses_are_the_kernels_to_refuse,
          &unix_sockets_time_out_too)
