/* SPDX-License-Identifier: MIT */
#include "base/fmt.h"

#include <string.h>

#include "base/compat.h"
#include "base/duration.h"

static const char hex_digits[] = "0123456789abcdef";

void fmt_init(struct fmt *f, char *buf, size_t cap)
{
	f->buf = buf;
	f->cap = cap;
	f->len = 0;
	f->cut = false;
	buf[0] = '\0';
}

void fmt_mem(struct fmt *f, const char *s, size_t n)
{
	size_t room = f->cap - 1 - f->len;

	if (n > room) {
		n = room;
		f->cut = true;
	}
	if (n > 0)
		memcpy(f->buf + f->len, s, n);
	f->len += n;
}

void fmt_char(struct fmt *f, char c)
{
	fmt_mem(f, &c, 1);
}

void fmt_str(struct fmt *f, const char *s)
{
	if (s)
		fmt_mem(f, s, strlen(s));
}

void fmt_pad(struct fmt *f, uint64_t v, unsigned width)
{
	char digits[20];
	unsigned n = 0;

	do {
		digits[sizeof(digits) - ++n] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	for (unsigned i = n; i < width; i++)
		fmt_char(f, '0');
	fmt_mem(f, digits + sizeof(digits) - n, n);
}

void fmt_u64(struct fmt *f, uint64_t v)
{
	fmt_pad(f, v, 1);
}

/* The sign, and the magnitude of <v> (INT64_MIN has one too). */
static uint64_t fmt_sign(struct fmt *f, int64_t v)
{
	if (v >= 0)
		return (uint64_t)v;
	fmt_char(f, '-');
	return -(uint64_t)v;
}

void fmt_i64(struct fmt *f, int64_t v)
{
	fmt_u64(f, fmt_sign(f, v));
}

void fmt_hex(struct fmt *f, uint64_t v)
{
	char digits[16];
	unsigned n = 0;

	do {
		digits[sizeof(digits) - ++n] = hex_digits[v & 15];
		v >>= 4;
	} while (v > 0);
	fmt_mem(f, digits + sizeof(digits) - n, n);
}

/* <v> in <unit>s with one decimal, which is left out if it is zero. */
static void fmt_tenths(struct fmt *f, uint64_t v, uint64_t unit, const char *name)
{
	uint64_t tenth = v % unit / (unit / 10);

	fmt_u64(f, v / unit);
	if (tenth > 0) {
		fmt_char(f, '.');
		fmt_u64(f, tenth);
	}
	fmt_str(f, name);
}

void fmt_dur(struct fmt *f, int64_t ns)
{
	uint64_t v;

	if (ns == DUR_NONE) {
		fmt_str(f, "none");
		return;
	}
	v = fmt_sign(f, ns);
	if (v < 100 * DUR_US) {
		fmt_u64(f, v / DUR_US);
		fmt_str(f, "us");
	} else if (v < 10 * DUR_MS) {
		fmt_tenths(f, v, DUR_MS, "ms");
	} else if (v < DUR_S) {
		fmt_u64(f, v / DUR_MS);
		fmt_str(f, "ms");
	} else if (v < 60 * DUR_S) {
		fmt_tenths(f, v, DUR_S, "s");
	} else if (v < 3600 * DUR_S) {
		fmt_tenths(f, v, 60 * DUR_S, "m");
	} else {
		fmt_tenths(f, v, 3600 * DUR_S, "h");
	}
}

void fmt_dur_exact(struct fmt *f, int64_t ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "h", 3600 * DUR_S }, { "m", 60 * DUR_S }, { "s", DUR_S },
		{ "ms", DUR_MS },      { "us", DUR_US },    { "ns", 1 },
	};
	uint64_t v;

	if (ns == DUR_NONE || ns == 0) {
		fmt_str(f, ns ? "none" : "0s");
		return;
	}
	v = fmt_sign(f, ns);
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (v % units[i].ns == 0) {
			fmt_u64(f, v / units[i].ns);
			fmt_str(f, units[i].name);
			return;
		}
	}
}

