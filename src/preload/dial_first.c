/* SPDX-License-Identifier: MIT */
/* What comes before a first attempt: faults, options of the socket, other places, and
 * what others know of the destination. */
#include <netinet/tcp.h>

#include "base/sys.h"
#include "engine/pending.h"
#include "engine/retry.h"
#include "preload/dial.h"
#include "preload/gate.h"
#include "preload/inject.h"
#include "preload/places.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "preload/signal.h"
#include "preload/target.h"
#include "state/peers.h"
#include "state/replay.h"
#include "state/tally.h"

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

/* Before the kernel has looked at an address, it may lead nowhere. */
static bool readable(const struct sockaddr *sa, socklen_t len)
{
	return len >= 8 && len <= sizeof(struct sockaddr_storage) &&
	       sys_all(sa, len, sys_readable);
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
	bool announced = dial_may_race(call->fd, sa, len);
	struct signal_hold hold;
	int error = 0;

	if (announced)
		pending_begin(&preload_ops, NULL, call);
	errno = entry_errno;
	if (first_is_injected(call->fd, sa, len) || real.connect(call->fd, sa, len) != 0)
		error = errno;
	if (announced && error != EINPROGRESS)
		dial_withdraw(call->fd);
	if (error == EINPROGRESS && !announced)
		pending_begin(&preload_ops, NULL, call);
	else if (error == 0 || dial_is_programs_affair(error))
		pending_first_over(&preload_ops, NULL, call, t, error);
	else if (error != EINPROGRESS)
		error = pending_failed_at_once(&preload_ops, &hold, call, t, error);
	if (!call->aim && (error == 0 || error == EINPROGRESS))
		peers_note(call->fd, call->sa, call->len, call->thread);
	return dial_finish(error, entry_errno);
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
	return dial_finish(error, entry_errno);
}

/* Others have a say; but not in a connect by which the program asks what has become of an
 * earlier one. */
static bool is_to_be_asked(int fd)
{
	enum condition now = probe_condition(fd);

	return now != CONDITION_CONNECTED && now != CONDITION_TRYING;
}

/* One that nothing else is wanted for. */
static int plain_first(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                       int64_t attempt_timeout, int entry_errno, bool *at_once)
{
	*at_once = false;
	if (first_is_injected(fd, sa, len))
		return dial_refused(fd, sa, len, began, entry_errno);
	errno = entry_errno;
	if (dial_call(fd, sa, len, began, attempt_timeout) != 0)
		return dial_refused(fd, sa, len, began, entry_errno);
	tally_call(sa, len, began);
	*at_once = true;
	return 0;
}

/* The next connect that others have a say in is not to be a quiet one. It may be to
 * another destination: then the time of this one is measured later. */
static _Atomic bool to_be_measured;

/* Others have a say in a blocking connect, and nothing to say: it is made as if they had
 * none. False: they have, and nothing was done. Signals are held back, as a handler must
 * not jump out of the making of the segment. */
static LR_NOINLINE bool quiet_first(int fd, const struct sockaddr *sa, socklen_t len,
                                    int64_t began, const struct target *t, int entry_errno,
                                    int *rc)
{
	char dest[DEST_TEXT_MAX];
	struct guarded who = { .ops = &preload_ops,
		               .policy = t->policy,
		               .dest = dest,
		               .addr = &t->addr,
		               .op = OP_CONNECT,
		               .attempt = 1 };
	struct guard guard = { .slot = NULL };
	struct signal_hold hold;
	bool at_once;
	bool quicker;

	if (atomic_exchange(&to_be_measured, false))
		return false;
	dest_text(dest, sizeof(dest), t->name.id ? t->name.name : NULL, &t->addr, t->addr.port);
	signal_hold(&hold);
	at_once = guard_is_quiet(&guard, &who);
	signal_release(&hold);
	if (!at_once)
		return false;
	*rc = plain_first(fd, sa, len, began, DUR_NONE, entry_errno, &at_once);
	if (!at_once)
		return true;
	if (!guard_first_done(&guard, &who, dur_sub(clock_at_entry(), began), &quicker))
		guard_succeeded(&guard, &who, false, 1, 0, kernel_time_of(began),
		                sys_monotonic());
	else if (quicker)
		atomic_store(&to_be_measured, true);
	return true;
}

/* The first attempt of a policy that wants something before it. */
static LR_NOINLINE int prepared(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                                int entry_errno)
{
	int64_t attempt_timeout = DUR_NONE;
	struct addr aim;
	struct target t;
	bool at_once;
	int rc;

	if (readable(sa, len) && runtime_owns_process() &&
	    target_find(&t, sa, len, thread_key()) &&
	    probe_socket_type(fd) == SOCK_STREAM && (t.rule || !addr_is_special(&t.addr))) {
		bool nonblocking = probe_nonblocking(fd);
		bool block = nonblocking && t.policy->nonblocking == NONBLOCKING_BLOCK;
		bool aimed = places_redirect(fd, &t, nonblocking, &aim);
		bool ask = guard_wants_first(t.policy) && t.mode == MODE_RETRY;

		if (t.mode == MODE_RETRY) {
			set_options(fd, &t.policy->socket);
			if (t.policy->send == SEND_FIRST_WRITE && t.policy->max_attempts > 1)
				replay_begin(fd, probe_identity(fd), t.policy->replay_buffer);
			if (t.policy->max_attempts > 1)
				attempt_timeout = t.policy->attempt_timeout;
		}
		if (ask && !nonblocking && !aimed && attempt_timeout == DUR_NONE &&
		    quiet_first(fd, sa, len, began, &t, entry_errno, &rc))
			return rc;
		ask = ask && is_to_be_asked(fd);
		if (t.mode == MODE_RETRY &&
		    (block || (!nonblocking && (aimed || attempt_timeout != DUR_NONE || ask)))) {
			tally_call(sa, len, began);
			return dial_finish(dial_drive(block ? &preload_block_ops : &preload_ops,
			                              fd, sa, len, &t, aimed ? &aim : NULL,
			                              began, 0),
			                   entry_errno);
		}
		if (aimed || (nonblocking && ask)) {
			tally_call(sa, len, began);
			return asked(fd, sa, len, aimed ? &aim : NULL, began, attempt_timeout, &t,
			             entry_errno);
		}
	}
	return plain_first(fd, sa, len, began, attempt_timeout, entry_errno, &at_once);
}

bool dial_before(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                 int entry_errno, int *rc)
{
	if (gate_now() & GATE_BEFORE_CONNECT) {
		*rc = prepared(fd, sa, len, began, entry_errno);
		return true;
	}
	if (!first_is_injected(fd, sa, len))
		return false;
	*rc = dial_refused(fd, sa, len, began, entry_errno);
	return true;
}
