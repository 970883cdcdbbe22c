/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <string.h>

#include "config/scan.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static size_t digits(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && is_digit(s[n]))
		n++;
	return n;
}

/* [+-]?D*.D*(e[+-]?D+)? or [+-]?D+(.D*)?e[+-]?D+ */
static bool is_float(const char *s, size_t len)
{
	size_t i = len > 0 && (*s == '+' || *s == '-'), whole, n;
	bool point = false;

	whole = digits(s + i, len - i);
	i += whole;
	if (i < len && s[i] == '.') {
		point = true;
		i++;
		i += digits(s + i, len - i);
	}
	if (i == len)
		return point;
	if ((s[i] != 'e' && s[i] != 'E') || (!point && whole == 0))
		return false;
	i++;
	if (i < len && (s[i] == '+' || s[i] == '-'))
		i++;
	n = digits(s + i, len - i);
	return n > 0 && i + n == len;
}

/* Digits in <base>, all of [s, s + len); false if they are not. Saturates. */
static bool magnitude(const char *s, size_t len, unsigned base, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < len; i++) {
		int digit = hex_value(s[i]);

		if (digit < 0 || (unsigned)digit >= base)
			return false;
		if (__builtin_mul_overflow(*value, base, value) ||
		    __builtin_add_overflow(*value, (unsigned)digit, value))
			*value = UINT64_MAX;
	}
	return len > 0;
}

enum number number_kind(const char *s, size_t len)
{
	bool minus = len > 0 && *s == '-', signed_ = minus || (len > 0 && *s == '+');
	bool hex = len > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	size_t from = hex ? 2 : signed_, to = len, suffix = 0;
	uint64_t value, limit;

	while (suffix < 2 && to > from && s[to - 1] == 'L') {
		suffix++;
		to--;
	}
	if (!magnitude(s + from, to - from, hex ? 16 : 10, &value))
		return is_float(s, len) ? NUMBER_FLOAT : NUMBER_NONE;
	limit = (uint64_t)(suffix ? INT64_MAX : INT32_MAX) + minus;
	if (value <= limit)
		return NUMBER_INT;
	return suffix ? NUMBER_TOO_LARGE_64 : NUMBER_TOO_LARGE;
}
