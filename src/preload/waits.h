/* SPDX-License-Identifier: MIT */
/*
 * waits.h - the program's time in a wait that is made of several real ones.
 *
 *     waits_begin_...(&w, timeout, WAITS_NOW);
 *     for (;;) {
 *             wait_drive(&preload_ops, &hold);
 *             waits_look(&w);
 *             ... what is hidden ...
 *             if (!waits_enter(&w, mask))
 *                     return -1;                        (errno is EINTR)
 *             rc = real.poll(fds, n, waits_limit_ms(&w));
 *             ... what is shown ...
 *             if (rc < 0 || shown || waits_over(&w, rc == 0))
 *                     return ...;
 *             waits_round(&w);
 *     }
 *
 * No system call is added as long as no retry is due at any time: the real call
 * gets the program's whole time then, and its time-out is believed. errno is
 * untouched but where it says so.
 */
#ifndef LIBRETRY_PRELOAD_WAITS_H
#define LIBRETRY_PRELOAD_WAITS_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#include "base/duration.h"
#include "preload/signal.h"

/* As <entry>: the wait begins now. */
#define WAITS_NOW DUR_NONE

/* One wait of the program. On its stack; private to waits.c. */
struct wait_clock {
	int64_t length;   /* ns, as the program gave it; 0: one look; DUR_NONE */
	int64_t entry;    /* clock_at_entry(), if 0 < length < DUR_NONE */
	int64_t deadline; /* ns, kernel's monotonic clock; 0: not needed yet */
	int64_t due;      /* when the next retry is, at waits_look() */
	bool going;       /* a real call has been made */
	bool own;         /* the real call's limit is the program's own */
	bool held;        /* .hold is in force */
	struct signal_hold hold;
};

/* Whether <timeout> (a number of ms, negative for none; NULL for none) is finite
 * and not zero, and valid: only then a clock is to be read before the call. */
static inline bool waits_timed_ms(int timeout)
{
	return timeout > 0;
}
bool waits_timed_timespec(const struct timespec *timeout);
bool waits_timed_timeval(const struct timeval *timeout);

/*
 * Begins a wait of <timeout>, as poll(), ppoll() and select() take it. <entry>
 * is what clock_at_entry() answered when it began, or WAITS_NOW. False: it is
 * invalid, the real call would fail with EINVAL.
 */
bool waits_begin_ms(struct wait_clock *w, int timeout, int64_t entry);
bool waits_begin_timespec(struct wait_clock *w, const struct timespec *timeout, int64_t entry);
bool waits_begin_timeval(struct wait_clock *w, const struct timeval *timeout, int64_t entry);

/* Notes when the next retry is due: before it is looked which descriptors are
 * hidden, since another thread may make that retry in between, and the wait must
 * then end soon for the descriptor to be shown to the kernel again. */
void waits_look(struct wait_clock *w);

/* The wait's first real call was made before waits_begin_...(), with the
 * program's own time-out, and has returned. */
void waits_was_called(struct wait_clock *w);

/*
 * Just before a real call: lets signals through again. False, and errno is
 * EINTR: a handler ran in between that would have interrupted the wait. <mask>
 * is the program's argument of that name, NULL if it has none.
 */
bool waits_enter(struct wait_clock *w, const sigset_t *mask);

/*
 * The same for a real call that takes a mask, which <mask> leads to afterwards: the program's
 * own, or what its thread's is (in <buf>). Signals are held back until waits_leave() but in
 * the call itself, so that none is lost on one that is made again because its time, not the
 * program's, was over. waits_arrived(): one has come that the call, with its mask, is to end
 * for: then it must not be one without a time to wait.
 */
bool waits_enter_masked(struct wait_clock *w, const sigset_t **mask, sigset_t *buf);
bool waits_arrived(const struct wait_clock *w, const sigset_t *mask);
void waits_leave(struct wait_clock *w);

/*
 * How long the next real call may last: until the program's time is over, or a
 * retry is due. In whole ms, rounded up, -1 for no limit; as a timespec or
 * timeval in <buf>, NULL for no limit.
 */
int waits_limit_ms(struct wait_clock *w);
const struct timespec *waits_limit_timespec(struct wait_clock *w, struct timespec *buf);
struct timeval *waits_limit_timeval(struct wait_clock *w, struct timeval *buf);

/* Whether the program's time is over, after a real call for whose limit one of
 * the above was asked; <timed_out>: it has found nothing. */
bool waits_over(struct wait_clock *w, bool timed_out);

/* What is left of the program's time, never negative; DUR_NONE for no limit.
 * Asks the kernel's clock. */
int64_t waits_left(struct wait_clock *w);

/* The last real call had the program's whole time, and the only one: what the
 * kernel wrote back of it is what is left. */
bool waits_whole(const struct wait_clock *w);

/*
 * Around we go: signals are held back until waits_enter(), as else one that is
 * caught while retries are made would be lost on a wait that goes on after it.
 * The instants next to the real call stay open.
 */
void waits_round(struct wait_clock *w);

/* Whether the program waits in epoll sets through us: this thread does, or another one. */
bool waits_in_sets(void);

/* poll() as the program's, which makes the retries, for a wait of our own. */
int waits_poll(struct pollfd *fds, nfds_t n, int timeout);

/*
 * Zeroed memory for a large copy of the program's set; NULL if there is none. A
 * program that jumps or is cancelled out of the real call leaves it mapped: what
 * would free it then does not exist.
 */
void *waits_map(size_t size);
void waits_unmap(void *map, size_t size);

#endif
