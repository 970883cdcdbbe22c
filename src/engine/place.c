/* SPDX-License-Identifier: MIT */
#include "engine/place.h"

#include <string.h>

#include "base/compat.h"

void place_log(const struct places *p, enum event_kind kind, const struct addr *from,
               const char *to, enum reason reason)
{
	struct event e;

	memset(&e, 0, sizeof(e));
	e.kind = kind;
	e.op = OP_CONNECT;
	e.dest = p->dest;
	e.addr = from;
	e.to = to;
	e.reason = reason;
	e.policy = p->policy ? p->policy->name : NULL;
	if (p->rule)
		e.rule = p->rule->source;
	e.left = DUR_NONE;
	p->ops->log(p->ctx, &e);
}

void place_log_moved(const struct places *p, const struct addr *from, const struct addr *to)
{
	char text[ADDR_TEXT_MAX];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	addr_fmt(&f, to);
	fmt_end(&f);
	place_log(p, EVENT_FALLBACK, from, text, REASON_NONE);
}

void place_log_observed(const struct places *p, unsigned attempts, const struct addr *from)
{
	if (p->rule && p->rule->fallback_count > 0 && attempts >= p->rule->fallback_after)
		place_log(p, EVENT_WOULD_FALLBACK, from, p->rule->fallback[0].text, REASON_NONE);
}

bool place_reach(const struct places *p, const struct addr *from, const struct addr *want,
                 struct addr *to)
{
	bool mapped = from->mapped;

	if (from->family == AF_UNIX ||
	    (want->family != from->family &&
	     !p->ops->change_family(p->ctx, p->fd, want->family, !p->wait, &mapped)))
		return false;
	*to = *want;
	to->mapped = mapped;
	return true;
}

/* One of the <count> addresses at <ips> of a name, those of <own_family> only,
 * or only the others. */
static bool reach_one(const struct places *p, const struct addr *from, uint16_t port,
                      const struct name_ip *ips, unsigned count, bool own_family,
                      struct addr *to)
{
	for (unsigned i = 0; i < count; i++) {
		struct addr a;

		if ((ips[i].family == from->family) != own_family)
			continue;
		memset(&a, 0, sizeof(a));
		a.family = ips[i].family;
		a.port = port;
		memcpy(a.ip, ips[i].ip, sizeof(a.ip));
		if (place_reach(p, from, &a, to))
			return true;
	}
	return false;
}

static LR_NOINLINE bool reach_name(const struct places *p, const struct addr *from,
                                   const struct endpoint *e, struct addr *to)
{
	struct name_ip ips[NAMES_ADDRS];
	unsigned count = p->ops->resolve(p->ctx, e->host, p->wait, ips);

	return reach_one(p, from, e->addr.port, ips, count, true, to) ||
	       reach_one(p, from, e->addr.port, ips, count, false, to);
}

bool place_find(const struct places *p, const struct addr *from, const struct endpoint *e,
                struct addr *to)
{
	if (from->family == AF_UNIX)
		return false;
	if (e->host ? reach_name(p, from, e, to) : place_reach(p, from, &e->addr, to))
		return true;
	if (p->ops->log_wants(p->ctx, LOG_DEBUG_LEVEL))
		place_log(p, EVENT_PASSED, from, e->text, REASON_UNUSABLE);
	return false;
}

unsigned place_next(const struct places *p, unsigned at, unsigned attempts,
                    const struct addr *from, struct addr *to)
{
	const struct rule *r = p->rule;

	if (!r || r->fallback_count == 0 || attempts < r->fallback_after)
		return at;
	for (unsigned i = 0; i < r->fallback_count; i++) {
		at = at == r->fallback_count ? 0 : at + 1;
		if (at == 0 || place_find(p, from, &r->fallback[at - 1], to))
			return at;
	}
	return 0;
}
