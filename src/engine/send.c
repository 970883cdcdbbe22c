/* SPDX-License-Identifier: MIT */
#include "engine/send.h"

#include <errno.h>

#include "base/compat.h"
#include "engine/connect.h"
#include "engine/pending.h"
#include "engine/retry.h"

/* The operation as the retry loops know one. */
struct story {
	struct retry r;
	char dest[DEST_TEXT_MAX];
};

static void tell(struct story *s, const struct engine_ops *ops, void *ctx,
                 const struct target *t, const struct so_far *so_far)
{
	dest_text(s->dest, sizeof(s->dest), t->name.id ? t->name.name : NULL, &t->addr,
	          t->addr.port);
	s->r = (struct retry){ .ops = ops,
	                       .ctx = ctx,
	                       .op = OP_SEND,
	                       .mode = t->mode,
	                       .policy = t->policy,
	                       .rule = t->rule,
	                       .dest = s->dest,
	                       .addr = &t->addr,
	                       .began = so_far->began,
	                       .attempt_began = so_far->began,
	                       .limit = DUR_NONE,
	                       .attempt = so_far->attempt,
	                       .waited = so_far->waited,
	                       .previous_wait = so_far->previous_wait };
}

static void note(struct so_far *so_far, const struct retry *r)
{
	so_far->attempt = r->attempt;
	so_far->waited = r->waited;
	so_far->previous_wait = r->previous_wait;
}

/* A datagram that was not sent, because of one that was lost: sent at once, and
 * only once. */
static LR_NOINLINE enum send_answer refused(const struct engine_ops *ops, void *ctx,
                                            const struct send_failure *f,
                                            struct so_far *so_far)
{
	struct err e = { ERR_ERRNO, f->error };
	struct decision d;
	struct story s;

	tell(&s, ops, ctx, f->t, so_far);
	if (so_far->attempt > 1) {
		retry_end(&s.r, e, REASON_ATTEMPTS);
		return SEND_GIVE;
	}
	s.r.at_once = true;
	if (!retry_decide(&s.r, e, f->error, &d))
		return SEND_GIVE;
	so_far->attempt++;
	return SEND_AGAIN;
}

static LR_NOINLINE enum send_answer no_buffers(const struct engine_ops *ops, void *ctx,
                                               const struct send_failure *f,
                                               struct so_far *so_far)
{
	struct err e = { ERR_ERRNO, f->error };
	uint64_t identity;
	struct story s;
	bool again;

	if (!f->blocking)
		return SEND_GIVE;
	tell(&s, ops, ctx, f->t, so_far);
	s.r.limit = f->limit;
	s.r.turn = f->turn;
	identity = ops->identity(ctx, f->fd);
	again = retry_after(&s.r, e, f->error);
	turns_give(f->turn);
	note(so_far, &s.r);
	/* Closed meanwhile: the number is another's. */
	return again && ops->identity(ctx, f->fd) == identity ? SEND_AGAIN : SEND_GIVE;
}

/* Says what would be done. */
static LR_NOINLINE void observe(const struct engine_ops *ops, void *ctx,
                                const struct send_failure *f, const struct so_far *so_far)
{
	struct decision d;
	struct story s;

	tell(&s, ops, ctx, f->t, so_far);
	s.r.mode = MODE_OBSERVE;
	retry_decide(&s.r, (struct err){ ERR_ERRNO, f->error }, f->error, &d);
}

static enum send_answer begin(const struct engine_ops *ops, void *ctx,
                              const struct send_failure *f, struct so_far *so_far, int *error)
{
	struct pending_call call = { .fd = f->fd,
	                             .sa = f->sa,
	                             .len = f->len,
	                             .began = so_far->began,
	                             .thread = f->thread,
	                             .identity = f->identity,
	                             .attempt_timeout = DUR_NONE };

	*error = pending_remake(ops, ctx, &call, f->t, so_far, f->replay, *error);
	return *error == EAGAIN ? SEND_LATER : SEND_GIVE;
}

/* What was to be sent first went out in part, or in disorder: the peer shall not take
 * it for whole. */
