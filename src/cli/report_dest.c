/* SPDX-License-Identifier: MIT */
/* The part of the page about one destination. */
#include <stdlib.h>
#include <string.h>

#include "base/compat.h"
#include "cli/report_html.h"

enum { OUTAGE_ROWS = 20, ZOOMS = 3, ERRORS_SHOWN = 5 };

/* A view of 10 pixels is none: shorter outages get a chart of their own. */
enum { ZOOM_SHARE = 8 };

static void bar(FILE *to, int y, int64_t ppm, const char *css, const char *name)
{
	enum { LEFT = 200, LENGTH = 560 };

	fprintf(to, "<text class=\"l\" x=\"%d\" y=\"%d\">%s</text>"
	            "<rect class=\"track\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"16\"/>"
	            "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"16\"/>"
	            "<text x=\"%d\" y=\"%d\">", LEFT - 10, y + 13, name, LEFT, y, LENGTH, css, LEFT,
	        y, (double)ppm / PPM * LENGTH, LEFT + LENGTH + 10, y + 13);
	html_share(to, ppm);
	fputs("</text>", to);
}

void report_bars(const struct rep_totals *t, unsigned id, FILE *to)
{
	uint64_t ok = t->calls[REP_RECOVERED];

	if (report_effective(t) < 0)
		return;
	fprintf(to, "<figure><svg class=\"chart\" viewBox=\"0 0 960 52\" role=\"img\" "
	            "aria-labelledby=\"t%u s%u\"><title id=\"t%u\">Effective and actual "
	            "success</title><desc id=\"s%u\">Effective ", id, id, id, id);
	html_share(to, report_effective(t));
	fputs(", actual ", to);
	html_share(to, report_actual(t));
	fputs("</desc>", to);
	bar(to, 4, report_effective(t), "br", "Effective: calls");
	bar(to, 30, report_actual(t), "bf", "Actual: single attempts");
	fputs("</svg><figcaption>Of the calls that met trouble and came to an end, ", to);
	html_count(to, ok);
	fputs(" of ", to);
	html_count(to, ok + t->calls[REP_GAVE_UP]);
	fputs(" succeeded for the program; of their attempts, ", to);
	html_count(to, ok);
	fputs(" of ", to);
	html_count(to, t->attempts);
	fputs(" did.", to);
	if (t->suppressed)
		fputs(" Lines were suppressed: what they would have told is in neither, so the true "
		      "shares may be others.", to);
	fputs("</figcaption></figure>\n", to);
}

static void errors_of(const struct report *r, uint32_t dest, FILE *to)
{
	uint64_t *counts = report_need(calloc(r->words.count + 1, sizeof(*counts)));

	for (uint32_t i = r->dest_start[dest]; i < r->dest_start[dest + 1]; i++) {
		const struct rep_event *e = &r->events[r->by_dest[i]];

		if (e->kind == EVENT_RETRY || e->kind == EVENT_GAVE_UP ||
		    e->kind == EVENT_WOULD_RETRY)
			counts[e->error]++;
	}
	for (int shown = 0; shown < ERRORS_SHOWN; shown++) {
		uint32_t best = 0;

		for (uint32_t w = 1; w < r->words.count; w++) {
			if (counts[w] > counts[best])
				best = w;
		}
		if (!counts[best])
			break;
		fputs(shown ? ", " : " Errors: ", to);
		html_text(to, html_word(r, best));
		fputc(' ', to);
		html_count(to, counts[best]);
		counts[best] = 0;
	}
	fputs(".", to);
	free(counts);
}

static void item(FILE *to, uint64_t n, const char *one, const char *many)
{
	if (!n)
		return;
	fputs(", ", to);
	html_plural(to, n, one, many);
}

static void summary(const struct report *r, uint32_t dest, FILE *to)
{
	const struct rep_totals *t = &r->dest_totals[dest];

	fputs("<p>", to);
	html_plural(to, report_calls(t), "call met trouble: ", "calls met trouble: ");
	html_count(to, t->calls[REP_RECOVERED]);
	fputs(" saved", to);
	item(to, t->calls[REP_GAVE_UP], "gave up", "gave up");
	item(to, t->calls[REP_ABANDONED], "abandoned", "abandoned");
	item(to, t->calls[REP_UNFINISHED], "without an end in the log",
	     "without an end in the log");
	item(to, t->observed, "failure only observed", "failures only observed");
	item(to, t->moved, "move to another place", "moves to other places");
	fputs(". ", to);
	html_plural(to, t->failed, "failed attempt", "failed attempts");
	if (t->calls[REP_RECOVERED]) {
		fputs("; a saved call waited ", to);
		html_dur(to, t->waited / (int64_t)t->calls[REP_RECOVERED]);
		fputs(" on average, ", to);
		html_dur(to, t->longest_wait);
		fputs(" at most", to);
	}
	fputs(".", to);
	errors_of(r, dest, to);
	if (t->suppressed) {
		fputs(" ", to);
		html_plural(to, t->suppressed, "line was", "lines were");
		fputs(" suppressed by the flood protection: the figures are the least that "
		      "happened.", to);
	}
	fputs("</p>\n", to);
}

