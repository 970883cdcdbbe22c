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
#include "log/log.h"
#include "preload/dial.h"
#include "preload/gate.h"
#include "preload/io.h"
#include "preload/ops.h"
#include "preload/probe.h"
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
	    (tv.tv_sec == 0 && tv.tv_usec == 0) || tv.tv_sec > DUR_NONE / DUR_S - 1)
		return DUR_NONE;
	return (int64_t)tv.tv_sec * DUR_S + (int64_t)tv.tv_usec * DUR_US;
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
	struct signal_hold hold;
	enum send_answer answer;
	int error;

	f->fd = io->fd;
	f->limit = io_time_limit(io);
	runtime_report();
	/* What is left to the program's own waits holds signals by itself. */
	if (f->blocking)
		signal_hold(&hold);
	answer = engine_send_failed(ops, &hold, f, &io->so_far, &error);
	if (f->blocking)
		signal_release(&hold);
	if (answer == SEND_AGAIN)
		return true;
	return fails(answer == SEND_LATER ? EAGAIN : error);
}

static LR_NOINLINE bool broken(struct io *io, int error)
{
	struct send_failure f = { .cause = SEND_BROKEN, .error = error };
	const struct engine_ops *ops = &preload_ops;
	uint64_t identity;
	struct target t;
	bool result;

	if (!peers_find(io->fd, &io->peer) || !find_target(io, &t, PROTO_TCP) ||
	    t.policy->send == SEND_OFF)
		return fails(error);
	f.replay = t.policy->send == SEND_FIRST_WRITE && (fdtab_word() & FDTAB_REPLAY);
	if (error == EPIPE) {
		/* Something was sent before, or it would not say so; of what is
		 * kept the answer never came, as after a reset. */
		if (!f.replay)
			return fails(error);
		f.error = ECONNRESET;
	}
	if (!ops->remakable(NULL, io->fd, &io->peer.to.sa, io->peer.len, f.replay))
		return fails(error);
	identity = probe_identity(io->fd);
	if (io->peer.identity == identity)
		io->so_far = io->peer.so_far;
	f.sa = &io->peer.to.sa;
	f.len = io->peer.len;
	f.t = &t;
	f.thread = io->peer.thread;
	f.blocking = !io_must_not_wait(io);
	if (!f.blocking && t.policy->nonblocking == NONBLOCKING_BLOCK) {
		f.blocking = true;
		ops = &preload_block_ops;
	}
	result = ask(io, &f, ops);
	if (!result && errno == ECONNRESET)
		errno = error;
	if (io->so_far.attempt > 1)
		peers_progress(io->fd, identity, &io->so_far);
	return result;
}

static enum proto proto_of(int type)
{
	return type == SOCK_STREAM ? PROTO_TCP : type == SOCK_DGRAM ? PROTO_UDP : PROTO_ANY;
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
 * MSG_FASTOPEN: the call connects, and failed at that, so the data are still the
 * program's. Where a cookie was known they went out with the SYN; who refuses that
 * does not take them. After a time-out it is not known, which is left alone. (That
 * a SYN and its data arrive twice is what Fast Open has its users put up with.)
 * Once the connection is made, what is left is an ordinary send.
 */
static LR_NOINLINE bool fast_open(struct io *io, int error)
{
	socklen_t len;
	const struct sockaddr *to = named(io, &len);

	if (!to || probe_socket_type(io->fd) != SOCK_STREAM ||
	    (error != EINPROGRESS &&
	     preload_ops.condition(NULL, io->fd) != CONDITION_CLOSED))
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

/* Something was retried, and now this call has ended. */
static LR_NOINLINE void ended(struct io *io, int error)
{
	struct signal_hold hold;
	struct target t;

	if (!find_target(io, &t, proto_of(probe_socket_type(io->fd))))
		return;
	signal_hold(&hold);
	engine_send_ended(&preload_ops, &hold, &t, &io->so_far, error);
	signal_release(&hold);
	io->so_far.attempt = 0;
}

bool again_failed(struct io *io, int error)
{
	bool (*kind)(struct io *, int) = kind_of(io, error);
	unsigned was = io->so_far.attempt;

	errno = error;
	if (kind && !(gate_now() & GATE_PASS) && runtime_owns_process() && kind(io, error))
		return true;
	error = errno;
	/* Unless it was the end of it, which the engine has logged. */
	if (was > 1 && (!kind || io->so_far.attempt == 0))
		ended(io, error);
	return fails(error);
}

int again_option(int fd, int error)
{
	struct io io = { .fd = fd, .way = READS };
	int saved = errno;
	bool again;

	/* Who asks for an option does not expect to wait. */
	if (kind_of(&io, error) != broken || (gate_now() & GATE_PASS) || !probe_nonblocking(fd) ||
	    !runtime_owns_process())
		return error;
	again = broken(&io, error) || errno == EAGAIN;
	errno = saved;
	return again ? 0 : error;
}

static void keep(const struct io *io, const struct msghdr *msg, size_t n)
{
	/* Ancillary data and urgent ones cannot be sent again as they were. */
	if (msg->msg_controllen)
		replay_drop(io->fd);
	else
		replay_add(io->fd, msg->msg_iov, msg->msg_iovlen, n);
}

static LR_NOINLINE void kept(const struct io *io, ssize_t rc)
{
	struct iovec whole = { (void *)(uintptr_t)io->data, (size_t)rc };
	const struct mmsghdr *m = io->data;

	if (has_flag(io, MSG_OOB))
		replay_drop(io->fd);
	else if (io->form == BUFFER)
		replay_add(io->fd, &whole, 1, (size_t)rc);
	else if (io->form == VECTOR)
		replay_add(io->fd, io->data, io->count, (size_t)rc);
	else if (io->form == MESSAGE)
		keep(io, io->data, (size_t)rc);
	else
		for (ssize_t i = 0; i < rc; i++)
			keep(io, &m[i].msg_hdr, m[i].msg_len);
}

void again_succeeded(struct io *io, ssize_t rc)
{
	if (fdtab_word() & FDTAB_REPLAY) {
		/* A read that found the end has the peer's answer, too. */
		if (io->way == READS)
			replay_drop(io->fd);
		else if (rc > 0)
			kept(io, rc);
	}
	if (io->so_far.attempt > 1)
		ended(io, 0);
}
