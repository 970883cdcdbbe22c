/* SPDX-License-Identifier: MIT */
/*
 * place.h - the places that a rule names besides the destination: "fallback" and
 * "redirect". Which is next, and at which address this socket can reach it.
 */
#ifndef LIBRETRY_ENGINE_PLACE_H
#define LIBRETRY_ENGINE_PLACE_H

#include "engine/ops.h"

/* Room for the printed address of a place, or for what the rule says. */
#define PLACE_TEXT_MAX (255 + 1 + 5 + 1)

/* How long look-ups may take at most before an attempt. */
#define PLACE_PATIENCE (2 * DUR_S)

/* Whose attempts they are. */
struct places {
	const struct engine_ops *ops;
	void *ctx;
	int fd;
	bool wait;               /* a blocking connect: names may be looked up, and
	                          * the socket be replaced by one of another family */
	int64_t patience;        /* ns that look-ups may take now; what they took is
	                          * taken off, and all if one has timed out */
	uint8_t family;          /* of the address that the program asked for */
	const struct rule *rule; /* NULL: none matched */
	const struct policy *policy;
	const char *dest;        /* for the log */
};

/*
 * Makes <fd>, whose attempts went to <from>, able to connect to <want>; *to is
 * <want> in the form that the socket takes. False: it cannot be. What stays in
 * the family stays on the socket. Another family may change its identity.
 */
bool place_reach(const struct places *p, const struct addr *from, const struct addr *want,
                 struct addr *to);

/* The same for <e>. A name's addresses of the socket's family come first. False if
 * the name is not known, or no address of it can be reached. */
bool place_find(struct places *p, const struct addr *from, const struct endpoint *e,
                struct addr *to);

/*
 * <attempts> have failed, the last of them at place <at> (0: the destination, n:
 * the rule's n-th fallback) and address <from>. The place of the next one: the
 * destination until fallback_after attempts were made there, then the fallbacks
 * in order, then the destination again, and so on. Those that would put an IPv6
 * socket under a program that has asked for an IPv4 address come after the others.
 * One that cannot be reached is passed over, and that is logged once. If it is a
 * fallback other than <at>, *to is its address.
 */
unsigned place_next(struct places *p, unsigned at, unsigned attempts, const struct addr *from,
                    struct addr *to);

/* "fallback": the attempts go from <from> to <to> from now on. */
void place_log_moved(const struct places *p, const struct addr *from, const struct addr *to);

/* "would-fallback", in observe mode, if <attempts> failures are enough for it. */
void place_log_observed(const struct places *p, unsigned attempts, const struct addr *from);

/* "redirect" and what belongs to it: <kind>, from <from> to <to>. */
void place_log(const struct places *p, enum event_kind kind, const struct addr *from,
               const char *to, enum reason reason);

#endif
