/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "base/addr.h"

#define PATH_AT offsetof(struct sockaddr_un, sun_path)

static char buffer[256];

static const char *printed(const struct addr *a, bool port)
{
	struct fmt f;

	fmt_init(&f, buffer, sizeof(buffer));
	if (port)
		addr_fmt(&f, a);
	else
		addr_fmt_ip(&f, a);
	fmt_end(&f);
	return buffer;
}

static struct addr ip(const char *text)
{
	struct addr a;

	ck_assert_msg(addr_parse_ip(&a, text), "%s", text);
	return a;
}

static struct addr from_in6(const char *text, uint16_t port, uint32_t scope)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port),
		                    .sin6_scope_id = scope };
	struct addr a;

	ck_assert_int_eq(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
	ck_assert(addr_from_sockaddr(&a, (struct sockaddr *)&in6, sizeof(in6)));
	return a;
}

START_TEST(prints_rfc5952)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "0.0.0.0", "0.0.0.0" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "192.0.2.10", "192.0.2.10" },
		{ "::", "::" },
		{ "::1", "::1" },
		{ "1::", "1::" },
		{ "FD00:0:0:0:0:0:0:1", "fd00::1" },
		{ "2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },
		{ "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1" },
		{ "2001:0:0:1:0:0:0:1", "2001:0:0:1::1" },
		{ "0:0:1:1:1:1:1:1", "::1:1:1:1:1:1" },
		{ "1:1:1:1:1:1:0:0", "1:1:1:1:1:1::" },
		{ "0:1:0:1:0:1:0:1", "0:1:0:1:0:1:0:1" },
		{ "2001:db8:00aa:0:0:0:0:000a", "2001:db8:aa::a" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "::ffff:192.0.2.1", "192.0.2.1" },
		{ "::FFFF:c000:0201", "192.0.2.1" },
		{ "::fffe:192.0.2.1", "::fffe:c000:201" },
		{ "::192.0.2.1", "::c000:201" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct addr a = ip(cases[i].in);

		ck_assert_str_eq(printed(&a, false), cases[i].out);
	}
}
END_TEST

START_TEST(refuses_what_is_no_literal)
{
	static const char *const cases[] = {
		"", "localhost", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.4 ", " 1.2.3.4",
		"0x7f.0.0.1", "[::1]", "::1:80:", "1.2.3.4:80", "fe80::1%2", "fe80::1%eth0",
		":::", "1::2::3", "12345::", "g::", "::ffff:1.2.3",
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct addr a;

		ck_assert_msg(!addr_parse_ip(&a, cases[i]), "%s", cases[i]);
		ck_assert_int_eq(a.family, AF_UNSPEC);
	}
}
END_TEST

START_TEST(prints_ports_and_scopes)
{
	struct addr a = ip("192.0.2.10");

	a.port = 5432;
	ck_assert_str_eq(printed(&a, true), "192.0.2.10:5432");
	a = from_in6("::1", 80, 0);
	ck_assert_str_eq(printed(&a, true), "[::1]:80");
	a = from_in6("fe80::1", 65535, 2);
	ck_assert_str_eq(printed(&a, true), "[fe80::1%2]:65535");
	ck_assert_str_eq(printed(&a, false), "fe80::1");
	a = from_in6("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 65535, UINT32_MAX);
	ck_assert_uint_lt(strlen(printed(&a, true)), ADDR_TEXT_MAX);
	memset(&a, 0, sizeof(a));
	ck_assert_str_eq(printed(&a, true), "");
}
END_TEST

START_TEST(goes_there_and_back)
{
	static const struct {
		const char *text;
		int family;
		bool mapped;
	} cases[] = {
		{ "::ffff:192.0.2.1", AF_INET, true },
		{ "2001:db8::1", AF_INET6, false },
	};
	struct sockaddr_storage ss;
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(5432) };
	struct addr a;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(443),
			                    .sin6_scope_id = 3 };

		inet_pton(AF_INET6, cases[i].text, &in6.sin6_addr);
		ck_assert(addr_from_sockaddr(&a, (struct sockaddr *)&in6, sizeof(in6)));
		ck_assert_int_eq(a.family, cases[i].family);
		ck_assert_int_eq(a.mapped, cases[i].mapped);
		ck_assert_int_eq(a.port, 443);
		ck_assert_uint_eq(addr_to_sockaddr(&a, &ss), sizeof(in6));
		ck_assert_mem_eq(&ss, &in6, sizeof(in6));
	}
	inet_pton(AF_INET, "192.0.2.1", &in.sin_addr);
	ck_assert(addr_from_sockaddr(&a, (struct sockaddr *)&in, sizeof(in)));
	ck_assert(!a.mapped);
	ck_assert_uint_eq(addr_to_sockaddr(&a, &ss), sizeof(in));
	ck_assert_mem_eq(&ss, &in, sizeof(in));
	a.family = AF_UNIX;
	ck_assert_uint_eq(addr_to_sockaddr(&a, &ss), 0);
}
END_TEST

