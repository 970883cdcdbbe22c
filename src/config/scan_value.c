/* SPDX-License-Identifier: MIT */
#include "config/scan_state.h"

#include <string.h>
#include <strings.h>

/* <len> characters as blanks. */
static void blank(struct scan *s, size_t len)
{
	for (; len > 0; len--, s->pos++) {
		bool newline = s->in[s->pos] == '\n';

		scan_put(s, newline ? "\n" : " ", 1);
		s->line += newline;
	}
}

void scan_comment(struct scan *s)
{
	const char *from = s->in + s->pos, *end;
	size_t left = s->len - s->pos;
	bool block = left > 1 && from[1] == '*';

	/* scan_text() has seen that every block is closed, and every text. */
	end = block ? memmem(from + 2, left - 2, "*/", 2) : memchr(from, '\n', left);
	blank(s, end ? (size_t)(end - from) + 2 * block : left);
}

/* Only blanks between the last line end and here. */
static bool at_line_start(const struct scan *s)
{
	size_t i = s->pos;

	while (i > 0 && (s->in[i - 1] == ' ' || s->in[i - 1] == '\t'))
		i--;
	return i == 0 || s->in[i - 1] == '\n';
}

void scan_string(struct scan *s)
{
	scan_value_begins(s);
	scan_copy(s, 1);
	while (s->pos < s->len && s->in[s->pos] != '"') {
		char c = s->in[s->pos], next = scan_char(s, s->pos + 1);

		s->line += c == '\n';
		if (c == '@' && at_line_start(s)) {
			scan_put(s, "\\x40", 4);
			s->pos++;
		} else {
			scan_copy(s, c == '\\' && (next == '"' || next == '\\') ? 2 : 1);
		}
	}
	scan_copy(s, 1);
	scan_value_done(s);
}

/* How many characters at <pos> are one unquoted value. */
static size_t run_length(const struct scan *s)
{
	size_t n = 0;

	for (;; n++) {
		char c = scan_char(s, s->pos + n), next = scan_char(s, s->pos + n + 1);

		if (c == '\0' || strchr(" \t\r\n\f\v\"\\{}()[];,=#", c))
			return n;
		if (c == '/' && (next == '/' || next == '*'))
			return n;
	}
}

static bool is_bool(const char *word, size_t len)
{
	return (len == 4 && strncasecmp(word, "true", 4) == 0) ||
	       (len == 5 && strncasecmp(word, "false", 5) == 0);
}

/* Says that <word> needs quotes and writes it with them. */
static void quote(struct scan *s, const char *word, size_t len)
{
	char copied[64], buf[128];
	struct fmt f;
	int64_t ns;

	const char *near = word;
	size_t near_len = len;

	if (len > 2 && word[0] == '\'' && word[len - 1] == '\'') {
		word++;
		len -= 2;
	}
	fmt_init(&f, copied, sizeof(copied));
	fmt_mem(&f, word, len);
	fmt_end(&f);
	fmt_init(&f, buf, sizeof(buf));
	if (word[len - 1] == '%') {
		fmt_str(&f, "a ratio is a plain number: 0.2 for 20%");
		scan_note(s);
	} else if (dur_parse(copied, &ns) == DUR_OK) {
		diag_format(&f, "a duration needs quotes: %q", copied);
	} else {
		diag_format(&f, "a text needs quotes: %q", copied);
	}
	fmt_end(&f);
	scan_syntax(s, near, near_len, buf);
	scan_put(s, "\"", 1);
	scan_put(s, word, len);
	scan_put(s, "\"", 1);
}

static bool value_expected(struct scan *s)
{
	const struct frame *f = scan_top(s);

	return f->open != '{' || f->want || (f->key && !f->have);
}

void scan_run(struct scan *s)
{
	const char *word = s->in + s->pos;
	size_t len = run_length(s);
	char buf[128];
	struct fmt f;
	enum number kind;

	/* What stands where no value can is left to libconfig's judgement. */
	if (len == 0 || !value_expected(s)) {
		scan_copy(s, len ? len : 1);
		return;
	}
	scan_value_begins(s);
	kind = number_kind(word, len);
	if (kind == NUMBER_TOO_LARGE || kind == NUMBER_TOO_LARGE_64) {
		fmt_init(&f, buf, sizeof(buf));
		fmt_mem(&f, word, len < 64 ? len : 64);
		fmt_str(&f, kind == NUMBER_TOO_LARGE
		                ? ": does not fit 32 bits (-2147483648 to 2147483647)"
		                : ": does not fit 64 bits");
		fmt_end(&f);
		scan_fault(s, s->line, s->depth, buf);
		scan_put(s, "0", 1);
	} else if (kind != NUMBER_NONE || is_bool(word, len)) {
		scan_put(s, word, len);
	} else {
		quote(s, word, len);
	}
	s->pos += len;
	scan_value_done(s);
}

void scan_at_sign(struct scan *s)
{
	size_t len = 0;

	while (scan_char(s, s->pos + len) != '\n' && s->pos + len < s->len)
		len++;
	scan_syntax(s, s->in + s->pos, len < 24 ? len : 24,
	       "an include is @include \"file\", alone at the start of a line");
	s->pos += len;
}
