/* SPDX-License-Identifier: MIT */
/*
 * glob.h - shell patterns without locale, allocation or recursion (fnmatch()
 * has all three). '*' any run, '?' one byte, [a-z] and [!a-z] sets, '\' quotes
 * the next byte. '*' and '?' match '/' and '.' too.
 */
#ifndef LIBRETRY_BASE_GLOB_H
#define LIBRETRY_BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

enum { GLOB_NOCASE = 1 };

/* True if the <len> bytes at <text> match the whole of <pattern>. Linear in
 * len * strlen(pattern) at worst. An unclosed '[' stands for itself. */
bool glob_match(const char *pattern, const char *text, size_t len, int flags);

#endif
