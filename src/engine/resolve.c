/* SPDX-License-Identifier: MIT */
#include "engine/resolve.h"

#include "engine/retry.h"

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
	return error;
}
