/* SPDX-License-Identifier: MIT */
/*
 * gate.h - what the wrappers of waits, reads, writes and closes ask first.
 *
 * Where nothing is under way the answer is one load, and the wrapper is a jump
 * to libc. A wrapper of a wait must look again after the real call, because
 * another thread may have begun a connect meanwhile; where there is no other
 * thread it need not.
 */
#ifndef LIBRETRY_PRELOAD_GATE_H
#define LIBRETRY_PRELOAD_GATE_H

#include "base/compat.h"
#include "base/libc.h"
#include "base/sys.h"
#include "preload/ops.h"
#include "preload/runtime.h"
#include "preload/signal.h"
#include "state/fdtab.h"

/* No connect is under way, and real.x may be called. */
static inline bool gate_idle(void)
{
	return lr_likely(fdtab_busy() == 0);
}

/* The same for sends, which may have to be looked at for other reasons: to inject
 * faults, and to keep what is sent. */
static inline bool gate_idle_sends(void)
{
	return lr_likely((fdtab_word() & ~FDTAB_NOTES) == 0);
}

/* The same for reads that may fail: what is kept is given up at the first one. */
static inline bool gate_idle_reads(void)
{
	return lr_likely((fdtab_word() & ~(FDTAB_SENDS | FDTAB_NOTES)) == 0);
}

/* ... and nothing was ever connected, so that no failure matters. */
static inline bool gate_idle_unconnected(void)
{
	return lr_likely((fdtab_word() & ~(FDTAB_SENDS | FDTAB_VFORKED | FDTAB_OPTIONS)) == 0);
}

/* No connect is under way, and none can begin while this thread is in the
 * kernel, but from a signal handler (which ends the wait). */
static inline bool gate_idle_through(void)
{
	return gate_idle() && lr_likely(libc_single_threaded());
}

/* What is under way is another process's. A vfork child shares our memory; one that
 * libc did not make is asked for (getpid) once something failed. */
static inline bool gate_foreign(void)
{
	return thread_is_vforked() || (fdtab_any_aged() && !runtime_owns_process());
}

/* The gate is not idle: binds the real functions if nobody has. True: there is
 * a connect under way, and it is this process's. errno untouched. */
static inline bool gate_open(void)
{
	if (fdtab_busy() & FDTAB_CLOSED)
		runtime_init();
	return (fdtab_busy() & ~FDTAB_CLOSED) != 0 && !gate_foreign();
}

/* Whether what a call points to may be read before the kernel has, which says EFAULT where
 * we would crash: asked of the kernel once something failed. Until then no system call is
 * made, and of what leads nowhere only that is found which its value shows. */
static inline bool gate_may_read(const void *p, size_t size)
{
	return sys_plausible(p) &&
	       (!fdtab_any_aged() || size == 0 || sys_all(p, size, sys_readable));
}

/* No connect that is under way has failed, or is due at any time (or there is
 * none): a wait has nothing to do before its real call, nor to hide in it. Not in what
 * may be a vfork child: gate_open() looks. */
static inline bool gate_young(void)
{
	return fdtab_all_young();
}

/* The same, asked of this thread: that another one has called vfork() is no concern of its
 * wait, in which it must see that a connect is begun meanwhile. */
static inline bool gate_young_here(void)
{
	return gate_young() || (!fdtab_any_aged() && !thread_is_vforked());
}

/* How a wait goes. Asked once: what had failed at one look may be over at the next, and a
 * wait that is then left alone does not see what another thread begins meanwhile. */
enum gate_wait {
	WAIT_FIRST, /* the kernel first, what it has told is looked at then */
	WAIT_OURS,  /* by what is under way */
	WAIT_ALONE  /* what is under way is none of its */
};
static inline enum gate_wait gate_wait(void)
{
	if (gate_young_here())
		return WAIT_FIRST;
	if (gate_open())
		return WAIT_OURS;
	return gate_foreign() ? WAIT_ALONE : WAIT_FIRST;
}

/* gate_idle(), and connects are noted already (FDTAB_PEERS). */
static inline bool gate_idle_noted(void)
{
	return lr_likely((fdtab_word() & ~(FDTAB_SENDS | FDTAB_REPLAY | FDTAB_OPTIONS)) ==
	                 FDTAB_PEERS);
}

/* gate_young(), and the same; and there are not too many of them. */
static inline bool gate_young_noted(void)
{
	const uint32_t bits = FDTAB_NOTED_MANY | FDTAB_VFORKED | FDTAB_PEERS;

	return (fdtab_word() & bits) == FDTAB_PEERS && fdtab_all_young();
}

#endif
