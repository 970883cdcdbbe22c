/* SPDX-License-Identifier: MIT */
/*
 * timeline.h - when something is down, from a file that fault injection and the
 * simulator read alike. One interval a line:
 *
 *     # begin  end, since the start
 *     2s       2.5s
 *     5350.554 5705.069
 *
 * Each is a duration, or a number of milliseconds without a unit; what follows a
 * '#' is no data; empty lines are skipped. Any order, overlaps allowed.
 */
#ifndef LIBRETRY_CONFIG_TIMELINE_H
#define LIBRETRY_CONFIG_TIMELINE_H

#include <stdbool.h>

#include "base/fmt.h"
#include "config/arena.h"
#include "policy/inject.h"

#define TIMELINE_MAX 4096

struct timeline {
	const struct interval *list; /* in <keep>; never NULL after a success */
	unsigned count;
};

/* Reads <path>. On false <why> says what is wrong, with the line, as a clause. An
 * empty file is a mistake, too. Opens a file; allocates in both arenas. */
bool timeline_load(struct timeline *t, const char *path, struct arena *keep,
                   struct arena *scratch, struct fmt *why);

#endif
