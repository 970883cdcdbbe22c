/* SPDX-License-Identifier: MIT */
/*
 * pending_act.h - what is done to a record of a connect under way once it has
 * been claimed. Internal to the engine: pending.c is the way in.
 */
#ifndef LIBRETRY_ENGINE_PENDING_ACT_H
#define LIBRETRY_ENGINE_PENDING_ACT_H

#include "engine/pending.h"
#include "engine/retry.h"
#include "engine/walk.h"

/* How often a record that nothing happens to is looked at: its descriptor may
 * have died unseen. */
#define PENDING_CHECK (5 * DUR_S)

/* How soon at the earliest, if something is left to be sent. */
#define REPLAY_STEP (10 * DUR_MS)

struct act {
	const struct engine_ops *ops;
	void *ctx;
	struct pend_ref ref;
	bool foreign; /* it could not be claimed, and never can: this process is another */
};

/* The record as the retry loops know an operation. */
struct story {
	struct retry r;
	char dest[DEST_TEXT_MAX];
	struct addr addr; /* of the current attempt */
};

/* The descriptor to act on. */
static inline int act_number(const struct act *a)
{
	return atomic_load(&a->ref.p->fds[0]);
}

/* Its first attempt, of which no failure has been seen. */
static inline bool act_young(const struct act *a)
{
	return pend_state(&a->ref) == PEND_CONNECTING && !atomic_load(&a->ref.p->identity);
}

/* The record of <fd>, also if it is a dup that was made before the connect. One
 * that somebody has claimed is waited for. False if there is none. */
bool act_find(struct act *a, const struct engine_ops *ops, void *ctx, int fd);

/* Claims, with signals held back from then on; ends that, with <to>. */
bool act_claim(struct act *a);
void act_release(struct act *a, enum pend_state to);

/* A record in backoff, or one that owes an error, not claimed: false if its number
 * has become another's unseen (a raw close), and it ends here. */
bool act_still_ours(struct act *a);

/* The rest wants the record claimed. */

/* What is known of the destination, that is of what the program asked for; the
 * address at least. */
void act_look_up(struct act *a, struct target *t);
/* For what act_look_up() found, which must outlive both. */
struct walk act_walk(const struct act *a, const struct target *t);
void act_tell(struct story *s, const struct act *a, const struct target *t);

/* The attempts go to <to> from now on: an address of IP, like the one before. */
void act_aim(struct act *a, const struct addr *to);

/* The descriptor is still the socket that the record is about. The first look
 * learns which one it is: act_condition() must then say that it never was
 * connected. */
bool act_ours(struct act *a);
enum condition act_condition(struct act *a);

/* When to look at an attempt that goes on in the kernel, if no wait tells of it
 * before. <now>: ns. Soon if something is to be sent then: the program may wait for
 * nothing but the answer. */
int64_t act_next_look(const struct act *a, int64_t now);

/* Whether other connects of the program's to the name of <t> are under way. */
bool act_in_crowd(const struct act *a, const struct target *t);

enum fate {
	FATE_OURS = 0, /* to be retried if the error allows it; with .last only decided on */
	FATE_NATIVE,   /* the program's */
	FATE_OBSERVED  /* the program's, and we say what we would have done */
};

/* Looks up what is configured, at the first failure. <error>: the failure's, or
 * what it probably is while it has not been taken. */
enum fate act_judge(struct act *a, int error);

/*
 * The attempt failed with <error>, which is off the socket by now. True: retried,
 * the record is released in backoff. False: it is not, and has been logged; the
 * record is still claimed.
 */
bool act_retry(struct act *a, int error);

/* Decides and logs only; true: to be retried. */
bool act_decide(struct act *a, int error);

/* A retry that was announced is not made: the program gets <error>. Logs. */
void act_give_up(struct act *a, int error);

/* A connected socket: reports a recovery. False if it is connected to itself,
 * which the kernel may do to a socket that is retried on this machine. */
bool act_recovered(struct act *a);

/* A first attempt was successful, unclaimed, while names_watching(): the program has
 * got to an address of a name. Reports what another one went through. */
void act_connected_elsewhere(struct act *a);

/* Before an attempt: whether it is to be the last although the policy would allow
 * more, and whose turn it is: the destination's, or that of a place its rule names. */
void act_look_around(struct act *a);

/* The breaker has refused the destination: the attempts go to a place that the rule names
 * from now on. False: it names none, or none can be reached. */
bool act_detour(struct act *a, const struct target *t);

/* Nothing is due but a look whether the descriptor lives. <now>: ns. */
void act_check_later(struct act *a, int64_t now);

/* The next attempt; releases. <now>: ns. */
void act_attempt(struct act *a, int64_t now);

/* Registrations: silent, and again as the program wants them. False if one
 * cannot be made silent. */
bool act_park(struct act *a);
void act_rearm(struct act *a);
/* Those that were reported, which is kept from the program: one-shot ones, while something
 * new is to come; edge-triggered ones too, where nothing is. */
void act_rearm_oneshot(struct act *a);
void act_rearm_once(struct act *a);
/* All: what was reported and kept from the program is reported again. */
void act_rearm_all(struct act *a);

/* What was sent goes over the new connection first. False: not all of it yet, or
 * it broke; *sight is what is left to do, and the record is released. */
bool act_replayed(struct act *a, enum sight *sight);

/* The program gets <error>, which only we know: releases. */
enum sight act_owed(struct act *a, int error);

/* Logs an end that is no failure. <to>: an address other than that of the attempts;
 * or NULL. */
void act_log_end(struct act *a, const struct target *t, enum event_kind kind,
                 const struct addr *to);
/* Logs the fallback that would come next, were the record's not only observed. */
void act_log_observed(const struct act *a, const struct story *s);

/* The log's last word on a failure that the program got itself; <error> 0: it
 * was never seen. */
void act_reported(struct act *a, int error);

/* The descriptor goes away, or has become another's: what is to be said about a
 * record that was in state <was>. */
void act_last_word(struct act *a, enum pend_state was);

#endif
