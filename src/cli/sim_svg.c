/* SPDX-License-Identifier: MIT */
#include "cli/sim_svg.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compat.h"
#include "cli/cli.h"

/* All lengths in px. */
#define WIDTH 860
#define LEFT 76
#define RIGHT 24
#define COMPARE_HEIGHT 320
#define STRIP_HEIGHT 64
#define STRIP_GAP 30
#define HEAD 64
#define LABEL_HEIGHT 15
#define LABEL_WIDTH 170

/* Told apart also by those who see fewer colours (Okabe and Ito). */
static const char *const colours[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9",
	                               "#e69f00", "#5d5d5d", "#8a6d00" };

static const char *colour(size_t line)
{
	return colours[line % ARRAY_LEN(colours)];
}

/* A rectangle of the picture and what its edges stand for. */
struct area {
	double left, right, top, bottom;
	double x0, x1, y0, y1;
};

static double across(const struct area *a, double x)
{
	return a->left + (a->right - a->left) * (x - a->x0) / (a->x1 - a->x0);
}

static double up(const struct area *a, double y)
{
	return a->bottom - (a->bottom - a->top) * (y - a->y0) / (a->y1 - a->y0);
}

static void text_out(FILE *to, const char *s)
{
	for (; *s; s++) {
		if (*s == '&')
			fputs("&amp;", to);
		else if (*s == '<')
			fputs("&lt;", to);
		else if (*s == '>')
			fputs("&gt;", to);
		else
			fputc((unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s, to);
	}
}

static void __attribute__((format(printf, 5, 6)))
label(FILE *to, double x, double y, const char *style, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, style);
	text_out(to, text);
	fputs("</text>\n", to);
}

static void line(FILE *to, double x1, double y1, double x2, double y2, const char *style)
{
	fprintf(to, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2,
	        style);
}

#define GRID "stroke=\"#e3e3e3\""
#define SMALL "font-size=\"11\" fill=\"#555\""
#define SMALL_END SMALL " text-anchor=\"end\""
#define SMALL_MIDDLE SMALL " text-anchor=\"middle\""
#define HEADING "font-size=\"13\" font-weight=\"600\" fill=\"#222\""

/* 1, 2 or 5 times a power of ten: about <wanted> of them in <range>. */
static double nice_step(double range, unsigned wanted)
{
	double raw = range / wanted;
	double power = pow(10, floor(log10(raw)));
	double ratio = raw / power;

	if (ratio > 5)
		return 10 * power;
	return (ratio > 2 ? 5 : ratio > 1 ? 2 : 1) * power;
}

/* ------------------------------------------- success against attempts -- */

/* How many nines: failures by powers of ten, so that 99.9 and 99.99 % stand as far
 * apart as 90 and 99. */
static double nines(const struct sim_plot *p, double success)
{
	double failures = 1 - success;

	return -log10(failures > p->finest ? failures : p->finest);
}

static struct area compare_area(const struct sim_plot *p, double top)
{
	struct area a = { LEFT, WIDTH - RIGHT - 150, top, top + COMPARE_HEIGHT - 70,
		          INFINITY, 1, INFINITY, 0 };

	for (size_t i = 0; i < p->line_count; i++) {
		const struct sim_plot_line *l = &p->lines[i];

		a.x0 = fmin(a.x0, l->attempts.mean - l->attempts.two_sd);
		a.x1 = fmax(a.x1, l->attempts.mean + l->attempts.two_sd);
		a.y0 = fmin(a.y0, nines(p, l->success.mean - l->success.two_sd));
		a.y1 = fmax(a.y1, nines(p, l->success.mean));
	}
	a.y0 = fmax(0, a.y0 - 0.15);
	a.y1 += 0.2;
	if (a.x1 - a.x0 < 0.1)
		a.x1 = a.x0 + 0.1;
	a.x0 -= 0.06 * (a.x1 - a.x0);
	a.x1 += 0.06 * (a.x1 - a.x0);
	return a;
}

