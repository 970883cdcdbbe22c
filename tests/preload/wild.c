/* SPDX-License-Identifier: MIT */
/*
 * Pointers that lead nowhere. The kernel says EFAULT of them, and some programs (and
 * all suites that test the kernel) live on after it: so does a program that gives them
 * to calls which we look into, whatever is under way.
 */
#include "tests/preload/guest.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/uio.h>

enum state { IDLE, YOUNG, BACKOFF };

/* A page that can be read and written, one that can only be read, one that cannot. */
static struct {
	char *all;
	char *read;
	char *none;
	size_t size;
} page;

/* The connect that is under way; another one that is over. */
static int fd, server, pair[2];
static int set;

static void *sleeps(void *arg)
{
	pause();
	return arg;
}

static void prepare(enum state state, bool threads)
{
	struct epoll_event e = { .events = EPOLLOUT };
	struct pollfd p = { .events = POLLOUT };
	struct sockaddr_in to;
	pthread_t t;

	page.size = (size_t)sysconf(_SC_PAGESIZE);
	page.all = mmap(NULL, 3 * page.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                -1, 0);
	ck_assert_ptr_ne(page.all, MAP_FAILED);
	page.none = page.all + page.size;
	page.read = page.none + page.size;
	ck_assert_int_eq(mprotect(page.none, page.size, PROT_NONE), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	set = epoll_create1(0);
	ck_assert_int_eq(epoll_ctl(set, EPOLL_CTL_ADD, pair[0], &e), 0);
	if (threads)
		ck_assert_int_eq(pthread_create(&t, NULL, sleeps, NULL), 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (state == IDLE)
		return;
	if (state == YOUNG)
		full_queue(&to);
	else
		server = bound(&to);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	if (state == YOUNG)
		return;
	/* Its first failure is seen here. */
	p.fd = fd;
	ck_assert_int_eq(poll(&p, 1, 10), 0);
}

#define FAULTS(call) \
	do { \
		errno = 0; \
		ck_assert_int_eq(call, -1); \
		ck_assert_int_eq(errno, EFAULT); \
	} while (0)

/* <bad> cannot be read. */
static void waits(void *bad)
{
	struct timespec zero = { 0, 0 };
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	struct epoll_event e;
	struct timeval none;
	fd_set good;

	FAULTS(poll(bad, 1, 0));
	FAULTS(ppoll(bad, 1, &zero, NULL));
	FAULTS(ppoll(&p, 1, &zero, bad));
	for (int i = 0; i < 3; i++) {
		fd_set *r = i == 0 ? bad : NULL, *w = i == 1 ? bad : NULL;
		fd_set *x = i == 2 ? bad : NULL;

		none = (struct timeval){ 0, 0 };
		FAULTS(select(fd + 1, r, w, x, &none));
		FAULTS(pselect(fd + 1, r, w, x, &zero, NULL));
	}
	FD_ZERO(&good);
	FD_SET(fd, &good);
	FAULTS(pselect(fd + 1, NULL, &good, NULL, &zero, bad));
	FAULTS(epoll_wait(set, bad, 1, 0));
	FAULTS(epoll_pwait(set, &e, 1, 0, bad));
	FAULTS(epoll_pwait2(set, bad, 1, &zero, NULL));
	FAULTS(epoll_pwait2(set, &e, 1, bad, NULL));
	FAULTS(epoll_pwait2(set, &e, 1, &zero, bad));
}

/* <told>: not only by its value. */
static void others(void *bad, bool told)
{
	struct epoll_event e = { .events = 0, .data.fd = fd };
	struct iovec iov = { bad, 8 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	socklen_t len = sizeof(int);
	int error;
	int own = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	FAULTS(epoll_ctl(set, EPOLL_CTL_MOD, pair[0], bad));
	/* Where other threads may be told of it before connect() has returned. */
	ck_assert_int_eq(epoll_ctl(set, EPOLL_CTL_ADD, own, &e), 0);
	if (told) {
		FAULTS(epoll_ctl(set, EPOLL_CTL_ADD, fd, bad));
		FAULTS(connect(own, bad, sizeof(struct sockaddr_in)));
	}
	FAULTS(connect(fd, bad, sizeof(struct sockaddr_in)));
	close(own);
	FAULTS(send(pair[0], bad, 8, 0));
	FAULTS(write(pair[0], bad, 8));
	FAULTS(writev(pair[0], bad, 1));
	FAULTS(writev(pair[0], &iov, 1));
	FAULTS(sendmsg(pair[0], bad, 0));
	FAULTS(sendmsg(pair[0], &msg, 0));
	FAULTS(sendto(own = socket(AF_INET, SOCK_DGRAM, 0), "x", 1, 0, bad, 16));
	close(own);
	ck_assert_int_eq(write(pair[1], "x", 1), 1);
	FAULTS(recv(pair[0], bad, 1, MSG_PEEK));
	FAULTS(recvmsg(pair[0], bad, 0));
	FAULTS(getsockopt(pair[0], SOL_SOCKET, SO_ERROR, bad, &len));
	FAULTS(getsockopt(pair[0], SOL_SOCKET, SO_ERROR, &error, bad));
}

/* What can be read, but where the kernel cannot write its answer. */
static void read_only(void)
{
	struct pollfd *p = (struct pollfd *)page.read;
	fd_set *sets = (fd_set *)(page.read + page.size) - 1;
	struct timeval none = { 0, 0 };

	ck_assert_int_eq(mprotect(page.read, page.size, PROT_READ | PROT_WRITE), 0);
	*p = (struct pollfd){ .fd = fd, .events = POLLOUT };
	FD_ZERO(sets);
	FD_SET(fd, sets);
	ck_assert_int_eq(mprotect(page.read, page.size, PROT_READ), 0);
	FAULTS(poll(p, 1, 0));
	FAULTS(select(fd + 1, NULL, sets, NULL, &none));
}

/* All but the last bytes are there. */
static void across(void)
{
	struct timespec zero = { 0, 0 };
	struct timeval none = { 0, 0 };
	struct pollfd *p = (struct pollfd *)page.none - 1;
	fd_set *last = (fd_set *)(page.none - 8);
	struct epoll_event e;
	char *half = page.none - 8;

	memset(half, 0, 8);
	*p = (struct pollfd){ .fd = -1, .events = POLLOUT };
	FAULTS(poll(p, 2, 0));
	FAULTS(ppoll(p, 2, &zero, NULL));
	FAULTS(epoll_pwait2(set, &e, 1, (struct timespec *)half, NULL));
	FAULTS(connect(fd, (struct sockaddr *)half, sizeof(struct sockaddr_in)));
	/* So few descriptors need no more of a set. */
	memset(half, 0, 8);
	ck_assert_int_eq(select(fd + 1, last, NULL, NULL, &none), 0);
	ck_assert_int_eq(poll(p, 1, 0), 0);
}

static void ends_well(void)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	listen_late(server, 0);
	ck_assert_int_eq(poll(&p, 1, 20000), 1);
	ck_assert_int_eq(p.revents, POLLOUT);
	ck_assert_uint_eq(log_lines(" recovered "), 1);
}

/* By their values alone these lead nowhere. */
static void plainly(void)
{
	static const intptr_t values[] = { 8, 4096, -1, -64 };

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		waits((void *)values[i]);
		others((void *)values[i], true);
	}
}

START_TEST(nothing_is_under_way)
{
	prepare(IDLE, false);
	plainly();
	waits(page.none);
	others(page.none, true);
	read_only();
	across();
}
END_TEST

START_TEST(nothing_is_under_way_in_threads)
{
	prepare(IDLE, true);
	plainly();
	others(page.none, false);
	across();
}
END_TEST

START_TEST(an_attempt_goes_on)
{
	prepare(YOUNG, false);
	plainly();
	others(page.none, true);
	across();
}
END_TEST

START_TEST(an_attempt_goes_on_in_threads)
{
	prepare(YOUNG, true);
	plainly();
	others(page.none, false);
	across();
}
END_TEST

START_TEST(a_retry_is_waited_for)
{
	prepare(BACKOFF, false);
	plainly();
	waits(page.none);
	others(page.none, true);
	read_only();
	across();
	ends_well();
}
END_TEST

START_TEST(a_retry_is_waited_for_in_threads)
{
	prepare(BACKOFF, true);
	plainly();
	waits(page.none);
	others(page.none, true);
	read_only();
	across();
	ends_well();
}
END_TEST

UNIT_MAIN("preload wild", &nothing_is_under_way, &nothing_is_under_way_in_threads,
          &an_attempt_goes_on, &an_attempt_goes_on_in_threads, &a_retry_is_waited_for,
          &a_retry_is_waited_for_in_threads)
