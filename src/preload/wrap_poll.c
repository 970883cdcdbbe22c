/* SPDX-License-Identifier: MIT */
/*
 * poll() and ppoll(). One wait of the program is several real ones while connects
 * are retried. The program's array goes to the kernel as it is, unless a
 * descriptor in it must be hidden: then a copy does, as the program may jump out
 * of the wait and use its array again.
 */
#include <poll.h>
#include <string.h>

#include "base/sys.h"
#include "engine/pending.h"
#include "engine/wait.h"
#include "preload/gate.h"
#include "preload/real.h"
#include "preload/waits.h"
#include "state/fdtab_note.h"
#include "state/names.h"

/* Entries of a copy on the stack. */
#define SMALL 48

struct call {
	struct pollfd *fds;
	nfds_t n;
	int ms;                    /* of poll() */
	bool is_ppoll;
	const struct timespec *ts; /* of ppoll() */
	const sigset_t *mask;
	struct pollfd *map;        /* NULL: none was needed yet */
	bool plain;                /* no copy: what the kernel says is shown */
	bool writable;             /* .fds is, by us; not asked yet: false */
	struct wait_clock clock;
};

/* With the program's own arguments. */
static int call_plain(const struct call *c)
{
	return c->is_ppoll ? real.ppoll(c->fds, c->n, c->ts, c->mask)
	                   : real.poll(c->fds, c->n, c->ms);
}

/* On <fds>, for as long as may be waited at a time. */
static int call_limited(struct call *c, struct pollfd *fds)
{
	struct timespec ts;

	if (c->is_ppoll)
		return real.ppoll(fds, c->n, waits_limit_timespec(&c->clock, &ts), c->mask);
	return real.poll(fds, c->n, waits_limit_ms(&c->clock));
}

static bool is_hidden(int fd)
{
	struct signal_hold hold;

	return fd >= 0 && pending_hidden(&preload_ops, &hold, fd);
}

static bool any_hidden(const struct call *c)
{
	for (nfds_t i = 0; i < c->n; i++)
		if (is_hidden(c->fds[i].fd))
			return true;
	return false;
}

static int call_on_copy(struct call *c, struct pollfd *copy)
{
	int rc;

	memcpy(copy, c->fds, c->n * sizeof(*copy));
	for (nfds_t i = 0; i < c->n; i++)
		if (is_hidden(copy[i].fd))
			copy[i].fd = -1;
	rc = call_limited(c, copy);
	/* Also after an error: the kernel has cleared them, or left them alone. */
	for (nfds_t i = 0; i < c->n; i++)
		c->fds[i].revents = copy[i].revents;
	return rc;
}

static LR_NOINLINE int call_small(struct call *c)
{
	struct pollfd copy[SMALL];

	return call_on_copy(c, copy);
}

/* Where the kernel says EFAULT it still may. */
static bool can_answer(struct call *c)
{
	c->writable = c->writable || sys_all(c->fds, c->n * sizeof(*c->fds), sys_writable);
	return c->writable;
}

static LR_NOINLINE int call_without_hidden(struct call *c)
{
	bool can = can_answer(c);

	if (can && c->n <= SMALL)
		return call_small(c);
	if (can && !c->map)
		c->map = waits_map(c->n * sizeof(*c->map));
	if (can && c->map)
		return call_on_copy(c, c->map);
	c->plain = true;
	return call_limited(c, c->fds);
}

/* Decides on what is reported; returns how many entries the program sees. */
static int show(struct call *c)
{
	int count = 0;

	for (nfds_t i = 0; i < c->n; i++) {
		struct pollfd *f = &c->fds[i];
		struct signal_hold hold;

		if (!f->revents)
			continue;
		count++;
		if (f->fd < 0 || (f->revents & POLLNVAL))
			continue;
		switch (pending_event(&preload_ops, &hold, f->fd,
		                      (f->revents & (POLLERR | POLLHUP)) != 0)) {
		case SIGHT_SHOW:
			break;
		case SIGHT_HIDE:
			f->revents = 0;
			count--;
			break;
		case SIGHT_SHOW_ERROR:
			f->revents |= POLLERR | (f->events & (POLLIN | POLLRDNORM | POLLRDHUP));
			break;
		}
	}
	return count;
}

/* A real call has answered *rc. True: *rc is the program's answer; else the wait
 * goes on. */
static bool is_answer(struct call *c, int *rc)
{
	bool timed_out = *rc == 0;

	if (*rc > 0 && !c->plain)
		*rc = show(c);
	if (*rc != 0 || waits_over(&c->clock, timed_out))
		return true;
	waits_round(&c->clock);
	return false;
}

static int go_on(struct call *c)
{
	int rc;

	do {
		struct signal_hold hold;
		bool hidden;

		wait_drive(&preload_ops, &hold);
		waits_look(&c->clock);
		hidden = any_hidden(c);
		if (!waits_enter(&c->clock, c->mask))
			return -1;
		rc = hidden ? call_without_hidden(c) : call_limited(c, c->fds);
	} while (!is_answer(c, &rc));
	return rc;
}

static bool begin(struct call *c, int64_t entry)
{
	return c->is_ppoll ? waits_begin_timespec(&c->clock, c->ts, entry)
	                   : waits_begin_ms(&c->clock, c->ms, entry);
}

