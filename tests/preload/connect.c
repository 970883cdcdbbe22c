/* SPDX-License-Identifier: MIT */
/* Blocking connects under the library: what changes, and what must not. */
#include "tests/preload/guest.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/time.h>

START_TEST(late_server_is_reached_on_the_same_socket)
{
	struct sockaddr_in sa, own_before, own_after;
	socklen_t len;
	int server = bound(&sa);
	int fd = tcp_socket();
	int one = 1, value = 0;
	char buf[2];

	/* A source port that the program chose (not one that the kernel did for
	 * port 0) and options survive the retries. */
	close(bound(&own_before));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&own_before, sizeof(own_before)), 0);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)), 0);
	ck_assert_int_eq(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), 0);

	listen_late(server, 300);
	errno = 4711;
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ck_assert_int_eq(errno, 4711); /* as if nothing had happened */
	ck_assert_int_eq(read(fd, buf, 2), 2);
	len = sizeof(own_after);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&own_after, &len), 0);
	ck_assert_int_eq(own_after.sin_port, own_before.sin_port);
	len = sizeof(value);
	getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, &len);
	ck_assert_int_eq(value, 1);
	getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &len);
	ck_assert_int_ne(value, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	ck_assert_uint_ge(log_lines(" retry "), 2);
	ck_assert_uint_eq(log_lines(" recovered "), 1);
	ck_assert_uint_eq(log_lines(" gave-up "), 0);
}
END_TEST

START_TEST(success_changes_nothing)
{
	struct sockaddr_in sa;
	int server = bound(&sa);
	int fd = tcp_socket();

	ck_assert_int_eq(listen(server, 1), 0);
	errno = 4711;
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_eq(log_lines(" op="), 0);
}
END_TEST

/* Never retried, whatever is configured; each at once and with libc's errno. */
START_TEST(errors_that_are_not_ours)
{
	struct sockaddr_in sa;
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	int server = bound(&sa);
	int fd;
	struct instant start = instant();

	ck_assert_int_eq(connect(-1, (struct sockaddr *)&sa, sizeof(sa)), -1);
	ck_assert_int_eq(errno, EBADF);
	fd = open("/dev/null", O_RDONLY);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), -1);
	ck_assert_int_eq(errno, ENOTSOCK);
	fd = tcp_socket();
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, 3), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&six, sizeof(six)), -1);
	ck_assert_int_eq(errno, EAFNOSUPPORT);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)16, sizeof(sa)), -1);
	ck_assert_int_eq(errno, EFAULT);
	listen(server, 1);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), -1);
	ck_assert_int_eq(errno, EISCONN);
	ck_assert(at_once(start, 35));
	ck_assert_uint_eq(log_lines(" retry "), 0);
}
END_TEST

START_TEST(datagrams_and_nonblocking_pass_through)
{
	struct sockaddr_in sa;
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/nonexistent/socket" };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct instant start = instant();

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), -1);
	ck_assert_int_eq(errno, ENOENT);
	bound(&sa);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	ck_assert(at_once(start, 35));
	ck_assert_uint_eq(log_lines(" retry "), 0);
}
END_TEST

START_TEST(unix_sockets)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s/s", getenv("TEST_DIR"));
	unlink(un.sun_path);
	/* A missing path is not retried by default. */
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_uint_eq(log_lines(" retry "), 0);
	ck_assert_int_eq(bind(server, (struct sockaddr *)&un, sizeof(un)), 0);
	listen_late(server, 200);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	ck_assert_uint_ge(log_lines(" retry "), 1);
	ck_assert_uint_ge(log_lines(un.sun_path), 1);
	/* Abstract names. */
	memset(un.sun_path, 0, sizeof(un.sun_path));
	snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "libretry-test-%d", (int)getpid());
	server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(server, (struct sockaddr *)&un, sizeof(un)), 0);
	listen_late(server, 100);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	ck_assert_uint_ge(log_lines("dest=@libretry-test-"), 1);
}
END_TEST

/* SO_SNDTIMEO bounds a blocking connect as a whole, and keeps its value. */
START_TEST(the_programs_own_time_limit)
{
	struct sockaddr_in sa;
	struct timeval limit = { 0, 300000 };
	struct timeval after = { 0, 0 };
	socklen_t len = sizeof(after);
	int64_t start;
	int fd = tcp_socket();

	bound(&sa);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	start = ms_now();
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	ck_assert_int_le(ms_now() - start, 400);
	ck_assert_uint_ge(log_lines(" retry "), 2);
	getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &after, &len);
	ck_assert_int_eq(after.tv_sec, 0);
	ck_assert_int_eq(after.tv_usec / 10000, 30); /* jiffies */
}
END_TEST

static void *close_and_reuse(void *arg)
{
	int fd = *(int *)arg;
	int other;

	sleep_ms(100);
	close(fd);
	other = tcp_socket();
	ck_assert_int_eq(other, fd); /* or this proves nothing */
	return NULL;
}

/* The number now belongs to another socket of the program's: connecting that
 * one would be a connection that nobody asked for. */
START_TEST(descriptor_closed_and_reused_during_the_wait)
{
	struct sockaddr_in sa, peer;
	socklen_t len = sizeof(peer);
	int server = bound(&sa);
	int fd = tcp_socket();
	pthread_t t;

	listen_late(server, 400);
	ck_assert_int_eq(pthread_create(&t, NULL, close_and_reuse, &fd), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	pthread_join(t, NULL);
	sleep_ms(500);
	ck_assert_int_eq(getpeername(fd, (struct sockaddr *)&peer, &len), -1);
	ck_assert_uint_eq(log_lines(" abandoned "), 1);
}
END_TEST

/* The first call of all is made by a vfork child, in our memory: it must not
 * take the process over. */
START_TEST(vfork_child_connects_first)
{
	struct sockaddr_in sa;
	int server = bound(&sa);
	int fd = tcp_socket();
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		connect(fd, (struct sockaddr *)&sa, sizeof(sa));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	listen_late(server, 150);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ck_assert_uint_eq(log_lines(" recovered "), 1);
}
END_TEST

START_TEST(special_addresses_fail_as_fast_as_alone)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd = tcp_socket();
	struct instant start = instant();

	inet_pton(AF_INET, "255.255.255.255", &sa.sin_addr);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), -1);
	inet_pton(AF_INET, "224.0.0.1", &sa.sin_addr);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), -1);
	ck_assert(at_once(start, 35));
	ck_assert_uint_eq(log_lines(" retry "), 0);
}
END_TEST

UNIT_MAIN("preload connect", &late_server_is_reached_on_the_same_socket,
          &success_changes_nothing, &errors_that_are_not_ours,
          &datagrams_and_nonblocking_pass_through, &unix_sockets, &the_programs_own_time_limit,
          &descriptor_closed_and_reused_during_the_wait, &vfork_child_connects_first,
          &special_addresses_fail_as_fast_as_alone)
