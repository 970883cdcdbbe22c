/* SPDX-License-Identifier: MIT */
/* The world "overload", as a command. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/compat.h"
#include "cli/cli.h"
#include "cli/need.h"
#include "cli/sim_overload.h"
#include "cli/sim_study.h"
#include "cli/sim_svg.h"

/* What the common figures have no place for. */
struct extra {
	double recovery; /* s; INFINITY: never */
	double bad, knock_peak, stale, budget, breaker;
};

struct overload {
	struct sim_overload world;
	struct sim_study study;
	struct extra *extras;    /* of policy p in run r: [p * runs + r] */
	uint32_t **load;         /* of policy p in the first run, in steps */
	size_t steps;
};

static bool set_world(struct sim_overload *w, const struct sim_options *o)
{
	*w = sim_overload_default();
	w->clients = o->clients ? (unsigned)o->clients : w->clients;
	w->hosts = o->hosts ? (unsigned)o->hosts : o->shared ? 1 : w->clients;
	w->rate = o->rate ? (double)o->rate : w->rate;
	w->capacity = o->capacity ? (double)o->capacity : w->capacity;
	w->queue = o->queue ? (unsigned)o->queue : w->queue;
	w->timeout = o->timeout ? o->timeout : w->timeout;
	w->latency = o->latency ? o->latency : w->latency;
	w->duration = o->duration ? o->duration : w->duration;
	if (o->down_from >= 0) {
		w->outage_from = o->down_from;
		w->outage_to = o->down_to;
	}
	if (w->hosts > w->clients) {
		cli_say("simulate: --hosts: %u are more than there are clients, %u (fewer)", w->hosts,
		        w->clients);
		return false;
	}
	/* One call after another of each would be millions of them. */
	if (w->rate * (double)w->duration / (double)DUR_S > 1e7) {
		cli_say("simulate: --rate for --duration are more than 10000000 calls (fewer)");
		return false;
	}
	return true;
}

static void keep_load(struct overload *v, size_t policy, const struct sim_overload_result *r)
{
	v->load[policy] = need(calloc(r->step_count + 1, sizeof(uint32_t)));
	for (size_t i = 0; i < r->step_count; i++)
		v->load[policy][i] = r->steps[i].attempts;
	if (v->steps == 0 || r->step_count < v->steps)
		v->steps = r->step_count;
}

static void run_one(struct overload *v, size_t policy, size_t run)
{
	struct sim_overload world = v->world;
	struct sim_overload_result r;
	size_t at = policy * v->study.runs + run;

	world.policy = &v->study.policies->list[policy].policy;
	world.at_once = v->study.policies->list[policy].at_once;
	world.seed = v->study.options->seed + run;
	if (!sim_overload(&world, &r))
		need(NULL);
	v->study.results[at] = (struct sim_result){
		.policy = world.policy->name, .success = r.success,
		.attempts = r.attempts_per_call, .mean_ms = r.mean_ms, .p50_ms = r.p50_ms,
		.p95_ms = r.p95_ms, .p99_ms = r.p99_ms, .requests = r.calls,
		.failures = r.calls - r.succeeded, .calls = r.attempts,
		.peak_per_s = r.peak_per_s, .wasted = r.knocks, .fail_ms = NAN
	};
	v->extras[at] = (struct extra){ .recovery = r.recovery_s < 0 ? INFINITY : r.recovery_s,
		                        .bad = r.bad_s,
		                        .knock_peak = r.knock_peak,
		                        .stale = (double)r.stale,
		                        .budget = (double)r.refused_by_budget,
		                        .breaker = (double)r.refused_by_breaker };
	if (run == 0)
		keep_load(v, policy, &r);
	sim_overload_free(&r);
}

/* The mean of a figure of struct extra at <offset>; *never: runs in which it is
 * infinite, which the mean leaves out. */
static double extra_mean(const struct overload *v, size_t policy, size_t offset, size_t *never)
{
	size_t runs = v->study.runs, finite = 0;
	double sum = 0;

	for (size_t r = 0; r < runs; r++) {
		const char *e = (const char *)&v->extras[policy * runs + r];
		double value = *(const double *)(e + offset);

		if (isinf(value))
			continue;
		sum += value;
		finite++;
	}
	*never = runs - finite;
	return finite ? sum / (double)finite : NAN;
}

static void cell_stat(struct out *out, struct sim_stat stat, double unit, int places)
{
	char text[64];

	stat.mean *= unit;
	stat.two_sd *= unit;
	sim_stat_text(text, sizeof(text), stat, places);
	out_cell(out, text);
}

