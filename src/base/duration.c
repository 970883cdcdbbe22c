/* SPDX-License-Identifier: MIT */
#include "base/duration.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/compat.h"

static const struct {
	const char *name;
	int64_t ns;
} units[] = {
	{ "ns", 1 },
	{ "us", DUR_US },
	{ "ms", DUR_MS },
	{ "s", DUR_S },
	{ "m", 60 * DUR_S },
	{ "h", 3600 * DUR_S },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *s)
{
	while (is_digit(*s))
		s++;
	return s;
}

/* 0 if there is no such unit. */
static int64_t unit_ns(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strcmp(units[i].name, name) == 0)
			return units[i].ns;
	}
	return 0;
}

/* Digits [from, to) times <unit>; DUR_NONE if that is past the range. */
static int64_t whole_part(const char *from, const char *to, int64_t unit)
{
	int64_t n = 0;

	for (; from < to; from++) {
		n = n * 10 + (*from - '0');
		if (n > DUR_MAX_CONFIG)
			return DUR_NONE;
	}
	return n > DUR_MAX_CONFIG / unit ? DUR_NONE : n * unit;
}

/*
 * 0.<digits> times <unit>, rounded down. From the last digit to the first the
 * intermediate floors do not add up to an error, however many digits there are.
 */
static int64_t fraction_part(const char *from, const char *to, int64_t unit)
{
	int64_t n = 0;

	while (to > from)
		n = ((*--to - '0') * unit + n) / 10;
	return n;
}

static bool all_zero(const char *from, const char *to)
{
	for (; from < to; from++) {
		if (*from != '0' && *from != '.')
			return false;
	}
	return true;
}

enum dur_status dur_parse(const char *text, int64_t *ns)
{
	const char *point, *end;
	int64_t unit, value;

	if (!*text)
		return DUR_EMPTY;
	if (strcmp(text, "0") == 0) {
		*ns = 0;
		return DUR_OK;
	}
	end = point = skip_digits(text);
	if (point == text)
		return DUR_BAD_NUMBER;
	if (*point == '.') {
		end = skip_digits(point + 1);
		if (end == point + 1 || *end == '.')
			return DUR_BAD_NUMBER;
	}
	if (!*end)
		return DUR_NO_UNIT;
	unit = unit_ns(end);
	if (!unit)
		return DUR_BAD_UNIT;
	value = whole_part(text, point, unit);
	if (end > point)
		value = dur_add(value, fraction_part(point + 1, end, unit));
	if (value > DUR_MAX_CONFIG)
		return DUR_TOO_LARGE;
	if (value < DUR_MIN_CONFIG && !all_zero(text, end))
		return DUR_TOO_SMALL;
	*ns = value;
	return DUR_OK;
}

const char *dur_status_text(enum dur_status status)
{
	switch (status) {
	case DUR_OK:
		return "is a duration";
	case DUR_EMPTY:
		return "is empty";
	case DUR_NO_UNIT:
		return "has no unit";
	case DUR_BAD_UNIT:
		return "has an unknown unit";
	case DUR_BAD_NUMBER:
		return "is not a duration";
	case DUR_TOO_SMALL:
		return "is too small";
	case DUR_TOO_LARGE:
		return "is too large";
	}
	return "is not a duration";
}

int64_t dur_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (a == DUR_NONE || b == DUR_NONE)
		return DUR_NONE;
	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : DUR_NONE;
	return sum;
}

int64_t dur_sub(int64_t a, int64_t b)
{
	int64_t difference;

	if (a == DUR_NONE)
		return DUR_NONE;
	if (b == DUR_NONE)
		return INT64_MIN;
	if (__builtin_sub_overflow(a, b, &difference))
		return a < 0 ? INT64_MIN : DUR_NONE;
	return difference;
}

int64_t dur_scale(int64_t ns, int64_t ppm)
{
	const int64_t million = 1000000;
	int64_t whole, part = ppm % million, result;

	if (ns == DUR_NONE)
		return DUR_NONE;
	if (__builtin_mul_overflow(ns, ppm / million, &whole))
		return DUR_NONE;
	/* Neither product can overflow: both factors are bounded by a million. */
	part = ns / million * part + ns % million * part / million;
	return __builtin_add_overflow(whole, part, &result) ? DUR_NONE : result;
}

int64_t dur_of(int64_t sec, int64_t ns)
{
	if (sec > DUR_NONE / DUR_S)
		return DUR_NONE;
	return dur_add(sec * DUR_S, ns);
}

struct timespec dur_timespec(int64_t ns)
{
	/* Seconds that fit both time_t and the kernel's 64-bit nanoseconds. */
	const int64_t most = sizeof(time_t) < 8 ? INT32_MAX : INT64_MAX / DUR_S;
	struct timespec ts = { 0, 0 };

	if (ns <= 0)
		return ts;
	if (ns / DUR_S >= most) {
		ts.tv_sec = (time_t)most;
		return ts;
	}
	ts.tv_sec = (time_t)(ns / DUR_S);
	ts.tv_nsec = (long)(ns % DUR_S);
	return ts;
}
