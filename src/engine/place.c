/* SPDX-License-Identifier: MIT */
#include "engine/place.h"

#include <string.h>

#include "base/compat.h"
#include "base/prng.h"
#include "state/said.h"

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

/* A program that deals in IPv4 may have no room for the addresses of an IPv6
 * socket, where it asks for them. */
static bool is_strange(const struct places *p, const struct addr *want)
{
	return p->family == AF_INET && want->family == AF_INET6;
}

enum which { ANY, FAMILIAR, STRANGE };

static bool is_one(const struct places *p, const struct addr *want, enum which which)
{
	return which == ANY || is_strange(p, want) == (which == STRANGE);
}

/* One of the <count> addresses at <ips> of a name, those of <own_family> only,
 * or only the others. */
static bool reach_one(const struct places *p, const struct addr *from, uint16_t port,
                      const struct name_ip *ips, unsigned count, bool own_family,
                      enum which which, struct addr *to)
{
	for (unsigned i = 0; i < count; i++) {
		struct addr a;

		if ((ips[i].family == from->family) != own_family)
			continue;
		memset(&a, 0, sizeof(a));
		a.family = ips[i].family;
		a.port = port;
		memcpy(a.ip, ips[i].ip, sizeof(a.ip));
		if (is_one(p, &a, which) && place_reach(p, from, &a, to))
			return true;
	}
	return false;
}

/* A look-up that times out takes its second at least. */
static unsigned resolve(struct places *p, const char *host, struct name_ip *ips)
{
	int64_t began = p->patience > 0 ? p->ops->now(p->ctx) : 0;
	unsigned count = p->ops->resolve(p->ctx, host, p->patience, ips);
	int64_t took = p->patience > 0 ? dur_sub(p->ops->now(p->ctx), began) : 0;

	p->patience = took < DUR_S && took < p->patience ? p->patience - took : 0;
	return count;
}

static LR_NOINLINE bool reach_name(struct places *p, const struct addr *from,
                                   const struct endpoint *e, enum which which, struct addr *to)
{
	struct name_ip ips[NAMES_ADDRS];
	unsigned count = resolve(p, e->host, ips);
	uint16_t port = e->addr.port;

	return reach_one(p, from, port, ips, count, true, which, to) ||
	       reach_one(p, from, port, ips, count, false, which, to);
}

static bool find(struct places *p, const struct addr *from, const struct endpoint *e,
                 enum which which, struct addr *to)
{
	if (from->family == AF_UNIX)
		return false;
	if (e->host)
		return reach_name(p, from, e, which, to);
	return is_one(p, &e->addr, which) && place_reach(p, from, &e->addr, to);
}

bool place_find(struct places *p, const struct addr *from, const struct endpoint *e,
                struct addr *to)
{
	return find(p, from, e, ANY, to);
}

/* Once for each destination. */
static void log_unusable(const struct places *p, const struct addr *from,
                         const struct endpoint *e)
{
	uint64_t hash = hash_bytes(p->dest, strlen(p->dest), 0);

	hash = hash_bytes(&e, sizeof(e), hash);
	if (!said_before(hash_bytes(&p->wait, sizeof(p->wait), hash)))
		place_log(p, EVENT_FALLBACK, from, e->text, REASON_UNUSABLE);
}

/* The fallbacks stand in the ring twice: those that are no surprise to the program,
 * then the others. */
unsigned place_next(struct places *p, unsigned at, unsigned attempts, const struct addr *from,
                    struct addr *to)
{
	const struct rule *r = p->rule;
	unsigned rounds = p->family == AF_INET ? 2 : 1;
	unsigned step;

	if (!r || r->fallback_count == 0 || attempts < r->fallback_after ||
	    from->family == AF_UNIX)
		return at;
	step = at + (at > 0 && is_strange(p, from) ? r->fallback_count : 0);
	for (; step < rounds * r->fallback_count; step++) {
		const struct endpoint *e = &r->fallback[step % r->fallback_count];
		bool first = step < r->fallback_count;

		if (find(p, from, e, rounds == 1 ? ANY : first ? FAMILIAR : STRANGE, to))
			return step % r->fallback_count + 1;
		if (rounds == 1 || (!first && !find(p, from, e, FAMILIAR, to)))
			log_unusable(p, from, e);
	}
	return 0;
}
