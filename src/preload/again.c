/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes that failed, and may be made again: send of the policy. That
 * the kernel took nothing is the kernel's to say (the error, and TCP_INFO), so a
 * call that succeeds is looked at no further.
 *
 * errno after a call that failed and was then made with success is the error of
 * the failure: what it was before would have to be read before every call.
 * SIGPIPE is the kernel's: it comes with EPIPE, before we know of it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/time.h>

#include "base/sys.h"
#include "engine/send.h"
#include "engine/wait.h"
#include "log/log.h"
#include "preload/dial.h"
#include "preload/gate.h"
#include "preload/io.h"
#include "preload/leaving.h"
#include "preload/ops.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "preload/target.h"
#include "state/replay.h"

#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif

static bool fails(int error)
{
	errno = error;
	return false;
}

static bool has_flag(const struct io *io, int flag)
{
	return io->flags && (*io->flags & flag);
}

bool io_must_not_wait(const struct io *io)
{
	return has_flag(io, MSG_DONTWAIT) || probe_nonblocking(io->fd);
}

int64_t io_time_limit(const struct io *io)
{
	struct timeval tv = { 0, 0 };
	socklen_t len = sizeof(tv);

	if (io->way == WRITES)
		return probe_send_timeout(io->fd);
	if (sys_getsockopt(io->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, &len) != 0 ||
	    (tv.tv_sec == 0 && tv.tv_usec == 0))
		return DUR_NONE;
	return dur_of(tv.tv_sec, tv.tv_usec * DUR_US);
}

/* The address in the call itself. */
static const struct sockaddr *named(const struct io *io, socklen_t *len)
{
	const struct msghdr *msg = io->form == MESSAGE ? io->data : NULL;

	*len = msg ? msg->msg_namelen : io->to_len;
	return msg ? msg->msg_name : io->to;
}

/* Whom a call on a socket that lives goes to. */
static bool find_peer(struct io *io)
{
	socklen_t len;
	const struct sockaddr *to = named(io, &len);
	struct peer *p = &io->peer;

	p->thread = thread_key();
	p->len = sizeof(p->to);
	if (!to)
		return sys_getpeername(io->fd, &p->to.sa, &p->len) == 0 &&
		       p->len <= sizeof(p->to);
	/* The kernel has read it. */
	if (len > sizeof(p->to))
		return false;
	memcpy(&p->to, to, len);
	p->len = len;
	return true;
}

static bool find_target(const struct io *io, struct target *t, enum proto proto)
{
	return target_find_for(t, &io->peer.to.sa, io->peer.len, io->peer.thread, OP_SEND,
	                       proto) &&
	       (t->rule || !addr_is_special(&t->addr));
}

/* True: make the call again. */
static bool ask(struct io *io, struct send_failure *f, const struct engine_ops *ops)
{
	struct turn turn = { .word = 0 };
	struct signal_hold hold;
	enum send_answer answer;
	int error;

	f->fd = io->fd;
	f->turn = &turn;
	f->limit = io_time_limit(io);
	runtime_report();
	/* What is left to the program's own waits holds signals by itself. */
	if (f->blocking)
		signal_hold(&hold);
	LEAVING_PUSH_IF(leaves_turn(f->t->policy), leave_turn, &turn);
	answer = engine_send_failed(ops, &hold, f, &io->so_far, &error);
	LEAVING_POP(0);
	if (f->blocking)
		signal_release(&hold);
	if (answer == SEND_AGAIN)
		return true;
	return fails(answer == SEND_LATER ? EAGAIN : error);
}

static enum proto proto_of(int type)
{
	return type == SOCK_STREAM ? PROTO_TCP : type == SOCK_DGRAM ? PROTO_UDP : PROTO_ANY;
}

/* Something was retried, and now this call has ended. */
static LR_NOINLINE void ended(struct io *io, int error, enum reason reason)
{
	struct signal_hold hold;
	struct target t;

	if (!find_target(io, &t, proto_of(probe_socket_type(io->fd))))
		return;
	/* The connection stands; it is the call that waited no longer. */
	if (io->remade && (error == EINTR || error == EAGAIN))
		error = 0;
	signal_hold(&hold);
	engine_send_ended(&preload_ops, &hold, &t, &io->so_far, error, reason);
	signal_release(&hold);
	io->so_far.attempt = 0;
}

