/* SPDX-License-Identifier: MIT */
/*
 * world.h - a scripted world for the engine: results in order, a virtual
 * clock, and a record of what was asked for. Blocking calls take from .results;
 * each operation of a connect under way has a script of its own.
 */
#ifndef LIBRETRY_TESTS_WORLD_H
#define LIBRETRY_TESTS_WORLD_H

#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "engine/ops.h"
#include "engine/retry.h"
#include "log/event.h"
#include "state/said.h"

#define WORLD_MAX 64
#define WORLD_FDS 16
#define WORLD_SOCKET 7 /* the identity of every descriptor, unless a test says otherwise */
#define WORLD_OTHER 99 /* the identity of what has taken its place */

/* Results in order; past the end: .rest, for ever. */
struct world_script {
	int results[WORLD_MAX];
	unsigned count;
	unsigned used; /* times asked, past the end too */
	int rest;
};

/* One epoll_ctl(). */
struct world_ctl {
	int op;
	int epfd;
	int fd;
	uint32_t events;
	uint64_t data;
};

struct world {
	int64_t clock;
	int64_t entry_offset;          /* of the other clock, which costs no call */
	int64_t call_time;             /* each attempt takes this long */
	int results[WORLD_MAX];        /* errno or resolver codes; past the end: the last */
	unsigned result_count;
	enum err_domain domain;        /* of look-ups */
	int sys_errno;
	unsigned calls;                /* attempts made */
	int64_t limits[WORLD_MAX];     /* the limit of each attempt */
	struct addr targets[WORLD_MAX];
	int64_t waits[WORLD_MAX];
	unsigned wait_count;
	unsigned wake_at;              /* the n-th wait (from 1) ends with .wake */
	enum wake wake;
	bool stop;
	bool threads;                  /* there are others */
	bool not_ours;                 /* another process: nothing is entered */
	bool self_connect;             /* the next success is a self-connection */
	unsigned dissolved;
	unsigned family_changes;
	bool family_fixed;             /* changing it fails */
	const char *resolves_to;       /* the address of "standby"; NULL: not known */
	unsigned resolved;
	unsigned resolved_waiting;     /* of these, with a limit */
	int64_t resolve_time;          /* each of those takes this long */
	unsigned closed_in_call;       /* it becomes another during the n-th attempt */
	unsigned closed_at;            /* from the n-th wait on, the socket is another */
	/* Listeners, by printed address and the clock from which they listen. */
	struct {
		const char *address;
		int64_t from;
	} listeners[4];
	unsigned listener_count;
	unsigned listening_asked;
	/* Connects under way. */
	unsigned depth;                /* of enter and leave */
	unsigned brackets;             /* enter() calls */
	unsigned unheld;               /* touched a socket or a set outside of them */
	uint64_t identities[WORLD_FDS];
	unsigned closed_in_start;      /* it becomes another during the n-th start */
	bool no_target;                /* what target() answers, and: */
	const struct policy *policy;
	const struct rule *rule;
	const struct name_entry *name; /* NULL: not known */
	enum mode mode;
	uintptr_t thread;              /* that it was asked for last */
	struct world_script starts;    /* .rest: EINPROGRESS */
	struct addr started_to[WORLD_MAX];
	int started_fd[WORLD_MAX];
	int64_t started_at[WORLD_MAX]; /* the clock */
	struct world_script errors;    /* SO_ERROR; .rest: 0 */
	struct world_script conditions; /* .rest: CONDITION_TRYING */
	bool unremakable;                /* no connection is remakable */
	unsigned remakable_asked;
	unsigned unwanted_at;            /* from the n-th wait on nobody wants it */
	unsigned unwanted_after;         /* after the n-th attempt */
	unsigned ended;
	struct world_script replays;   /* .rest: 0 */
	struct world_script ctl_results; /* .rest: 0 */
	struct world_ctl ctls[WORLD_MAX];
	unsigned ctl_count;
	unsigned now_asked;
	struct slot slot;              /* what is remembered of all destinations, ... */
	bool remembers;                /* ... if anything is */
	struct slot *stats;            /* where outcomes are counted instead; NULL */
	char slot_of[DEST_TEXT_MAX];   /* the destination that was asked for last */
	uint64_t first_calls;          /* since the last time that was asked */
	uint64_t long_ago;             /* so many of them */
	struct prng random;
	struct event events[WORLD_MAX];
	char dests[WORLD_MAX][DEST_TEXT_MAX];
	char tos[WORLD_MAX][ADDR_TEXT_MAX];
	struct addr addrs[WORLD_MAX];
	unsigned event_count;
	enum log_level level;
};

