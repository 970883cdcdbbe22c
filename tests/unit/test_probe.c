/* SPDX-License-Identifier: MIT */
#include "preload/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/duration.h"
#include "tests/unit/unit.h"

/* A listener at <text>; its port. */
static int listener(const char *text, int v6only, uint16_t *port)
{
	struct sockaddr_storage ss;
	struct addr a;
	socklen_t len;
	int fd;

	ck_assert(addr_parse_ip(&a, text));
	len = addr_to_sockaddr(&a, &ss);
	fd = socket(a.family, SOCK_STREAM, 0);
	ck_assert_int_ge(fd, 0);
	if (a.family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&ss, len), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	len = sizeof(ss);
	getsockname(fd, (struct sockaddr *)&ss, &len);
	ck_assert(addr_from_sockaddr(&a, (struct sockaddr *)&ss, len));
	*port = a.port;
	return fd;
}

static struct addr at(const char *text, uint16_t port)
{
	struct addr a;

	ck_assert(addr_parse_ip(&a, text));
	a.port = port;
	return a;
}

/* Both sources and the whole must say the same. */
static void expect(const char *text, uint16_t port, int answer)
{
	struct addr a = at(text, port);

	errno = 4711;
	ck_assert_msg(probe_by_diag(&a) == answer, "sock_diag: %s", text);
	ck_assert_msg(probe_by_proc(&a) == answer, "/proc: %s", text);
	ck_assert_msg(probe_listening(&a) == answer, "%s", text);
	ck_assert_int_eq(errno, 4711);
}

START_TEST(listeners_are_found)
{
	uint16_t port;
	int fd = listener("127.0.0.1", 0, &port);

	expect("127.0.0.1", port, 1);
	expect("127.0.0.2", port, 0);
	expect("::1", port, 0);
	close(fd);
	expect("127.0.0.1", port, 0);
	fd = listener("0.0.0.0", 0, &port);
	expect("127.0.0.1", port, 1);
	expect("127.9.9.9", port, 1);
	expect("::1", port, 0);
	close(fd);
	fd = listener("::1", 1, &port);
	expect("::1", port, 1);
	expect("127.0.0.1", port, 0);
	close(fd);
	fd = listener("::", 0, &port);
	expect("::1", port, 1);
	expect("127.0.0.1", port, 1);
	close(fd);
	expect("::1", port, 0);
}
END_TEST

/* Bound and not listening, connected, and on another port: no listener. */
/* sock_diag tells, /proc does not: there it is taken for possible. */
START_TEST(a_v6_only_wildcard)
{
	uint16_t port;
	int fd = listener("::", 1, &port);
	struct addr four = at("127.0.0.1", port);
	struct addr six = at("::1", port);

	ck_assert_int_eq(probe_by_diag(&four), 0);
	ck_assert_int_eq(probe_listening(&four), 0);
	ck_assert_int_eq(probe_by_proc(&four), 1);
	ck_assert_int_eq(probe_listening(&six), 1);
	close(fd);
}
END_TEST

START_TEST(other_sockets_do_not_count)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);
	uint16_t port;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	getsockname(fd, (struct sockaddr *)&sa, &len);
	expect("127.0.0.1", ntohs(sa.sin_port), 0);
	close(fd);
	fd = listener("127.0.0.1", 0, &port);
	expect("127.0.0.1", (uint16_t)(port + 1), 0);
	close(fd);
}
END_TEST

START_TEST(remote_addresses_are_not_known)
{
	struct addr a = at("192.0.2.1", 80);
	struct addr b;

	ck_assert_int_eq(probe_listening(&a), -1);
	memset(&b, 0, sizeof(b));
	b.family = AF_UNIX;
	ck_assert_int_eq(probe_listening(&b), -1);
}
END_TEST

START_TEST(sockets)
{
	struct timeval tv = { 2, 500000 };
	int tcp = socket(AF_INET, SOCK_STREAM, 0);
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	int copy = dup(tcp);
	int null = open("/dev/null", O_RDONLY);

	ck_assert_int_eq(probe_socket_type(tcp), SOCK_STREAM);
	ck_assert_int_eq(probe_socket_type(udp), SOCK_DGRAM);
	ck_assert_int_lt(probe_socket_type(null), 0);
	ck_assert(!probe_nonblocking(tcp));
	ck_assert(probe_nonblocking(udp));
	ck_assert(probe_nonblocking(-1));
	ck_assert_int_eq(probe_send_timeout(tcp), DUR_NONE);
	setsockopt(tcp, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	ck_assert_int_eq(probe_send_timeout(tcp), 2500 * DUR_MS);
	ck_assert(probe_identity(tcp) != 0);
	ck_assert(probe_identity(tcp) == probe_identity(copy));
	ck_assert(probe_identity(tcp) != probe_identity(udp));
	ck_assert(probe_identity(null) == 0);
	ck_assert(probe_identity(-1) == 0);
	ck_assert(!probe_connected_to_self(tcp));
}
END_TEST

/* The kernel lets a socket connect to its own port. */
START_TEST(self_connection)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	getsockname(fd, (struct sockaddr *)&sa, &len);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ck_assert(probe_connected_to_self(fd));
}
END_TEST

/* A connection to <ip>; [1] is the server's side. */
static void connection(const char *ip, int ends[2], struct sockaddr_storage *ss, socklen_t *len)
{
	uint16_t port;
	int server = listener(ip, 0, &port);
	struct addr a = at(ip, port);

	*len = addr_to_sockaddr(&a, ss);
	ends[0] = socket(a.family, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(ends[0], (struct sockaddr *)ss, *len), 0);
	ends[1] = accept(server, NULL, NULL);
	ck_assert_int_ge(ends[1], 0);
	close(server);
}

