/* SPDX-License-Identifier: MIT */
#include "config/scan.h"

#include <string.h>

#include "base/prng.h"
#include "config/scan_state.h"

/* The first setting of this name in the group at hand; it is added if new. */
static const struct name *first_of(struct scan *s, const char *word, size_t len)
{
	uint64_t hash = hash_bytes(word, len, 0);
	struct name *n;

	for (n = scan_top(s)->names; n; n = n->next)
		if (n->hash == hash && n->len == len && memcmp(n->word, word, len) == 0)
			return n;
	n = arena_alloc(s->t->bulk, sizeof(*n));
	if (!n) {
		s->stop = true;
		return NULL;
	}
	*n = (struct name){ scan_top(s)->names, hash, word, len, s->line };
	scan_top(s)->names = n;
	return NULL;
}

/* The second setting gets a name of its own, so that what is in it can be
 * read; it is remembered as faulty, and nobody looks at it. */
static void twice(struct scan *s, const struct name *first)
{
	struct source there = text_source(s->t, first->line);
	struct frame *f = scan_top(s);
	const char *key = f->key;
	size_t key_len = f->key_len;
	char buf[SCAN_PATH_MAX + 64];
	struct fmt what;

	fmt_init(&what, buf, sizeof(buf));
	diag_format(&what, "is set twice (first at %s:%u)", there.file, there.line);
	fmt_end(&what);
	scan_fault(s, s->line, s->depth, buf);

	fmt_init(&what, buf, sizeof(buf));
	diag_format(&what, "*%u", ++s->repaired_keys);
	f->key_len = fmt_end(&what);
	f->key = arena_text(s->scratch, buf, f->key_len);
	scan_put(s, f->key, f->key_len);
	scan_note(s);
	f->key = key;
	f->key_len = key_len;
}

static void too_many(struct scan *s)
{
	char buf[64];
	struct fmt f;

	fmt_init(&f, buf, sizeof(buf));
	diag_format(&f, "too many members (at most %u)", (unsigned)SCAN_MEMBERS_MAX);
	fmt_end(&f);
	scan_fault(s, s->line, s->depth ? s->depth - 1 : 0, buf);
	s->stop = true;
}

static void scan_key(struct scan *s)
{
	struct frame *f = scan_top(s);
	const struct name *first;

	f->key = s->in + s->pos;
	f->key_len = 0;
	while (scan_is_name_rest(scan_char(s, s->pos + f->key_len)))
		f->key_len++;
	f->key_out = s->out_len;
	f->have = false;
	if (++f->members > SCAN_MEMBERS_MAX) {
		too_many(s);
		return;
	}
	first = first_of(s, f->key, f->key_len);
	if (first) {
		twice(s, first);
		s->pos += f->key_len;
	} else {
		scan_copy(s, f->key_len);
	}
}

/* A word in a group: a name, or a value that lacks its quotes. */
static void scan_word(struct scan *s)
{
	size_t i = s->pos;

	if (scan_top(s)->want) {
		while (scan_is_name_rest(scan_char(s, i)))
			i++;
		while (scan_char(s, i) == ' ' || scan_char(s, i) == '\t')
			i++;
		if (scan_char(s, i) != '=' &&
		    (scan_char(s, i) != ':' || scan_char(s, i + 1) != ' ')) {
			scan_run(s);
			return;
		}
		scan_no_value(s);
	}
	scan_key(s);
}

static void open_bracket(struct scan *s, char c)
{
	scan_value_begins(s);
	if (s->depth == SCAN_DEPTH_MAX) {
		scan_fault(s, s->line, s->depth, "nested too deep (at most 32)");
		s->stop = true;
		return;
	}
	s->depth++;
	memset(scan_top(s), 0, sizeof(*scan_top(s)));
	scan_top(s)->open = c;
	scan_top(s)->line = s->line;
	/* A list holds values of any type: what is wrong with one of them is then
	 * said by its own rules, not as a mismatch. */
	scan_put(s, c == '[' ? "(" : &c, 1);
	s->pos++;
}