/* No answer came over the new connection in time. */
static bool no_answer(struct io *io, const struct send_failure *f)
{
	if (probe_identity(io->fd) == f->identity)
		preload_ops.end(NULL, io->fd);
	peers_forget(io->fd);
	ended(io, f->error, REASON_DEADLINE);
	return fails(f->error);
}

/*
 * The connection is made again; the peer may have nothing to say before the program
 * does, which reads because it was told of the reset, or in a thread of its own.
 * So the read is not made before there is something to be read, and not waited for
 * longer than the policy's deadline, or the socket's own limit.
 */
static LR_NOINLINE bool await_data(struct io *io, const struct send_failure *f)
{
	int64_t bound = f->t->policy->deadline < f->limit ? f->t->policy->deadline : f->limit;
	int64_t end = dur_add(io->so_far.began, bound);
	struct pollfd p = { .fd = io->fd, .events = POLLIN };
	int64_t left;
	int rc;

	do {
		left = dur_sub(end, sys_monotonic());
		rc = left > 0 ? real.poll(&p, 1, end == DUR_NONE ? -1 : wait_ms(left)) : 0;
		if (rc >= 0 || errno != EINTR || signal_stopping())
			continue;
		/* As for any read: signal(7). */
		if (f->limit != DUR_NONE || signal_may_interrupt()) {
			ended(io, EINTR, REASON_INTERRUPTED);
			return fails(EINTR);
		}
	} while (left > 0 && (rc == 0 || (rc < 0 && errno == EINTR && !signal_stopping())));
	if (rc == 0 || (rc < 0 && errno == EINTR) || probe_identity(io->fd) != f->identity)
		return no_answer(io, f);
	return true;
}

/* Whether <error> is of a connection that may be made again; fills in how. */
static bool is_broken(struct io *io, int error, struct send_failure *f, struct target *t)
{
	uint64_t given = 0;

	if (!find_target(io, t, PROTO_TCP) || t->policy->send == SEND_OFF)
		return false;
	f->replay = t->policy->send == SEND_FIRST_WRITE && (fdtab_word() & FDTAB_REPLAY);
	/* Something was sent before, or it would not say EPIPE; of what is kept the
	 * answer never came, as after a reset. */
	if (error == EPIPE && !f->replay)
		return false;
	f->fd = io->fd;
	f->error = error == EPIPE ? ECONNRESET : error;
	f->sa = &io->peer.to.sa;
	f->len = io->peer.len;
	f->t = t;
	f->thread = io->peer.thread;
	f->identity = probe_identity(io->fd);
	f->blocking = !io_must_not_wait(io);
	if (f->replay && !replay_given(io->fd, f->identity, &given))
		return false;
	/* A read that was made because a wait has told of the reset: it would keep the
	 * program from what it has to say. If what it has said is said once more, there
	 * will be an answer. */
	if (io->way == READS && f->blocking && (thread_marks.waited & THREAD_WAITED) && !given)
		return false;
	return preload_ops.remakable(NULL, io->fd, f->sa, f->len, f->replay);
}

/* io->peer is known. */
static LR_NOINLINE bool broken(struct io *io, int error)
{
	struct send_failure f = { .cause = SEND_BROKEN };
	const struct engine_ops *ops = &preload_ops;
	struct target t;
	bool must_not_wait;
	bool result;

	if (!is_broken(io, error, &f, &t))
		return fails(error);
	if (io->peer.identity == f.identity)
		io->so_far = io->peer.so_far;
	must_not_wait = !f.blocking;
	if (must_not_wait && t.policy->nonblocking == NONBLOCKING_BLOCK) {
		f.blocking = true;
		ops = &preload_block_ops;
	}
	result = ask(io, &f, ops);
	if (!result && errno == ECONNRESET)
		errno = error;
	if (io->so_far.attempt > 1)
		peers_progress(io->fd, f.identity, &io->so_far);
	if (!result) {
		if (f.replay && errno != EAGAIN && errno != EINTR)
			replay_drop(io->fd);
		return false;
	}
	io->remade = true;
	return io->way != READS || must_not_wait || await_data(io, &f);
}

/*
 * Zero-copy is left alone: there the error says that the program must read what
 * was completed. So are datagrams that no rule names: programs that send them
 * would rather lose one than wait.
 */
