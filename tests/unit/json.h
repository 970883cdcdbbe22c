/* SPDX-License-Identifier: MIT */
/*
 * json.h - a strict checker for the subset of JSON that log lines use: one flat
 * object of strings and integers, valid UTF-8, a newline, nothing after it.
 */
#ifndef LIBRETRY_TESTS_JSON_H
#define LIBRETRY_TESTS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Each returns what follows, or NULL. */

/* Decodes, where the code under test compares ranges of bytes. */
static const char *json_utf8(const char *s)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	unsigned char c = (unsigned char)*s++;
	unsigned more = c < 0x80 ? 0 : c >> 5 == 6 ? 1 : c >> 4 == 14 ? 2 : c >> 3 == 30 ? 3 : 9;
	uint32_t point;

	if (more == 9)
		return NULL;
	point = more ? c & (0x3fU >> more) : c;
	for (unsigned i = 0; i < more; i++) {
		if (((unsigned char)*s & 0xc0) != 0x80)
			return NULL;
		point = point << 6 | ((unsigned char)*s++ & 0x3f);
	}
	if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return NULL;
	return s;
}

static const char *json_escape(const char *s)
{
	if (*s == 'u')
		return strspn(s + 1, "0123456789abcdefABCDEF") >= 4 ? s + 5 : NULL;
	return *s && strchr("\"\\/bfnrt", *s) ? s + 1 : NULL;
}

static const char *json_string(const char *s)
{
	if (*s++ != '"')
		return NULL;
	while (s && *s != '"') {
		if ((unsigned char)*s < ' ')
			return NULL;
		s = *s == '\\' ? json_escape(s + 1) : json_utf8(s);
	}
	return s ? s + 1 : NULL;
}

static const char *json_integer(const char *s)
{
	size_t digits;

	if (*s == '-')
		s++;
	digits = strspn(s, "0123456789");
	return digits == 0 || (*s == '0' && digits > 1) ? NULL : s + digits;
}

static bool json_valid(const char *s)
{
	if (*s++ != '{')
		return false;
	if (*s == '}')
		return strcmp(s, "}\n") == 0;
	for (;;) {
		s = json_string(s);
		if (!s || *s++ != ':')
			return false;
		s = *s == '"' ? json_string(s) : json_integer(s);
		if (!s)
			return false;
		if (*s != ',')
			return strcmp(s, "}\n") == 0;
		s++;
	}
}

#endif
