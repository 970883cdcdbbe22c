/* SPDX-License-Identifier: MIT */
/* The world "outage": its timeline, its runs, and what is said about them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/need.h"
#include "cli/outages.h"
#include "cli/sim_legacy.h"
#include "cli/sim_study.h"
#include "cli/sim_svg.h"
#include "config/arena.h"
#include "config/timeline.h"
#include "policy/classify.h"

#define MANY 100000
#define AFTER (120 * DUR_S)

/* The outages of one destination since the first failure of it. False after a message. */
static bool from_seen(const struct sim_options *o, const struct seen *seen,
                      struct sim_outages *outages)
{
	const struct dest_seen *d = seen->dests;
	struct interval *list;
	size_t left = seen->count, count;

	while (left && o->dest && strcmp(o->dest, d->dest) != 0) {
		left--;
		d++;
	}
	if (left == 0) {
		cli_say("simulate: --timeline: %s: no failure%s%s", o->timeline,
		        o->dest ? " of " : "", o->dest ? o->dest : "");
		return false;
	}
	list = need(calloc(d->count, sizeof(*list)));
	count = seen_intervals(d, list, NULL);
	for (size_t i = 0; i < count; i++) {
		list[i].start -= d->list[0].start;
		list[i].end -= d->list[0].start;
	}
	if (count)
		sim_outages_set(outages, list, count);
	else
		cli_say("simulate: --timeline: %s: %s failed only once, so nothing is known about how "
		        "long it lasts", o->timeline, d->dest);
	if (count && seen->count > 1 && !o->dest)
		cli_warn("%s: of %zu destinations that failed only %s is looked at (--dest)",
		         o->timeline, seen->count, d->dest);
	free(list);
	return count > 0;
}

/* As "suggest" does. False: there is nothing of ours in it. */
static bool load_log(const struct sim_options *o, struct sim_outages *outages, bool *good)
{
	struct logread *r = logread_open(o->timeline);
	struct seen seen;
	bool ours;

	if (!r)
		return false;
	seen_read(&seen, r, SEEN_GAP);
	logread_close(r);
	ours = seen.lines > 0;
	if (ours)
		*good = from_seen(o, &seen, outages);
	seen_free(&seen);
	return ours;
}

/* False after a message. */
static bool load_timeline(const struct sim_options *o, struct sim_outages *outages)
{
	struct arena *keep, *scratch;
	struct timeline t;
	char why[512];
	struct fmt f;
	bool good = false;

	if (load_log(o, outages, &good))
		return good;
	keep = arena_new();
	scratch = arena_new();
	fmt_init(&f, why, sizeof(why));
	if (keep && scratch)
		good = timeline_load(&t, o->timeline, keep, scratch, &f);
	else
		fmt_str(&f, "no memory");
	fmt_end(&f);
	if (good)
		sim_outages_set(outages, t.list, t.count);
	else
		cli_say("simulate: --timeline: %s: %s", o->timeline, why);
	arena_free(keep);
	arena_free(scratch);
	return good;
}

static const char *exact(char *text, size_t size, int64_t ns)
{
	struct fmt f;

	fmt_init(&f, text, size);
	fmt_dur_exact(&f, ns);
	fmt_end(&f);
	return text;
}

static void say_requests(struct out *out, const struct sim_study *s)
{
	const struct sim_options *o = s->options;
	char every[32], window[32], latency[32];

	out_say(out, "%" PRIu64 " requests, one every %s (%s in all); an attempt takes %s, and %.3g %% "
	        "fail while the server is up.", o->requests,
	        sim_time_text(every, sizeof(every), o->every),
	        sim_time_text(window, sizeof(window), s->window),
	        sim_time_text(latency, sizeof(latency), o->latency), (double)o->fail / 10000.0);
}

static int64_t longest(const struct sim_outages *o)
{
	int64_t most = 0;

	for (size_t i = 0; i < o->count; i++)
		if (o->list[i].end - o->list[i].start > most)
			most = o->list[i].end - o->list[i].start;
	return most;
}

