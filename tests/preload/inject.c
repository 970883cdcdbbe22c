/* SPDX-License-Identifier: MIT */
/* Injected faults under the library, each on a server that is well. Which fault
 * strikes which address says inject.env. */
#include "tests/preload/guest.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <sys/uio.h>

/* Listens at <ip>; the connections stay in the queue until accepted. */
static int server(const char *ip, struct sockaddr_in *sa)
{
	int fd = tcp_socket();
	socklen_t len = sizeof(*sa);

	memset(sa, 0, sizeof(*sa));
	sa->sin_family = AF_INET;
	ck_assert_int_eq(inet_pton(AF_INET, ip, &sa->sin_addr), 1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)sa, sizeof(*sa)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)sa, &len), 0);
	ck_assert_int_eq(listen(fd, 16), 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static unsigned accepted(int fd)
{
	unsigned n = 0;

	while (accept(fd, NULL, NULL) >= 0)
		n++;
	return n;
}

static int to(const struct sockaddr_in *sa, int fd)
{
	return connect(fd, (const struct sockaddr *)sa, sizeof(*sa));
}

static int nonblocking(void)
{
	int fd = tcp_socket();

	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static int so_error(int fd)
{
	int error = -1;
	socklen_t len = sizeof(error);

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return error;
}

static void told(unsigned injected, const char *recovered)
{
	ck_assert_uint_eq(log_lines(" WARN injected "), injected);
	ck_assert_uint_eq(log_lines(" WARN retry "), injected);
	ck_assert_uint_eq(log_lines(recovered), 1);
}

START_TEST(blocking_connect)
{
	struct sockaddr_in sa;
	int listener = server("127.1.0.1", &sa), fd = tcp_socket();
	char line[256];

	errno = 4711;
	ck_assert_int_eq(to(&sa, fd), 0);
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_eq(accepted(listener), 1);
	told(2, "attempts=3");
	snprintf(line, sizeof(line),
	         "injected op=connect dest=127.1.0.1:%u addr=127.1.0.1:%u error=ECONNREFUSED "
	         "rule=%s/inject.conf:12\n",
	         ntohs(sa.sin_port), ntohs(sa.sin_port), getenv("TEST_DIR"));
	ck_assert_uint_eq(log_lines(line), 2);
	/* And no more after the first two. */
	errno = 4712;
	ck_assert_int_eq(to(&sa, tcp_socket()), 0);
	ck_assert_int_eq(errno, 4712);
	told(2, "attempts=3");
}
END_TEST

START_TEST(nonblocking_connect_under_poll)
{
	struct sockaddr_in sa;
	int listener = server("127.1.0.2", &sa), fd = nonblocking();
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	ck_assert_int_eq(to(&sa, fd), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	ck_assert_int_eq(to(&sa, fd), -1);
	ck_assert_int_eq(errno, EALREADY);
	ck_assert_int_eq(poll(&p, 1, 5000), 1);
	ck_assert_int_eq(p.revents, POLLOUT);
	ck_assert_int_eq(so_error(fd), 0);
	ck_assert_uint_eq(accepted(listener), 1);
	told(2, "attempts=3");
}
END_TEST

START_TEST(nonblocking_connect_under_epoll)
{
	struct sockaddr_in sa;
	int listener = server("127.1.0.3", &sa), fd = nonblocking(), ep = epoll_create1(0);
	struct epoll_event e = { .events = EPOLLOUT | EPOLLIN | EPOLLET, .data.u64 = 77 };

	ck_assert_int_eq(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), 0);
	ck_assert_int_eq(to(&sa, fd), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	memset(&e, 0, sizeof(e));
	ck_assert_int_eq(epoll_wait(ep, &e, 1, 5000), 1);
	ck_assert_uint_eq(e.events, EPOLLOUT);
	ck_assert_uint_eq(e.data.u64, 77);
	ck_assert_int_eq(so_error(fd), 0);
	ck_assert_int_eq(epoll_wait(ep, &e, 1, 20), 0);
	ck_assert_uint_eq(accepted(listener), 1);
	told(2, "attempts=3");
}
END_TEST

static struct epoll_event seen;

static void *wait_there(void *ep)
{
	return (void *)(intptr_t)epoll_wait(*(int *)ep, &seen, 1, 5000);
}

/* The thread waits before the connect begins. */
START_TEST(nonblocking_connect_beside_a_thread)
{
	struct sockaddr_in sa;
	int listener = server("127.1.0.13", &sa), fd = nonblocking(), ep = epoll_create1(0);
	struct epoll_event e = { .events = EPOLLIN };
	pthread_t t;
	void *rc;

	ck_assert_int_eq(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), 0);
	/* Of a fresh socket there is a hang-up to be seen, at once. */
	e.events = EPOLLOUT | EPOLLET;
	ck_assert_int_eq(epoll_wait(ep, &seen, 1, 1000), 1);
	ck_assert_int_eq(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e), 0);
	ck_assert_int_eq(epoll_wait(ep, &seen, 1, 1000), 1);
	ck_assert_int_eq(pthread_create(&t, NULL, wait_there, &ep), 0);
	sleep_ms(20);
	ck_assert_int_eq(to(&sa, fd), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	ck_assert_int_eq(pthread_join(t, &rc), 0);
	ck_assert_int_eq((intptr_t)rc, 1);
	ck_assert_uint_eq(seen.events, EPOLLOUT);
	ck_assert_int_eq(so_error(fd), 0);
	ck_assert_uint_eq(accepted(listener), 1);
	told(2, "attempts=3");
}
END_TEST

/* With retrying off the program sees what was made up. */
START_TEST(without_retries)
{
	struct sockaddr_in sa;
	int listener = server("127.1.0.4", &sa), fd = tcp_socket(), other = nonblocking();

	ck_assert_int_eq(to(&sa, fd), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	ck_assert_int_eq(to(&sa, other), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	ck_assert_int_eq(to(&sa, fd), 0);
	ck_assert_uint_eq(accepted(listener), 1);
	ck_assert_uint_eq(log_lines(" WARN injected "), 2);
	ck_assert_uint_eq(log_lines(" WARN retry "), 0);
	ck_assert_uint_eq(log_lines(" INFO recovered "), 0);
}
END_TEST

/* One that is never retried, and one that strikes the second attempt only. */
START_TEST(other_connects)
{
	struct sockaddr_in sa;
	int listener = server("127.1.0.5", &sa);

	ck_assert_int_eq(to(&sa, tcp_socket()), -1);
	ck_assert_int_eq(errno, EACCES);
	ck_assert_int_eq(to(&sa, nonblocking()), -1);
	ck_assert_int_eq(errno, EACCES);
	ck_assert_uint_eq(accepted(listener), 0);
	ck_assert_uint_eq(log_lines(" retry "), 0);
	/* What cannot be read is the kernel's to refuse. */
	ck_assert_int_eq(connect(tcp_socket(), (struct sockaddr *)8, sizeof(sa)), -1);
	ck_assert_int_eq(errno, EFAULT);

	listener = server("127.1.0.6", &sa);
	ck_assert_int_eq(to(&sa, tcp_socket()), 0);
	ck_assert_int_eq(to(&sa, tcp_socket()), 0);
	ck_assert_uint_eq(accepted(listener), 2);
	ck_assert_uint_eq(log_lines("error=ECONNRESET reset=1"), 1);
	ck_assert_uint_eq(log_lines("recovered op=connect"), 1);
}
END_TEST

START_TEST(datagrams)
{
	struct sockaddr_in sa;
	struct sockaddr *any = (struct sockaddr *)&sa;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), listener = server("127.1.0.5", &sa);

	/* Only a rule that says so strikes a datagram's. */
	ck_assert_int_eq(connect(fd, any, sizeof(sa)), 0);
	ck_assert_int_eq(inet_pton(AF_INET, "127.1.0.14", &sa.sin_addr), 1);
	ck_assert_int_eq(connect(fd, any, sizeof(sa)), -1);
	ck_assert_int_eq(errno, ENETUNREACH);
	ck_assert_int_eq(sendto(fd, "x", 1, 0, any, sizeof(sa)), 1);
	ck_assert_int_eq(sendto(fd, "x", 1, 0, any, sizeof(sa)), -1);
	ck_assert_int_eq(errno, EPERM);
	close(listener);
}
END_TEST

START_TEST(delays)
{
	struct sockaddr_in sa;
	int listener = server("127.1.0.7", &sa), fd = nonblocking();
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int64_t start = ms_now();

	ck_assert_int_eq(to(&sa, tcp_socket()), 0);
	ck_assert_int_ge(ms_now() - start, 80);
	ck_assert_uint_eq(log_lines("injected"), 1);
	ck_assert_uint_eq(log_lines("delay=80ms"), 1);
	/* Where it could not wait, it does not say so either. */
	ck_assert(to(&sa, fd) == 0 || errno == EINPROGRESS);
	ck_assert_int_eq(poll(&p, 1, 5000), 1);
	ck_assert_uint_eq(log_lines("injected"), 1);
	ck_assert_uint_eq(accepted(listener), 2);

	/* The delay takes more than the attempt may: no answer in time. */
	listener = server("127.1.0.12", &sa);
	start = ms_now();
	ck_assert_int_eq(to(&sa, tcp_socket()), 0);
	ck_assert_int_ge(ms_now() - start, 100);
	ck_assert_int_lt(ms_now() - start, 1900);
	ck_assert_uint_eq(accepted(listener), 1);
	ck_assert_uint_eq(log_lines("retry op=connect"), 1);
	ck_assert_uint_eq(log_lines("error=ETIMEDOUT"), 1);
}
END_TEST

static volatile sig_atomic_t caught;

static void catch(int sig)
{
	(void)sig;
	caught++;
}

static void handle(int sig, int flags)
{
	struct sigaction act = { .sa_handler = catch, .sa_flags = flags };

	ck_assert_int_eq(sigaction(sig, &act, NULL), 0);
}

static void alarm_in(int ms)
{
	struct itimerval t = { .it_value.tv_usec = ms * 1000 };

	ck_assert_int_eq(setitimer(ITIMER_REAL, &t, NULL), 0);
}

START_TEST(delayed_sends)
{
	struct sockaddr_in sa;
	int listener = server("127.1.0.7", &sa), fd = tcp_socket(), peer;
	char buf[16];
	int64_t start;

	ck_assert_int_eq(to(&sa, fd), 0);
	peer = accept(listener, NULL, NULL);
	ck_assert_int_eq(send(fd, "a", 1, 0), 1);
	handle(SIGALRM, 0);
	alarm_in(50);
	ck_assert_int_eq(send(fd, "b", 1, 0), -1);
	ck_assert_int_eq(errno, EINTR);
	handle(SIGALRM, SA_RESTART);
	start = ms_now();
	alarm_in(50);
	ck_assert_int_eq(write(fd, "c", 1), 1);
	ck_assert_int_ge(ms_now() - start, 300);
	ck_assert_int_eq(caught, 2);
	start = ms_now();
	ck_assert_int_eq(send(fd, "d", 1, MSG_DONTWAIT), 1);
	ck_assert_int_lt(ms_now() - start, 250);
	ck_assert_int_eq(recv(peer, buf, sizeof(buf), 0), 3);
	ck_assert_int_eq(memcmp(buf, "acd", 3), 0);
}
END_TEST

START_TEST(lookups)
{
	struct addrinfo *list = NULL;
	struct hostent ret, *result = &ret;
	char buf[4096];
	int herr = 0;

	errno = 4711;
	ck_assert_int_eq(getaddrinfo("localhost", "80", NULL, &list), 0);
	ck_assert_int_eq(errno, 4711);
	freeaddrinfo(list);
	told(2, "attempts=3");
	ck_assert_uint_eq(log_lines("op=lookup dest=localhost:80 error=EAI_AGAIN rule="), 2);
	/* Nobody is asked about numbers. */
	ck_assert_int_eq(getaddrinfo("127.0.0.1", "80", NULL, &list), 0);
	freeaddrinfo(list);
	/* A look-up that was not retried, in each form. */
	ck_assert_int_eq(getaddrinfo("gone.test", NULL, NULL, &list), EAI_NONAME);
	ck_assert_int_eq(getaddrinfo("off.test", NULL, NULL, &list), EAI_AGAIN);
	ck_assert_ptr_null(gethostbyname("gone.test"));
	ck_assert_int_eq(h_errno, HOST_NOT_FOUND);
	ck_assert_ptr_null(gethostbyname2("off.test", AF_INET6));
	ck_assert_int_eq(h_errno, TRY_AGAIN);
	ck_assert_int_eq(gethostbyname_r("gone.test", &ret, buf, sizeof(buf), &result, &herr), 0);
	ck_assert_ptr_null(result);
	ck_assert_int_eq(herr, HOST_NOT_FOUND);
	result = &ret;
	ck_assert_int_eq(gethostbyname2_r("off.test", AF_INET, &ret, buf, sizeof(buf), &result,
	                                  &herr), EAGAIN);
	ck_assert_ptr_null(result);
	ck_assert_int_eq(herr, TRY_AGAIN);
	ck_assert_uint_eq(log_lines(" WARN injected "), 2 + 6);
}
END_TEST

/* By each of the six calls, a struck and an untouched one in turn. */
static ssize_t send_by(int which, int fd, char *buf, size_t len)
{
	struct iovec iov[4] = { { buf, 1 }, { NULL, 0 }, { buf + 1, 1 }, { buf + 2, len - 2 } };
	struct mmsghdr m[2] = { { .msg_hdr = { .msg_iov = iov, .msg_iovlen = 4 } } };
	int n;

	switch (which) {
	case 0:
		return send(fd, buf, len, 0);
	case 1:
		return sendto(fd, buf, len, 0, NULL, 0);
	case 2:
		return write(fd, buf, len);
	case 3:
		return writev(fd, iov, 4);
	case 4:
		return sendmsg(fd, &m[0].msg_hdr, 0);
	default:
		n = sendmmsg(fd, m, 1, 0);
		return n == 1 ? (ssize_t)m[0].msg_len : -1;
	}
}

START_TEST(short_writes)
{
	struct sockaddr_in sa;
	int listener = server("127.1.0.10", &sa), fd = tcp_socket(), peer;
	char out[4096], in[4096];
	size_t at = 0, calls = 0, got = 0;
	ssize_t n;

	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (char)(i * 7 + i / 256);
	ck_assert_int_eq(to(&sa, fd), 0);
	peer = accept(listener, NULL, NULL);
	for (; at < 200; at += (size_t)n) {
		errno = 4711;
		n = send_by((int)(calls / 2 % 6), fd, out + at, 10);
		ck_assert_int_eq(n, calls % 2 ? 3 : 10);
		ck_assert_int_eq(errno, 4711);
		calls++;
	}
	ck_assert_uint_gt(calls, 24);
	/* What is short already is not cut. */
	ck_assert_int_eq(send(fd, out + at, 3, 0), 3);
	ck_assert_int_eq(send(fd, out + at + 3, 3, 0), 3);
	at += 6;
	ck_assert_uint_eq(log_lines("short_write=3"), calls / 2);
	close(fd);
	while ((n = recv(peer, in + got, sizeof(in) - got, 0)) > 0)
		got += (size_t)n;
	ck_assert_uint_eq(got, at);
	ck_assert_int_eq(memcmp(in, out, at), 0);
}
END_TEST

START_TEST(other_descriptors)
{
	void *volatile bad = (void *)8;
	volatile int minus = -1;
	int pair[2], tube[2];
	char buf[16];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ck_assert_int_eq(write(pair[0], "hello", 5), 1);
	ck_assert_uint_eq(log_lines("injected op=send short_write=1 rule="), 1);
	ck_assert_int_eq(read(pair[1], buf, sizeof(buf)), 1);
	ck_assert_int_eq(pipe(tube), 0);
	ck_assert_int_eq(write(tube[1], "hello", 5), 5);
	ck_assert_int_eq(read(tube[0], buf, sizeof(buf)), 5);
	ck_assert_int_eq(write(-1, "x", 1), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(sendmsg(pair[0], bad, 0), -1);
	ck_assert_int_eq(errno, EFAULT);
	ck_assert_int_eq(writev(pair[0], bad, 2), -1);
	ck_assert_int_eq(errno, EFAULT);
	ck_assert_int_eq(writev(pair[0], bad, minus), -1);
	ck_assert_int_eq(errno, EINVAL);
	/* A datagram is whole or not at all. */
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	ck_assert_int_eq(write(pair[0], "hello", 5), 5);
}
END_TEST

START_TEST(resets)
{
	struct sockaddr_in sa;
	int listener = server("127.1.0.11", &sa), fd = tcp_socket(), peer;
	struct pollfd p = { .events = POLLIN | POLLOUT };
	char buf[16];

	ck_assert_int_eq(to(&sa, fd), 0);
	peer = accept(listener, NULL, NULL);
	ck_assert_int_eq(send(fd, "once", 4, 0), 4);
	ck_assert_int_eq(send(fd, "lost", 4, 0), -1);
	ck_assert_int_eq(errno, ECONNRESET);
	p.fd = fd;
	ck_assert_int_eq(poll(&p, 1, 0), 1);
	ck_assert_int_eq(p.revents, POLLIN | POLLOUT | POLLHUP);
	ck_assert_int_eq(recv(fd, buf, sizeof(buf), 0), 0);
	/* The peer has what was sent before, and then the end. */
	ck_assert_int_eq(recv(peer, buf, sizeof(buf), MSG_WAITALL), 4);
	ck_assert_int_eq(log_lines("error=ECONNRESET reset=1"), 1);
	close(fd);
	close(peer);
}
END_TEST

/* Later calls meet what the kernel makes of it. */
START_TEST(after_a_reset)
{
	struct sockaddr_in sa;
	int fd = tcp_socket();

	server("127.1.0.11", &sa);
	handle(SIGPIPE, 0);
	ck_assert_int_eq(to(&sa, fd), 0);
	ck_assert_int_eq(write(fd, "once", 4), 4);
	ck_assert_int_eq(write(fd, "lost", 4), -1);
	ck_assert_int_eq(errno, ECONNRESET);
	ck_assert_int_eq(caught, 0);
	ck_assert_int_eq(send(fd, "late", 4, MSG_NOSIGNAL), -1);
	ck_assert_int_eq(errno, EPIPE);
	ck_assert_int_eq(caught, 0);
	ck_assert_int_eq(write(fd, "late", 4), -1);
	ck_assert_int_eq(errno, EPIPE);
	ck_assert_int_eq(caught, 1);
}
END_TEST

/* EPIPE that is made up comes with its signal, as the kernel's does. */
START_TEST(broken_pipe)
{
	struct sockaddr_in sa;
	int fd = tcp_socket();

	server("127.1.0.8", &sa);
	ck_assert_int_eq(to(&sa, fd), 0);
	handle(SIGPIPE, 0);
	ck_assert_int_eq(send(fd, "x", 1, MSG_NOSIGNAL), -1);
	ck_assert_int_eq(errno, EPIPE);
	ck_assert_int_eq(caught, 0);
	ck_assert_int_eq(write(fd, "x", 1), -1);
	ck_assert_int_eq(errno, EPIPE);
	ck_assert_int_eq(caught, 1);
}
END_TEST

/* A fault that would strike every send: what follows on the first is the kernel's. */
START_TEST(a_reset_is_made_once)
{
	struct sockaddr_in sa;
	int server_fd = server("127.1.0.15", &sa);
	int fd = tcp_socket();

	ck_assert_int_eq(to(&sa, fd), 0);
	ck_assert_int_eq(send(fd, "x", 1, MSG_NOSIGNAL), -1);
	ck_assert_int_eq(errno, ECONNRESET);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(send(fd, "x", 1, MSG_NOSIGNAL), -1);
		ck_assert_int_eq(errno, EPIPE);
	}
	ck_assert_uint_eq(log_lines(" injected op=send "), 1);
	close(fd);
	close(server_fd);
}
END_TEST

/* The time that the program has set bounds a delay of the first attempt, too. */
START_TEST(a_delay_within_the_programs_time)
{
	struct timeval tv = { .tv_usec = 80000 };
	struct sockaddr_in sa;
	int server_fd = server("127.1.0.16", &sa);
	int fd = tcp_socket();
	int64_t began = ms_now();

	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)), 0);
	ck_assert_int_eq(to(&sa, fd), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	ck_assert_int_ge(ms_now() - began, 79);
	ck_assert_int_lt(ms_now() - began, 10000);
	close(fd);
	close(server_fd);
}
END_TEST

/* proto is what the socket talks, and not its type: a datagram socket for ping is
 * no UDP, and a raw or netlink one no TCP. */
START_TEST(protocols)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
	int on = 1;

	if (fd >= 0) {
		inet_pton(AF_INET, "127.1.0.18", &sa.sin_addr);
		ck_assert_int_eq(to(&sa, fd), 0);
		close(fd);
	}
	fd = socket(AF_INET, SOCK_RAW, 253);
	if (fd >= 0) {
		inet_pton(AF_INET, "127.1.0.17", &sa.sin_addr);
		ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)), 0);
		ck_assert_int_eq(sendto(fd, "x", 1, 0, (struct sockaddr *)&sa, sizeof(sa)), 1);
		close(fd);
	}
	ck_assert_uint_eq(log_lines(" injected "), 0);
}
END_TEST

