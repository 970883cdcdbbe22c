/* SPDX-License-Identifier: MIT */
/*
 * What is done behind our back, by a module that no preload reaches: it closes,
 * connects and waits for sockets that we know, or should know. Nobody is told
 * anything that the kernel does not say, nor waits for ever.
 */
#include "tests/preload/guest.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

static int (*deep_close)(int fd);
static int (*deep_connect)(int fd, const struct sockaddr *sa, socklen_t len);
static int (*deep_poll)(struct pollfd *p, int timeout);

static void *function(void *module, const char *name)
{
	void *f = dlsym(module, name);

	ck_assert_ptr_nonnull(f);
	return f;
}

static void load(void)
{
	char path[1024];
	void *module;

	deep_path(path, sizeof(path));
	module = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
	ck_assert_msg(module != NULL, "%s", dlerror());
	*(void **)&deep_close = function(module, "deep_close");
	*(void **)&deep_connect = function(module, "deep_connect");
	*(void **)&deep_poll = function(module, "deep_poll");
}

/* A connect that has been refused once and is to be tried again. */
static int waiting(int *server)
{
	struct pollfd p = { .events = POLLOUT };
	struct sockaddr_in to;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	*server = bound(&to);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	p.fd = fd;
	for (int i = 0; log_lines(" retry ") == 0 && i < 1000; i++)
		ck_assert_int_eq(poll(&p, 1, 5), 0);
	return fd;
}

START_TEST(it_closes_and_the_number_is_used_again)
{
	struct pollfd p = { .events = POLLIN | POLLOUT };
	int server, pair[2];
	char c;
	int fd;

	load();
	fd = waiting(&server);
	ck_assert_int_eq(deep_close(fd), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ck_assert_int_eq(pair[0], fd);
	/* The number is a pair of sockets now, and behaves so. */
	p.fd = fd;
	ck_assert_int_eq(poll(&p, 1, 5000), 1);
	ck_assert_int_eq(p.revents, POLLOUT);
	ck_assert_int_eq(send(fd, "x", 1, 0), 1);
	ck_assert_int_eq(recv(pair[1], &c, 1, 0), 1);
	ck_assert_int_eq(send(pair[1], "y", 1, 0), 1);
	p.events = POLLIN;
	ck_assert_int_eq(poll(&p, 1, 5000), 1);
	ck_assert_int_eq(recv(fd, &c, 1, 0), 1);
	/* And nobody connects the other one. */
	ck_assert_int_eq(listen(server, 1), 0);
	p.fd = server;
	ck_assert_int_eq(poll(&p, 1, 300), 0);
	close(fd);
}
END_TEST

START_TEST(it_connects_and_we_wait)
{
	struct pollfd p = { .events = POLLOUT };
	struct sockaddr_in to;
	int error = 0;
	socklen_t len = sizeof(error);

	load();
	bound(&to);
	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(deep_connect(p.fd, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	ck_assert_int_eq(poll(&p, 1, 5000), 1);
	ck_assert(p.revents & POLLERR);
	ck_assert_int_eq(getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	ck_assert_int_eq(error, ECONNREFUSED);
	ck_assert_uint_eq(log_lines("op=connect"), 0);
}
END_TEST

START_TEST(it_waits_for_what_we_connect)
{
	struct pollfd p = { .events = POLLOUT };
	int error = 0;
	socklen_t len = sizeof(error);
	int server;

	load();
	p.fd = waiting(&server);
	/* Between two attempts, the kernel's own answer. */
	ck_assert_int_eq(deep_poll(&p, 5000), 1);
	ck_assert(p.revents & POLLHUP);
	listen_when_retried(server);
	ck_assert_int_eq(poll(&p, 1, 20000), 1);
	ck_assert_int_eq(p.revents, POLLOUT);
	ck_assert_int_eq(getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	ck_assert_int_eq(error, 0);
	ck_assert_uint_eq(log_lines(" recovered "), 1);
}
END_TEST

/* It takes the socket over for good: what it then connects to is not undone. */
START_TEST(it_connects_what_we_gave_up_on)
{
	struct pollfd p = { .events = POLLOUT };
	struct sockaddr_in live;
	int other = bound(&live);
	socklen_t len = sizeof(live);
	int server;

	load();
	ck_assert_int_eq(listen(other, 4), 0);
	p.fd = waiting(&server);
	ck_assert_int_eq(deep_connect(p.fd, (struct sockaddr *)&live, sizeof(live)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	ck_assert_int_eq(deep_poll(&p, 5000), 1);
	ck_assert_int_eq(poll(&p, 1, 5000), 1);
	ck_assert_int_eq(p.revents, POLLOUT);
	ck_assert_int_eq(getpeername(p.fd, (struct sockaddr *)&live, &len), 0);
	ck_assert_int_eq(send(p.fd, "x", 1, 0), 1);
}
END_TEST

/* Registered through us. Its failure is there when this returns. */
static int in_set(int set, struct sockaddr_in *to, int *server)
{
	struct epoll_event e = { .events = EPOLLOUT };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	*server = bound(to);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)to, sizeof(*to)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	ck_assert_int_eq(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e), 0);
	ck_assert_int_eq(syscall(SYS_epoll_pwait, set, &e, 1, 5000, NULL, 8L), 1);
	ck_assert_uint_eq(e.events, EPOLLOUT | EPOLLERR | EPOLLHUP);
	return fd;
}

static int so_error(int fd)
{
	int error = -1;
	socklen_t len = sizeof(error);

	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	return error;
}

/* A loop that waits by raw system calls has seen the failure, and is told which it was. */
START_TEST(a_loop_waits_past_us)
{
	struct sockaddr_in to;
	int set = epoll_create1(0), server;
	int fd = in_set(set, &to, &server);
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	ck_assert_int_eq(so_error(fd), ECONNREFUSED);
	ck_assert_int_eq(so_error(fd), 0);
	ck_assert_int_eq(poll(&p, 1, 0), 1);
	close(fd);
	ck_assert_uint_eq(log_lines(" op=connect "), 0);
}
END_TEST

static void *waits_in(void *set)
{
	struct epoll_event e;

	epoll_wait(*(int *)set, &e, 1, 0);
	return NULL;
}

/* One that waits through us, and asks before it waits, has not. */
START_TEST(a_loop_asks_before_it_waits)
{
	for (int in_thread = 0; in_thread < 2; in_thread++) {
		struct epoll_event e;
		struct sockaddr_in to;
		int set = epoll_create1(0), server;
		pid_t pid = fork();
		pthread_t t;
		int fd;

		ck_assert_int_ge(pid, 0);
		if (pid > 0) {
			int status;

			ck_assert_int_eq(waitpid(pid, &status, 0), pid);
			ck_assert_int_eq(status, 0);
			continue;
		}
		if (in_thread && pthread_create(&t, NULL, waits_in, &set) == 0)
			pthread_join(t, NULL);
		else
			waits_in(&set);
		fd = in_set(set, &to, &server);
		ck_assert_int_eq(so_error(fd), 0);
		listen_late(server, 0);
		ck_assert_int_eq(epoll_wait(set, &e, 1, 20000), 1);
		ck_assert_uint_eq(e.events, EPOLLOUT);
		ck_assert_int_eq(so_error(fd), 0);
		ck_assert_uint_eq(log_lines(" recovered "), 1);
		_exit(0);
	}
}
END_TEST

UNIT_MAIN("preload behind", &it_closes_and_the_number_is_used_again, &it_connects_and_we_wait,
          &it_waits_for_what_we_connect, &it_connects_what_we_gave_up_on,
          &a_loop_waits_past_us, &a_loop_asks_before_it_waits)
