/* SPDX-License-Identifier: MIT */
/*
 * The timeline of a destination as SVG: a row for outages, then either each call
 * as a line with a mark per attempt, or, if there are too many, bars of counts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/compat.h"
#include "cli/report_chart.h"

enum {
	WIDTH = 960,
	BAND_TOP = 8,
	BAND = 18,
	LANE = 18,
	LANES_MAX = 14,
	MARKS_MAX = 240,
	TICKS_MAX = 7
};

#define MINUTE (60 * DUR_S)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

int64_t chart_step(int64_t range, int most)
{
	static const int64_t steps[] = {
		DUR_MS, 2 * DUR_MS, 5 * DUR_MS, 10 * DUR_MS, 20 * DUR_MS, 50 * DUR_MS,
		100 * DUR_MS, 200 * DUR_MS, 500 * DUR_MS, DUR_S, 2 * DUR_S, 5 * DUR_S,
		10 * DUR_S, 15 * DUR_S, 30 * DUR_S, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE,
		15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY,
		2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY
	};

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		if (range / steps[i] < most)
			return steps[i];
	}
	return range / most + 1;
}

double chart_x(const struct chart *c, int64_t time)
{
	double part = (double)(time - c->v->from) / (double)(c->v->to - c->v->from);

	part = part < 0 ? 0 : part > 1 ? 1 : part;
	return CHART_LEFT + part * CHART_AREA;
}

const struct rep_event *chart_event(const struct chart *c, uint32_t i)
{
	return &c->r->events[c->events[i]];
}

void chart_label(const struct chart *c, int y, const char *text)
{
	fprintf(c->to, "<text class=\"l\" x=\"%d\" y=\"%d\">%s</text>", CHART_LEFT - 10, y, text);
}

static void find_view(struct chart *c)
{
	const uint32_t *start = c->r->dest_start + c->v->dest;

	c->events = c->r->by_dest;
	c->first = start[0];
	c->end = start[1];
	while (c->first < c->end && chart_event(c, c->first)->time < c->v->from)
		c->first++;
	while (c->end > c->first && chart_event(c, c->end - 1)->time > c->v->to)
		c->end--;
}

/* ---- lanes ---------------------------------------------------------------- */

