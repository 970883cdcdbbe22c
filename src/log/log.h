/* SPDX-License-Identifier: MIT */
/*
 * log.h - what the other rooms call.
 *
 * One process-wide log. No malloc, no stdio, no lock, no descriptor kept open;
 * errno is what it was; safe in signal handlers. Writing never blocks and
 * never raises SIGPIPE or SIGXFSZ; what cannot be written is dropped and
 * counted.
 */
#ifndef LIBRETRY_LOG_LOG_H
#define LIBRETRY_LOG_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "log/event.h"

/* Remembers which file descriptor 2 is, to notice if the program puts another
 * one there. Called by the constructor, once; one fstat(). Before it, and if 2
 * was closed then, nothing is written to stderr. */
void log_start(void);

/* Says that <fd> is the log's own (LOG_TO_FD): remembers which file it is now.
 * A number that was not named so, before the program can have put something
 * else under it, is not written to. */
void log_identify(int fd);

/* Replaces the settings; <s> must stay valid until replaced, and as long as
 * another thread may be in log_emit(). Before the first call (or with NULL)
 * nothing is logged. A new fd:N is looked at once, by fstat(): if the number
 * means another file later, nothing is written there. */
void log_configure(const struct log_settings *s);

/* Whether an event of <level> may be written at all (cheap; the caller can
 * save the work of filling in an event). */
bool log_wants(enum log_level level);

/* A destination may have so many times .burst lines about how calls ended (recovered,
 * gave-up, abandoned); these and all others are limited apart. */
#define LOG_OUTCOMES 10

/* Renders and writes one line, subject to level and flood protection. May write
 * a second one: the summary of lines held back before. What tells of an outage goes to
 * settings->timeline as well, subject to neither. */
void log_emit(const struct event *e);

/* Summaries of lines still held back, for the destructor. */
void log_flush(void);

/* In the child after fork: counts of held-back lines belong to the parent. */
void log_postfork_child(void);

/* Lines that could not be written so far (held-back ones do not count). */
uint32_t log_dropped(void);

#endif
