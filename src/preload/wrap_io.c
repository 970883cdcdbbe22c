/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes. Those on a socket whose connect is under way are one more
 * way to learn how it ended; all others go straight to libc.
 *
 * A retried connect is answered as the kernel answers for one under way: EAGAIN,
 * and on a blocking socket by waiting. SIGPIPE is none of ours: only the real
 * call raises it.
 */
#include "base/libc.h"
#include "base/sys.h"
#include "engine/pending.h"
#include "engine/wait.h"
#include "preload/gate.h"
#include "preload/inject.h"
#include "preload/io.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "preload/waits.h"

static bool fails(int error)
{
	errno = error;
	return false;
}

/*
 * Waits as the kernel would have, in poll(), which makes the retries. False: the
 * call fails with errno. The number may have become another socket's meanwhile,
 * and that one's data are not for this call.
 */
static bool wait_for(struct io *io)
{
	struct signal_hold hold;
	struct pollfd p = { .fd = io->fd, .events = (short)io->way };
	bool interrupted;
	int64_t left;
	int rc;

	if (!io->waited) {
		int64_t limit = io_time_limit(io);

		io->waited = true;
		io->identity = probe_identity(io->fd);
		io->deadline = limit == DUR_NONE ? DUR_NONE : dur_add(sys_monotonic(), limit);
	}
	do {
		left = wait_left(&preload_ops, &hold, io->deadline);
		rc = left > 0 ? waits_poll(&p, 1, wait_ms(left)) : 0;
		interrupted = rc < 0 && errno == EINTR;
		/* With a time limit the kernel never goes on with these calls
		 * after a handler, SA_RESTART or not (signal(7)). */
		if (interrupted && (io->deadline != DUR_NONE || signal_may_interrupt()))
			return fails(EINTR);
	} while (interrupted || (rc == 0 && left > 0));
	if (rc <= 0)
		return fails(EAGAIN);
	return probe_identity(io->fd) == io->identity || fails(EBADF);
}

/* What is known of the descriptor, if anything. In a vfork child it is not its
 * own; that is asked only where a connect failed before. */
static bool is_pending(int fd)
{
	struct pend_ref ref;

	if (fdtab_find(fd, &ref))
		return pend_state(&ref) == PEND_CONNECTING || runtime_owns_process();
	return fdtab_is_dup(fd);
}

/* A connect is under way. True: make the real call. */
static bool ask_first(struct io *io)
{
	struct signal_hold hold;
	struct pend_ref ref;
	int error;

	for (;;) {
		switch (pending_ask(&preload_ops, &hold, io->fd, &error)) {
		case ANSWER_ERROR:
			return fails(error);
		case ANSWER_PENDING:
			if (io_must_not_wait(io))
				return fails(EAGAIN);
			if (!wait_for(io))
				return false;
			break;
		case ANSWER_CALL:
			/* A dup of a socket that nobody connects has no record. */
			io->pending = fdtab_find(io->fd, &ref);
			return true;
		}
	}
}

/* True: make the real call, then call after(). False: fail with errno. */
static bool before(struct io *io)
{
	io->pending = gate_open() && is_pending(io->fd);
	if (io->pending && !ask_first(io))
		return false;
	return !(fdtab_word() & FDTAB_REPLAY) || again_before(io);
}

/* Errors that tell nothing of how the connect ended: it goes on, or they are of
 * this call alone. EPIPE came with its SIGPIPE. */
static bool tells_nothing(int error)
{
	return error == EAGAIN || error == EINTR || error == ENOTCONN || error == EALREADY ||
	       error == EINPROGRESS || error == EPIPE || error == EFAULT || error == EINVAL ||
	       error == EBADF || error == EMSGSIZE || error == ENOBUFS || error == ENOMEM;
}

/* EPIPE and ENOTCONN are also what a dissolved socket answers: another thread saw
 * the attempt fail after before() was asked. (A SIGPIPE was raised by then.) */
static bool dissolved_meanwhile(struct io *io, int error)
{
	struct pend_ref ref;

	return (error == EPIPE || error == ENOTCONN) && !libc_single_threaded() &&
	       fdtab_find(io->fd, &ref) && atomic_load(&ref.p->identity) != 0 &&
	       pend_state(&ref) != PEND_REPORTED && io->again++ < 8;
}

/* A call on a socket whose connect is under way returned <rc> >= 0: if anything
 * came or went, or if the connection is over, it is under way no more. */
static void learnt(struct io *io, ssize_t rc)
{
	struct signal_hold hold;
	enum condition now = CONDITION_CONNECTED;

	if (rc == 0)
		now = preload_ops.condition(&hold, io->fd);
	if (now == CONDITION_CONNECTED || now == CONDITION_RESET)
		pending_connected(&preload_ops, &hold, io->fd);
}

/* The real call returned *rc. True: its failure is not for the program; once
 * more from before(). */
