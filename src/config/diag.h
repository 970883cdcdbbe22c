/* SPDX-License-Identifier: MIT */
/*
 * diag.h - how the loader says what is wrong: one sink that counts, one small
 * formatter, one "did you mean".
 */
#ifndef LIBRETRY_CONFIG_DIAG_H
#define LIBRETRY_CONFIG_DIAG_H

#include <stdarg.h>

#include "base/fmt.h"
#include "config/config.h"
#include "policy/policy.h"

/* The longest message; a longer one is cut. */
#define DIAG_TEXT_MAX 1024

/* A file of rubbish must not flood the log. */
#define DIAG_SAID_MAX 500

struct diag_sink {
	diag_fn *report; /* NULL: only count */
	void *ctx;
	unsigned count[DIAG_UNREADABLE + 1];
	unsigned said;
	unsigned hushed; /* known already and not said again */
};

/* Counts and reports <text> (ended here) for <at>. */
void diag_send(struct diag_sink *sink, enum diag_level level, struct source at,
               struct fmt *text);

/*
 * <format> takes %s a text, %q a text in quotes with control characters made
 * harmless, %u unsigned, %i int64_t, %t int64_t nanoseconds, %% a percent sign.
 */
void diag_vformat(struct fmt *f, const char *format, va_list args);
void diag_format(struct fmt *f, const char *format, ...);
void diag_say(struct diag_sink *sink, enum diag_level level, struct source at,
              const char *format, ...);

/* The nearest of several words, at most two slips of the finger away. */
struct nearest {
	const char *given;
	const char *best; /* NULL: none is near */
	unsigned distance;
};

struct nearest nearest_to(const char *given);
void nearest_offer(struct nearest *n, const char *word);
/* Adds `; did you mean "x"?` if there is one. */
void nearest_say(struct fmt *f, const struct nearest *n);

#endif