static void close_bracket(struct scan *s, char c)
{
	struct frame *f = scan_top(s);
	char opened = f->open;

	if (s->depth == 0 || (c == '}' && opened != '{') || (c == ')' && opened != '(') ||
	    (c == ']' && opened != '[')) {
		scan_syntax(s, &c, 1, s->depth == 0 ? "nothing is open here"
		                                    : "another bracket is open here");
		if (s->depth > 0)
			diag_say(s->sink, DIAG_ERROR, text_source(s->t, f->line),
			         "this %q is not closed", (char[]){ opened, '\0' });
		s->stop = true;
		return;
	}
	if (f->want)
		scan_no_value(s);
	if (f->after_comma) {
		scan_fault(s, f->comma_line, s->depth - 1,
		           "a comma behind the last element (leave it out)");
		s->out[f->comma_out] = ' ';
	}
	s->depth--;
	scan_put(s, c == ']' ? ")" : &c, 1);
	s->pos++;
	scan_value_done(s);
}

static void separator(struct scan *s, char c)
{
	struct frame *f = scan_top(s);

	if (f->open != '{') {
		if (c == ',' && ++f->members > SCAN_MEMBERS_MAX)
			too_many(s);
		f->after_comma = c == ',' && f->have;
		f->comma_line = s->line;
		f->comma_out = s->out_len;
		f->have = false;
		scan_copy(s, 1);
		return;
	}
	if (f->want) {
		scan_no_value(s);
		s->pos++;
	} else if (!f->have && !f->key) {
		scan_syntax(s, &c, 1, "nothing stands before it");
		s->pos++;
	} else {
		scan_copy(s, 1);
	}
	f->have = false;
	f->key = NULL;
}

static void scan_one(struct scan *s)
{
	struct frame *f = scan_top(s);
	char c = s->in[s->pos], next = scan_char(s, s->pos + 1);

	if (c == '\n')
		s->line++;
	if (strchr(" \t\r\n\f\v", c))
		scan_copy(s, 1);
	else if (c == '#' || (c == '/' && (next == '/' || next == '*')))
		scan_comment(s);
	else if (c == '"')
		scan_string(s);
	else if (strchr("{([", c))
		open_bracket(s, c);
	else if (strchr("})]", c))
		close_bracket(s, c);
	else if (c == ';' || c == ',')
		separator(s, c);
	else if ((c == '=' || c == ':') && f->open == '{' && f->key && !f->have && !f->want) {
		f->want = true;
		scan_copy(s, 1);
	} else if (f->open == '{' && scan_is_name(c))
		scan_word(s);
	else if (c == '@' && !f->want && f->open == '{')
		scan_at_sign(s);
	else
		scan_run(s);
}

/*
 * Reports a text or comment that does not end. All quotes behind a missing one
 * are the wrong way round, so the first text over several lines is suspected,
 * and nothing else that could be said about the file would be true.
 */
static bool all_closed(const struct text *t, struct diag_sink *sink)
{
	const char *s = t->bytes, *end = s + t->len;
	unsigned line = 1, text_line = 0, comment_line = 0;
	enum lex state = LEX_PLAIN;

	for (; s < end; line++) {
		const char *newline = memchr(s, '\n', (size_t)(end - s));
		const char *next = newline ? newline + 1 : end;
		enum lex before = state;

		state = lex_skip(state, s, (size_t)(next - s));
		if (state == LEX_STRING && text_line == 0)
			text_line = line;
		if (state == LEX_BLOCK_COMMENT && before != LEX_BLOCK_COMMENT)
			comment_line = line;
		s = next;
	}
	if (state == LEX_STRING)
		diag_say(sink, DIAG_ERROR, text_source(t, text_line),
		         "the quotes of a text are not closed");
	else if (state == LEX_BLOCK_COMMENT)
		diag_say(sink, DIAG_ERROR, text_source(t, comment_line),
		         "the comment is not closed");
	return state != LEX_STRING && state != LEX_BLOCK_COMMENT;
}

bool scan_text(struct text *t, struct arena *scratch, struct diag_sink *sink)
{
	struct scan s = { .t = t, .scratch = scratch, .sink = sink, .in = t->bytes,
		          .len = t->len, .line = 1 };

	if (!all_closed(t, sink))
		return false;
	s.out_cap = 3 * t->len + 64;
	s.out = arena_alloc(t->bulk, s.out_cap + 1);
	if (!s.out)
		return false;
	s.stack[0].open = '{';
	while (s.pos < s.len && !s.stop)
		scan_one(&s);
	if (!s.stop && s.depth > 0) {
		scan_fault(&s, scan_top(&s)->line, s.depth - 1, "the bracket is not closed");
		s.stop = true;
	}
	if (s.stop)
		return false;
	s.out[s.out_len] = '\0';
	t->bytes = s.out;
	t->len = s.out_len;
	return true;
}
