/* SPDX-License-Identifier: MIT */
/* under_way.h - connects under way in a scripted world, for the suites about
 * engine/pending. The table of descriptors is the real one. */
#ifndef LIBRETRY_TESTS_UNDER_WAY_H
#define LIBRETRY_TESTS_UNDER_WAY_H

#include <sys/epoll.h>
#include <sys/un.h>

#include "engine/pending.h"
#include "engine/wait.h"
#include "policy/builtin.h"
#include "state/layers.h"
#include "tests/unit/names.h"
#include "tests/unit/unit.h"
#include "tests/unit/world.h"

#define FD 3
#define DUP 5
#define LATE 6
#define EP 9
#define EP2 10
#define THREAD 42

static struct world w;
static struct policy p;
static struct rule rule;
static struct sockaddr_storage sa;
static socklen_t sa_len;

/* Where no system call may be made: any call ends the test. */
static const struct engine_ops no_ops;

static inline void aim_at(const char *text)
{
	struct addr a;

	ck_assert(addr_parse_ip(&a, text));
	a.port = 5432;
	sa_len = addr_to_sockaddr(&a, &sa);
}

static inline void setup(void)
{
	world_init(&w);
	fdtab_reset();
	names_reset();
	layers_reset();
	p = builtin_default();
	p.backoff.jitter = JITTER_NONE;
	memset(&rule, 0, sizeof(rule));
	w.policy = &p;
	w.entry_offset = 7 * DUR_S;
	aim_at("127.0.0.1");
}

/* The name "db"; the connect goes to the first of its addresses. */
static struct name_entry name;

static inline void name_db(const char *const *ips, unsigned count)
{
	struct name_ip list[NAMES_ADDRS];
	struct addr a;

	for (unsigned i = 0; i < count; i++) {
		ck_assert(addr_parse_ip(&a, ips[i]));
		list[i].family = a.family;
		memcpy(list[i].ip, a.ip, sizeof(a.ip));
	}
	remember("db", list, count, THREAD);
	aim_at(ips[0]);
	ck_assert(addr_parse_ip(&a, ips[0]));
	ck_assert(names_find(&a, THREAD, &name));
	w.name = &name;
}

static const char *const pair[] = { "127.0.0.1", "127.0.0.2" };

static inline void listen_at(const char *address)
{
	w.listeners[w.listener_count].address = address;
	w.listeners[w.listener_count++].from = w.clock;
}

static inline void aim_at_path(const char *path)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&sa;

	memset(&sa, 0, sizeof(sa));
	un->sun_family = AF_UNIX;
	snprintf(un->sun_path, sizeof(un->sun_path), "%s", path);
	sa_len = sizeof(*un);
}

/* Sets up a failure that is none of ours, by name. */
static inline void set_up_native(enum reason reason)
{
	switch (reason) {
	case REASON_SPECIAL:
		aim_at("169.254.1.1");
		break;
	case REASON_OFF:
		p.max_attempts = 1;
		break;
	case REASON_STOPPING:
		w.stop = true;
		break;
	case REASON_OTHER_ADDRESS:
		name_db(pair, 2);
		listen_at("127.0.0.2");
		break;
	case REASON_NAME_EXHAUSTED:
		name_db(pair, 2);
		names_set_exhausted(&name, 5432, w.clock - DUR_MS);
		break;
	default:
		w.no_target = true;
		break;
	}
}

/* At the end of every case: all is closed. */
static inline void assert_over(void)
{
	ck_assert_uint_eq(fdtab_busy(), 0);
	world_assert_released(&w);
}

static inline struct pending_call call_of(int fd, int64_t attempt_timeout)
{
	return (struct pending_call){ .fd = fd,
		                      .sa = (struct sockaddr *)&sa,
		                      .len = sa_len,
		                      .began = w.clock - w.entry_offset,
		                      .thread = THREAD,
		                      .attempt_timeout = attempt_timeout };
}

static inline void begin_limited(int fd, int64_t attempt_timeout)
{
	struct pending_call call = call_of(fd, attempt_timeout);

	pending_begin(attempt_timeout == DUR_NONE ? &no_ops : &world_ops, &w, &call);
}

static inline void begin(int fd)
{
	begin_limited(fd, DUR_NONE);
}

static inline enum pend_state state_of(int fd)
{
	struct pend_ref ref;

	return fdtab_find(fd, &ref) ? pend_state(&ref) : PEND_FREE;
}

static inline struct pending *record_of(int fd)
{
	struct pend_ref ref;

	ck_assert(fdtab_find(fd, &ref));
	return ref.p;
}

static inline enum sight event(int fd, bool bad)
{
	if (!bad && w.conditions.rest == CONDITION_TRYING)
		w.conditions.rest = CONDITION_CONNECTED;
	return pending_event(&world_ops, &w, fd, bad);
}

