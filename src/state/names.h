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

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

#define NAMES_LOOKUPS 128
#define NAMES_ADDRS 16
#define NAMES_NAME_MAX 256

/* A program that walks a list goes on at once: a connect that begins later than
 * this (ns) after a failure at another address belongs to a new round. */
#define NAMES_ROUND INT64_C(5000000000)

/* The "thread" of look-ups that are ours: not what an address is called. */
#define NAMES_OURS UINTPTR_MAX

struct name_ip {
	uint8_t family; /* AF_INET or AF_INET6, mapped ones folded */
	uint8_t ip[16];
};

/* One remembered look-up, copied out. */
struct name_entry {
	uint64_t id;          /* which look-up; 0 = none */
	unsigned count;       /* addresses kept */
	unsigned self;        /* index of the address that was asked for */
	uintptr_t thread;     /* who asked */
	char name[NAMES_NAME_MAX];
	struct name_ip ips[NAMES_ADDRS];
};

/* Fills <out> from a socket address; false if it is no IP. */
bool name_ip_from(struct name_ip *out, const struct sockaddr *sa, socklen_t len);

/* Adds <ip> to the <count> entries at <ips> unless it is there or they are
 * full; returns the new count. */
unsigned name_ip_add(struct name_ip *ips, unsigned count, const struct name_ip *ip);

/*
 * Remembers that <name> has the <count> addresses <ips>. <thread> identifies
 * the calling thread (any value of its own). A look-up of the same name and
 * families by the same thread is replaced. Names that do not fit are not remembered.
 */
void names_remember(const char *name, const struct name_ip *ips, unsigned count,
                    uintptr_t thread);

/* The newest look-up that answered with <a>, one of <thread> before others;
 * false if there is none. */
bool names_find(const struct addr *a, uintptr_t thread, struct name_entry *out);

/*
 * A connect to address <e>->self that began at <began> has failed at <now> (ns,
 * one clock): mark it, and return the set of addresses (bit n: index n) that the
 * program has not tried in this round. Trying an address a second time begins a
 * new one, and so does a pause of more than NAMES_ROUND.
 */
uint32_t names_tried(const struct name_entry *e, int64_t began, int64_t now);
/* The same set, without marking anything. */
uint32_t names_untried(const struct name_entry *e);

/* The retries for this name and port are used up at <now> (ns); asked about by
 * names_exhausted_at(), 0 = never. One port per look-up is remembered. */
void names_set_exhausted(const struct name_entry *e, uint16_t port, int64_t now);
int64_t names_exhausted_at(const struct name_entry *e, uint16_t port);

/*
 * Attempts made (and ns waited) at one address before the failure went back
 * to the program so that it tries another one: whoever then succeeds reports
 * the recovery. names_any_pending() is one load, for the success path.
 */
void names_set_pending(const struct name_entry *e, uint16_t port, unsigned attempts,
                       int64_t waited);
bool names_any_pending(void);
/* Takes what is pending for the look-up and port; false if nothing is. */
bool names_take_pending(const struct name_entry *e, uint16_t port, unsigned *attempts,
                        int64_t *waited);

/* What the newest look-ups of <name> (of IPv4, of IPv6, by any thread) have
 * answered, to <ips>, at most NAMES_ADDRS: how many, 0 = never looked up. */
unsigned names_addresses(const char *name, struct name_ip *ips);

/* All look-ups of the program's that answered with <a>, in no order: start with
 * *at = 0, until false. */
bool names_next(unsigned *at, const struct addr *a, struct name_entry *e);

/* In the child after fork: a look-up that another thread was just writing is
 * given up. */
void names_postfork_child(void);

/* Forgets everything, habits too (tests). */
void names_reset(void);

#endif
