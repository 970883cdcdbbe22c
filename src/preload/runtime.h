/* SPDX-License-Identifier: MIT */
/*
 * runtime.h - the guest's state in this process: is it on, what is configured.
 *
 * The gate is one word, zero in a process where a call may go straight to the
 * real function: one load on the success path. Everything else happens behind
 * a bit of it, or after a failure.
 */
#ifndef LIBRETRY_PRELOAD_RUNTIME_H
#define LIBRETRY_PRELOAD_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compat.h"
#include "config/config.h"
#include "log/event.h"

enum gate {
	GATE_UNINIT = 1,         /* the constructor has not run */
	GATE_OFF = 2,            /* switched off: everything passes through */
	GATE_LOAD = 4,           /* a configuration file exists and is not read yet */
	GATE_BEFORE_CONNECT = 8, /* a policy wants something before the first attempt */
	GATE_BEFORE_LOOKUP = 16,
	GATE_REPORT = 32,        /* what loading found is still to be logged */
	GATE_INJECT = 64,        /* faults are injected: see inject.h */
	GATE_AFTER_LOOKUP = 128, /* a rule has a place that goes by a name */
	GATE_ATTEMPT = GATE_BEFORE_CONNECT | GATE_INJECT,
	GATE_PASS = GATE_UNINIT | GATE_OFF /* what runtime_enter() leaves: pass through */
};

extern _Atomic unsigned runtime_gate LR_HIDDEN;

static inline unsigned gate_now(void)
{
	return atomic_load_explicit(&runtime_gate, memory_order_relaxed);
}

/*
 * errno where the gate is 0 (or without GATE_PASS): as far from each thread's pointer as
 * libc's own is from that of the thread that ran runtime_init(), as libc is there from the
 * start. libc's function takes as long as all else that a connect() that succeeds has to
 * do before its call.
 */
extern uintptr_t runtime_errno_at LR_HIDDEN;

static inline int runtime_errno(void)
{
#if defined(__x86_64__) && defined(__SEG_FS) && !defined(__SANITIZE_ADDRESS__) && \
	!defined(__SANITIZE_THREAD__)
	return *(const int __seg_fs *)runtime_errno_at;
#else
	return *(const int *)((uintptr_t)__builtin_thread_pointer() + runtime_errno_at);
#endif
}

/* Binds the real functions, takes the snapshot of the environment, opens the
 * gate; returns its bits. No malloc, no file is read, errno untouched. */
unsigned runtime_init(void);

/*
 * Does what the gate asks for (initialises, loads the configuration) and
 * returns the bits that remain. errno untouched. Faults of the configuration
 * are not logged yet: see runtime_report(). With <handler_safe>, nothing is
 * loaded while this thread blocks a signal: connect() is async-signal-safe, and
 * in a handler the allocator may be in the middle of its work. (A failure in
 * such a handler does load, if nothing did before, but on an alternate stack.)
 * Loading blocks signals and
 * cancellation in this thread while it lasts, may allocate, and is done by one
 * thread; another that comes meanwhile waits for it, at most 2 s.
 */
unsigned runtime_enter(bool handler_safe);

/* Logs what loading found, once: at a connect, or before the first line about
 * a call. Not at a look-up that is well: some libraries look their own host
 * name up whenever they are loaded. */
void runtime_report(void);

/* Settings in force after a failure; NULL: behave as if absent (no memory, or
 * called while this very thread loads them, or by a handler on an alternate stack).
 * Loads them if nobody has, and
 * looks for a changed file at most every 2 s. errno untouched. */
const struct config *runtime_config(void);

/* The policy where no rule matches, and the mode, for this program. */
const struct policy *runtime_default_policy(const struct config *c);
enum mode runtime_mode(const struct config *c);

/* Whether this process is the one that we think it is: false in a vfork child,
 * which shares our memory and must change nothing. Then the thread is marked, for
 * thread_is_vforked(). One getpid(). */
bool runtime_owns_process(void);

/* The same of who is about to confine itself. Nobody is marked, and who was because it is
 * not the process that we know is no longer: what the mark has asked may be forbidden. */
bool runtime_owns_confined(void);

/* The program has confined itself, or is about to (<before>: any system call can yet
 * be made, so waits of other threads are woken, and it is said at debug): from here on
 * everything passes through. What event loops have under way is still driven to its
 * end. errno untouched. */
void runtime_confine(bool before);

/* process.deepbind = "clear", for a dlopen() that asks for deep binding: loads the
 * configuration if nobody has or is doing so. A thread that loads a module holds the dynamic
 * linker's lock, which another thread may want that loads our settings: nobody is waited
 * for. errno untouched. */
bool runtime_clears_deepbind(void);

/* LIBRETRY_SEED; false if it is not set. */
bool runtime_seed(uint64_t *seed);

/* In the child after fork. */
void runtime_postfork_child(void);

/* It has made a wait (poll, select, epoll_wait ...) since its last connect: it may have more
 * to do than the read that it makes next. It has waited in an epoll set at any time. */
#define THREAD_WAITED 1
#define THREAD_WAITED_IN_SET 2

enum thread_vforked {
	VFORKED_NOT = 0,
	VFORKED_LIBC, /* by vfork() */
	VFORKED_SEEN  /* is not the process that we know */
};

/* What is known of this thread, side by side, as to find the place costs an instruction. */
struct thread_marks {
	uint32_t caught; /* signals, see signal_watch() */
	uint8_t waited; /* THREAD_WAITED, THREAD_WAITED_IN_SET */
	/* It has called vfork(), or was seen to be another process's, and has not been seen
	 * to be the parent since. */
	uint8_t has_vforked; /* enum thread_vforked */
};
extern LR_TLS struct thread_marks thread_marks LR_HIDDEN;

/* This is a child of libc's vfork(), or one that was seen to be no process of ours: what we
 * know is its parent's. A system call, but only where the thread is marked. */
bool runtime_in_vfork_child(void);
static inline bool thread_is_vforked(void)
{
	return lr_unlikely(thread_marks.has_vforked) && runtime_in_vfork_child();
}

static inline void thread_waits(void)
{
	thread_marks.waited |= THREAD_WAITED;
}

static inline void thread_waits_in_set(void)
{
	thread_marks.waited = THREAD_WAITED | THREAD_WAITED_IN_SET;
}

static inline void thread_connects(void)
{
	thread_marks.waited &= THREAD_WAITED_IN_SET;
}

/* A number that differs between threads alive at one time. No system call. */
static inline uintptr_t thread_key(void)
{
	return (uintptr_t)&thread_marks;
}

/* Random bits of this thread's own generator: seeded from the kernel at first
 * use, and again after fork, so that forked workers do not march in step. */
uint64_t thread_random(void);
void thread_random_postfork_child(void);

#endif
