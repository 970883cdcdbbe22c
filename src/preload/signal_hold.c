/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdatomic.h>

#include "base/sys.h"
#include "preload/real.h"
#include "preload/signal.h"

static _Atomic bool held;

bool signal_ever_held(void)
{
	return atomic_load_explicit(&held, memory_order_relaxed);
}

void signal_hold(struct signal_hold *h)
{
	const uint64_t all = SYS_SIGALL;

	if (!signal_ever_held())
		atomic_store(&held, true);
	h->before = 0;
	h->interrupted = false;
	sys_sigmask(SIG_BLOCK, &all, &h->before);
}

/* Whether a handler for <sig> would interrupt a blocking system call. */
static bool interrupts(int sig)
{
	struct sigaction act;

	return real.sigaction(sig, NULL, &act) == 0 && act.sa_handler != SIG_DFL &&
	       act.sa_handler != SIG_IGN && !(act.sa_flags & SA_RESTART);
}

void signal_let(struct signal_hold *h)
{
	uint64_t pending = 0;

	sys_sigpending(&pending);
	pending &= ~h->before;
	for (int sig = 1; pending && sig <= SIGNALS; sig++, pending >>= 1)
		if ((pending & 1) && interrupts(sig))
			h->interrupted = true;
	sys_sigmask(SIG_SETMASK, &h->before, NULL);
}

/* Raised by what the thread itself does, and so never while it waits. Runtimes
 * and sanitizers handle them, without SA_RESTART. */
#define OF_THE_THREAD \
	(SYS_SIGBIT(SIGSEGV) | SYS_SIGBIT(SIGBUS) | SYS_SIGBIT(SIGFPE) | SYS_SIGBIT(SIGILL) | \
	 SYS_SIGBIT(SIGTRAP))

bool signal_may_interrupt(void)
{
	uint64_t mask = 0;

	sys_sigmask(SIG_BLOCK, NULL, &mask);
	mask |= OF_THE_THREAD;
	for (int sig = 1; sig <= SIGNALS; sig++)
		if (!(mask >> (sig - 1) & 1) && interrupts(sig))
			return true;
	return false;
}

bool signal_blocked_any(void)
{
	uint64_t mask = 0;

	sys_sigmask(SIG_BLOCK, NULL, &mask);
	return mask != 0;
}

void signal_hold_again(struct signal_hold *h)
{
	const uint64_t all = SYS_SIGALL;

	(void)h;
	sys_sigmask(SIG_BLOCK, &all, NULL);
}

void signal_release(struct signal_hold *h)
{
	sys_sigmask(SIG_SETMASK, &h->before, NULL);
}
