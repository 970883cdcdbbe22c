/* SPDX-License-Identifier: MIT */
/* sim_options.h - the command line of "simulate", read and checked. */
#ifndef LIBRETRY_CLI_SIM_OPTIONS_H
#define LIBRETRY_CLI_SIM_OPTIONS_H

#include "cli/sim.h"
#include "cli/sim_policies.h"

#define SIM_SEEDS_MAX 10000

struct sim_options {
	enum sim_kind world;
	bool json;
	bool legacy;          /* --legacy-cursor */
	bool shared;          /* as .hosts 1 */
	const char *svg;      /* NULL: no picture */
	const char *config;   /* --config */
	const char **policy;  /* each --policy */
	size_t policy_count;
	uint64_t seed, seeds; /* seeds 0: not said, the world knows */
	/* The outage world: */
	uint64_t requests;
	int64_t every, fail;  /* ns; ppm */
	bool every_given, fail_given;
	int64_t latency;      /* ns; 0: not said */
	struct err error;
	const char *timeline; /* NULL: drawn by .shape */
	const char *dest;     /* of a log that is the timeline; NULL: the one with most failures */
	struct outage shape;
	/* The others; 0: not said. */
	uint64_t clients, hosts, rate, capacity, queue;
	int64_t window, timeout, duration;
	int64_t down_from, down_to; /* -1: not said */
};

/* -1: go on; else the exit status, after help or a message. */
int sim_options_read(struct sim_options *o, int argc, char **argv);

/* "outage" ... */
const char *sim_kind_name(enum sim_kind world);

#endif
