/* SPDX-License-Identifier: MIT */
/* shared.h - the health of the memory that programs share: for "doctor". Looks only;
 * makes and changes nothing. */
#ifndef LIBRETRY_CLI_SHARED_H
#define LIBRETRY_CLI_SHARED_H

#include <limits.h>

#include "cli/findings.h"
#include "cli/out.h"
#include "cli/segment.h"
#include "config/config.h"

/* Whose memory it is about. */
struct shared_who {
	int64_t uid;
	bool self;        /* it is who asks: so its groups are known */
	const char *root; /* "/proc/PID/root", of who sees other files; "": none */
};

struct shared_segment {
	struct segment at;
	bool wanted;  /* somebody may use it */
	bool present;
	bool usable;
	unsigned taken; /* places of SHM_SLOTS */
	uint64_t overflow;
};

struct shared {
	struct shared_segment user, group;
	char folder[PATH_MAX];
};

/* Fills <s> with what programs under <c> share, and adds what is wrong with it. */
void shared_findings(struct shared *s, const struct config *c, const struct shared_who *who,
                     struct findings *f);

/* Says of each segment which it is and how it is, or that nothing is shared. */
void shared_show(const struct shared *s, struct out *o);

#endif
