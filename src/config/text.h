/* SPDX-License-Identifier: MIT */
/*
 * text.h - the text of a configuration file: read with bounds, @include
 * resolved, and every line's origin kept.
 *
 * libconfig never opens a file for us and never sees an @include: 1.5 exits
 * the process on one that names a folder.
 */
#ifndef LIBRETRY_CONFIG_TEXT_H
#define LIBRETRY_CONFIG_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "config/arena.h"
#include "config/diag.h"

#define TEXT_MAX ((size_t)1024 * 1024)
#define TEXT_DEPTH_MAX 8
#define TEXT_INCLUDES_MAX 256
#define TEXT_NOTED_MAX 64

/* From line <first> of the merged text on, lines are <file>'s from <line> on. */
struct text_run {
	unsigned first;
	struct source at;
};

struct text {
	char *bytes; /* NUL-terminated, in <bulk> */
	size_t len;
	struct arena *bulk; /* owner's; may be given back once the text is parsed */
	struct text_run *runs;
	unsigned run_count;
	const char **included; /* paths of included files */
	unsigned included_count;
	/* Paths of settings ("policies.x.deadline") whose fault was reported
	 * before libconfig saw them; what their repair says is not news. */
	const char *faulty[TEXT_NOTED_MAX];
	unsigned faulty_count;
	/* First words of lines that were blanked to read on behind them. */
	const char *blanked[TEXT_NOTED_MAX];
	unsigned blanked_count;
};

/*
 * Reads <path> and what it includes. Never blocks on a FIFO or a device and
 * never reads past TEXT_MAX. Paths go into <keep>, the map of lines into
 * <scratch>, the bytes into <bulk>. Faults go to <sink>; false if there is no
 * text to go on with (it was reported, unless memory ran out).
 */
bool text_load(struct text *t, const char *path, struct arena *keep,
               struct arena *scratch, struct arena *bulk, struct diag_sink *sink);

/* Where line <line> (from 1) of the merged text was written. */
struct source text_source(const struct text *t, unsigned line);

/* Remembers a word or path; what does not fit is forgotten. */
void text_note(const char **list, unsigned *count, struct arena *scratch,
               const char *word, size_t len);
bool text_noted(const char *const *list, unsigned count, const char *word);

/* States of libconfig's lexer. */
enum lex { LEX_PLAIN = 0, LEX_STRING, LEX_LINE_COMMENT, LEX_BLOCK_COMMENT };

/* The state after the <len> bytes at <s>, which begin in <state>. An escape or
 * a two-byte comment mark must not be cut in half. */
enum lex lex_skip(enum lex state, const char *s, size_t len);

/*
 * slurp.c: the bytes of one file.
 */
struct slurp {
	char *bytes; /* room for TEXT_MAX + 1 */
	size_t len;
	unsigned long long device, inode;
};

/* Reads <path> into <s>->bytes. On false <why> says the reason as a clause. */
bool slurp_file(struct slurp *s, const char *path, struct fmt *why);

/* "no such file (ENOENT)" */
void slurp_reason(struct fmt *f, int error);

/*
 * Checks the bytes: false if they are no text (a NUL byte). A byte that is not
 * UTF-8 is reported once and replaced by '?'; a byte order mark is dropped.
 */
bool slurp_check(struct slurp *s, const char *path, struct diag_sink *sink);

#endif
