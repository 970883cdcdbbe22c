/* SPDX-License-Identifier: MIT */
/*
 * connect(). The success path is the real call and one look at its result;
 * all else is behind the gate or behind a failure. Linux keeps a socket usable
 * after a failed connect, so retries stay on the program's own descriptor.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/libc.h"
#include "base/sys.h"
#include "engine/connect.h"
#include "engine/pending.h"
#include "engine/retry.h"
#include "log/log.h"
#include "preload/dial.h"
#include "preload/gate.h"
#include "preload/inject.h"
#include "preload/ops.h"
#include "preload/places.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "preload/signal.h"
#include "preload/target.h"
#include "state/habit.h"
#include "state/peers.h"
#include "state/replay.h"
#include "state/tally.h"
#include "state/tried.h"

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

/* <aim>: where it is redirected to, or NULL. <error> 0: the first attempt is still to
 * be made. */
static int drive(const struct engine_ops *ops, int fd, const struct sockaddr *sa, socklen_t len,
                 const struct target *t, const struct addr *aim, int64_t began, int error)
{
	struct connect_call call = { .fd = fd,
	                             .sa = sa,
	                             .len = len,
	                             .addr = &t->addr,
	                             .aim = aim,
	                             .name = t->name.id ? &t->name : NULL,
	                             .policy = t->policy,
	                             .rule = t->rule,
	                             .mode = t->mode,
	                             .began = kernel_time_of(began),
	                             .limit = probe_send_timeout(fd) };

	struct signal_hold hold;

	signal_hold(&hold);
	error = engine_connect(ops, &hold, &call, error);
	signal_release(&hold);
	return error;
}

static int finish(int error, int entry_errno)
{
	errno = error ? error : entry_errno;
	return error ? -1 : 0;
}

/* Somebody wants to know whether the program goes on to another address. */
static LR_NOINLINE void note_attempt(const struct sockaddr *sa, socklen_t len)
{
	struct addr a;

	if (addr_from_sockaddr(&a, sa, len))
		habit_attempt(&a);
}

/* What this thread waited for before is no concern of this connection's. */
static inline void note_peer(int fd, const struct sockaddr *sa, socklen_t len, uintptr_t thread)
{
	thread_has_waited = false;
	peers_note(fd, sa, len, thread);
}

int dial_under_way(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                   int64_t attempt_timeout)
{
	struct pending_call call = { .fd = fd,
	                             .sa = sa,
	                             .len = len,
	                             .began = began,
	                             .thread = thread_key(),
	                             .attempt_timeout = attempt_timeout };

	/* Not in a vfork child: the record would be its parent's. */
	if (gate_idle() || gate_open()) {
		if (lr_unlikely(habit_watching()))
			note_attempt(sa, len);
		note_peer(fd, sa, len, call.thread);
		pending_begin(&preload_ops, NULL, &call);
	}
	errno = EINPROGRESS;
	return -1;
}

/* A non-blocking connect failed at once. */
static LR_NOINLINE int failed_at_once(int fd, const struct sockaddr *sa, socklen_t len,
                                      const struct target *t, int64_t began, int error)
{
	struct signal_hold hold;
	struct pending_call call = { .fd = fd,
	                             .sa = sa,
	                             .len = len,
	                             .began = began,
	                             .thread = thread_key(),
	                             .attempt_timeout = DUR_NONE };
	int rc = pending_failed_at_once(&preload_ops, &hold, &call, t, error);

	if (rc == error)
		passed(t, error, REASON_NONBLOCKING);
	else
		note_peer(fd, sa, len, call.thread);
	return rc;
}

