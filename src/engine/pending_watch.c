/* SPDX-License-Identifier: MIT */
/* Registrations in epoll sets of descriptors whose connect is under way. */
#include <errno.h>
#include <sys/epoll.h>

#include "engine/pending_act.h"

/* .parked of a watch: in the kernel it is one-shot without events, and reports
 * once; it has done so. */
#define PARKED 1
#define SILENT 2

/* A registration that the kernel does not have (any more) is forgotten. */
static bool park_one(struct act *a, int fd, const struct watch *w)
{
	int rc = a->ops->epoll_ctl(a->ctx, w->epfd, EPOLL_CTL_MOD, fd, EPOLLONESHOT, w->data);

	if (rc == 0)
		fdtab_watch_park(fd, w->epfd, PARKED);
	else if (rc == ENOENT || rc == EBADF)
		fdtab_watch_del(fd, w->epfd);
	/* An exclusive one cannot be modified. Else the set's number has become
	 * something else unseen. */
	if (rc == EINVAL && !(w->events & EPOLLEXCLUSIVE))
		fdtab_watch_del(fd, w->epfd);
	return rc != EINVAL || !(w->events & EPOLLEXCLUSIVE);
}

bool act_park(struct act *a)
{
	struct watch w;
	bool ok = true;

	for (unsigned i = 0; i < FDTAB_SHARED; i++) {
		int fd = atomic_load(&a->ref.p->fds[i]);

		for (unsigned j = 0; fd >= 0 && j < FDTAB_WATCHES; j++)
			if (fdtab_watch_get(fd, j, &w))
				ok = park_one(a, fd, &w) && ok;
	}
	return ok;
}

/* Another thread of the program may modify it at this very moment: what counts
 * is what it said last, and it says so to fdtab before it says so to the kernel. */
static void rearm_one(struct act *a, int fd, unsigned i, struct watch w)
{
	struct watch again;

	for (unsigned n = 0; n < 4; n++) {
		fdtab_watch_park(fd, w.epfd, 0);
		if (a->ops->epoll_ctl(a->ctx, w.epfd, EPOLL_CTL_MOD, fd, w.events, w.data) != 0)
			return;
		if (!fdtab_watch_get(fd, i, &again) || again.epfd != w.epfd ||
		    (again.events == w.events && again.data == w.data))
			return;
		w = again;
	}
}

static void rearm(struct act *a, bool (*which)(const struct watch *w))
{
	struct watch w;

	for (unsigned i = 0; i < FDTAB_SHARED; i++) {
		int fd = atomic_load(&a->ref.p->fds[i]);

		for (unsigned j = 0; fd >= 0 && j < FDTAB_WATCHES; j++)
			if (fdtab_watch_get(fd, j, &w) && which(&w))
				rearm_one(a, fd, j, w);
	}
}

static bool is_parked(const struct watch *w)
{
	return w->parked;
}

static bool is_oneshot(const struct watch *w)
{
	return w->events & EPOLLONESHOT;
}

/* The kernel does not report the same again by itself. */
static bool is_once(const struct watch *w)
{
	return w->events & (EPOLLONESHOT | EPOLLET);
}

void act_rearm(struct act *a)
{
	rearm(a, is_parked);
}

void act_rearm_oneshot(struct act *a)
{
	rearm(a, is_oneshot);
}

void act_rearm_once(struct act *a)
{
	rearm(a, is_once);
}

static bool is_any(const struct watch *w)
{
	(void)w;
	return true;
}

void act_rearm_all(struct act *a)
{
	rearm(a, is_any);
}

