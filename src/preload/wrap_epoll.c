/* SPDX-License-Identifier: MIT */
/*
 * epoll. Registrations are noted at all times, because some programs make them
 * before they connect; the waits go straight to libc while no connect is under
 * way. While one is, what the kernel reports is filtered where it stands, in the
 * program's array.
 */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#include "base/compat.h"
#include "base/libc.h"
#include "base/sys.h"
#include "engine/pending.h"
#include "engine/wait.h"
#include "preload/epinfo.h"
#include "preload/gate.h"
#include "preload/real.h"
#include "preload/waits.h"
#include "state/names.h"

/* How often a set is asked again whose answer was one full array of events that
 * are hidden, after the program's time is over. Parked ones do not come twice. */
#define FULL_MAX 4

#define BAD_EVENTS ((uint32_t)(EPOLLERR | EPOLLHUP))
/* What the kernel reports besides EPOLLERR while an error is on the socket. */
#define ERROR_EVENTS ((uint32_t)(EPOLLIN | EPOLLRDNORM | EPOLLRDHUP))

/* The program's call, one of the three. */
struct epoll_call {
	enum { WAIT, PWAIT, PWAIT2 } which;
	int epfd;
	struct epoll_event *events;
	int max;
	int ms;                      /* WAIT, PWAIT */
	const struct timespec *time; /* PWAIT2 */
	const sigset_t *mask;        /* PWAIT, PWAIT2 */
	uint32_t since;              /* fdtab_watch_time() before the last real call */
};

static int call_real(struct epoll_call *c, int ms, const struct timespec *time)
{
	c->since = fdtab_watch_time();
	if (c->which == WAIT)
		return real.epoll_wait(c->epfd, c->events, c->max, ms);
	if (c->which == PWAIT)
		return real.epoll_pwait(c->epfd, c->events, c->max, ms, c->mask);
	return real.epoll_pwait2(c->epfd, c->events, c->max, time, c->mask);
}

/* As if we were not there. */
static int call_unchanged(struct epoll_call *c)
{
	return call_real(c, c->ms, c->time);
}

/* A time-out that comes while the thread has no processor, and a signal after it: the kernel
 * calls the handler and tells of the time-out (measured). With a limit of ours the wait
 * would go on, and the program not hear of its signal. */
static int call_masked(struct epoll_call *c, struct wait_clock *w)
{
	struct epoll_call masked = *c;
	struct timespec time;
	sigset_t set;
	int n;

	if (!waits_enter_masked(w, &masked.mask, &set))
		return -1;
	if (c->which == PWAIT2) {
		waits_limit_timespec(w, &time);
		if (time.tv_sec == 0 && time.tv_nsec == 0 && waits_arrived(w, masked.mask))
			time.tv_nsec = 1;
		n = call_real(&masked, 0, &time);
	} else {
		int ms = waits_limit_ms(w);

		masked.which = PWAIT;
		if (ms == 0 && waits_arrived(w, masked.mask))
			ms = 1;
		n = call_real(&masked, ms, NULL);
	}
	c->since = masked.since;
	return n;
}

static _Atomic bool no_pwait; /* a filter has none, but may have epoll_wait() */

static bool may_mask(const struct epoll_call *c, const struct wait_clock *w)
{
	if (w->due == DUR_NONE || w->length == 0)
		return false;
	/* Who has confined himself may have no such call. */
	return c->which != WAIT || !(gate_now() & GATE_OFF || atomic_load(&no_pwait));
}

/* Until a retry is due, or the program's time is over. */
static int call_limited(struct epoll_call *c, struct wait_clock *w)
{
	struct timespec buf;

	if (may_mask(c, w)) {
		int saved = errno;
		int n = call_masked(c, w);

		if (n >= 0 || c->which != WAIT || (errno != EPERM && errno != ENOSYS))
			return n;
		errno = saved;
		atomic_store(&no_pwait, true);
	}
	if (!waits_enter(w, c->mask))
		return -1;
	if (c->which == PWAIT2)
		return call_real(c, 0, waits_limit_timespec(w, &buf));
	return call_real(c, waits_limit_ms(w), NULL);
}

enum owner {
	OWNER_NOBODY = -1, /* nobody's business */
	OWNER_GONE = -2    /* a registration that is over */
};