/* A pace that reaches <until>, with two digits or so. */
static int64_t every_for(int64_t until, uint64_t requests)
{
	int64_t every = until / (int64_t)requests + 1, unit = DUR_US;

	while (every / unit >= 100)
		unit *= 10;
	return (every + unit - 1) / unit * unit;
}

/* A timeline that is longer than the requests, or has nothing in their time, gives
 * figures that say little about it. */
static void say_uncovered(struct out *out, const struct sim_study *s)
{
	const struct sim_outages *o = &s->outages;
	size_t late = 0;
	char end[32], every[32];
	int64_t last = o->list[o->count - 1].end;

	for (size_t i = 0; i < o->count; i++)
		late += o->list[i].start >= s->window;
	if (late == 0)
		return;
	out_say(out, "Note: %zu of these %zu begin after the last request; --every=%s spreads the "
	        "requests over all %s of the timeline.", late, o->count,
	        exact(every, sizeof(every), every_for(last, s->options->requests)),
	        sim_time_text(end, sizeof(end), last));
}

static void say_outages(struct out *out, const struct sim_study *s)
{
	const struct sim_options *o = s->options;
	struct sim_stat down = sim_stat(s->down, s->runs);
	char a[32], b[32], c[32], share[64];

	down.mean *= 100;
	down.two_sd *= 100;
	sim_stat_text(share, sizeof(share), down, 2);
	if (!o->timeline) {
		out_say(out, "Outages by chance, another timeline in each run: one every %s on "
		        "average, %s to %s long; the server is down %s %% of the time.",
		        sim_time_text(a, sizeof(a), o->shape.mean_gap), sim_time_text(b, sizeof(b), o->shape.min),
		        sim_time_text(c, sizeof(c), o->shape.max), share);
		return;
	}
	out_say(out, "Outages of %s: %zu, the longest %s; the server is down %s %% of the time.",
	        o->timeline, s->outages.given, sim_time_text(a, sizeof(a), longest(&s->outages)),
	        share);
	if (s->outages.given > s->outages.count)
		out_say(out, "Some overlap: they are %zu that do not, and %.2f %% if each counts for "
		        "itself.", s->outages.count,
		        100 * (double)s->outages.sum / (double)s->window);
	say_uncovered(out, s);
}

static void say_runs(struct out *out, const struct sim_study *s)
{
	uint64_t first = s->options->seed;

	if (s->runs > 1)
		out_say(out, "%zu runs (seeds %" PRIu64 " to %" PRIu64 "); figures are their means "
		        "± 2 standard deviations of a single run.", s->runs, first,
		        first + s->runs - 1);
	else
		out_say(out, "One run (seed %" PRIu64 ").", first);
}

static void run_all(struct sim_study *s, const struct sim_outage_world *w,
                    const struct sim_outages *fixed)
{
	struct sim_times calls = { .at = NULL };

	for (size_t r = 0; r < s->runs; r++) {
		uint64_t seed = s->options->seed + r;
		struct sim_outages drawn = { .list = NULL };
		struct sim_outage_world world = *w;

		world.outages = fixed;
		if (!fixed) {
			/* Those that begin later are there for the last requests' retries. */
			sim_outages_draw(&drawn, &s->options->shape, s->window + AFTER, seed);
			world.outages = &drawn;
		}
		s->down[r] = (double)sim_outages_down(world.outages, s->window) / (double)s->window;
		for (size_t p = 0; p < s->policies->count; p++)
			sim_outage_run(&world, &s->policies->list[p].policy, seed,
			               &s->results[p * s->runs + r],
			               r == 0 && s->options->svg ? &s->load[p] : &calls);
		if (r == 0)
			sim_outages_set(&s->outages, world.outages->list, world.outages->count);
		if (r == 0 && fixed) {
			s->outages.given = fixed->given;
			s->outages.sum = fixed->sum;
		}
		sim_outages_free(&drawn);
	}
	sim_times_free(&calls);
}

#define STEPS 200
#define SHOWN 25 /* more outages than this would be a blur */

