/* SPDX-License-Identifier: MIT */
#include "preload/signal.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/libc.h"
#include "base/sys.h"
#include "policy/builtin.h"
#include "preload/real.h"
#include "preload/runtime.h"

#define SHORT_STOP (30 * DUR_S)
#define CANCEL_SLICE (100 * DUR_MS)

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449 /* the same on every architecture, Linux 5.16 */
#endif

/* uapi struct futex_waitv, which older headers lack. */
struct waitv {
	uint64_t val;
	uint64_t uaddr;
	uint32_t flags;
	uint32_t reserved;
};
#define WAITV_32_PRIVATE (2 | 128)

/* struct __kernel_timespec: 64 bits on every architecture. */
struct kernel_timespec {
	int64_t tv_sec;
	int64_t tv_nsec;
};

/*
 * The program's handlers, one table per calling convention, so that a signal
 * arriving between two sigaction() calls cannot reach a handler with the wrong
 * arguments. Only functions are recorded: a child that shares this memory and resets
 * its signals before exec must not take the parent's handler away. (One that installs
 * a function does, if it was not made by vfork(); none is known to.)
 */
static void (*_Atomic handlers1[SIGNALS + 1])(int);
static void (*_Atomic handlers3[SIGNALS + 1])(int, siginfo_t *, void *);

static _Atomic uint64_t stop_on; /* 0: not set, the built-in ones count */
static _Atomic uint32_t stop_word;
static _Atomic uint32_t waiters;
static _Atomic int64_t stop_until;
static _Atomic int unlogged;
/* The last one caught where this is not the process that we know: it << 8 | signal. */
static _Atomic uint64_t strayed;
static _Atomic bool no_waitv; /* the kernel, or a filter, has no futex_waitv() */

/* What programs end their own calls with. */
#define INTERRUPTERS (1U << SIGALRM | 1U << SIGUSR1 | 1U << SIGUSR2)

static bool in_stop_set(int sig)
{
	uint64_t mask = atomic_load_explicit(&stop_on, memory_order_relaxed);

	if (!mask)
		mask = builtin_process().stop_on;
	return sig > 0 && sig < SIGNALS && (mask >> sig & 1);
}

int64_t kernel_time_of(int64_t entry)
{
	int64_t ago = dur_sub(clock_at_entry(), entry);

	if (ago < 0 || ago > DUR_MAX_CONFIG)
		ago = 0;
	return dur_sub(sys_monotonic(), ago);
}