static LR_NOINLINE bool no_buffers(struct io *io, int error)
{
	struct send_failure f = { .cause = SEND_NO_BUFFERS, .error = error, .blocking = true };
	int type = probe_socket_type(io->fd);
	struct target t;

	if (type < 0 || has_flag(io, MSG_ZEROCOPY) || io_must_not_wait(io) || !find_peer(io) ||
	    !find_target(io, &t, proto_of(type)) || (type != SOCK_STREAM && !t.rule))
		return fails(error);
	f.t = &t;
	return ask(io, &f, &preload_ops);
}

static LR_NOINLINE bool refused(struct io *io, int error)
{
	struct send_failure f = { .cause = SEND_REFUSED, .error = error, .blocking = true };
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	struct target t;

	/* Only a socket that is connected is told of datagrams that were lost; a
	 * Unix one speaks of this very datagram. */
	if (probe_socket_type(io->fd) != SOCK_DGRAM ||
	    sys_getpeername(io->fd, (struct sockaddr *)&ss, &len) != 0 ||
	    ss.ss_family == AF_UNIX || !find_peer(io) || !find_target(io, &t, PROTO_UDP))
		return fails(error);
	f.t = &t;
	return ask(io, &f, &preload_ops);
}

/*
 * MSG_FASTOPEN: the call connects. EINPROGRESS says that no data were taken; once
 * the connection is made, what is left is an ordinary send. After any other failure
 * the data may have gone out with the SYN, where a cookie was known, and been read,
 * the answer to the SYN lost: nothing tells. So that is for those only who said that
 * it may be.
 */
static LR_NOINLINE bool fast_open(struct io *io, int error)
{
	socklen_t len;
	const struct sockaddr *to = named(io, &len);
	struct target t;

	if (!to || probe_socket_type(io->fd) != SOCK_STREAM)
		return fails(error);
	if (error != EINPROGRESS &&
	    (preload_ops.condition(NULL, io->fd) != CONDITION_CLOSED || !find_peer(io) ||
	     !find_target(io, &t, PROTO_TCP) || t.policy->send != SEND_FIRST_WRITE))
		return fails(error);
	errno = error;
	if (dial_failed(io->fd, to, len) != 0)
		return false;
	*io->flags &= ~MSG_FASTOPEN;
	return true;
}

/* Whose failure it is; NULL: nobody's that we know. */
static bool (*kind_of(const struct io *io, int error))(struct io *io, int error)
{
	if (io->way == WRITES && io->form != MESSAGES && has_flag(io, MSG_FASTOPEN) &&
	    (error == EINPROGRESS || error == ECONNREFUSED || error == EHOSTUNREACH ||
	     error == ENETUNREACH || error == ENETDOWN || error == EHOSTDOWN ||
	     error == EADDRNOTAVAIL))
		return fast_open;
	if (error == ECONNRESET || error == ECONNABORTED ||
	    (error == EPIPE && (fdtab_word() & FDTAB_REPLAY)))
		return broken;
	if (io->way != WRITES)
		return NULL;
	if (error == ENOBUFS || error == ENOMEM)
		return no_buffers;
	return error == ECONNREFUSED ? refused : NULL;
}

/* From memory: what was accepted, and a Unix socket, costs no system call. */
static bool is_unknown(struct io *io)
{
	return !(fdtab_word() & FDTAB_PEERS) || !peers_find(io->fd, &io->peer);
}

bool again_failed(struct io *io, int error)
{
	bool (*kind)(struct io *, int) = kind_of(io, error);
	unsigned was = io->so_far.attempt;

	if (kind == broken && is_unknown(io))
		kind = NULL;
	errno = error;
	if (kind && !(gate_now() & GATE_PASS) && runtime_owns_process() && kind(io, error))
		return true;
	error = errno;
	/* Unless it was the end of it, which the engine has logged. */
	if (was > 1 && (!kind || io->so_far.attempt == 0))
		ended(io, error, REASON_NOT_RETRYABLE);
	/* The program learns that the connection is over: another thread may be about
	 * to make it again. */
	if ((error == EPIPE || error == ENOTCONN) && !io->pending)
		peers_forget(io->fd);
	return fails(error);
}

