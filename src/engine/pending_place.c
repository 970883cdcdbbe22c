/* SPDX-License-Identifier: MIT */
/* Where the attempts of a connect under way go. */
#include <string.h>

#include "base/compat.h"
#include "engine/pending_act.h"
#include "engine/place.h"

void act_aim(struct act *a, const struct addr *to)
{
	struct pending *p = a->ref.p;

	if (!p->home_len) {
		p->home_len = p->len < sizeof(p->home) ? p->len : (socklen_t)sizeof(p->home);
		memcpy(&p->home, &p->sa, p->home_len);
	}
	p->len = addr_to_sockaddr(to, &p->sa);
}

static uint8_t home_family(const struct act *a)
{
	socklen_t len;
	const struct sockaddr *sa = pend_home(a->ref.p, &len);
	struct addr home;

	return addr_from_sockaddr(&home, sa, len) ? home.family : AF_UNSPEC;
}

static struct places places_of(const struct act *a, const struct story *s)
{
	return (struct places){ .ops = a->ops,
	                        .ctx = a->ctx,
	                        .fd = act_number(a),
	                        .family = home_family(a),
	                        .rule = s->r.rule,
	                        .policy = s->r.policy,
	                        .dest = s->dest };
}

bool act_in_crowd(const struct act *a, const struct target *t)
{
	const struct name_entry *e = &t->name;
	struct pend_ref ref;

	fdtab_record_all();
	for (unsigned at = 0; fdtab_next(&at, &ref);) {
		socklen_t len;
		const struct sockaddr *sa = pend_home(ref.p, &len);
		struct addr its;
		bool same = false;

		if (ref.p == a->ref.p || !addr_from_sockaddr(&its, sa, len) ||
		    its.port != t->addr.port)
			continue;
		for (unsigned i = 0; i < e->count && !same; i++)
			same = its.family == e->ips[i].family &&
			       memcmp(its.ip, e->ips[i].ip, its.family == AF_INET ? 4 : 16) == 0;
		if (same)
			return true;
	}
	return false;
}

void act_log_observed(const struct act *a, const struct story *s)
{
	struct places places = places_of(a, s);

	place_log_observed(&places, s->r.attempt, &s->addr);
}

/* Where the attempts at the destination itself go. */
static bool find_home(const struct act *a, const struct target *t, struct places *places,
                      const struct addr *from, struct addr *to)
{
	const struct rule *rule = places->rule;

	if (a->ref.p->redirected && rule->redirect)
		return place_find(places, from, rule->redirect, to);
	return place_reach(places, from, &t->addr, to);
}

/* Whose turn is it after so many <attempts>: the destination's, or that of a place its
 * rule names? */
static LR_NOINLINE void fall_back(struct act *a, const struct target *t, unsigned attempts)
{
	struct pending *p = a->ref.p;
	struct places places;
	struct addr to;
	struct story s;
	unsigned place;

	/* A connection that was made is not moved. */
	if (p->op == OP_SEND || !p->rule || p->rule->fallback_count == 0)
		return;
	act_tell(&s, a, t);
	places = places_of(a, &s);
	place = place_next(&places, p->place, attempts, &s.addr, &to);
	if (place == p->place || (place == 0 && !find_home(a, t, &places, &s.addr, &to)))
		return;
	place_log_moved(&places, &s.addr, &to);
	act_aim(a, &to);
	p->place = place;
}

bool act_detour(struct act *a, const struct target *t)
{
	struct pending *p = a->ref.p;

	if (p->rule && p->rule->fallback_count > 0)
		fall_back(a, t, p->rule->fallback_after);
	return p->place > 0;
}

LR_NOINLINE void act_look_around(struct act *a)
{
	struct pending *p = a->ref.p;
	struct target t;
	struct walk w;
	struct addr to;
	bool untried;

	if (a->ops->stopping(a->ctx)) {
		p->last = true;
		p->why = REASON_STOPPING;
		return;
	}
	act_look_up(a, &t);
	w = act_walk(a, &t);
	if (p->place == 0 && walk_others_turn(&w, &to)) {
		untried = true;
	} else if (p->place > 0 || !walk_other_alive(&w, false, &to, &untried)) {
		fall_back(a, &t, p->attempt);
		return;
	}
	/* The program has to go there itself, and for that must see this one
	 * fail: the kernel will tell it. */
	p->last = true;
	p->why = REASON_OTHER_ADDRESS;
	if (untried)
		walk_went_back(&w);
	/* This attempt counts too. */
	names_set_pending(&t.name, t.addr.port, p->attempt + 1, p->waited);
	act_log_end(a, &t, EVENT_MOVED, &to);
}
