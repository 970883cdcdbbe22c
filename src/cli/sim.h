/* SPDX-License-Identifier: MIT */
/*
 * sim.h - what the worlds of "simulate" have in common. Everything runs on
 * virtual clocks in ns that begin at 0, and follows from its seed.
 */
#ifndef LIBRETRY_CLI_SIM_H
#define LIBRETRY_CLI_SIM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/prng.h"
#include "policy/inject.h"
#include "policy/policy.h"

/* What one run of one policy came to. */
struct sim_result {
	const char *policy;  /* its name, as asked for */
	double success;      /* 0 to 1 */
	double attempts;     /* mean per request */
	double mean_ms;      /* of successful requests, end to end; NAN if there is none, */
	double p50_ms, p95_ms, p99_ms; /* and these */
	uint64_t requests;
	uint64_t failures;   /* requests that failed */
	uint64_t calls;      /* attempts in all */
	double peak_per_s;   /* most attempts in any second of the run */
	uint64_t wasted;     /* attempts that were made during an outage */
	double fail_ms;      /* mean of failed requests, until they failed; NAN: none */
};

/*
 * sim_times.c: a growing list of times or durations (ns). Begin with zeros.
 * Memory that runs out ends the command with a message.
 */
struct sim_times {
	int64_t *at;
	size_t count, room;
	bool sorted;
};

void sim_times_add(struct sim_times *t, int64_t ns);
void sim_times_clear(struct sim_times *t); /* keeps the memory */
void sim_times_free(struct sim_times *t);
void sim_times_sort(struct sim_times *t);
/* The value at <share> (0 to 1) of the sorted list, NAN if it is empty; sorts. */
double sim_times_quantile_ms(struct sim_times *t, double share);
double sim_times_mean_ms(const struct sim_times *t);
/* The most of them within any <window> ns (its end not included); sorts. */
size_t sim_times_peak(struct sim_times *t, int64_t window);

/*
 * Fills in <r> from the lists: how long each successful request took, how long each
 * one that failed, and when every attempt was made. .policy and .wasted stay.
 */
void sim_result_fill(struct sim_result *r, struct sim_times *successes,
                     struct sim_times *failures, struct sim_times *calls);

/* Over several runs: the mean, and two standard deviations of a single run (0 for
 * one run). NANs do not count; all NAN: NAN. */
struct sim_stat {
	double mean, two_sd;
};

struct sim_stat sim_stat(const double *values, size_t count);

/* Independent streams: the state of number <index> of <kind> under <seed>. */
enum sim_stream { SIM_STREAM_WORLD = 1, SIM_STREAM_JITTER, SIM_STREAM_OUTAGES };
struct prng sim_stream(uint64_t seed, enum sim_stream kind, uint64_t index);
/* Uniform in [0, 1) from 64 random bits. */
double sim_uniform(uint64_t random);

/*
 * sim_call.c: one blocking connect of a program, made by the engine that ships
 * (engine_connect) on a clock of its own. <attempt> is the world's: it makes one
 * attempt that begins at call->now, moves .now to its end, and returns 0 or an
 * errno value. One longer than the policy's attempt_timeout is cut to it.
 */
struct sim_call;
typedef int sim_attempt_fn(struct sim_call *call);

struct sim_call {
	const struct policy *policy;
	sim_attempt_fn *attempt;
	void *world;
	int64_t now;        /* in: when the program calls; out: when it returns */
	struct prng jitter; /* the engine's random numbers */
	unsigned attempts;  /* out: made */
	int64_t waited;     /* out: ns in waits */
};

/* What the program gets: 0 or an errno value. */
int sim_call(struct sim_call *call);

/*
 * sim_outage.c: requests at a fixed pace, each on its own, against a server that
 * is down at times. Request <i> of <seed> meets the same outages and the same
 * healthy failures whatever the policy.
 */
struct sim_outages {
	struct interval *list; /* sorted, merged where they overlap */
	size_t count;
	size_t given;          /* before they were merged */
	int64_t sum;           /* ns, overlaps counted twice */
};

/* A sorted and merged copy of <list>. */
void sim_outages_set(struct sim_outages *o, const struct interval *list, size_t count);
/* A Poisson process of <shape> from 0 to <horizon>. */
void sim_outages_draw(struct sim_outages *o, const struct outage *shape, int64_t horizon,
                      uint64_t seed);
void sim_outages_free(struct sim_outages *o);
/* Whether the server is down at <at>. By time, so a later question about an
 * earlier time is answered right. */
bool sim_outages_cover(const struct sim_outages *o, int64_t at);
/* Time down (ns) from 0 to <until>. */
int64_t sim_outages_down(const struct sim_outages *o, int64_t until);

struct sim_outage_world {
	uint64_t requests;
	int64_t every, latency; /* ns; a failed attempt takes <latency>, too */
	int64_t fail;           /* ppm, of attempts while the server is up */
	int error;              /* errno value of every failure */
	const struct sim_outages *outages;
};

/* When the last request begins, and its first attempt ends. */
int64_t sim_outage_window(const struct sim_outage_world *w);

/* One run. <calls> gets the times of all attempts, sorted; what it held is gone. */
void sim_outage_run(const struct sim_outage_world *w, const struct policy *p, uint64_t seed,
                    struct sim_result *r, struct sim_times *calls);

/*
 * sim_herd.c: <clients> lose the server at the same moment, and it stays away. The
 * calls themselves take no time. *peak: the most retries within any <window> ns.
 */
void sim_herd_run(uint64_t clients, const struct policy *p, int64_t window, uint64_t seed,
                  struct sim_result *r, size_t *peak, struct sim_times *calls);

#endif