/* Kept out of the fast path, with its frame. */
static LR_NOINLINE int failed(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                              int entry_errno)
{
	int error = errno;
	struct target t;

	/* In a vfork child the parent's memory is ours too: touch nothing. */
	if (!runtime_owns_process() || !target_find(&t, sa, len, thread_key()))
		return finish(error, entry_errno);
	runtime_report();
	if (gate_now() & GATE_OFF)
		return finish(error, entry_errno);
	if (probe_socket_type(fd) != SOCK_STREAM)
		passed(&t, error, REASON_DATAGRAM);
	else if (!t.rule && addr_is_special(&t.addr))
		passed(&t, error, REASON_SPECIAL);
	else if (probe_nonblocking(fd))
		error = failed_at_once(fd, sa, len, &t, began, error);
	else
		error = drive(&preload_ops, fd, sa, len, &t, NULL, began, error);
	return finish(error, entry_errno);
}

/* connect() did not say EINPROGRESS. */
static void withdraw_announced(int fd)
{
	struct pend_ref ref;

	if (fdtab_find(fd, &ref) && pend_state(&ref) == PEND_CONNECTING)
		fdtab_drop(&ref);
}

/*
 * <fd> stands in an epoll set, and other threads may wait there: on this machine
 * the refusal can reach them before connect() has returned to us. So the record
 * is begun before the call. (What the address holds has not been checked by the
 * kernel then; one that cannot be read would fault here, with EFAULT lost.)
 */
static LR_NOINLINE int announced(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                                 int64_t attempt_timeout)
{
	int entry_errno = errno;
	int rc;

	dial_under_way(fd, sa, len, began, attempt_timeout);
	errno = entry_errno;
	rc = real.connect(fd, sa, len);
	if (rc != 0 && errno == EINPROGRESS)
		return -1;
	withdraw_announced(fd);
	return rc;
}

static LR_NOINLINE bool is_watched(int fd)
{
	struct watch w;

	for (unsigned i = 0; i < FDTAB_WATCHES; i++)
		if (fdtab_watch_get(fd, i, &w))
			return true;
	return false;
}

static bool others_may_wait(int fd, const struct sockaddr *sa, socklen_t len)
{
	return lr_unlikely(!libc_single_threaded()) && fdtab_knows(fd) && is_watched(fd) && sa &&
	       len <= sizeof(struct sockaddr_storage);
}

/* The program's own call. With EINPROGRESS it is remembered. */
static inline int first_call(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                             int64_t attempt_timeout)
{
	if (others_may_wait(fd, sa, len))
		return announced(fd, sa, len, began, attempt_timeout);
	if (lr_likely(real.connect(fd, sa, len) == 0))
		return 0;
	return errno == EINPROGRESS ? dial_under_way(fd, sa, len, began, attempt_timeout) : -1;
}

/* first_call() has failed. What the kernel goes on with (most non-blocking
 * connects), and what is the program's own affair, is no failure to us. */
static int refused(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                   int entry_errno)
{
	if (errno == EINPROGRESS) {
		tally_call(sa, len, began);
		return -1;
	}
	if (dial_is_programs_affair(errno))
		return -1;
	tally_call(sa, len, began);
	if (habit_watching()) {
		int error = errno;

		note_attempt(sa, len);
		errno = error;
	}
	if (failed(fd, sa, len, began, entry_errno) != 0)
		return -1;
	note_peer(fd, sa, len, thread_key());
	return 0;
}

int dial_failed(int fd, const struct sockaddr *sa, socklen_t len)
{
	int64_t began = clock_at_entry();

	if (errno == EINPROGRESS) {
		tally_call(sa, len, began);
		return dial_under_way(fd, sa, len, began, DUR_NONE);
	}
	return refused(fd, sa, len, began, errno);
}

/* Before the kernel has looked at an address, it may lead nowhere. */
static bool readable(const struct sockaddr *sa, socklen_t len)
{
	return len >= 8 && len <= sizeof(struct sockaddr_storage) && sys_readable(sa) &&
	       sys_readable((const char *)sa + len - 8);
}

/* A fault strikes the first attempt: it fails with errno, and is not made. */
static bool first_is_injected(int fd, const struct sockaddr *sa, socklen_t len)
{
	int error;

	if (!inject_active() || !readable(sa, len) || !inject_first(fd, sa, len, &error))
		return false;
	errno = error;
	return true;
}

