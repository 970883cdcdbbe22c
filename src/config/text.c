/* SPDX-License-Identifier: MIT */
#include "config/text.h"

#include <string.h>

struct merge {
	struct text *t;
	struct arena *keep;
	struct diag_sink *sink;
	struct slurp level[TEXT_DEPTH_MAX + 1]; /* files that are open now, outermost first */
	unsigned depth;
	unsigned line; /* of the merged text */
	enum lex lex;
	bool full;
};

static size_t lex_plain(enum lex *state, const char *s, size_t len)
{
	bool two = len > 1;

	if (*s == '"')
		*state = LEX_STRING;
	else if (*s == '#' || (two && s[0] == '/' && s[1] == '/'))
		*state = LEX_LINE_COMMENT;
	else if (two && s[0] == '/' && s[1] == '*') {
		*state = LEX_BLOCK_COMMENT;
		return 2;
	}
	return 1;
}

enum lex lex_skip(enum lex state, const char *s, size_t len)
{
	for (size_t i = 0, step; i < len; i += step) {
		step = 1;
		if (state == LEX_PLAIN) {
			step = lex_plain(&state, s + i, len - i);
		} else if (state == LEX_STRING) {
			if (s[i] == '"')
				state = LEX_PLAIN;
			else if (s[i] == '\\' && i + 1 < len &&
			         (s[i + 1] == '"' || s[i + 1] == '\\'))
				step = 2;
		} else if (state == LEX_LINE_COMMENT) {
			if (s[i] == '\n')
				state = LEX_PLAIN;
		} else if (s[i] == '*' && i + 1 < len && s[i + 1] == '/') {
			state = LEX_PLAIN;
			step = 2;
		}
	}
	return state;
}

void text_note(const char **list, unsigned *count, struct arena *scratch,
               const char *word, size_t len)
{
	if (*count < TEXT_NOTED_MAX)
		list[(*count)++] = arena_text(scratch, word, len);
}

bool text_noted(const char *const *list, unsigned count, const char *word)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(list[i], word) == 0)
			return true;
	return false;
}

struct source text_source(const struct text *t, unsigned line)
{
	unsigned i = t->run_count;
	struct source at;

	if (i == 0)
		return (struct source){ NULL, 0 };
	while (i > 1 && t->runs[i - 1].first > line)
		i--;
	at = t->runs[i - 1].at;
	if (line >= t->runs[i - 1].first)
		at.line += line - t->runs[i - 1].first;
	return at;
}

/* One run per beginning of a file and one per return from an include, so
 * there is always room. An empty run before it is replaced. */
static void begin_run(struct merge *m, struct source at)
{
	struct text *t = m->t;

	if (t->run_count > 0 && t->runs[t->run_count - 1].first == m->line)
		t->run_count--;
	t->runs[t->run_count++] = (struct text_run){ m->line, at };
}

static void add(struct merge *m, struct source at, const char *s, size_t len)
{
	struct text *t = m->t;

	if (m->full)
		return;
	if (len > TEXT_MAX - t->len) {
		m->full = true;
		diag_say(m->sink, DIAG_ERROR, at,
		         "the text and what it includes are too large (at most %i bytes)",
		         (int64_t)TEXT_MAX);
		return;
	}
	memcpy(t->bytes + t->len, s, len);
	t->len += len;
	m->lex = lex_skip(m->lex, s, len);
	for (size_t i = 0; i < len; i++)
		m->line += s[i] == '\n';
}

/*
 * Whether the line is an include directive, by libconfig's own rule: at its
 * start, after blanks only. <name> and <len> are what the quotes hold, <rest>
 * is what follows them; NULL if the quotes do not close.
 */
static bool is_include(const char *s, const char *end, const char **name, size_t *len,
                       const char **rest)
{
	static const char word[] = "@include";
	const char *p = s;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if ((size_t)(end - p) <= sizeof(word) || memcmp(p, word, sizeof(word) - 1) != 0)
		return false;
	p += sizeof(word) - 1;
	if (*p != ' ' && *p != '\t')
		return false;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (p == end || *p != '"')
		return false;
	*name = ++p;
	while (p < end && *p != '"' && *p != '\n')
		p++;
	*len = (size_t)(p - *name);
	*rest = p < end && *p == '"' ? p + 1 : NULL;
	return true;
}

/* <name> as seen from the folder of <from>. */
static const char *beside(struct merge *m, const char *from, const char *name, size_t len)
{
	const char *slash = strrchr(from, '/');
	size_t dir = *name == '/' || !slash ? 0 : (size_t)(slash - from) + 1;
	char *path = arena_alloc(m->keep, dir + len + 1);

	if (!path)
		return "";
	memcpy(path, from, dir);
	memcpy(path + dir, name, len);
	path[dir + len] = '\0';
	return path;
}