static LR_NOINLINE enum send_answer broke_off(const struct engine_ops *ops, void *ctx,
                                              const struct send_failure *f,
                                              const struct so_far *so_far, int error)
{
	struct story s;

	if (ops->identity(ctx, f->fd) == f->identity) {
		ops->dissolve(ctx, f->fd);
		ops->take_error(ctx, f->fd);
	}
	tell(&s, ops, ctx, f->t, so_far);
	retry_end(&s.r, (struct err){ ERR_ERRNO, f->error },
	          error == EINTR                             ? REASON_INTERRUPTED
	          : error == EAGAIN && !ops->stopping(ctx) ? REASON_DEADLINE
	          : error == EAGAIN                          ? REASON_STOPPING
	                                                     : REASON_NOT_RETRYABLE);
	return SEND_GIVE;
}

/* A connection on which it cannot go on, though it stands. */
static bool is_stuck(int error)
{
	return error == EAGAIN || error == EINTR || error == ENOENT || error == ECANCELED;
}

/* One new connection after the other, until what was sent has gone over it. */
static enum send_answer remake(const struct engine_ops *ops, void *ctx,
                               const struct send_failure *f, struct so_far *so_far, int *error)
{
	struct connect_call call = { .fd = f->fd,
	                             .sa = f->sa,
	                             .len = f->len,
	                             .addr = &f->t->addr,
	                             .name = f->t->name.id ? &f->t->name : NULL,
	                             .policy = f->t->policy,
	                             .rule = f->t->rule,
	                             .mode = f->t->mode,
	                             .began = so_far->began,
	                             .limit = f->limit,
	                             .identity = f->identity,
	                             .replay = f->replay,
	                             .turn = f->turn };
	int64_t until = dur_add(so_far->began, f->t->policy->deadline);
	int rc;

	do {
		*error = engine_reconnect(ops, ctx, &call, *error, so_far);
		if (*error || !f->replay)
			return *error ? SEND_GIVE : SEND_AGAIN;
		rc = ops->replay(ctx, f->fd, f->identity, until);
		/* Another thread has sent the last of it, and had the answer: who
		 * spoils it dissolves it. */
		if (rc == ENOENT && ops->condition(ctx, f->fd) == CONDITION_CONNECTED)
			rc = 0;
		*error = rc;
	} while (rc && !is_stuck(rc) && ops->remakable(ctx, f->fd, f->sa, f->len, true));
	if (rc && !is_stuck(rc))
		return SEND_GIVE;
	/* A program that ends it now ends a connection that stands. */
	if (!rc && ops->identity(ctx, f->fd) == f->identity)
		return SEND_AGAIN;
	*error = f->error;
	return broke_off(ops, ctx, f, so_far, rc);
}

enum send_answer engine_send_failed(const struct engine_ops *ops, void *ctx,
                                    const struct send_failure *f, struct so_far *so_far,
                                    int *error)
{
	const struct policy *p = f->t->policy;

	*error = f->error;
	if (p->send == SEND_OFF)
		return SEND_GIVE;
	if (so_far->attempt == 0)
		*so_far = (struct so_far){ .attempt = 1, .began = ops->now(ctx) };
	if (f->cause == SEND_REFUSED)
		return refused(ops, ctx, f, so_far);
	if (f->cause == SEND_NO_BUFFERS)
		return no_buffers(ops, ctx, f, so_far);
	if (f->t->mode == MODE_OBSERVE ||
	    (!f->blocking && p->nonblocking == NONBLOCKING_OBSERVE)) {
		observe(ops, ctx, f, so_far);
		return SEND_GIVE;
	}
	return f->blocking ? remake(ops, ctx, f, so_far, error)
	                   : begin(ops, ctx, f, so_far, error);
}

void engine_send_ended(const struct engine_ops *ops, void *ctx, const struct target *t,
                       const struct so_far *so_far, int error, enum reason reason)
{
	struct story s;

	if (so_far->attempt <= 1)
		return;
	tell(&s, ops, ctx, t, so_far);
	if (error)
		retry_end(&s.r, (struct err){ ERR_ERRNO, error }, reason);
	else
		retry_succeeded(&s.r);
}