static bool after(struct io *io, ssize_t *rc)
{
	struct signal_hold hold;
	int error = errno;

	if (*rc >= 0) {
		if (io->pending)
			learnt(io, *rc);
		if (again_succeeded(io, *rc))
			errno = io->entry_errno;
		else
			*rc = -1;
		return false;
	}
	if (io->pending && dissolved_meanwhile(io, error))
		return true;
	if (!io->pending || tells_nothing(error))
		return again_failed(io, error);
	if (!runtime_owns_process())
		return false;
	error = pending_result(&preload_ops, &hold, io->fd, error);
	return error == 0 || fails(error);
}

/* Faults strike what is sent over a connection, not what tells of its making. */
static bool must_ask(const struct io *io)
{
	return (fdtab_word() & FDTAB_SENDS) && !io->pending;
}

#define UNPACK(...) __VA_ARGS__

/* <made>: the call has been made once, and failed with errno. */
#define LOOP(ret, name, params, call, ...) \
	static LR_NOINLINE ret name##_loop(UNPACK params, bool made) \
	{ \
		struct io io = { .fd = fd, .entry_errno = errno, __VA_ARGS__ }; \
		ssize_t rc = -1; \
\
		if (made && !after(&io, &rc)) \
			return -1; \
		do { \
			if (!before(&io)) \
				return -1; \
			rc = call; \
		} while (after(&io, &rc)); \
		return (ret)rc; \
	}

#define KEEP_3(a, b, c) LR_KEEP(a); LR_KEEP(b); LR_KEEP(c)
#define KEEP_4(a, b, c, d) KEEP_3(a, b, c); LR_KEEP(d)
#define KEEP_5(a, b, c, d, e) KEEP_4(a, b, c, d); LR_KEEP(e)
#define KEEP_6(a, b, c, d, e, f) KEEP_5(a, b, c, d, e); LR_KEEP(f)
#define KEEP_7(a, b, c, d, e, f, g) KEEP_6(a, b, c, d, e, f); LR_KEEP(g)
#define KEPT_3(a, b, c) kept_##a, kept_##b, kept_##c
#define KEPT_4(a, b, c, d) KEPT_3(a, b, c), kept_##d
#define KEPT_5(a, b, c, d, e) KEPT_4(a, b, c, d), kept_##e
#define KEPT_6(a, b, c, d, e, f) KEPT_5(a, b, c, d, e), kept_##f
#define KEPT_7(a, b, c, d, e, f, g) KEPT_6(a, b, c, d, e, f), kept_##g

/* The real call, and one look at its result. */
#define CALL(ret, name, n, args) \
	KEEP_##n args; \
	ret rc = real.name args; \
\
	if (lr_likely(rc >= 0)) \
		return rc; \
	return name##_loop(KEPT_##n args, true)

#define WRAP_WRITE(ret, name, params, n, args, call, ...) \
	LOOP(ret, name, params, call, .way = WRITES, __VA_ARGS__) \
\
	LR_NO_CANARY ret wrap_##name params \
	{ \
		if (!gate_idle_sends()) \
			return name##_loop(UNPACK args, false); \
		CALL(ret, name, n, args); \
	}

#define WRAP_SEND(ret, name, params, n, args, ...) \
	WRAP_WRITE(ret, name, params, n, args, \
	           must_ask(&io) ? inject_##name args : real.name args, __VA_ARGS__)

/* Before anything was connected no failure of a read matters. */
#define WRAP_READ(ret, name, params, n, args, ...) \
	LOOP(ret, name, params, real.name args, .way = READS, __VA_ARGS__) \
\
	static LR_NOINLINE LR_NO_CANARY ret name##_looked_at params \
	{ \
		if (!gate_idle_reads()) \
			return name##_loop(UNPACK args, false); \
		CALL(ret, name, n, args); \
	} \
\
	ret wrap_##name params \
	{ \
		if (gate_idle_unconnected()) \
			return real.name args; \
		return name##_looked_at args; \
	}

WRAP_SEND(ssize_t, send, (int fd, const void *buf, size_t len, int flags), 4, (fd, buf, len, flags),
          .flags = &flags, .form = BUFFER, .data = buf, .count = len)
WRAP_SEND(ssize_t, sendto,
          (int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
           socklen_t to_len),
          6, (fd, buf, len, flags, to, to_len), .flags = &flags, .form = BUFFER, .data = buf,
          .count = len, .to = to, .to_len = to_len)
WRAP_SEND(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags), 3, (fd, msg, flags),
          .flags = &flags, .form = MESSAGE, .data = msg)
WRAP_SEND(int, sendmmsg, (int fd, struct mmsghdr *msgs, unsigned n, int flags),
          4, (fd, msgs, n, flags), .flags = &flags, .form = MESSAGES, .data = msgs, .count = n)
WRAP_SEND(ssize_t, write, (int fd, const void *buf, size_t len), 3, (fd, buf, len), .form = BUFFER,
          .data = buf, .count = len)
