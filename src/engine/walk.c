/* SPDX-License-Identifier: MIT */
#include "engine/walk.h"

#include <errno.h>
#include <string.h>

#include "policy/classify.h"
#include "state/habit.h"

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

void walk_went_back(const struct walk *w)
{
	if (walk_applies(w))
		habit_went_back(w->name, w->addr->port, w->ops->now(w->ctx));
}

/* The name has just used up its retries. The time begins again with every further
 * address of it, however long the list is. */
static bool in_grace(const struct walk *w, int64_t began, bool goes_on)
{
	int64_t exhausted = names_exhausted_at(w->name, w->addr->port);

	if (!exhausted || dur_sub(began, exhausted) >= NAME_GRACE)
		return false;
	if (goes_on)
		walk_exhausted(w, w->ops->now(w->ctx));
	return true;
}

enum reason walk_first_failure(const struct walk *w, int error, int64_t began)
{
	struct err err = { ERR_ERRNO, error };
	uint32_t untried;
	bool goes_on;

	if (!walk_applies(w))
		return REASON_NONE;
	goes_on = names_untried(w->name) >> w->name->self & 1;
	untried = names_tried(w->name, began, w->ops->now(w->ctx));
	/* An error that nobody retries needs no looking around. */
	if (!policy_retries(w->policy, OP_CONNECT, err, error, false) ||
	    w->policy->max_attempts <= 1)
		return REASON_NONE;
	if (habit_came_back(w->name, w->addr->port, began) == HABIT_FIRST_ONLY)
		return REASON_NONE;
	if (in_grace(w, began, goes_on))
		return REASON_NAME_EXHAUSTED;
	if (!untried || !other_could_answer(w, untried, error))
		return REASON_NONE;
	walk_went_back(w);
	return REASON_OTHER_ADDRESS;
}

bool walk_other_alive(const struct walk *w, struct addr *to, bool *untried)
{
	uint32_t left;

	if (!walk_applies(w) || habit_known(w->name, w->addr->port) == HABIT_FIRST_ONLY ||
	    w->ops->listening(w->ctx, w->addr) == 1)
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
	/* Who uses one address only gets a series each time. */
	if (walk_applies(w) && habit_known(w->name, w->addr->port) != HABIT_FIRST_ONLY)
		names_set_exhausted(w->name, w->addr->port, now);
}
