/* SPDX-License-Identifier: MIT */
#include "preload/inject.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/sys.h"
#include "engine/guard.h"
#include "engine/retry.h"
#include "log/log.h"
#include "policy/match.h"
#include "preload/ops.h"
#include "preload/probe.h"
#include "state/fdtab.h"
#include "state/names.h"

static const struct inject_set *_Atomic current;
static _Atomic uint64_t seed;
static _Atomic int64_t started;
static _Atomic uint32_t calls[INJECT_FAULTS_MAX]; /* that each has matched */

void inject_arm(void)
{
	atomic_store(&started, sys_monotonic());
	fdtab_raise(FDTAB_SENDS);
}

static bool has_sends(const struct inject_set *set)
{
	for (unsigned i = 0; i < set->count; i++)
		if (set->faults[i].op == OP_SEND)
			return true;
	return false;
}

bool inject_publish(const struct inject_set *set)
{
	if (set && (!set->enabled || set->count == 0))
		set = NULL;
	/* Nobody is struck while the counts are set back. */
	atomic_store(&current, NULL);
	for (unsigned i = 0; i < INJECT_FAULTS_MAX; i++)
		atomic_store(&calls[i], 0);
	if (set)
		atomic_store(&seed, set->seeded ? set->seed : thread_random());
	if (set && has_sends(set))
		fdtab_raise(FDTAB_SENDS);
	else
		fdtab_lower(FDTAB_SENDS);
	atomic_store(&current, set);
	return set != NULL;
}

void inject_postfork_child(void)
{
	const struct inject_set *set = atomic_load(&current);

	if (set && !set->seeded)
		atomic_store(&seed, thread_random());
}

/* Not by the type: a raw socket, or netlink's, is a datagram's as well. */
enum proto inject_proto(int fd)
{
	int domain = -1;
	int protocol = -1;
	socklen_t len = sizeof(int);

	if (sys_getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0 ||
	    sys_getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) != 0)
		return PROTO_OTHER;
	if (domain == AF_UNIX)
		return PROTO_UNIX;
	if (domain != AF_INET && domain != AF_INET6)
		return PROTO_OTHER;
	if (protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP)
		return PROTO_TCP;
	return protocol == IPPROTO_UDP ? PROTO_UDP : PROTO_OTHER;
}

/* Programs connect datagram sockets to ask for a route; who wants those to fail
 * says so. */
static bool matches(const struct fault *f, const struct inject_call *call)
{
	if (call->dest.op == OP_CONNECT && !call->stream && f->match.proto == PROTO_ANY)
		return false;
	return inject_matches(f, &call->dest);
}

/* Takes out of <one> what cannot be done to this call, or changes nothing any
 * more; false if nothing is left. */
static bool keep_possible(struct injection *one, const struct inject_call *call,
                          const struct injection *sum)
{
	if (!call->can_wait)
		one->delay = 0;
	if (!call->stream || call->len <= one->short_write)
		one->short_write = 0;
	if (sum->error.code || (one->reset && !call->stream)) {
		one->error.code = 0;
		one->reset = false;
		one->short_write = 0;
	}
	return one->error.code || one->delay || one->short_write;
}

static void add(struct injection *sum, const struct injection *one)
{
	sum->delay = dur_add(sum->delay, one->delay);
	if (one->error.code) {
		sum->error = one->error;
		sum->reset = one->reset;
	}
	if (one->short_write && (!sum->short_write || one->short_write < sum->short_write))
		sum->short_write = one->short_write;
}

static LR_NOINLINE void log_injected(const struct dest *d, const struct fault *f,
                                     const struct injection *one)
{
	char text[DEST_TEXT_MAX];
	bool nameless = d->addr && d->addr->family == AF_UNIX && !d->addr->path[0];
	struct event e;

	runtime_report();
	memset(&e, 0, sizeof(e));
	dest_text(text, sizeof(text), d->host, d->addr, d->port);
	e.kind = EVENT_INJECTED;
	e.op = d->op;
	e.dest = text[0] ? text : NULL;
	e.addr = nameless ? NULL : d->addr;
	e.error = one->error;
	e.delay = one->delay;
	e.short_write = one->short_write;
	e.reset = one->reset;
	e.rule = f->source;
	e.left = DUR_NONE;
	log_emit(&e);
}

/* Where the outcome of the call will be counted. In observe mode nothing that others
 * see is changed. */
