/* SPDX-License-Identifier: MIT */
#include "engine/pending.h"

#include <errno.h>
#include <string.h>

#include "base/compat.h"
#include "engine/pending_act.h"
#include "engine/pending_due.h"
#include "state/fdtab_note.h"
#include "state/names.h"

/* Events of before an attempt that are kept from the program. */
#define HIDDEN_MAX 100

/* It is not connected; if it failed, that will be reported. */
static bool is_going_on(enum condition now)
{
	return now == CONDITION_TRYING || now == CONDITION_CLOSED;
}

/* The socket is connected. */
static LR_NOINLINE enum sight succeeded(struct act *a)
{
	enum sight sight;

	if (!atomic_load(&a->ref.p->identity)) {
		/* Nothing ever happened here: one step, and no system call. */
		if (lr_unlikely(names_watching()))
			act_connected_elsewhere(a);
		fdtab_drop(&a->ref);
		return SIGHT_SHOW;
	}
	if (!act_claim(a))
		return SIGHT_SHOW;
	if (!act_ours(a)) {
		act_last_word(a, PEND_CONNECTING);
	} else if (is_going_on(act_condition(a))) {
		/* The event was another descriptor's, with the same data, or of before. */
		act_rearm_oneshot(a);
		act_release(a, PEND_CONNECTING);
		return SIGHT_HIDE;
	} else if (a->ref.p->replay && !act_replayed(a, &sight)) {
		return sight;
	} else if (!act_recovered(a)) {
		if (act_retry(a, ECONNREFUSED))
			return SIGHT_HIDE;
		a->ops->dissolve(a->ctx, atomic_load(&a->ref.p->fds[0]));
		return act_owed(a, ECONNREFUSED);
	}
	act_release(a, PEND_FREE);
	return SIGHT_SHOW;
}

/*
 * The attempt goes on. What the kernel reported was true before it, if not before the
 * first: of a socket registered before connect(). That is of no use to anybody, as often
 * as threads may have fetched it. If it comes for ever (IP_RECVERR and an error in the
 * queue, shutdown() before connect()) it is the kernel's own.
 */
static enum sight of_before(struct act *a)
{
	if (a->ref.p->hidden >= HIDDEN_MAX)
		return SIGHT_SHOW;
	a->ref.p->hidden++;
	act_rearm_oneshot(a);
	return SIGHT_HIDE;
}

/* Looks at a failed attempt before its error is taken. True: *sight is what is
 * left to do, and the record is released. */
static bool is_no_failure_of_ours(struct act *a, enum sight *sight)
{
	bool ours = act_ours(a);
	enum condition now = ours ? act_condition(a) : CONDITION_OTHER;
	enum pend_state to = PEND_FREE;

	*sight = SIGHT_SHOW;
	if (!ours) {
		act_last_word(a, PEND_CONNECTING);
	} else if (now == CONDITION_TRYING) {
		*sight = of_before(a);
		to = PEND_CONNECTING;
	} else if (now == CONDITION_CONNECTED) {
		/* Connected, and broken by now: that is a success to us. */
		act_recovered(a);
	} else if (now == CONDITION_OTHER) {
		act_last_word(a, PEND_CONNECTING);
	} else if (now == CONDITION_CLOSED || now == CONDITION_RESET) {
		/* What it probably is. */
		int error = now == CONDITION_RESET ? ECONNRESET : ECONNREFUSED;
		enum fate fate = a->ref.p->last ? FATE_OBSERVED : act_judge(a, error);

		/* It may have turned out to be the last. */
		if (fate == FATE_OURS && a->ref.p->last)
			fate = FATE_OBSERVED;
		if (fate == FATE_OURS)
			return false;
		if (fate == FATE_OBSERVED) {
			act_check_later(a, a->ops->now(a->ctx));
			to = PEND_REPORTED;
		}
	}
	act_release(a, to);
	return true;
}

/*
 * The error is gone, or not there yet. Another thread may be between the call by
 * which it got it and telling us, or about to enter connect(): it is given the
 * time. True: released.
 */
static bool another_may_tell(struct act *a)
{
	struct pending *p = a->ref.p;
	int64_t now;

	if (a->ops->alone(a->ctx))
		return false;
	now = a->ops->now(a->ctx);
	if (!p->taken)
		p->taken = now;
	if (dur_sub(now, p->taken) >= FDTAB_PATIENCE)
		return false;
	act_rearm_once(a);
	act_release(a, PEND_CONNECTING);
	return true;
}

