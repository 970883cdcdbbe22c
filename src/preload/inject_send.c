/* SPDX-License-Identifier: MIT */
/*
 * Faults in sends. A reset is made by shutdown(): the peer sees the end of the
 * connection (a FIN, not an RST), and this side what it sees after a reset. The
 * call fails with ECONNRESET, as the first one does that the kernel can tell it
 * to; later sends fail with EPIPE and raise SIGPIPE, reads find the end, and a
 * wait shows the socket hung up. All but the first is the kernel's own doing.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "base/sys.h"
#include "preload/inject.h"
#include "preload/ops.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "state/names.h"

/* Parts of the program's vector that a short write takes at most; with smaller
 * parts it is shorter still. */
#define CUT_MAX 16

static bool readable(const void *p, size_t size)
{
	return sys_all(p, size, sys_readable);
}

/* Whom it goes to: <to>, else the peer. */
static void find_peer(int fd, const struct sockaddr *to, socklen_t to_len, struct addr *a)
{
	struct sockaddr_storage ss = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(ss);

	a->family = AF_UNSPEC;
	if (to && to_len <= sizeof(ss) && readable(to, to_len)) {
		addr_from_sockaddr(a, to, to_len);
		return;
	}
	if (sys_getpeername(fd, (struct sockaddr *)&ss, &len) != 0 ||
	    addr_from_sockaddr(a, (struct sockaddr *)&ss, len) || ss.ss_family != AF_UNIX)
		return;
	/* A Unix socket without a name is one all the same: unix = "*". */
	memset(a, 0, sizeof(*a));
	a->family = AF_UNIX;
}

struct send_call {
	int fd;
	int flags;
	const struct sockaddr *to;
	socklen_t to_len;
	size_t len;
};

