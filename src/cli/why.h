/* SPDX-License-Identifier: MIT */
/* why.h - why a rule does not match, and why an error is or is not retried. */
#ifndef LIBRETRY_CLI_WHY_H
#define LIBRETRY_CLI_WHY_H

#include "base/fmt.h"
#include "policy/policy.h"

/*
 * False if match_rule() would take <r> for <d>. True if not, and <why> has each
 * condition that fails. *on_address: nothing but the address, which <d> lacks,
 * stands against it. Agrees with policy/match.h, which it asks.
 */
bool why_no_match(const struct rule *r, const struct dest *d, struct fmt *why,
                  bool *on_address);

/* Whether a call of <d>, by <rule> (NULL: none) and <p>, is repeated after <e>,
 * and why. <once>: at once and not more than once. */
bool why_retried(const struct policy *p, const struct rule *rule, const struct dest *d,
                 struct err e, struct fmt *why, bool *once);

#endif
