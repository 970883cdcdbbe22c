/* SPDX-License-Identifier: MIT */
#include "engine/walk.h"

#include <errno.h>
#include <string.h>

#include "policy/classify.h"

bool walk_applies(const struct walk *w)
{
	return w->name && w->name->count > 1 && w->policy->address_walk == WALK_DETECT;
}

static struct addr address_at(const struct walk *w, unsigned i)
{
	const struct name_ip *ip = &w->name->ips[i];
	struct addr a;

	memset(&a, 0, sizeof(a));
	a.family = ip->family;
	a.port = w->addr->port;
	memcpy(a.ip, ip->ip, sizeof(a.ip));
	return a;
}

/* Errors that speak of the address family and not of the server: waiting here
 * is pointless while the program has another address to try. */
static bool family_absent(int error)
{
	return error == EADDRNOTAVAIL || error == ENETUNREACH;
}

/*
 * True if one of the addresses that the program has still to try could answer.
 * This machine's own addresses are asked for a listener; a remote one is taken
 * as possible.
 */
static bool other_could_answer(const struct walk *w, uint32_t untried, int error)
{
	for (unsigned i = 0; i < w->name->count; i++) {
		struct addr a;

		if (i == w->name->self || !(untried >> i & 1))
			continue;
		if (family_absent(error))
			return true;
		a = address_at(w, i);
		if (w->ops->listening(w->ctx, &a) != 0)
			return true;
	}
	return false;
}

enum reason walk_first_failure(const struct walk *w, int error, int64_t now)
{
	struct err err = { ERR_ERRNO, error };
	uint32_t untried;
	int64_t exhausted;

	if (!walk_applies(w))
		return REASON_NONE;
	untried = names_tried(w->name);
	/* An error that nobody retries needs no looking around. */
	if (!policy_retries(w->policy, OP_CONNECT, err, error, false) ||
	    w->policy->max_attempts <= 1)
		return REASON_NONE;
	exhausted = names_exhausted_at(w->name, w->addr->port);
	if (exhausted && dur_sub(now, exhausted) < NAME_GRACE)
		return REASON_NAME_EXHAUSTED;
	if (untried && other_could_answer(w, untried, error))
		return REASON_OTHER_ADDRESS;
	return REASON_NONE;
}

bool walk_other_alive(const struct walk *w, struct addr *to, bool *untried)
{
	uint32_t left;

	if (!walk_applies(w) || w->ops->listening(w->ctx, w->addr) == 1)
		return false;
	left = names_untried(w->name);
	for (unsigned i = 0; i < w->name->count; i++) {
		struct addr a = address_at(w, i);

		if (!addr_same_ip(&a, w->addr) && w->ops->listening(w->ctx, &a) == 1) {
			*to = a;
			*untried = left >> i & 1;
			return true;
		}
	}
	return false;
}

void walk_exhausted(const struct walk *w, int64_t now)
{
	if (walk_applies(w))
		names_set_exhausted(w->name, w->addr->port, now);
}
