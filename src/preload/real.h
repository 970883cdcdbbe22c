/* SPDX-License-Identifier: MIT */
/*
 * real.h - the functions below us: libc's, or the next preload's.
 *
 * Three worlds, three spellings: real.connect is libc's, connect is the
 * exported one-liner, wrap_connect is ours.
 */
#ifndef LIBRETRY_PRELOAD_REAL_H
#define LIBRETRY_PRELOAD_REAL_H

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/compat.h"
#include "preload/time64.h"

struct real {
#define JUMP(ret, name, params, args, missing) SYMBOL(ret, name, params, args, missing)
#define ALIAS_JUMP(ret, name, target, params, args)
#define SYMBOL(ret, name, params, args, missing) ret(*name) params;
#define SYMBOL_SINCE(minor, ret, name, params, args, missing) \
	SYMBOL(ret, name, params, args, missing)
#define ALIAS(ret, name, target, params, args)
#define ALIAS_SINCE(minor, ret, name, target, params, args)
#include "preload/symbols.def"
#undef JUMP
#undef ALIAS_JUMP
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS
#undef ALIAS_SINCE
};

extern struct real real LR_HIDDEN;

/* The wrappers, one per row, in wrap_*.c and signal.c. */
#define JUMP(ret, name, params, args, missing)
#define ALIAS_JUMP(ret, name, target, params, args)
#define SYMBOL(ret, name, params, args, missing) ret wrap_##name params;
#define SYMBOL_SINCE(minor, ret, name, params, args, missing) \
	SYMBOL(ret, name, params, args, missing)
#define ALIAS(ret, name, target, params, args)
#define ALIAS_SINCE(minor, ret, name, target, params, args)
#include "preload/symbols.def"
#undef JUMP
#undef ALIAS_JUMP
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS
#undef ALIAS_SINCE

/*
 * Looks all of them up: what dlsym(RTLD_NEXT) finds, mostly without asking it (next.h).
 * Idempotent, no malloc (a dlsym() that succeeds makes none, and all of them do), so a hook
 * that runs before our constructor may call it. A name that libc lacks, or that leads back
 * to us, becomes a function that fails with ENOSYS.
 */
void real_bind(void);

#endif