/* The first attempt of a non-blocking connect that a rule has redirected to call->aim,
 * or that others know of. */
static LR_NOINLINE int begun(struct pending_call *call, const struct target *t,
                             int entry_errno)
{
	struct sockaddr_storage ss;
	const struct sockaddr *sa = call->aim ? (const struct sockaddr *)&ss : call->sa;
	socklen_t len = call->aim ? addr_to_sockaddr(call->aim, &ss) : call->len;
	bool announced = others_may_wait(call->fd, sa, len);
	struct signal_hold hold;
	int error = 0;

	if (announced)
		pending_begin(&preload_ops, NULL, call);
	errno = entry_errno;
	if (first_is_injected(call->fd, sa, len) || real.connect(call->fd, sa, len) != 0)
		error = errno;
	if (announced && error != EINPROGRESS)
		withdraw_announced(call->fd);
	if (error == EINPROGRESS && !announced)
		pending_begin(&preload_ops, NULL, call);
	else if (error == 0 || dial_is_programs_affair(error))
		pending_first_over(&preload_ops, NULL, call, t, error);
	else if (error != EINPROGRESS)
		error = pending_failed_at_once(&preload_ops, &hold, call, t, error);
	if (!call->aim && (error == 0 || error == EINPROGRESS))
		peers_note(call->fd, call->sa, call->len, call->thread);
	return finish(error, entry_errno);
}

/* The same, if nobody else has a say in it. */
static LR_NOINLINE int asked(int fd, const struct sockaddr *sa, socklen_t len,
                             const struct addr *aim, int64_t began, int64_t attempt_timeout,
                             const struct target *t, int entry_errno)
{
	struct pending_call call = { .fd = fd,
		                     .sa = sa,
		                     .len = len,
		                     .aim = aim,
		                     .began = began,
		                     .thread = thread_key(),
		                     .attempt_timeout = attempt_timeout };
	struct signal_hold hold;
	int error;

	if (aim || !guard_wants_first(t->policy))
		return begun(&call, t, entry_errno);
	switch (pending_first(&preload_ops, &hold, &call, t, &error)) {
	case GUARD_GO:
		return begun(&call, t, entry_errno);
	case GUARD_PARK:
		error = EINPROGRESS;
		peers_note(fd, sa, len, call.thread);
		break;
	case GUARD_REFUSED:
		break;
	}
	return finish(error, entry_errno);
}

/* Others have a say. Not in a connect by which the program asks what has become of an
 * earlier one. */
static bool is_to_be_asked(int fd, const struct target *t)
{
	enum condition now;

	if (!guard_wants_first(t->policy) || t->mode != MODE_RETRY)
		return false;
	now = probe_condition(fd);
	return now != CONDITION_CONNECTED && now != CONDITION_TRYING;
}

/* The first attempt of a policy that wants something before it. */
static LR_NOINLINE int prepared(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                                int entry_errno)
{
	int64_t attempt_timeout = DUR_NONE;
	struct addr aim;
	struct target t;

	if (readable(sa, len) && runtime_owns_process() &&
	    target_find(&t, sa, len, thread_key()) &&
	    probe_socket_type(fd) == SOCK_STREAM && (t.rule || !addr_is_special(&t.addr))) {
		bool nonblocking = probe_nonblocking(fd);
		bool block = nonblocking && t.policy->nonblocking == NONBLOCKING_BLOCK;
		bool aimed = places_redirect(fd, &t, nonblocking, &aim);
		bool ask = is_to_be_asked(fd, &t);

		if (t.mode == MODE_RETRY) {
			set_options(fd, &t.policy->socket);
			if (t.policy->send == SEND_FIRST_WRITE && t.policy->max_attempts > 1)
				replay_begin(fd, probe_identity(fd), t.policy->replay_buffer);
			if (t.policy->max_attempts > 1)
				attempt_timeout = t.policy->attempt_timeout;
			if (block ||
			    (!nonblocking && (aimed || attempt_timeout != DUR_NONE || ask))) {
				tally_call(sa, len, began);
				return finish(drive(block ? &preload_block_ops : &preload_ops, fd,
				                    sa, len, &t, aimed ? &aim : NULL, began, 0),
				              entry_errno);
			}
		}
		if (aimed || (nonblocking && ask)) {
			tally_call(sa, len, began);
			return asked(fd, sa, len, aimed ? &aim : NULL, began, attempt_timeout, &t,
			             entry_errno);
		}
	}
	if (first_is_injected(fd, sa, len))
		return refused(fd, sa, len, began, entry_errno);
	errno = entry_errno;
	if (first_call(fd, sa, len, began, attempt_timeout) != 0)
		return refused(fd, sa, len, began, entry_errno);
	tally_call(sa, len, began);
	return 0;
}

