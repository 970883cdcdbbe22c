/* SPDX-License-Identifier: MIT */
/*
 * connect(). The success path is the real call and one look at its result;
 * all else is behind the gate or behind a failure. Linux keeps a socket usable
 * after a failed connect, so retries stay on the program's own descriptor.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>

#include "base/sys.h"
#include "engine/connect.h"
#include "engine/pending.h"
#include "engine/retry.h"
#include "log/log.h"
#include "preload/gate.h"
#include "preload/ops.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "preload/signal.h"
#include "preload/target.h"
#include "state/names.h"

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
static int drive(const struct engine_ops *ops, int fd, const struct sockaddr *sa, socklen_t len,
                 const struct target *t, int64_t began, int error)
{
	struct connect_call call = { .fd = fd,
	                             .sa = sa,
	                             .len = len,
	                             .addr = &t->addr,
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

/* A non-blocking connect is under way. (A blocking one that SO_SNDTIMEO ended
 * says the same, and is the same from now on.) No system call is made here. */
static int under_way(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                     int64_t attempt_timeout)
{
	struct pending_call call = { .fd = fd,
	                             .sa = sa,
	                             .len = len,
	                             .began = began,
	                             .thread = thread_key(),
	                             .attempt_timeout = attempt_timeout };

	/* Not in a vfork child: the record would be its parent's. */
	if (gate_idle() || gate_open())
		pending_begin(&preload_ops, NULL, &call);
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
		error = drive(&preload_ops, fd, sa, len, &t, began, error);
	return finish(error, entry_errno);
}

/* Errors that no policy can retry. After some of them the address may not even
 * be readable: the kernel looks at the length first. */
static bool is_programs_affair(int error)
{
	return error == EINTR || error == EALREADY || error == EISCONN || error == EBADF ||
	       error == EFAULT || error == EINVAL || error == ENOTSOCK || error == EAFNOSUPPORT;
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
	struct pend_ref ref;
	int rc;

	under_way(fd, sa, len, began, attempt_timeout);
	errno = entry_errno;
	rc = real.connect(fd, sa, len);
	if (rc != 0 && errno == EINPROGRESS)
		return -1;
	if (fdtab_find(fd, &ref) && pend_state(&ref) == PEND_CONNECTING)
		fdtab_drop(&ref);
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
	return lr_unlikely(!__libc_single_threaded) && fdtab_knows(fd) && is_watched(fd) && sa &&
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
	return errno == EINPROGRESS ? under_way(fd, sa, len, began, attempt_timeout) : -1;
}

/* first_call() has failed. What the kernel goes on with (most non-blocking
 * connects), and what is the program's own affair, is no failure to us. */
static int refused(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                   int entry_errno)
{
	if (errno == EINPROGRESS || is_programs_affair(errno))
		return -1;
	return failed(fd, sa, len, began, entry_errno);
}

/* Before the kernel has looked at an address, it may lead nowhere. */
static bool readable(const struct sockaddr *sa, socklen_t len)
{
	return len >= 8 && len <= sizeof(struct sockaddr_storage) && sys_readable(sa) &&
	       sys_readable((const char *)sa + len - 8);
}

/* The first attempt of a policy that wants something before it. */
static LR_NOINLINE int prepared(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                                int entry_errno)
{
	int64_t attempt_timeout = DUR_NONE;
	struct target t;

	if (readable(sa, len) && runtime_owns_process() &&
	    target_find(&t, sa, len, thread_key()) && t.mode == MODE_RETRY &&
	    probe_socket_type(fd) == SOCK_STREAM && (t.rule || !addr_is_special(&t.addr))) {
		bool nonblocking = probe_nonblocking(fd);
		bool block = nonblocking && t.policy->nonblocking == NONBLOCKING_BLOCK;

		set_options(fd, &t.policy->socket);
		if (t.policy->max_attempts > 1)
			attempt_timeout = t.policy->attempt_timeout;
		if (block || (attempt_timeout != DUR_NONE && !nonblocking))
			return finish(drive(block ? &preload_block_ops : &preload_ops, fd, sa, len,
			                    &t, began, 0),
			              entry_errno);
	}
	errno = entry_errno;
	if (first_call(fd, sa, len, began, attempt_timeout) == 0)
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
	    target_find(&t, sa, len, thread_key()) && t.name.id &&
	    names_take_pending(&t.name, t.addr.port, &attempts, &waited))
		recovered(&t, attempts + 1, waited);
}

/* What a connect under way is asked first: ANSWER_CALL, or *error is the answer.
 * On a descriptor that was made blocking meanwhile the kernel waits, and so do
 * we, in a wait that makes the retries. */
