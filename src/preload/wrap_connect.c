/* SPDX-License-Identifier: MIT */
/*
 * connect(). The success path is the real call and one look at its result;
 * all else is behind the gate or behind a failure. Linux keeps a socket usable
 * after a failed connect, so retries stay on the program's own descriptor.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/sys.h"
#include "engine/connect.h"
#include "engine/retry.h"
#include "log/log.h"
#include "policy/match.h"
#include "preload/ops.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "preload/signal.h"
#include "state/names.h"

/* A destination and what is configured for it. */
struct target {
	struct addr addr;
	struct name_entry name; /* .id 0: no look-up is known */
	const struct config *config;
	const struct policy *policy;
	const struct rule *rule;
};

/* False: an address family that is not ours, or nothing is configured. */
static bool find_target(struct target *t, const struct sockaddr *sa, socklen_t len)
{
	struct dest d;

	t->config = runtime_config();
	if (!t->config || !addr_from_sockaddr(&t->addr, sa, len))
		return false;
	names_find(&t->addr, thread_key(), &t->name);
	d = (struct dest){ .op = OP_CONNECT,
	                   .host = t->name.id ? t->name.name : NULL,
	                   .addr = &t->addr,
	                   .port = t->addr.family == AF_UNIX ? -1 : t->addr.port,
	                   .proto = t->addr.family == AF_UNIX ? PROTO_UNIX : PROTO_TCP };
	t->rule = match_rule(&t->config->set, &d);
	t->policy = t->rule ? t->rule->policy : runtime_default_policy(t->config);
	return true;
}

static void passed(const struct target *t, int error, enum reason reason)
{
	struct event e;

	if (!log_wants(LOG_DEBUG_LEVEL))
		return;
	memset(&e, 0, sizeof(e));
	e.kind = EVENT_PASSED;
	e.op = OP_CONNECT;
	e.addr = &t->addr;
	e.error = (struct err){ ERR_ERRNO, error };
	e.reason = reason;
	e.left = DUR_NONE;
	log_emit(&e);
}

static void set_int(int fd, int level, int name, int value)
{
	sys_setsockopt(fd, level, name, &value, sizeof(value));
}

/* Whole seconds, at least one. */
static int seconds(int64_t ns)
{
	return ns < DUR_S ? 1 : (int)(ns / DUR_S);
}

/* "socket" of the policy. What the kernel refuses (TCP options on a Unix
 * socket) stays as it was. */
static void set_options(int fd, const struct socket_options *o)
{
	if (o->syn_count)
		set_int(fd, IPPROTO_TCP, TCP_SYNCNT, (int)o->syn_count);
	if (o->user_timeout)
		set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)(o->user_timeout / DUR_MS));
	if (o->keepalive_idle || o->keepalive_interval || o->keepalive_count)
		set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	if (o->keepalive_idle)
		set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds(o->keepalive_idle));
	if (o->keepalive_interval)
		set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds(o->keepalive_interval));
	if (o->keepalive_count)
		set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, (int)o->keepalive_count);
}

/* <error> 0: the first attempt is still to be made. */
static int drive(int fd, const struct sockaddr *sa, socklen_t len, const struct target *t,
                 int64_t began, int error)
{
	struct connect_call call = { .fd = fd,
	                             .sa = sa,
	                             .len = len,
	                             .addr = &t->addr,
	                             .name = t->name.id ? &t->name : NULL,
	                             .policy = t->policy,
	                             .rule = t->rule,
	                             .mode = runtime_mode(t->config),
	                             .began = kernel_time_of(began),
	                             .limit = probe_send_timeout(fd) };

	struct signal_hold hold;

	signal_hold(&hold);
	error = engine_connect(&preload_ops, &hold, &call, error);
	signal_release(&hold);
	return error;
}

static int finish(int error, int entry_errno)
{
	errno = error ? error : entry_errno;
	return error ? -1 : 0;
}

/* A non-blocking connect is under way: in this version that is all we say. */
static LR_NOINLINE int under_way(int fd, const struct sockaddr *sa, socklen_t len)
{
	int error = errno;
	struct target t;

	if (log_wants(LOG_DEBUG_LEVEL) && runtime_owns_process() && find_target(&t, sa, len) &&
	    probe_socket_type(fd) == SOCK_STREAM && probe_nonblocking(fd))
		passed(&t, error, REASON_NONBLOCKING);
	errno = error;
	return -1;
}

