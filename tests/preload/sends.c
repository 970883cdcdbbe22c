/* SPDX-License-Identifier: MIT */
/*
 * Sends that fail where nothing was taken: datagrams refused because of the one
 * before, no buffers, MSG_FASTOPEN; and those that must stay exactly as they are.
 */
#include "tests/preload/bare.h"
#include "tests/preload/resets.h"

#define LATE_MS 300

/* ---- datagrams ---- */

static int udp_at(const char *ip, struct sockaddr_in *sa)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t len = sizeof(*sa);

	memset(sa, 0, sizeof(*sa));
	sa->sin_family = AF_INET;
	inet_pton(AF_INET, ip, &sa->sin_addr);
	must_eq(bind(fd, (struct sockaddr *)sa, sizeof(*sa)), 0);
	must_eq(getsockname(fd, (struct sockaddr *)sa, &len), 0);
	return fd;
}

/* The server goes away and comes back. */
static int udp_to(const char *ip, int *server, struct sockaddr_in *sa)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	*server = udp_at(ip, sa);
	must_eq(connect(fd, (struct sockaddr *)sa, sizeof(*sa)), 0);
	must_eq(syscall(SYS_close, *server), 0);
	return fd;
}

static void comes_back(int *server, const struct sockaddr_in *sa)
{
	*server = socket(AF_INET, SOCK_DGRAM, 0);
	must_eq(bind(*server, (const struct sockaddr *)sa, sizeof(*sa)), 0);
}

static void brought(int server, const char *text)
{
	char buf[16] = { 0 };

	must_eq(recv(server, buf, sizeof(buf), MSG_DONTWAIT), (ssize_t)strlen(text));
	must_eq(memcmp(buf, text, strlen(text)), 0);
}

static void datagram(unsigned how)
{
	struct sockaddr_in sa;
	int server;
	int fd = udp_to(SAFE, &server, &sa);

	snprintf(case_name, sizeof(case_name), "datagram by %u", how);
	must_eq(write_by(how, fd, "one", 0), 3);
	comes_back(&server, &sa);
	/* The refusal of "one". */
	must_eq(write_by(how, fd, "two", 0), 3);
	must_eq(write_by(how, fd, "three", 0), 5);
	brought(server, "two");
	brought(server, "three");
	must_fail(recv(server, case_name, 1, MSG_DONTWAIT), EAGAIN);
	must_eq(log_lines(" retry op=send "), 1);
	must_eq(log_lines(" wait=0us "), 1);
	must_eq(log_lines(" recovered op=send "), 1);
}

START_TEST(a_refused_datagram_is_sent_once_more)
{
	side_by_side(WRITERS, 6, datagram);
}
END_TEST

static void not_if_off(void)
{
	struct sockaddr_in sa;
	int server;
	int fd = udp_to(OFF, &server, &sa);

	must_eq(send(fd, "one", 3, 0), 3);
	comes_back(&server, &sa);
	must_fail(send(fd, "two", 3, 0), ECONNREFUSED);
	must_eq(send(fd, "three", 5, 0), 5);
	brought(server, "three");
	nothing_done();
}

/* A read is told of the refusal as ever. */
static void reads_are_told(void)
{
	struct sockaddr_in sa;
	int server;
	int fd = udp_to(SAFE, &server, &sa);
	char c;

	must_eq(send(fd, "one", 3, 0), 3);
	must_fail(recv(fd, &c, 1, 0), ECONNREFUSED);
	nothing_done();
}

/* A Unix datagram that is refused is this one. */
static void unix_datagrams(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int server = socket(AF_UNIX, SOCK_DGRAM, 0);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s/%d.udp", getenv("TEST_DIR"), (int)getpid());
	must_eq(bind(server, (struct sockaddr *)&un, sizeof(un)), 0);
	must_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	must_eq(close(server), 0);
	must_fail(send(fd, "one", 3, 0), ECONNREFUSED);
	nothing_done();
}

