/* SPDX-License-Identifier: MIT */
/*
 * attempt.h - one attempt of a blocking connect or of a look-up, bounded without the
 * program noticing: its own limits stand aside for ours, and are put back also when
 * a handler jumps out of it or the thread is cancelled.
 *
 * <ctx> is the struct signal_hold of ops.h; signals are let through
 * during the real calls. Results are those of engine/ops.h.
 */
#ifndef LIBRETRY_PRELOAD_ATTEMPT_H
#define LIBRETRY_PRELOAD_ATTEMPT_H

#include "preload/ops.h"
#include "preload/signal.h"

/* Before an attempt: sets the options again that the kernel forgot with the last one. */
void attempt_options(int fd);

/* The real connect(), with signals let through: 0 or an errno value. */
int attempt_call(struct signal_hold *hold, int fd, const struct sockaddr *sa, socklen_t len);

/* ops->connect */
int attempt_connect(void *ctx, int fd, const struct sockaddr *sa, socklen_t len, int64_t limit,
                    bool *expired);

/* ops->lookup; <call>: a struct lookup_again. */
struct err attempt_lookup(void *ctx, void *call, int64_t limit, int *sys_errno);

#endif
