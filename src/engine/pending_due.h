/* SPDX-License-Identifier: MIT */
/* pending_due.h - what a drive (engine/wait) asks of engine/pending. */
#ifndef LIBRETRY_ENGINE_PENDING_DUE_H
#define LIBRETRY_ENGINE_PENDING_DUE_H

#include "engine/ops.h"
#include "state/fdtab.h"

/* One record is due: make its attempt, or look after it; engine-internal. <ref>
 * may be BUSY or stale by now: claim it first. <now>: ns, clock of ops->now. */
void pending_due(const struct engine_ops *ops, void *ctx, struct pend_ref *ref, int64_t now);

#endif
