/* SPDX-License-Identifier: MIT */
#include "engine/wait.h"

#include <limits.h>

#include "engine/pending_due.h"
#include "state/fdtab.h"

/* After a stop signal nothing is retried: what is in backoff has failed, and
 * the program need not wait until its next attempt would have been due. */
static bool is_due(const struct pend_ref *ref, int64_t now, bool stopping)
{
	return atomic_load_explicit(&ref->p->due, memory_order_relaxed) <= now ||
	       (stopping && pend_state(ref) == PEND_BACKOFF);
}

void wait_drive(const struct engine_ops *ops, void *ctx)
{
	struct pend_ref ref;
	unsigned at = 0;
	int64_t now;
	bool stopping;

	if (!fdtab_any_aged())
		return;
	stopping = ops->stopping(ctx);
	/* First attempts are not due at any time: then no clock is read. */
	if ((fdtab_next_due() == DUR_NONE && !stopping) || !fdtab_next(&at, &ref))
		return;
	now = ops->now(ctx);
	do {
		if (is_due(&ref, now, stopping))
			pending_due(ops, ctx, &ref, now);
	} while (fdtab_next(&at, &ref));
}

int64_t wait_until(int64_t deadline)
{
	int64_t due = fdtab_next_due();

	return due < deadline ? due : deadline;
}

int64_t wait_left(const struct engine_ops *ops, void *ctx, int64_t until)
{
	int64_t left;

	if (until == DUR_NONE)
		return DUR_NONE;
	left = dur_sub(until, ops->now(ctx));
	return left > 0 ? left : 0;
}

int wait_ms(int64_t ns)
{
	int64_t ms;

	if (ns == DUR_NONE)
		return -1;
	if (ns <= 0)
		return 0;
	ms = ns / DUR_MS + (ns % DUR_MS != 0);
	return ms < INT_MAX ? (int)ms : INT_MAX;
}
