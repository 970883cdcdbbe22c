/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes. Those on a socket whose connect is under way are one more
 * way to learn how it ended; all others go straight to libc.
 *
 * A retried connect is answered as the kernel answers for one under way: EAGAIN,
 * and on a blocking socket by waiting. SIGPIPE is none of ours: only the real
 * call raises it.
 */
#include <sys/time.h>

#include "base/sys.h"
#include "engine/pending.h"
#include "engine/wait.h"
#include "preload/gate.h"
#include "preload/probe.h"
#include "preload/real.h"

enum way {
	READS = POLLIN,
	WRITES = POLLOUT
};

/* One call of the program's. */
struct io {
	int fd;
	enum way way;
	bool dontwait;     /* MSG_DONTWAIT */
	bool pending;      /* a connect is under way: the result is looked at */
	bool waited;       /* the two below are set */
	unsigned again;    /* times that a dissolved socket answered */
	int64_t deadline;  /* ns, monotonic: the socket's own time limit; DUR_NONE */
	uint64_t identity;
	int entry_errno;
};

static int64_t time_limit(int fd, enum way way)
{
	struct timeval tv = { 0, 0 };
	socklen_t len = sizeof(tv);

	if (way == WRITES)
		return probe_send_timeout(fd);
	if (sys_getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, &len) != 0 ||
	    (tv.tv_sec == 0 && tv.tv_usec == 0) || tv.tv_sec > DUR_NONE / DUR_S - 1)
		return DUR_NONE;
	return (int64_t)tv.tv_sec * DUR_S + (int64_t)tv.tv_usec * DUR_US;
}

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
		int64_t limit = time_limit(io->fd, io->way);

		io->waited = true;
		io->identity = probe_identity(io->fd);
		io->deadline = limit == DUR_NONE ? DUR_NONE : dur_add(sys_monotonic(), limit);
	}
	do {
		left = wait_left(&preload_ops, &hold, io->deadline);
		rc = left > 0 ? wrap_poll(&p, 1, wait_ms(left)) : 0;
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

/* True: make the real call, then call after(). False: fail with errno. */
static bool before(struct io *io)
{
	struct signal_hold hold;
	struct pend_ref ref;
	int error;

	io->pending = gate_open() && is_pending(io->fd);
	while (io->pending) {
		switch (pending_ask(&preload_ops, &hold, io->fd, &error)) {
		case ANSWER_ERROR:
			return fails(error);
		case ANSWER_PENDING:
			if (io->dontwait || probe_nonblocking(io->fd))
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
	return true;
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

	return (error == EPIPE || error == ENOTCONN) && !__libc_single_threaded &&
	       fdtab_find(io->fd, &ref) && atomic_load(&ref.p->identity) != 0 &&
	       pend_state(&ref) != PEND_REPORTED && io->again++ < 8;
}

/* The real call returned <rc>. True: its failure is not for the program; once
 * more from before(). */
static bool after(struct io *io, ssize_t rc)
{
	struct signal_hold hold;
	int error = errno;

	if (rc >= 0) {
		/* Nothing asked for is nothing learnt. */
		if (io->pending && (rc > 0 || preload_ops.condition(&hold, io->fd) ==
		                                      CONDITION_CONNECTED))
			pending_connected(&preload_ops, &hold, io->fd);
		errno = io->entry_errno;
		return false;
	}
	if (io->pending && dissolved_meanwhile(io, error))
		return true;
	if (!io->pending || tells_nothing(error) || !runtime_owns_process())
		return false;
	error = pending_result(&preload_ops, &hold, io->fd, error);
	return error == 0 || fails(error);
}

#define WRAP(ret, name, params, args, direction, no_wait) \
	static LR_NOINLINE ret name##_pending params \
	{ \
		struct io io = { .fd = fd, \
		                 .way = direction, \
		                 .dontwait = no_wait, \
		                 .entry_errno = errno }; \
		ret rc; \
\
		do { \
			if (!before(&io)) \
				return -1; \
			rc = real.name args; \
		} while (after(&io, rc)); \
		return rc; \
	} \
\
	ret wrap_##name params \
	{ \
		if (gate_idle()) \
			return real.name args; \
		return name##_pending args; \
	}

WRAP(ssize_t, send, (int fd, const void *buf, size_t len, int flags), (fd, buf, len, flags), WRITES,
     flags & MSG_DONTWAIT)
WRAP(ssize_t, sendto,
     (int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t to_len),
     (fd, buf, len, flags, to, to_len), WRITES, flags & MSG_DONTWAIT)
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags), (fd, msg, flags), WRITES,
     flags & MSG_DONTWAIT)
WRAP(int, sendmmsg, (int fd, struct mmsghdr *msgs, unsigned n, int flags), (fd, msgs, n, flags),
     WRITES, flags & MSG_DONTWAIT)
WRAP(ssize_t, write, (int fd, const void *buf, size_t len), (fd, buf, len), WRITES, false)
WRAP(ssize_t, writev, (int fd, const struct iovec *iov, int n), (fd, iov, n), WRITES, false)

WRAP(ssize_t, recv, (int fd, void *buf, size_t len, int flags), (fd, buf, len, flags), READS,
     flags & MSG_DONTWAIT)
WRAP(ssize_t, __recv_chk, (int fd, void *buf, size_t len, size_t size, int flags),
     (fd, buf, len, size, flags), READS, flags & MSG_DONTWAIT)
WRAP(ssize_t, recvfrom,
     (int fd, void *buf, size_t len, int flags, struct sockaddr *from, socklen_t *from_len),
     (fd, buf, len, flags, from, from_len), READS, flags & MSG_DONTWAIT)
WRAP(ssize_t, __recvfrom_chk,
     (int fd, void *buf, size_t len, size_t size, int flags, struct sockaddr *from,
      socklen_t *from_len),
     (fd, buf, len, size, flags, from, from_len), READS, flags & MSG_DONTWAIT)
WRAP(ssize_t, recvmsg, (int fd, struct msghdr *msg, int flags), (fd, msg, flags), READS,
     flags & MSG_DONTWAIT)
WRAP(int, recvmmsg,
     (int fd, struct mmsghdr *msgs, unsigned n, int flags, struct timespec *timeout),
     (fd, msgs, n, flags, timeout), READS, flags & MSG_DONTWAIT)
WRAP(ssize_t, read, (int fd, void *buf, size_t len), (fd, buf, len), READS, false)
WRAP(ssize_t, __read_chk, (int fd, void *buf, size_t len, size_t size), (fd, buf, len, size), READS,
     false)
WRAP(ssize_t, readv, (int fd, const struct iovec *iov, int n), (fd, iov, n), READS, false)