static void reset(int fd)
{
	struct linger l = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

static void until_state(int fd, int state)
{
	struct tcp_info info = { .tcpi_state = 0 };
	socklen_t len;

	for (unsigned i = 0; info.tcpi_state != state; i++) {
		ck_assert_uint_lt(i, 5000);
		len = sizeof(info);
		ck_assert_int_eq(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
		usleep(1000);
	}
}

/* Loopback delivers before the call returns. */
static void connections_that_are_over(const char *ip)
{
	struct sockaddr_storage ss;
	socklen_t len;
	char c;
	int one = 1;
	int ends[2];

	/* Nothing went. */
	connection(ip, ends, &ss, &len);
	ck_assert(!probe_over(ends[0], (struct sockaddr *)&ss, len, 0));
	ck_assert_int_eq(probe_condition(ends[0]), CONDITION_CONNECTED);
	reset(ends[1]);
	ck_assert_int_eq(probe_condition(ends[0]), CONDITION_RESET);
	ck_assert(probe_over(ends[0], (struct sockaddr *)&ss, len, 0));
	ck_assert(!probe_over(ends[0], (struct sockaddr *)&ss, len, 1));
	/* Another port, another address. */
	((struct sockaddr_in *)&ss)->sin_port ^= htons(1);
	ck_assert(!probe_over(ends[0], (struct sockaddr *)&ss, len, 0));
	((struct sockaddr_in *)&ss)->sin_port ^= htons(1);
	/* Both are in the last byte but the scope. */
	((unsigned char *)&ss)[ss.ss_family == AF_INET ? 7 : 23] ^= 2;
	ck_assert(!probe_over(ends[0], (struct sockaddr *)&ss, len, 0));
	close(ends[0]);
	/* A byte out; and one that waits. */
	for (unsigned i = 0; i < 2; i++) {
		connection(ip, ends, &ss, &len);
		if (i == 1)
			setsockopt(ends[0], IPPROTO_TCP, TCP_CORK, &one, sizeof(one));
		ck_assert_int_eq(send(ends[0], "x", 1, 0), 1);
		reset(ends[1]);
		ck_assert_int_eq(probe_condition(ends[0]), CONDITION_CONNECTED);
		ck_assert(!probe_over(ends[0], (struct sockaddr *)&ss, len, 0));
		ck_assert(probe_over(ends[0], (struct sockaddr *)&ss, len, 1));
		close(ends[0]);
	}
	/* A byte in. */
	connection(ip, ends, &ss, &len);
	ck_assert_int_eq(send(ends[1], "x", 1, 0), 1);
	reset(ends[1]);
	ck_assert(!probe_over(ends[0], (struct sockaddr *)&ss, len, 0));
	ck_assert_int_eq(recv(ends[0], &c, 1, 0), 1);
	ck_assert(!probe_over(ends[0], (struct sockaddr *)&ss, len, 0));
	close(ends[0]);
	/* An end, either way. */
	connection(ip, ends, &ss, &len);
	ck_assert_int_eq(shutdown(ends[0], SHUT_WR), 0);
	until_state(ends[0], TCP_FIN_WAIT2);
	reset(ends[1]);
	ck_assert_int_eq(probe_condition(ends[0]), CONDITION_CONNECTED);
	ck_assert(!probe_over(ends[0], (struct sockaddr *)&ss, len, 0));
	close(ends[0]);
	connection(ip, ends, &ss, &len);
	ck_assert_int_eq(shutdown(ends[1], SHUT_WR), 0);
	reset(ends[1]);
	ck_assert(!probe_over(ends[0], (struct sockaddr *)&ss, len, 0));
	close(ends[0]);
	/* The one that was accepted has another peer. */
	connection(ip, ends, &ss, &len);
	reset(ends[0]);
	ck_assert(!probe_over(ends[1], (struct sockaddr *)&ss, len, 0));
	close(ends[1]);
	/* Dissolved, as if it had never been. */
	connection(ip, ends, &ss, &len);
	reset(ends[1]);
	ck_assert_int_eq(connect(ends[0], &(struct sockaddr){ .sa_family = AF_UNSPEC },
	                         sizeof(struct sockaddr)),
	                 0);
	ck_assert_int_eq(probe_condition(ends[0]), CONDITION_CLOSED);
	ck_assert(!probe_over(ends[0], (struct sockaddr *)&ss, len, 0));
	close(ends[0]);
}

START_TEST(what_went_over_a_connection)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int ends[2];
	struct sockaddr_storage ss;
	socklen_t len;

	connections_that_are_over("127.0.0.1");
	connections_that_are_over("::1");
	/* "Any" is this machine. */
	connection("127.0.0.1", ends, &ss, &len);
	any.sin_port = ((struct sockaddr_in *)&ss)->sin_port;
	reset(ends[1]);
	ck_assert(probe_over(ends[0], (struct sockaddr *)&any, sizeof(any), 0));
	close(ends[0]);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	close(ends[1]);
	ck_assert(!probe_over(ends[0], (struct sockaddr *)&any, sizeof(any), 0));
	ck_assert_int_eq(probe_condition(ends[0]), CONDITION_CONNECTED);
	close(ends[0]);
	ck_assert(!probe_over(ends[0], (struct sockaddr *)&any, sizeof(any), 0));
}
END_TEST

UNIT_MAIN("probe", &what_went_over_a_connection, &listeners_are_found, &a_v6_only_wildcard,
           &other_sockets_do_not_count,
          &remote_addresses_are_not_known, &sockets, &self_connection)
