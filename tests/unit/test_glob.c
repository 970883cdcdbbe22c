/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/glob.h"

static bool match(const char *pattern, const char *s, int flags)
{
	return glob_match(pattern, s, strlen(s), flags);
}

START_TEST(matches_or_not)
{
	static const struct {
		const char *pattern, *text;
		bool result;
	} cases[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "a", "", false },
		{ "*", "", true },
		{ "**", "", true },
		{ "*", "a/b.c", true },
		{ "?", "", false },
		{ "?", "/", true },
		{ "??", "a", false },
		{ "db*", "db1.example.net", true },
		{ "*.example.net", "db1.example.net", true },
		{ "*.example.net", "example.net", false },
		{ "*.example.net", "example.net.evil", false },
		{ "a*b*c", "aXbYc", true },
		{ "a*b*c", "aXbYcZ", false },
		{ "*ab", "aab", true },
		{ "*aab", "aaab", true },
		{ "[abc]", "b", true },
		{ "[abc]", "d", false },
		{ "[a-c]x", "bx", true },
		{ "[c-a]", "b", false },
		{ "[!a-c]", "d", true },
		{ "[!a-c]", "b", false },
		{ "[!a]", "", false },
		{ "[]]", "]", true },
		{ "[]a]", "a", true },
		{ "[!]]", "]", false },
		{ "[!]]", "x", true },
		{ "[a-]", "-", true },
		{ "[-a]", "-", true },
		{ "[^a]", "^", true },
		{ "[\\]]", "]", true },
		{ "[a\\-c]", "b", false },
		{ "[a\\-c]", "-", true },
		{ "[*]", "*", true },
		{ "[*]", "x", false },
		{ "[abc", "[abc", true },
		{ "[abc", "a", false },
		{ "[", "[", true },
		{ "[!", "[!", true },
		{ "[!]", "[!]", true },
		{ "[]", "[]", true },
		{ "*[x", "a[x", true },
		{ "[a][b", "a[b", true },
		{ "\\*", "*", true },
		{ "\\*", "x", false },
		{ "\\[a]", "[a]", true },
		{ "\\\\", "\\", true },
		{ "\\", "\\", true },
		{ "a\\", "a\\", true },
		{ "\xff*", "\xff\xfe", true },
		{ "[\x80-\xff]", "\xc3", true },
		{ "ABC", "abc", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_msg(match(cases[i].pattern, cases[i].text, 0) == cases[i].result,
		              "%s on %s", cases[i].pattern, cases[i].text);
}
END_TEST

START_TEST(ignores_case_if_asked)
{
	ck_assert(match("DB*.Example", "db1.eXAMPLE", GLOB_NOCASE));
	ck_assert(match("[A-C]", "b", GLOB_NOCASE));
	ck_assert(match("[a-c]", "B", GLOB_NOCASE));
	ck_assert(!match("[!a-c]", "B", GLOB_NOCASE));
	ck_assert(!match("[", "{", GLOB_NOCASE));
	ck_assert(!match("@", "`", GLOB_NOCASE));
	/* Between Z and a: no letter, no folding. */
	ck_assert(match("[Z-a]", "_", GLOB_NOCASE));
	ck_assert(!match("[a-z]", "_", GLOB_NOCASE));
}
END_TEST

START_TEST(respects_the_length)
{
	ck_assert(glob_match("abc", "abcdef", 3, 0));
	ck_assert(!glob_match("abc", "abcdef", 4, 0));
	ck_assert(glob_match("", "x", 0, 0));
	ck_assert(glob_match("a?b", "a\0b", 3, 0));
	ck_assert(!glob_match("a", "a\0b", 3, 0));
}
END_TEST

/* A recursive matcher needs longer than the universe is old for these. */
START_TEST(stays_linear)
{
	static char pattern[2048], subject[2049];

	for (size_t i = 0; i + 1 < sizeof(pattern); i += 2)
		memcpy(pattern + i, i + 2 < sizeof(pattern) ? "*a" : "*b", 2);
	pattern[sizeof(pattern) - 1] = '\0';
	memset(subject, 'a', sizeof(subject) - 1);
	ck_assert(match(pattern, subject, 0));
	pattern[sizeof(pattern) - 2] = 'b';
	ck_assert(!match(pattern, subject, 0));
}
END_TEST

/* Each '[' without an end is looked for once, not at each byte of the text. */
START_TEST(stays_linear_with_open_sets)
{
	static char pattern[60000], subject[1500];

	memset(pattern, '[', sizeof(pattern) - 1);
	pattern[0] = '*';
	memset(subject, '[', sizeof(subject) - 1);
	subject[sizeof(subject) - 2] = 'x';
	ck_assert(!match(pattern, subject, 0));
	pattern[sizeof(subject) - 2] = 'x';
	pattern[sizeof(subject) - 1] = '\0';
	ck_assert(match(pattern, subject, 0));
}
END_TEST

UNIT_MAIN("glob", &matches_or_not, &ignores_case_if_asked, &respects_the_length,
          &stays_linear, &stays_linear_with_open_sets)
