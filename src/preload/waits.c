/* SPDX-License-Identifier: MIT */
#include "preload/waits.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/compat.h"
#include "base/sys.h"
#include "engine/wait.h"
#include "preload/ops.h"
#include "preload/real.h"

static bool timespec_valid(const struct timespec *ts)
{
	return ts->tv_sec >= 0 && ts->tv_nsec >= 0 && ts->tv_nsec < DUR_S;
}

/* select() takes any number of microseconds and carries. */
static bool timeval_valid(const struct timeval *tv)
{
	return tv->tv_sec >= 0 && tv->tv_usec >= 0;
}

static int64_t ns_of_timeval(const struct timeval *tv)
{
	return dur_add(dur_of(tv->tv_sec, 0),
	               dur_of(tv->tv_usec / 1000000, tv->tv_usec % 1000000 * DUR_US));
}

bool waits_timed_timespec(const struct timespec *timeout)
{
	return timeout && timespec_valid(timeout) && (timeout->tv_sec || timeout->tv_nsec);
}

bool waits_timed_timeval(const struct timeval *timeout)
{
	return timeout && timeval_valid(timeout) && (timeout->tv_sec || timeout->tv_usec);
}

static void begin(struct wait_clock *w, int64_t length, int64_t entry)
{
	w->length = length;
	w->entry = entry;
	if (entry == WAITS_NOW && length > 0 && length != DUR_NONE)
		w->entry = clock_at_entry();
	w->deadline = 0;
	w->due = DUR_NONE;
	w->going = false;
	w->own = true;
	w->held = false;
}

bool waits_begin_ms(struct wait_clock *w, int timeout, int64_t entry)
{
	begin(w, timeout < 0 ? DUR_NONE : timeout * DUR_MS, entry);
	return true;
}

bool waits_begin_timespec(struct wait_clock *w, const struct timespec *timeout, int64_t entry)
{
	if (timeout && !timespec_valid(timeout))
		return false;
	begin(w, timeout ? dur_of(timeout->tv_sec, timeout->tv_nsec) : DUR_NONE, entry);
	return true;
}

bool waits_begin_timeval(struct wait_clock *w, const struct timeval *timeout, int64_t entry)
{
	if (timeout && !timeval_valid(timeout))
		return false;
	begin(w, timeout ? ns_of_timeval(timeout) : DUR_NONE, entry);
	return true;
}

void waits_look(struct wait_clock *w)
{
	w->due = wait_until(DUR_NONE);
}

void waits_was_called(struct wait_clock *w)
{
	w->going = true;
}

/* A handler ends these waits whether it has SA_RESTART or not (signal(7)). */
static bool any_handled(uint64_t signals)
{
	struct sigaction act;

	for (int sig = 1; signals; sig++, signals >>= 1)
		if ((signals & 1) && real.sigaction(sig, NULL, &act) == 0 &&
		    act.sa_handler != SIG_DFL && act.sa_handler != SIG_IGN)
			return true;
	return false;
}

/* The signals held back that would end a real call with <mask>, or NULL; <by_mask>: also
 * those that nothing but <mask> lets through. */
static uint64_t arrived(const struct wait_clock *w, const sigset_t *mask, bool by_mask)
{
	uint64_t pending = 0;
	uint64_t masked = 0;

	if (mask)
		memcpy(&masked, mask, sizeof(masked));
	sys_sigpending(&pending);
	if (!mask || !by_mask)
		pending &= ~w->hold.before;
	return pending & ~masked;
}

/* Lets them through. */
static bool let(struct wait_clock *w, uint64_t signals)
{
	bool interrupted = any_handled(signals);

	w->held = false;
	signal_release(&w->hold);
	if (interrupted)
		errno = EINTR;
	return !interrupted;
}

bool waits_enter(struct wait_clock *w, const sigset_t *mask)
{
	return lr_likely(!w->held) || let(w, arrived(w, mask, false));
}

/* The kernel does not let signals through in a call that need not wait, and ends one for
 * those that nobody handles. So what has come is looked at here. */
bool waits_enter_masked(struct wait_clock *w, const sigset_t **mask, sigset_t *buf)
{
	uint64_t signals = w->held ? arrived(w, *mask, false) : 0;

	if (signals && !let(w, signals))
		return false;
	waits_round(w);
	if (*mask)
		return true;
	memset(buf, 0, sizeof(*buf));
	memcpy(buf, &w->hold.before, sizeof(w->hold.before));
	*mask = buf;
	return true;
}

bool waits_arrived(const struct wait_clock *w, const sigset_t *mask)
{
	return arrived(w, mask, true) != 0;
}

/* Handlers that change errno run here, and would not have after a native call. */
void waits_leave(struct wait_clock *w)
{
	int saved = errno;

	if (w->held)
		signal_release(&w->hold);
	w->held = false;
	errno = saved;
}

static int64_t deadline(struct wait_clock *w)
{
	if (w->length == DUR_NONE)
		return DUR_NONE;
	if (!w->deadline)
		w->deadline = dur_add(kernel_time_of(w->entry), w->length);
	return w->deadline;
}

static int64_t left(int64_t until)
{
	struct signal_hold hold;

	return wait_left(&preload_ops, &hold, until);
}

static int64_t limit(struct wait_clock *w)
{
	bool first = !w->going;
	int64_t until;

	w->going = true;
	if (w->length == 0 || (first && w->due == DUR_NONE))
		return w->length;
	until = deadline(w);
	w->own = until <= w->due;
	return left(w->own ? until : w->due);
}

int waits_limit_ms(struct wait_clock *w)
{
	return wait_ms(limit(w));
}

const struct timespec *waits_limit_timespec(struct wait_clock *w, struct timespec *buf)
{
	int64_t ns = limit(w);

	if (ns == DUR_NONE)
		return NULL;
	*buf = dur_timespec(ns);
	return buf;
}

struct timeval *waits_limit_timeval(struct wait_clock *w, struct timeval *buf)
{
	int64_t ns = limit(w);

	if (ns == DUR_NONE)
		return NULL;
	ns = dur_add(ns, DUR_US - 1);
	buf->tv_sec = (time_t)(ns / DUR_S);
	buf->tv_usec = (suseconds_t)(ns % DUR_S / DUR_US);
	return buf;
}

bool waits_over(struct wait_clock *w, bool timed_out)
{
	if (w->length == 0)
		return true;
	if (w->length == DUR_NONE)
		return false;
	return (timed_out && w->own) || waits_left(w) == 0;
}

int64_t waits_left(struct wait_clock *w)
{
	return w->length == 0 ? 0 : left(deadline(w));
}

bool waits_whole(const struct wait_clock *w)
{
	return w->deadline == 0;
}

void waits_round(struct wait_clock *w)
{
	if (!w->held)
		signal_hold(&w->hold);
	w->held = true;
}

void *waits_map(size_t size)
{
	int prot = PROT_READ | PROT_WRITE;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	long at;

#ifdef SYS_mmap2
	at = SYS_CALL(SYS_mmap2, NULL, size, prot, flags, -1, 0L);
#else
	at = SYS_CALL(SYS_mmap, NULL, size, prot, flags, -1, 0L);
#endif
	/* The last page is no address, but the errors. */
	return at < 0 && at > -4096 ? NULL : (void *)at;
}

void waits_unmap(void *map, size_t size)
{
	if (map)
		SYS_CALL(SYS_munmap, map, size);
}