/* The attempt in the kernel has failed, and a wait finds it. */
static inline enum sight fails(int fd, int error)
{
	w.conditions.rest = CONDITION_CLOSED;
	WORLD_SCRIPT(&w.errors, error);
	return event(fd, true);
}

/* The next attempt that is due is made; how long it was waited for. */
static inline int64_t next_attempt(void)
{
	int64_t before = w.clock;

	w.conditions.rest = CONDITION_TRYING;
	w.clock = fdtab_next_due();
	ck_assert_int_ne(w.clock, DUR_NONE);
	wait_drive(&world_ops, &w);
	return w.clock - before;
}

/* <fd> is trying for the <n>-th time. */
static inline void at_attempt(int fd, unsigned n)
{
	begin(fd);
	for (unsigned i = 1; i < n; i++) {
		ck_assert_int_eq(fails(fd, ECONNREFUSED), SIGHT_HIDE);
		next_attempt();
	}
	ck_assert_int_eq(state_of(fd), PEND_CONNECTING);
	ck_assert_uint_eq(record_of(fd)->attempt, n);
}

/* <fd> waits for its second attempt. */
static inline void in_backoff(int fd)
{
	begin(fd);
	ck_assert_int_eq(fails(fd, ECONNREFUSED), SIGHT_HIDE);
	ck_assert_int_eq(state_of(fd), PEND_BACKOFF);
}

/* The attempt failed for good, and the error is ours to hand out. */
static inline void owes(int fd)
{
	begin(fd);
	ck_assert_int_eq(fails(fd, EACCES), SIGHT_SHOW_ERROR);
	ck_assert_int_eq(state_of(fd), PEND_FAILED);
}

/* What was done to sockets and sets so far. */
static inline unsigned actions(void)
{
	return w.starts.used + w.dissolved + w.errors.used + w.ctl_count;
}

static inline enum answer ask(int fd, int *error)
{
	return pending_ask(&world_ops, &w, fd, error);
}

static inline int result(int fd, int error)
{
	if (error == EISCONN)
		w.conditions.rest = CONDITION_CONNECTED;
	return pending_result(&world_ops, &w, fd, error);
}

static inline void closing(int fd)
{
	pending_closing(&world_ops, &w, fd);
}

/* The error is handed out, by the first call that asks and by no other. */
static inline void assert_delivered_once(int fd, int error)
{
	int got = -1;

	ck_assert_int_eq(ask(fd, &got), ANSWER_ERROR);
	ck_assert_int_eq(got, error);
	got = -1;
	ck_assert_int_eq(ask(fd, &got), ANSWER_CALL);
	ck_assert_int_eq(got, -1);
	ck_assert_int_eq(state_of(fd), PEND_FREE);
}

/* The newest line of the log. */
static inline const struct event *last_event(void)
{
	ck_assert_uint_gt(w.event_count, 0);
	return &w.events[w.event_count - 1];
}

static inline void assert_gave_up(enum reason reason, int error, unsigned attempts)
{
	ck_assert_uint_eq(world_count(&w, EVENT_GAVE_UP), 1);
	ck_assert_int_eq(last_event()->kind, EVENT_GAVE_UP);
	ck_assert_int_eq(last_event()->reason, reason);
	ck_assert_int_eq(last_event()->error.code, error);
	ck_assert_uint_eq(last_event()->attempts, attempts);
}

/* The one epoll_ctl() for <fd> in <epfd> from the <from>-th on. */
static inline const struct world_ctl *ctl_for(unsigned from, int epfd, int fd)
{
	const struct world_ctl *found = NULL;

	ck_assert_uint_le(w.ctl_count, WORLD_MAX);
	for (unsigned i = from; i < w.ctl_count; i++)
		if (w.ctls[i].epfd == epfd && w.ctls[i].fd == fd) {
			ck_assert_msg(!found, "set %d, descriptor %d: twice", epfd, fd);
			found = &w.ctls[i];
		}
	ck_assert_msg(found, "set %d, descriptor %d: never", epfd, fd);
	return found;
}

static inline void assert_ctl(unsigned from, int epfd, int fd, uint32_t events, uint64_t data)
{
	const struct world_ctl *c = ctl_for(from, epfd, fd);

	ck_assert_int_eq(c->op, EPOLL_CTL_MOD);
	ck_assert_uint_eq(c->events, events);
	ck_assert_uint_eq(c->data, data);
}

static inline bool watch_of(int fd, int epfd, struct watch *found)
{
	for (unsigned i = 0; i < FDTAB_WATCHES; i++)
		if (fdtab_watch_get(fd, i, found) && found->epfd == epfd)
			return true;
	return false;
}

static inline unsigned parked(int fd, int epfd)
{
	struct watch found;

	ck_assert(watch_of(fd, epfd, &found));
	return found.parked;
}

#endif
