/* SPDX-License-Identifier: MIT */
/* match.h - which rule a destination falls under: the first that matches. Pure. */
#ifndef LIBRETRY_POLICY_MATCH_H
#define LIBRETRY_POLICY_MATCH_H

#include "policy/policy.h"

/*
 * The first rule of <set> whose conditions all hold for <d>; NULL if none.
 *
 * host: globs on the name, case-insensitive, a trailing dot ignored; when no
 * name is known, on the printed address. port: for a lookup whose port is not
 * known the condition is skipped if the rule also names hosts, and fails
 * otherwise. addr: never holds for a lookup. unix: only for Unix sockets; a
 * rule with host, addr or port never holds for those. A link-local, multicast
 * or broadcast address is matched only by rules that name hosts or addresses.
 */
const struct rule *match_rule(const struct policy_set *set, const struct dest *d);

/* Whether <r> alone holds for <d> (for "explain"). */
bool rule_matches(const struct rule *r, const struct dest *d);

/* Whether <r> names destinations (a host, addr or unix condition) and is no
 * catch-all. */
bool rule_names_dest(const struct rule *r);

/* Whether nothing can reach <later> because <earlier> takes all of it. Proves
 * only simple inclusions; false means "not proved". */
bool rule_shadows(const struct rule *earlier, const struct rule *later);

/* The first entry of "programs" for <exe> (absolute path); NULL if none. */
const struct program_rule *match_program(const struct policy_set *set, const char *exe);

#endif
