/* SPDX-License-Identifier: MIT */
/*
 * wait.h - what every wait of the program does for the connects under way: any
 * wait, in any thread, makes the attempts that are due, and sleeps no longer
 * than until the next one.
 */
#ifndef LIBRETRY_ENGINE_WAIT_H
#define LIBRETRY_ENGINE_WAIT_H

#include "engine/ops.h"

/* Makes all attempts that are due, and looks after records whose descriptor
 * died unseen. Does not wait; errno untouched. */
void wait_drive(const struct engine_ops *ops, void *ctx);

/* Until when a real wait may last (ns, clock of ops->now): <deadline> is the
 * program's own (DUR_NONE: none). */
int64_t wait_until(int64_t deadline);

/* What is left of it, never negative; DUR_NONE for DUR_NONE. */
int64_t wait_left(const struct engine_ops *ops, void *ctx, int64_t until);

/* <ns> in whole ms, rounded up so that a wait does not end before its time, as
 * poll() and epoll_wait() take it: -1 for DUR_NONE, at most INT_MAX. */
int wait_ms(int64_t ns);

#endif
