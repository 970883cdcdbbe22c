/* SPDX-License-Identifier: MIT */
#include "config/diag.h"

#include <string.h>

/* Longer words are not compared: nobody mistypes them by two letters only. */
#define WORD_MAX 40
#define QUOTE_MAX 100

void diag_fmt(struct fmt *f, const struct diag *d)
{
	if (d->file) {
		fmt_str(f, d->file);
		fmt_char(f, ':');
		if (d->line > 0) {
			fmt_u64(f, d->line);
			fmt_char(f, ':');
		}
		fmt_char(f, ' ');
	}
	fmt_str(f, d->text);
}

void diag_send(struct diag_sink *sink, enum diag_level level, struct source at,
               struct fmt *text)
{
	struct diag d = { .level = level, .file = at.file, .line = at.line, .text = text->buf };

	fmt_end(text);
	sink->count[level]++;
	if (!sink->report || ++sink->said > DIAG_SAID_MAX)
		return;
	if (sink->said == DIAG_SAID_MAX)
		d.text = "there is more, which is counted but not shown";
	sink->report(sink->ctx, &d);
}

static void format_one(struct fmt *f, char what, va_list *args)
{
	switch (what) {
	case 's':
		fmt_str(f, va_arg(*args, const char *));
		break;
	case 'q':
		fmt_char(f, '"');
		fmt_json(f, va_arg(*args, const char *), QUOTE_MAX);
		fmt_char(f, '"');
		break;
	case 'u':
		fmt_u64(f, va_arg(*args, unsigned));
		break;
	case 'i':
		fmt_i64(f, va_arg(*args, int64_t));
		break;
	case 't':
		fmt_dur_exact(f, va_arg(*args, int64_t));
		break;
	default:
		fmt_char(f, what);
	}
}

void diag_vformat(struct fmt *f, const char *format, va_list args)
{
	va_list rest;

	va_copy(rest, args);
	for (; *format; format++) {
		if (*format != '%')
			fmt_char(f, *format);
		else if (*++format)
			format_one(f, *format, &rest);
		else
			break;
	}
	va_end(rest);
}

void diag_format(struct fmt *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	diag_vformat(f, format, args);
	va_end(args);
}

void diag_say(struct diag_sink *sink, enum diag_level level, struct source at,
              const char *format, ...)
{
	char buf[DIAG_TEXT_MAX];
	struct fmt f;
	va_list args;

	fmt_init(&f, buf, sizeof(buf));
	va_start(args, format);
	diag_vformat(&f, format, args);
	va_end(args);
	diag_send(sink, level, at, &f);
}

struct nearest nearest_to(const char *given)
{
	/* A word of two letters is two slips away from any other one. */
	return (struct nearest){ .given = given, .distance = strlen(given) > 4 ? 3 : 2 };
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Insertions, deletions, changes and swaps of neighbours. */
static unsigned edit_distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned rows[3][WORD_MAX + 1];
	unsigned *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= m; j++)
		above[j] = before[j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *oldest = before;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned change = a[i - 1] != b[j - 1];

			row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + change);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = above;
		above = row;
		row = oldest;
	}
	return above[m];
}

void nearest_offer(struct nearest *n, const char *word)
{
	size_t a = strlen(n->given), b = strlen(word);
	unsigned distance;

	if (a == 0 || a > WORD_MAX || b > WORD_MAX)
		return;
	distance = edit_distance(n->given, a, word, b);
	if (distance < n->distance) {
		n->distance = distance;
		n->best = word;
	}
}

void nearest_say(struct fmt *f, const struct nearest *n)
{
	if (n->best)
		diag_format(f, "; did you mean %q?", n->best);
}
