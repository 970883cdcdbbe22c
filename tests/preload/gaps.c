/* SPDX-License-Identifier: MIT */
/*
 * What other threads do between any two instructions of a wait, until it is in the kernel:
 * the one connect that has failed ends, and then another one begins and is refused. It is
 * hidden, as any.
 *
 * The other threads are this one: a handler of SIGTRAP that steps through the wait.
 */
#include <signal.h>
#include <ucontext.h>

/* As in unit/test_fdtab_fork.c; what sanitizers put in between is too much to step through. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

#include "tests/preload/evloop.h"
#include "tests/unit/steps.h"

#include <pthread.h>
#include <sys/syscall.h>

static struct sockaddr_in dead;
static volatile unsigned steps, end_at;
static volatile unsigned first_call; /* the step that enters the kernel first */
static volatile bool ended, begun;
static int failed, fresh;

static bool is_wait(long long call)
{
	return call == SYS_poll || call == SYS_ppoll || call == SYS_select ||
	       call == SYS_pselect6 || call == SYS_epoll_wait || call == SYS_epoll_pwait;
}

static void begin_connect(int fd)
{
	must_fail(connect(fd, (struct sockaddr *)&dead, sizeof(dead)), EINPROGRESS);
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *code = (const unsigned char *)regs[REG_RIP];
	bool enters = code[0] == 0x0f && code[1] == 0x05;
	int saved = errno;

	(void)sig;
	(void)info;
	if (++steps == end_at) {
		must_eq(close(failed), 0);
		ended = true;
	}
	if (enters && !first_call)
		first_call = steps;
	if (enters && end_at && is_wait(regs[REG_RAX])) {
		begin_connect(fresh);
		begun = true;
	}
	/* What comes later may hold signals back, this one too. */
	if (begun || (enters && !end_at))
		regs[REG_EFL] &= ~STEPS_FLAG;
	errno = saved;
}

/* A connect whose refusal a wait has seen. */
static int has_failed(void)
{
	struct pollfd p = { stream(), POLLOUT, 0 };

	begin_connect(p.fd);
	must_eq(poll(&p, 1, 0), 0);
	return p.fd;
}

#define STEP(wait) \
	do { \
		begin_steps(); \
		n = wait; \
		end_steps(); \
	} while (0)

/* Each wait looks, and waits for nothing: then it reads no clock, which takes long to step
 * through. */
static int looks_by(enum call call, int set)
{
	struct pollfd p = { fresh, POLLOUT, 0 };
	struct timeval now = { 0, 0 };
	struct epoll_event event;
	fd_set w;
	int n = -1;

	FD_ZERO(&w);
	FD_SET(fresh, &w);
	switch (call) {
	case POLL: STEP(poll(&p, 1, 0)); break;
	case SELECT: STEP(select(fresh + 1, NULL, &w, NULL, &now)); break;
	default: STEP(epoll_wait(set, &event, 1, 0)); break;
	}
	return n;
}

/* Returns what the wait does; what has failed ends at step <at>, if not 0. */
static int step_through(enum call call, unsigned at)
{
	struct epoll_event event;
	int set = set_of_events();
	int n;

	failed = has_failed();
	fresh = stream();
	must_eq(enrol(EPOLL_CTL_ADD, set, fresh, EPOLLOUT | EPOLLET, DATA), 0);
	/* The event of one that is not connected. */
	must_eq(epoll_wait(set, &event, 1, 0), 1);
	ended = begun = false;
	steps = 0;
	first_call = 0;
	end_at = at;
	n = looks_by(call, set);
	if (!ended)
		close(failed);
	close(fresh);
	close(set);
	return n;
}

static void *is_there(void *arg)
{
	pause();
	return arg;
}

START_TEST(what_ends_and_begins_before_a_wait)
{
	static const enum call calls[] = { POLL, SELECT, EPOLL_WAIT };
	struct sigaction act = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	pthread_t thread;

	if (unit_valgrind())
		return;
	bound(&dead);
	ck_assert_int_eq(pthread_create(&thread, NULL, is_there, NULL), 0);
	sigaction(SIGTRAP, &act, NULL);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		unsigned last;

		step_through(calls[i], 0);
		last = first_call + 4;
		ck_assert_uint_gt(last, 20);
		ck_assert_uint_lt(last, 500);
		for (unsigned at = 1; at <= last; at++) {
			int n = step_through(calls[i], at);

			ck_assert_msg(ended && begun, "call %d, step %u: it did not happen",
			              calls[i], at);
			ck_assert_msg(n == 0, "call %d, step %u of %u: %d, a refusal is shown",
			              calls[i], at, last, n);
		}
	}
}
END_TEST

UNIT_MAIN("preload gaps", &what_ends_and_begins_before_a_wait)

#else

int main(void)
{
	return 77;
}

#endif
