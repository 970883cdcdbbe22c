/* SPDX-License-Identifier: MIT */
/* The worlds "herd" and "contention", as commands. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/compat.h"
#include "cli/cli.h"
#include "cli/sim_contention.h"
#include "cli/sim_study.h"
#include "cli/sim_svg.h"

/* -------------------------------------------------------------------- herd -- */

static int by_size(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

static double clients_of(const struct sim_study *s)
{
	return (double)s->results[0].requests;
}

/* Sorted by then. */
static size_t median_peak(const struct sim_study *s, size_t policy)
{
	return s->peaks[policy * s->runs + s->runs / 2];
}

static void herd_table(struct out *out, const struct sim_study *s, const char *window)
{
	static struct out_column columns[] = {
		{ "policy", "POLICY" }, { "success", NULL }, { "attempts", "ATTEMPTS" },
		{ "mean_ms", NULL }, { "p50_ms", NULL }, { "p95_ms", NULL }, { "p99_ms", NULL },
		{ "failures", NULL }, { "peak_per_s", "PEAK/S" }, { "wasted", NULL },
		{ "peak_window", NULL }, { NULL, NULL }, { NULL, "LEAST" }, { NULL, "MOST" },
		{ NULL, "% OF CLIENTS" }, { NULL, "GIVE UP AFTER" }
	};
	char heading[48];

	snprintf(heading, sizeof(heading), "PEAK IN %s", window);
	columns[11].heading = heading;
	out_table(out, "policies", NULL, columns, ARRAY_LEN(columns));
	for (size_t p = 0; p < s->policies->count; p++) {
		const struct sim_result *r = &s->results[p * s->runs];
		const size_t *peaks = &s->peaks[p * s->runs];
		size_t median = median_peak(s, p);

		out_cell(out, s->policies->list[p].policy.name);
		out_cell_real(out, r->success, 8);
		out_cell_real(out, sim_study_stat(s, p, sim_attempts).mean, 3);
		for (size_t i = 0; i < 4; i++)
			out_cell(out, NULL);
		out_cell_int(out, (int64_t)r->failures);
		out_cell_real(out, r->peak_per_s, 0);
		out_cell_int(out, (int64_t)r->wasted);
		out_cell_int(out, (int64_t)median);
		out_cell_int(out, (int64_t)median);
		out_cell_int(out, (int64_t)peaks[0]);
		out_cell_int(out, (int64_t)peaks[s->runs - 1]);
		out_cell_real(out, 100 * (double)median / clients_of(s), 1);
		out_cell_duration(out, (int64_t)(sim_study_stat(s, p, sim_fail_ms).mean * 1e6));
	}
	out_table_end(out);
}

static void herd_words(struct out *out, const struct sim_study *s, const char *window)
{
	size_t low = s->policies->count, high = low;

	for (size_t p = 0; p < s->policies->count; p++) {
		if (s->policies->list[p].policy.max_attempts <= 1)
			continue;
		if (low == s->policies->count || median_peak(s, p) < median_peak(s, low))
			low = p;
		if (high == s->policies->count || median_peak(s, p) > median_peak(s, high))
			high = p;
	}
	if (low == high)
		return;
	out_say(out, "%s", "");
	out_say(out, "In words: with %s %.1f %% of the clients come within one and the same %s, with %s "
	        "%.1f %%.", s->policies->list[high].policy.name,
	        100 * (double)median_peak(s, high) / clients_of(s), window,
	        s->policies->list[low].policy.name,
	        100 * (double)median_peak(s, low) / clients_of(s));
}

#define HERD_STEPS 200

/* Until nearly all retries are made: the last few would leave the rest in a corner. */
static int64_t herd_shown(const struct sim_study *s)
{
	int64_t until = 0;

	for (size_t p = 0; p < s->policies->count; p++) {
		const struct sim_times *t = &s->load[p];
		int64_t at = t->count ? t->at[t->count - 1 - t->count / 100] : 0;

		if (at > until)
			until = at;
	}
	return until + until / 20;
}

static bool herd_draw(const struct sim_study *s)
{
	size_t count = s->policies->count;
	struct sim_plot_line *lines = calloc(count, sizeof(*lines));
	struct sim_plot plot = { .title = "Clients that lose the server at the same moment",
	                         .lines = lines,
	                         .line_count = count,
	                         .steps = HERD_STEPS,
	                         .step = herd_shown(s) / HERD_STEPS + 1 };
	char subtitle[128], title[128], step[32];
	bool good;

	if (!lines)
		return false;
	plot.per = plot.step;
	sim_time_text(step, sizeof(step), plot.step);
	snprintf(subtitle, sizeof(subtitle), "%.0f clients; their first call, at 0 s, is not drawn",
	         clients_of(s));
	snprintf(title, sizeof(title), "Retries in each %s of the run with seed %" PRIu64, step,
	         s->options->seed);
	plot.subtitle = subtitle;
	plot.load_title = title;
	for (size_t p = 0; p < count; p++) {
		uint32_t *bins = sim_plot_load(&s->load[p], plot.step, HERD_STEPS);

		bins[0] -= bins[0] < (uint32_t)clients_of(s) ? bins[0] : (uint32_t)clients_of(s);
		lines[p] = (struct sim_plot_line){ .name = s->policies->list[p].policy.name,
			                           .load = bins };
	}
	good = sim_svg_write(s->options->svg, &plot);
	for (size_t p = 0; p < count; p++)
		free((uint32_t *)lines[p].load);
	free(lines);
	return good;
}

int sim_herd_main(const struct sim_options *o, const struct sim_policies *p, struct out *out)
{
	uint64_t clients = o->clients ? o->clients : 1000;
	int64_t window = o->window ? o->window : 20 * DUR_MS;
	size_t runs = o->seeds ? o->seeds : 11;
	struct sim_times calls = { .at = NULL };
	struct sim_study s;
	char text[32];
	int status = EXIT_SUCCESS;

	sim_study_begin(&s, o, p, runs);
	for (size_t i = 0; i < p->count; i++) {
		for (size_t r = 0; r < runs; r++)
			sim_herd_run(clients, &p->list[i].policy, window, o->seed + r,
			             &s.results[i * runs + r], &s.peaks[i * runs + r],
			             r == 0 && o->svg ? &s.load[i] : &calls);
		qsort(&s.peaks[i * runs], runs, sizeof(*s.peaks), by_size);
	}
	sim_time_text(text, sizeof(text), window);
	out_say(out, "%" PRIu64 " clients lose the server at the same moment, and it stays away. The "
	        "most retries in any %s:", clients, text);
	out_say(out, "median, least and most of %zu run%s, seed%s from %" PRIu64 ".", runs,
	        runs > 1 ? "s" : "", runs > 1 ? "s" : "", o->seed);
	herd_table(out, &s, text);
	herd_words(out, &s, text);
	if (o->svg && !herd_draw(&s))
		status = EXIT_FAILURE;
	sim_times_free(&calls);
	sim_study_free(&s);
	return status;
}

/* -------------------------------------------------------------- contention -- */

static void contention_row(struct out *out, const struct sim_policy *p,
                           const struct sim_contention *c,
                           const struct sim_contention_result *r)
{
	char text[64];

	out_cell(out, p->policy.name);
	out_cell_real(out, r->success, 8);
	out_cell_real(out, r->calls / c->clients, 4);
	for (size_t i = 0; i < 4; i++)
		out_cell(out, NULL);
	out_cell_real(out, (1 - r->success) * c->clients, 2);
	out_cell(out, NULL);
	out_cell_real(out, r->calls - r->success * c->clients, 1);
	out_cell_real(out, r->calls, 1);
	sim_stat_text(text, sizeof(text), (struct sim_stat){ r->calls, r->calls_ci }, 1);
	out_cell(out, text);
	out_cell_real(out, r->ms, 1);
	sim_stat_text(text, sizeof(text), (struct sim_stat){ r->ms, r->ms_ci }, 0);
	out_cell(out, text);
	snprintf(text, sizeof(text), "%.2f", 100 * r->success);
	out_cell(out, text);
}

int sim_contention_main(const struct sim_options *o, const struct sim_policies *p,
                        struct out *out)
{
	static const struct out_column columns[] = {
		{ "policy", "POLICY" }, { "success", NULL }, { "attempts", NULL },
		{ "mean_ms", NULL }, { "p50_ms", NULL }, { "p95_ms", NULL }, { "p99_ms", NULL },
		{ "failures", NULL }, { "peak_per_s", NULL }, { "wasted", NULL },
		{ "calls", NULL }, { NULL, "WRITES" }, { "until_done_ms", NULL },
		{ NULL, "ALL DONE AFTER MS" }, { NULL, "SUCCESS %" }
	};
	struct sim_contention c = sim_contention_default();

	if (o->clients > SIM_CONTENTION_CLIENTS_MAX) {
		cli_say("simulate: --clients: \"%" PRIu64 "\" is too many here (1 to %d)", o->clients,
		        SIM_CONTENTION_CLIENTS_MAX);
		return EXIT_USAGE;
	}
	c.clients = o->clients ? (unsigned)o->clients : 100;
	c.runs = o->seeds ? (unsigned)o->seeds : c.runs;
	c.latency = o->latency ? o->latency : c.latency;
	c.seed = o->seed;
	out_say(out, "%u clients change one row; of those that write at one time one wins, the others "
	        "read again.", c.clients);
	out_say(out, "Means of %u runs ± their 95 %% intervals.", c.runs);
	out_table(out, "policies", NULL, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < p->count; i++) {
		struct sim_contention_result r;

		c.policy = &p->list[i].policy;
		c.limits = !p->list[i].endless;
		c.no_wait = p->list[i].no_wait;
		if (!sim_contention(&c, &r)) {
			cli_say("simulate: out of memory");
			return EXIT_FAILURE;
		}
		contention_row(out, &p->list[i], &c, &r);
	}
	out_table_end(out);
	out_say(out, "%s", "");
	out_say(out, "In words: fewer writes is less work for the row's server, a lower time is a sooner "
	        "end; no one way to wait has both.");
	return EXIT_SUCCESS;
}
