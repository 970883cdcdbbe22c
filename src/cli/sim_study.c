/* SPDX-License-Identifier: MIT */
#include "cli/sim_study.h"

#include <math.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "cli/need.h"

void sim_study_begin(struct sim_study *s, const struct sim_options *o,
                     const struct sim_policies *p, size_t runs)
{
	*s = (struct sim_study){ .options = o, .policies = p, .runs = runs };
	s->results = need(calloc(p->count * runs, sizeof(*s->results)));
	s->load = need(calloc(p->count, sizeof(*s->load)));
	s->down = need(calloc(runs, sizeof(*s->down)));
	s->peaks = need(calloc(p->count * runs, sizeof(*s->peaks)));
}

void sim_study_free(struct sim_study *s)
{
	for (size_t i = 0; i < s->policies->count; i++)
		sim_times_free(&s->load[i]);
	sim_outages_free(&s->outages);
	free(s->results);
	free(s->load);
	free(s->down);
	free(s->peaks);
}

double sim_success(const struct sim_result *r)
{
	return r->success;
}

double sim_attempts(const struct sim_result *r)
{
	return r->attempts;
}

double sim_mean_ms(const struct sim_result *r)
{
	return r->mean_ms;
}

double sim_p50_ms(const struct sim_result *r)
{
	return r->p50_ms;
}

double sim_p95_ms(const struct sim_result *r)
{
	return r->p95_ms;
}

double sim_p99_ms(const struct sim_result *r)
{
	return r->p99_ms;
}

double sim_fail_ms(const struct sim_result *r)
{
	return r->fail_ms;
}

double sim_failures(const struct sim_result *r)
{
	return (double)r->failures;
}

double sim_peak(const struct sim_result *r)
{
	return r->peak_per_s;
}

double sim_wasted(const struct sim_result *r)
{
	return (double)r->wasted;
}

struct sim_stat sim_study_stat(const struct sim_study *s, size_t policy, sim_figure_fn *figure)
{
	double *values = need(calloc(s->runs, sizeof(*values)));
	struct sim_stat stat;

	for (size_t r = 0; r < s->runs; r++)
		values[r] = figure(&s->results[policy * s->runs + r]);
	stat = sim_stat(values, s->runs);
	free(values);
	return stat;
}

struct sim_stat sim_study_difference(const struct sim_study *s, size_t policy, size_t other,
                                     sim_figure_fn *figure)
{
	double *values = need(calloc(s->runs, sizeof(*values)));
	struct sim_stat stat;

	for (size_t r = 0; r < s->runs; r++)
		values[r] = figure(&s->results[policy * s->runs + r]) -
		            figure(&s->results[other * s->runs + r]);
	stat = sim_stat(values, s->runs);
	free(values);
	return stat;
}

void sim_stat_text(char *text, size_t size, struct sim_stat stat, int decimals)
{
	if (isnan(stat.mean))
		snprintf(text, size, "-");
	else if (stat.two_sd * pow(10, decimals) < 0.5)
		snprintf(text, size, "%.*f", decimals, stat.mean);
	else
		snprintf(text, size, "%.*f ± %.*f", decimals, stat.mean, decimals, stat.two_sd);
}

const char *sim_time_text(char *text, size_t size, int64_t ns)
{
	struct fmt f;

	fmt_init(&f, text, size);
	fmt_dur(&f, ns);
	fmt_end(&f);
	return text;
}
