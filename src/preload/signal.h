/* SPDX-License-Identifier: MIT */
/*
 * signal.h - the signals that end waits, and the wait itself.
 *
 * A wait must end when the program has caught SIGTERM & Co. in any thread, and
 * the kernel tells only the thread that ran the handler. So for those signals
 * a trampoline is installed in front of the program's handler: it sets a flag,
 * wakes the waiters and calls the handler with the arguments it got. The
 * program's own flags and mask are installed unchanged, and it reads its own
 * handler back. SIG_DFL and SIG_IGN are never touched.
 */
#ifndef LIBRETRY_PRELOAD_SIGNAL_H
#define LIBRETRY_PRELOAD_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "engine/ops.h"

#define SIGNALS 64 /* the kernel's, from 1 on */

/* Which signals stop retrying (bit n: signal n). Handlers that are installed
 * already for a newly named signal get their trampoline now. */
void signal_stop_on(uint64_t mask);

/* As if a stop signal had come whose effect lasts for ever; nothing is logged. With
 * <wake>, which takes a system call, waits end at once, else at their next look. */
void signal_stop_for_good(bool wake);

/* A stop signal was caught and its effect lasts: SIGTERM's for good; that of the
 * others, which programs survive (reload, back to the prompt, a JVM's thread
 * dump), 30 s. */
bool signal_stopping(void);

/* The stop signal that nobody has logged yet; 0 if there is none. */
int signal_take_unlogged(void);

/* In the child after fork, once runtime_postfork_child() has made it the owner. */
void signal_postfork_child(void);

/*
 * Between a failed attempt and the wait, and between the wait and the next
 * attempt, a few hundred microseconds go by (mostly the log's). A signal that
 * arrives there must not be lost on the wait: its handler would run, and the
 * wait begin after it. So signals are held back while we work, and let through
 * around real calls and waits. What is left open is the instant between letting
 * them through and entering the kernel, as in any program that uses alarm().
 */
struct signal_hold {
	uint64_t before;  /* the thread's mask, as the kernel has it */
	bool interrupted; /* one whose handler has no SA_RESTART arrived meanwhile */
};

void signal_hold(struct signal_hold *h);    /* begin; h is initialised */
void signal_let(struct signal_hold *h);     /* let through; notes .interrupted */
void signal_hold_again(struct signal_hold *h);
void signal_release(struct signal_hold *h); /* end: the mask as it was */

/* Whether any thread has held signals back: something has failed, or may have. */
bool signal_ever_held(void);

/*
 * A handler may also run when the kernel has ended the wait by its time-out, and the thread
 * waits for a processor: on a machine with timers that are late that was 1 signal in 50
 * (measured). Nothing tells of that. So the handlers of signals that programs use to end
 * their calls with are known, too, if they are without SA_RESTART, and note that they were
 * called. signal_watch() begins, and returns what was noted until then; signal_watched(),
 * which gets it back, is true if such a handler was called in this thread since.
 */
uint32_t signal_watch(void);
bool signal_watched(uint32_t before);

/* Whether some caught and unblocked signal has a handler without SA_RESTART:
 * then an EINTR may be that handler's doing. 64 system calls. */
bool signal_may_interrupt(void);

/* Whether this thread blocks any signal: then this may be a handler running. */
bool signal_blocked_any(void);

/*
 * Sleeps until <until> (ns, sys_monotonic()). A
 * cancellation point. Holds nothing, keeps errno. Ends early as a blocking
 * system call would: when a handler without SA_RESTART ran (the kernel decides,
 * by futex_waitv(); where that is missing, by any handler), and for a stop
 * signal caught in any thread.
 */
enum wake signal_wait(int64_t until);

/*
 * Two clocks. The success path reads CLOCK_MONOTONIC through libc, that is by
 * the vDSO and without a system call; a library like faketime may answer it.
 * All else goes by the kernel's own, sys_monotonic(): kernel_time_of() says when
 * on that clock it was <entry> on the other. errno untouched.
 */
static inline int64_t entry_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * DUR_S + t->tv_nsec;
}
static inline int64_t clock_at_entry(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return entry_ns(&t);
}
int64_t kernel_time_of(int64_t entry);

#endif