START_TEST(checks_lengths)
{
	static const struct {
		int family;
		socklen_t len;
		bool result;
	} cases[] = {
		{ AF_INET, 0, false },
		{ AF_INET, 1, false },
		{ AF_INET, sizeof(struct sockaddr_in) - 1, false },
		{ AF_INET, sizeof(struct sockaddr_in), true },
		{ AF_INET, sizeof(struct sockaddr_storage), true },
		{ AF_INET6, 23, false },
		{ AF_INET6, 24, true },
		{ AF_INET6, 27, true },
		{ AF_INET6, sizeof(struct sockaddr_in6), true },
		{ AF_UNSPEC, sizeof(struct sockaddr_in), false },
		{ AF_NETLINK, sizeof(struct sockaddr_storage), false },
		{ AF_UNIX, PATH_AT, false },
		{ AF_UNIX, PATH_AT + 1, true },
		{ AF_UNIX, sizeof(struct sockaddr_un), true },
		{ AF_UNIX, sizeof(struct sockaddr_un) + 1, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		/* Exactly as long as promised, and not aligned. */
		char *memory = malloc(cases[i].len + 1U);
		sa_family_t family = (sa_family_t)cases[i].family;
		struct addr a;

		memset(memory, 1, cases[i].len + 1U);
		memcpy(memory + 1, &family,
		       cases[i].len < sizeof(family) ? cases[i].len : sizeof(family));
		ck_assert_msg(addr_from_sockaddr(&a, (struct sockaddr *)(void *)(memory + 1),
		                                 cases[i].len) == cases[i].result,
		              "case %zu", i);
		ck_assert_int_eq(a.family, cases[i].result ? cases[i].family : AF_UNSPEC);
		free(memory);
	}
	struct addr none;
	ck_assert(!addr_from_sockaddr(&none, NULL, 16));
}
END_TEST

START_TEST(reads_unix_paths)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *text;
		bool abstract;
	} cases[] = {
		{ "/run/x.sock", 11, "/run/x.sock", false },
		{ "/run/x.sock\0junk", 16, "/run/x.sock", false },
		{ "\0name", 5, "@name", true },
		{ "\0name\0\0\0", 8, "@name", true },
		{ "\0a\0b", 4, "@a@b", true },
		{ "\0", 1, "@", true },
		{ "@x", 2, "@x", false },
	};
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct addr a;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		memset(un.sun_path, 'Z', sizeof(un.sun_path));
		memcpy(un.sun_path, cases[i].bytes, cases[i].len);
		ck_assert(addr_from_sockaddr(&a, (struct sockaddr *)&un,
		                             (socklen_t)(PATH_AT + cases[i].len)));
		ck_assert_str_eq(printed(&a, true), cases[i].text);
		ck_assert_int_eq(a.abstract, cases[i].abstract);
	}
	memset(un.sun_path, 'p', sizeof(un.sun_path));
	ck_assert(addr_from_sockaddr(&a, (struct sockaddr *)&un, sizeof(un)));
	ck_assert_uint_eq(strlen(a.path), sizeof(un.sun_path));
}
END_TEST

