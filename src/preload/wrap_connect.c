/* SPDX-License-Identifier: MIT */
/*
 * connect(). The success path is the real call and one look at its result;
 * all else is behind the gate or behind a failure. Linux keeps a socket usable
 * after a failed connect, so retries stay on the program's own descriptor.
 */
#include <errno.h>
#include <string.h>

#include "base/libc.h"
#include "base/sys.h"
#include "engine/connect.h"
#include "engine/pending.h"
#include "engine/retry.h"
#include "log/log.h"
#include "preload/dial.h"
#include "preload/gate.h"
#include "preload/leaving.h"
#include "preload/ops.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "preload/signal.h"
#include "preload/target.h"
#include "state/carry.h"
#include "state/habit.h"
#include "state/peers.h"
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

int dial_drive(const struct engine_ops *ops, int fd, const struct sockaddr *sa, socklen_t len,
               const struct target *t, const struct addr *aim, int64_t began, int error)
{
	struct turn turn = { .word = 0 };
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
	                             .limit = probe_send_timeout(fd),
	                             .turn = &turn };
	struct signal_hold hold;

	signal_hold(&hold);
	LEAVING_PUSH_IF(leaves_turn(call.policy), leave_turn, &turn);
	error = engine_connect(ops, &hold, &call, error);
	LEAVING_POP(0);
	signal_release(&hold);
	return error;
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
	thread_connects();
	peers_note(fd, sa, len, thread);
}

static LR_NOINLINE int begin_slowly(int fd, const struct sockaddr *sa, socklen_t len,
                                    int64_t began, int64_t attempt_timeout)
{
	struct pending_call call = { .fd = fd,
	                             .sa = sa,
	                             .len = len,
	                             .began = began,
	                             .thread = thread_key(),
	                             .attempt_timeout = attempt_timeout };

	peers_note(fd, sa, len, call.thread);
	pending_begin(&preload_ops, NULL, &call);
	errno = EINPROGRESS;
	return -1;
}

/* Not in a vfork child: the record would be its parent's. */
static inline bool may_begin(void)
{
	return (gate_idle() && !thread_is_vforked()) || gate_open();
}

int dial_under_way(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                   int64_t attempt_timeout)
{
	if (may_begin()) {
		if (lr_unlikely(habit_watching()))
			note_attempt(sa, len);
		thread_connects();
		if (attempt_timeout != DUR_NONE ||
		    !fdtab_begin_young(fd, sa, len, began, thread_key()))
			return begin_slowly(fd, sa, len, began, attempt_timeout);
		peers_seen();
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
		return dial_finish(error, entry_errno);
	runtime_report();
	if (gate_now() & GATE_OFF)
		return dial_finish(error, entry_errno);
	if (probe_socket_type(fd) != SOCK_STREAM)
		passed(&t, error, REASON_DATAGRAM);
	else if (!t.rule && addr_is_special(&t.addr))
		passed(&t, error, REASON_SPECIAL);
	else if (probe_nonblocking(fd))
		error = failed_at_once(fd, sa, len, &t, began, error);
	else
		error = dial_drive(&preload_ops, fd, sa, len, &t, NULL, began, error);
	return dial_finish(error, entry_errno);
}

void dial_withdraw(int fd)
{
	struct pend_ref ref;

	if (!fdtab_drop_young(fd) && fdtab_find(fd, &ref) && pend_state(&ref) == PEND_CONNECTING)
		fdtab_drop(&ref);
}

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
	dial_withdraw(fd);
	return rc;
}

bool dial_is_watched(int fd)
{
	struct watch w;

	for (unsigned i = 0; i < FDTAB_WATCHES; i++)
		if (fdtab_watch_get(fd, i, &w))
			return true;
	return false;
}

int dial_call(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
              int64_t attempt_timeout)
{
	if (dial_may_race(fd, sa, len))
		return announced(fd, sa, len, began, attempt_timeout);
	if (lr_likely(real.connect(fd, sa, len) == 0))
		return 0;
	return errno == EINPROGRESS ? dial_under_way(fd, sa, len, began, attempt_timeout) : -1;
}