static void cell_recovery(struct out *out, const struct overload *v, size_t policy)
{
	size_t never;
	double seconds = extra_mean(v, policy, offsetof(struct extra, recovery), &never);
	char text[64];

	if (never == v->study.runs)
		snprintf(text, sizeof(text), "never");
	else if (never)
		snprintf(text, sizeof(text), "%.1f s, never in %zu of %zu", seconds, never,
		         v->study.runs);
	else
		snprintf(text, sizeof(text), "%.1f s", seconds);
	out_cell_real(out, never ? NAN : seconds, 2);
	out_cell(out, text);
}

static void cell_extra(struct out *out, const struct overload *v, size_t policy, size_t offset,
                       int places)
{
	size_t never;

	out_cell_real(out, extra_mean(v, policy, offset, &never), places);
}

static void table(struct out *out, const struct overload *v)
{
	static const struct out_column columns[] = {
		{ "policy", "POLICY" }, { "success", NULL }, { NULL, "SUCCESS %" },
		{ "attempts", NULL }, { NULL, "ATTEMPTS" }, { "mean_ms", NULL }, { "p50_ms", "P50" },
		{ "p95_ms", "P95" }, { "p99_ms", "P99" }, { "failures", "FAILURES" },
		{ "peak_per_s", "PEAK/S" }, { "wasted", "KNOCKS" },
		{ "knock_peak_per_s", "KNOCK PEAK/S" }, { "recovery_s", NULL },
		{ NULL, "RECOVERS AFTER" }, { "bad_s", "BAD SECONDS" }, { "stale", "FOR NOBODY" },
		{ "by_budget", "BY BUDGET" }, { "by_breaker", "BY BREAKER" }
	};
	const struct sim_study *s = &v->study;

	out_table(out, "policies", NULL, columns, ARRAY_LEN(columns));
	for (size_t p = 0; p < s->policies->count; p++) {
		struct sim_stat success = sim_study_stat(s, p, sim_success);
		struct sim_stat attempts = sim_study_stat(s, p, sim_attempts);

		out_cell(out, s->policies->list[p].policy.name);
		out_cell_real(out, success.mean, 8);
		cell_stat(out, success, 100, 2);
		out_cell_real(out, attempts.mean, 6);
		cell_stat(out, attempts, 1, 3);
		out_cell_real(out, sim_study_stat(s, p, sim_mean_ms).mean, 3);
		out_cell_real(out, sim_study_stat(s, p, sim_p50_ms).mean, 1);
		out_cell_real(out, sim_study_stat(s, p, sim_p95_ms).mean, 0);
		out_cell_real(out, sim_study_stat(s, p, sim_p99_ms).mean, 0);
		out_cell_real(out, sim_study_stat(s, p, sim_failures).mean, 0);
		out_cell_real(out, sim_study_stat(s, p, sim_peak).mean, 0);
		out_cell_real(out, sim_study_stat(s, p, sim_wasted).mean, 0);
		cell_extra(out, v, p, offsetof(struct extra, knock_peak), 0);
		cell_recovery(out, v, p);
		cell_extra(out, v, p, offsetof(struct extra, bad), 1);
		cell_extra(out, v, p, offsetof(struct extra, stale), 0);
		cell_extra(out, v, p, offsetof(struct extra, budget), 0);
		cell_extra(out, v, p, offsetof(struct extra, breaker), 0);
	}
	out_table_end(out);
}

static void words(struct out *out, const struct overload *v)
{
	const struct sim_study *s = &v->study;

	out_say(out, "%s", "");
	out_say(out, "In words:");
	for (size_t p = 0; p < s->policies->count; p++) {
		const char *name = s->policies->list[p].policy.name;
		size_t never, bad_never;
		double after = extra_mean(v, p, offsetof(struct extra, recovery), &never);
		double success = 100 * sim_study_stat(s, p, sim_success).mean;
		double attempts = sim_study_stat(s, p, sim_attempts).mean;
		double later = extra_mean(v, p, offsetof(struct extra, bad), &bad_never) - after;

		if (never)
			out_say(out, "  %s: %.2f %% succeed, with %.2f attempts each; in %zu of %zu runs "
			        "there is no recovery to the end.", name, success, attempts, never,
			        s->runs);
		else if (later > 2)
			out_say(out, "  %s: %.2f %% succeed, with %.2f attempts each; all is well %.1f s "
			        "after the outage, and then not for another %.0f s.", name, success,
			        attempts, after, later);
		else if (after < 0.05)
			out_say(out, "  %s: %.2f %% succeed, with %.2f attempts each; all is well as "
			        "soon as the outage is over.", name, success, attempts);
		else
			out_say(out, "  %s: %.2f %% succeed, with %.2f attempts each; all is well %.1f s "
			        "after the outage.", name, success, attempts, after);
	}
}

