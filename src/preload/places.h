/* SPDX-License-Identifier: MIT */
/* places.h - the places that rules name ("fallback", "redirect"): what their
 * names mean, and where a connect is redirected to. */
#ifndef LIBRETRY_PRELOAD_PLACES_H
#define LIBRETRY_PRELOAD_PLACES_H

#include "engine/ops.h"
#include "preload/signal.h"

/*
 * ops->resolve. With <wait>, looks <host> up, unless the thread had signals
 * blocked before <hold>: then this may be a handler, in which the resolver must
 * not run. Signals stay held back meanwhile, since a handler that jumped out
 * would leave the resolver's locks, so each server gets PLACES_PATIENCE once.
 * What a look-up answers is kept for those that may not wait.
 */
#define PLACES_PATIENCE (2 * DUR_S)
unsigned places_resolve(struct signal_hold *hold, const char *host, bool wait,
                        struct name_ip *ips);

/*
 * The program has looked <host> up (<port> -1: not known) and so can wait: looks
 * up what <host> is redirected to, and what places_resolve() has been asked for
 * in vain. errno untouched.
 */
void places_after_lookup(const char *host, int port);

/* A look-up of ours is wanted at the next chance. One load. */
bool places_wanted(void);

/*
 * Where the connect of <fd> to <t> is redirected, in the form that <fd> can
 * connect to; false: nowhere, or it cannot be. Logs it once per destination. In
 * observe mode logs only. May put a socket of another family over a blocking
 * <fd>. errno untouched.
 */
bool places_redirect(int fd, const struct target *t, bool nonblocking, struct addr *to);

#endif
