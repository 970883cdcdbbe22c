/* SPDX-License-Identifier: MIT */
/* logline.h - what one line of the log says; a part of logread. */
#ifndef LIBRETRY_CLI_LOGLINE_H
#define LIBRETRY_CLI_LOGLINE_H

#include "cli/logread.h"

enum line_form { LINE_NONE = 0, LINE_TEXT, LINE_LOGFMT, LINE_JSON, LINE_SYSLOG };

/* Which form begins at <s>: its first fields only are looked at. LINE_SYSLOG, a
 * line of text whose stamp is that of a syslog daemon, is looked for only if
 * <whole> says that <s> is the beginning of a line. */
enum line_form logline_form(const char *s, size_t len, bool whole);

/*
 * Reads the line <s> of <len> bytes, without its newline, as <form>. Its texts
 * go to <store>, which has room for <len> + 1 bytes. False if anything about it
 * is wrong: it is cut, a value is none, a field is missing or there twice, the
 * event is not known. Fields that are not known are passed over. All of <line>
 * but its number is set.
 */
bool logline_parse(const char *s, size_t len, enum line_form form, char *store,
                   struct log_line *line);

#endif
