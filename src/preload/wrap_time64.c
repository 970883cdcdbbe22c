/* SPDX-License-Identifier: MIT */
/*
 * The waits of programs whose time_t has 64 bits where libc's own has 32. Where
 * nothing is under way they go to libc's functions for such programs; else the
 * time-out is made one of the other kind. One of more than 68 years becomes one of
 * 68 years.
 */
#include "preload/time64.h"

#if LR_TIME64

#include <time.h>

#include "base/sys.h"
#include "preload/gate.h"
#include "preload/real.h"

/* What is negative stays so: the kernel does not take it, nor do we. */
static time_t narrow_seconds(int64_t sec)
{
	if (sec > INT32_MAX)
		return INT32_MAX;
	return sec < 0 ? -1 : (time_t)sec;
}

static struct timespec *narrow(const struct timespec64 *from, struct timespec *to)
{
	if (!from)
		return NULL;
	to->tv_sec = narrow_seconds(from->sec);
	to->tv_nsec = from->nsec;
	return to;
}

int wrap___ppoll64(struct pollfd *fds, nfds_t n, const struct timespec64 *timeout,
                   const sigset_t *mask)
{
	struct timespec ts;

	if (gate_idle_through()) {
		thread_waits();
		return real.__ppoll64(fds, n, timeout, mask);
	}
	return wrap_ppoll(fds, n, narrow(timeout, &ts), mask);
}

int wrap___pselect64(int n, fd_set *r, fd_set *w, fd_set *x, const struct timespec64 *timeout,
                     const sigset_t *mask)
{
	struct timespec ts;

	if (gate_idle_through()) {
		thread_waits();
		return real.__pselect64(n, r, w, x, timeout, mask);
	}
	return wrap_pselect(n, r, w, x, narrow(timeout, &ts), mask);
}

/* What is left of the time is written back. */
static LR_NOINLINE int select_narrow(int n, fd_set *r, fd_set *w, fd_set *x,
                                     struct timeval64 *timeout)
{
	struct timeval given, left;
	int rc;

	/* The kernel takes any number of microseconds, and carries. */
	given.tv_sec = narrow_seconds(timeout->usec < 0 ? -1 : timeout->sec);
	given.tv_usec = (suseconds_t)(timeout->usec % 1000000);
	if (given.tv_sec >= 0)
		given.tv_sec = narrow_seconds(timeout->sec + timeout->usec / 1000000);
	left = given;
	rc = wrap_select(n, r, w, x, &left);
	if (left.tv_sec != given.tv_sec || left.tv_usec != given.tv_usec) {
		timeout->sec = left.tv_sec;
		timeout->usec = left.tv_usec;
	}
	return rc;
}

int wrap___select64(int n, fd_set *r, fd_set *w, fd_set *x, struct timeval64 *timeout)
{
	if (gate_idle_through()) {
		thread_waits();
		return real.__select64(n, r, w, x, timeout);
	}
	if (!timeout)
		return wrap_select(n, r, w, x, NULL);
	return select_narrow(n, r, w, x, timeout);
}

int wrap___epoll_pwait2_time64(int epfd, struct epoll_event *events, int max,
                               const struct timespec64 *timeout, const sigset_t *mask)
{
	struct timespec ts;

	/* The other three are read by libc, this one by the kernel: EFAULT is its to say. */
	if (gate_idle_through() ||
	    (timeout && !sys_all(timeout, sizeof(*timeout), sys_readable))) {
		thread_waits();
		return real.__epoll_pwait2_time64(epfd, events, max, timeout, mask);
	}
	return wrap_epoll_pwait2(epfd, events, max, narrow(timeout, &ts), mask);
}

#endif
