/* SPDX-License-Identifier: MIT */
/*
 * send = "safe": a connection that was reset before any byte went over it is made
 * again, and no other.
 */
#include "tests/preload/resets.h"

static void rescued_of(unsigned attempts)
{
	char count[32];

	snprintf(count, sizeof(count), " attempts=%u ", attempts);
	must_eq(log_lines(" retry op=send "), attempts - 1);
	must_eq(log_lines(" recovered op=send "), 1);
	must_eq(log_lines(count), 1);
	must_eq(log_lines(" gave-up "), 0);
}

static void writes(unsigned how)
{
	struct server *s = serve(SAFE, "re");
	int fd = dial_reset(s);

	errno = 0;
	must_eq(write_by(how, fd, "ping", 0), 4);
	must_get(fd, "ping");
	must_eq(s->accepted, 2);
	must_eq(s->bytes, 4);
	rescued_of(2);
}

static void reads(unsigned how)
{
	struct server *s = serve(SAFE, "rrrb");
	int fd = dial(s);
	char buf[8];

	must_eq(read_by(how, fd, buf, sizeof(buf), 0), 5);
	must_eq(memcmp(buf, "hello", 5), 0);
	must_eq(write(fd, "ping", 4), 4);
	must_get(fd, "ping");
	must_eq(s->accepted, 4);
	rescued_of(4);
}

static void writes_and_reads(unsigned i)
{
	snprintf(case_name, sizeof(case_name), "way %u", i);
	if (i < WRITERS)
		writes(i);
	else
		reads(i - WRITERS);
}

START_TEST(every_write_and_read_is_rescued)
{
	side_by_side(WRITERS + READERS, 12, writes_and_reads);
}
END_TEST

/* A socket that is dup'ed, or of IPv6, or connected to "any". */
static void of_a_dup(void)
{
	struct server *s = serve(SAFE, "re");
	int fd = dial_reset(s);
	int copy = dup(fd);

	close(fd);
	must_eq(write(copy, "ping", 4), 4);
	must_get(copy, "ping");
	rescued_of(2);
}

static void by_the_mapped_address(void)
{
	struct server *s = serve(SAFE, "re");
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = s->sa.sin_port };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (fd < 0)
		return;
	six.sin6_addr.s6_addr[10] = six.sin6_addr.s6_addr[11] = 0xff;
	memcpy(&six.sin6_addr.s6_addr[12], &s->sa.sin_addr, 4);
	must_eq(connect(fd, (struct sockaddr *)&six, sizeof(six)), 0);
	until_closed(fd);
	must_eq(write(fd, "ping", 4), 4);
	must_get(fd, "ping");
	rescued_of(2);
}

static void keeps_options(void)
{
	struct server *s = serve(SAFE, "re");
	int fd = dial_reset(s);
	int on = 1, idle = 77;
	socklen_t len = sizeof(idle);

	must_eq(setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)), 0);
	must_eq(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	must_eq(write(fd, "ping", 4), 4);
	idle = on = 0;
	must_eq(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, &len), 0);
	must_eq(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
	must_eq(idle, 77);
	must_eq(on, 1);
}

static int shared_port(struct sockaddr_in *sa)
{
	int fd = tcp_socket();
	int on = 1;

	must_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
	must_eq(bind(fd, (struct sockaddr *)sa, sizeof(*sa)), 0);
	return fd;
}

static void while_the_server_is_away(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);
	int first, second, fd, got;

	inet_pton(AF_INET, SAFE, &sa.sin_addr);
	first = shared_port(&sa);
	must_eq(getsockname(first, (struct sockaddr *)&sa, &len), 0);
	second = shared_port(&sa);
	must_eq(listen(first, 1), 0);
	fd = tcp_socket();
	must_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	got = accept(first, NULL, NULL);
	must(got >= 0);
	close(first);
	hang_up(got);
	must(listen_late(second, 200) > 0);
	/* Refused for a while. */
	must_eq(write(fd, "ping", 4), 4);
	must_get(fd, "ok");
	must(log_lines(" error=ECONNREFUSED ") >= 1);
	must_eq(log_lines(" recovered op=send "), 1);
}