static void compare_axes(FILE *to, const struct sim_plot *p, const struct area *a)
{
	static const double marks[] = { 0, 50, 80, 90, 95, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.98,
		                        99.99, 99.995, 99.999, 99.9999, 99.99999 };
	double step = nice_step(a->x1 - a->x0, 6);
	double last = INFINITY;

	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		double n = nines(p, marks[i] / 100);
		double y = up(a, n);

		if (1 - marks[i] / 100 <= p->finest || n < a->y0 || n > a->y1 || last - y < 16)
			continue;
		last = y;
		line(to, a->left, y, a->right, y, GRID);
		label(to, a->left - 8, y + 4, SMALL_END, "%g %%", marks[i]);
	}
	for (double x = ceil(a->x0 / step) * step; x <= a->x1; x += step) {
		line(to, across(a, x), a->top, across(a, x), a->bottom, GRID);
		label(to, across(a, x), a->bottom + 16, SMALL_MIDDLE, "%g", round(x / step) * step);
	}
	line(to, a->left, a->bottom, a->right, a->bottom, "stroke=\"#888\"");
	line(to, a->left, a->top, a->left, a->bottom, "stroke=\"#888\"");
	label(to, (a->left + a->right) / 2, a->bottom + 34, SMALL_MIDDLE, "attempts per request");
}

/* Where a point's label stands: above it, and above any that is there already. */
struct place {
	double x, y;
};

static double free_place(const struct place *taken, size_t count, struct place want)
{
	for (bool moved = true; moved;) {
		moved = false;
		for (size_t i = 0; i < count; i++)
			if (fabs(taken[i].x - want.x) < LABEL_WIDTH &&
			    fabs(taken[i].y - want.y) < LABEL_HEIGHT) {
				want.y = taken[i].y - LABEL_HEIGHT;
				moved = true;
			}
	}
	return want.y;
}

/* As many decimals as keep what is not 100 % from looking so. */
static int decimals(double success)
{
	int places = 2;

	while (places < 6 && success < 1 && 100 * (1 - success) * pow(10, places) < 0.5)
		places++;
	return places;
}

static void compare_points(FILE *to, const struct sim_plot *p, const struct area *a)
{
	struct place *taken = calloc(p->line_count, sizeof(*taken));

	for (size_t i = 0; taken && i < p->line_count; i++) {
		const struct sim_plot_line *l = &p->lines[i];
		double x = across(a, l->attempts.mean), y = up(a, nines(p, l->success.mean));
		double high = fmin(1, l->success.mean + l->success.two_sd);
		char style[64], fill[160];

		snprintf(style, sizeof(style), "stroke=\"%s\" stroke-width=\"1.5\"", colour(i));
		line(to, x, up(a, nines(p, l->success.mean - l->success.two_sd)), x,
		     fmax(a->top, up(a, nines(p, high))), style);
		line(to, across(a, l->attempts.mean - l->attempts.two_sd), y,
		     across(a, l->attempts.mean + l->attempts.two_sd), y, style);
		fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\"/>\n", x, y,
		        colour(i));
		taken[i] = (struct place){ x, free_place(taken, i, (struct place){ x, y - 6 }) };
		/* The white edge keeps it readable across lines. */
		snprintf(fill, sizeof(fill), "font-size=\"12\" fill=\"%s\" stroke=\"#fff\" "
		         "stroke-width=\"3\" paint-order=\"stroke\"", colour(i));
		label(to, x + 7, taken[i].y, fill, "%s  %.*f %%", l->name,
		      decimals(l->success.mean), 100 * l->success.mean);
	}
	free(taken);
}

static double compare(FILE *to, const struct sim_plot *p, double top)
{
	struct area a;

	label(to, LEFT, top, HEADING, "Success against attempts");
	label(to, LEFT, top + 16, SMALL, "up: fewer failures, by powers of ten; left: less load; bars: "
	      "2 standard deviations of a run");
	a = compare_area(p, top + 30);
	compare_axes(to, p, &a);
	compare_points(to, p, &a);
	return top + COMPARE_HEIGHT + 24;
}

/* ------------------------------------------------------ load over time -- */

static double most_load(const struct sim_plot *p)
{
	uint32_t most = 0;

	for (size_t i = 0; i < p->line_count; i++)
		for (size_t s = 0; s < p->steps; s++)
			if (p->lines[i].load[s] > most)
				most = p->lines[i].load[s];
	return (double)most * (double)p->per / (double)p->step;
}

static void outage_bands(FILE *to, const struct sim_plot *p, const struct area *a)
{
	for (size_t i = 0; i < p->outage_count; i++) {
		double from = (double)p->outages[i].start / (double)DUR_S;
		double until = fmin((double)p->outages[i].end / (double)DUR_S, a->x1);

		if (from < a->x1)
			fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" "
			        "fill=\"#f6d7d3\"/>\n", across(a, from), a->top,
			        across(a, until) - across(a, from), a->bottom - a->top);
	}
}

