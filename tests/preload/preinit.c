/* SPDX-License-Identifier: MIT */
/* A program whose .preinit_array uses what we wrap, before libc has set
 * environ: the configuration must be read all the same, later. */
#include "tests/preload/guest.h"

static struct sigaction before_all;
static char **environ_then;

static void on_signal(int sig)
{
	(void)sig;
}

static void early(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	(void)envp;
	environ_then = environ;
	signal(SIGTERM, on_signal);
	sigaction(SIGTERM, NULL, &before_all);
	signal(SIGTERM, SIG_DFL);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
                                                                              char **) = early;

START_TEST(environment_is_read)
{
	struct sockaddr_in sa;
	int fd = tcp_socket();

	ck_assert_ptr_null(environ_then); /* or this program tests nothing */
	ck_assert(before_all.sa_handler == on_signal);
	bound(&sa);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), -1);
	ck_assert_uint_eq(log_lines("attempt=1/3"), 1);
}
END_TEST

UNIT_MAIN("preload preinit", &environment_is_read)
