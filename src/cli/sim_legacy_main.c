/* SPDX-License-Identifier: MIT */
/* "--legacy-cursor": the published run, what is wrong with it, and the true figures. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/compat.h"
#include "cli/sim_legacy.h"
#include "cli/sim_study.h"

#define POLICIES "seed"

static void show_published(struct out *out, const struct sim_result *results)
{
	static const struct out_column columns[] = {
		{ "policy", "POLICY" }, { "success", NULL }, { NULL, "SUCCESS %" },
		{ "attempts", NULL }, { NULL, "ATTEMPTS" }, { "mean_ms", NULL }, { NULL, "MEAN MS" },
		{ "p50_ms", NULL }, { "p95_ms", "P95" }, { "p99_ms", "P99" }, { "failures", "FAILURES" },
		{ "peak_per_s", "PEAK/S" }, { "wasted", "WASTED" }
	};

	out_table(out, "published", "As published (each policy once):", columns,
	          ARRAY_LEN(columns));
	for (size_t i = 0; i < SIM_LEGACY_POLICIES; i++) {
		const struct sim_result *r = &results[i];
		char text[32];

		out_cell(out, r->policy);
		out_cell_real(out, r->success, 8);
		snprintf(text, sizeof(text), "%.2f", 100 * r->success);
		out_cell(out, text);
		out_cell_real(out, r->attempts, 6);
		snprintf(text, sizeof(text), "%.3f", r->attempts);
		out_cell(out, text);
		out_cell_real(out, r->mean_ms, 3);
		snprintf(text, sizeof(text), "%.2f", r->mean_ms);
		out_cell(out, text);
		out_cell_real(out, r->p50_ms, 3);
		out_cell_real(out, r->p95_ms, 3);
		out_cell_real(out, r->p99_ms, 3);
		out_cell_int(out, (int64_t)r->failures);
		out_cell_real(out, r->peak_per_s, 0);
		out_cell_int(out, (int64_t)r->wasted);
	}
	out_table_end(out);
}

static void say_mistake(struct out *out, const struct sim_result *results, double down)
{
	out_say(out, "%s", "");
	out_say(out, "What is wrong with it:");
	out_say(out, "  The script looks up \"is it down?\" with a cursor that only moves forward. A "
	        "retry asks about");
	out_say(out, "  a later time and moves the cursor past the outage; requests that begin inside "
	        "that outage");
	out_say(out, "  are then told that the server is up. Whoever retries hides outages from the "
	        "others.");
	out_say(out, "  It shows: the server is down %.1f %% of the time, so about as many requests "
	        "need a second", down);
	out_say(out, "  attempt, and %.2f attempts per request cannot be.", results[2].attempts);
	out_say(out, "  Also, one stream of random numbers runs on from policy to policy: they do not "
	        "meet the same");
	out_say(out, "  failures.");
}

static void say_truth(struct out *out, const struct sim_study *s, const struct sim_result *then)
{
	double now[SIM_LEGACY_POLICIES];

	out_say(out, "%s", "");
	out_say(out, "In words:");
	for (size_t i = 0; i < SIM_LEGACY_POLICIES; i++) {
		now[i] = sim_study_stat(s, i, sim_success).mean;
		if (i > 0)
			out_say(out, "  %s: %.2f %%, and not %.2f %%; p95 is %.0f ms, and not %.0f ms; "
			        "%.2f attempts, and not %.2f.", then[i].policy, 100 * now[i],
			        100 * then[i].success, sim_study_stat(s, i, sim_p95_ms).mean,
			        then[i].p95_ms, sim_study_stat(s, i, sim_attempts).mean,
			        then[i].attempts);
	}
	if ((now[1] < now[2]) != (then[1].success < then[2].success))
		out_say(out, "  The order turns round: %s succeeds more often than %s.",
		        then[now[1] > now[2] ? 1 : 2].policy, then[now[1] > now[2] ? 2 : 1].policy);
	out_say(out, "  That one should retry at all still matters most: %.1f points, against %.1f "
	        "between the two.", 100 * (now[1] - now[0]), 100 * fabs(now[1] - now[2]));
}

int sim_legacy_main(const struct sim_options *given, struct out *out)
{
	struct sim_options o = *given;
	struct sim_policies policies = { .world = SIM_OUTAGE };
	struct sim_result then[SIM_LEGACY_POLICIES];
	struct sim_outages outages;
	struct sim_outage_world w;
	struct sim_times calls = { .at = NULL };
	struct sim_study s;
	size_t runs = o.seeds ? o.seeds : 20;

	sim_legacy_run(o.seed, then, &outages);
	w = sim_legacy_world(&outages);
	o.requests = w.requests;
	out_say(out, "The published run: %" PRIu64 " requests, one every 5ms, 20ms each, 1 %% fail; "
	        "Python's random, seed %" PRIu64 ".", w.requests, o.seed);
	show_published(out, then);
	if (!o.json && sim_policies_add(&policies, POLICIES)) {
		int64_t window = sim_outage_window(&w);

		say_mistake(out, then, 100 * (double)sim_outages_down(&outages, window) /
		                                 (double)window);
		sim_study_begin(&s, &o, &policies, runs);
		for (size_t i = 0; i < policies.count * runs; i++)
			sim_outage_run(&w, &policies.list[i / runs].policy, o.seed + i % runs,
			               &s.results[i], &calls);
		sim_show_table(out, &s, "The same outages, looked up by time, with the engine that ships "
		               "(means of the runs ± 2 standard deviations of one):");
		say_truth(out, &s, then);
		sim_study_free(&s);
	}
	sim_times_free(&calls);
	sim_policies_free(&policies);
	sim_outages_free(&outages);
	return EXIT_SUCCESS;
}
