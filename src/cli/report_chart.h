/* SPDX-License-Identifier: MIT */
/* report_chart.h - what the two kinds of rows of a timeline share. */
#ifndef LIBRETRY_CLI_REPORT_CHART_H
#define LIBRETRY_CLI_REPORT_CHART_H

#include "cli/report_html.h"

enum {
	CHART_LEFT = 136, /* of the area of time: labels stand before it */
	CHART_AREA = 780,
	CHART_ROWS = 36   /* where rows begin, below the outages */
};

struct chart {
	const struct report *r;
	const struct chart_view *v;
	FILE *to;
	const uint32_t *events; /* of the destination */
	uint32_t first, end;    /* those in view */
	uint32_t *calls;        /* by begin; marks only */
	uint32_t call_count;
	unsigned lanes;         /* 0: bars */
	int height;             /* of the area of time */
};

/* The smallest step of a kind that people read with at most <most> of them in
 * <range> ns. */
int64_t chart_step(int64_t range, int most);

double chart_x(const struct chart *c, int64_t time);
const struct rep_event *chart_event(const struct chart *c, uint32_t i);
void chart_label(const struct chart *c, int y, const char *text);

/* Counts over time: to be freed, their height in all, and drawn. */
struct bins;
struct bins *chart_bins(const struct chart *c);
int chart_bins_height(const struct bins *b);
void chart_draw_bins(const struct chart *c, const struct bins *b);

#endif