/* Async-signal-safe: atomics, and with <wake> one system call if somebody waits. */
static void stop_until_then(int64_t until, bool wake)
{
	int64_t old = atomic_load(&stop_until);

	while (old < until && !atomic_compare_exchange_weak(&stop_until, &old, until))
		;
	atomic_fetch_add(&stop_word, 1);
	if (wake && atomic_load(&waiters))
		syscall(SYS_futex, &stop_word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void stop_by(int sig)
{
	int64_t until = INT64_MAX;

	if (sig != SIGTERM)
		until = dur_add(sys_monotonic(), SHORT_STOP);
	atomic_store(&unlogged, sig);
	stop_until_then(until, true);
}

/* Whether a signal that was caught here is this process's. A sandbox may kill who asks
 * more of the kernel than the program does: where nothing has failed nothing is asked, and
 * a child that was made past libc is taken for its parent. */
static bool is_ours(void)
{
	return (!signal_ever_held() && !thread_marks.has_vforked) || runtime_owns_process();
}

/*
 * A trampoline outlives the moment from which on nothing is asked of the kernel. In a
 * vfork child it runs in the memory of its parent, whom the signal did not reach. A
 * child of fork() may not be known yet, as other libraries' handlers of fork run before
 * ours: which then looks whether the signal was its own.
 */
static void caught(int sig)
{
	int saved = errno;

	if (!in_stop_set(sig) || atomic_load(&stop_until) == INT64_MAX)
		return;
	if (is_ours())
		stop_by(sig);
	else
		atomic_store(&strayed, (uint64_t)sys_getpid() << 8 | (unsigned)sig);
	errno = saved;
}

void signal_postfork_child(void)
{
	uint64_t word = atomic_exchange(&strayed, 0);

	if (word >> 8 == (uint64_t)sys_getpid())
		stop_by((int)(word & 0xff));
}

void signal_stop_for_good(bool wake)
{
	int saved = errno;

	stop_until_then(INT64_MAX, wake);
	errno = saved;
}

static void note_here(int sig)
{
	if (sig < 32)
		__atomic_fetch_or(&thread_marks.caught, 1U << sig, __ATOMIC_RELAXED);
}

static void trampoline1(int sig)
{
	void (*handler)(int) = atomic_load(&handlers1[sig]);

	note_here(sig);
	caught(sig);
	if (handler)
		handler(sig);
}

static void trampoline3(int sig, siginfo_t *info, void *context)
{
	void (*handler)(int, siginfo_t *, void *) = atomic_load(&handlers3[sig]);

	note_here(sig);
	caught(sig);
	if (handler)
		handler(sig, info, context);
}

static bool is_function(sighandler_t h)
{
	return h != SIG_DFL && h != SIG_IGN && h != SIG_HOLD && h != SIG_ERR;
}

static bool is_interrupter(int sig)
{
	return sig > 0 && sig < 32 && (INTERRUPTERS >> sig & 1);
}

/* Whether a handler for <sig>, with SA_RESTART or not, gets a trampoline: not a vfork
 * child's, whose handlers are its own, and the table its parent's. No configuration is read
 * for this: sigaction() may be called anywhere, in handlers and in allocators. */
static bool interposed(int sig, bool restarts)
{
	unsigned gate = gate_now();

	if (lr_unlikely(gate & GATE_UNINIT))
		gate = runtime_init();
	return !(gate & GATE_PASS) && (in_stop_set(sig) || (!restarts && is_interrupter(sig))) &&
	       !thread_is_vforked();
}

/* The program's handlers for <sig>, one for each calling convention. */
struct own {
	void (*one)(int);
	void (*three)(int, siginfo_t *, void *);
};

static struct own own_of(int sig)
{
	struct own own = { NULL, NULL };

	if (sig > 0 && sig <= SIGNALS) {
		own.one = atomic_load(&handlers1[sig]);
		own.three = atomic_load(&handlers3[sig]);
	}
	return own;
}

static void set_own(int sig, struct own own)
{
	if (sig > 0 && sig <= SIGNALS) {
		atomic_store(&handlers1[sig], own.one);
		atomic_store(&handlers3[sig], own.three);
	}
}

/* <act> as the program means it: a trampoline stands for the program's handler.
 * Always, also when a signal is no longer among those that stop: a trampoline
 * that stayed installed must not be seen, or be chained to by the program. */
static void unwrap(struct sigaction *act, struct own own)
{
	if (act->sa_flags & SA_SIGINFO) {
		if (act->sa_sigaction == trampoline3)
			act->sa_sigaction = own.three;
	} else if (act->sa_handler == trampoline1) {
		act->sa_handler = own.one;
	}
}

int wrap_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	bool ours = interposed(sig, !act || act->sa_flags & SA_RESTART);
	struct own before = own_of(sig);
	struct own after = before;
	struct sigaction mine;
	int rc;

	if (act) {
		mine = *act;
		unwrap(&mine, before);
		if (ours && is_function(mine.sa_handler)) {
			if (mine.sa_flags & SA_SIGINFO) {
				after.three = mine.sa_sigaction;
				mine.sa_sigaction = trampoline3;
			} else {
				after.one = mine.sa_handler;
				mine.sa_handler = trampoline1;
			}
			set_own(sig, after);
		}
	}
	rc = real.sigaction(sig, act ? &mine : NULL, old);
	if (rc != 0 && act && ours)
		set_own(sig, before);
	else if (rc == 0 && old)
		unwrap(old, before);
	return rc;
}

/* signal(), sysv_signal() and sigset(): one handler in, the old one out. <set>
 * points into struct real, which interposed() may be the first to fill in. */
static sighandler_t set_simple(sighandler_t (*const *set)(int, sighandler_t), int sig,
                               sighandler_t handler, bool restarts)
{
	bool ours = interposed(sig, restarts);
	struct own before = own_of(sig);
	sighandler_t old;

	if (handler == trampoline1)
		handler = before.one;
	if (ours && is_function(handler)) {
		set_own(sig, (struct own){ handler, before.three });
		handler = trampoline1;
	}
	old = (*set)(sig, handler);
	if (old == SIG_ERR && ours)
		set_own(sig, before);
	else if (old == trampoline1)
		return before.one;
	else if ((void (*)(void))old == (void (*)(void))trampoline3)
		return (sighandler_t)(void (*)(void))before.three;
	return old;
}

sighandler_t wrap_signal(int sig, sighandler_t handler)
{
	return set_simple(&real.signal, sig, handler, true);
}

sighandler_t wrap_sysv_signal(int sig, sighandler_t handler)
{
	return set_simple(&real.sysv_signal, sig, handler, false);
}

sighandler_t wrap_sigset(int sig, sighandler_t handler)
{
	return set_simple(&real.sigset, sig, handler, false);
}

void signal_stop_on(uint64_t mask)
{
	uint64_t before = atomic_load(&stop_on);

	if (!before)
		before = builtin_process().stop_on;
	/* Bit 0 is no signal: it tells "none" from "not set". */
	atomic_store(&stop_on, mask | 1);
	for (int sig = 1; sig < SIGNALS; sig++) {
		struct sigaction act;
		struct sigaction old;

		if (!(mask >> sig & 1) || (before >> sig & 1))
			continue;
		if (wrap_sigaction(sig, NULL, &act) != 0 || !is_function(act.sa_handler) ||
		    wrap_sigaction(sig, &act, &old) != 0)
			continue;
		/* Another thread was quicker: its handler it is. */
		if (old.sa_handler != act.sa_handler)
			wrap_sigaction(sig, &old, NULL);
	}
}

bool signal_stopping(void)
{
	int64_t until = atomic_load_explicit(&stop_until, memory_order_relaxed);

	return until != 0 && (until == INT64_MAX || sys_monotonic() < until);
}

int signal_take_unlogged(void)
{
	return atomic_exchange(&unlogged, 0);
}

uint32_t signal_watch(void)
{
	return __atomic_exchange_n(&thread_marks.caught, 0, __ATOMIC_RELAXED);
}

static bool seen(void)
{
	uint32_t caught = __atomic_load_n(&thread_marks.caught, __ATOMIC_RELAXED);
	struct sigaction act;

	for (int sig = 1; sig < 32; sig++)
		if ((caught >> sig & 1) && real.sigaction(sig, NULL, &act) == 0 &&
		    !(act.sa_flags & SA_RESTART))
			return true;
	return false;
}

bool signal_watched(uint32_t before)
{
	bool any = seen();

	__atomic_fetch_or(&thread_marks.caught, before, __ATOMIC_RELAXED);
	return any;
}

/*
 * One sleep in the kernel, on its own clock (under faketime and its like the
 * library's may run at another speed). futex_waitv() with an absolute time-out
 * is restarted by the kernel after a handler with SA_RESTART and interrupted by
 * one without (measured, Linux 6.18), the rule that connect() itself follows.
 * Plain FUTEX_WAIT with a time-out is interrupted by both.
 */
static int sleep_in_kernel(uint32_t expected, int64_t until)
{
	struct kernel_timespec at = { until / DUR_S, until % DUR_S };
	struct waitv wait = { .val = expected,
		              .uaddr = (uintptr_t)&stop_word,
		              .flags = WAITV_32_PRIVATE };
	struct timespec relative;
	int rc = -ENOSYS;

	if (!atomic_load_explicit(&no_waitv, memory_order_relaxed))
		rc = (int)SYS_CALL(SYS_futex_waitv, &wait, 1, 0, &at, CLOCK_MONOTONIC);
	if (rc != -ENOSYS && rc != -EPERM)
		return rc < 0 ? -rc : 0;
	atomic_store_explicit(&no_waitv, true, memory_order_relaxed);
	relative = dur_timespec(dur_sub(until, sys_monotonic()));
	rc = sys_futex_wait(&stop_word, expected, &relative);
	return rc < 0 ? -rc : 0;
}

/* Another thread may cancel this one, and is then noticed between slices. An
 * asynchronous cancellation type would need none, but a handler that jumps out
 * would leave it set. */
static int64_t slice_end(int64_t until)
{
	int64_t slice = dur_add(sys_monotonic(), CANCEL_SLICE);

	return libc_single_threaded() || slice > until ? until : slice;
}

enum wake signal_wait(int64_t until)
{
	int saved = errno;
	uint32_t word = atomic_load(&stop_word);
	enum wake wake = WAKE_TIMEOUT;

	if (signal_stopping())
		return WAKE_STOPPING;
	/* A thread that is cancelled or jumps out leaves its count: then a stop
	 * signal makes one needless system call, nothing else. */
	atomic_fetch_add(&waiters, 1);
	for (;;) {
		int error;

		pthread_testcancel();
		if (seen()) {
			wake = WAKE_INTERRUPTED;
			break;
		}
		error = sleep_in_kernel(word, slice_end(until));
		if (signal_stopping() || atomic_load(&stop_word) != word) {
			wake = WAKE_STOPPING;
			break;
		}
		if (error == EINTR) {
			wake = WAKE_INTERRUPTED;
			break;
		}
		/* The end, or trouble: treat the time as over rather than spin. */
		if ((error != 0 && error != ETIMEDOUT) || sys_monotonic() >= until)
			break;
	}
	atomic_fetch_sub(&waiters, 1);
	errno = saved;
	return wake;
}
