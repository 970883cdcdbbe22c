/* SPDX-License-Identifier: MIT */
/*
 * inject.h - faults that are made on purpose, to test with: which call is struck,
 * and by what. Pure; whoever makes the calls counts them and obeys.
 *
 * Everything follows from the fault, its index, the number of the call, the time
 * and a seed, so that a run can be repeated. Nothing is remembered here.
 */
#ifndef LIBRETRY_POLICY_INJECT_H
#define LIBRETRY_POLICY_INJECT_H

#include "policy/policy.h"

#define INJECT_FAULTS_MAX 64

/* A part of a timeline: from <start>, <end> not included; ns since the start. */
struct interval {
	int64_t start, end;
};

/* Outages that begin at random, <mean_gap> from one beginning to the next on
 * average (a Poisson process; they may overlap), each of a length between <min>
 * and <max>. All ns; mean_gap 0: none. */
struct outage {
	int64_t mean_gap, min, max;
};

struct fault {
	struct source source;
	enum op op;
	struct rule match;    /* its conditions only */
	struct err error;     /* .code 0: none */
	int64_t probability;  /* ppm */
	uint32_t first;       /* only the first N calls; 0: all */
	uint32_t every;       /* only each Nth; 0 and 1: all */
	uint32_t after;       /* not the first N calls, which then do not count */
	int64_t delay;        /* ns */
	int64_t delay_jitter; /* ns, more or less */
	uint32_t short_write; /* bytes; 0: none */
	bool reset;
	struct outage outage;
	const struct interval *timeline; /* NULL: none; only then */
	unsigned timeline_count;
};

struct inject_set {
	bool enabled;   /* in force; else only to be shown */
	bool seeded;    /* .seed counts; else each process draws its own */
	uint64_t seed;
	const struct fault *faults;
	unsigned count; /* at most INJECT_FAULTS_MAX */
};

/* What happens to one call. All zero: nothing. */
struct injection {
	struct err error;     /* .code 0: the call is made */
	int64_t delay;        /* ns, before it */
	uint32_t short_write; /* it is made with no more bytes; 0: all */
	bool reset;           /* the connection breaks; .error says how it shows */
};

/*
 * What <f>, fault number <index>, does to call number <nth> (from 1) of those
 * that it matches, at <since> ns after the start. False: nothing, and <i> is zero.
 * Bounded: some hundred steps for an outage, one per interval of a timeline.
 */
bool inject_decide(const struct fault *f, unsigned index, uint64_t nth, int64_t since,
                   uint64_t seed, struct injection *i);

/* Whether <o> of fault <index> is going on at <since>. */
bool inject_outage(const struct outage *o, unsigned index, int64_t since, uint64_t seed);

/* Whether <f> matches a call to <d>, its conditions only. As for destinations, a
 * link-local, multicast or broadcast address must be named. */
bool inject_matches(const struct fault *f, const struct dest *d);

/* Whether <op> can fail with <e>, by connect(2), send(2) and getaddrinfo(3).
 * *why (never NULL on false): a clause for people. */
bool inject_possible(enum op op, struct err e, const char **why);

#endif