void fmt_ppm(struct fmt *f, int64_t ppm)
{
	uint64_t v = fmt_sign(f, ppm), part = v % 1000000;
	unsigned width = 6;

	fmt_u64(f, v / 1000000);
	if (part == 0)
		return;
	while (part % 10 == 0) {
		part /= 10;
		width--;
	}
	fmt_char(f, '.');
	fmt_pad(f, part, width);
}

static void fmt_byte(struct fmt *f, const char *prefix, unsigned char c)
{
	fmt_str(f, prefix);
	fmt_char(f, hex_digits[c >> 4]);
	fmt_char(f, hex_digits[c & 15]);
}

void fmt_word(struct fmt *f, const char *s, size_t max)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < max && s[i]; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '=')
			fmt_byte(f, "\\x", c);
		else
			fmt_char(f, s[i]);
	}
	if (s[i])
		fmt_str(f, "...");
}

/*
 * Length of the well-formed UTF-8 sequence at <s> (RFC 3629: no overlong
 * forms, no surrogates), 0 if it is none. Stops at a NUL by itself.
 */
static size_t utf8_len(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	unsigned char low = 0x80, high = 0xbf;

	if (n == 1)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	return n;
}

void fmt_json(struct fmt *f, const char *s, size_t max)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t i = 0;

	if (!s)
		return;
	while (i < max && u[i]) {
		size_t n = utf8_len(u + i);

		if (n > 1) {
			if (n > max - i)
				break;
			/* To a terminal they are commands. */
			if (u[i] == 0xc2 && u[i + 1] < 0xa0) {
				fmt_byte(f, "\\u00", u[i + 1]);
				i += n;
				continue;
			}
			fmt_mem(f, s + i, n);
			i += n;
			continue;
		}
		if (u[i] == '"' || u[i] == '\\') {
			fmt_char(f, '\\');
			fmt_char(f, s[i]);
		} else if (n == 0 || u[i] < ' ' || u[i] == 0x7f) {
			fmt_byte(f, "\\u00", u[i]);
		} else {
			fmt_char(f, s[i]);
		}
		i++;
	}
	if (u[i])
		fmt_str(f, "...");
}

void fmt_utc(struct fmt *f, int64_t seconds, int64_t nanoseconds)
{
	int64_t days = seconds / 86400, rest = seconds % 86400;
	int64_t era, day, year, month;

	if (rest < 0) {
		rest += 86400;
		days--;
	}
	/*
	 * Count from 1 March of year 0, so that the leap day ends a year, in
	 * eras of 400 years (146097 days), which are all alike.
	 */
	days += 719468;
	era = (days >= 0 ? days : days - 146096) / 146097;
	day = days - era * 146097;
	year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	day -= 365 * year + year / 4 - year / 100;
	month = (5 * day + 2) / 153;
	day -= (153 * month + 2) / 5;
	year += era * 400 + (month >= 10 ? 1 : 0);
	month += month < 10 ? 3 : -9;

	fmt_pad(f, fmt_sign(f, year), 4);
	fmt_char(f, '-');
	fmt_pad(f, (uint64_t)month, 2);
	fmt_char(f, '-');
	fmt_pad(f, (uint64_t)day + 1, 2);
	fmt_char(f, 'T');
	fmt_pad(f, (uint64_t)(rest / 3600), 2);
	fmt_char(f, ':');
	fmt_pad(f, (uint64_t)(rest / 60 % 60), 2);
	fmt_char(f, ':');
	fmt_pad(f, (uint64_t)(rest % 60), 2);
	fmt_char(f, '.');
	fmt_pad(f, (uint64_t)(nanoseconds / 1000000 % 1000), 3);
	fmt_char(f, 'Z');
}

size_t fmt_end(struct fmt *f)
{
	f->buf[f->len] = '\0';
	return f->len;
}