static bool is_timed(const struct call *c)
{
	return c->is_ppoll ? waits_timed_timespec(c->ts) : waits_timed_ms(c->ms);
}

static int finish(struct call *c, int rc)
{
	waits_unmap(c->map, c->n * sizeof(*c->map));
	return rc;
}

/* The first real call, made while nothing had failed, has reported something. */
static int go_on_after(struct call *c, int64_t entry)
{
	int rc = show(c);

	if (rc != 0)
		return rc;
	begin(c, entry);
	waits_was_called(&c->clock);
	if (waits_over(&c->clock, false))
		return 0;
	waits_round(&c->clock);
	return finish(c, go_on(c));
}

/* Nothing is under way, or has failed, but another thread may begin a connect or
 * see one fail meanwhile. */
static int among_threads(struct call *c)
{
	int64_t entry = is_timed(c) ? clock_at_entry() : WAITS_NOW;
	int rc = call_plain(c);

	return rc <= 0 || gate_idle() ? rc : go_on_after(c, entry);
}

/* What the kernel would refuse is left to it. */
static int slow(struct call *c)
{
	enum gate_wait how = gate_wait();

	if (how == WAIT_FIRST)
		return among_threads(c);
	if (how == WAIT_ALONE || c->n > FDTAB_FDS ||
	    (c->n && !gate_may_read(c->fds, c->n * sizeof(*c->fds))) || !begin(c, WAITS_NOW))
		return call_plain(c);
	return finish(c, go_on(c));
}

static inline struct call poll_call(struct pollfd *fds, nfds_t n, int timeout)
{
	return (struct call){ .fds = fds, .n = n, .ms = timeout };
}

static LR_NOINLINE int slower_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	struct call c = poll_call(fds, n, timeout);

	return slow(&c);
}

static LR_NOINLINE int poll_go_on(struct pollfd *fds, nfds_t n, int timeout, int64_t entry)
{
	struct call c = poll_call(fds, n, timeout);

	return go_on_after(&c, entry);
}

/* All that is reported is well, and of first attempts, or of no connect under way. */
LR_INLINE bool all_well(const struct pollfd *f, nfds_t n)
{
	const struct pollfd *end = f + n;

	if (lr_unlikely(names_watching()))
		return false;
	do
		if (f->revents && (lr_unlikely(f->revents & (POLLERR | POLLHUP | POLLNVAL)) ||
		                   lr_unlikely(!fdtab_drop_young(f->fd))))
			return false;
	while (++f != end);
	return true;
}

static LR_NO_CANARY LR_NOINLINE int timed_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	int64_t entry = clock_at_entry();
	int rc = real.poll(fds, n, timeout);

	if (rc <= 0 || lr_likely(all_well(fds, n)))
		return rc;
	return poll_go_on(fds, n, timeout, entry);
}

/* What most waits for a connect come to. */
static LR_NO_CANARY LR_NOINLINE int slow_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	if (lr_unlikely(!gate_young()))
		return slower_poll(fds, n, timeout);
	if (waits_timed_ms(timeout))
		return timed_poll(fds, n, timeout);
	LR_KEEP(fds);
	LR_KEEP(n);
	LR_KEEP(timeout);
	int rc = real.poll(fds, n, timeout);

	if (rc <= 0 || lr_likely(all_well(kept_fds, kept_n)))
		return rc;
	return poll_go_on(kept_fds, kept_n, kept_timeout, WAITS_NOW);
}

int waits_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	return slow_poll(fds, n, timeout);
}

static LR_NOINLINE int slow_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                                  const sigset_t *mask)
{
	struct call c = { .fds = fds, .n = n, .is_ppoll = true, .ts = timeout, .mask = mask };

	return slow(&c);
}

/* A buffer too small is libc's to deal with: it ends the program. */
static LR_NOINLINE int slow_poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
	if (size / sizeof(*fds) >= n)
		return slow_poll(fds, n, timeout);
	gate_open();
	return real.__poll_chk(fds, n, timeout, size);
}

static LR_NOINLINE int slow_ppoll_chk(struct pollfd *fds, nfds_t n,
                                      const struct timespec *timeout, const sigset_t *mask,
                                      size_t size)
{
	if (size / sizeof(*fds) >= n)
		return slow_ppoll(fds, n, timeout, mask);
	gate_open();
	return real.__ppoll_chk(fds, n, timeout, mask, size);
}

int wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	thread_waits();
	if (gate_idle_through())
		return real.poll(fds, n, timeout);
	return slow_poll(fds, n, timeout);
}

int wrap___poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
	thread_waits();
	if (gate_idle_through())
		return real.__poll_chk(fds, n, timeout, size);
	return slow_poll_chk(fds, n, timeout, size);
}

int wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	thread_waits();
	if (gate_idle_through())
		return real.ppoll(fds, n, timeout, mask);
	return slow_ppoll(fds, n, timeout, mask);
}

int wrap___ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                     const sigset_t *mask, size_t size)
{
	thread_waits();
	if (gate_idle_through())
		return real.__ppoll_chk(fds, n, timeout, mask, size);
	return slow_ppoll_chk(fds, n, timeout, mask, size);
}
