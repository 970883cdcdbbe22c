/* SPDX-License-Identifier: MIT */
/* The world "budget", as a command. */
#include <math.h>
#include <stdlib.h>

#include "base/compat.h"
#include "cli/sim_budget.h"
#include "cli/sim_study.h"

#define COLUMNS_MAX 8

static void row_json(struct out *out, const struct sim_budget *b, const char *name,
                     const struct sim_budget_result *r)
{
	out_cell(out, name);
	out_cell_real(out, b->fail, 6);
	out_cell_real(out, r->success, 8);
	out_cell_real(out, r->load, 6);
	for (size_t i = 0; i < 4; i++)
		out_cell(out, NULL);
	out_cell_int(out, (int64_t)(b->calls - r->successes));
	out_cell(out, NULL);
	out_cell_int(out, (int64_t)(r->attempts - b->calls));
}

static void row_text(struct out *out, double fail, const struct sim_budget_result *r,
                     size_t count)
{
	char text[48];

	snprintf(text, sizeof(text), "%g %%", 100 * fail);
	out_cell(out, text);
	for (size_t i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "%.3f  %.2f %%", r[i].load, 100 * r[i].success);
		out_cell(out, text);
	}
}

int sim_budget_main(const struct sim_options *o, struct out *out)
{
	static const struct out_column json[] = {
		{ "policy", NULL }, { "fail", NULL }, { "success", NULL }, { "attempts", NULL },
		{ "mean_ms", NULL }, { "p50_ms", NULL }, { "p95_ms", NULL }, { "p99_ms", NULL },
		{ "failures", NULL }, { "peak_per_s", NULL }, { "wasted", NULL }
	};
	static const double usual[] = { 0.01, 0.05, 0.1, 0.2, 0.5, 1 };
	struct out_column text[COLUMNS_MAX + 1] = { { NULL, "FAILURES" } };
	struct sim_budget b;
	size_t columns = 0, rows = o->fail_given ? 1 : ARRAY_LEN(usual);

	while (columns < COLUMNS_MAX && (text[columns + 1].heading =
	                                 sim_budget_column((unsigned)columns, &b)))
		columns++;
	out_say(out, "One client that makes %llu calls; each attempt fails by itself. Load (attempts "
	        "per call) and success,", (unsigned long long)b.calls);
	out_say(out, "by the share of failures and the kind of budget (up to 3 retries):");
	if (o->json)
		out_table(out, "budgets", NULL, json, ARRAY_LEN(json));
	else
		out_table(out, "budgets", NULL, text, columns + 1);
	for (size_t i = 0; i < rows; i++) {
		double fail = o->fail_given ? (double)o->fail / (double)PPM : usual[i];
		struct sim_budget_result r[COLUMNS_MAX];

		for (size_t c = 0; c < columns; c++) {
			const char *name = sim_budget_column((unsigned)c, &b);

			b.fail = fail;
			b.seed = o->seed;
			r[c] = sim_budget(&b);
			if (o->json)
				row_json(out, &b, name, &r[c]);
		}
		if (!o->json)
			row_text(out, fail, r, columns);
	}
	out_table_end(out);
	out_say(out, "%s", "");
	out_say(out, "In words: without a budget a total outage costs as many times the load as there are "
	        "attempts; with one,");
	out_say(out, "rare failures are retried as before and common ones hardly at all.");
	return EXIT_SUCCESS;
}
