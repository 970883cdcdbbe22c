/* SPDX-License-Identifier: MIT */
/* inuse.h - which configuration is in use, and why: for "check" and "explain". */
#ifndef LIBRETRY_CLI_INUSE_H
#define LIBRETRY_CLI_INUSE_H

#include "cli/out.h"
#include "config/config.h"

struct in_use {
	const char *file; /* NULL: built in */
	const char *word; /* in JSON */
	const char *why;  /* for people */
};

/*
 * What a program started here with <env> would use; <given>, if it is not NULL,
 * stands for all of that ("none": the built-in policies only, if <none_is_word>).
 * <path> is room for the name of the file.
 */
struct in_use in_use_find(const struct env *env, const char *given, bool none_is_word,
                          char *path, size_t size);

/* "FILE (why)" or "built-in policies (why)". */
void in_use_text(const struct in_use *c, char *text, size_t size);

/* The members "file" and "chosen_by". */
void in_use_members(struct out *o, const struct in_use *c);

/* The table "files": all that were read; people see those beside the first, one
 * a line ("with FILE"). */
void in_use_files(struct out *o, const struct config *c);

/* Marks the variable that <d>, a fault of the environment, speaks of. */
void note_rejected(bool rejected[ENV_COUNT], const struct diag *d);

#endif