static bool is_open(const struct merge *m, const struct slurp *s)
{
	for (unsigned i = 0; i < m->depth; i++)
		if (m->level[i].device == s->device && m->level[i].inode == s->inode)
			return true;
	return false;
}

static bool merge_file(struct merge *m, const char *path);

/* Merges the file that a directive at <at> names. */
static void include(struct merge *m, struct source at, const char *name, size_t len)
{
	char given[128], reason[256];
	struct fmt f, why;
	struct slurp *s;
	const char *path;

	fmt_init(&f, given, sizeof(given));
	fmt_mem(&f, name, len);
	fmt_end(&f);
	if (m->depth > TEXT_DEPTH_MAX || m->t->included_count >= TEXT_INCLUDES_MAX) {
		diag_say(m->sink, DIAG_ERROR, at,
		         m->depth > TEXT_DEPTH_MAX ? "@include: %q: nested too deep (at most %u)"
		                                   : "@include: %q: too many files (at most %u)",
		         given, m->depth > TEXT_DEPTH_MAX ? TEXT_DEPTH_MAX : TEXT_INCLUDES_MAX);
		return;
	}
	s = &m->level[m->depth];
	if (!s->bytes)
		s->bytes = arena_alloc(m->t->bulk, TEXT_MAX + 1);
	path = beside(m, at.file, name, len);
	if (!s->bytes)
		return;
	fmt_init(&why, reason, sizeof(reason));
	if (!slurp_file(s, path, &why)) {
		fmt_end(&why);
		diag_say(m->sink, DIAG_ERROR, at, "@include: %q: %s", given, reason);
	} else if (is_open(m, s)) {
		diag_say(m->sink, DIAG_ERROR, at,
		         "@include: %q: includes itself (a circle)", given);
	} else {
		m->t->included[m->t->included_count++] = path;
		merge_file(m, path);
	}
}

static void merge_line(struct merge *m, struct source at, const char *s, const char *end)
{
	const char *name, *rest;
	size_t len;

	if (m->lex != LEX_PLAIN || !is_include(s, end, &name, &len, &rest)) {
		add(m, at, s, (size_t)(end - s));
		return;
	}
	if (!rest) {
		diag_say(m->sink, DIAG_ERROR, at, "@include: the quotes are not closed");
		add(m, at, "\n", 1);
		return;
	}
	include(m, at, name, len);
	begin_run(m, at);
	add(m, at, rest, (size_t)(end - rest));
}

/* Merges m->level[m->depth], read from <path>. */
static bool merge_file(struct merge *m, const char *path)
{
	struct slurp *file = &m->level[m->depth];
	const char *s = file->bytes, *end;
	struct source at = { path, 1 };

	if (!slurp_check(file, path, m->sink))
		return false;
	end = s + file->len;
	m->depth++;
	begin_run(m, at);
	while (s < end && !m->full) {
		const char *newline = memchr(s, '\n', (size_t)(end - s));
		const char *next = newline ? newline + 1 : end;

		merge_line(m, at, s, next);
		s = next;
		at.line++;
	}
	m->depth--;
	/* What follows the directive is not part of the file's last line. */
	if (m->depth > 0 && m->t->len > 0 && m->t->bytes[m->t->len - 1] != '\n')
		add(m, at, "\n", 1);
	return true;
}

bool text_load(struct text *t, const char *path, struct arena *keep,
               struct arena *scratch, struct arena *bulk, struct diag_sink *sink)
{
	struct merge m = { .t = t, .keep = keep, .sink = sink, .line = 1 };
	char reason[256];
	struct fmt why;

	memset(t, 0, sizeof(*t));
	t->bulk = bulk;
	t->bytes = arena_alloc(bulk, TEXT_MAX + 1);
	t->runs = arena_array(scratch, 2 * TEXT_INCLUDES_MAX + 2, sizeof(*t->runs));
	t->included = arena_array(scratch, TEXT_INCLUDES_MAX, sizeof(*t->included));
	m.level[0].bytes = arena_alloc(bulk, TEXT_MAX + 1);
	if (!t->bytes || !t->runs || !t->included || !m.level[0].bytes)
		return false;
	fmt_init(&why, reason, sizeof(reason));
	if (!slurp_file(&m.level[0], path, &why)) {
		diag_send(sink, DIAG_UNREADABLE, (struct source){ path, 0 }, &why);
		return false;
	}
	if (!merge_file(&m, path) || m.full)
		return false;
	t->bytes[t->len] = '\0';
	return true;
}
