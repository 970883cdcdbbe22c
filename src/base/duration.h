/* SPDX-License-Identifier: MIT */
/*
 * duration.h - time as signed 64-bit nanoseconds.
 *
 * All arithmetic saturates at DUR_NONE: "no limit" is the largest value, so
 * that adding to it or comparing with it needs no special case. Pure, safe in
 * signal handlers, errno untouched.
 */
#ifndef LIBRETRY_BASE_DURATION_H
#define LIBRETRY_BASE_DURATION_H

#include <stdint.h>
#include <time.h>

#define DUR_US INT64_C(1000)
#define DUR_MS INT64_C(1000000)
#define DUR_S INT64_C(1000000000)
#define DUR_NONE INT64_MAX

/* The range that the configuration accepts (feature table, 4.2). */
#define DUR_MIN_CONFIG DUR_US
#define DUR_MAX_CONFIG (INT64_C(24) * 3600 * DUR_S)

enum dur_status {
	DUR_OK = 0,
	DUR_EMPTY,      /* "" */
	DUR_NO_UNIT,    /* "100" */
	DUR_BAD_UNIT,   /* "100 parsecs" */
	DUR_BAD_NUMBER, /* "-1s", "1..2s", "abc" */
	DUR_TOO_SMALL,  /* not zero, but under 1us */
	DUR_TOO_LARGE   /* over 24h */
};

/*
 * Reads <text>: digits, optionally a point and digits, then ns, us, ms, s, m
 * or h; "0" needs no unit. Zero is accepted here; whether it makes sense is
 * the caller's to say. On DUR_OK <ns> is set, else untouched. "none" is not
 * known here: it is allowed for some fields only.
 */
enum dur_status dur_parse(const char *text, int64_t *ns);

/* What is wrong, for people, as a clause: "has no unit". */
const char *dur_status_text(enum dur_status status);

/* Saturating at both ends. DUR_NONE absorbs; anything else minus DUR_NONE is
 * the smallest value. */
int64_t dur_add(int64_t a, int64_t b);
int64_t dur_sub(int64_t a, int64_t b);

/* <sec> seconds and <ns>, both >= 0, as in a struct of libc's; saturating. */
int64_t dur_of(int64_t sec, int64_t ns);

/* <ns> * <ppm> / 1000000, rounded down, saturating. <ns> and <ppm> >= 0;
 * DUR_NONE stays DUR_NONE. */
int64_t dur_scale(int64_t ns, int64_t ppm);

/* As a timespec; negative counts as 0, DUR_NONE as the largest the kernel
 * takes without overflow. */
struct timespec dur_timespec(int64_t ns);

#endif
