/* SPDX-License-Identifier: MIT */
#include "cli/logvalue.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"

bool value_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !*end && errno == 0 && *value <= max;
}

bool value_count(const char *text, unsigned *value)
{
	uint64_t n;

	if (!value_number(text, UINT32_MAX, &n))
		return false;
	*value = (unsigned)n;
	return true;
}

bool value_duration(const char *text, int64_t *ns)
{
	bool negative = *text == '-';
	enum dur_status status;

	if (strcmp(text, "none") == 0) {
		*ns = DUR_NONE;
		return true;
	}
	status = dur_parse(text + negative, ns);
	if (status == DUR_TOO_LARGE)
		*ns = DUR_MAX_CONFIG;
	else if (status != DUR_OK)
		return false;
	if (negative)
		*ns = -*ns;
	return true;
}

bool value_exact(const char *text, int64_t *ns)
{
	char *end;

	errno = 0;
	*ns = strtoll(text, &end, 10);
	return end > text && !*end && errno == 0;
}

/* <n> digits at *<s>; moves on. -1: there are none. */
static int digits(const char **s, const char *end, int n)
{
	int value = 0;

	if (end - *s < n)
		return -1;
	for (; n > 0; n--, (*s)++) {
		if (!isdigit((unsigned char)**s))
			return -1;
		value = value * 10 + (**s - '0');
	}
	return value;
}

bool value_literal(const char **s, const char *end, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(end - *s) < len || memcmp(*s, text, len) != 0)
		return false;
	*s += len;
	return true;
}

/* "Z", "+01:00", "+0100": minutes to take away; moves on. */
static bool zone(const char **s, const char *end, int *minutes)
{
	int sign, hours, rest;

	*minutes = 0;
	if (value_literal(s, end, "Z"))
		return true;
	sign = value_literal(s, end, "+") ? 1 : value_literal(s, end, "-") ? -1 : 0;
	hours = sign ? digits(s, end, 2) : -1;
	if (hours < 0)
		return false;
	value_literal(s, end, ":");
	rest = digits(s, end, 2);
	*minutes = sign * (hours * 60 + rest);
	return rest >= 0;
}

/* The fraction of a second in ns; moves on. */
static int64_t fraction(const char **s, const char *end)
{
	int64_t ns = 0, unit = DUR_S;

	if (!value_literal(s, end, "."))
		return 0;
	for (; *s < end && isdigit((unsigned char)**s); (*s)++) {
		unit /= 10;
		ns += (**s - '0') * unit;
	}
	return ns;
}

bool value_stamp(const char **s, const char *end, int64_t *ns)
{
	int64_t part;
	int minutes;
	struct tm tm = { .tm_year = digits(s, end, 4) - 1900 };

	if (tm.tm_year < 70 || tm.tm_year > 361 || !value_literal(s, end, "-"))
		return false;
	tm.tm_mon = digits(s, end, 2) - 1;
	if (tm.tm_mon < 0 || tm.tm_mon > 11 || !value_literal(s, end, "-"))
		return false;
	tm.tm_mday = digits(s, end, 2);
	if (tm.tm_mday < 1 || tm.tm_mday > 31 || !value_literal(s, end, "T"))
		return false;
	tm.tm_hour = digits(s, end, 2);
	if (tm.tm_hour < 0 || tm.tm_hour > 23 || !value_literal(s, end, ":"))
		return false;
	tm.tm_min = digits(s, end, 2);
	if (tm.tm_min < 0 || tm.tm_min > 59 || !value_literal(s, end, ":"))
		return false;
	tm.tm_sec = digits(s, end, 2);
	if (tm.tm_sec < 0 || tm.tm_sec > 60)
		return false;
	part = fraction(s, end);
	if (!zone(s, end, &minutes))
		return false;
	*ns = ((int64_t)timegm(&tm) - minutes * 60) * DUR_S + part;
	return true;
}