/* Both ways are shut: what the kernel says now is what follows on a reset. */
static bool is_over(int fd)
{
	struct pollfd p = { .fd = fd };

	return real.poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

static LR_NOINLINE void ask(const struct send_call *s, int type, struct injection *sum)
{
	struct inject_call call = { .stream = type == SOCK_STREAM && !is_over(s->fd),
		                    .len = s->len };
	struct name_entry name;
	struct addr a;

	find_peer(s->fd, s->to, s->to_len, &a);
	name.id = 0;
	if (a.family == AF_INET || a.family == AF_INET6)
		names_find(&a, thread_key(), &name);
	call.can_wait = !(s->flags & MSG_DONTWAIT) && !probe_nonblocking(s->fd);
	call.dest = (struct dest){ .op = OP_SEND,
	                           .host = name.id ? name.name : NULL,
	                           .addr = a.family == AF_UNSPEC ? NULL : &a,
	                           .port = a.family == AF_INET || a.family == AF_INET6
	                                           ? a.port
	                                           : -1,
	                           .proto = inject_proto(s->fd) };
	inject_ask(&call, sum);
}

static enum wake wait_for(int64_t delay)
{
	struct signal_hold hold;
	enum wake wake;

	signal_hold(&hold);
	wake = preload_ops.wait(&hold, dur_add(sys_monotonic(), delay));
	signal_release(&hold);
	return wake;
}

static bool fails(int error)
{
	errno = error;
	return false;
}

static void raise_sigpipe(void)
{
	pid_t self = (pid_t)SYS_CALL(SYS_gettid);

	SYS_CALL(SYS_tgkill, sys_getpid(), self, SIGPIPE);
}

/* True: the real call is to be made, with no more than *most bytes. */
static LR_NOINLINE bool strike(const struct send_call *s, size_t *most)
{
	int saved = errno;
	int type = probe_socket_type(s->fd);
	struct injection sum;

	if (type < 0 || !(runtime_enter(true) & GATE_INJECT) || !runtime_owns_process())
		return true;
	ask(s, type, &sum);
	/* Nothing was sent yet, so EINTR is what the kernel would say. */
	if (sum.delay && wait_for(sum.delay) == WAKE_INTERRUPTED)
		return fails(EINTR);
	if (sum.short_write)
		*most = sum.short_write;
	if (!sum.error.code) {
		errno = saved;
		return true;
	}
	if (sum.reset)
		sys_shutdown(s->fd, SHUT_RDWR);
	if (sum.error.code == EPIPE && type == SOCK_STREAM && !(s->flags & MSG_NOSIGNAL))
		raise_sigpipe();
	return fails(sum.error.code);
}

ssize_t inject_send(int fd, const void *buf, size_t len, int flags)
{
	size_t most = len;

	if (!strike(&(struct send_call){ .fd = fd, .flags = flags, .len = len }, &most))
		return -1;
	return real.send(fd, buf, most, flags);
}

ssize_t inject_sendto(int fd, const void *buf, size_t len, int flags,
                      const struct sockaddr *to, socklen_t to_len)
{
	size_t most = len;
	struct send_call s = {
		.fd = fd, .flags = flags, .to = to, .to_len = to_len, .len = len
	};

	if (!strike(&s, &most))
		return -1;
	return real.sendto(fd, buf, most, flags, to, to_len);
}

ssize_t inject_write(int fd, const void *buf, size_t len)
{
	size_t most = len;

	if (!strike(&(struct send_call){ .fd = fd, .len = len }, &most))
		return -1;
	return real.write(fd, buf, most);
}

/* What the vector holds; 0 if it is the kernel's to say that it is wrong. */
static size_t length(const struct iovec *iov, size_t n)
{
	size_t sum = 0;

	if (n == 0 || n > 1024 || !iov || !readable(iov, n * sizeof(*iov)))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (__builtin_add_overflow(sum, iov[i].iov_len, &sum))
			return 0;
	return sum;
}

/* The first <most> bytes of the vector, in at most CUT_MAX parts; their number. */
static int cut(struct iovec *to, const struct iovec *from, size_t n, size_t most)
{
	int count = 0;

	for (size_t i = 0; i < n && most > 0 && count < CUT_MAX; i++) {
		if (from[i].iov_len == 0)
			continue;
		to[count] = from[i];
		if (to[count].iov_len > most)
			to[count].iov_len = most;
		most -= to[count++].iov_len;
	}
	return count;
}

ssize_t inject_writev(int fd, const struct iovec *iov, int n)
{
	size_t len = length(iov, n > 0 ? (size_t)n : 0), most = len;
	struct iovec parts[CUT_MAX];

	if (!strike(&(struct send_call){ .fd = fd, .len = len }, &most))
		return -1;
	if (most < len)
		return real.writev(fd, parts, cut(parts, iov, (size_t)n, most));
	return real.writev(fd, iov, n);
}

static struct send_call message(int fd, const struct msghdr *msg, int flags)
{
	struct send_call s = { .fd = fd, .flags = flags };

	if (!msg || !readable(msg, sizeof(*msg)))
		return s;
	s.to = msg->msg_name;
	s.to_len = msg->msg_namelen;
	s.len = length(msg->msg_iov, msg->msg_iovlen);
	return s;
}

ssize_t inject_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct send_call s = message(fd, msg, flags);
	struct iovec parts[CUT_MAX];
	size_t most = s.len;
	struct msghdr shorter;

	if (!strike(&s, &most))
		return -1;
	if (most == s.len)
		return real.sendmsg(fd, msg, flags);
	shorter = *msg;
	shorter.msg_iov = parts;
	shorter.msg_iovlen = (size_t)cut(parts, msg->msg_iov, msg->msg_iovlen, most);
	return real.sendmsg(fd, &shorter, flags);
}

/* One call, whatever the number of messages: what strikes it strikes the first.
 * After a message that was cut short the kernel sends no other. */
int inject_sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
	struct send_call s = message(fd, n > 0 && msgs ? &msgs->msg_hdr : NULL, flags);
	struct iovec parts[CUT_MAX];
	size_t most = s.len;
	struct mmsghdr shorter;
	int rc;

	if (!strike(&s, &most))
		return -1;
	if (most == s.len)
		return real.sendmmsg(fd, msgs, n, flags);
	shorter = *msgs;
	shorter.msg_hdr.msg_iov = parts;
	shorter.msg_hdr.msg_iovlen = (size_t)cut(parts, msgs->msg_hdr.msg_iov,
	                                         msgs->msg_hdr.msg_iovlen, most);
	rc = real.sendmmsg(fd, &shorter, 1, flags);
	if (rc == 1)
		msgs->msg_len = shorter.msg_len;
	return rc;
}
