/* SPDX-License-Identifier: MIT */
#include "config/parse.h"

#include <string.h>

#include "config/scan.h"

/* Line <line> of the text; <len> without its end. NULL if there is none. */
static char *line_at(const struct text *t, unsigned line, size_t *len)
{
	char *s = t->bytes, *end = t->bytes + t->len;

	for (; line > 1 && s; line--) {
		s = memchr(s, '\n', (size_t)(end - s));
		s = s ? s + 1 : NULL;
	}
	if (!s)
		return NULL;
	*len = strcspn(s, "\n");
	return s;
}

static void trim(char **s, size_t *len)
{
	while (*len > 0 && strchr(" \t\r", **s)) {
		++*s;
		--*len;
	}
	while (*len > 0 && strchr(" \t\r", (*s)[*len - 1]))
		--*len;
}

/* Whether the line can go without taking half of a bracket or text along. */
static bool stands_alone(const char *s, size_t len)
{
	int depth = 0, lowest = 0;
	enum lex state = LEX_PLAIN;

	for (size_t i = 0, step; i < len; i += step) {
		step = s[i] == '\\' && i + 1 < len ? 2 : 1;
		if (state == LEX_PLAIN && strchr("{([", s[i]))
			depth++;
		if (state == LEX_PLAIN && strchr("})]", s[i]))
			depth--;
		if (depth < lowest)
			lowest = depth;
		state = lex_skip(state, s + i, step);
	}
	return depth == 0 && lowest == 0 && state == LEX_PLAIN;
}

/* Reports libconfig's fault and blanks its line; false if that cannot be or
 * would change nothing. */
static bool step_over(struct parsed *p, struct arena *scratch, struct diag_sink *sink)
{
	struct text *t = &p->text;
	unsigned line = (unsigned)config_error_line(&p->tree);
	struct source at = text_source(t, line);
	const char *what = config_error_text(&p->tree);
	char near[48];
	struct fmt f;
	size_t len = 0;
	char *s = line_at(t, line, &len);

	if (s)
		trim(&s, &len);
	if (!s || len == 0) {
		diag_say(sink, DIAG_ERROR, at, "%s", what ? what : "cannot be parsed");
		return false;
	}
	fmt_init(&f, near, sizeof(near));
	fmt_mem(&f, s, len < 40 ? len : 40);
	fmt_end(&f);
	diag_say(sink, DIAG_ERROR, at, "%s near %q", what ? what : "syntax error", near);
	if (!stands_alone(s, len))
		return false;
	text_note(t->blanked, &t->blanked_count, scratch, s, strcspn(s, " \t=:"));
	memset(s, ' ', len);
	return true;
}

static void parse_text(struct parsed *p, const struct lcapi *lc, struct arena *scratch,
                       struct diag_sink *sink)
{
	for (unsigned i = 0; i < PARSE_RETRIES; i++) {
		bool again;

		lc->config_init(&p->tree);
		p->has_tree = lc->config_read_string(&p->tree, p->text.bytes) != 0;
		if (p->has_tree)
			return;
		again = step_over(p, scratch, sink);
		lc->config_destroy(&p->tree);
		if (!again)
			return;
	}
}

void parse_file(struct parsed *p, const char *path, const struct lcapi *lc,
                struct arena *keep, struct arena *scratch, struct diag_sink *sink)
{
	struct arena *bulk = arena_new();

	memset(p, 0, sizeof(*p));
	p->path = path;
	if (bulk && text_load(&p->text, path, keep, scratch, bulk, sink) &&
	    scan_text(&p->text, scratch, sink))
		parse_text(p, lc, scratch, sink);
	p->size = p->text.len;
	p->text.bytes = NULL;
	p->text.bulk = NULL;
	arena_free(bulk);
}

void parse_release(struct parsed *p, const struct lcapi *lc)
{
	if (p->has_tree)
		lc->config_destroy(&p->tree);
	p->has_tree = false;
}
