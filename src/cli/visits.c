/* SPDX-License-Identifier: MIT */
#include "cli/visits.h"

#include <stddef.h>

#include "base/duration.h"

struct visit *visits_begin(struct visits *v, int fd, int64_t now)
{
	for (unsigned i = 0; i < VISITS_MAX; i++) {
		struct visit *visit = &v->at[i];

		if (visit->open)
			continue;
		*visit = (struct visit){ .fd = fd, .since = now, .open = true };
		return visit;
	}
	return NULL;
}

void visits_answered(struct visit *visit, int64_t now)
{
	if (visit)
		visit->since = now;
}

void visits_end(struct visit *visit)
{
	if (visit)
		visit->open = false;
}

struct visit *visits_over(struct visits *v, int64_t now, int64_t longest)
{
	for (unsigned i = 0; i < VISITS_MAX; i++) {
		struct visit *visit = &v->at[i];

		if (!visit->open || visit->told || dur_sub(now, visit->since) < longest)
			continue;
		visit->told = true;
		return visit;
	}
	return NULL;
}

int64_t visits_left(const struct visits *v, int64_t now, int64_t longest)
{
	int64_t least = DUR_NONE;

	for (unsigned i = 0; i < VISITS_MAX; i++) {
		const struct visit *visit = &v->at[i];
		int64_t left = dur_sub(dur_add(visit->since, longest), now);

		if (visit->open && !visit->told && left < least)
			least = left > 0 ? left : 0;
	}
	return least;
}
