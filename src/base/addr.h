/* SPDX-License-Identifier: MIT */
/*
 * addr.h - socket addresses as values: parse, compare, print.
 *
 * IPv4-mapped IPv6 addresses (::ffff:192.0.2.1) are folded to IPv4 so that one
 * rule covers both spellings; .mapped remembers it for the way back.
 */
#ifndef LIBRETRY_BASE_ADDR_H
#define LIBRETRY_BASE_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fmt.h"

/* sun_path is 108 bytes and needs no NUL; one more for ours. */
#define ADDR_PATH_MAX 109

/* Longest printed form: a path, or "[v6%scope]:port". */
#define ADDR_TEXT_MAX 128

struct addr {
	uint8_t family;     /* AF_INET, AF_INET6, AF_UNIX; AF_UNSPEC = none */
	bool mapped;        /* was ::ffff:a.b.c.d */
	bool abstract;      /* AF_UNIX: path[0] was NUL, printed as '@' */
	uint16_t port;      /* host order */
	uint32_t scope;     /* IPv6 scope id */
	uint8_t ip[16];     /* network order; IPv4 in the first 4 */
	char path[ADDR_PATH_MAX]; /* AF_UNIX, NUL-terminated, '@' for abstract */
};

/* A whole address of IPv4: what hot paths have a quick way for. */
static inline bool addr_is_four(const struct sockaddr *sa, socklen_t len)
{
	return len >= sizeof(struct sockaddr_in) && sa->sa_family == AF_INET;
}

/* Fills <a> from <sa>; false for other families, lengths that connect() would
 * refuse and unnamed Unix sockets (then a->family is AF_UNSPEC). Reads at most
 * <len> bytes. Trailing NULs of an abstract name are left out, NULs inside
 * become '@': the text is for people and rules, not for the way back. */
bool addr_from_sockaddr(struct addr *a, const struct sockaddr *sa, socklen_t len);

/* The way back, IPs only; returns the length written, 0 if not an IP. A mapped
 * address comes back mapped. */
socklen_t addr_to_sockaddr(const struct addr *a, struct sockaddr_storage *ss);

/* A literal without port or brackets: "192.0.2.1", "fd00::1", "fe80::1%2" is
 * refused (scopes are not rules' business). Mapped literals are folded. */
bool addr_parse_ip(struct addr *a, const char *text);

/* Whether that is worth a try: most names show by their first letter that it is not. */
static inline bool addr_may_be_ip(const char *text)
{
	unsigned char first = (unsigned char)*text;

	if ((first >= '0' && first <= '9') || first == ':')
		return true;
	first |= 0x20;
	return first >= 'a' && first <= 'f' && strchr(text, ':');
}

/* Same IP (family after folding, bytes); ports and scopes do not count. */
bool addr_same_ip(const struct addr *a, const struct addr *b);

bool addr_is_loopback(const struct addr *a);
/* 0.0.0.0 or :: */
bool addr_is_any(const struct addr *a);
/* Link-local, multicast or limited broadcast: no catch-all rule retries them. */
bool addr_is_special(const struct addr *a);

/* "192.0.2.10", "fd00::1" (RFC 5952, no scope), "/run/x.sock", "@name". The
 * bytes of a path are as they are: print them through fmt_word(). */
void addr_fmt_ip(struct fmt *f, const struct addr *a);
/* The same with the port: "192.0.2.10:5432", "[::1]:80", "[fe80::1%2]:80";
 * Unix as above. */
void addr_fmt(struct fmt *f, const struct addr *a);

struct cidr {
	uint8_t family;
	uint8_t bits;
	uint8_t ip[16];
};

enum cidr_status {
	CIDR_OK = 0,
	CIDR_BAD_ADDRESS,
	CIDR_BAD_LENGTH, /* "/33", "/x" */
	CIDR_HOST_BITS   /* 10.0.0.1/8: <c> holds the repaired network */
};

/* "10.0.0.0/8", "fd00::/8", or one address. Mapped prefixes of at least
 * /96 are folded to IPv4. */
enum cidr_status cidr_parse(struct cidr *c, const char *text);
void cidr_fmt(struct fmt *f, const struct cidr *c);
bool cidr_match(const struct cidr *c, const struct addr *a);
/* True if every address of <inner> is in <outer>. */
bool cidr_covers(const struct cidr *outer, const struct cidr *inner);

#endif
