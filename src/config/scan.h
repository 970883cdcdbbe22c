/* SPDX-License-Identifier: MIT */
/*
 * scan.h - a look at the text before libconfig gets it.
 *
 * libconfig 1.5 wraps integers silently, stops at the first fault, and says
 * "syntax error" to all of them. The scan finds the usual faults with their
 * path and line, and repairs them to what was meant, so that the rest of the
 * file is looked at too; a repaired file counts as faulty all the same.
 */
#ifndef LIBRETRY_CONFIG_SCAN_H
#define LIBRETRY_CONFIG_SCAN_H

#include "config/text.h"

/* Deeper nesting and bigger groups than these are no configuration of ours;
 * libconfig's recursion and its search for duplicates are bounded so. */
#define SCAN_DEPTH_MAX 32
#define SCAN_MEMBERS_MAX 4096

/*
 * Reports lexical faults of <t> and replaces its bytes by a repaired copy
 * without comments (same lines, and no '@' where libconfig could take it for a
 * directive). False if nothing can be read behind a fault, or no memory.
 */
bool scan_text(struct text *t, struct arena *scratch, struct diag_sink *sink);

/* What an unquoted run of characters is as a number. */
enum number { NUMBER_NONE = 0, NUMBER_INT, NUMBER_FLOAT, NUMBER_TOO_LARGE, NUMBER_TOO_LARGE_64 };

/* By libconfig's grammar; the TOO_LARGE ones are integers that it would wrap. */
enum number number_kind(const char *s, size_t len);

#endif
