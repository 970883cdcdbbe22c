/* SPDX-License-Identifier: MIT */
#include "policy/match.h"

#include <string.h>

#include "base/glob.h"

/* A host without the dot that makes it absolute. */
static size_t host_len(const char *host)
{
	size_t n = strlen(host);

	return n > 1 && host[n - 1] == '.' ? n - 1 : n;
}

static bool any_host(const struct rule *r, const char *host, size_t len)
{
	for (unsigned i = 0; i < r->host_count; i++)
		if (glob_match(r->hosts[i], host, len, GLOB_NOCASE))
			return true;
	return false;
}

static bool host_holds(const struct rule *r, const struct dest *d)
{
	char text[ADDR_TEXT_MAX];
	struct fmt f;

	if (r->host_count == 0)
		return true;
	if (d->host)
		return any_host(r, d->host, host_len(d->host));
	if (!d->addr)
		return false;
	fmt_init(&f, text, sizeof(text));
	addr_fmt_ip(&f, d->addr);
	return any_host(r, text, fmt_end(&f));
}

static bool addr_holds(const struct rule *r, const struct dest *d)
{
	if (r->cidr_count == 0)
		return true;
	if (!d->addr)
		return false;
	for (unsigned i = 0; i < r->cidr_count; i++)
		if (cidr_match(&r->cidrs[i], d->addr))
			return true;
	return false;
}

static bool port_holds(const struct rule *r, const struct dest *d)
{
	if (r->port_count == 0)
		return true;
	if (d->port < 0)
		return r->host_count > 0;
	for (unsigned i = 0; i < r->port_count; i++)
		if (d->port >= r->ports[i].low && d->port <= r->ports[i].high)
			return true;
	return false;
}

static bool unix_holds(const struct rule *r, const struct addr *a)
{
	if (r->unix_count == 0)
		return true;
	for (unsigned i = 0; i < r->unix_count; i++)
		if (glob_match(r->unix_paths[i], a->path, strlen(a->path), 0))
			return true;
	return false;
}

/* An unknown protocol is a look-up's: nearly always for a TCP connection. */
static bool proto_holds(enum proto rule, enum proto dest)
{
	return rule == PROTO_ANY || rule == dest || (rule == PROTO_TCP && dest == PROTO_ANY);
}

bool rule_matches(const struct rule *r, const struct dest *d)
{
	if (r->never || !proto_holds(r->proto, d->proto))
		return false;
	if (d->addr && d->addr->family == AF_UNIX)
		return r->host_count == 0 && r->cidr_count == 0 && r->port_count == 0 &&
		       unix_holds(r, d->addr);
	return r->unix_count == 0 && host_holds(r, d) && addr_holds(r, d) && port_holds(r, d);
}

const struct rule *match_rule(const struct policy_set *set, const struct dest *d)
{
	bool special = d->addr && addr_is_special(d->addr);

	for (unsigned i = 0; i < set->rule_count; i++) {
		const struct rule *r = &set->rules[i];

		if ((!special || rule_names_dest(r)) && rule_matches(r, d))
			return r;
	}
	return NULL;
}

bool rule_names_dest(const struct rule *r)
{
	return r->host_count > 0 || r->cidr_count > 0 || r->unix_count > 0;
}

/* Whether the glob <outer> takes all that <inner> takes: the same text, all of
 * it, or a plain name that it matches. */
static bool glob_covers(const char *outer, const char *inner, int flags)
{
	if (strcmp(outer, inner) == 0 || strcmp(outer, "*") == 0)
		return true;
	return !inner[strcspn(inner, "*?[\\")] && glob_match(outer, inner, strlen(inner), flags);
}

static bool globs_cover(const char *const *outer, unsigned n, const char *const *inner,
                        unsigned m, int flags)
{
	if (n == 0)
		return true;
	for (unsigned j = 0; j < m; j++) {
		unsigned i = 0;

		while (i < n && !glob_covers(outer[i], inner[j], flags))
			i++;
		if (i == n)
			return false;
	}
	return m > 0;
}

static bool cidrs_cover(const struct rule *outer, const struct rule *inner)
{
	if (outer->cidr_count == 0)
		return true;
	for (unsigned j = 0; j < inner->cidr_count; j++) {
		unsigned i = 0;

		while (i < outer->cidr_count && !cidr_covers(&outer->cidrs[i], &inner->cidrs[j]))
			i++;
		if (i == outer->cidr_count)
			return false;
	}
	return inner->cidr_count > 0;
}

static bool ports_cover(const struct rule *outer, const struct rule *inner)
{
	if (outer->port_count == 0)
		return true;
	/* A look-up without a port skips the condition only for rules with
	 * hosts, so a rule without them takes fewer look-ups. */
	if (outer->host_count == 0 && inner->host_count > 0)
		return false;
	for (unsigned j = 0; j < inner->port_count; j++) {
		unsigned i = 0;

		while (i < outer->port_count && (outer->ports[i].low > inner->ports[j].low ||
		                                 outer->ports[i].high < inner->ports[j].high))
			i++;
		if (i == outer->port_count)
			return false;
	}
	return inner->port_count > 0;
}

bool rule_shadows(const struct rule *earlier, const struct rule *later)
{
	if (earlier->never || later->never)
		return false;
	if (earlier->proto != PROTO_ANY && earlier->proto != later->proto)
		return false;
	/* A link-local or multicast address needs a rule that names it: a
	 * catch-all does not take those from a later rule with addresses. */
	if (!rule_names_dest(earlier) && later->cidr_count > 0)
		return false;
	return globs_cover(earlier->hosts, earlier->host_count, later->hosts, later->host_count,
	                   GLOB_NOCASE) &&
	       cidrs_cover(earlier, later) && ports_cover(earlier, later) &&
	       globs_cover(earlier->unix_paths, earlier->unix_count, later->unix_paths,
	                   later->unix_count, 0);
}

static bool exe_matches(const char *pattern, const char *exe)
{
	const char *base = strrchr(exe, '/');

	if (!strchr(pattern, '/') && base)
		exe = base + 1;
	return glob_match(pattern, exe, strlen(exe), 0);
}

const struct program_rule *match_program(const struct policy_set *set, const char *exe)
{
	for (unsigned i = 0; i < set->program_count; i++)
		for (unsigned j = 0; j < set->programs[i].exe_count; j++)
			if (exe_matches(set->programs[i].exes[j], exe))
				return &set->programs[i];
	return NULL;
}
