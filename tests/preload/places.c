/* SPDX-License-Identifier: MIT */
/* "fallback" and "redirect": where a connect really ends. */
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>

#include "tests/preload/guest.h"

static struct sockaddr_in dead;    /* refuses */
static struct sockaddr_in standby; /* listens */

static unsigned port_of(const struct sockaddr_in *sa)
{
	return ntohs(sa->sin_port);
}

/* A socket for the connect to <dead>. */
static int start(void)
{
	bound(&dead);
	ck_assert_int_eq(listen(bound(&standby), 8), 0);
	return tcp_socket();
}

/* A listener at ::1, its port. */
static unsigned standby_of_v6(void)
{
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	return ntohs(sa.sin6_port);
}

/* The rule for <dead>: before the first call, which reads it. */
__attribute__((format(printf, 1, 2))) static void write_rule(const char *format, ...)
{
	char path[256];
	va_list args;
	FILE *f;

	snprintf(path, sizeof(path), "%s/places.conf", getenv("TEST_DIR"));
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "version = 1;\npolicies = { default = { base_delay = \"10ms\"; "
	           "max_delay = \"20ms\"; max_attempts = 4; }; };\n"
	           "destinations = ( { port = %u; ", port_of(&dead));
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fprintf(f, " } );\n");
	fclose(f);
}

/* Where <fd> is connected to, whatever its family. */
static unsigned peer_port(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	if (getpeername(fd, (struct sockaddr *)&ss, &len) != 0)
		return 0;
	return ntohs(((struct sockaddr_in *)&ss)->sin_port);
}

static int connect_dead(int fd)
{
	return connect(fd, (struct sockaddr *)&dead, sizeof(dead));
}

/* A non-blocking connect, through poll: 0 or its error. */
static int connect_by_poll(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int error = 0;
	socklen_t len = sizeof(error);

	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (connect_dead(fd) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	ck_assert_int_eq(poll(&p, 1, 8000), 1);
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	return error;
}

START_TEST(blocking_falls_back)
{
	int fd = start();

	write_rule("fallback = [ \"127.0.0.1:%u\" ]; fallback_after = 2;", port_of(&standby));
	ck_assert_int_eq(connect_dead(fd), 0);
	ck_assert_uint_eq(peer_port(fd), port_of(&standby));
	ck_assert_uint_eq(log_lines(" WARN retry op=connect "), 2);
	ck_assert_uint_eq(log_lines(" WARN fallback op=connect "), 1);
	ck_assert_uint_eq(log_lines(" recovered "), 1);
}
END_TEST

START_TEST(non_blocking_falls_back)
{
	int fd = start();

	write_rule("fallback = [ \"127.0.0.1:%u\" ];", port_of(&standby));
	ck_assert_int_eq(connect_by_poll(fd), 0);
	ck_assert_uint_eq(peer_port(fd), port_of(&standby));
	ck_assert_uint_eq(log_lines(" WARN fallback op=connect "), 1);
	ck_assert_uint_eq(log_lines(" recovered "), 1);
}
END_TEST

/* The program keeps its descriptor and what it has set. */
START_TEST(another_family_under_the_same_descriptor)
{
	int fd = start();
	int on = 1;
	socklen_t len = sizeof(on);
	unsigned port = standby_of_v6();

	write_rule("fallback = [ \"[::1]:%u\" ];", port);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	ck_assert_int_eq(connect_dead(fd), 0);
	ck_assert_uint_eq(peer_port(fd), port);
	on = 0;
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &len), 0);
	ck_assert_int_eq(on, 1);
	ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}
END_TEST

/* A non-blocking socket is never replaced: its registrations would be lost. */
START_TEST(another_family_is_passed_over_by_event_loops)
{
	int fd = start();

	write_rule("fallback = [ \"[::1]:%u\" ];", standby_of_v6());
	ck_assert_int_eq(connect_by_poll(fd), ECONNREFUSED);
	ck_assert_uint_eq(log_lines(" WARN fallback "), 1);
	ck_assert_uint_eq(log_lines(" reason=unusable"), 1);
}
END_TEST