/* A read: the reset of each new connection comes before any byte. */
static void is_bounded(void)
{
	struct server *s = serve(FEW, "r");
	int fd = dial(s);
	char c;

	must_fail(read(fd, &c, 1), ECONNRESET);
	must_eq(s->accepted, 4);
	must_eq(log_lines(" retry op=send "), 3);
	must_eq(log_lines(" gave-up op=send "), 1);
	/* What follows is as after any reset, and no new series. */
	must_eq(read(fd, &c, 1), 0);
	must_fail(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	must_eq(s->accepted, 4);
}

static const struct named other[] = { { "dup", of_a_dup },
	{ "mapped address", by_the_mapped_address },
	{ "options", keeps_options },
	{ "server away", while_the_server_is_away },
	{ "bounded", is_bounded } };

START_TEST(on_the_same_socket)
{
	RUN_GROUP(other);
}
END_TEST

/* What is not made again. */

static void not_if_off(void)
{
	struct server *s = serve(OFF, "re");
	int fd = dial_reset(s);

	must_fail(write(fd, "ping", 4), ECONNRESET);
	must_eq(s->accepted, 1);
	nothing_done();
}

static void not_after_a_request(void)
{
	struct server *s = serve(SAFE, "qe");
	int fd = dial(s);
	char c;

	must_eq(write(fd, "ping", 4), 4);
	until_closed(fd);
	must_fail(read(fd, &c, 1), ECONNRESET);
	must_fail(send(fd, "ping", 4, MSG_NOSIGNAL), EPIPE);
	must_eq(s->requests, 1);
	must_eq(s->accepted, 1);
	nothing_done();
}

static void not_after_an_answer(void)
{
	struct server *s = serve(SAFE, "se");
	int fd = dial_reset(s);
	char buf[4];

	/* What came before the reset can still be read. */
	must_eq(recv(fd, buf, 4, MSG_PEEK), 2);
	must_fail(write(fd, "ping", 4), ECONNRESET);
	must_eq(s->accepted, 1);
	nothing_done();
}

/* The kernel took bytes, and none of them went out. */
static void not_with_bytes_that_wait(void)
{
	struct server *s = serve(SAFE, "de");
	int fd = dial(s);
	int on = 1;

	/* The kernel holds them back for 200 ms. */
	must_eq(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)), 0);
	must_eq(write(fd, "ping", 4), 4);
	until_closed(fd);
	must_fail(write(fd, "ping", 4), ECONNRESET);
	must_eq(s->bytes, 0);
	must_eq(s->accepted, 1);
	nothing_done();
}

static void not_after_shutdown(void)
{
	for (int how = SHUT_RD; how <= SHUT_RDWR; how++) {
		struct server *s = serve(SAFE, "ree");
		int fd = dial_reset(s);

		must_fail(shutdown(fd, how), ENOTCONN);
		must_eq(send(fd, "x", 1, MSG_NOSIGNAL), -1);
		must_eq(s->accepted, 1);
		close(fd);
	}
	nothing_done();
}

static void not_a_socket_that_was_accepted(void)
{
	struct server *s = serve(SAFE, "e");
	struct sockaddr_in sa;
	int server = bound_at(SAFE, &sa);
	int fd = dial(s), client, got;
	char c;

	/* Its number has a note of a connect. */
	must_eq(listen(server, 1), 0);
	must_eq(syscall(SYS_close, fd), 0);
	client = (int)syscall(SYS_fcntl, tcp_socket(), F_DUPFD, 40);
	must_eq(connect(client, (struct sockaddr *)&sa, sizeof(sa)), 0);
	for (got = accept(server, NULL, NULL); got != fd; got = (int)syscall(SYS_dup3, got, fd, 0))
		must(got >= 0);
	hang_up(client);
	until_closed(fd);
	must_fail(read(fd, &c, 1), ECONNRESET);
	sleep_ms(50);
	must(s->accepted <= 1);
	nothing_done();
}

static volatile sig_atomic_t pipes;

static void on_pipe(int sig)
{
	(void)sig;
	pipes++;
}

static void broken_pipes_are_the_kernels(void)
{
	struct server *s = serve(SAFE, "q");
	struct sigaction act = { .sa_handler = on_pipe };

	sigaction(SIGPIPE, &act, NULL);
	for (unsigned how = 0; how < WRITERS; how++) {
		int fd = dial(s);

		must_eq(write_by(how, fd, "ping", 0), 4);
		until_closed(fd);
		pipes = 0;
		must_fail(write_by(how, fd, "ping", 0), ECONNRESET);
		must_eq(pipes, 0);
		must_fail(write_by(how, fd, "ping", 0), EPIPE);
		must_eq(pipes, 1);
		if (how >= 2) {
			must_fail(write_by(how, fd, "ping", MSG_NOSIGNAL), EPIPE);
			must_eq(pipes, 1);
		}
		close(fd);
	}
	must_eq(s->requests, WRITERS);
	nothing_done();
}

/* The peer ended in good order: the first send is lost, and the second knows. */
static void not_after_the_end(void)
{
	struct server *s = serve(SAFE, "f");
	int fd = dial(s);
	char c;

	must_eq(read(fd, &c, 1), 0);
	must_eq(write(fd, "ping", 4), 4);
	until_closed(fd);
	must_fail(send(fd, "ping", 4, MSG_NOSIGNAL), EPIPE);
	must_eq(s->accepted, 1);
	nothing_done();
}

static const struct named natives[] = { { "off", not_if_off },
	{ "after a request", not_after_a_request },
	{ "after an answer", not_after_an_answer },
	{ "bytes that wait", not_with_bytes_that_wait },
	{ "after shutdown", not_after_shutdown },
	{ "accepted", not_a_socket_that_was_accepted },
	{ "SIGPIPE", broken_pipes_are_the_kernels },
	{ "after the end", not_after_the_end } };

START_TEST(all_else_is_native)
{
	RUN_GROUP(natives);
}
END_TEST

UNIT_MAIN("preload resets", &every_write_and_read_is_rescued, &on_the_same_socket,
          &all_else_is_native)
