/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - what is fed with bytes that nobody meant, each under a name. "make fuzz"
 * lets libFuzzer make the bytes (engine.c), "make check" takes those that are kept in
 * fuzz/corpus/NAME, and cut ones of them (corpus_main.c).
 *
 * A target accepts any bytes, and ends the process on a fault.
 */
#ifndef LIBRETRY_FUZZ_H
#define LIBRETRY_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void fuzz_fn(const uint8_t *data, size_t size);

/* The configuration file; the environment, NAME=VALUE a line; a timeline file. */
fuzz_fn fuzz_conf;
fuzz_fn fuzz_env;
fuzz_fn fuzz_timeline;
/* Durations; addresses and prefixes; two rules and a destination. */
fuzz_fn fuzz_duration;
fuzz_fn fuzz_addr;
fuzz_fn fuzz_match;
/* A line of the log. */
fuzz_fn fuzz_logline;

struct fuzz_target {
	const char *name;
	fuzz_fn *run;
};

/* The end is marked by a NULL name. */
extern const struct fuzz_target fuzz_targets[];

/* NULL: there is no such target. */
const struct fuzz_target *fuzz_find(const char *name);

/* A copy that ends with a NUL, as tight as can be; free() it. */
char *fuzz_text(const uint8_t *data, size_t size);

/* How many arenas of config/arena.h are in use: see arena.c. */
unsigned fuzz_arenas(void);

/* Like assert(), always. */
#define FUZZ_CHECK(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
			abort(); \
		} \
	} while (0)

#endif