int again_option(int fd, int error)
{
	struct io io = { .fd = fd, .way = READS };
	int saved = errno;
	bool again;

	/* Who asks for an option does not expect to wait. */
	if (kind_of(&io, error) != broken || (gate_now() & GATE_PASS) || is_unknown(&io) ||
	    !probe_nonblocking(fd) || !runtime_owns_process())
		return error;
	again = broken(&io, error) || errno == EAGAIN;
	errno = saved;
	return again ? 0 : error;
}

static bool keep(const struct io *io, const struct msghdr *msg, size_t n)
{
	/* Ancillary data and urgent ones cannot be sent again as they were. */
	if (msg->msg_controllen)
		return replay_drop(io->fd);
	return replay_add(io->fd, msg->msg_iov, msg->msg_iovlen, n);
}

static LR_NOINLINE bool kept(const struct io *io, ssize_t rc)
{
	struct iovec whole = { (void *)(uintptr_t)io->data, (size_t)rc };
	const struct mmsghdr *m = io->data;
	bool good = true;

	if (io->form == NOTHING || has_flag(io, MSG_OOB))
		return replay_drop(io->fd);
	if (io->form == BUFFER)
		return replay_add(io->fd, &whole, 1, (size_t)rc);
	if (io->form == VECTOR)
		return replay_add(io->fd, io->data, io->count, (size_t)rc);
	if (io->form == MESSAGE)
		return keep(io, io->data, (size_t)rc);
	for (ssize_t i = 0; i < rc && good; i++)
		good = keep(io, &m[i].msg_hdr, m[i].msg_len);
	return good;
}

/* What the peer has got is neither what was sent before nor the whole of it. */
static bool give_up_connection(const struct io *io)
{
	preload_ops.dissolve(NULL, io->fd);
	preload_ops.take_error(NULL, io->fd);
	replay_drop(io->fd);
	return fails(ECONNRESET);
}

bool again_succeeded(struct io *io, ssize_t rc)
{
	if (fdtab_word() & FDTAB_REPLAY) {
		/* A read that found the end has the peer's answer, too. */
		if (io->way == READS)
			replay_answered(io->fd);
		else if (rc > 0 && !kept(io, rc))
			return give_up_connection(io);
	}
	if (io->so_far.attempt > 1)
		ended(io, 0, REASON_NONE);
	return true;
}

static int replay_until(const struct io *io, int64_t until)
{
	struct signal_hold hold;
	int error;

	signal_hold(&hold);
	error = preload_ops.replay(&hold, io->fd, probe_identity(io->fd), until);
	signal_release(&hold);
	return error;
}

/* For a read: the answer may be there already. EAGAIN: it is, or the socket's time is
 * over; both are the real call's to say. */
static int replay_or_data(const struct io *io, int64_t until)
{
	struct pollfd p = { .fd = io->fd, .events = POLLIN | POLLOUT };
	int error;

	do {
		int64_t left = until ? dur_sub(until, sys_monotonic()) : 0;

		error = replay_until(io, 0);
		if (error != EAGAIN || left <= 0 || signal_stopping())
			return error;
		if (real.poll(&p, 1, until == DUR_NONE ? -1 : wait_ms(left)) < 0 &&
		    errno == EINTR && signal_may_interrupt())
			return EINTR;
	} while (!(p.revents & POLLIN));
	return EAGAIN;
}

/* Another thread is sending it again, or was, and has jumped out of that. */
static LR_NOINLINE bool replay_first(struct io *io)
{
	bool wait = !io_must_not_wait(io);
	int64_t limit = wait ? io_time_limit(io) : 0;
	int64_t until = wait ? dur_add(sys_monotonic(), limit) : 0;
	bool reads = io->way == READS;
	int error = reads ? replay_or_data(io, until) : replay_until(io, until);

	/* ENOENT: it went just now, whole, or the connection did. */
	if (error == 0 || error == ENOENT || (error == EAGAIN && reads))
		return true;
	if (error == EINTR || (error == EAGAIN && !signal_stopping()))
		return fails(error);
	if (error == EAGAIN || error == ECANCELED)
		return give_up_connection(io);
	replay_drop(io->fd);
	/* That is the real call's to say, with its signal. */
	return error == EPIPE || error == ENOTCONN || fails(error);
}

bool again_before(struct io *io)
{
	return lr_likely(!replay_unfinished(io->fd)) || !runtime_owns_process() ||
	       replay_first(io);
}