/* The descriptor that <e> belongs to, or one of enum owner. */
static int owner(const struct epoll_call *c, const struct epoll_event *e)
{
	struct signal_hold hold;
	bool bad = e->events & BAD_EVENTS;
	int fd = fdtab_watch_find(c->epfd, e->data.u64, bad);
	unsigned first = 0;

	if (fd >= 0 || !bad)
		return fd;
	if (fdtab_watch_next(c->epfd, e->data.u64, &first))
		return (int)first;
	if (fdtab_watch_gone(c->epfd, e->data.u64, c->since))
		return OWNER_GONE;
	if (!pending_any_unwatched() || !preload_ops.enter(&hold))
		return fd;
	fd = epinfo_learn(c->epfd, e->events, e->data.u64);
	preload_ops.leave(&hold);
	if (fd == EPINFO_UNKNOWN)
		pending_unknown_event(&preload_ops, &hold);
	if (fd < 0)
		return fd == EPINFO_GONE ? OWNER_GONE : OWNER_NOBODY;
	return fd;
}

static bool reports(unsigned fd, uint32_t events)
{
	struct timespec zero = { 0, 0 };
	struct pollfd f = { .fd = (int)fd, .events = (short)events };

	return sys_ppoll(&f, 1, &zero) > 0 && (f.revents & (short)events);
}

/* Programs may give several descriptors the same data. Before an event is kept
 * from them because it seems to be of <fd>: is it another's? */
static bool is_anothers(const struct epoll_call *c, int fd, const struct epoll_event *e)
{
	struct signal_hold hold;
	struct pend_ref own;
	struct pend_ref other;
	struct watch w;
	bool pending = fdtab_find(fd, &own);

	for (unsigned n = 0; fdtab_watch_next(c->epfd, e->data.u64, &n); n++) {
		if ((int)n == fd || (pending && fdtab_find((int)n, &other) && other.p == own.p))
			continue;
		if (fdtab_watch_of((int)n, c->epfd, &w) &&
		    reports(n, e->events & (w.events | BAD_EVENTS)) &&
		    pending_event(&preload_ops, &hold, (int)n, e->events & BAD_EVENTS) != SIGHT_HIDE)
			return true;
	}
	return false;
}

/* Whether the program is to see <e>, which may be completed. */
static bool shown(const struct epoll_call *c, struct epoll_event *e)
{
	struct signal_hold hold;
	struct watch w;
	struct pend_ref ref;
	int fd = owner(c, e);
	bool parked;

	if (fd < 0)
		return fd != OWNER_GONE;
	/* Of another descriptor with the same data. */
	if (!(e->events & BAD_EVENTS) && fdtab_watch_of(fd, c->epfd, &w) && !(e->events & w.events))
		return true;
	/* The one report of a parked registration, unless this very event is what
	 * has it parked. */
	parked = fdtab_find(fd, &ref) && pend_state(&ref) == PEND_BACKOFF;
	switch (pending_event(&preload_ops, &hold, fd, e->events & BAD_EVENTS)) {
	case SIGHT_HIDE:
		if (parked)
			pending_swallowed(&preload_ops, &hold, c->epfd, fd);
		return is_anothers(c, fd, e);
	case SIGHT_SHOW_ERROR:
		e->events |= EPOLLERR;
		if (fdtab_watch_of(fd, c->epfd, &w))
			e->events |= w.events & ERROR_EVENTS;
		return true;
	case SIGHT_SHOW:
		break;
	}
	return true;
}

/* Takes the hidden ones out of the <n> events; how many are left. */
static int filter(const struct epoll_call *c, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		if (fdtab_busy() && !shown(c, &c->events[i]))
			continue;
		if (kept != i)
			c->events[kept] = c->events[i];
		kept++;
	}
	return kept;
}

/* Goes on with the wait until there is something to show; <called>: the first
 * real call has been made, and its answer is <n>. */
