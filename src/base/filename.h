/* SPDX-License-Identifier: MIT */
/* filename.h - paths of files that a process writes by itself. */
#ifndef LIBRETRY_BASE_FILENAME_H
#define LIBRETRY_BASE_FILENAME_H

#include <stdbool.h>

#include "base/fmt.h"

/*
 * Writes <pattern> to <f>, its "%p" as the number of this process, "%e" as the last part of
 * the path of what it runs ("unknown" without a /proc), "%%" as "%"; all else stays as it
 * is. False if it does not fit. Two system calls at most; errno untouched, safe in signal
 * handlers.
 */
bool filename_expand(struct fmt *f, const char *pattern);

/* The name that stands for "%e". */
void filename_program(struct fmt *f);

#endif