static int world_result(struct world *w)
{
	unsigned i = w->calls++;

	w->clock += w->call_time;
	if (w->result_count == 0)
		return 0;
	return w->results[i < w->result_count ? i : w->result_count - 1];
}

static int world_connect(void *ctx, int fd, const struct sockaddr *sa, socklen_t len,
                         int64_t limit, bool *expired)
{
	struct world *w = ctx;
	int rc;

	(void)fd;
	if (w->calls < WORLD_MAX) {
		w->limits[w->calls] = limit;
		addr_from_sockaddr(&w->targets[w->calls], sa, len);
	}
	rc = world_result(w);
	*expired = rc == EINPROGRESS && limit != DUR_NONE;
	return rc;
}

static struct err world_lookup(void *ctx, void *call, int64_t limit, int *sys_errno)
{
	struct world *w = ctx;

	(void)call;
	if (w->calls < WORLD_MAX)
		w->limits[w->calls] = limit;
	*sys_errno = w->sys_errno;
	return (struct err){ w->domain, world_result(w) };
}

static uint64_t world_identity(void *ctx, int fd)
{
	struct world *w = ctx;

	if ((w->closed_in_call && w->calls >= w->closed_in_call) ||
	    (w->closed_in_start && w->starts.used >= w->closed_in_start) ||
	    (w->closed_at && w->wait_count >= w->closed_at))
		return WORLD_OTHER;
	return fd >= 0 && fd < WORLD_FDS ? w->identities[fd] : WORLD_SOCKET;
}

static bool world_self(void *ctx, int fd)
{
	struct world *w = ctx;
	bool was = w->self_connect;

	(void)fd;
	w->self_connect = false;
	return was;
}

static void world_dissolve(void *ctx, int fd)
{
	struct world *w = ctx;

	(void)fd;
	w->dissolved++;
	w->unheld += w->depth == 0;
}

static bool world_change_family(void *ctx, int fd, uint8_t family, bool in_place, bool *mapped)
{
	struct world *w = ctx;

	(void)fd;
	if (in_place && family == AF_INET6)
		return false;
	*mapped = family == AF_INET;
	w->family_changes++;
	return !w->family_fixed;
}

static unsigned world_resolve(void *ctx, const char *host, int64_t limit, struct name_ip *ips)
{
	struct world *w = ctx;
	struct addr a;

	w->resolved++;
	w->resolved_waiting += limit > 0;
	if (limit > 0)
		w->clock += w->resolve_time;

	if (!w->resolves_to || strcmp(host, "standby") != 0)
		return 0;
	ck_assert(addr_parse_ip(&a, w->resolves_to));
	ips[0].family = a.family;
	memcpy(ips[0].ip, a.ip, sizeof(a.ip));
	return 1;
}

static int world_listening(void *ctx, const struct addr *a)
{
	struct world *w = ctx;
	char text[ADDR_TEXT_MAX];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	addr_fmt_ip(&f, a);
	fmt_end(&f);
	w->listening_asked++;
	if (!addr_is_loopback(a))
		return -1;
	for (unsigned i = 0; i < w->listener_count; i++)
		if (strcmp(w->listeners[i].address, text) == 0)
			return w->clock >= w->listeners[i].from;
	return 0;
}