static enum answer ask(int fd, int *error)
{
	struct signal_hold hold;
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	enum answer answer = pending_ask(&preload_ops, &hold, fd, error);

	while (answer == ANSWER_PENDING && !probe_nonblocking(fd)) {
		if (wrap_poll(&p, 1, -1) < 0) {
			*error = errno;
			if (*error != EINTR || signal_may_interrupt())
				return ANSWER_ERROR;
		}
		answer = pending_ask(&preload_ops, &hold, fd, error);
	}
	if (answer == ANSWER_PENDING)
		*error = EALREADY;
	return answer;
}

enum outcome {
	OUTCOME_KNOWN,  /* *error is the answer */
	OUTCOME_HIDDEN, /* it failed, and is retried */
	OUTCOME_OTHER   /* *error is that of another connect than the one under way */
};

/* The real call on a socket whose connect goes on in the kernel. What it tells is
 * believed of the connect under way if it names the same destination: else the
 * number is another socket's by now, or the program ends it with AF_UNSPEC. */
static enum outcome call_again(int fd, const struct sockaddr *sa, socklen_t len, int *error)
{
	struct signal_hold hold;
	struct pend_ref ref;
	int told = real.connect(fd, sa, len) == 0 ? 0 : errno;

	*error = told;
	if (told != 0 && told != EISCONN && told != EINPROGRESS && is_programs_affair(told))
		return OUTCOME_KNOWN;
	if (told == EINPROGRESS || !fdtab_find(fd, &ref) || ref.p->len != len ||
	    memcmp(&ref.p->sa, sa, len) != 0) {
		pending_withdraw(&preload_ops, &hold, fd);
		if (told == EINPROGRESS)
			under_way(fd, sa, len, clock_at_entry(), DUR_NONE);
		return told == 0 || told == EINPROGRESS ? OUTCOME_KNOWN : OUTCOME_OTHER;
	}
	*error = pending_result(&preload_ops, &hold, fd, told ? told : EISCONN);
	if (*error == EISCONN)
		*error = told;
	/* 0 stands for hidden there; it may be a socket connected to itself. */
	else if (*error == 0)
		return OUTCOME_HIDDEN;
	return OUTCOME_KNOWN;
}

static bool is_unspec(const struct sockaddr *sa, socklen_t len)
{
	return len >= sizeof(sa->sa_family) && sys_readable(sa) && sa->sa_family == AF_UNSPEC;
}

/*
 * <fd> has a connect under way already. Programs connect a second time to learn
 * how the first ended (hiredis, haproxy, Perl, Ruby), or to end it (AF_UNSPEC).
 * OUTCOME_KNOWN: *error is the answer. OUTCOME_OTHER: a connect of its own, not
 * made yet, or failed with *error. Without a failure no system call is made but
 * the program's.
 */
static LR_NOINLINE enum outcome connect_again(int fd, const struct sockaddr *sa, socklen_t len,
                                              int *error)
{
	struct signal_hold hold;
	struct pend_ref ref;
	enum outcome outcome;

	*error = 0;
	while (gate_open() && fdtab_find(fd, &ref)) {
		if (pend_state(&ref) != PEND_CONNECTING) {
			if (!runtime_owns_process())
				return OUTCOME_OTHER;
			if (is_unspec(sa, len)) {
				pending_withdraw(&preload_ops, &hold, fd);
				return OUTCOME_OTHER;
			}
			if (ask(fd, error) != ANSWER_CALL)
				return OUTCOME_KNOWN;
			if (!fdtab_find(fd, &ref)) {
				*error = 0;
				return OUTCOME_OTHER;
			}
		}
		outcome = call_again(fd, sa, len, error);
		if (outcome != OUTCOME_HIDDEN)
			return outcome;
		*error = EALREADY;
		if (probe_nonblocking(fd))
			return OUTCOME_KNOWN;
	}
	*error = 0;
	return OUTCOME_OTHER;
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
		if (connect_again(fd, sa, len, &error) == OUTCOME_KNOWN)
			return finish(error, entry_errno);
		if (error) {
			errno = error;
			return refused(fd, sa, len, began, entry_errno);
		}
		errno = entry_errno;
	}
	if (lr_unlikely(gate & GATE_BEFORE_CONNECT))
		rc = prepared(fd, sa, len, began, entry_errno);
	else if (lr_unlikely((rc = first_call(fd, sa, len, began, DUR_NONE)) != 0))
		return refused(fd, sa, len, began, entry_errno);
	if (lr_unlikely(rc == 0 && names_any_pending()))
		report_pending(fd, sa, len);
	return rc;
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
	if (lr_unlikely(names_any_pending()))
		report_pending(fd, sa, len);
	return 0;
}