/* ---- outages -------------------------------------------------------------- */

static int longest_first(const void *a, const void *b)
{
	const struct rep_outage *x = a, *y = b;
	int64_t dx = x->to - x->from, dy = y->to - y->from;

	if (dx != dy)
		return dx > dy ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int earliest_first(const void *a, const void *b)
{
	const struct rep_outage *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* A copy of the outages of <dest>, longest first. */
static struct rep_outage *outages_of(const struct report *r, uint32_t dest, uint32_t *count)
{
	struct rep_outage *list = report_need(calloc(r->dest_totals[dest].outages + 1,
	                                             sizeof(*list)));

	for (uint32_t i = 0; i < r->outage_count; i++) {
		if (r->outages[i].dest == dest)
			list[(*count)++] = r->outages[i];
	}
	qsort(list, *count, sizeof(*list), longest_first);
	return list;
}

static void outage_table(struct rep_outage *list, uint32_t count, FILE *to)
{
	uint32_t shown = count < OUTAGE_ROWS ? count : OUTAGE_ROWS;

	if (!count)
		return;
	qsort(list, shown, sizeof(*list), earliest_first);
	fputs("<div class=\"wide\" tabindex=\"0\"><table><caption>", to);
	if (shown < count)
		fprintf(to, "The %u longest of ", shown);
	html_plural(to, count, "outage", "outages");
	fputs(", from the first failed attempt to the recovery (UTC)</caption><thead><tr>"
	      "<th scope=\"col\" class=\"w\">From</th><th scope=\"col\" class=\"w\">To</th>"
	      "<th scope=\"col\">Length</th><th scope=\"col\">Failed attempts</th>"
	      "<th scope=\"col\" class=\"w\">End</th></tr></thead><tbody>\n", to);
	for (uint32_t i = 0; i < shown; i++) {
		fputs("<tr><td class=\"m\">", to);
		html_moment(to, list[i].from);
		fputs("</td><td class=\"m\">", to);
		html_moment(to, list[i].to);
		fputs("</td><td>", to);
		html_dur(to, list[i].to - list[i].from);
		fputs("</td><td>", to);
		html_count(to, list[i].failed);
		fprintf(to, "</td><td class=\"w\">%s",
		        list[i].recovered ? "recovered" : "not seen; last failure");
		if (list[i].suppressed) {
			fputs("; perhaps earlier: ", to);
			html_plural(to, list[i].suppressed, "line suppressed", "lines suppressed");
		}
		fputs("</td></tr>\n", to);
	}
	fputs("</tbody></table></div>\n", to);
}

static void zooms(const struct report *r, const struct rep_outage *list, uint32_t count,
                  const struct chart_view *whole, FILE *to)
{
	static const char *const titles[ZOOMS] = { "Closer view of the longest outage of",
		                                   "Closer view of the 2nd longest outage of",
		                                   "Closer view of the 3rd longest outage of" };

	for (uint32_t i = 0; i < count && i < ZOOMS; i++) {
		int64_t length = list[i].to - list[i].from;
		int64_t around = length / 10 > 20 * DUR_MS ? length / 10 : 20 * DUR_MS;
		/* Calls recover one after the other: some room for the last of them. */
		struct chart_view v = { whole->dest, list[i].from - around,
			                dur_add(list[i].to, around + length / 2),
			                whole->id + 1 + i,
			                titles[i] };

		if (length == 0 || length > (whole->to - whole->from) / ZOOM_SHARE)
			continue;
		if (v.from < 0)
			v.from = 0;
		fputs("<figure>", to);
		report_timeline(r, &v, to);
		fprintf(to, "<figcaption>%s this destination</figcaption></figure>\n", titles[i]);
	}
}

/* All destinations have the same time axis. */
static struct chart_view whole_view(const struct report *r, uint32_t dest, unsigned id)
{
	struct chart_view v = { dest, r->all.first, r->all.last, id, "Timeline of" };
	int64_t around;

	for (uint32_t i = 0; i < r->outage_count; i++) {
		if (r->outages[i].from < v.from)
			v.from = r->outages[i].from;
	}
	around = (v.to - v.from) / 50 + 10 * DUR_MS;
	v.from = v.from > around ? v.from - around : 0;
	v.to = dur_add(v.to, around);
	return v;
}

void report_destination(const struct report *r, uint32_t dest, unsigned nth, FILE *to)
{
	struct chart_view v = whole_view(r, dest, nth * 10);
	uint32_t count = 0;
	struct rep_outage *list = outages_of(r, dest, &count);

	fprintf(to, "<section id=\"d%u\"><h3>", nth);
	html_text(to, html_dest(r, dest));
	fputs("</h3>\n", to);
	summary(r, dest, to);
	fputs("<figure>", to);
	report_timeline(r, &v, to);
	fputs("</figure>\n", to);
	zooms(r, list, count, &v, to);
	report_bars(&r->dest_totals[dest], v.id + 9, to);
	outage_table(list, count, to);
	fputs("</section>\n", to);
	free(list);
}
