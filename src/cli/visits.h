/* SPDX-License-Identifier: MIT */
/*
 * visits.h - how long clients of "stats --serve" have taken. libmicrohttpd ends a
 * connection only once nothing at all comes for a while; one byte now and then would
 * keep one of few places for ever.
 */
#ifndef LIBRETRY_CLI_VISITS_H
#define LIBRETRY_CLI_VISITS_H

#include <stdbool.h>
#include <stdint.h>

#define VISITS_MAX 64

struct visit {
	int fd;
	int64_t since; /* ns: its connection was made, or its last answer was complete */
	bool open;
	bool told;     /* that its time is over */
};

struct visits {
	struct visit at[VISITS_MAX];
};

/* NULL: there is no room, and it is not watched. */
struct visit *visits_begin(struct visits *v, int fd, int64_t now);

/* An answer is complete: the time of the next request begins. */
void visits_answered(struct visit *visit, int64_t now);

void visits_end(struct visit *visit);

/* One that has taken <longest> ns or more at <now>, each once; NULL: none. */
struct visit *visits_over(struct visits *v, int64_t now, int64_t longest);

/* ns from <now> until one will have; DUR_NONE: there is none. */
int64_t visits_left(const struct visits *v, int64_t now, int64_t longest);

#endif