static LR_NOINLINE void count_injected(const struct dest *d)
{
	const struct config *c = runtime_config();
	const struct rule *rule = c ? match_rule(&c->set, d) : NULL;
	char text[DEST_TEXT_MAX];
	struct guarded who = { .ops = &preload_ops, .dest = text, .addr = d->addr, .op = d->op };

	if (!c || runtime_mode(c) != MODE_RETRY)
		return;
	dest_text(text, sizeof(text), d->host, d->addr, d->port);
	who.policy = rule ? rule->policy : runtime_default_policy(c);
	if (text[0])
		guard_injected(&who);
}

void inject_ask(const struct inject_call *call, struct injection *sum)
{
	const struct inject_set *set = atomic_load(&current);
	int64_t since = sys_monotonic() - atomic_load(&started);
	bool struck = false;

	memset(sum, 0, sizeof(*sum));
	for (unsigned i = 0; set && i < set->count; i++) {
		const struct fault *f = &set->faults[i];
		struct injection one;

		if (!matches(f, call) ||
		    !inject_decide(f, i, atomic_fetch_add(&calls[i], 1) + UINT64_C(1), since,
		                   atomic_load(&seed), &one) ||
		    !keep_possible(&one, call, sum))
			continue;
		add(sum, &one);
		log_injected(&call->dest, f, &one);
		struck = true;
	}
	if (struck)
		count_injected(&call->dest);
}

static LR_NOINLINE bool ask_connect(int fd, const struct sockaddr *sa, socklen_t len,
                                    bool can_wait, struct injection *sum)
{
	int type = probe_socket_type(fd);
	struct addr addr;
	struct name_entry name;
	struct inject_call call = { .stream = type == SOCK_STREAM, .can_wait = can_wait };

	if (type < 0 || !addr_from_sockaddr(&addr, sa, len) || !runtime_owns_process())
		return false;
	name.id = 0;
	names_find(&addr, thread_key(), &name);
	call.dest = (struct dest){ .op = OP_CONNECT,
	                           .host = name.id ? name.name : NULL,
	                           .addr = &addr,
	                           .port = addr.family == AF_UNIX ? -1 : addr.port,
	                           .proto = inject_proto(fd) };
	inject_ask(&call, sum);
	return true;
}

static enum wake sit_out(int64_t delay)
{
	struct signal_hold hold;
	enum wake wake;

	signal_hold(&hold);
	wake = preload_ops.wait(&hold, dur_add(sys_monotonic(), delay));
	signal_release(&hold);
	return wake;
}

bool inject_first(int fd, const struct sockaddr *sa, socklen_t len, int *error)
{
	int64_t limit = probe_send_timeout(fd);
	struct injection sum;

	if (!ask_connect(fd, sa, len, !probe_nonblocking(fd), &sum))
		return false;
	if (limit != DUR_NONE && sum.delay >= limit) {
		/* As in inject_attempt(). */
		sit_out(limit);
		*error = EINPROGRESS;
		return true;
	}
	/* What a signal cuts short is the delay: an EINTR would say that the
	 * attempt goes on in the kernel. */
	if (sum.delay)
		sit_out(sum.delay);
	*error = sum.error.code;
	return *error != 0;
}

bool inject_attempt(struct signal_hold *hold, int fd, const struct sockaddr *sa, socklen_t len,
                    int64_t *limit, bool *expired, int *error)
{
	struct injection sum;
	bool all;

	if (!ask_connect(fd, sa, len, true, &sum))
		return false;
	all = *limit != DUR_NONE && sum.delay >= *limit;
	if (sum.delay)
		preload_ops.wait(hold, dur_add(sys_monotonic(), all ? *limit : sum.delay));
	/* As if no answer had come. (Nothing goes on in the kernel then, which a
	 * program that set SO_SNDTIMEO itself may believe.) */
	if (all) {
		*expired = true;
		*error = EINPROGRESS;
		return true;
	}
	*limit = dur_sub(*limit, sum.delay);
	*error = sum.error.code;
	return *error != 0;
}

bool inject_start(int fd, const struct sockaddr *sa, socklen_t len, int *error)
{
	struct injection sum;

	if (!ask_connect(fd, sa, len, false, &sum))
		return false;
	*error = sum.error.code;
	return *error != 0;
}

bool inject_lookup(const char *host, int port, enum proto proto, struct err *e)
{
	struct inject_call call = { .can_wait = true };
	struct injection sum;

	if (!runtime_owns_process())
		return false;
	call.dest = (struct dest){
		.op = OP_LOOKUP, .host = host, .port = port, .proto = proto
	};
	inject_ask(&call, &sum);
	if (sum.delay)
		sit_out(sum.delay);
	*e = sum.error;
	return e->code != 0;
}
