/* SPDX-License-Identifier: MIT */
/* The rows of a timeline that has too many calls for marks. */
#include <stdlib.h>

#include "cli/report_chart.h"

enum { BAR = 40, BAR_GAP = 14, BINS_MAX = 120 };

enum row { ROW_FAILED, ROW_RECOVERED, ROW_GAVE_UP, ROW_ABANDONED, ROW_WAITING, ROWS };

static const struct {
	const char *name, *css;
} rows[ROWS] = {
	{ "Failed attempts", "bf" }, { "Recovered", "br" }, { "Gave up", "bg" },
	{ "Abandoned", "ba" }, { "Calls waiting", "bw" },
};

struct bins {
	int64_t begin, step; /* of the first, of each */
	uint32_t count;
	uint32_t of[ROWS][BINS_MAX + 2];
	uint32_t most[ROWS];
};

static uint32_t bin_of(const struct bins *b, int64_t time)
{
	int64_t i = time < b->begin ? 0 : (time - b->begin) / b->step;

	return i < b->count ? (uint32_t)i : b->count - 1;
}

static enum row row_of(const struct rep_event *e)
{
	switch ((enum event_kind)e->kind) {
	case EVENT_RETRY:
	case EVENT_WOULD_RETRY:
		return ROW_FAILED;
	case EVENT_RECOVERED:
		return ROW_RECOVERED;
	case EVENT_GAVE_UP:
		return ROW_GAVE_UP;
	case EVENT_ABANDONED:
		return ROW_ABANDONED;
	default:
		return ROWS;
	}
}

/* A call waits from its first attempt to its end, whole bins. */
static void fill_waiting(const struct chart *c, struct bins *b)
{
	int32_t change[BINS_MAX + 3] = { 0 }, waiting = 0;

	for (uint32_t i = 0; i < c->r->call_count; i++) {
		const struct rep_call *call = &c->r->calls[i];
		int64_t end = call->outcome == REP_UNFINISHED ? call->next : call->to;

		if (call->dest != c->v->dest || end < c->v->from || call->from > c->v->to)
			continue;
		change[bin_of(b, call->from)]++;
		change[bin_of(b, end) + 1]--;
	}
	for (uint32_t i = 0; i < b->count; i++) {
		waiting += change[i];
		b->of[ROW_WAITING][i] = (uint32_t)waiting;
	}
}

struct bins *chart_bins(const struct chart *c)
{
	struct bins *b = report_need(calloc(1, sizeof(*b)));

	b->step = chart_step(c->v->to - c->v->from, BINS_MAX);
	b->begin = c->v->from / b->step * b->step;
	b->count = (uint32_t)((c->v->to - b->begin) / b->step) + 1;
	for (uint32_t i = c->first; i < c->end; i++) {
		const struct rep_event *e = chart_event(c, i);
		enum row row = row_of(e);

		if (row < ROWS)
			b->of[row][bin_of(b, e->time)]++;
		/* The last attempt of a call has a line of its own, its failure not. */
		if (row == ROW_GAVE_UP)
			b->of[ROW_FAILED][bin_of(b, e->time)]++;
	}
	fill_waiting(c, b);
	for (uint32_t i = 0; i < b->count; i++) {
		for (int row = 0; row < ROWS; row++) {
			if (b->of[row][i] > b->most[row])
				b->most[row] = b->of[row][i];
		}
	}
	return b;
}

static void draw_row(const struct chart *c, const struct bins *b, enum row row, int y)
{
	chart_label(c, y + BAR - 16, rows[row].name);
	fprintf(c->to, "<text class=\"l s\" x=\"%d\" y=\"%d\">to ", CHART_LEFT - 10, y + BAR - 2);
	html_count(c->to, b->most[row]);
	fputs(row == ROW_WAITING ? " in " : " per ", c->to);
	html_dur(c->to, b->step);
	fprintf(c->to, "</text><path class=\"base\" d=\"M%d %dh%d\"/><path class=\"%s\" d=\"",
	        CHART_LEFT, y + BAR, CHART_AREA, rows[row].css);
	for (uint32_t i = 0; i < b->count; i++) {
		double from = chart_x(c, b->begin + b->step * i);
		double to = chart_x(c, dur_add(b->begin, b->step * (i + 1)));
		double h = b->most[row] ? (double)b->of[row][i] / b->most[row] * BAR : 0;

		if (!b->of[row][i])
			continue;
		/* One of many must still be seen. */
		if (h < 1.5)
			h = 1.5;
		if (to - from > 3)
			to -= 1;
		fprintf(c->to, "M%.1f %dV%.1fH%.1fV%d", from, y + BAR, y + BAR - h, to, y + BAR);
	}
	fputs("\"/>", c->to);
}

/* Rows without anything are left out, but not the first two. */
static bool row_shown(const struct bins *b, int row)
{
	return row <= ROW_RECOVERED || b->most[row];
}

int chart_bins_height(const struct bins *b)
{
	int height = -BAR_GAP;

	for (int row = 0; row < ROWS; row++)
		height += row_shown(b, row) ? BAR + BAR_GAP : 0;
	return height;
}

void chart_draw_bins(const struct chart *c, const struct bins *b)
{
	int y = CHART_ROWS;

	for (int row = 0; row < ROWS; row++) {
		if (!row_shown(b, row))
			continue;
		draw_row(c, b, (enum row)row, y);
		y += BAR + BAR_GAP;
	}
}
