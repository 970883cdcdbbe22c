/* SPDX-License-Identifier: MIT */
#include "config/scan_state.h"

#include <string.h>

struct frame *scan_top(struct scan *s)
{
	return &s->stack[s->depth];
}

char scan_char(const struct scan *s, size_t i)
{
	return i < s->len ? s->in[i] : '\0';
}

void scan_put(struct scan *s, const char *text, size_t len)
{
	if (len > s->out_cap - s->out_len) {
		s->stop = true;
		return;
	}
	memcpy(s->out + s->out_len, text, len);
	s->out_len += len;
}

void scan_copy(struct scan *s, size_t len)
{
	scan_put(s, s->in + s->pos, len);
	s->pos += len;
}

void scan_path(const struct scan *s, unsigned depth, struct fmt *f)
{
	for (unsigned i = 0; i <= depth; i++) {
		const struct frame *frame = &s->stack[i];

		if (frame->open != '{') {
			diag_format(f, "[%u]", frame->members);
		} else if (frame->key) {
			if (i > 0)
				fmt_char(f, '.');
			fmt_mem(f, frame->key, frame->key_len);
		}
	}
}

void scan_note(struct scan *s)
{
	char buf[SCAN_PATH_MAX];
	struct fmt f;

	fmt_init(&f, buf, sizeof(buf));
	scan_path(s, s->depth, &f);
	text_note(s->t->faulty, &s->t->faulty_count, s->scratch, buf, fmt_end(&f));
}

void scan_fault(struct scan *s, unsigned line, unsigned depth, const char *what)
{
	char buf[SCAN_PATH_MAX];
	struct fmt f;

	fmt_init(&f, buf, sizeof(buf));
	scan_path(s, depth, &f);
	fmt_end(&f);
	text_note(s->t->faulty, &s->t->faulty_count, s->scratch, buf, f.len);
	diag_say(s->sink, DIAG_ERROR, text_source(s->t, line), f.len ? "%s: %s" : "%s%s", buf,
	         what);
}

void scan_syntax(struct scan *s, const char *near, size_t len, const char *hint)
{
	char word[64];
	struct fmt f;

	fmt_init(&f, word, sizeof(word));
	fmt_mem(&f, near, len);
	fmt_end(&f);
	diag_say(s->sink, DIAG_ERROR, text_source(s->t, s->line), "syntax error near %q (%s)",
	         word, hint);
}

void scan_erase(struct scan *s, size_t from)
{
	for (; from < s->out_len; from++)
		if (s->out[from] != '\n')
			s->out[from] = ' ';
}

void scan_value_done(struct scan *s)
{
	scan_top(s)->want = false;
	scan_top(s)->have = true;
	scan_top(s)->after_comma = false;
}

void scan_value_begins(struct scan *s)
{
	struct frame *f = scan_top(s);

	/* Two texts side by side are one to libconfig. */
	if (f->open != '{' && f->have && scan_char(s, s->pos) != '"') {
		f->members++;
		scan_fault(s, s->line, s->depth, "a comma is missing before it");
		scan_put(s, ",", 1);
	}
	if (f->open != '{' || f->want || f->have || !f->key)
		return;
	scan_fault(s, s->line, s->depth, "\"=\" is missing behind the name");
	scan_put(s, "=", 1);
}

void scan_no_value(struct scan *s)
{
	scan_fault(s, s->line, s->depth, "has no value");
	scan_erase(s, scan_top(s)->key_out);
	scan_top(s)->want = false;
	scan_top(s)->key = NULL;
}

bool scan_is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '*';
}

bool scan_is_name_rest(char c)
{
	return scan_is_name(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
}
