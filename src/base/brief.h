/* SPDX-License-Identifier: MIT */
/*
 * brief.h - files that are open for one write, or some. A thread may fork meanwhile, and the
 * child would have the descriptor for good: so the last ones are remembered, and closed
 * there.
 *
 * Raw system calls; errno untouched, safe in signal handlers.
 */
#ifndef LIBRETRY_BASE_BRIEF_H
#define LIBRETRY_BASE_BRIEF_H

#include <sys/stat.h>

/*
 * Opens <path> for appending, with <flags> besides: never 0, 1 or 2, closed by exec, without
 * waiting for a FIFO's reader. *st says what it is. -errno if it cannot be.
 */
int brief_open(const char *path, int flags, mode_t mode, struct stat *st);

/* In the child after fork: closes those of other threads, which are not here. */
void brief_postfork_child(void);

#endif
