/* SPDX-License-Identifier: MIT */
/*
 * limits.h - how long one attempt takes that nobody answers: the kernel's time for
 * a connect, the resolver's for a look-up.
 */
#ifndef LIBRETRY_CLI_LIMITS_H
#define LIBRETRY_CLI_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* How often a SYN is sent again, and when that ends. */
struct syn_limits {
	unsigned retries;     /* net.ipv4.tcp_syn_retries, or TCP_SYNCNT */
	unsigned linear;      /* net.ipv4.tcp_syn_linear_timeouts; 0 before Linux 6.5 */
	int64_t rto_max;      /* ns, net.ipv4.tcp_rto_max_ms; 120 s before Linux 6.15 */
	int64_t user_timeout; /* ns, TCP_USER_TIMEOUT; 0: none */
};

/* Reads <dir> ("/proc/sys/net/ipv4"), .user_timeout is 0 then. False if
 * tcp_syn_retries is not there; the figures are Linux's defaults then. */
bool syn_limits_read(struct syn_limits *l, const char *dir);

/*
 * When a connect whose SYNs are not answered fails with ETIMEDOUT, ns. The time-outs
 * are 1 s, for the linear ones once more each, then doubled. It is over at the one
 * that has all retransmissions behind it, or 2^(retries+1) - 1 s; with a user
 * time-out, not before the first, at that. *again: SYNs sent again until then. Pure.
 * (Measured on Linux 6.18.)
 */
int64_t syn_time(const struct syn_limits *l, unsigned *again);

struct resolver_limits {
	unsigned timeout;  /* s, of the first question to the first server */
	unsigned attempts; /* rounds over all servers */
	unsigned servers;
	bool searches;     /* the name is asked for twice: as it is, and in a domain */
};

/* As the C library would in this process (resolv.conf, LOCALDOMAIN, RES_OPTIONS), for
 * a look-up of <name>. False if it cannot tell; then its defaults. */
bool resolver_limits_read(struct resolver_limits *l, const char *name);

/*
 * When a look-up that no server answers fails with EAI_AGAIN, ns: in each round
 * server k (from 0) gets timeout * 2^k, for k > 0 divided by the number of servers,
 * at least 1 s. A search list doubles it: after a question that nobody answered only
 * the name itself, or one domain, is tried. Pure. (Measured with glibc 2.36.)
 */
int64_t resolver_time(const struct resolver_limits *l);

#endif