static bool world_enter(void *ctx)
{
	struct world *w = ctx;

	if (w->not_ours)
		return false;
	w->depth++;
	w->brackets++;
	return true;
}

static void world_leave(void *ctx)
{
	struct world *w = ctx;

	ck_assert_msg(w->depth > 0, "leave() without enter()");
	w->depth--;
}

static bool world_target(void *ctx, const struct sockaddr *sa, socklen_t len, uintptr_t thread,
                         struct target *t)
{
	struct world *w = ctx;

	w->thread = thread;
	memset(t, 0, sizeof(*t));
	if (w->no_target || !addr_from_sockaddr(&t->addr, sa, len))
		return false;
	if (w->name)
		t->name = *w->name;
	t->mode = w->mode;
	t->policy = w->policy;
	t->rule = w->rule;
	return true;
}

static int world_next(struct world_script *s)
{
	unsigned i = s->used++;

	return i < s->count ? s->results[i] : s->rest;
}

/* Takes no time: it does not wait. */
static int world_start(void *ctx, int fd, const struct sockaddr *sa, socklen_t len)
{
	struct world *w = ctx;
	unsigned i = w->starts.used;

	if (i < WORLD_MAX) {
		addr_from_sockaddr(&w->started_to[i], sa, len);
		w->started_fd[i] = fd;
		w->started_at[i] = w->clock;
	}
	w->unheld += w->depth == 0;
	return world_next(&w->starts);
}

static int world_take_error(void *ctx, int fd)
{
	struct world *w = ctx;

	(void)fd;
	w->unheld += w->depth == 0;
	return world_next(&w->errors);
}

static enum condition world_condition(void *ctx, int fd)
{
	(void)fd;
	return (enum condition)world_next(&((struct world *)ctx)->conditions);
}

static bool world_remakable(void *ctx, int fd, const struct sockaddr *sa, socklen_t len,
                            bool replay)
{
	struct world *w = ctx;

	(void)fd;
	(void)sa;
	(void)len;
	(void)replay;
	w->remakable_asked++;
	return !w->unremakable;
}

static bool world_wanted(void *ctx, int fd, const struct sockaddr *sa, socklen_t len)
{
	struct world *w = ctx;

	(void)fd;
	(void)sa;
	(void)len;
	return !(w->unwanted_at && w->wait_count >= w->unwanted_at) &&
	       !(w->unwanted_after && w->calls >= w->unwanted_after);
}

static void world_end(void *ctx, int fd)
{
	(void)fd;
	((struct world *)ctx)->ended++;
}

static int world_replay(void *ctx, int fd, uint64_t identity, int64_t until)
{
	(void)fd;
	(void)identity;
	(void)until;
	return world_next(&((struct world *)ctx)->replays);
}

static int world_epoll_ctl(void *ctx, int epfd, int op, int fd, uint32_t events, uint64_t data)
{
	struct world *w = ctx;

	if (w->ctl_count < WORLD_MAX)
		w->ctls[w->ctl_count] = (struct world_ctl){ op, epfd, fd, events, data };
	w->ctl_count++;
	w->unheld += w->depth == 0;
	return world_next(&w->ctl_results);
}

static int64_t world_now(void *ctx)
{
	struct world *w = ctx;

	w->now_asked++;
	return w->clock;
}

static struct slot *world_slot(void *ctx, const struct policy *policy, const char *dest,
                               bool *shared)
{
	struct world *w = ctx;

	(void)policy;
	*shared = false;
	snprintf(w->slot_of, sizeof(w->slot_of), "%s", dest);
	return w->remembers ? &w->slot : NULL;
}

static struct slot *world_stats(void *ctx, const struct policy *policy, const char *dest,
                                bool shared)
{
	(void)policy;
	(void)dest;
	(void)shared;
	return ((struct world *)ctx)->stats;
}

static uint64_t world_first_calls(void *ctx, const struct addr *a, int64_t length,
                                  uint64_t *recent)
{
	struct world *w = ctx;
	uint64_t n = w->first_calls;

	(void)a;
	(void)length;
	*recent = n - w->long_ago;
	w->first_calls = 0;
	return n;
}