/* The third of five is too long. */
static void one_of_several(void)
{
	static char large[70000];
	struct iovec iov[5];
	struct mmsghdr m[5];
	struct sockaddr_in sa;
	int server = udp_at(SAFE, &sa);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	must_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	memset(m, 0, sizeof(m));
	for (unsigned i = 0; i < 5; i++) {
		iov[i] = (struct iovec){ large, i == 2 ? sizeof(large) : 1 + i };
		m[i].msg_hdr.msg_iov = &iov[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	must_eq(sendmmsg(fd, m, 5, 0), 2);
	must_eq(m[0].msg_len, 1);
	must_eq(m[1].msg_len, 2);
	must_fail(sendmmsg(fd, m + 2, 3, 0), EMSGSIZE);
	must_eq(sendmmsg(fd, m + 3, 2, 0), 2);
	must_eq(recv(server, large, 10, 0), 1);
	must_eq(recv(server, large, 10, 0), 2);
	must_eq(recv(server, large, 10, 0), 4);
	must_eq(recv(server, large, 10, 0), 5);
	nothing_done();
}

/* ---- descriptors over a Unix socket ---- */

static void pass(int by, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
		                  .cmsg_level = SOL_SOCKET,
		                  .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (char[]){ 'x' }, 1 };
	struct msghdr msg = { .msg_iov = &iov,
		              .msg_iovlen = 1,
		              .msg_control = &control,
		              .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	must_eq(sendmsg(by, &msg, 0), 1);
}

static int received(int by)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(4 * sizeof(int))];
	} control;
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = { .msg_iov = &iov,
		              .msg_iovlen = 1,
		              .msg_control = &control,
		              .msg_controllen = sizeof(control) };
	int fd;

	must_eq(recvmsg(by, &msg, 0), 1);
	must_eq(control.header.cmsg_len, CMSG_LEN(sizeof(int)));
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

static void descriptors(void)
{
	struct server *s = serve(FIRST, "e");
	int pair[2], fd = dial(s), got;

	must_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pass(pair[0], fd);
	got = received(pair[1]);
	must_eq(write(got, "ping", 4), 4);
	must_get(fd, "ping");
	must_fail(recv(pair[1], case_name, 1, MSG_DONTWAIT), EAGAIN);
	nothing_done();
}