/* Returns <text>. */
static const char *sharing(const struct sim_overload *w, char *text, size_t size)
{
	if (w->hosts == 1)
		snprintf(text, size, "one for all clients");
	else if (w->hosts == w->clients)
		snprintf(text, size, "each client its own");
	else
		snprintf(text, size, "one on each of %u hosts", w->hosts);
	return text;
}

static void preamble(struct out *out, const struct overload *v)
{
	const struct sim_overload *w = &v->world;
	double from = (double)w->outage_from / (double)DUR_S;
	double to = (double)w->outage_to / (double)DUR_S;
	char text[64];

	out_say(out, "%u clients make %.0f calls a second for %.3g s; the server does %.0f a second, up "
	        "to %u wait in line,", w->clients, w->rate, (double)w->duration / (double)DUR_S,
	        w->capacity, w->queue);
	out_say(out, "a client waits %.3g s for an answer. The server is down from %.3g s to %.3g s.",
	        (double)w->timeout / (double)DUR_S, from, to);
	out_say(out, "Budget, breaker, coordination: %s.", sharing(w, text, sizeof(text)));
	out_say(out, "%zu run%s, seed%s from %" PRIu64 ".", v->study.runs, v->study.runs > 1 ? "s" : "",
	        v->study.runs > 1 ? "s" : "", v->study.options->seed);
}

static bool draw(const struct overload *v)
{
	const struct sim_study *s = &v->study;
	size_t count = s->policies->count;
	struct interval outage = { v->world.outage_from, v->world.outage_to };
	struct sim_plot_line *lines = need(calloc(count, sizeof(*lines)));
	struct sim_plot plot = { .title = "Retry policies against an overloaded server",
	                         .lines = lines,
	                         .line_count = count,
	                         .compare = true,
	                         .finest = 0.5 / (double)s->results[0].requests,
	                         .steps = v->steps,
	                         .step = SIM_OVERLOAD_STEP,
	                         .per = DUR_S,
	                         .base = v->world.rate,
	                         .outages = &outage,
	                         .outage_count = outage.end > outage.start };
	char subtitle[200], title[128], text[64];
	bool good;

	snprintf(subtitle, sizeof(subtitle), "%u clients, %.0f calls/s, a server for %.0f/s; what they "
	         "remember: %s", v->world.clients, v->world.rate, v->world.capacity,
	         sharing(&v->world, text, sizeof(text)));
	snprintf(title, sizeof(title), "Attempts per second that reach the server, seed %" PRIu64,
	         s->options->seed);
	plot.subtitle = subtitle;
	plot.load_title = title;
	for (size_t p = 0; p < count; p++)
		lines[p] = (struct sim_plot_line){
			.name = s->policies->list[p].policy.name,
			.success = sim_study_stat(s, p, sim_success),
			.attempts = sim_study_stat(s, p, sim_attempts),
			.load = v->load[p]
		};
	good = sim_svg_write(s->options->svg, &plot);
	free(lines);
	return good;
}

int sim_overload_main(const struct sim_options *o, const struct sim_policies *p, struct out *out)
{
	struct overload v = { .steps = 0 };
	int status = EXIT_SUCCESS;

	if (!set_world(&v.world, o))
		return EXIT_USAGE;
	sim_study_begin(&v.study, o, p, o->seeds ? o->seeds : 5);
	v.extras = need(calloc(p->count * v.study.runs, sizeof(*v.extras)));
	v.load = need(calloc(p->count, sizeof(*v.load)));
	for (size_t i = 0; i < p->count; i++)
		for (size_t r = 0; r < v.study.runs; r++)
			run_one(&v, i, r);
	preamble(out, &v);
	table(out, &v);
	words(out, &v);
	if (o->svg && !draw(&v))
		status = EXIT_FAILURE;
	for (size_t i = 0; i < p->count; i++)
		free(v.load[i]);
	free(v.load);
	free(v.extras);
	sim_study_free(&v.study);
	return status;
}
