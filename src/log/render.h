/* SPDX-License-Identifier: MIT */
/* render.h - an event as one line of text, logfmt or JSON. Pure. */
#ifndef LIBRETRY_LOG_RENDER_H
#define LIBRETRY_LOG_RENDER_H

#include "log/event.h"

/* The longest line that render_event() makes, newline included. Below
 * PIPE_BUF, so that one write() to a pipe stays whole. */
#define LOG_LINE_MAX 832

struct render_stamp {
	int64_t seconds;     /* wall clock */
	int64_t nanoseconds;
	long pid;
};

/*
 * Writes the line for <e>, newline included, into <f>, which has room for
 * LOG_LINE_MAX bytes and the NUL. Fields are bounded one by one so that the
 * line is whole in every format even with hostile names; fields that a kind
 * has but <e> has not (NULL, no error, no deadline) are left out.
 *
 *   text    2026-11-29T18:31:37.123Z libretry[4242] WARN retry op=connect dest=...
 *   logfmt  time=2026-... pid=4242 level=warn event=retry op=connect dest=...
 *   json    {"time":"2026-...","pid":4242,"level":"warn","event":"retry",...}
 *
 * JSON has the texts of the other formats as strings, counts as numbers, and
 * beside each duration its exact nanoseconds ("wait":"112ms","wait_ns":...).
 * Safe in signal handlers.
 */
void render_event(struct fmt *f, enum log_format format, const struct event *e,
                  const struct render_stamp *stamp);

/* The bytes of a text line before the level ("TIME libretry[PID] "): sinks that
 * have a stamp of their own leave them out. */
size_t render_stamp_len(const char *line, size_t len);

#endif
