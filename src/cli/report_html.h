/* SPDX-License-Identifier: MIT */
/* report_html.h - values as HTML and SVG text; a part of "report". */
#ifndef LIBRETRY_CLI_REPORT_HTML_H
#define LIBRETRY_CLI_REPORT_HTML_H

#include "cli/report.h"

/*
 * <s> as text or as the value of a quoted attribute, whatever is in it: markup
 * is escaped; what is not UTF-8, control characters, and characters that turn
 * the direction of text or take no place are shown as \xNN or \u{NNNN}.
 */
void html_text(FILE *to, const char *s);

void html_dur(FILE *to, int64_t ns);     /* "1.5s" */
void html_count(FILE *to, uint64_t n);   /* "12,345" */
void html_share(FILE *to, int64_t ppm);  /* "99.9%", rounded down; "-" below 0 */
void html_plural(FILE *to, uint64_t n, const char *one, const char *many);

/* The parts of a moment, UTC. */
void html_date(FILE *to, int64_t ns);    /* "2026-11-29" */
void html_clock(FILE *to, int64_t ns);   /* "18:31:37" */
void html_millis(FILE *to, int64_t ns);  /* "18:31:37.123" */
void html_minute(FILE *to, int64_t ns);  /* "18:31" */
void html_moment(FILE *to, int64_t ns);  /* "2026-11-29 18:31:37.123" */

/* What a destination without a name, an error that was not logged is called. */
const char *html_dest(const struct report *r, uint32_t dest);
const char *html_word(const struct report *r, uint32_t word);

/* The style sheet, and the SVG with the marks that charts use. */
extern const char report_style[];
extern const char report_marks[];

/* A timeline of <dest> from <from> to <to>; <id> is its own in the page. */
struct chart_view {
	uint32_t dest;
	int64_t from, to;
	unsigned id;
	const char *title; /* in front of the name */
};
void report_timeline(const struct report *r, const struct chart_view *v, FILE *to);

/* Two bars: effective against actual success. */
void report_bars(const struct rep_totals *t, unsigned id, FILE *to);

/* The part of the page about one destination, the <nth>. */
void report_destination(const struct report *r, uint32_t dest, unsigned nth, FILE *to);

#endif
