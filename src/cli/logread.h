/* SPDX-License-Identifier: MIT */
/*
 * logread.h - the lines that libretry has written, read again: text, logfmt and
 * JSON, each line by itself, so that they may be mixed, cut, rotated, and stand
 * between lines of others, or behind what others put in front of them (the name
 * of a container, the stamp of a syslog daemon that writes ISO 8601).
 *
 * Escapes are undone. In JSON a byte that was not UTF-8 comes back as the
 * character of that number: the line does not say which of the two it was.
 */
#ifndef LIBRETRY_CLI_LOGREAD_H
#define LIBRETRY_CLI_LOGREAD_H

#include <stdio.h>

#include "log/event.h"

/* One line. Texts live until the next one is read. */
struct log_line {
	unsigned long number;  /* in its file, from 1 */
	int64_t time;          /* ns since the epoch */
	long pid;
	enum log_level level;
	enum event_kind kind;
	enum op op;
	const char *dest;      /* "" if there is none; so for all texts */
	const char *addr;
	const char *to;
	const char *error;     /* "ECONNREFUSED" */
	const char *reason;    /* "attempts" */
	const char *policy;
	const char *rule;      /* "FILE:LINE" */
	const char *message;
	const char *signal;    /* "SIGTERM" */
	unsigned attempt;
	unsigned max_attempts;
	unsigned attempts;
	int64_t wait;          /* ns; exact in JSON, as printed in the others, where
	                          more than 24h is 24h */
	int64_t elapsed;
	int64_t left;          /* DUR_NONE: none */
	int64_t waited;
	uint64_t lines;        /* suppressed */
};

struct logread;

/* <path> "-": standard input. Files that end in .gz are not read. NULL with errno. */
struct logread *logread_open(const char *path);
void logread_close(struct logread *r);

/* The next line of ours; false at the end. */
bool logread_next(struct logread *r, struct log_line *line);

/* Lines that begin like ours and cannot be read (cut, of a newer version; in text
 * and logfmt also one without a newline at its end), and lines of others, so
 * far. */
unsigned long logread_damaged(const struct logread *r);
unsigned long logread_foreign(const struct logread *r);

#endif