static int go_on(struct epoll_call *c, struct wait_clock *w, bool called, int n)
{
	struct signal_hold hold;
	unsigned full = 0;
	int left;

	/* A signal that comes while others' retries are made is one of this call. */
	waits_look(w);
	if (!called && w->due != DUR_NONE && w->length != 0)
		waits_round(w);
	for (;;) {
		if (!called) {
			wait_drive(&preload_ops, &hold);
			waits_look(w);
			n = call_limited(c, w);
		}
		called = false;
		left = n > 0 ? filter(c, n) : n;
		if (left != 0 || (waits_over(w, n == 0) && (n < c->max || full++ == FULL_MAX)))
			break;
		waits_round(w);
	}
	waits_leave(w);
	return left;
}

static bool begin(const struct epoll_call *c, struct wait_clock *w, int64_t entry)
{
	return c->which == PWAIT2 ? waits_begin_timespec(w, c->time, entry)
	                          : waits_begin_ms(w, c->ms, entry);
}

/* Nothing has failed: all is shown, and connects that it tells of are over. */
static bool all_well(const struct epoll_call *c, int n)
{
	if (lr_unlikely(names_watching()) || lr_unlikely(fdtab_any_aged()))
		return false;
	for (int i = 0; i < n; i++)
		if ((c->events[i].events & BAD_EVENTS) ||
		    !fdtab_watch_connected(c->epfd, c->events[i].data.u64, c->events[i].events))
			return false;
	return true;
}

/* No connect is under way, or none has failed, but another thread may begin one, or
 * see one fail. Before the kernel has accepted it, the program's timespec may lead
 * nowhere. */
static int wait_beside_threads(struct epoll_call *c)
{
	bool timed = c->which == PWAIT2 ? c->time != NULL : waits_timed_ms(c->ms);
	int64_t entry = timed ? clock_at_entry() : WAITS_NOW;
	struct wait_clock w;
	int n = call_unchanged(c);

	if (n <= 0 || gate_idle() || all_well(c, n) || !begin(c, &w, entry))
		return n;
	waits_was_called(&w);
	return go_on(c, &w, true, n);
}

/* What the kernel would refuse, it may refuse. */
static bool sane(const struct epoll_call *c)
{
	return c->max > 0 && (size_t)c->max <= INT_MAX / sizeof(struct epoll_event) &&
	       (!c->time || gate_may_read(c->time, sizeof(*c->time)));
}

/* By any thread. Where there is but one its own mark says so. */
static _Atomic bool any_waits;

bool waits_in_sets(void)
{
	return (thread_marks.waited & THREAD_WAITED_IN_SET) || atomic_load(&any_waits);
}

static LR_NOINLINE int slow_wait(struct epoll_call *c)
{
	struct wait_clock w;
	enum gate_wait how = gate_wait();

	atomic_store_explicit(&any_waits, true, memory_order_relaxed);
	if (how == WAIT_FIRST)
		return wait_beside_threads(c);
	if (how == WAIT_ALONE || !sane(c) || !begin(c, &w, WAITS_NOW))
		return call_unchanged(c);
	return go_on(c, &w, false, 0);
}

static LR_NOINLINE int slow_wait_ms(int epfd, struct epoll_event *events, int max, int timeout)
{
	struct epoll_call c = {
		.which = WAIT, .epfd = epfd, .events = events, .max = max, .ms = timeout
	};

	return slow_wait(&c);
}

static LR_NOINLINE int slow_pwait(int epfd, struct epoll_event *events, int max, int timeout,
                                  const sigset_t *mask)
{
	struct epoll_call c = { .which = PWAIT,
		                .epfd = epfd,
		                .events = events,
		                .max = max,
		                .ms = timeout,
		                .mask = mask };

	return slow_wait(&c);
}

static LR_NOINLINE int slow_pwait2(int epfd, struct epoll_event *events, int max,
                                   const struct timespec *timeout, const sigset_t *mask)
{
	struct epoll_call c = { .which = PWAIT2,
		                .epfd = epfd,
		                .events = events,
		                .max = max,
		                .time = timeout,
		                .mask = mask };

	return slow_wait(&c);
}

int wrap_epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	thread_waits_in_set();
	if (gate_idle_through())
		return real.epoll_wait(epfd, events, max, timeout);
	return slow_wait_ms(epfd, events, max, timeout);
}

int wrap_epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout,
                     const sigset_t *mask)
{
	thread_waits_in_set();
	if (gate_idle_through())
		return real.epoll_pwait(epfd, events, max, timeout, mask);
	return slow_pwait(epfd, events, max, timeout, mask);
}

