/* SPDX-License-Identifier: MIT */
/*
 * A program with an allocator of its own, which uses what we wrap while it holds
 * its lock, first of all before any constructor has run: a hook that allocated
 * then would wait for itself. It counts, too: no hook allocates, once the
 * configuration is read.
 */
#include "tests/preload/guest.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>

/* Seen by all libraries, or it would only be this program's. */
#define FOR_ALL __attribute__((visibility("default")))

FOR_ALL void *malloc(size_t size);
FOR_ALL void free(void *p);
FOR_ALL void *calloc(size_t n, size_t size);
FOR_ALL void *realloc(void *p, size_t size);

#define ARENA ((size_t)256 << 20)
#define HEAD 16

static char arena[ARENA] __attribute__((aligned(16)));
static size_t used;
static volatile bool locked;
static bool started, started_in_preinit;
static unsigned long allocations, lock_uses;

static void lock(void)
{
	struct sigaction old;
	struct pollfd p = { .fd = -1 };
	char c;

	if (locked) {
		static const char text[] = "allocation inside the allocator\n";

		if (write(2, text, sizeof(text) - 1) < 0)
			_exit(98);
		_exit(99);
	}
	locked = true;
	/* At first, as allocators read their settings and look for threads; some do
	 * so later as well. */
	if (started && ++lock_uses % 16 != 0)
		return;
	started = true;
	sigaction(SIGTERM, NULL, &old);
	if (read(-1, &c, 1) < 0 && close(-1) < 0 && fcntl(-1, F_GETFD) < 0 && poll(&p, 1, 0) == 0)
		errno = 0;
}

void *malloc(size_t size)
{
	int saved = errno;
	char *p;

	lock();
	allocations++;
	size = (size + 15) & ~(size_t)15;
	if (size > ARENA - used || HEAD > ARENA - used - size)
		_exit(97);
	p = arena + used + HEAD;
	memcpy(arena + used, &size, sizeof(size));
	used += HEAD + size;
	locked = false;
	errno = saved;
	return p;
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t n, size_t size)
{
	/* The arena is zero where it was not used. */
	return size && n > ARENA / size ? NULL : malloc(n * size);
}

void *realloc(void *p, size_t size)
{
	size_t old = 0;
	void *to = malloc(size);

	if (p)
		memcpy(&old, (char *)p - HEAD, sizeof(old));
	if (p)
		memcpy(to, p, old < size ? old : size);
	return to;
}

static void early(void)
{
	started_in_preinit = !started;
	free(malloc(1));
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = early;

static struct sockaddr_in live, dead;

static void fail_blocking(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&dead, sizeof(dead)) == 0 || errno != ECONNREFUSED)
		_exit(1);
	close(fd);
}

/* One connect to <to> in each way to wait; and all that may be done to it. */
static void use_it(const struct sockaddr_in *to)
{
	for (int way = 0; way < 3; way++) {
		struct timeval long_time = { 20, 0 };
		struct epoll_event e = { .events = EPOLLOUT };
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		int set = epoll_create1(0);
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		int error = 0;
		socklen_t len = sizeof(error);
		char buf[4];
		fd_set w;

		if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0 ||
		    errno != EINPROGRESS)
			_exit(2);
		FD_ZERO(&w);
		FD_SET(fd, &w);
		epoll_ctl(set, EPOLL_CTL_ADD, fd, &e);
		if (way == 0 && poll(&p, 1, 20000) != 1)
			_exit(3);
		if (way == 1 && select(fd + 1, NULL, &w, NULL, &long_time) != 1)
			_exit(4);
		if (way == 2 && epoll_wait(set, &e, 1, 20000) != 1)
			_exit(5);
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
		if (error != (to == &dead ? ECONNREFUSED : 0))
			_exit(6);
		send(fd, "x", 1, MSG_NOSIGNAL);
		recv(fd, buf, 1, 0);
		shutdown(fd, SHUT_RDWR);
		close(dup(fd));
		close(set);
		close(fd);
	}
}

START_TEST(nothing_allocates_but_the_configuration)
{
	unsigned long before;
	int server = bound(&live);
	int status;
	pid_t pid;

	ck_assert(started_in_preinit); /* or this program tests less */
	bound(&dead);
	ck_assert_int_eq(listen(server, 100), 0);
	fail_blocking();
	use_it(&live);
	/* In a child, which has everything else anew. */
	pid = fork();
	if (pid == 0) {
		before = allocations;
		use_it(&live);
		fail_blocking();
		use_it(&dead);
		_exit(allocations == before ? 0 : 7);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_ge(log_lines_of(pid, " retry "), 8);
}
END_TEST

static volatile int told;

static void on_signal(int sig)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)sig;
	told = connect(fd, (struct sockaddr *)&dead, sizeof(dead)) == 0 ? 0 : errno;
	close(fd);
}

/* The first failure of all is a handler's, which has interrupted the allocator: the
 * configuration is not read there, as the stack tells where it is. */
START_TEST(a_handler_on_a_stack_of_its_own)
{
	static char memory[65536];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	static const int flags[] = { SA_ONSTACK, SA_ONSTACK | SA_NODEFER };

	bound(&dead);
	ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		struct sigaction act = { .sa_handler = on_signal, .sa_flags = flags[i] };

		ck_assert_int_eq(sigaction(SIGUSR1, &act, NULL), 0);
		locked = true;
		raise(SIGUSR1);
		locked = false;
		ck_assert_int_eq(told, ECONNREFUSED);
		ck_assert_uint_eq(log_lines(" retry "), 0);
	}
	/* Elsewhere it is read, and handlers have its rules as well. */
	fail_blocking();
	ck_assert_uint_eq(log_lines(" retry "), 2);
	locked = true;
	raise(SIGUSR1);
	locked = false;
	ck_assert_uint_eq(log_lines(" retry "), 4);
}
END_TEST

UNIT_MAIN("preload alloc", &nothing_allocates_but_the_configuration,
          &a_handler_on_a_stack_of_its_own)