START_TEST(knows_kinds)
{
	static const struct {
		const char *text;
		bool loopback, any, special;
	} cases[] = {
		{ "127.0.0.1", true, false, false },
		{ "127.255.0.3", true, false, false },
		{ "128.0.0.1", false, false, false },
		{ "0.0.0.0", false, true, false },
		{ "0.0.0.1", false, false, false },
		{ "169.254.1.1", false, false, true },
		{ "169.253.1.1", false, false, false },
		{ "223.255.255.255", false, false, false },
		{ "224.0.0.1", false, false, true },
		{ "239.1.1.1", false, false, true },
		{ "240.0.0.1", false, false, false },
		{ "255.255.255.255", false, false, true },
		{ "255.255.255.254", false, false, false },
		{ "::1", true, false, false },
		{ "::2", false, false, false },
		{ "::", false, true, false },
		{ "::ffff:127.0.0.1", true, false, false },
		{ "::ffff:0.0.0.0", false, true, false },
		{ "fe80::1", false, false, true },
		{ "febf::1", false, false, true },
		{ "fec0::1", false, false, false },
		{ "fd00::1", false, false, false },
		{ "ff02::1", false, false, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct addr a = ip(cases[i].text);

		ck_assert_msg(addr_is_loopback(&a) == cases[i].loopback, "%s", cases[i].text);
		ck_assert_msg(addr_is_any(&a) == cases[i].any, "%s", cases[i].text);
		ck_assert_msg(addr_is_special(&a) == cases[i].special, "%s", cases[i].text);
	}
	struct addr none = { 0 };
	ck_assert(!addr_is_any(&none) && !addr_is_loopback(&none) && !addr_is_special(&none));
}
END_TEST

START_TEST(compares_addresses)
{
	struct addr a = ip("192.0.2.1"), b = ip("::ffff:192.0.2.1"), c = ip("192.0.2.2");
	struct addr d = ip("::1"), none = { 0 };

	b.port = 9;
	b.scope = 4;
	ck_assert(addr_same_ip(&a, &b));
	ck_assert(!addr_same_ip(&a, &c));
	ck_assert(!addr_same_ip(&a, &d));
	ck_assert(!addr_same_ip(&none, &none));
}
END_TEST

START_TEST(parses_networks)
{
	static const struct {
		const char *text;
		enum cidr_status status;
		const char *out;
	} cases[] = {
		{ "10.0.0.0/8", CIDR_OK, "10.0.0.0/8" },
		{ "0.0.0.0/0", CIDR_OK, "0.0.0.0/0" },
		{ "::/0", CIDR_OK, "::/0" },
		{ "192.0.2.1", CIDR_OK, "192.0.2.1/32" },
		{ "::1", CIDR_OK, "::1/128" },
		{ "fd00::/8", CIDR_OK, "fd00::/8" },
		{ "192.0.2.128/25", CIDR_OK, "192.0.2.128/25" },
		{ "10.0.0.1/8", CIDR_HOST_BITS, "10.0.0.0/8" },
		{ "192.0.2.129/25", CIDR_HOST_BITS, "192.0.2.128/25" },
		{ "1.2.3.4/0", CIDR_HOST_BITS, "0.0.0.0/0" },
		{ "fd00::1/9", CIDR_HOST_BITS, "fd00::/9" },
		{ "::ffff:10.0.0.0/104", CIDR_OK, "10.0.0.0/8" },
		{ "::ffff:1.2.3.4", CIDR_OK, "1.2.3.4/32" },
		{ "::ffff:0.0.0.0/96", CIDR_OK, "0.0.0.0/0" },
		{ "::ffff:0:0/95", CIDR_HOST_BITS, "::fffe:0:0/95" },
		{ "10.0.0.0/33", CIDR_BAD_LENGTH, NULL },
		{ "::/129", CIDR_BAD_LENGTH, NULL },
		{ "10.0.0.0/", CIDR_BAD_LENGTH, NULL },
		{ "10.0.0.0/x", CIDR_BAD_LENGTH, NULL },
		{ "10.0.0.0/-1", CIDR_BAD_LENGTH, NULL },
		{ "10.0.0.0/08", CIDR_BAD_LENGTH, NULL },
		{ "10.0.0.0/8/8", CIDR_BAD_LENGTH, NULL },
		{ "10.0.0.0/99999999999999999999", CIDR_BAD_LENGTH, NULL },
		{ "", CIDR_BAD_ADDRESS, NULL },
		{ "/8", CIDR_BAD_ADDRESS, NULL },
		{ "10.0.0/8", CIDR_BAD_ADDRESS, NULL },
		{ "example.net/8", CIDR_BAD_ADDRESS, NULL },
		{ "1111:1111:1111:1111:1111:1111:1111:1111:1111:1111", CIDR_BAD_ADDRESS, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cidr c;
		struct fmt f;

		ck_assert_msg(cidr_parse(&c, cases[i].text) == cases[i].status, "%s",
		              cases[i].text);
		if (!cases[i].out)
			continue;
		fmt_init(&f, buffer, sizeof(buffer));
		cidr_fmt(&f, &c);
		fmt_end(&f);
		ck_assert_str_eq(buffer, cases[i].out);
	}
}
END_TEST

START_TEST(matches_networks)
{
	static const struct {
		const char *net, *address;
		bool result;
	} cases[] = {
		{ "10.0.0.0/8", "10.255.0.1", true },
		{ "10.0.0.0/8", "11.0.0.1", false },
		{ "10.0.0.0/8", "::ffff:10.1.1.1", true },
		{ "192.0.2.128/25", "192.0.2.127", false },
		{ "192.0.2.128/25", "192.0.2.128", true },
		{ "192.0.2.1/32", "192.0.2.1", true },
		{ "192.0.2.1/32", "192.0.2.0", false },
		{ "0.0.0.0/0", "255.1.1.1", true },
		{ "0.0.0.0/0", "::1", false },
		{ "::/0", "10.0.0.1", false },
		{ "::/0", "fd00::1", true },
		{ "fd00::/8", "fdff::1", true },
		{ "fd00::/8", "fe00::1", false },
		{ "2001:db8::1", "2001:db8::1", true },
		{ "2001:db8::1", "2001:db8::2", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct addr a = ip(cases[i].address);
		struct cidr c;

		ck_assert_int_eq(cidr_parse(&c, cases[i].net), CIDR_OK);
		ck_assert_msg(cidr_match(&c, &a) == cases[i].result, "%s in %s",
		              cases[i].address, cases[i].net);
	}
}
END_TEST

START_TEST(knows_subnets)
{
	static const struct {
		const char *outer, *inner;
		bool result;
	} cases[] = {
		{ "10.0.0.0/8", "10.1.0.0/16", true },
		{ "10.0.0.0/8", "10.0.0.0/8", true },
		{ "10.1.0.0/16", "10.0.0.0/8", false },
		{ "10.0.0.0/8", "11.0.0.0/16", false },
		{ "0.0.0.0/0", "192.0.2.1", true },
		{ "0.0.0.0/0", "::/0", false },
		{ "::/0", "fd00::/8", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cidr outer, inner;

		cidr_parse(&outer, cases[i].outer);
		cidr_parse(&inner, cases[i].inner);
		ck_assert_msg(cidr_covers(&outer, &inner) == cases[i].result, "%s over %s",
		              cases[i].outer, cases[i].inner);
	}
}
END_TEST

UNIT_MAIN("addr", &prints_rfc5952, &refuses_what_is_no_literal, &prints_ports_and_scopes,
          &goes_there_and_back, &checks_lengths, &reads_unix_paths, &knows_kinds,
          &compares_addresses, &parses_networks, &matches_networks, &knows_subnets)
