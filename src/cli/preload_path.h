/* SPDX-License-Identifier: MIT */
/* preload_path.h - where libretry.so is, and how it gets into LD_PRELOAD. */
#ifndef LIBRETRY_CLI_PRELOAD_PATH_H
#define LIBRETRY_CLI_PRELOAD_PATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The library to preload, as an absolute path in <out>: <given> if it is not
 * NULL, else the one that belongs to the command at <self> (an absolute path):
 * beside it (a build tree), in ../lib (an installation), or in the
 * folder that the build was configured with. A <given> path with a '$' is the
 * loader's to expand and is not looked for. False with errno if it cannot be
 * read; <out> then holds the place that was tried last.
 */
bool preload_find(const char *given, const char *self, char *out, size_t size);

/* What the loader cannot take in a path: ' ' or ':'; 0 if there is none. */
char preload_bad_byte(const char *path);

/*
 * The new value of LD_PRELOAD in <out>: <library> first, then what <old> (NULL:
 * unset) holds, in its order, ':' between. The loader splits at ':' and ' ', so
 * this does too. Entries that are this library (the same path, or a file
 * called libretry.so) are left out, so that doing it twice changes nothing.
 * Runtimes of sanitizers that lead <old> stay in front: they refuse to start
 * behind another library. False if it does not fit.
 */
bool preload_merge(const char *library, const char *old, char *out, size_t size);

#endif