WRAP_SEND(ssize_t, writev, (int fd, const struct iovec *iov, int n), 3, (fd, iov, n),
          .form = VECTOR, .data = iov, .count = (size_t)n)

WRAP_READ(ssize_t, recv, (int fd, void *buf, size_t len, int flags), 4, (fd, buf, len, flags),
          .flags = &flags)
WRAP_READ(ssize_t, __recv_chk, (int fd, void *buf, size_t len, size_t size, int flags),
          5, (fd, buf, len, size, flags), .flags = &flags)
WRAP_READ(ssize_t, recvfrom,
          (int fd, void *buf, size_t len, int flags, struct sockaddr *from, socklen_t *from_len),
          6, (fd, buf, len, flags, from, from_len), .flags = &flags)
WRAP_READ(ssize_t, __recvfrom_chk,
          (int fd, void *buf, size_t len, size_t size, int flags, struct sockaddr *from,
           socklen_t *from_len),
          7, (fd, buf, len, size, flags, from, from_len), .flags = &flags)
WRAP_READ(ssize_t, recvmsg, (int fd, struct msghdr *msg, int flags), 3, (fd, msg, flags),
          .flags = &flags)
WRAP_READ(int, recvmmsg,
          (int fd, struct mmsghdr *msgs, unsigned n, int flags, struct timespec *timeout),
          5, (fd, msgs, n, flags, timeout), .flags = &flags)
WRAP_READ(ssize_t, read, (int fd, void *buf, size_t len), 3, (fd, buf, len), .flags = NULL)
WRAP_READ(ssize_t, __read_chk, (int fd, void *buf, size_t len, size_t size),
          4, (fd, buf, len, size), .flags = NULL)
WRAP_READ(ssize_t, readv, (int fd, const struct iovec *iov, int n), 3, (fd, iov, n), .flags = NULL)

#if LR_TIME64
WRAP_WRITE(ssize_t, __sendmsg64, (int fd, const struct msghdr *msg, int flags),
           3, (fd, msg, flags),
           must_ask(&io) ? inject_sendmsg(fd, msg, flags) : real.__sendmsg64(fd, msg, flags),
           .flags = &flags, .form = MESSAGE, .data = msg)
WRAP_WRITE(int, __sendmmsg64, (int fd, struct mmsghdr *msgs, unsigned n, int flags),
           4, (fd, msgs, n, flags),
           must_ask(&io) ? inject_sendmmsg(fd, msgs, n, flags)
                         : real.__sendmmsg64(fd, msgs, n, flags),
           .flags = &flags, .form = MESSAGES, .data = msgs, .count = n)
WRAP_READ(ssize_t, __recvmsg64, (int fd, struct msghdr *msg, int flags), 3, (fd, msg, flags),
          .flags = &flags)
WRAP_READ(int, __recvmmsg64,
          (int fd, struct mmsghdr *msgs, unsigned n, int flags, struct timespec64 *timeout),
          5, (fd, msgs, n, flags, timeout), .flags = &flags)
#endif

/* What goes past the program's memory cannot be kept. */
WRAP_WRITE(ssize_t, sendfile, (int fd, int from, off_t *at, size_t len), 4, (fd, from, at, len),
           real.sendfile(fd, from, at, len), .form = NOTHING)
WRAP_WRITE(ssize_t, sendfile64, (int fd, int from, loff_t *at, size_t len),
           4, (fd, from, at, len), real.sendfile64(fd, from, at, len), .form = NOTHING)

/* One of the two is a pipe, and which one nobody asks: whether the other is a socket
 * that we know, memory tells. */
static bool is_source(int from, int fd)
{
	struct pend_ref ref;
	struct peer peer;

	return !fdtab_find(fd, &ref) && !peers_find(fd, &peer) &&
	       (fdtab_find(from, &ref) || peers_find(from, &peer));
}

static LR_NOINLINE ssize_t splice_loop(int from, loff_t *from_at, int fd, loff_t *at, size_t len,
                                       unsigned flags, bool made)
{
	bool source = is_source(from, fd);
	struct io io = { .fd = source ? from : fd,
		         .way = source ? READS : WRITES,
		         .entry_errno = errno };
	ssize_t rc = -1;

	if (made && !after(&io, &rc))
		return -1;
	do {
		if (!before(&io))
			return -1;
		rc = real.splice(from, from_at, fd, at, len, flags);
	} while (after(&io, &rc));
	return rc;
}

LR_NO_CANARY ssize_t wrap_splice(int from, loff_t *from_at, int fd, loff_t *at, size_t len,
                                 unsigned flags)
{
	if (!gate_idle_sends())
		return splice_loop(from, from_at, fd, at, len, flags, false);
	KEEP_6(from, from_at, fd, at, len, flags);
	ssize_t rc = real.splice(from, from_at, fd, at, len, flags);

	if (lr_likely(rc >= 0))
		return rc;
	return splice_loop(KEPT_6(from, from_at, fd, at, len, flags), true);
}
