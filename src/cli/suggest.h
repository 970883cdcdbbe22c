/* SPDX-License-Identifier: MIT */
/* suggest.h - "libretry suggest": what it was given, found out, and tells. */
#ifndef LIBRETRY_CLI_SUGGEST_H
#define LIBRETRY_CLI_SUGGEST_H

#include "cli/advise.h"
#include "cli/out.h"
#include "cli/outages.h"

struct suggest {
	const char *path;
	const char *dest;  /* only this one; NULL: all */
	double target;     /* 0 to 1 */
	int64_t within, gap;
	int64_t latency;   /* ns; DUR_NONE: as in the log */
	bool json;
	bool timeline;     /* <path> is one; else a log */
	bool damaged;      /* the log has lines that could not be read */
	struct seen seen;  /* of a timeline: one destination without a name */
};

/* What was found out about one destination. */
struct suggestion {
	const struct dest_seen *dest;
	char name[96];     /* of the policy */
	int64_t shortest, median, longest, down; /* ns */
	size_t open;       /* outages without an end */
	size_t counted;    /* outages of some length, overlaps merged */
	int64_t latency;   /* ns, of a failed attempt */
	bool possible;     /* .advice is filled in */
	struct advice advice;
};

/* Prints all of it: for people as a file that libretry can read. */
void suggest_say(struct out *o, const struct suggest *s, const struct suggestion *list,
                 size_t count);

#endif