/* A wait found the attempt failed; the record is claimed. */
static LR_NOINLINE enum sight failed(struct act *a)
{
	struct pending *p = a->ref.p;
	enum sight sight;
	int error;

	if (is_no_failure_of_ours(a, &sight))
		return sight;
	error = a->ops->take_error(a->ctx, atomic_load(&p->fds[0]));
	if (error ? act_retry(a, error) : another_may_tell(a))
		return SIGHT_HIDE;
	/* Without an error somebody else has taken it, past us. */
	if (!error && p->attempt > 1)
		act_give_up(a, p->error);
	p->error = error;
	act_check_later(a, a->ops->now(a->ctx));
	act_release(a, error ? PEND_FAILED : PEND_FREE);
	return error ? SIGHT_SHOW_ERROR : SIGHT_SHOW;
}

/* <again>: another thread was quicker, or has it, and an edge-triggered event does not
 * come twice. */
static enum sight look(struct act *a, bool bad, bool *again)
{
	switch (pend_state(&a->ref)) {
	case PEND_BUSY:
		*again = true;
		return SIGHT_HIDE;
	case PEND_BACKOFF:
		return act_still_ours(a) ? SIGHT_HIDE : SIGHT_SHOW;
	case PEND_FAILED:
		return act_still_ours(a) ? SIGHT_SHOW_ERROR : SIGHT_SHOW;
	case PEND_CONNECTING:
		if (!bad)
			return succeeded(a);
		if (act_claim(a))
			return failed(a);
		/* What nobody here will retry is not to be hidden. */
		*again = !a->foreign;
		return a->foreign ? SIGHT_SHOW : SIGHT_HIDE;
	case PEND_FREE:
	case PEND_REPORTED:
		break;
	}
	return SIGHT_SHOW;
}

enum sight pending_event(const struct engine_ops *ops, void *ctx, int fd, bool bad)
{
	enum sight sight = SIGHT_SHOW;
	struct act a;
	bool again = true;

	/* Most connects come to this. */
	if (!bad && !names_watching() && fdtab_drop_young(fd))
		return SIGHT_SHOW;
	for (unsigned n = 0; again && n < 8; n++) {
		again = false;
		if (!act_find(&a, ops, ctx, fd))
			return SIGHT_SHOW;
		sight = look(&a, bad, &again);
		/* Twice as long as anybody else waits for it, and no longer. */
		if (n > 0 && pend_state(&a.ref) == PEND_BUSY)
			break;
	}
	return sight;
}

bool pending_hidden(const struct engine_ops *ops, void *ctx, int fd)
{
	struct act a;

	if (!fdtab_any_aged() || !act_find(&a, ops, ctx, fd))
		return false;
	return pend_state(&a.ref) == PEND_BUSY ||
	       (pend_state(&a.ref) == PEND_BACKOFF && act_still_ours(&a));
}

/* <a> owes the program an error: now it gets it. */
static bool deliver(struct act *a, int *error)
{
	if (!act_still_ours(a))
		return false;
	/* Another thread may look at it just now. */
	for (unsigned n = 0; !act_claim(a); n++)
		if (n == 8 || !fdtab_wait_idle(&a->ref) || pend_state(&a->ref) != PEND_FAILED)
			return false;
	*error = a->ref.p->error;
	act_release(a, PEND_FREE);
	return true;
}

/* An attempt goes on in the kernel. Before what was sent is sent again the program
 * must not send anything else. */
static enum answer ask_replaying(struct act *a, int fd, int *error)
{
	enum condition now = act_condition(a);

	if (now == CONDITION_TRYING)
		return ANSWER_PENDING;
	switch (pending_event(a->ops, a->ctx, fd, now != CONDITION_CONNECTED)) {
	case SIGHT_SHOW:
		break;
	case SIGHT_HIDE:
		return ANSWER_PENDING;
	case SIGHT_SHOW_ERROR:
		return act_find(a, a->ops, a->ctx, fd) && deliver(a, error) ? ANSWER_ERROR
		                                                            : ANSWER_CALL;
	}
	return ANSWER_CALL;
}

enum answer pending_ask(const struct engine_ops *ops, void *ctx, int fd, int *error)
{
	struct act a;
	int64_t now;

