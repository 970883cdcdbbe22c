/* SPDX-License-Identifier: MIT */
/* Signals, cancellation, forks and jumps while the library waits. */
#include "tests/preload/guest.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>

/* sigset() is old, but programs use it. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static atomic_int handled;
static atomic_int last_code;
static void *last_context;
static struct sockaddr_in dead;

static void on_signal(int sig)
{
	(void)sig;
	atomic_fetch_add(&handled, 1);
}

static void on_siginfo(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	atomic_fetch_add(&handled, 1);
	atomic_store(&last_code, info->si_pid);
	last_context = context;
}

static void handle(int sig, int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };

	atomic_store(&handled, 0);
	ck_assert_int_eq(sigaction(sig, &sa, NULL), 0);
}

/* <sig> to this process, from a child, <ms> after its next retry was logged. */
static void signal_when_retried(int sig, int ms)
{
	pid_t parent = getpid();
	unsigned before = log_lines(" retry op=connect");

	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (log_lines_of(parent, " retry op=connect") == before)
			sleep_ms(2);
		sleep_ms(ms);
		kill(parent, sig);
		_exit(0);
	}
}

/* Connects to the dead port; the time it took in ms. */
static int64_t connect_dead(int *error)
{
	int64_t start = ms_now();
	int fd = tcp_socket();
	int rc = connect(fd, (struct sockaddr *)&dead, sizeof(dead));

	*error = rc == 0 ? 0 : errno;
	close(fd);
	return ms_now() - start;
}

/* All 40 attempts take about 40 * 67 ms = 2.7 s. */
START_TEST(handler_without_restart_ends_the_wait)
{
	int error;
	int64_t start, took;

	bound(&dead);
	handle(SIGUSR1, 0);
	start = ms_now();
	signal_when_retried(SIGUSR1, 200);
	took = connect_dead(&error);
	ck_assert_int_eq(error, ECONNREFUSED); /* the last real one, not EINTR */
	ck_assert_int_eq(atomic_load(&handled), 1);
	ck_assert_int_ge(ms_now() - start, 200);
	ck_assert_int_le(took, 400);
	ck_assert_uint_eq(log_lines("reason=interrupted"), 1);
}
END_TEST

START_TEST(handler_with_restart_does_not)
{
	struct itimerval every = { { 0, 20000 }, { 0, 20000 } };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	int server = bound(&dead);
	int error;

	handle(SIGALRM, SA_RESTART);
	setitimer(ITIMER_REAL, &every, NULL);
	listen_late(server, 500);
	connect_dead(&error);
	setitimer(ITIMER_REAL, &never, NULL);
	ck_assert_int_eq(error, 0);
	ck_assert_int_gt(atomic_load(&handled), 10);
	ck_assert_uint_eq(log_lines(" recovered "), 1);
}
END_TEST

/* Each at a port of its own: the log holds back what repeats itself. */
static void *dead_thread(void *arg)
{
	struct sockaddr_in sa;
	int fd = tcp_socket();

	bound(&sa);
	*(int *)arg = connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 ? 0 : errno;
	return NULL;
}

START_TEST(stop_signal_ends_all_waits_in_all_threads)
{
	pthread_t t[8];
	int errors[8];
	int error;
	int64_t start, late;
	unsigned retries;

	bound(&dead);
	handle(SIGTERM, SA_RESTART);
	lateness_begin();
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, dead_thread, &errors[i]), 0);
	sleep_ms(200);
	late = lateness_ms();
	start = ms_now();
	kill(getpid(), SIGTERM);
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], NULL);
		ck_assert_int_eq(errors[i], ECONNREFUSED);
	}
	/* Alone it would be two seconds more. */
	ck_assert(in_time(start, late, 130));
	ck_assert_int_le(ms_now() - start, 1500);
	lateness_end();
	ck_assert_uint_eq(log_lines(" stopping signal=SIGTERM"), 1);
	ck_assert_uint_eq(log_lines("reason=stopping"), 8);
	/* And nothing is retried any more. */
	retries = log_lines(" retry ");
	connect_dead(&error);
	ck_assert_int_eq(error, ECONNREFUSED);
	ck_assert_uint_eq(log_lines(" retry "), retries);
}
END_TEST

START_TEST(default_action_kills_at_once)
{
	int64_t start;
	int status = 0;
	pid_t pid;

	bound(&dead);
	/* The test framework's own handler is inherited. */
	signal(SIGTERM, SIG_DFL);
	pid = fork();
	if (pid == 0) {
		int error;

		connect_dead(&error);
		_exit(1);
	}
	sleep_ms(150);
	start = ms_now();
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	ck_assert_int_le(ms_now() - start, 100);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}
END_TEST