int wrap_epoll_pwait2(int epfd, struct epoll_event *events, int max,
                      const struct timespec *timeout, const sigset_t *mask)
{
	thread_waits_in_set();
	if (gate_idle_through())
		return real.epoll_pwait2(epfd, events, max, timeout, mask);
	return slow_pwait2(epfd, events, max, timeout, mask);
}

/* The real call; what the kernel has accepted is noted. */
LR_INLINE int control(int epfd, int op, int fd, struct epoll_event *event)
{
	LR_KEEP(epfd);
	LR_KEEP(op);
	LR_KEEP(fd);
	LR_KEEP(event);
	int rc = real.epoll_ctl(epfd, op, fd, event);

	if (rc != 0)
		return rc;
	if (kept_op == EPOLL_CTL_DEL)
		return fdtab_watch_del(kept_fd, kept_epfd);
	if (kept_op == EPOLL_CTL_ADD || kept_op == EPOLL_CTL_MOD)
		return fdtab_watch_set(kept_fd, kept_epfd, kept_event->events,
		                       kept_event->data.u64);
	return 0;
}

static LR_NOINLINE int control_apart(int epfd, int op, int fd, struct epoll_event *event)
{
	return control(epfd, op, fd, event);
}

/*
 * A new registration of a socket whose connect is under way. Another thread may
 * wait in the set and meet its event at once, so it is noted before the call.
 */
static int control_announced(int epfd, int fd, struct epoll_event *event)
{
	struct watch w;
	int rc;

	if (libc_single_threaded() || !gate_may_read(event, sizeof(*event)) ||
	    fdtab_watch_of(fd, epfd, &w))
		return control_apart(epfd, EPOLL_CTL_ADD, fd, event);
	fdtab_watch_set(fd, epfd, event->events, event->data.u64);
	rc = real.epoll_ctl(epfd, EPOLL_CTL_ADD, fd, event);
	if (rc != 0)
		fdtab_watch_del(fd, epfd);
	else if (!fdtab_watch_of(fd, epfd, &w)) /* who parks it found it missing */
		fdtab_watch_set(fd, epfd, event->events, event->data.u64);
	return rc;
}

/* In backoff: see pending_epoll_ctl(). False: it is not, or the kernel is to say
 * what is wrong with <event>. */
static bool control_parked(int epfd, int op, int fd, struct epoll_event *event, int *rc)
{
	struct signal_hold hold;

	/* An exclusive one could be parked and never armed again: the kernel does
	 * not modify it. */
	if (!sys_all(event, sizeof(*event), sys_readable) || (event->events & EPOLLEXCLUSIVE) ||
	    !pending_epoll_ctl(&preload_ops, &hold, epfd, op, fd, event->events,
	                       event->data.u64, rc))
		return false;
	if (*rc != 0) {
		errno = *rc;
		*rc = -1;
	}
	return true;
}

/*
 * A connect is under way on some descriptor. One that goes on in the kernel is
 * registered as ever. If another thread ended or began an attempt meanwhile it
 * may have put back what was noted before: then it is done again.
 */
static LR_NOINLINE int slow_control(int epfd, int op, int fd, struct epoll_event *event)
{
	struct pend_ref ref;
	uint32_t before;
	int rc = 0;

	if (!gate_open() || (op != EPOLL_CTL_ADD && op != EPOLL_CTL_MOD))
		return control_apart(epfd, op, fd, event);
	for (unsigned n = 0; n < 8; n++) {
		if (!fdtab_find(fd, &ref))
			return control_apart(epfd, op, fd, event);
		if ((pend_state(&ref) == PEND_BACKOFF || pend_state(&ref) == PEND_BUSY) &&
		    control_parked(epfd, op, fd, event, &rc))
			return rc;
		before = ref.word;
		rc = op == EPOLL_CTL_ADD ? control_announced(epfd, fd, event)
		                         : control_apart(epfd, op, fd, event);
		if (rc != 0 || !fdtab_refresh(&ref) || ref.word == before)
			return rc;
		op = EPOLL_CTL_MOD;
	}
	return rc;
}

LR_NO_CANARY int wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	if (lr_unlikely(!gate_idle()))
		return slow_control(epfd, op, fd, event);
	return control(epfd, op, fd, event);
}