bool pending_epoll_ctl(const struct engine_ops *ops, void *ctx, int epfd, int op, int fd,
                       uint32_t events, uint64_t data, int *rc)
{
	struct act a;
	struct watch old;
	bool had;

	if (!act_find(&a, ops, ctx, fd) || pend_state(&a.ref) != PEND_BACKOFF ||
	    !act_still_ours(&a) || !act_claim(&a))
		return false;
	/* Noted before the kernel tells other threads of it. */
	had = fdtab_watch_of(fd, epfd, &old);
	if (!had || op == EPOLL_CTL_MOD) {
		fdtab_watch_set(fd, epfd, events, data);
		fdtab_watch_park(fd, epfd, PARKED);
	}
	*rc = ops->epoll_ctl(ctx, epfd, op, fd, EPOLLONESHOT, data);
	if (*rc == 0) {
		fdtab_watch_set(fd, epfd, events, data);
	} else if (!had) {
		fdtab_watch_del(fd, epfd);
	} else if (op == EPOLL_CTL_MOD) {
		fdtab_watch_set(fd, epfd, old.events, old.data);
		fdtab_watch_park(fd, epfd, old.parked);
	}
	act_release(&a, PEND_BACKOFF);
	return true;
}

void pending_swallowed(const struct engine_ops *ops, void *ctx, int epfd, int fd)
{
	struct act a;
	struct watch w;

	if (!act_find(&a, ops, ctx, fd) || pend_state(&a.ref) != PEND_BACKOFF ||
	    !fdtab_watch_of(fd, epfd, &w))
		return;
	/* A parked one reports once. More means that it is not parked: somebody
	 * modified it past us. */
	if (w.parked == PARKED) {
		fdtab_watch_park(fd, epfd, SILENT);
		return;
	}
	if (!act_still_ours(&a) || !act_claim(&a))
		return;
	if (act_park(&a)) {
		act_release(&a, PEND_BACKOFF);
		return;
	}
	act_rearm(&a);
	act_give_up(&a, a.ref.p->error);
	act_release(&a, PEND_FAILED);
}

static bool has_watch(const struct pending *p)
{
	struct watch w;

	for (unsigned i = 0; i < FDTAB_SHARED; i++) {
		int fd = atomic_load(&p->fds[i]);

		for (unsigned j = 0; fd >= 0 && j < FDTAB_WATCHES; j++)
			if (fdtab_watch_get(fd, j, &w))
				return true;
	}
	return false;
}

/* It was in state <was>, and is the program's from now on. */
static enum pend_state left_to_program(struct act *a, enum pend_state was)
{
	struct pending *p = a->ref.p;
	enum condition now;

	/* Registered meanwhile. */
	if (has_watch(p))
		return was;
	if (was == PEND_BACKOFF) {
		act_give_up(a, p->error);
		return PEND_FAILED;
	}
	if (!act_ours(a)) {
		act_last_word(a, was);
		return PEND_FREE;
	}
	now = act_condition(a);
	if (now == CONDITION_TRYING)
		return was;
	if (now == CONDITION_CONNECTED)
		act_recovered(a);
	else if (now == CONDITION_OTHER)
		act_last_word(a, was);
	if ((now != CONDITION_CLOSED && now != CONDITION_RESET) || p->attempt <= 1)
		return PEND_FREE;
	p->last = true;
	if (p->why == REASON_NONE)
		p->why = REASON_NONBLOCKING;
	act_check_later(a, a->ops->now(a->ctx));
	return PEND_REPORTED;
}

bool pending_any_unwatched(void)
{
	struct pend_ref ref;

	fdtab_record_all();
	for (unsigned at = 0; fdtab_next(&at, &ref);)
		if ((pend_state(&ref) == PEND_CONNECTING || pend_state(&ref) == PEND_BACKOFF) &&
		    !has_watch(ref.p))
			return true;
	return false;
}

void pending_unknown_event(const struct engine_ops *ops, void *ctx)
{
	struct act a = { .ops = ops, .ctx = ctx };

	fdtab_record_all();
	for (unsigned at = 0; fdtab_next(&at, &a.ref);) {
		enum pend_state was = pend_state(&a.ref);

		if ((was == PEND_CONNECTING || was == PEND_BACKOFF) && !has_watch(a.ref.p) &&
		    act_claim(&a))
			act_release(&a, left_to_program(&a, was));
	}
}
