/* SPDX-License-Identifier: MIT */
#include "engine/resolve.h"

#include <netdb.h>
#include <string.h>

#include "base/compat.h"
#include "engine/retry.h"

/* Retrying has come to nothing, or was not wanted; but nobody has asked for an end. */
static bool may_be_stale(const struct retry *r, struct err e)
{
	return r->policy->stale_dns != DUR_NONE && r->mode == MODE_RETRY && e.domain == ERR_EAI &&
	       e.code == EAI_AGAIN && r->ended != REASON_STOPPING &&
	       r->ended != REASON_INTERRUPTED;
}

static LR_NOINLINE bool answer_stale(const struct retry *r, const struct lookup_call *call,
                                     struct err error)
{
	struct event e;
	int64_t age;

	if (!call->stale || !may_be_stale(r, error) ||
	    !call->stale(call->call, r->policy->stale_dns, &age))
		return false;
	guard_stale(r->guard);
	memset(&e, 0, sizeof(e));
	e.kind = EVENT_STALE;
	e.op = OP_LOOKUP;
	e.dest = r->dest;
	e.error = error;
	e.age = age;
	e.policy = r->policy->name;
	if (r->rule)
		e.rule = r->rule->source;
	e.left = DUR_NONE;
	r->ops->log(r->ctx, &e);
	return true;
}

struct err engine_lookup(const struct engine_ops *ops, void *ctx,
                         const struct lookup_call *call, struct err error, int *sys_errno)
{
	char dest[DEST_TEXT_MAX];
	struct guard guard = { .slot = NULL };
	struct retry r = { .ops = ops,
	                   .ctx = ctx,
	                   .op = OP_LOOKUP,
	                   .mode = call->mode,
	                   .policy = call->policy,
	                   .rule = call->rule,
	                   .dest = dest,
	                   .began = call->began,
	                   .attempt_began = call->began,
	                   .limit = DUR_NONE,
	                   .attempt = 1,
	                   .guard = &guard,
	                   .turn = call->turn };

	dest_text(dest, sizeof(dest), call->host, NULL, call->port);
	if (error.code == 0)
		error = ops->lookup(ctx, call->call, call->policy->dns_attempt_timeout, sys_errno);
	while (error.code != 0 && retry_after(&r, error, *sys_errno))
		error = ops->lookup(ctx, call->call, call->policy->dns_attempt_timeout, sys_errno);
	if (error.code == 0)
		retry_succeeded(&r);
	else if (answer_stale(&r, call, error))
		error.code = 0;
	return error;
}
