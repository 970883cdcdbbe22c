/* SPDX-License-Identifier: MIT */
#include "base/glob.h"

/* ASCII only: the locale is the program's and may change under us. */
static unsigned char lower(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : c;
}

static unsigned char upper(unsigned char c)
{
	return c >= 'a' && c <= 'z' ? (unsigned char)(c - ('a' - 'A')) : c;
}

static bool in_range(unsigned char low, unsigned char c, unsigned char high)
{
	return low <= c && c <= high;
}

static bool same(unsigned char a, unsigned char b, int flags)
{
	return a == b || ((flags & GLOB_NOCASE) && lower(a) == lower(b));
}

/* One member of a set at *p, unquoted; advances *p. 0 at the end of the text. */
static unsigned char set_byte(const char **p)
{
	if ((*p)[0] == '\\' && (*p)[1])
		(*p)++;
	return **p ? (unsigned char)*(*p)++ : 0;
}

/*
 * Whether <c> is in the set whose '[' is at <p>. Returns what follows the
 * ']', or NULL if there is none.
 */
static const char *match_set(const char *p, unsigned char c, int flags, bool *hit)
{
	bool negated = p[1] == '!';
	bool found = false;

	p += negated ? 2 : 1;
	/* ']' stands for itself in the first place. */
	for (bool first = true; first || *p != ']'; first = false) {
		unsigned char low = set_byte(&p), high = low;

		if (low == 0)
			return NULL;
		if (p[0] == '-' && p[1] && p[1] != ']') {
			p++;
			high = set_byte(&p);
		}
		if (in_range(low, c, high))
			found = true;
		if ((flags & GLOB_NOCASE) &&
		    (in_range(low, lower(c), high) || in_range(low, upper(c), high)))
			found = true;
	}
	*hit = found != negated;
	return p + 1;
}

/*
 * Matches the one pattern element at <p> against <c>. Returns what follows the
 * element, NULL if it does not match. Once a '[' has no end, no later one has:
 * *open remembers the first, so that each is looked for once only.
 */
static const char *match_one(const char *p, unsigned char c, int flags, const char **open)
{
	bool hit = false;

	if (*p == '?')
		return p + 1;
	if (*p == '[' && (!*open || p < *open)) {
		const char *next = match_set(p, c, flags, &hit);

		if (next)
			return hit ? next : NULL;
		*open = p;
	}
	if (p[0] == '\\' && p[1])
		p++;
	return *p && same((unsigned char)*p, c, flags) ? p + 1 : NULL;
}

bool glob_match(const char *pattern, const char *text, size_t len, int flags)
{
	const char *end = text + len;
	const char *p = pattern;
	const char *open = NULL;
	/* Where to go on after a mismatch: only the last '*' can matter. */
	const char *star = NULL, *star_text = NULL;

	while (text < end) {
		const char *next;

		if (*p == '*') {
			star = ++p;
			star_text = text;
			continue;
		}
		next = match_one(p, (unsigned char)*text, flags, &open);
		if (next) {
			p = next;
			text++;
		} else if (star) {
			p = star;
			text = ++star_text;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return *p == '\0';
}