/* What a non-blocking stream takes of a large piece, it takes once. */
static void parts(void)
{
	static char data[1 << 20];
	struct server *s = serve(SAFE, "w");
	int fd = dial_flags(s, SOCK_NONBLOCK);
	struct pollfd p = { fd, POLLOUT, 0 };
	size_t sum = 0;

	while (sum < 4 * sizeof(data)) {
		ssize_t n;

		must_eq(poll(&p, 1, 5000), 1);
		n = send(fd, data, sizeof(data), 0);
		must(n > 0 || errno == EAGAIN);
		sum += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	for (unsigned i = 0; s->bytes != sum; i++) {
		must(i < 5000);
		must(s->bytes <= sum);
		sleep_ms(1);
	}
	nothing_done();
}

/* ---- no buffers: as injected ---- */

#define CROWDED "127.0.0.10" /* the first two sends fail with ENOBUFS */
#define CROWDED_UDP "127.0.0.11"
#define CROWDED_PLAIN "127.0.0.12" /* no rule */

static void a_crowded_stream(void)
{
	struct server *s = serve(CROWDED, "e");
	int fd = dial(s);

	must_eq(send(fd, "ping", 4, 0), 4);
	must_get(fd, "ping");
	must_eq(s->bytes, 4);
	must_eq(log_lines(" retry op=send "), 2);
	must_eq(log_lines(" error=ENOBUFS "), 4); /* with those that say "injected" */
	must_eq(log_lines(" recovered op=send "), 1);
}

static void a_crowded_loop(void)
{
	struct server *s = serve(CROWDED, "e");
	int fd = dial(s);

	must_fail(send(fd, "ping", 4, MSG_DONTWAIT), ENOBUFS);
	must_fail(send(fd, "ping", 4, MSG_DONTWAIT), ENOBUFS);
	must_eq(send(fd, "ping", 4, MSG_DONTWAIT), 4);
	nothing_done();
}

static void crowded_datagrams(void)
{
	struct sockaddr_in sa;
	int server = udp_at(CROWDED_UDP, &sa);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	must_eq(sendto(fd, "ping", 4, 0, (struct sockaddr *)&sa, sizeof(sa)), 4);
	brought(server, "ping");
	must_eq(log_lines(" retry op=send "), 2);
}

static void crowded_datagrams_without_a_rule(void)
{
	struct sockaddr_in sa;
	int server = udp_at(CROWDED_PLAIN, &sa);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	must(server >= 0);
	must_fail(sendto(fd, "ping", 4, 0, (struct sockaddr *)&sa, sizeof(sa)), ENOBUFS);
	nothing_done();
}

/* ---- MSG_FASTOPEN ---- */

static void fast_open(bool message)
{
	struct sockaddr_in sa;
	int server = bound_at(FIRST, &sa);
	int fd = tcp_socket();
	struct iovec iov = { (char[]){ "ping" }, 4 };
	struct msghdr msg = {
		.msg_name = &sa, .msg_namelen = sizeof(sa), .msg_iov = &iov, .msg_iovlen = 1
	};

	listen_late(server, LATE_MS);
	must_eq(message ? sendmsg(fd, &msg, MSG_FASTOPEN)
	                : sendto(fd, "ping", 4, MSG_FASTOPEN, (struct sockaddr *)&sa, sizeof(sa)),
	        4);
	must_get(fd, "ok");
	must(log_lines(" retry op=connect ") >= 1);
	must_eq(log_lines(" recovered op=connect "), 1);
}

static void fast_open_sendto(void)
{
	fast_open(false);
}

static void fast_open_sendmsg(void)
{
	fast_open(true);
}

/* With a cookie the data may have gone with the SYN, and been read. */
static void fast_open_is_not_proven(void)
{
	struct sockaddr_in sa;
	int server = bound_at(SAFE, &sa);
	int fd = tcp_socket();

	must(server >= 0);
	must_fail(sendto(fd, "ping", 4, MSG_FASTOPEN, (struct sockaddr *)&sa, sizeof(sa)),
	          ECONNREFUSED);
	nothing_done();
}

static void fast_open_in_a_loop(void)
{
	struct sockaddr_in sa;
	int server = bound_at(SAFE, &sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct pollfd p = { fd, POLLOUT, 0 };

	listen_late(server, LATE_MS);
	must_fail(sendto(fd, "ping", 4, MSG_FASTOPEN, (struct sockaddr *)&sa, sizeof(sa)),
	          EINPROGRESS);
	must_eq(poll(&p, 1, 5000), 1);
	must_eq(p.revents, POLLOUT);
	must_eq(so_error(fd), 0);
	must_eq(send(fd, "ping", 4, 0), 4);
	must_get(fd, "ok");
	must_eq(log_lines(" recovered op=connect "), 1);
}

static void fast_open_at_last(void)
{
	struct sockaddr_in sa;
	int server = bound_at(FIRST_FEW, &sa);
	int fd = tcp_socket();

	must(server >= 0);
	must_fail(sendto(fd, "ping", 4, MSG_FASTOPEN, (struct sockaddr *)&sa, sizeof(sa)),
	          ECONNREFUSED);
	must_eq(log_lines(" gave-up op=connect "), 1);
}

static void fast_open_connect(void)
{
	struct sockaddr_in sa;
	int server = bound_at(SAFE, &sa);
	int fd = tcp_socket();
	int on = 1;

	must_eq(setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)), 0);
	listen_late(server, LATE_MS);
	must_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	must_eq(send(fd, "ping", 4, 0), 4);
	must_get(fd, "ok");
}

static const struct named cases[] = { { "UDP off", not_if_off },
	{ "UDP reads", reads_are_told },
	{ "Unix datagrams", unix_datagrams },
	{ "one of several", one_of_several },
	{ "descriptors", descriptors },
	{ "parts", parts },
	{ "ENOBUFS", a_crowded_stream },
	{ "ENOBUFS in a loop", a_crowded_loop },
	{ "ENOBUFS of datagrams", crowded_datagrams },
	{ "ENOBUFS without a rule", crowded_datagrams_without_a_rule },
	{ "MSG_FASTOPEN", fast_open_sendto },
	{ "MSG_FASTOPEN, sendmsg", fast_open_sendmsg },
	{ "MSG_FASTOPEN, safe", fast_open_is_not_proven },
	{ "MSG_FASTOPEN in a loop", fast_open_in_a_loop },
	{ "MSG_FASTOPEN at last", fast_open_at_last },
	{ "TCP_FASTOPEN_CONNECT", fast_open_connect } };

START_TEST(each_send)
{
	RUN_GROUP(cases);
}
END_TEST

UNIT_MAIN("preload sends", &a_refused_datagram_is_sent_once_more, &each_send)
