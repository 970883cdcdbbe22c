/* SPDX-License-Identifier: MIT */
/* Look-ups under the library that need no DNS server: what is remembered, and
 * what must get through as it is. Failing resolvers are tests/clients/lookup.sh. */
#include "tests/preload/guest.h"

#include <netdb.h>

static void connect_to(struct sockaddr_in *sa)
{
	int fd = tcp_socket();

	ck_assert_int_eq(connect(fd, (struct sockaddr *)sa, sizeof(*sa)), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	close(fd);
}

START_TEST(rules_by_name_hold_for_the_connect)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	struct sockaddr_in sa;
	char text[64];

	bound(&sa);
	connect_to(&sa);
	ck_assert_uint_eq(log_lines("policy=named"), 0);
	errno = 4711;
	ck_assert_int_eq(getaddrinfo("localhost", NULL, &hints, &list), 0);
	freeaddrinfo(list);
	connect_to(&sa);
	ck_assert_uint_eq(log_lines("policy=named"), 4); /* 3 retries, 1 give-up */
	snprintf(text, sizeof(text), "dest=localhost:%u", ntohs(sa.sin_port));
	ck_assert_uint_eq(log_lines(text), 4);
	ck_assert_uint_eq(log_lines("lookup.conf:3"), 4);
}
END_TEST

START_TEST(gethostbyname_is_remembered_too)
{
	struct sockaddr_in sa;
	struct hostent *h = gethostbyname("localhost");

	ck_assert_ptr_nonnull(h);
	ck_assert_int_eq(h->h_addrtype, AF_INET);
	bound(&sa);
	connect_to(&sa);
	ck_assert_uint_eq(log_lines("policy=named"), 4);
}
END_TEST

/* The caller grows its buffer until it is large enough: each ERANGE at once. */
START_TEST(erange_protocol)
{
	struct hostent ret;
	struct hostent *result = &ret;
	char buf[4096];
	size_t size = 1;
	int herr = 0;
	int rc;
	struct instant start = instant();

	while ((rc = gethostbyname_r("localhost", &ret, buf, size, &result, &herr)) == ERANGE) {
		ck_assert_ptr_null(result);
		ck_assert_int_eq(herr, NETDB_INTERNAL);
		size *= 2;
		ck_assert_uint_le(size, sizeof(buf));
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_ptr_eq(result, &ret);
	size = 1;
	while ((rc = gethostbyname2_r("localhost", AF_INET6, &ret, buf, size, &result, &herr)) ==
	       ERANGE)
		size *= 2;
	ck_assert_int_eq(rc, 0);
	ck_assert(at_once(start, 40));
	ck_assert_uint_eq(log_lines(" retry "), 0);
}
END_TEST

START_TEST(probes_and_mistakes_fail_at_once)
{
	struct addrinfo numeric = { .ai_flags = AI_NUMERICHOST };
	struct addrinfo *list = NULL;
	struct instant start = instant();

	ck_assert_int_eq(getaddrinfo("not.a.number", NULL, &numeric, &list), EAI_NONAME);
	ck_assert_int_eq(getaddrinfo("127.0.0.1", "no-such-service", NULL, &list), EAI_SERVICE);
	ck_assert_int_eq(getaddrinfo(NULL, NULL, NULL, &list), EAI_NONAME);
	ck_assert_int_eq(getaddrinfo("::1", "80", NULL, &list), 0);
	freeaddrinfo(list);
	ck_assert_int_eq(getaddrinfo(NULL, "80", NULL, &list), 0);
	freeaddrinfo(list);
	ck_assert(at_once(start, 40));
	ck_assert_uint_eq(log_lines("libretry"), 0);
}
END_TEST

UNIT_MAIN("preload lookup", &rules_by_name_hold_for_the_connect,
          &gethostbyname_is_remembered_too, &erange_protocol, &probes_and_mistakes_fail_at_once)