START_TEST(by_the_clock)
{
	struct sockaddr_in sa;
	int listener = server("127.1.0.8", &sa);

	ck_assert_int_eq(to(&sa, tcp_socket()), 0);
	told(1, "attempts=2");
	ck_assert_uint_eq(accepted(listener), 1);
	listener = server("127.1.0.9", &sa);
	ck_assert_int_eq(to(&sa, tcp_socket()), 0);
	told(1, "attempts=2");
	ck_assert_uint_eq(accepted(listener), 1);
}
END_TEST

/* The child goes on where the parent was. */
START_TEST(counts_over_fork)
{
	struct sockaddr_in sa;
	int status, listener = server("127.1.0.4", &sa);

	ck_assert_int_eq(to(&sa, tcp_socket()), -1);
	if (fork() == 0) {
		bool second = to(&sa, tcp_socket()) == -1 && errno == ECONNREFUSED;

		_exit(second && to(&sa, tcp_socket()) == 0 ? 0 : 1);
	}
	ck_assert_int_ge(wait(&status), 0);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(to(&sa, tcp_socket()), -1);
	ck_assert_int_eq(to(&sa, tcp_socket()), 0);
	ck_assert_uint_eq(accepted(listener), 2);
}
END_TEST

UNIT_MAIN("preload inject", &blocking_connect, &nonblocking_connect_under_poll,
          &nonblocking_connect_under_epoll, &nonblocking_connect_beside_a_thread,
          &without_retries, &other_connects, &datagrams, &delays, &delayed_sends, &lookups,
          &short_writes, &other_descriptors, &resets, &after_a_reset, &broken_pipe,
          &a_reset_is_made_once, &a_delay_within_the_programs_time, &protocols, &by_the_clock,
           &counts_over_fork)
