/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/compat.h"
#include "cli/sim_study.h"

static struct sim_stat percent(struct sim_stat s)
{
	return (struct sim_stat){ 100 * s.mean, 100 * s.two_sd };
}

/* Of milliseconds: more where they are few. */
static int decimals(double ms)
{
	if (isnan(ms) || ms >= 100)
		return 0;
	return ms >= 10 ? 1 : 2;
}

static void cell_stat(struct out *out, struct sim_stat stat, int places)
{
	char text[64];

	sim_stat_text(text, sizeof(text), stat, places);
	out_cell(out, text);
}

static void cell_time(struct out *out, const struct sim_study *s, size_t policy,
                      sim_figure_fn *figure)
{
	struct sim_stat stat = sim_study_stat(s, policy, figure);

	out_cell_real(out, stat.mean, 3);
	cell_stat(out, stat, decimals(stat.mean));
}

static void cell_number(struct out *out, const struct sim_study *s, size_t policy,
                        sim_figure_fn *figure)
{
	struct sim_stat stat = sim_study_stat(s, policy, figure);

	out_cell_real(out, stat.mean, 2);
	cell_stat(out, stat, stat.mean < 10 && stat.mean != floor(stat.mean) ? 1 : 0);
}

void sim_show_table(struct out *out, const struct sim_study *s, const char *title)
{
	static const struct out_column columns[] = {
		{ "policy", "POLICY" }, { "success", NULL }, { NULL, "SUCCESS %" },
		{ "attempts", NULL }, { NULL, "ATTEMPTS" }, { "mean_ms", NULL }, { NULL, "MEAN MS" },
		{ "p50_ms", NULL }, { NULL, "P50" }, { "p95_ms", NULL }, { NULL, "P95" },
		{ "p99_ms", NULL }, { NULL, "P99" }, { "failures", NULL }, { NULL, "FAILURES" },
		{ "peak_per_s", NULL }, { NULL, "PEAK/S" }, { "wasted", NULL }, { NULL, "WASTED" }
	};

	out_table(out, "policies", title, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < s->policies->count; i++) {
		struct sim_stat success = sim_study_stat(s, i, sim_success);
		struct sim_stat attempts = sim_study_stat(s, i, sim_attempts);

		out_cell(out, s->policies->list[i].policy.name);
		out_cell_real(out, success.mean, 8);
		cell_stat(out, percent(success), s->options->requests >= 100000 ? 3 : 2);
		out_cell_real(out, attempts.mean, 6);
		cell_stat(out, attempts, 3);
		cell_time(out, s, i, sim_mean_ms);
		cell_time(out, s, i, sim_p50_ms);
		cell_time(out, s, i, sim_p95_ms);
		cell_time(out, s, i, sim_p99_ms);
		cell_number(out, s, i, sim_failures);
		cell_number(out, s, i, sim_peak);
		cell_number(out, s, i, sim_wasted);
	}
	out_table_end(out);
}

/* What those requests feel that did not succeed at once. */
static void say_times(struct fmt *f, const struct sim_study *s, size_t policy)
{
	double p50 = sim_study_stat(s, policy, sim_p50_ms).mean;
	double p95 = sim_study_stat(s, policy, sim_p95_ms).mean;
	double p99 = sim_study_stat(s, policy, sim_p99_ms).mean;
	double lost = sim_study_stat(s, policy, sim_fail_ms).mean;
	char text[160];

	if (p99 > p50) {
		snprintf(text, sizeof(text), "1 success in 20 takes %.*f ms or more, 1 in 100 %.*f ms "
		         "or more.", decimals(p95), p95, decimals(p99), p99);
		fmt_str(f, text);
	}
	if (!isnan(lost)) {
		snprintf(text, sizeof(text), "%sA failure comes after %.*f ms.", f->len ? " " : "",
		         decimals(lost), lost);
		fmt_str(f, text);
	}
}

/* What <policy> gives for what it takes, against the first one. */
static void say_price(struct fmt *f, const struct sim_study *s, size_t policy)
{
	struct sim_stat more = percent(sim_study_difference(s, policy, 0, sim_success));
	double calls = sim_study_stat(s, policy, sim_attempts).mean;
	double first = sim_study_stat(s, 0, sim_attempts).mean;
	const char *name = s->policies->list[0].policy.name;
	char points[64], text[256];
	bool less = more.mean < 0;

	more.mean = fabs(more.mean);
	sim_stat_text(points, sizeof(points), more, 2);
	if (more.mean < 0.005 && more.two_sd < 0.005)
		snprintf(text, sizeof(text), ": as with %s", name);
	else
		snprintf(text, sizeof(text), ": %s points %s than with %s", points,
		         less ? "less" : "more", name);
	fmt_str(f, text);
	if (fabs(calls / first - 1) < 0.0005)
		snprintf(text, sizeof(text), ", for as many attempts");
	else
		snprintf(text, sizeof(text), ", for %.1f %% %s attempts",
		         100 * fabs(calls / first - 1), calls < first ? "fewer" : "more");
	fmt_str(f, text);
}

/* Whether the runs leave it open which of the two succeeds more often: zero is within
 * two standard errors of the mean difference. */
static bool undecided(const struct sim_study *s, size_t a, size_t b)
{
	struct sim_stat d = sim_study_difference(s, a, b, sim_success);

	return d.two_sd > 0 && fabs(d.mean) * sqrt((double)s->runs) <= d.two_sd;
}

static void say_undecided(struct out *out, const struct sim_study *s)
{
	for (size_t a = 0; a < s->policies->count; a++)
		for (size_t b = a + 1; b < s->policies->count; b++)
			if (s->runs > 1 && undecided(s, a, b))
				out_say(out, "  Which of %s and %s succeeds more often, %zu runs "
				        "do not tell.", s->policies->list[a].policy.name,
				        s->policies->list[b].policy.name, s->runs);
}

void sim_show_words(struct out *out, const struct sim_study *s)
{
	int places = s->options->requests >= 100000 ? 3 : 2;

	out_say(out, "%s", "");
	out_say(out, "PEAK/S: most attempts in any second; WASTED: attempts while the server is down.");
	out_say(out, "%s", "");
	out_say(out, "In words:");
	for (size_t i = 0; i < s->policies->count; i++) {
		double success = 100 * sim_study_stat(s, i, sim_success).mean;
		double most = 100 - pow(10, -places);
		char price[320], times[320];
		struct fmt f;

		fmt_init(&f, price, sizeof(price));
		if (i > 0)
			say_price(&f, s, i);
		fmt_end(&f);
		fmt_init(&f, times, sizeof(times));
		say_times(&f, s, i);
		fmt_end(&f);
		/* 100 % only if there was no failure. */
		out_say(out, "  %s: %s%.*f %% of requests succeed%s.",
		        s->policies->list[i].policy.name,
		        success < 100 && success > most ? "over " : "", places,
		        success < 100 && success > most ? most : success, price);
		if (i > 0 && times[0])
			out_say(out, "    %s", times);
	}
	say_undecided(out, s);
	if (s->runs == 1)
		out_say(out, "  One run only: how far chance may move these, --seeds=20 tells.");
}
