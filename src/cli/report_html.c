/* SPDX-License-Identifier: MIT */
#include "cli/report_html.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"

/* The code point at <s>, and its length; 0 if it is not UTF-8 (RFC 3629). */
static size_t code_point(const unsigned char *s, uint32_t *point)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (n < 2 || s[0] > 0xf4) {
		*point = s[0];
		return n == 1;
	}
	*point = s[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*point = *point << 6 | (s[i] & 0x3fU);
	}
	if (*point < least[n] || *point > 0x10ffff || (*point >= 0xd800 && *point < 0xe000))
		return 0;
	return n;
}

/* Not seen, or able to make something else look different. */
static bool deceptive(uint32_t p)
{
	return p < ' ' || (p >= 0x7f && p < 0xa0) || p == 0xad || p == 0x61c ||
	       (p >= 0x200b && p <= 0x200f) || (p >= 0x2028 && p <= 0x202e) ||
	       (p >= 0x2060 && p <= 0x206f) || p == 0xfeff || (p >= 0xfff0 && p <= 0xfffb) ||
	       (p & 0xfffe) == 0xfffe || (p >= 0xfdd0 && p <= 0xfdef) ||
	       (p >= 0xe0000 && p <= 0xe0fff);
}

static const char *entity(unsigned char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	}
	return NULL;
}

void html_text(FILE *to, const char *s)
{
	const unsigned char *u = (const unsigned char *)s;

	while (*u) {
		const char *replaced = entity(*u);
		uint32_t point;
		size_t n = code_point(u, &point);

		if (replaced)
			fputs(replaced, to);
		else if (n == 0 || (n == 1 && deceptive(point)))
			fprintf(to, "\\x%02x", *u);
		else if (deceptive(point))
			fprintf(to, "\\u{%04" PRIx32 "}", point);
		else
			fwrite(u, 1, n, to);
		u += n ? n : 1;
	}
}

void html_dur(FILE *to, int64_t ns)
{
	char text[32];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	fmt_dur(&f, ns);
	fmt_end(&f);
	fputs(text, to);
}

void html_count(FILE *to, uint64_t n)
{
	if (n >= 1000) {
		html_count(to, n / 1000);
		fprintf(to, ",%03u", (unsigned)(n % 1000));
	} else {
		fprintf(to, "%u", (unsigned)n);
	}
}

void html_share(FILE *to, int64_t ppm)
{
	if (ppm < 0)
		fputs("-", to);
	else if (ppm % 10000 < 1000)
		fprintf(to, "%d%%", (int)(ppm / 10000));
	else
		fprintf(to, "%d.%d%%", (int)(ppm / 10000), (int)(ppm / 1000 % 10));
}

void html_plural(FILE *to, uint64_t n, const char *one, const char *many)
{
	html_count(to, n);
	fprintf(to, " %s", n == 1 ? one : many);
}

/* Bytes [from, to) of "2026-11-29T18:31:37.123Z". */
static void part(FILE *to, int64_t ns, size_t begin, size_t end)
{
	char text[40];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	fmt_utc(&f, ns / DUR_S, ns % DUR_S);
	fmt_end(&f);
	fwrite(text + begin, 1, end - begin, to);
}

void html_date(FILE *to, int64_t ns)
{
	part(to, ns, 0, 10);
}

void html_clock(FILE *to, int64_t ns)
{
	part(to, ns, 11, 19);
}

void html_millis(FILE *to, int64_t ns)
{
	part(to, ns, 11, 23);
}

void html_minute(FILE *to, int64_t ns)
{
	part(to, ns, 11, 16);
}

void html_moment(FILE *to, int64_t ns)
{
	html_date(to, ns);
	fputc(' ', to);
	html_millis(to, ns);
}

const char *html_dest(const struct report *r, uint32_t dest)
{
	return r->dests.list[dest][0] ? r->dests.list[dest] : "(no name)";
}

const char *html_word(const struct report *r, uint32_t word)
{
	return r->words.list[word][0] ? r->words.list[word] : "(not logged)";
}