int dial_refused(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
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
	return dial_refused(fd, sa, len, began, errno);
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
static LR_NOINLINE int tell_connected(int fd, const struct sockaddr *sa, socklen_t len)
{
	int saved = errno;
	struct addr a;

	if (habit_watching())
		note_attempt(sa, len);
	if (addr_from_sockaddr(&a, sa, len)) {
		tried_success_at(&a);
		if (carry_watching())
			carry_succeeded(carry_key_addr(&a));
	}
	if (names_any_pending())
		report_pending(fd, sa, len);
	errno = saved;
	return 0;
}

/* Also after what dial_before() did. */
static LR_NOINLINE int note_connected(int fd, const struct sockaddr *sa, socklen_t len)
{
	if (thread_is_vforked())
		return 0;
	note_peer(fd, sa, len, thread_key());
	return lr_unlikely(names_watching()) ? tell_connected(fd, sa, len) : 0;
}

static LR_NOINLINE int connected_other(int fd, const struct sockaddr *sa, socklen_t len)
{
	tally_call(sa, len, clock_at_entry());
	return note_connected(fd, sa, len);
}

/* Counted, but not noted: <busy> is fdtab_note_four()'s. */
static LR_NOINLINE int connected_again(int fd, const struct sockaddr *sa, socklen_t len,
                                       uint64_t busy)
{
	if (!busy)
		return note_connected(fd, sa, len);
	fdtab_note_end(fd, busy, FDTAB_NOTE_KEPT);
	return lr_unlikely(names_watching()) ? tell_connected(fd, sa, len) : 0;
}

/* By its first attempt, where connects are noted. */
LR_INLINE int connected(int fd, const struct sockaddr *sa, socklen_t len)
{
	uint64_t busy;

	if (lr_unlikely(!addr_is_four(sa, len)) || lr_unlikely(!tally_call_four(sa)))
		return connected_other(fd, sa, len);
	thread_connects();
	if (lr_unlikely(!fdtab_note_four(fd, sa, thread_key(), 0, FDTAB_NOTE_KEPT, &busy)))
		return connected_again(fd, sa, len, busy);
	return lr_unlikely(names_watching()) ? tell_connected(fd, sa, len) : 0;
}

static LR_NOINLINE int under_way_other(int fd, const struct sockaddr *sa, socklen_t len,
                                       int64_t began)
{
	tally_call(sa, len, began);
	return dial_under_way(fd, sa, len, began, DUR_NONE);
}

static LR_NOINLINE int under_way_again(int fd, const struct sockaddr *sa, socklen_t len,
                                       int64_t began, uint64_t busy)
{
	if (!busy)
		return dial_under_way(fd, sa, len, began, DUR_NONE);
	fdtab_note_end(fd, busy, FDTAB_NOTE_YOUNG);
	return -1;
}

/* The program's first attempt goes on in the kernel; connects are noted. */
LR_INLINE int under_way(int fd, const struct sockaddr *sa, socklen_t len, int64_t began)
{
	uint64_t busy;

	if (lr_unlikely(len != sizeof(struct sockaddr_in)) || lr_unlikely(!addr_is_four(sa, len)) ||
	    lr_unlikely(habit_watching()) || lr_unlikely(!tally_call_four(sa)))
		return under_way_other(fd, sa, len, began);
	thread_connects();
	if (lr_unlikely(!fdtab_note_four(fd, sa, thread_key(), began, FDTAB_NOTE_YOUNG, &busy)))
		return under_way_again(fd, sa, len, began, busy);
	return -1;
}

/* Something is to be done before the program's call. */
static LR_NOINLINE int gated(int fd, const struct sockaddr *sa, socklen_t len)
{
	int entry_errno = errno;
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
			return dial_finish(error, entry_errno);
		if (error) {
			errno = error;
			return dial_refused(fd, sa, len, began, entry_errno);
		}
	}
	if (lr_unlikely(gate & GATE_ATTEMPT) &&
	    dial_before(fd, sa, len, began, entry_errno, &rc)) {
		return rc == 0 ? note_connected(fd, sa, len) : rc;
	}
	errno = entry_errno;
	if (lr_unlikely(dial_call(fd, sa, len, began, DUR_NONE) != 0))
		return dial_refused(fd, sa, len, began, entry_errno);
	return connected_other(fd, sa, len);
}

/* Connects of other descriptors are under way, of which none has failed. */
static inline bool is_others_affair(int fd)
{
	return gate_young_noted() && !fdtab_knows(fd);
}

LR_NO_CANARY int wrap_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	if (lr_unlikely(gate_now() != 0) || (!gate_idle_noted() && !is_others_affair(fd)) ||
	    (lr_unlikely(!libc_single_threaded()) && fdtab_knows(fd)))
		return gated(fd, sa, len);
	LR_KEEP(fd);
	LR_KEEP(sa);
	LR_KEEP(len);
	int entry_errno = runtime_errno();
	LR_KEEP(entry_errno);
	struct timespec began;

	clock_gettime(CLOCK_MONOTONIC, &began);
	if (lr_likely(real.connect(kept_fd, kept_sa, kept_len) == 0))
		return connected(kept_fd, kept_sa, kept_len);
	if (lr_likely(runtime_errno() == EINPROGRESS))
		return under_way(kept_fd, kept_sa, kept_len, entry_ns(&began));
	return dial_refused(kept_fd, kept_sa, kept_len, entry_ns(&began), kept_entry_errno);
}