static bool world_alone(void *ctx)
{
	return !((struct world *)ctx)->threads;
}

static int64_t world_entry_time(void *ctx, int64_t entry)
{
	return dur_add(entry, ((struct world *)ctx)->entry_offset);
}

static enum wake world_wait(void *ctx, int64_t until)
{
	struct world *w = ctx;

	if (w->wait_count < WORLD_MAX)
		w->waits[w->wait_count] = until - w->clock;
	w->wait_count++;
	if (w->wait_count == w->wake_at)
		return w->wake;
	w->clock = until;
	return WAKE_TIMEOUT;
}

static bool world_stopping(void *ctx)
{
	return ((struct world *)ctx)->stop;
}

static uint64_t world_random(void *ctx)
{
	return prng_next(&((struct world *)ctx)->random);
}

static void world_log(void *ctx, const struct event *e)
{
	struct world *w = ctx;
	unsigned i = w->event_count;

	if (event_level(e) > w->level || i >= WORLD_MAX)
		return;
	w->events[i] = *e;
	if (e->dest)
		snprintf(w->dests[i], sizeof(w->dests[i]), "%s", e->dest);
	w->events[i].dest = w->dests[i];
	if (e->to) {
		snprintf(w->tos[i], sizeof(w->tos[i]), "%s", e->to);
		w->events[i].to = w->tos[i];
	}
	if (e->addr) {
		w->addrs[i] = *e->addr;
		w->events[i].addr = &w->addrs[i];
	}
	w->event_count++;
}

static bool world_log_wants(void *ctx, enum log_level level)
{
	return level <= ((struct world *)ctx)->level;
}

static const struct engine_ops world_ops = {
	.connect = world_connect,
	.lookup = world_lookup,
	.identity = world_identity,
	.connected_to_self = world_self,
	.dissolve = world_dissolve,
	.change_family = world_change_family,
	.resolve = world_resolve,
	.listening = world_listening,
	.enter = world_enter,
	.leave = world_leave,
	.target = world_target,
	.start = world_start,
	.take_error = world_take_error,
	.condition = world_condition,
	.remakable = world_remakable,
	.wanted = world_wanted,
	.end = world_end,
	.replay = world_replay,
	.epoll_ctl = world_epoll_ctl,
	.slot = world_slot,
	.stats = world_stats,
	.first_calls = world_first_calls,
	.alone = world_alone,
	.entry_time = world_entry_time,
	.now = world_now,
	.wait = world_wait,
	.stopping = world_stopping,
	.random = world_random,
	.log = world_log,
	.log_wants = world_log_wants,
};

static inline unsigned world_count(const struct world *w, enum event_kind kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->event_count; i++)
		n += w->events[i].kind == kind;
	return n;
}

static inline void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	said_reset();
	w->clock = 1000 * DUR_S;
	w->call_time = DUR_MS;
	w->level = LOG_INFO_LEVEL;
	for (unsigned i = 0; i < WORLD_FDS; i++)
		w->identities[i] = WORLD_SOCKET;
	w->starts.rest = EINPROGRESS;
	w->conditions.rest = CONDITION_TRYING;
	prng_seed(&w->random, 1);
}

/* At the end of a case about connects under way. */
static inline void world_assert_released(const struct world *w)
{
	ck_assert_msg(w->depth == 0, "enter() without leave()");
	ck_assert_msg(w->unheld == 0, "a socket was touched with signals let through");
}

/* Fills a script: WORLD_SCRIPT(&w.starts, EINPROGRESS, ECONNREFUSED); */
static inline void world_script(struct world_script *s, unsigned count, const int *results)
{
	memcpy(s->results, results, count * sizeof(*results));
	s->count = count;
	s->used = 0;
}
#define WORLD_SCRIPT(s, ...) \
	world_script(s, sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), (int[]){ __VA_ARGS__ })

#endif
