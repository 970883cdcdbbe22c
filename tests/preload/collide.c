/* SPDX-License-Identifier: MIT */
/*
 * collide.c - a program that exports functions with libconfig's names, as any
 * program linked with -rdynamic may. It must run unharmed and get its rules.
 */
#include "tests/preload/guest.h"

#include <dlfcn.h>

#pragma GCC visibility push(default)
int config_init(void *p);
int config_read_string(void *p, const char *s);
void config_destroy(void *p);
void *config_setting_get_member(void *p, const char *name);
#pragma GCC visibility pop

static int called;

int config_init(void *p)
{
	(void)p;
	return ++called;
}

int config_read_string(void *p, const char *s)
{
	(void)p;
	(void)s;
	return ++called;
}

void config_destroy(void *p)
{
	(void)p;
	++called;
}

void *config_setting_get_member(void *p, const char *name)
{
	(void)p;
	(void)name;
	++called;
	return NULL;
}

START_TEST(names_of_libconfig_in_the_program)
{
	struct sockaddr_in sa;
	int fd = tcp_socket();

	bound(&sa);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	/* Or this program tests nothing. */
	ck_assert_ptr_eq(dlsym(RTLD_DEFAULT, "config_init"), (void *)config_init);
	ck_assert_int_eq(called, 0);
	ck_assert_uint_eq(log_lines("policy=ruled"), 3);
	ck_assert_uint_eq(log_lines("collide.conf:"), 3);
}
END_TEST

UNIT_MAIN("preload collide", &names_of_libconfig_in_the_program)
