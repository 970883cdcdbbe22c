/* SPDX-License-Identifier: MIT */
/* What a connect under way comes to, and what is said of it. */
#include <errno.h>
#include <string.h>

#include "base/compat.h"
#include "engine/pending_act.h"
#include "state/carry.h"
#include "state/habit.h"
#include "state/tried.h"

static LR_NOINLINE void log_recovered(struct act *a, const struct target *t)
{
	struct story s;

	act_tell(&s, a, t);
	retry_succeeded(&s.r);
}

/* The program is connected to what it asked for, whatever the attempts went to. */
static LR_NOINLINE void end_walk(const struct act *a)
{
	struct addr addr;
	socklen_t len;
	const struct sockaddr *sa = pend_home(a->ref.p, &len);

	if (a->ref.p->op != OP_CONNECT || !addr_from_sockaddr(&addr, sa, len))
		return;
	tried_success_at(&addr);
	if (carry_watching())
		carry_succeeded(carry_key_addr(&addr));
}

LR_NOINLINE bool act_recovered(struct act *a)
{
	struct pending *p = a->ref.p;
	struct target t;
	unsigned attempts;
	int64_t waited;

	if (p->attempt > 1 && p->sa.ss_family != AF_UNIX &&
	    a->ops->connected_to_self(a->ctx, act_number(a)))
		return false;
	if (names_watching())
		end_walk(a);
	if (p->attempt <= 1 && !p->guard.slot)
		return true;
	act_look_up(a, &t);
	if (!p->policy)
		p->policy = t.policy;
	/* The program need not go there any more. */
	if (p->why == REASON_OTHER_ADDRESS)
		names_take_pending(&t.name, t.addr.port, &attempts, &waited);
	if (p->policy)
		log_recovered(a, &t);
	return true;
}

static LR_NOINLINE void log_elsewhere(struct act *a, const struct target *t)
{
	struct story s;

	act_tell(&s, a, t);
	s.r.policy = t->policy;
	s.r.rule = t->rule;
	if (!names_take_pending(&t->name, t->addr.port, &s.r.attempt, &s.r.waited))
		return;
	s.r.attempt++;
	retry_succeeded(&s.r);
}

static LR_NOINLINE void recovered_elsewhere(struct act *a)
{
	struct target t;

	act_look_up(a, &t);
	if (t.name.id && t.policy)
		log_elsewhere(a, &t);
}

LR_NOINLINE void act_connected_elsewhere(struct act *a)
{
	struct pending *p = a->ref.p;
	struct addr addr;

	if (habit_watching() && !p->home_len &&
	    addr_from_sockaddr(&addr, (const struct sockaddr *)&p->sa, p->len))
		habit_attempt(&addr);
	end_walk(a);
	if (names_any_pending())
		recovered_elsewhere(a);
}

LR_NOINLINE void act_log_end(struct act *a, const struct target *t, enum event_kind kind,
                             const struct addr *to)
{
	struct event e;
	struct story s;

	act_tell(&s, a, t);
	memset(&e, 0, sizeof(e));
	e.kind = kind;
	e.op = s.r.op;
	e.dest = s.dest;
	e.addr = to ? to : &s.addr;
	e.attempts = s.r.attempt;
	e.waited = s.r.waited;
	e.policy = a->ref.p->policy ? a->ref.p->policy->name : NULL;
	e.left = DUR_NONE;
	if (kind == EVENT_MOVED)
		e.reason = REASON_OTHER_ADDRESS;
	a->ops->log(a->ctx, &e);
}

/* The program has closed the descriptor, or taken it for something else. */
static LR_NOINLINE void abandoned(struct act *a)
{
	struct target t;

	act_look_up(a, &t);
	act_log_end(a, &t, EVENT_ABANDONED, NULL);
	guard_left(&a->ref.p->guard);
	guard_counted(a->ops, a->ctx, true);
}

LR_NOINLINE void act_reported(struct act *a, int error)
{
	struct pending *p = a->ref.p;

	if (!p->policy)
		return;
	/* Nobody has seen what a first attempt failed with. */
	if (!error && (p->observed || !p->error))
		return;
	/* The program never asked: what it was before is the best we know. */
	act_decide(a, error ? error : p->error);
}

void act_last_word(struct act *a, enum pend_state was)
{
	switch (was) {
	case PEND_BACKOFF:
		abandoned(a);
		break;
	case PEND_CONNECTING:
		if (a->ref.p->attempt <= 1)
			break;
		if (act_ours(a) && act_condition(a) == CONDITION_CONNECTED)
			act_recovered(a);
		else
			abandoned(a);
		break;
	case PEND_REPORTED:
		act_reported(a, 0);
		break;
	case PEND_FAILED:
	case PEND_BUSY:
	case PEND_FREE:
		break;
	}
}

enum sight act_owed(struct act *a, int error)
{
	a->ref.p->error = error;
	act_check_later(a, a->ops->now(a->ctx));
	act_release(a, PEND_FAILED);
	return SIGHT_SHOW_ERROR;
}

bool act_replayed(struct act *a, enum sight *sight)
{
	struct pending *p = a->ref.p;
	int error = a->ops->replay(a->ctx, act_number(a), atomic_load(&p->identity), 0);

	if (error == 0)
		return true;
	if (error == ENOENT || error == ECANCELED) {
		/* The peer shall not take what it got for whole. */
		a->ops->dissolve(a->ctx, act_number(a));
		a->ops->take_error(a->ctx, act_number(a));
		act_give_up(a, p->error ? p->error : ECONNRESET);
		*sight = act_owed(a, p->error ? p->error : ECONNRESET);
		return false;
	}
	if (error == EAGAIN) {
		atomic_store(&p->due, dur_add(a->ops->now(a->ctx), REPLAY_STEP));
		act_rearm_oneshot(a);
		act_release(a, PEND_CONNECTING);
		*sight = SIGHT_HIDE;
		return false;
	}
	if (act_condition(a) == CONDITION_RESET && act_retry(a, error))
		*sight = SIGHT_HIDE;
	else
		*sight = act_owed(a, error);
	return false;
}
