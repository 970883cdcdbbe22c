/* SPDX-License-Identifier: MIT */
/* target.h - what is configured for a destination. */
#ifndef LIBRETRY_PRELOAD_TARGET_H
#define LIBRETRY_PRELOAD_TARGET_H

#include "engine/ops.h"

/* Fills <t> for <sa>, by what <thread> has looked up before others. False: an
 * address family that is not ours, or nothing is configured. May load the
 * configuration. errno untouched. */
bool target_find(struct target *t, const struct sockaddr *sa, socklen_t len, uintptr_t thread);

/* The same for a call of <op> on a socket that talks <proto>. */
bool target_find_for(struct target *t, const struct sockaddr *sa, socklen_t len,
                     uintptr_t thread, enum op op, enum proto proto);

#endif
