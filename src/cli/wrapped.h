/* SPDX-License-Identifier: MIT */
/*
 * wrapped.h - the functions that libretry.so wraps, for the doctor. The table is
 * made of src/preload/symbols.def by scripts/gen-wrapped, so it cannot differ
 * from what the library exports.
 */
#ifndef LIBRETRY_CLI_WRAPPED_H
#define LIBRETRY_CLI_WRAPPED_H

#include <stddef.h>

struct wrapped {
	const char *name;
	const char *group; /* "connect", "lookup", ...: the comments of symbols.def */
};

/* Sorted by name, by bytes. */
extern const struct wrapped wrapped[];
extern const size_t wrapped_count;

#endif
