/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <string.h>

#include "cli/destarg.h"

START_TEST(good_ones)
{
	static const struct {
		const char *text, *name, *addr;
		int port;
	} rows[] = {
		{ "db1:5432", "db1", "", 5432 },
		{ "db1", "db1", "", -1 },
		{ "db1.example.net.:1", "db1.example.net.", "", 1 },
		{ "192.0.2.1:80", "", "192.0.2.1:80", 80 },
		{ "192.0.2.1", "", "192.0.2.1:0", -1 },
		{ "[fd00::1]:80", "", "[fd00::1]:80", 80 },
		{ "[fd00::1]", "", "[fd00::1]:0", -1 },
		{ "fd00::1", "", "[fd00::1]:0", -1 },
		/* Told apart by nothing: an address. */
		{ "::1:80", "", "[::1:80]:0", -1 },
		{ "fe80::1%eth0", "", "[fe80::1]:0", -1 },
		{ "[fe80::1%2]:22", "", "[fe80::1]:22", 22 },
		{ "::ffff:192.0.2.1", "", "192.0.2.1:0", -1 },
		{ "/run/x.sock", "", "/run/x.sock", -1 },
		{ "/", "", "/", -1 },
		{ "@name", "", "@name", -1 },
		{ "db1:0", "db1", "", 0 },
		{ "db1:65535", "db1", "", 65535 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[ADDR_TEXT_MAX] = "";
		struct dest_arg d;
		const char *why;
		struct fmt f;

		fmt_init(&f, text, sizeof(text));
		ck_assert_msg(dest_arg_parse(&d, rows[i].text, &why), "%s: %s", rows[i].text, why);
		if (d.addr.family != AF_UNSPEC)
			addr_fmt(&f, &d.addr);
		fmt_end(&f);
		ck_assert_str_eq(d.name, rows[i].name);
		ck_assert_str_eq(text, rows[i].addr);
		ck_assert_int_eq(d.port, rows[i].port);
	}
}
END_TEST

START_TEST(bad_ones)
{
	static const char *const rows[] = {
		"", ":80", "a:", "a:b", "a:-1", "a:65536", "a:99999999999999999999", "http://a/",
		"[::1", "[::1]x", "[a]:80", "::x", "a b:1", "a/b", "@", "a:1:2", "[]:1",
	};
	struct dest_arg d;
	const char *why;
	char text[600];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(!dest_arg_parse(&d, rows[i], &why), "%s", rows[i]);
	memset(text, 'a', sizeof(text));
	text[256] = '\0';
	ck_assert(!dest_arg_parse(&d, text, &why));
	text[255] = '\0';
	ck_assert(dest_arg_parse(&d, text, &why));
	text[0] = '/';
	text[108] = '\0';
	ck_assert(!dest_arg_parse(&d, text, &why));
	text[107] = '\0';
	ck_assert(dest_arg_parse(&d, text, &why));
}
END_TEST

UNIT_MAIN("destarg", &good_ones, &bad_ones)
