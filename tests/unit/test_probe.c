/* SPDX-License-Identifier: MIT */
#include "preload/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
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

UNIT_MAIN("probe", &listeners_are_found, &other_sockets_do_not_count,
          &remote_addresses_are_not_known, &sockets, &self_connection)
