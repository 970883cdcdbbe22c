/* SPDX-License-Identifier: MIT */
/* logvalue.h - the values in a line of the log; a part of logread. Each returns
 * false if the text is not one, as a whole. */
#ifndef LIBRETRY_CLI_LOGVALUE_H
#define LIBRETRY_CLI_LOGVALUE_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits and nothing else; at most <max>. */
bool value_number(const char *text, uint64_t max, uint64_t *value);
bool value_count(const char *text, unsigned *value);

/* As fmt_dur() writes it: with a sign, "none", more than 24h (taken as 24h). */
bool value_duration(const char *text, int64_t *ns);

/* Whole ns, with a sign. */
bool value_exact(const char *text, int64_t *ns);

/* These stand at *<s>, before <end>, and *<s> moves behind what was read; it may
 * have moved also if that was in vain. A stamp is a moment of ISO 8601 with its
 * zone, from 1970 to 2261, in ns. */
bool value_literal(const char **s, const char *end, const char *text);
bool value_stamp(const char **s, const char *end, int64_t *ns);

#endif