/* What comes before a first attempt. True: *rc is the end of it, with errno. */
static LR_NOINLINE bool before_attempt(int fd, const struct sockaddr *sa, socklen_t len,
                                       int64_t began, int entry_errno, int *rc)
{
	if (gate_now() & GATE_BEFORE_CONNECT) {
		*rc = prepared(fd, sa, len, began, entry_errno);
		return true;
	}
	if (!first_is_injected(fd, sa, len))
		return false;
	*rc = refused(fd, sa, len, began, entry_errno);
	return true;
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
	    target_find(&t, sa, len, thread_key()) && t.name.id &&
	    names_take_pending(&t.name, t.addr.port, &attempts, &waited))
		recovered(&t, attempts + 1, waited);
}

/* Somebody wants to know. Without a recovery to report no system call is made. */
static LR_NOINLINE void tell_connected(int fd, const struct sockaddr *sa, socklen_t len)
{
	int saved = errno;
	struct addr a;

	if (habit_watching())
		note_attempt(sa, len);
	if (addr_from_sockaddr(&a, sa, len))
		tried_success_at(&a);
	if (names_any_pending())
		report_pending(fd, sa, len);
	errno = saved;
}

static inline void note_connected(int fd, const struct sockaddr *sa, socklen_t len)
{
	note_peer(fd, sa, len, thread_key());
	if (lr_unlikely(names_watching()))
		tell_connected(fd, sa, len);
}

/* By its first attempt. */
static inline void connected(int fd, const struct sockaddr *sa, socklen_t len, int64_t began)
{
	tally_call(sa, len, began);
	note_connected(fd, sa, len);
}

/* Something is to be done before the program's call. */
static LR_NOINLINE int gated(int fd, const struct sockaddr *sa, socklen_t len, int entry_errno)
{
	unsigned gate = gate_now();
	int64_t began;
	int error;
	int rc;

	if (lr_unlikely(gate)) {
		gate = runtime_enter(true);
		if (gate & GATE_REPORT)
			runtime_report();
		if (gate & GATE_PASS)
			return real.connect(fd, sa, len);
	}
	began = clock_at_entry();
	if (!gate_idle()) {
		if (dial_again(fd, sa, len, &error) == OUTCOME_KNOWN)
			return finish(error, entry_errno);
		if (error) {
			errno = error;
			return refused(fd, sa, len, began, entry_errno);
		}
	}
	if (lr_unlikely(gate & GATE_ATTEMPT) &&
	    before_attempt(fd, sa, len, began, entry_errno, &rc)) {
		if (rc == 0)
			note_connected(fd, sa, len);
		return rc;
	}
	errno = entry_errno;
	if (lr_unlikely(first_call(fd, sa, len, began, DUR_NONE) != 0))
		return refused(fd, sa, len, began, entry_errno);
	connected(fd, sa, len, began);
	return 0;
}

int wrap_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	int entry_errno = errno;
	int64_t began;

	if (lr_unlikely(gate_now() != 0 || !gate_idle()))
		return gated(fd, sa, len, entry_errno);
	began = clock_at_entry();
	if (lr_unlikely(first_call(fd, sa, len, began, DUR_NONE) != 0))
		return refused(fd, sa, len, began, entry_errno);
	connected(fd, sa, len, began);
	return 0;
}