static bool draw(const struct sim_study *s)
{
	size_t count = s->policies->count;
	struct sim_plot_line *lines = calloc(count, sizeof(*lines));
	const struct sim_outages *o = &s->outages;
	int64_t until = o->count > SHOWN && o->list[SHOWN].start < s->window
	                        ? o->list[SHOWN].start : s->window;
	struct sim_plot plot = { .title = "Retry policies against outages",
	                         .lines = lines,
	                         .line_count = count,
	                         .compare = true,
	                         .finest = 0.5 / ((double)s->options->requests * (double)s->runs),
	                         .steps = STEPS,
	                         .step = until / STEPS + 1,
	                         .per = DUR_S,
	                         .base = (double)DUR_S / (double)s->options->every,
	                         .outages = o->list,
	                         .outage_count = o->count };
	char subtitle[256], title[160], every[32], shown[32];
	bool good;

	if (!lines)
		return false;
	snprintf(subtitle, sizeof(subtitle), "%" PRIu64 " requests, one every %s; the server is down "
	         "%.1f %% of the time; %zu run%s", s->options->requests,
	         sim_time_text(every, sizeof(every), s->options->every),
	         100 * sim_stat(s->down, s->runs).mean, s->runs, s->runs > 1 ? "s" : "");
	snprintf(title, sizeof(title), "Attempts per second, the first %s of the run with seed %"
	         PRIu64, sim_time_text(shown, sizeof(shown), until), s->options->seed);
	plot.subtitle = subtitle;
	plot.load_title = title;
	for (size_t i = 0; i < count; i++)
		lines[i] = (struct sim_plot_line){
			.name = s->policies->list[i].policy.name,
			.success = sim_study_stat(s, i, sim_success),
			.attempts = sim_study_stat(s, i, sim_attempts),
			.load = sim_plot_load(&s->load[i], plot.step, STEPS)
		};
	good = sim_svg_write(s->options->svg, &plot);
	for (size_t i = 0; i < count; i++)
		free((uint32_t *)lines[i].load);
	free(lines);
	return good;
}

/* What looks like a useless policy may be one that is not meant for this error. */
static void note_not_retried(struct out *out, const struct sim_study *s)
{
	struct err e = s->options->error;

	for (size_t i = 0; i < s->policies->count; i++) {
		const struct policy *p = &s->policies->list[i].policy;

		if (p->max_attempts > 1 && !policy_retries(p, OP_CONNECT, e, e.code, false))
			out_say(out, "Note: %s does not retry %s (retry_on).", p->name, err_name(e));
	}
}

static void note_no_outage(struct out *out, const struct sim_study *s)
{
	if (sim_stat(s->down, s->runs).mean == 0)
		out_say(out, "Note: the server is never down in this time; only the share that fails "
		        "(--fail) is to be seen here.");
}

int sim_outage_main(const struct sim_options *o, const struct sim_policies *p, struct out *out)
{
	struct sim_outage_world w = { .requests = o->requests,
	                              .every = o->every,
	                              .latency = o->latency,
	                              .fail = o->fail,
	                              .error = o->error.code };
	struct sim_outages fixed = { .list = NULL };
	struct sim_study s;
	size_t runs = o->seeds ? o->seeds : o->requests > MANY ? 5 : 20;
	int status = EXIT_SUCCESS;

	if (o->timeline && !load_timeline(o, &fixed))
		return EXIT_FAILURE;
	sim_study_begin(&s, o, p, runs);
	s.window = sim_outage_window(&w);
	run_all(&s, &w, o->timeline ? &fixed : NULL);
	say_requests(out, &s);
	say_outages(out, &s);
	say_runs(out, &s);
	note_no_outage(out, &s);
	note_not_retried(out, &s);
	sim_show_table(out, &s, NULL);
	sim_show_words(out, &s);
	if (o->svg && !draw(&s))
		status = EXIT_FAILURE;
	sim_study_free(&s);
	sim_outages_free(&fixed);
	return status;
}