START_TEST(the_last_real_error_is_given_back)
{
	int fd = start();

	write_rule("fallback = [ \"127.0.0.1:1\", \"127.0.0.1:2\" ];");
	ck_assert_int_eq(connect_dead(fd), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	ck_assert_uint_eq(log_lines(" WARN fallback "), 3);
	ck_assert_uint_eq(log_lines(" gave-up op=connect "), 1);
}
END_TEST

START_TEST(names_are_looked_up_by_who_can_wait)
{
	int fd = start();
	struct addrinfo hints = { .ai_family = AF_INET6 };
	struct addrinfo *list;

	write_rule("fallback = [ \"localhost:%u\" ];", port_of(&standby));
	/* An event loop does not know the name, and asks for it. */
	ck_assert_int_eq(connect_by_poll(fd), ECONNREFUSED);
	close(fd);
	/* The program's next look-up, of whatever name, is the chance: this one is
	 * of another family. */
	if (getaddrinfo("localhost", NULL, &hints, &list) != 0)
		ck_assert_int_eq(getaddrinfo("localhost", NULL, NULL, &list), 0);
	freeaddrinfo(list);
	fd = tcp_socket();
	ck_assert_int_eq(connect_by_poll(fd), 0);
	ck_assert_uint_eq(peer_port(fd), port_of(&standby));
}
END_TEST

START_TEST(a_blocking_connect_looks_names_up)
{
	int fd = start();

	write_rule("fallback = [ \"nobody.invalid:1\", \"localhost:%u\" ];", port_of(&standby));
	ck_assert_int_eq(connect_dead(fd), 0);
	ck_assert_uint_eq(peer_port(fd), port_of(&standby));
}
END_TEST

/* In what may be a handler the resolver must not run. */
START_TEST(not_where_signals_are_blocked)
{
	int fd = start();
	sigset_t set;

	write_rule("fallback = [ \"localhost:%u\" ];", port_of(&standby));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ck_assert_int_eq(connect_dead(fd), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	ck_assert_uint_ge(log_lines(" reason=unusable"), 1);
}
END_TEST

/* No failure is waited for, and every connect goes there; said once. */
START_TEST(redirects)
{
	close(start());
	write_rule("redirect = \"127.0.0.1:%u\";", port_of(&standby));
	for (int i = 0; i < 4; i++) {
		int fd = tcp_socket();

		ck_assert_int_eq(i % 2 ? connect_by_poll(fd) : connect_dead(fd), 0);
		ck_assert_uint_eq(peer_port(fd), port_of(&standby));
		/* What programs do to learn the end of a connect; the kernel's answer is 0
		 * once if it went on in the background. */
		ck_assert(connect_dead(fd) == 0 || errno == EISCONN);
		ck_assert_uint_eq(peer_port(fd), port_of(&standby));
	}
	ck_assert_uint_eq(log_lines(" WARN redirect op=connect "), 1);
	ck_assert_uint_eq(log_lines(" retry "), 0);
}
END_TEST

START_TEST(redirects_to_another_family)
{
	unsigned port = standby_of_v6();
	int fd = start();

	write_rule("redirect = \"[::1]:%u\";", port);
	ck_assert_int_eq(connect_dead(fd), 0);
	ck_assert_uint_eq(peer_port(fd), port);
	ck_assert_int_eq(connect_dead(fd), -1);
	ck_assert_uint_eq(peer_port(fd), port);
	/* A non-blocking v4 socket cannot. */
	fd = tcp_socket();
	ck_assert_int_eq(connect_by_poll(fd), ECONNREFUSED);
}
END_TEST

START_TEST(a_redirected_connect_is_retried_there)
{
	struct sockaddr_in late;
	pid_t pid = listen_late(bound(&late), 30);
	int fd = start();

	write_rule("redirect = \"127.0.0.1:%u\"; override = { max_attempts = 100; };",
	           port_of(&late));
	ck_assert_int_eq(connect_dead(fd), 0);
	ck_assert_uint_eq(peer_port(fd), port_of(&late));
	kill(pid, SIGKILL);
	ck_assert_uint_ge(log_lines(" retry op=connect "), 1);
	ck_assert_uint_eq(log_lines(" recovered op=connect "), 1);
}
END_TEST

/* The name is known after the look-up that came before the connect. */
START_TEST(redirects_to_a_name)
{
	struct addrinfo *list;
	int fd = start();
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/places.conf", getenv("TEST_DIR"));
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "version = 1; destinations = ( { host = \"localhost\"; "
	           "redirect = \"localhost:%u\"; } );\n", port_of(&standby));
	fclose(f);
	ck_assert_int_eq(getaddrinfo("localhost", NULL, NULL, &list), 0);
	freeaddrinfo(list);
	ck_assert_int_eq(connect_by_poll(fd), 0);
	ck_assert_uint_eq(peer_port(fd), port_of(&standby));
}
END_TEST

/* A rule for "localhost" with <keys>, before the first call. */
__attribute__((format(printf, 1, 2))) static void write_named_rule(const char *format, ...)
{
	char path[256];
	va_list args;
	FILE *f;

	snprintf(path, sizeof(path), "%s/places.conf", getenv("TEST_DIR"));
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "version = 1;\npolicies = { default = { base_delay = \"10ms\"; "
	           "max_delay = \"20ms\"; max_attempts = 4; }; };\n"
	           "destinations = ( { host = \"localhost\"; ");
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fprintf(f, " } );\n");
	fclose(f);
}

static void look_up(const char *name)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;

	ck_assert_int_eq(getaddrinfo(name, NULL, &hints, &list), 0);
	freeaddrinfo(list);
}

/* Who asks for the address itself does not mean the name, and its rule neither. */
START_TEST(a_literal_is_no_name)
{
	int fd = start();

	write_named_rule("fallback = \"127.0.0.1:%u\";", port_of(&standby));
	look_up("localhost");
	look_up("127.0.0.1");
	ck_assert_int_eq(connect_dead(fd), -1);
	ck_assert_uint_eq(log_lines(" fallback "), 0);
	close(fd);
	/* The name again. */
	fd = tcp_socket();
	look_up("localhost");
	ck_assert_int_eq(connect_dead(fd), 0);
	ck_assert_uint_eq(peer_port(fd), port_of(&standby));
}
END_TEST

UNIT_MAIN("preload places", &blocking_falls_back, &non_blocking_falls_back,
          &another_family_under_the_same_descriptor,
          &another_family_is_passed_over_by_event_loops, &the_last_real_error_is_given_back,
          &names_are_looked_up_by_who_can_wait, &a_blocking_connect_looks_names_up,
          &not_where_signals_are_blocked, &redirects, &redirects_to_another_family,
          &a_redirected_connect_is_retried_there, &redirects_to_a_name, &a_literal_is_no_name)
