/* SPDX-License-Identifier: MIT */
/*
 * resolve.h - the loop of a name look-up. glibc's own calls below getaddrinfo
 * pass no symbol (measured), so look-ups are repeated as a whole, here or
 * nowhere.
 */
#ifndef LIBRETRY_ENGINE_RESOLVE_H
#define LIBRETRY_ENGINE_RESOLVE_H

#include "engine/ops.h"
#include "state/turns.h"

struct lookup_call {
	const char *host;
	int port; /* -1: not known */
	const struct policy *policy;
	const struct rule *rule; /* NULL: none matched */
	enum mode mode;
	int64_t began; /* ns, before the first attempt */
	void *call;    /* what ops->lookup repeats */
	/* Answers it with what is remembered, if that is at most <oldest> ns old, and tells
	 * how old it is; false: it cannot be, and nothing was done. NULL: it never is. */
	bool (*stale)(void *call, int64_t oldest, int64_t *age);
	struct turn *turn; /* as in struct retry; none is left in the end */
};

/*
 * <error>: the first attempt's result (.code 0: no attempt was made yet) with
 * <sys_errno>, the errno after it. Returns the last attempt's result; *sys_errno
 * is its errno. A policy that guard_wants_first() is told of what succeeds at once,
 * so such a look-up is made here. Of a policy with stale_dns the result may be that of
 * call->stale.
 */
struct err engine_lookup(const struct engine_ops *ops, void *ctx,
                         const struct lookup_call *call, struct err error, int *sys_errno);

#endif