static void strip(FILE *to, const struct sim_plot *p, const struct area *a, size_t i)
{
	const struct sim_plot_line *l = &p->lines[i];
	double scale = (double)p->per / (double)p->step, seconds = (double)p->step / (double)DUR_S;
	double step = nice_step(a->y1, 2);

	outage_bands(to, p, a);
	for (double y = 0; y <= a->y1; y += step) {
		line(to, a->left, up(a, y), a->right, up(a, y), GRID);
		label(to, a->left - 8, up(a, y) + 4, SMALL_END, "%g", y);
	}
	fprintf(to, "<path d=\"M%.1f %.1f", a->left, a->bottom);
	for (size_t s = 0; s < p->steps; s++)
		fprintf(to, "V%.1fH%.1f", up(a, l->load[s] * scale),
		        across(a, (double)(s + 1) * seconds));
	fprintf(to, "V%.1fZ\" fill=\"%s\" fill-opacity=\"0.75\"/>\n", a->bottom, colour(i));
	if (p->base > 0)
		line(to, a->left, up(a, p->base), a->right, up(a, p->base),
		     "stroke=\"#333\" stroke-dasharray=\"3 3\"");
	label(to, a->left, a->top - 6, "font-size=\"12\" fill=\"#222\"", "%s", l->name);
}

static void time_axis(FILE *to, const struct area *a)
{
	double step = nice_step(a->x1, 10);

	for (double x = 0; x <= a->x1; x += step) {
		line(to, across(a, x), a->bottom, across(a, x), a->bottom + 4, "stroke=\"#888\"");
		label(to, across(a, x), a->bottom + 18, SMALL_MIDDLE, "%g s", round(x / step) * step);
	}
}

static void load(FILE *to, const struct sim_plot *p, double top)
{
	struct area a = { LEFT, WIDTH - RIGHT, 0, 0, 0,
		          (double)p->step * (double)p->steps / (double)DUR_S, 0,
		          fmax(most_load(p), p->base) * 1.05 };

	if (a.y1 <= 0)
		a.y1 = 1;
	label(to, LEFT, top, HEADING, "%s", p->load_title);
	label(to, LEFT, top + 16, SMALL, "%s%s", p->outage_count ? "shaded: the server is down" : "",
	      p->base > 0 ? "; dashed: first attempts alone" : "");
	for (size_t i = 0; i < p->line_count; i++) {
		a.top = top + 46 + (double)i * (STRIP_HEIGHT + STRIP_GAP);
		a.bottom = a.top + STRIP_HEIGHT;
		strip(to, p, &a, i);
	}
	time_axis(to, &a);
}

static void picture(FILE *to, const struct sim_plot *p)
{
	double top = HEAD + 24;
	double height = top + (p->compare ? COMPARE_HEIGHT + 24 : 0) + 46 +
	                (double)p->line_count * (STRIP_HEIGHT + STRIP_GAP) + 16;

	fprintf(to, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
	        "viewBox=\"0 0 %d %.0f\" font-family=\"system-ui, sans-serif\">\n<title>", WIDTH,
	        height, WIDTH, height);
	text_out(to, p->title);
	fprintf(to, "</title>\n<rect width=\"%d\" height=\"%.0f\" fill=\"#fff\"/>\n", WIDTH, height);
	label(to, LEFT, 30, "font-size=\"17\" font-weight=\"600\" fill=\"#111\"", "%s", p->title);
	label(to, LEFT, 50, "font-size=\"12\" fill=\"#555\"", "%s", p->subtitle);
	if (p->compare)
		top = compare(to, p, top);
	load(to, p, top);
	fputs("</svg>\n", to);
}

bool sim_svg_write(const char *path, const struct sim_plot *p)
{
	FILE *to = fopen(path, "we");
	bool good;

	if (to) {
		picture(to, p);
		good = !ferror(to);
		if (fclose(to) == 0 && good)
			return true;
	}
	cli_say("simulate: --svg: %s: %s", path, strerror(errno));
	return false;
}

uint32_t *sim_plot_load(const struct sim_times *times, int64_t step, size_t steps)
{
	uint32_t *load = calloc(steps + 1, sizeof(*load));

	if (!load) {
		cli_say("simulate: out of memory");
		exit(EXIT_FAILURE);
	}
	for (size_t i = 0; i < times->count && (size_t)(times->at[i] / step) < steps; i++)
		load[times->at[i] / step]++;
	return load;
}
