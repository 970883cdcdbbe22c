/* SPDX-License-Identifier: MIT */
#include "engine/walk.h"

#include <errno.h>
#include <string.h>

#include "policy/classify.h"
#include "state/habit.h"
#include "state/tried.h"

bool walk_applies(const struct walk *w)
{
	return w->name && w->name->count + w->name->more > 1 &&
	       w->policy->address_walk == WALK_DETECT;
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

/* How long an event loop must have been quiet for its next connect to be one that
 * comes back. */
#define QUIET (100 * DUR_MS)

static bool is_left(const struct walk *w, uint32_t left, unsigned i)
{
	return i != w->name->self && (left >> i & 1);
}

/*
 * True if one of the addresses that the program has still to try could answer; *to
 * is one. This machine's own addresses are asked for a listener; a remote one is
 * taken as possible, and so is one of which only the hash is kept.
 */
static bool other_could_answer(const struct walk *w, uint32_t left, int error, struct addr *to)
{
	*to = *w->addr;
	if (left & TRIED_NOT_MORE)
		return true;
	for (unsigned i = 0; i < w->name->count; i++) {
		if (!is_left(w, left, i))
			continue;
		*to = address_at(w, i);
		if (family_absent(error) || w->ops->listening(w->ctx, to) != 0)
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
 * address of that walk, however long the list is, and not with later walks. */
static bool in_grace(const struct walk *w, int64_t began, bool first)
{
	int64_t exhausted = names_exhausted_at(w->name, w->addr->port);

	if (!exhausted || dur_sub(began, exhausted) >= NAME_GRACE)
		return false;
	if (names_exhausted_walk(w->name, first))
		walk_exhausted(w, w->ops->now(w->ctx));
	return true;
}

static int64_t pause_of(const struct walk *w)
{
	if (!w->behind_waits)
		return 0;
	return w->in_crowd ? DUR_NONE : QUIET;
}

enum reason walk_first_failure(const struct walk *w, int error, int64_t began)
{
	struct err err = { ERR_ERRNO, error };
	struct addr to;
	uint32_t left;

	if (!walk_applies(w))
		return REASON_NONE;
	left = tried_failed(w->name, w->addr->port, began, w->ops->now(w->ctx));
	/* An error that nobody retries needs no looking around. */
	if (!policy_retries(w->policy, OP_CONNECT, err, error, false) ||
	    w->policy->max_attempts <= 1)
		return REASON_NONE;
	if (habit_came_back(w->name, w->addr->port, began, pause_of(w)) == HABIT_FIRST_ONLY)
		return REASON_NONE;
	if (in_grace(w, began, tried_is_first(w->name, left)))
		return REASON_NAME_EXHAUSTED;
	if (!left || !other_could_answer(w, left, error, &to))
		return REASON_NONE;
	walk_went_back(w);
	return REASON_OTHER_ADDRESS;
}

bool walk_other_alive(const struct walk *w, bool moved, struct addr *to, bool *untried)
{
	uint32_t left;

	if (!walk_applies(w) || habit_known(w->name, w->addr->port) == HABIT_FIRST_ONLY ||
	    w->ops->listening(w->ctx, w->addr) == 1)
		return false;
	left = tried_left(w->name, w->addr->port);
	for (unsigned i = 0; i < w->name->count; i++) {
		struct addr a = address_at(w, i);

		*untried = left >> i & 1;
		if (addr_same_ip(&a, w->addr) ||
		    (moved && !*untried && !tried_by_thread(w->name, w->addr->port, i)))
			continue;
		if (w->ops->listening(w->ctx, &a) == 1) {
			*to = a;
			return true;
		}
	}
	return false;
}

bool walk_others_turn(const struct walk *w, struct addr *to)
{
	uint32_t left;

	if (!walk_applies(w) || habit_known(w->name, w->addr->port) != HABIT_WALKS)
		return false;
	left = tried_left(w->name, w->addr->port);
	return left && !(left & TRIED_OVER) && other_could_answer(w, left, 0, to);
}

void walk_exhausted(const struct walk *w, int64_t now)
{
	/* Who uses one address only gets a series each time. */
	if (!walk_applies(w) || habit_known(w->name, w->addr->port) == HABIT_FIRST_ONLY)
		return;
	names_set_exhausted(w->name, w->addr->port, now);
	tried_goes_on(w->name, w->addr->port, now);
}

void walk_succeeded(const struct walk *w)
{
	if (walk_applies(w))
		tried_succeeded(w->name, w->addr->port);
}
