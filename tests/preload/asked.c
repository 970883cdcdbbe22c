/* SPDX-License-Identifier: MIT */
/* First attempts that others have a say in: breaker, coordinate. */
#include <fcntl.h>
#include <stdlib.h>

#include "tests/preload/guest.h"

static struct sockaddr_un un = { .sun_family = AF_UNIX };
static struct sockaddr_in in;

/* For <un>, and the port of <in>. Before the first call, which reads it. */
static void write_config(const char *policy)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/asked.conf", getenv("TEST_DIR"));
	snprintf(un.sun_path, sizeof(un.sun_path), "%s/%d", getenv("TEST_DIR"), (int)getpid());
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "version = 1;\npolicies = { asked = { base_delay = \"10ms\"; "
	           "max_attempts = 2; %s }; };\n"
	           "destinations = ( { unix = \"%s\"; policy = \"asked\"; }, "
	           "{ port = %u; policy = \"asked\"; } );\n",
	        policy, un.sun_path, in.sin_port ? ntohs(in.sin_port) : 1);
	fclose(f);
}

/* 0 or the error. */
static int call(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error = connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0 ? 0 : errno;

	close(fd);
	return error;
}

/* Of a non-blocking connect that is over at once nothing is under way: its success has
 * to be told all the same. */
START_TEST(a_success_at_once_closes_the_breaker)
{
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned refused = 0;

	write_config("breaker = { enabled = true; consecutive_failures = 2; open_for = "
	             "\"20ms\"; max_open_for = \"20ms\"; };");
	ck_assert_int_eq(bind(server, (struct sockaddr *)&un, sizeof(un)), 0);
	while (log_lines("reason=breaker") == 0 && refused++ < 100)
		call();
	ck_assert_uint_lt(refused, 100);
	ck_assert_int_eq(listen(server, 64), 0);
	while (call() != 0)
		sleep_ms(1);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_int_eq(call(), 0);
}
END_TEST

/* Programs connect again to learn whether they are connected: that is no attempt. */
START_TEST(an_open_breaker_leaves_connections_alone)
{
	struct sockaddr *sa = (struct sockaddr *)&in;
	int server = bound(&in);
	int fds[2];

	write_config("breaker = { enabled = true; consecutive_failures = 1; };");
	ck_assert_int_eq(listen(server, 64), 0);
	for (int i = 0; i < 2; i++) {
		fds[i] = tcp_socket();
		ck_assert_int_eq(connect(fds[i], sa, sizeof(in)), 0);
		ck_assert_int_ge(accept(server, NULL, NULL), 0);
	}
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	shutdown(server, SHUT_RDWR);
	for (unsigned i = 0; log_lines("reason=breaker") == 0; i++) {
		int fd = tcp_socket();

		ck_assert_uint_lt(i, 100);
		ck_assert_int_eq(connect(fd, sa, sizeof(in)), -1);
		close(fd);
	}
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(connect(fds[i], sa, sizeof(in)), -1);
		ck_assert_int_eq(errno, EISCONN);
	}
}
END_TEST

UNIT_MAIN("preload asked", &a_success_at_once_closes_the_breaker,
          &an_open_breaker_leaves_connections_alone)