	if (!act_find(&a, ops, ctx, fd))
		return ANSWER_CALL;
	if (pend_state(&a.ref) == PEND_CONNECTING && a.ref.p->replay)
		return ask_replaying(&a, fd, error);
	if (pend_state(&a.ref) == PEND_FAILED)
		return deliver(&a, error) ? ANSWER_ERROR : ANSWER_CALL;
	if (pend_state(&a.ref) == PEND_BACKOFF) {
		if (!act_still_ours(&a))
			return ANSWER_CALL;
		now = ops->now(ctx);
		if (atomic_load(&a.ref.p->due) <= now || ops->stopping(ctx))
			pending_due(ops, ctx, &a.ref, now);
		if (!act_find(&a, ops, ctx, fd))
			return ANSWER_CALL;
		if (pend_state(&a.ref) == PEND_FAILED)
			return deliver(&a, error) ? ANSWER_ERROR : ANSWER_CALL;
	}
	return pend_state(&a.ref) == PEND_BACKOFF || pend_state(&a.ref) == PEND_BUSY
	               ? ANSWER_PENDING
	               : ANSWER_CALL;
}

/* Says nothing about how the connect ended. */
static bool no_outcome(int error)
{
	return error == EAGAIN || error == EALREADY || error == EINPROGRESS || error == ENOTCONN ||
	       error == EINTR || error == EFAULT || error == EINVAL;
}

/* What a call says of a closed socket whose error another thread has taken. */
static bool is_of_none(int error)
{
	return error == ECONNABORTED || error == EPIPE;
}

/* ... and the error of the attempt that failed since, or of the one before. */
static int latest_error(struct act *a, int error)
{
	int its = is_of_none(error) ? a->ops->take_error(a->ctx, act_number(a)) : 0;

	if (!its && is_of_none(error))
		its = a->ref.p->error;
	return its ? its : error;
}

/* The program got the error of the attempt, by a call; 0: we take it back.
 * <again>: another thread was quicker. */
static LR_NOINLINE int result(struct act *a, int error, bool *again)
{
	enum pend_state was = pend_state(&a->ref);
	struct pending *p = a->ref.p;
	enum condition is;
	enum fate fate;

	*again = !act_claim(a);
	if (*again)
		return error;
	if (!act_ours(a) || was == PEND_FAILED) {
		act_last_word(a, was);
		act_release(a, PEND_FREE);
		return error;
	}
	is = act_condition(a);
	if (is == CONDITION_TRYING) {
		/* What failed is an attempt before this one. */
		act_release(a, PEND_CONNECTING);
		return is_of_none(error) ? 0 : error;
	}
	if (is == CONDITION_CLOSED)
		error = latest_error(a, error);
	if (was == PEND_REPORTED || p->last) {
		act_reported(a, error);
	} else if (is != CONDITION_CLOSED && is != CONDITION_RESET) {
		/* Connected and broken by now, or another kind of socket under an
		 * old number. */
		if (is == CONDITION_CONNECTED)
			act_recovered(a);
		else
			act_last_word(a, was);
	} else if ((fate = act_judge(a, error)) == FATE_OBSERVED) {
		act_reported(a, error);
	} else if (fate == FATE_OURS && act_retry(a, error)) {
		return 0;
	}
	act_release(a, PEND_FREE);
	return error;
}

int pending_result(const struct engine_ops *ops, void *ctx, int fd, int error)
{
	struct act a;
	int got = error;
	bool again = true;

	if (no_outcome(error) || !act_find(&a, ops, ctx, fd))
		return error;
	if (error == EISCONN && pend_state(&a.ref) == PEND_CONNECTING) {
		switch (succeeded(&a)) {
		case SIGHT_SHOW:
			break;
		case SIGHT_HIDE:
			return 0;
		case SIGHT_SHOW_ERROR:
			deliver(&a, &error);
			break;
		}
		return error;
	}
	for (unsigned n = 0; again && n < 8; n++) {
		if (!act_find(&a, ops, ctx, fd))
			return error;
		if (pend_state(&a.ref) == PEND_BACKOFF || pend_state(&a.ref) == PEND_BUSY)
			return 0;
		got = result(&a, error, &again);
	}
	return got;
}

