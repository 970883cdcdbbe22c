/* SPDX-License-Identifier: MIT */
/* ops.h - the engine's world inside the host: libc, the kernel, our log. */
#ifndef LIBRETRY_PRELOAD_OPS_H
#define LIBRETRY_PRELOAD_OPS_H

#include "engine/ops.h"

/* Its calls take a struct signal_hold as their context: signals are held back
 * from signal_hold() on, but for real calls and waits. The calls for connects
 * under way begin and end that themselves (enter, leave) and want one that is
 * not initialised. */
extern const struct engine_ops preload_ops;

/* The same, but its connect waits for a non-blocking one, too. */
extern const struct engine_ops preload_block_ops;

/* A look-up to be made again; what ops->lookup is handed. */
struct lookup_again {
	struct err (*make)(void *args, int *sys_errno);
	void *args;
};

#endif
