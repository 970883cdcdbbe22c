/* SPDX-License-Identifier: MIT */
/*
 * names.h - what the resolver said: name -> ordered addresses, per process.
 *
 * A connect() knows only an address; rules speak of names, and whether to wait
 * depends on the other addresses of the same look-up. Bounded (NAMES_LOOKUPS
 * look-ups of NAMES_ADDRS addresses, the oldest goes first), static, lock-free:
 * a slot is guarded by a sequence number, a writer that finds it taken gives
 * up, a reader that sees it change looks elsewhere. So everything here is safe
 * in signal handlers, threads and a forked child, and what is lost under such
 * a race is one remembered look-up. errno untouched, no system call.
 */
#ifndef LIBRETRY_STATE_NAMES_H
#define LIBRETRY_STATE_NAMES_H

#include <netdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/compat.h"

#define NAMES_LOOKUPS 128
#define NAMES_ADDRS 16 /* of one look-up, in full */
#define NAMES_MORE 64  /* the others, as hashes: enough to know them again */
#define NAMES_NAME_MAX 256

/* A program that walks a list goes on at once: a connect that begins later than
 * this (ns) after a failure at another address belongs to a new round. Look-ups of
 * the two families that are no further apart are of one list. */
#define NAMES_ROUND INT64_C(5000000000)

/* Why a successful connect is of interest: one word, one load on its way. */
extern _Atomic uint32_t names_gate LR_HIDDEN;
#define NAMES_PENDING UINT32_C(1) /* a recovery to be reported */
#define NAMES_NOTED UINT32_C(2)   /* state/habit wants to know */
#define NAMES_TRIED UINT32_C(4)   /* state/tried: a walk that it ends */
#define NAMES_CARRIED UINT32_C(8) /* state/carry: a series that it ends */

static inline bool names_watching(void)
{
	return atomic_load_explicit(&names_gate, memory_order_relaxed) != 0;
}

static inline bool names_any_pending(void)
{
	return atomic_load_explicit(&names_gate, memory_order_relaxed) & NAMES_PENDING;
}

/* The "thread" of look-ups that are ours: not what an address is called. */
#define NAMES_OURS UINTPTR_MAX

struct name_ip {
	uint8_t family; /* AF_INET or AF_INET6, mapped ones folded */
	uint8_t ip[16];
};

/* What a look-up answers, in its order. */
struct name_list {
	unsigned count; /* of .ips */
	unsigned more;  /* of .hashes */
	struct name_ip ips[NAMES_ADDRS];
	uint32_t hashes[NAMES_MORE];
};

/* One remembered look-up, copied out. */
struct name_entry {
	uint64_t id;          /* which look-up; 0 = none */
	unsigned count;       /* addresses kept in full */
	unsigned more;        /* and others */
	unsigned self;        /* index of the address that was asked for; from
	                       * NAMES_ADDRS on: one of the others */
	struct name_ip ip;    /* that address */
	uintptr_t thread;     /* who asked */
	char name[NAMES_NAME_MAX];
	struct name_ip ips[NAMES_ADDRS];
};

/* Fills <out> from a socket address; false if it is no IP. */
bool name_ip_from(struct name_ip *out, const struct sockaddr *sa, socklen_t len);

/* By which addresses are compared where they are not kept in full. */
uint32_t name_ip_hash(const struct name_ip *ip);

/* Adds <ip> at the end unless it is there or there is no room. */
void name_list_add(struct name_list *l, const struct name_ip *ip);

/*
 * Remembers at <now> (ns, any one clock) that <name> has the addresses <l>.
 * <thread> identifies the calling thread (any value of its own). A look-up of the
 * same name and families by the same thread is replaced. One family that comes no
 * later than NAMES_ROUND after a look-up of the other, of the same name and thread,
 * is kept as one list with it. Names that do not fit are not remembered.
 */
void names_remember(const char *name, const struct name_list *l, uintptr_t thread,
                    int64_t now);

/* The same of what getaddrinfo() has answered. */
void names_remember_answer(const char *name, const struct addrinfo *answer, uintptr_t thread,
                           int64_t now);

/*
 * What most look-ups come to: true, if <answer> is that of the newest look-up of all, of
 * the same name by the same thread, which then is of <now>. Not while names_watching():
 * somebody may want to tell the two apart.
 */
bool names_remember_same(const char *name, const struct addrinfo *answer, uintptr_t thread,
                         int64_t now);

/* <thread> has had an address in digits "looked up": from now on it is called
 * nothing, until a name is looked up again. */
void names_remember_literal(const struct name_ip *ip, uintptr_t thread);

/* The newest look-up that answered with <a>, one of <thread> before others;
 * false if there is none, or if an address in digits was newer. */
bool names_find(const struct addr *a, uintptr_t thread, struct name_entry *out);

/* The hashes of the addresses that are not kept in full, to <hashes> (room for
 * NAMES_MORE); how many. */
unsigned names_more(const struct name_entry *e, uint32_t *hashes);

/* The retries for this name and port are used up at <now> (ns); asked about by
 * names_exhausted_at(), 0 = never. One port per look-up is remembered. */
void names_set_exhausted(const struct name_entry *e, uint16_t port, int64_t now);
int64_t names_exhausted_at(const struct name_entry *e, uint16_t port);

/* Whether the walk in which that happened still goes on. A failure that is the
 * <first> of a walk ends it. */
bool names_exhausted_walk(const struct name_entry *e, bool first);

/*
 * Attempts made (and ns waited) at one address before the failure went back
 * to the program so that it tries another one: whoever then succeeds reports
 * the recovery.
 */
void names_set_pending(const struct name_entry *e, uint16_t port, unsigned attempts,
                       int64_t waited);
/* Takes what is pending for the look-up and port; false if nothing is. */
bool names_take_pending(const struct name_entry *e, uint16_t port, unsigned *attempts,
                        int64_t *waited);

/* What the newest look-ups of <name> (of IPv4, of IPv6, by any thread) have
 * answered, to <ips>, at most NAMES_ADDRS: how many, 0 = never looked up. *at: when
 * the older of them was. */
unsigned names_addresses(const char *name, struct name_ip *ips, int64_t *at);

/* What the newest look-up of the program's of <name> with an address of <family>
 * (AF_UNSPEC: any) has answered, those of the family in its order, to <ips>, room for
 * NAMES_ADDRS: how many of them are known in full. *at: when that was. */
unsigned names_recall(const char *name, int family, struct name_ip *ips, int64_t *at);

/* All look-ups of the program's that answered with <a>, in no order: start with
 * *at = 0, until false. */
bool names_next(unsigned *at, const struct addr *a, struct name_entry *e);

/* In the child after fork: a look-up that another thread was just writing is
 * given up. */
void names_postfork_child(void);

/* Forgets everything, habits and walks too (tests). */
void names_reset(void);

#endif