START_TEST(programs_see_their_own_handlers)
{
	struct sigaction sa = { .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction old;

	signal(SIGHUP, SIG_DFL);
	sa.sa_sigaction = on_siginfo;
	sigaddset(&sa.sa_mask, SIGUSR2);
	ck_assert_int_eq(sigaction(SIGTERM, &sa, NULL), 0);
	ck_assert_int_eq(sigaction(SIGTERM, NULL, &old), 0);
	ck_assert(old.sa_sigaction == on_siginfo);
	ck_assert(old.sa_flags & SA_SIGINFO);
	ck_assert(old.sa_flags & SA_RESTART);
	ck_assert(sigismember(&old.sa_mask, SIGUSR2));
	ck_assert(!sigismember(&old.sa_mask, SIGUSR1));
	/* The arguments arrive. */
	atomic_store(&handled, 0);
	errno = 4711;
	kill(getpid(), SIGTERM);
	ck_assert_int_eq(errno, 4711);
	ck_assert_int_eq(atomic_load(&handled), 1);
	ck_assert_int_eq(atomic_load(&last_code), getpid());
	ck_assert_ptr_nonnull(last_context);
	/* signal() and its relatives hand back what was there. */
	ck_assert(signal(SIGTERM, on_signal) == (void (*)(int))(void (*)(void))on_siginfo);
	ck_assert(signal(SIGTERM, SIG_IGN) == on_signal);
	ck_assert(signal(SIGTERM, on_signal) == SIG_IGN);
	ck_assert(sigset(SIGTERM, SIG_DFL) == on_signal);
	ck_assert(signal(SIGTERM, SIG_DFL) == SIG_DFL);
	/* sysv_signal() is one-shot. */
	ck_assert(sysv_signal(SIGHUP, on_signal) == SIG_DFL);
	atomic_store(&handled, 0);
	raise(SIGHUP);
	ck_assert_int_eq(atomic_load(&handled), 1);
	ck_assert(signal(SIGHUP, SIG_DFL) == SIG_DFL);
	/* Errors are libc's. */
	errno = 0;
	ck_assert_int_eq(sigaction(SIGKILL, &sa, NULL), -1);
	ck_assert_int_eq(errno, EINVAL);
	errno = 0;
	ck_assert(signal(1000, on_signal) == SIG_ERR);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

/* A vfork child that resets its signals shares our memory: the parent's
 * handler must still be called afterwards. */
START_TEST(vfork_child_resets_signals)
{
	pid_t pid;
	int status;

	handle(SIGTERM, 0);
	pid = vfork();
	if (pid == 0) {
		signal(SIGTERM, SIG_DFL);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	kill(getpid(), SIGTERM);
	ck_assert_int_eq(atomic_load(&handled), 1);
}
END_TEST

static void on_signal_of_child(int sig)
{
	(void)sig;
}

/* Nor is its signal the parent's, or the handler that it installs: what it was to stop has
 * ended with it. */
START_TEST(vfork_child_is_stopped_alone)
{
	struct sigaction now;
	int server = bound(&dead);
	int error, status;
	pid_t pid;

	handle(SIGTERM, SA_RESTART);
	handle(SIGINT, SA_RESTART);
	pid = vfork();
	if (pid == 0) {
		kill(getpid(), SIGINT);
		kill(getpid(), SIGTERM);
		signal(SIGTERM, on_signal_of_child);
		kill(getpid(), SIGTERM);
		_exit(signal(SIGTERM, SIG_DFL) == on_signal_of_child ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(atomic_load(&handled), 2);
	listen_late(server, 50);
	connect_dead(&error);
	ck_assert_int_eq(error, 0);
	ck_assert_uint_eq(log_lines(" recovered "), 1);
	ck_assert_uint_eq(log_lines(" stopping "), 0);
	ck_assert_int_eq(sigaction(SIGTERM, NULL, &now), 0);
	ck_assert(now.sa_handler == on_signal);
	kill(getpid(), SIGTERM);
	ck_assert_int_eq(atomic_load(&handled), 3);
}
END_TEST

static volatile bool stops_in_child;

static void in_child(void)
{
	if (stops_in_child)
		raise(SIGTERM);
}

static void before_constructors(void)
{
	pthread_atfork(NULL, NULL, in_child);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) =
	before_constructors;

/* The signal comes before the library's own handler of fork has run in the child. */
START_TEST(a_new_child_is_stopped)
{
	int error, status;
	pid_t pid;

	bound(&dead);
	handle(SIGTERM, SA_RESTART);
	stops_in_child = true;
	pid = fork();
	stops_in_child = false;
	if (pid == 0) {
		connect_dead(&error);
		_exit(error == ECONNREFUSED && atomic_load(&handled) == 1 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(log_lines_of(pid, " retry "), 0);
	ck_assert_uint_eq(log_lines_of(pid, "reason=stopping"), 1);
	/* It is not its parent's. */
	pid = fork();
	if (pid == 0) {
		listen_late(bound(&dead), 20);
		connect_dead(&error);
		_exit(error ? 1 : 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

static sigjmp_buf out;

static void jump(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

START_TEST(a_handler_may_jump_out)
{
	volatile int jumps = 0;
	int error;

	bound(&dead);
	signal(SIGALRM, jump);
	for (int i = 0; i < 20; i++) {
		struct itimerval once = { { 0, 0 }, { 0, 15000 } };

		if (sigsetjmp(out, 1) == 0) {
			setitimer(ITIMER_REAL, &once, NULL);
			connect_dead(&error);
			ck_abort_msg("not interrupted");
		}
		jumps++;
	}
	ck_assert_int_eq(jumps, 20);
	/* The library still works. */
	int server = bound(&dead);

	listen_late(server, 150);
	connect_dead(&error);
	ck_assert_int_eq(error, 0);
}
END_TEST

static void *waiting_thread(void *arg)
{
	int error;

	(void)arg;
	connect_dead(&error);
	return NULL;
}

START_TEST(waiting_threads_can_be_cancelled)
{
	pthread_t t[50];
	int64_t start;
	void *result;

	bound(&dead);
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, waiting_thread, NULL), 0);
	sleep_ms(100);
	start = ms_now();
	for (int i = 0; i < 50; i++)
		pthread_cancel(t[i]);
	for (int i = 0; i < 50; i++) {
		pthread_join(t[i], &result);
		ck_assert_ptr_eq(result, PTHREAD_CANCELED);
	}
	ck_assert_int_le(ms_now() - start, 1000);
}
END_TEST

/* Workers forked from one parent must not march in step. */
START_TEST(forked_children_draw_different_waits)
{
	char waits[8][64];
	int different = 0;
	int error;

	bound(&dead);
	/* Seed the parent's generator first. */
	handle(SIGUSR1, 0);
	signal_when_retried(SIGUSR1, 60);
	connect_dead(&error);
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();
		int status;
		char line[1024];
		char tag[64];
		FILE *f;

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			connect_dead(&error);
			_exit(0);
		}
		for (int look = 0; look < 2000 && log_lines_of(pid, " wait=") == 0; look++)
			sleep_ms(2);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		snprintf(tag, sizeof(tag), "libretry[%d]", (int)pid);
		waits[i][0] = '\0';
		f = fopen(getenv("TEST_LOG"), "r");
		while (f && fgets(line, sizeof(line), f)) {
			char *w = strstr(line, " wait=");

			if (w && strstr(line, tag) && !waits[i][0])
				sscanf(w, " %63s", waits[i]);
		}
		fclose(f);
		ck_assert_msg(waits[i][0], "child %d logged no wait", i);
	}
	for (int i = 1; i < 8; i++)
		different += strcmp(waits[i], waits[0]) != 0;
	ck_assert_int_ge(different, 4);
}
END_TEST

/* Forks from a program whose threads retry; each child retries once itself. */
START_TEST(fork_storm)
{
	pthread_t t[4];
	int bad = 0;

	bound(&dead);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, waiting_thread, NULL);
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			struct itimerval once = { { 0, 0 }, { 0, 5000 } };
			int error;

			signal(SIGALRM, SIG_DFL);
			setitimer(ITIMER_REAL, &once, NULL);
			connect_dead(&error);
			_exit(1);
		}
		waitpid(pid, &status, 0);
		bad += !WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM;
	}
	ck_assert_int_eq(bad, 0);
	for (int i = 0; i < 4; i++) {
		pthread_cancel(t[i]);
		pthread_join(t[i], NULL);
	}
}
END_TEST

static void *small_stack(void *arg)
{
	int error;

	connect_dead(&error);
	*(int *)arg = error;
	return NULL;
}

/* The first failure loads the configuration, on whatever stack it happens. */
START_TEST(smallest_stack)
{
	pthread_attr_t attr;
	pthread_t t;
	int error = -1;
	int server = bound(&dead);

	listen_late(server, 150);
	pthread_attr_init(&attr);
	ck_assert_int_eq(pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN)), 0);
	ck_assert_int_eq(pthread_create(&t, &attr, small_stack, &error), 0);
	pthread_join(t, NULL);
	ck_assert_int_eq(error, 0);
}
END_TEST

UNIT_MAIN("preload signals", &handler_without_restart_ends_the_wait,
          &handler_with_restart_does_not, &stop_signal_ends_all_waits_in_all_threads,
          &default_action_kills_at_once, &programs_see_their_own_handlers,
          &vfork_child_resets_signals, &vfork_child_is_stopped_alone,
          &a_new_child_is_stopped, &a_handler_may_jump_out,
          &waiting_threads_can_be_cancelled, &forked_children_draw_different_waits, &fork_storm,
          &smallest_stack)
