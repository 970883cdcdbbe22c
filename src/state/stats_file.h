/* SPDX-License-Identifier: MIT */
/*
 * stats_file.h - this process's counters as a file (stats.to = "file:PATH"), for
 * collectors that read files.
 *
 * Written to a file beside, which is then renamed: who reads has the old content or the
 * new one. Raw system calls, with all signals held back; no malloc, no stdio, no
 * descriptor is kept; errno untouched. What cannot be written is left.
 */
#ifndef LIBRETRY_STATE_STATS_FILE_H
#define LIBRETRY_STATE_STATS_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/settings.h"

/* Replaces the settings; <s> must stay valid. NULL, or one without a path: nothing is
 * written. */
void stats_file_configure(const struct stats_settings *s);

/* There is a file to write: what is counted is to be in this process's own slots. */
bool stats_file_on(void);

/*
 * Something was counted at <now> (ns, slot_now()); <end>: the end of a call. True: the file
 * is due. The first time it is at the end of a call, or .every after the first failure;
 * then .every after it was written last.
 */
bool stats_file_counted(bool end, int64_t now);

/* Something was counted that the file has not. */
bool stats_file_behind(void);

/* Writes it, unless another thread is doing so. */
void stats_file_write(int64_t now);

/* In the child after fork: what was counted is the parent's. */
void stats_file_postfork_child(void);

#endif