/* Kept out of the fast path, with its frame. */
static LR_NOINLINE int failed(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                              int entry_errno)
{
	int error = errno;
	struct target t;

	/* In a vfork child the parent's memory is ours too: touch nothing. */
	if (!runtime_owns_process() || !find_target(&t, sa, len))
		return finish(error, entry_errno);
	runtime_report();
	if (gate_now() & GATE_OFF)
		return finish(error, entry_errno);
	if (probe_socket_type(fd) != SOCK_STREAM)
		passed(&t, error, REASON_DATAGRAM);
	else if (!t.rule && addr_is_special(&t.addr))
		passed(&t, error, REASON_SPECIAL);
	else if (probe_nonblocking(fd))
		passed(&t, error, REASON_NONBLOCKING);
	else
		error = drive(fd, sa, len, &t, began, error);
	return finish(error, entry_errno);
}

/* Errors that no policy can retry. After some of them the address may not even
 * be readable: the kernel looks at the length first. */
static bool is_programs_affair(int error)
{
	return error == EINTR || error == EALREADY || error == EISCONN || error == EBADF ||
	       error == EFAULT || error == EINVAL || error == ENOTSOCK || error == EAFNOSUPPORT;
}

/* The real call has failed. What the kernel goes on with (most non-blocking
 * connects), and what is the program's own affair, is no failure to us. */
static int refused(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                   int entry_errno)
{
	if (errno == EINPROGRESS)
		return under_way(fd, sa, len);
	if (is_programs_affair(errno))
		return -1;
	return failed(fd, sa, len, began, entry_errno);
}

/* Before the kernel has looked at an address, it may lead nowhere. */
static bool readable(const struct sockaddr *sa, socklen_t len)
{
	return len >= 8 && len <= sizeof(struct sockaddr_storage) && sys_readable(sa) &&
	       sys_readable((const char *)sa + len - 8);
}

/* The first attempt of a policy with attempt_timeout or socket options. */
static LR_NOINLINE int prepared(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                                int entry_errno)
{
	struct target t;

	if (readable(sa, len) && runtime_owns_process() && find_target(&t, sa, len) &&
	    runtime_mode(t.config) == MODE_RETRY && probe_socket_type(fd) == SOCK_STREAM &&
	    (t.rule || !addr_is_special(&t.addr))) {
		set_options(fd, &t.policy->socket);
		if (t.policy->attempt_timeout != DUR_NONE && t.policy->max_attempts > 1 &&
		    !probe_nonblocking(fd))
			return finish(drive(fd, sa, len, &t, began, 0), entry_errno);
	}
	errno = entry_errno;
	if (real.connect(fd, sa, len) == 0)
		return 0;
	return refused(fd, sa, len, began, entry_errno);
}

static LR_NOINLINE void recovered(const struct target *t, unsigned attempts, int64_t waited)
{
	char dest[DEST_TEXT_MAX];
	struct event e;

	memset(&e, 0, sizeof(e));
	dest_text(dest, sizeof(dest), t->name.name, &t->addr, t->addr.port);
	e.kind = EVENT_RECOVERED;
	e.op = OP_CONNECT;
	e.dest = dest;
	e.addr = &t->addr;
	e.attempts = attempts;
	e.waited = waited;
	e.policy = t->policy->name;
	if (t->rule)
		e.rule = t->rule->source;
	e.left = DUR_NONE;
	log_emit(&e);
}

/* A connect that follows retries at another address of its name: the recovery
 * is reported here, where it happened. */
static LR_NOINLINE void report_pending(int fd, const struct sockaddr *sa, socklen_t len)
{
	struct target t;
	unsigned attempts;
	int64_t waited;

	if (runtime_owns_process() && probe_socket_type(fd) == SOCK_STREAM &&
	    find_target(&t, sa, len) && t.name.id &&
	    names_take_pending(&t.name, t.addr.port, &attempts, &waited))
		recovered(&t, attempts + 1, waited);
}

int wrap_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	int entry_errno = errno;
	unsigned gate = gate_now();
	int64_t began;
	int rc;

	if (lr_unlikely(gate)) {
		gate = runtime_enter(true);
		if (gate & GATE_REPORT)
			runtime_report();
		if (gate & GATE_PASS)
			return real.connect(fd, sa, len);
	}
	began = clock_at_entry();
	if (lr_unlikely(gate & GATE_BEFORE_CONNECT))
		rc = prepared(fd, sa, len, began, entry_errno);
	else if (lr_unlikely((rc = real.connect(fd, sa, len)) != 0))
		return refused(fd, sa, len, began, entry_errno);
	if (lr_unlikely(rc == 0 && names_any_pending()))
		report_pending(fd, sa, len);
	return rc;
}