bool pending_undo(const struct engine_ops *ops, void *ctx, int fd)
{
	struct act a;

	for (unsigned n = 0; n < 8 && act_find(&a, ops, ctx, fd); n++) {
		enum pend_state was = pend_state(&a.ref);
		bool ours;

		/* Nothing happened to it yet: who could have dissolved it? Or it is over,
		 * and the program has brought the socket back past us. */
		if (act_young(&a) || was == PEND_REPORTED || was == PEND_FAILED)
			return false;
		if (!act_claim(&a))
			continue;
		ours = act_ours(&a);
		if (ours && was == PEND_BACKOFF) {
			ops->dissolve(ctx, act_number(&a));
			ops->take_error(ctx, act_number(&a));
		}
		act_release(&a, was);
		return ours;
	}
	return false;
}

void pending_connected(const struct engine_ops *ops, void *ctx, int fd)
{
	struct act a;

	if (!act_find(&a, ops, ctx, fd) || pend_state(&a.ref) != PEND_CONNECTING)
		return;
	if (!atomic_load(&a.ref.p->identity)) {
		succeeded(&a);
		return;
	}
	/* Data went over it already: even if it is connected to itself, it stays. */
	if (!act_claim(&a))
		return;
	if (act_ours(&a))
		act_recovered(&a);
	else
		act_last_word(&a, PEND_CONNECTING);
	act_release(&a, PEND_FREE);
}

static bool is_shared(struct pending *p)
{
	for (unsigned i = 1; i < FDTAB_SHARED; i++)
		if (atomic_load(&p->fds[i]) >= 0)
			return true;
	return false;
}

/* Another thread had the record, or has it still: then the last word is its. It may
 * be acting on the number, which must not become another socket's before it is done. */
static void closed_meanwhile(struct act *a, bool alone)
{
	while (fdtab_wait_idle(&a->ref) && alone && pend_state(&a->ref) != PEND_BUSY) {
		enum pend_state was = pend_state(&a->ref);

		if (!act_claim(a))
			continue;
		act_last_word(a, was);
		act_release(a, PEND_FREE);
		return;
	}
}

/* <fd> goes out of the record, which is claimed and was in state <was>. */
static void close_claimed(struct act *a, int fd, enum pend_state was)
{
	/* Said first: it may need the descriptor. */
	bool said = !is_shared(a->ref.p);
	struct pend_ref ref;
	bool alone = true;

	if (said)
		act_last_word(a, was);
	fdtab_forget(fd, &ref, &alone);
	/* The other one may have been closed meanwhile. */
	if (alone && !said)
		act_last_word(a, was);
	/* A number that joined after that is some other thread's mistake. */
	act_release(a, alone || said ? PEND_FREE : was);
}

void pending_closing(const struct engine_ops *ops, void *ctx, int fd)
{
	struct act a = { .ops = ops, .ctx = ctx };
	bool alone;

	for (unsigned n = 0; n < 8 && act_find(&a, ops, ctx, fd); n++) {
		enum pend_state was = pend_state(&a.ref);

		/* Nothing ever happened: nothing to say, and no system call. */
		if (act_young(&a))
			break;
		/* Else another thread was quicker, and is waited for. */
		if (act_claim(&a)) {
			close_claimed(&a, fd, was);
			return;
		}
	}
	if (fdtab_forget(fd, &a.ref, &alone) && !(alone && act_young(&a) && fdtab_drop(&a.ref)))
		closed_meanwhile(&a, alone);
}

/* <owes>: a reset that only we know of is told at the next call. */
static void withdraw(const struct engine_ops *ops, void *ctx, int fd, bool owes)
{
	struct act a;

	for (unsigned n = 0; n < 8 && act_find(&a, ops, ctx, fd); n++) {
		enum pend_state was = pend_state(&a.ref);

		if (act_young(&a) && fdtab_drop(&a.ref))
			return;
		if (!act_claim(&a))
			continue;
		act_last_word(&a, was);
		if (act_ours(&a))
			act_rearm(&a);
		owes = owes && was == PEND_BACKOFF && a.ref.p->op == OP_SEND;
		if (owes)
			act_check_later(&a, ops->now(ctx));
		act_release(&a, owes ? PEND_FAILED : PEND_FREE);
		return;
	}
}

void pending_withdraw(const struct engine_ops *ops, void *ctx, int fd)
{
	withdraw(ops, ctx, fd, false);
}

void pending_shut_down(const struct engine_ops *ops, void *ctx, int fd)
{
	withdraw(ops, ctx, fd, true);
}
