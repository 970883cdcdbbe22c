/* SPDX-License-Identifier: MIT */
/*
 * sim_study.h - what a command line of "simulate" comes to: every policy in every
 * run, the tables and words about them, the picture.
 */
#ifndef LIBRETRY_CLI_SIM_STUDY_H
#define LIBRETRY_CLI_SIM_STUDY_H

#include "cli/out.h"
#include "cli/sim_options.h"

struct sim_study {
	const struct sim_options *options;
	const struct sim_policies *policies;
	size_t runs;
	struct sim_result *results;  /* of policy p in run r: [p * runs + r] */
	struct sim_times *load;      /* of policy p in the first run: [p] */
	struct sim_outages outages;  /* of the first run */
	int64_t window;              /* ns, of the requests */
	double *down;                /* share of the time (0 to 1): [r] */
	size_t *peaks;               /* of the herd: [p * runs + r] */
};

void sim_study_begin(struct sim_study *s, const struct sim_options *o,
                     const struct sim_policies *p, size_t runs);
void sim_study_free(struct sim_study *s);

/* A figure of <policy> over all runs. */
typedef double sim_figure_fn(const struct sim_result *r);
struct sim_stat sim_study_stat(const struct sim_study *s, size_t policy,
                               sim_figure_fn *figure);
double sim_success(const struct sim_result *r);
double sim_attempts(const struct sim_result *r);
double sim_mean_ms(const struct sim_result *r);
double sim_p50_ms(const struct sim_result *r);
double sim_p95_ms(const struct sim_result *r);
double sim_p99_ms(const struct sim_result *r);
double sim_fail_ms(const struct sim_result *r);
double sim_failures(const struct sim_result *r);
double sim_peak(const struct sim_result *r);
double sim_wasted(const struct sim_result *r);

/* By how much <figure> of <policy> is above that of <other>, run by run. */
struct sim_stat sim_study_difference(const struct sim_study *s, size_t policy, size_t other,
                                     sim_figure_fn *figure);

/* "99.42 ± 0.05", without what rounds to zero; "-" for NAN. */
void sim_stat_text(char *text, size_t size, struct sim_stat stat, int decimals);

/* "1.5s", for people; returns <text>. */
const char *sim_time_text(char *text, size_t size, int64_t ns);

/*
 * Each world: runs it and prints. Returns the exit status.
 */
int sim_outage_main(const struct sim_options *o, const struct sim_policies *p, struct out *out);
int sim_legacy_main(const struct sim_options *o, struct out *out);
int sim_herd_main(const struct sim_options *o, const struct sim_policies *p, struct out *out);
int sim_overload_main(const struct sim_options *o, const struct sim_policies *p,
                      struct out *out);
int sim_contention_main(const struct sim_options *o, const struct sim_policies *p,
                        struct out *out);
int sim_budget_main(const struct sim_options *o, struct out *out);

/* sim_show.c: the table of one row per policy, and what it says in words. */
void sim_show_table(struct out *out, const struct sim_study *s, const char *title);
void sim_show_words(struct out *out, const struct sim_study *s);

#endif