static int compare_begins(const void *a, const void *b, void *report)
{
	const struct rep_call *calls = ((const struct report *)report)->calls;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (calls[x].from != calls[y].from)
		return calls[x].from < calls[y].from ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void list_calls(struct chart *c)
{
	c->calls = report_need(calloc(MARKS_MAX, sizeof(*c->calls)));
	for (uint32_t i = c->first; i < c->end; i++) {
		uint32_t call = chart_event(c, i)->call, k;

		for (k = 0; k < c->call_count && c->calls[k] != call; k++)
			continue;
		if (call != REPORT_NO_CALL && k == c->call_count)
			c->calls[c->call_count++] = call;
	}
	qsort_r(c->calls, c->call_count, sizeof(*c->calls), compare_begins, (void *)c->r);
}

/* Each call on the first line that is free; leaves .lanes 0 if too many are
 * needed or there is too much to see. */
static void find_lanes(struct chart *c)
{
	double free_from[LANES_MAX] = { 0 };
	unsigned used = 1;

	if (c->end - c->first > MARKS_MAX)
		return;
	list_calls(c);
	for (uint32_t i = 0; i < c->call_count; i++) {
		struct rep_call *call = &c->r->calls[c->calls[i]];
		unsigned lane = 0;

		while (lane < LANES_MAX && free_from[lane] > chart_x(c, call->from) - 6)
			lane++;
		if (lane == LANES_MAX)
			return;
		call->lane = lane;
		free_from[lane] = chart_x(c, call->to) + 6;
		if (lane >= used)
			used = lane + 1;
	}
	c->lanes = used;
}

/* ---- parts of both kinds -------------------------------------------------- */

static void outage_rect(const struct chart *c, double from, double to, int64_t length)
{
	if (to - from < 3)
		to = from + 3;
	fprintf(c->to, "<rect class=\"tint\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>"
	               "<rect class=\"out\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
	        from, BAND_TOP + BAND, to - from, c->height - BAND_TOP - BAND, from, BAND_TOP,
	        to - from, BAND);
	if (length < 0 || to - from < 48)
		return;
	fprintf(c->to, "<text class=\"o\" x=\"%.1f\" y=\"%d\">", (from + to) / 2, BAND_TOP + 13);
	html_dur(c->to, length);
	fputs("</text>", c->to);
}

/* Outages that are less than a pixel apart are one. */
static void draw_outages(const struct chart *c)
{
	const struct rep_outage *o = c->r->outages, *end = o + c->r->outage_count;
	double from = 0, to = -1;
	int64_t length = 0;

	chart_label(c, BAND_TOP + 13, "Outages");
	for (; o < end; o++) {
		if (o->dest != c->v->dest || o->to < c->v->from || o->from > c->v->to)
			continue;
		if (to >= 0 && chart_x(c, o->from) < to + 1) {
			to = chart_x(c, o->to) > to ? chart_x(c, o->to) : to;
			length = -1;
			continue;
		}
		if (to >= 0)
			outage_rect(c, from, to, length);
		from = chart_x(c, o->from);
		to = chart_x(c, o->to);
		length = o->to - o->from;
	}
	if (to >= 0)
		outage_rect(c, from, to, length);
}

static void tick_label(const struct chart *c, int64_t time, int64_t step)
{
	if (step < DUR_S)
		html_millis(c->to, time);
	else if (step < MINUTE)
		html_clock(c->to, time);
	else if (step < DAY)
		html_minute(c->to, time);
	else
		html_date(c->to, time);
}

static void draw_axis(const struct chart *c)
{
	int64_t step = chart_step(c->v->to - c->v->from, TICKS_MAX), day = -1;
	int64_t time = c->v->from / step * step;

	fprintf(c->to, "<path class=\"axis\" d=\"M%d %dh%d\"/>", CHART_LEFT, c->height, CHART_AREA);
	chart_label(c, c->height + 17, "UTC");
	/* The end of time may be on the axis of a hostile log. */
	for (; time <= c->v->to && time < DUR_NONE - step; time += step) {
		double x = chart_x(c, time);

		if (time < c->v->from)
			continue;
		fprintf(c->to, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>"
		               "<text class=\"t\" x=\"%.1f\" y=\"%d\">",
		        x, BAND_TOP, c->height + 4, x, c->height + 17);
		tick_label(c, time, step);
		fputs("</text>", c->to);
		if (step >= DAY || time / DAY == day)
			continue;
		day = time / DAY;
		fprintf(c->to, "<text class=\"t\" x=\"%.1f\" y=\"%d\">", x, c->height + 32);
		html_date(c->to, time);
		fputs("</text>", c->to);
	}
}

/*
 * Where lines of this destination were held back: from the last one that the
 * program wrote before to the summary. Once for each pixel.
 */
static void draw_unknown(const struct chart *c)
{
	double drawn = 0;

	for (uint32_t i = c->first; i < c->end; i++) {
		const struct rep_event *e = chart_event(c, i);
		uint32_t k = i;
		double from, to = chart_x(c, e->time);

		if (e->kind != EVENT_SUPPRESSED)
			continue;
		while (k > c->first && chart_event(c, k - 1)->program != e->program)
			k--;
		from = k > c->first ? chart_x(c, chart_event(c, k - 1)->time) : CHART_LEFT;
		from = from < drawn ? drawn : from;
		if (to - from < 1)
			continue;
		drawn = to;
		fprintf(c->to, "<rect class=\"un\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
		               "height=\"%d\"><title>", from, BAND_TOP + BAND, to - from,
		        c->height - BAND_TOP - BAND);
		html_plural(c->to, e->count, "line was suppressed", "lines were suppressed");
		fputs("</title></rect>", c->to);
	}
}

/* ---- calls with marks ----------------------------------------------------- */

static int lane_y(unsigned lane)
{
	return CHART_ROWS + LANE / 2 + (int)lane * LANE;
}

/* What the mark of an event says when pointed at. */
static void mark_title(const struct chart *c, const struct rep_event *e)
{
	FILE *to = c->to;

	fputs("<title>", to);
	html_millis(to, e->time);
	fprintf(to, " pid ");
	html_text(to, c->r->programs.list[e->program]);
	fprintf(to, ": %s", event_name((enum event_kind)e->kind));
	if (e->kind == EVENT_RETRY || e->kind == EVENT_WOULD_RETRY) {
		fprintf(to, ", attempt %u failed with ", (unsigned)e->count);
		html_text(to, html_word(c->r, e->error));
		fputs(" after ", to);
		html_dur(to, e->elapsed);
		fputs(e->kind == EVENT_RETRY ? ", next in " : ", next would be in ", to);
		html_dur(to, e->span);
	} else if (e->call != REPORT_NO_CALL) {
		fprintf(to, " after ");
		html_plural(to, e->count, "attempt", "attempts");
		fputs(", waited ", to);
		html_dur(to, e->span);
	}
	fputs("</title>", to);
}

static const char *mark_of(const struct rep_event *e)
{
	switch ((enum event_kind)e->kind) {
	case EVENT_RETRY:
	case EVENT_WOULD_RETRY:
		return "mf";
	case EVENT_RECOVERED:
		return "mr";
	case EVENT_GAVE_UP:
		return "mg";
	case EVENT_ABANDONED:
		return "ma";
	case EVENT_MOVED:
	case EVENT_FALLBACK:
	case EVENT_REDIRECT:
		return "mm";
	default:
		return NULL;
	}
}

static void draw_waits(const struct chart *c)
{
	for (uint32_t i = c->first; i < c->end; i++) {
		const struct rep_event *e = chart_event(c, i);
		double from = chart_x(c, e->time), to = chart_x(c, dur_add(e->time, e->span));
		int y;

		if (e->kind != EVENT_RETRY)
			continue;
		y = lane_y(c->r->calls[e->call].lane);
		/* An attempt that took long, then the wait. */
		if (from - chart_x(c, e->time - e->elapsed) >= 1)
			fprintf(c->to, "<path class=\"try\" d=\"M%.1f %dH%.1f\"/>",
			        chart_x(c, e->time - e->elapsed), y, from);
		if (to - from >= 1)
			fprintf(c->to, "<path class=\"wait\" d=\"M%.1f %dH%.1f\"/>", from, y, to);
	}
}

static void draw_calls(const struct chart *c)
{
	chart_label(c, lane_y(0) + 4, "Calls");
	draw_waits(c);
	for (uint32_t i = c->first; i < c->end; i++) {
		const struct rep_event *e = chart_event(c, i);
		unsigned lane = e->call == REPORT_NO_CALL ? 0 : c->r->calls[e->call].lane;

		if (!mark_of(e))
			continue;
		fprintf(c->to, "<use href=\"#%s\" x=\"%.1f\" y=\"%d\">", mark_of(e),
		        chart_x(c, e->time), lane_y(lane));
		mark_title(c, e);
		fputs("</use>", c->to);
	}
}

/* ---- the whole ------------------------------------------------------------ */

static void describe(const struct chart *c)
{
	uint64_t sums[EVENT_KINDS] = { 0 };

	for (uint32_t i = c->first; i < c->end; i++)
		sums[chart_event(c, i)->kind]++;
	fprintf(c->to, "<title id=\"t%u\">%s ", c->v->id, c->v->title);
	html_text(c->to, html_dest(c->r, c->v->dest));
	fprintf(c->to, "</title><desc id=\"s%u\">From ", c->v->id);
	html_moment(c->to, c->v->from);
	fputs(" to ", c->to);
	html_moment(c->to, c->v->to);
	fputs(" UTC: ", c->to);
	html_plural(c->to, sums[EVENT_RETRY], "failed attempt that was followed by another, ",
	            "failed attempts that were followed by others, ");
	html_plural(c->to, sums[EVENT_RECOVERED], "call recovered, ", "calls recovered, ");
	html_plural(c->to, sums[EVENT_GAVE_UP], "was given up, ", "were given up, ");
	html_count(c->to, sums[EVENT_ABANDONED]);
	fprintf(c->to, " abandoned. %s</desc>",
	        c->lanes ? "Each call is a line, each attempt a mark on it."
	                 : "Bars of counts over time.");
}

void report_timeline(const struct report *r, const struct chart_view *v, FILE *to)
{
	struct chart c = { .r = r, .v = v, .to = to };
	struct bins *b = NULL;

	find_view(&c);
	find_lanes(&c);
	c.height = CHART_ROWS + (int)c.lanes * LANE + 8;
	if (!c.lanes) {
		b = chart_bins(&c);
		c.height += chart_bins_height(b);
	}
	fprintf(to, "<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"t%u "
	            "s%u\">", WIDTH, c.height + 40, v->id, v->id);
	describe(&c);
	draw_outages(&c);
	draw_unknown(&c);
	draw_axis(&c);
	if (b)
		chart_draw_bins(&c, b);
	else
		draw_calls(&c);
	fputs("</svg>\n", to);
	free(c.calls);
	free(b);
}
