/* SPDX-License-Identifier: MIT */
/*
 * A signal is caught while a wait ends by its time-out: retries every 2 ms, so that many
 * waits end while it comes. The program's own call hears of it each time.
 */
#include "tests/preload/guest.h"

#include <sys/epoll.h>
#include <sys/wait.h>
#include <sys/time.h>

#define SIGNALS 250

static volatile sig_atomic_t caught;
static volatile int64_t caught_at;
static struct sockaddr_in dead;

static void on_alarm(int sig)
{
	(void)sig;
	caught_at = ms_now();
	caught++;
}

/* One signal, 5 ms to 9 ms from now. */
static void alarm_soon(int i)
{
	struct itimerval once = { { 0, 0 }, { 0, 5000 + i * 7919 % 4000 } };

	caught = 0;
	ck_assert_int_eq(setitimer(ITIMER_REAL, &once, NULL), 0);
}

/* The call has ended, and long before all would have been tried, or its own time is over:
 * that is 2 s after. */
static void assert_told(int rc, int i)
{
	ck_assert_msg(rc == -1 && caught == 1, "signal %d: %d, %d", i, rc, (int)caught);
	ck_assert_msg(ms_now() - caught_at < 1000, "signal %d was not heard of", i);
}

static void catch_alarms(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };

	bound(&dead);
	ck_assert_int_eq(sigaction(SIGALRM, &sa, NULL), 0);
}

static int connecting(void)
{
	int fd = tcp_socket();

	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&dead, sizeof(dead)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	return fd;
}

START_TEST(blocking_connect)
{
	catch_alarms();
	for (int i = 0; i < SIGNALS; i++) {
		int fd = tcp_socket();
		int rc;

		alarm_soon(i);
		rc = connect(fd, (struct sockaddr *)&dead, sizeof(dead));
		ck_assert_int_eq(errno, ECONNREFUSED);
		assert_told(rc, i);
		close(fd);
	}
}
END_TEST

START_TEST(epoll_sets)
{
	catch_alarms();
	for (int i = 0; i < SIGNALS; i++) {
		struct epoll_event e = { .events = EPOLLOUT };
		int set = epoll_create1(EPOLL_CLOEXEC);
		int fd = connecting();
		sigset_t none;
		int rc;

		sigemptyset(&none);
		ck_assert_int_eq(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e), 0);
		alarm_soon(i);
		rc = i % 2 ? epoll_wait(set, &e, 1, 2000) : epoll_pwait(set, &e, 1, 2000, &none);
		ck_assert_int_eq(errno, EINTR);
		assert_told(rc, i);
		close(fd);
		close(set);
	}
}
END_TEST

/* A wait that ends otherwise leaves the thread's mask as it was. */
START_TEST(masks_are_put_back)
{
	int server, fd, set = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event e = { .events = EPOLLOUT };
	sigset_t before, after;

	catch_alarms();
	server = bound(&dead);
	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	fd = connecting();
	ck_assert_int_eq(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e), 0);
	ck_assert_int_eq(epoll_wait(set, &e, 1, 30), 0);
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, NULL, &after), 0);
	ck_assert_mem_eq(&before, &after, 8);
	listen_late(server, 20);
	ck_assert_int_eq(epoll_wait(set, &e, 1, 10000), 1);
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, NULL, &after), 0);
	ck_assert_mem_eq(&before, &after, 8);
	alarm_soon(1);
	alarm(0);
	close(fd);
	close(set);
}
END_TEST

/* So many retries that one is always due: a signal comes through, and soon. */
START_TEST(retries_without_a_pause)
{
	struct epoll_event e = { .events = EPOLLOUT };
	struct itimerval once = { { 0, 0 }, { 0, 200000 } };
	int set = epoll_create1(EPOLL_CLOEXEC);

	catch_alarms();
	for (int i = 0; i < 500; i++)
		ck_assert_int_eq(epoll_ctl(set, EPOLL_CTL_ADD, connecting(), &e), 0);
	caught = 0;
	ck_assert_int_eq(setitimer(ITIMER_REAL, &once, NULL), 0);
	ck_assert_int_eq(epoll_wait(set, &e, 1, 3000), -1);
	ck_assert_int_eq(errno, EINTR);
	assert_told(-1, 0);
	close(set);
}
END_TEST

static void on_user(int sig)
{
	(void)sig;
	caught++;
	errno = ENOTTY;
}

/* The second handler runs when the call has ended, and a native call sets errno after it. */
START_TEST(errno_is_the_calls)
{
	struct sigaction sa = { .sa_handler = on_user };
	struct epoll_event e = { .events = EPOLLOUT };
	int set = epoll_create1(EPOLL_CLOEXEC);
	pid_t me = getpid();

	bound(&dead);
	sigfillset(&sa.sa_mask);
	ck_assert_int_eq(sigaction(SIGUSR1, &sa, NULL), 0);
	ck_assert_int_eq(sigaction(SIGUSR2, &sa, NULL), 0);
	for (int i = 0; i < 20; i++) {
		int fd = connecting();
		pid_t child;

		ck_assert_int_eq(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e), 0);
		caught = 0;
		child = fork();
		if (child == 0) {
			usleep(10000);
			kill(me, SIGSTOP);
			kill(me, SIGUSR1);
			kill(me, SIGUSR2);
			kill(me, SIGCONT);
			_exit(0);
		}
		ck_assert_int_eq(epoll_wait(set, &e, 1, 2000), -1);
		ck_assert_int_eq(errno, EINTR);
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
		close(fd);
	}
	close(set);
}
END_TEST

UNIT_MAIN("sigwaits", &blocking_connect, &epoll_sets, &masks_are_put_back,
          &retries_without_a_pause, &errno_is_the_calls)
