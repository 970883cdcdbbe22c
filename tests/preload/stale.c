/* SPDX-License-Identifier: MIT */
/*
 * stale_dns: the first look-up of a process is made, all others say EAI_AGAIN (by inject).
 * What is handed out then is like the first answer, and free()able.
 */
#include "tests/preload/guest.h"

#include <netdb.h>
#include <stdlib.h>

static struct addrinfo *look_up(const char *name, const char *service,
                                const struct addrinfo *hints, int want)
{
	struct addrinfo *list = NULL;

	ck_assert_int_eq(getaddrinfo(name, service, hints, &list), want);
	return list;
}

/* The same addresses, ports and types of socket, in the same order. */
static void assert_same(const struct addrinfo *a, const struct addrinfo *b)
{
	for (; a && b; a = a->ai_next, b = b->ai_next) {
		ck_assert_int_eq(a->ai_family, b->ai_family);
		ck_assert_int_eq(a->ai_socktype, b->ai_socktype);
		ck_assert_int_eq(a->ai_protocol, b->ai_protocol);
		ck_assert_uint_eq(a->ai_addrlen, b->ai_addrlen);
		ck_assert_mem_eq(a->ai_addr, b->ai_addr, a->ai_addrlen);
		ck_assert_ptr_null(b->ai_canonname);
	}
	ck_assert_ptr_null(a);
	ck_assert_ptr_null(b);
}

static void like_the_first(const char *service, const struct addrinfo *hints)
{
	struct addrinfo *first = look_up("localhost", service, hints, 0);
	struct addrinfo *second;

	errno = 4711;
	second = look_up("localhost", service, hints, 0);
	ck_assert_int_eq(errno, 4711);
	assert_same(first, second);
	ck_assert_uint_eq(log_lines("gave-up op=lookup dest=localhost"), 1);
	ck_assert_uint_eq(log_lines("WARN stale op=lookup dest=localhost"), 1);
	ck_assert_uint_eq(log_lines(" error=EAI_AGAIN age="), 1);
	freeaddrinfo(first);
	freeaddrinfo(second);
}

START_TEST(an_answer_without_hints)
{
	like_the_first("5432", NULL);
}
END_TEST

START_TEST(an_answer_to_hints)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };

	like_the_first("80", &hints);
}
END_TEST

START_TEST(an_answer_without_a_service)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM, .ai_flags = AI_ADDRCONFIG };

	like_the_first(NULL, &hints);
}
END_TEST

/* Only what this process was answered, and only what was asked for. */
START_TEST(what_is_not_known)
{
	struct addrinfo hints = { .ai_family = AF_INET };
	struct addrinfo *first = look_up("localhost", "80", &hints, 0);

	look_up("unheard-of.invalid", "80", &hints, EAI_AGAIN);
	hints.ai_family = AF_INET6;
	look_up("localhost", "80", &hints, EAI_AGAIN);
	hints.ai_family = AF_INET;
	hints.ai_flags = AI_CANONNAME;
	look_up("localhost", "80", &hints, EAI_AGAIN);
	ck_assert_ptr_null(gethostbyname("localhost"));
	ck_assert_uint_eq(log_lines(" stale "), 0);
	freeaddrinfo(first);
}
END_TEST

/* Handed out again and again it grows no younger. */
START_TEST(it_grows_old)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *first = look_up("localhost", "81", &hints, 0);
	int64_t end = ms_now() + 10000;
	struct addrinfo *list;
	int rc = 0;

	freeaddrinfo(first);
	while (rc == 0 && ms_now() < end) {
		rc = getaddrinfo("localhost", "81", &hints, &list);
		if (rc == 0)
			freeaddrinfo(list);
	}
	ck_assert_int_eq(rc, EAI_AGAIN);
	ck_assert_uint_ge(log_lines(" gave-up "), 1);
}
END_TEST

UNIT_MAIN("stale", &an_answer_without_hints, &an_answer_to_hints, &an_answer_without_a_service,
          &what_is_not_known, &it_grows_old)
