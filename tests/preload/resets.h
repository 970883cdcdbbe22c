/* SPDX-License-Identifier: MIT */
/*
 * resets.h - a server that resets its first connections, and the calls that read
 * and write. What the server saw is in memory that both sides share.
 */
#ifndef LIBRETRY_TESTS_RESETS_H
#define LIBRETRY_TESTS_RESETS_H

#include <limits.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "tests/preload/evloop.h"

#define SAFE "127.0.0.2"
#define OFF "127.0.0.3"
#define FEW "127.0.0.4"     /* four attempts */
#define FIRST "127.0.0.5"   /* first-write */
#define SMALL "127.0.0.6"   /* first-write, 100 bytes */
#define SEEN "127.0.0.7"    /* nonblocking = "observe" */
#define FIRST_FEW "127.0.0.8"

/* What the n-th connection gets; the last character holds for all that follow. */
enum {
	RESET = 'r',       /* a reset, at once */
	LATE_RESET = 'd',  /* after 100 ms */
	READ_RESET = 'q',  /* a reset, when 4 bytes came */
	SPEAK_RESET = 's', /* a reset, after 2 bytes to the client */
	BANNER = 'b',      /* "hello", then an echo */
	ECHO = 'e',
	END = 'f',         /* closed at once, in good order */
	SWALLOW = 'w'      /* all is read; closed when the client has ended */
};

struct server {
	int fd;
	struct sockaddr_in sa;
	_Atomic unsigned accepted;
	_Atomic unsigned bytes;    /* that came, over all connections */
	_Atomic unsigned requests; /* connections that brought at least 4 bytes */
};

GUEST void hang_up(int fd)
{
	struct linger l = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	syscall(SYS_close, fd);
}

/* Reads <least> bytes, or up to the end. */
GUEST unsigned take(struct server *s, int fd, unsigned least, bool back)
{
	char buf[4096];
	unsigned sum = 0;

	while (sum < least) {
		ssize_t n = syscall(SYS_read, fd, buf, sizeof(buf));

		if (n <= 0)
			break;
		sum += (unsigned)n;
		atomic_fetch_add(&s->bytes, (unsigned)n);
		if (back && syscall(SYS_sendto, fd, buf, n, MSG_NOSIGNAL, NULL, 0) != n)
			break;
	}
	if (sum >= 4)
		atomic_fetch_add(&s->requests, 1);
	return sum;
}

GUEST void serve_one(struct server *s, int fd, char how)
{
	switch (how) {
	case READ_RESET:
		take(s, fd, 4, false);
		hang_up(fd);
		return;
	case SPEAK_RESET:
		syscall(SYS_sendto, fd, "ok", 2, MSG_NOSIGNAL, NULL, 0);
		sleep_ms(200);
		hang_up(fd);
		return;
	case LATE_RESET:
		sleep_ms(100);
		hang_up(fd);
		return;
	case RESET:
		hang_up(fd);
		return;
	case BANNER:
		syscall(SYS_sendto, fd, "hello", 5, MSG_NOSIGNAL, NULL, 0);
		take(s, fd, UINT_MAX, true);
		break;
	case ECHO:
		take(s, fd, UINT_MAX, true);
		break;
	case SWALLOW:
		take(s, fd, UINT_MAX, false);
		break;
	default:
		break;
	}
	syscall(SYS_close, fd);
}

/* One process, one connection after the other. */
GUEST struct server *serve(const char *ip, const char *plan)
{
	struct server *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
	                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	must(s != MAP_FAILED);
	s->fd = bound_at(ip, &s->sa);
	must_eq(listen(s->fd, 64), 0);
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			int fd = (int)syscall(SYS_accept4, s->fd, NULL, NULL, 0);

			if (fd < 0)
				_exit(1);
			atomic_fetch_add(&s->accepted, 1);
			serve_one(s, fd, *plan);
			if (plan[1])
				plan++;
		}
	}
	return s;
}

GUEST int dial_flags(struct server *s, int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	must(fd >= 0);
	if (connect(fd, (struct sockaddr *)&s->sa, sizeof(s->sa)) != 0)
		must_eq(errno, EINPROGRESS);
	return fd;
}

GUEST int tcp_state(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	must_eq(syscall(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	return info.tcpi_state;
}

/* Past the library. */
GUEST void until_closed(int fd)
{
	for (unsigned i = 0; tcp_state(fd) != TCP_CLOSE; i++) {
		must(i < 5000);
		sleep_ms(1);
	}
}

GUEST int dial(struct server *s)
{
	return dial_flags(s, 0);
}

/* Connected, and reset by now. */
GUEST int dial_reset(struct server *s)
{
	int fd = dial(s);

	until_closed(fd);
	return fd;
}

enum { WRITERS = 6, READERS = 6 };

GUEST ssize_t write_by(unsigned how, int fd, const char *text, int flags)
{
	struct iovec iov[2] = { { (void *)(uintptr_t)text, 1 },
		{ (void *)(uintptr_t)(text + 1), strlen(text) - 1 } };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = iov, .msg_iovlen = 2 } };

	switch (how) {
	case 0: return write(fd, text, strlen(text));
	case 1: return writev(fd, iov, 2);
	case 2: return send(fd, text, strlen(text), flags);
	case 3: return sendto(fd, text, strlen(text), flags, NULL, 0);
	case 4: return sendmsg(fd, &m.msg_hdr, flags);
	default: return sendmmsg(fd, &m, 1, flags) == 1 ? (ssize_t)m.msg_len : -1;
	}
}

GUEST ssize_t read_by(unsigned how, int fd, char *buf, size_t len, int flags)
{
	struct iovec iov = { buf, len };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1 } };

	switch (how) {
	case 0: return read(fd, buf, len);
	case 1: return readv(fd, &iov, 1);
	case 2: return recv(fd, buf, len, flags);
	case 3: return recvfrom(fd, buf, len, flags, NULL, NULL);
	case 4: return recvmsg(fd, &m.msg_hdr, flags);
	default: return recvmmsg(fd, &m, 1, flags, NULL) == 1 ? (ssize_t)m.msg_len : -1;
	}
}

/* The rest of an answer of <len> bytes, blocking or not. */
GUEST void must_get(int fd, const char *text)
{
	char buf[64];
	size_t got = 0;

	while (got < strlen(text)) {
		struct pollfd p = { fd, POLLIN, 0 };
		ssize_t n;

		must_eq(poll(&p, 1, 5000), 1);
		n = read(fd, buf + got, sizeof(buf) - got);
		if (n < 0 && errno == EAGAIN)
			continue;
		must(n > 0);
		got += (size_t)n;
	}
	must_eq(got, strlen(text));
	must_eq(memcmp(buf, text, got), 0);
}

GUEST void nothing_done(void)
{
	must_eq(log_lines(" retry "), 0);
	must_eq(log_lines(" recovered "), 0);
}

#endif
