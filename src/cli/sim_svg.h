/* SPDX-License-Identifier: MIT */
/* sim_svg.h - the results of "simulate" as a picture: SVG, readable by itself. */
#ifndef LIBRETRY_CLI_SIM_SVG_H
#define LIBRETRY_CLI_SIM_SVG_H

#include "cli/sim.h"

/* One policy. */
struct sim_plot_line {
	const char *name;
	struct sim_stat success;  /* 0 to 1 */
	struct sim_stat attempts; /* per request */
	const uint32_t *load;     /* attempts in each step of time */
};

struct sim_plot {
	const char *title, *subtitle;
	const struct sim_plot_line *lines;
	size_t line_count;
	bool compare;             /* draw success against attempts */
	double finest;            /* the least share of failures that can be told from none */
	const char *load_title;
	size_t steps;
	int64_t step;             /* ns */
	int64_t per;              /* ns, the time that load is counted in */
	double base;              /* load without retries, in <per>; 0: not drawn */
	const struct interval *outages;
	size_t outage_count;
};

/* False after a message. */
bool sim_svg_write(const char *path, const struct sim_plot *p);

/* How often the sorted <times> fall into each of <steps> steps; the caller frees. */
uint32_t *sim_plot_load(const struct sim_times *times, int64_t step, size_t steps);

#endif
