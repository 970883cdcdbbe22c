/* SPDX-License-Identifier: MIT */
/* places.h - the places that rules name ("fallback", "redirect"): what their
 * names mean, and where a connect is redirected to. */
#ifndef LIBRETRY_PRELOAD_PLACES_H
#define LIBRETRY_PRELOAD_PLACES_H

#include "engine/ops.h"
#include "preload/signal.h"

/*
 * ops->resolve. Looks <host> up, for about <limit> ns, unless that is known from the
 * last minute, has failed in the last 30 s, is less than a second, or the thread had
 * signals blocked before <hold>: then this may be a handler, in which the resolver
 * must not run. Signals stay held back meanwhile, since a handler that jumped out
 * would leave the resolver's locks; those that have come are let through first.
 * What a look-up answers is kept for those that may not wait.
 */
unsigned places_resolve(struct signal_hold *hold, const char *host, int64_t limit,
                        struct name_ip *ips);

/*
 * The program has looked <host> up (<port> -1: not known) and so can wait: looks
 * up, for about PLACE_PATIENCE altogether, what <host> is redirected to, its
 * fallbacks that were never looked up, and what places_resolve() has been asked for
 * in vain. Not in observe mode. errno untouched.
 */
void places_after_lookup(const char *host, int port);

/* A look-up of ours is wanted at the next chance. One load. */
extern const char *_Atomic places_wanted_host LR_HIDDEN;
static inline bool places_wanted(void)
{
	return atomic_load_explicit(&places_wanted_host, memory_order_relaxed) != NULL;
}

/* Whether the process knows the address of <t>, whose rule goes by a name, by
 * another name as well, which the rule does not match: then nobody can say whose
 * connect this is, and the places of the rule are left alone. Logs it once. errno
 * untouched. */
bool places_ambiguous(const struct target *t);

/*
 * Where the connect of <fd> to <t> is redirected, in the form that <fd> can
 * connect to; false: nowhere, or it cannot be. Logs it once per destination. In
 * observe mode logs only. May put a socket of another family over a blocking
 * <fd>. errno untouched.
 */
bool places_redirect(int fd, const struct target *t, bool nonblocking, struct addr *to);

#endif
