/* SPDX-License-Identifier: MIT */
/* scan_state.h - inside of the scan: scan.c, scan_state.c, scan_value.c. */
#ifndef LIBRETRY_CONFIG_SCAN_STATE_H
#define LIBRETRY_CONFIG_SCAN_STATE_H

#include "config/scan.h"

#define SCAN_PATH_MAX 256

struct name {
	struct name *next;
	uint64_t hash;
	const char *word;
	size_t len;
	unsigned line;
};

/* A bracket that is open; the outermost one is the file. */
struct frame {
	char open; /* '{', '(' or '[' */
	unsigned line;
	unsigned members;
	const char *key; /* group: name of the setting at hand */
	size_t key_len;
	size_t key_out;  /* where it stands in the output */
	bool want;       /* group: '=' was seen, a value must follow */
	bool have;       /* a value stands here, without ';' or ',' behind it */
	size_t comma_out;
	unsigned comma_line;
	bool after_comma;
	struct name *names;
};

struct scan {
	struct text *t;
	struct arena *scratch;
	struct diag_sink *sink;
	const char *in;
	size_t len, pos;
	char *out;
	size_t out_len, out_cap;
	unsigned line;
	unsigned repaired_keys;
	struct frame stack[SCAN_DEPTH_MAX + 1];
	unsigned depth;
	bool stop;
};

struct frame *scan_top(struct scan *s);

/* The character at <i> of the input, NUL behind its end. */
char scan_char(const struct scan *s, size_t i);
bool scan_is_name(char c);
bool scan_is_name_rest(char c);

void scan_put(struct scan *s, const char *text, size_t len);
/* Takes <len> characters of the input over. */
void scan_copy(struct scan *s, size_t len);
/* Blanks the output from <from> on, its line ends excepted. */
void scan_erase(struct scan *s, size_t from);

/* The path of the value at hand, through the first <depth> brackets. */
void scan_path(const struct scan *s, unsigned depth, struct fmt *f);
/* Remembers the path of the value at hand as faulty. */
void scan_note(struct scan *s);
/* Reports "<path>: <what>" and remembers the path. */
void scan_fault(struct scan *s, unsigned line, unsigned depth, const char *what);
/* Reports `syntax error near "<near>" (<hint>)` on the line at hand. */
void scan_syntax(struct scan *s, const char *near, size_t len, const char *hint);

/* A value begins. In a group it needs a '=', which is added if it is missing. */
void scan_value_begins(struct scan *s);
void scan_value_done(struct scan *s);
/* The '=' at hand is followed by none: the setting is taken out. */
void scan_no_value(struct scan *s);

/* scan_value.c: one token each, from s->pos on. */
void scan_comment(struct scan *s);
void scan_string(struct scan *s);
void scan_run(struct scan *s);
void scan_at_sign(struct scan *s);

#endif
