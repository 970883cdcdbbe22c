/* SPDX-License-Identifier: MIT */
#include "base/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "base/compat.h"

/* What connect() asks of an IPv6 address at least: up to the scope id. */
#define SIN6_MIN offsetof(struct sockaddr_in6, sin6_scope_id)

static const uint8_t mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };

/* ::ffff:a.b.c.d becomes a.b.c.d. */
static void fold(struct addr *a)
{
	if (a->family != AF_INET6 || memcmp(a->ip, mapped_prefix, sizeof(mapped_prefix)) != 0)
		return;
	a->family = AF_INET;
	a->mapped = true;
	memmove(a->ip, a->ip + 12, 4);
	memset(a->ip + 4, 0, 12);
}

/*
 * An abstract name is all of its bytes, trailing NULs included; we leave those
 * out, because programs that pass the whole structure mean the short name.
 * NULs inside become '@', as in /proc/net/unix.
 */
static void set_path(struct addr *a, const char *path, size_t len)
{
	a->abstract = path[0] == '\0';
	if (!a->abstract) {
		memcpy(a->path, path, strnlen(path, len));
		return;
	}
	while (len > 1 && path[len - 1] == '\0')
		len--;
	for (size_t i = 0; i < len; i++)
		a->path[i] = path[i] ? path[i] : '@';
}

bool addr_from_sockaddr(struct addr *a, const struct sockaddr *sa, socklen_t len)
{
	const char *raw = (const char *)sa;
	sa_family_t family;

	memset(a, 0, sizeof(*a));
	if (!sa || len < (socklen_t)sizeof(family))
		return false;
	/* By memcpy: the program's buffer need not be aligned. */
	memcpy(&family, raw, sizeof(family));
	if (family == AF_INET && len >= (socklen_t)sizeof(struct sockaddr_in)) {
		struct sockaddr_in in;

		memcpy(&in, raw, sizeof(in));
		a->port = ntohs(in.sin_port);
		memcpy(a->ip, &in.sin_addr, 4);
	} else if (family == AF_INET6 && len >= (socklen_t)SIN6_MIN) {
		struct sockaddr_in6 in6 = { 0 };

		memcpy(&in6, raw, len < (socklen_t)sizeof(in6) ? len : sizeof(in6));
		a->port = ntohs(in6.sin6_port);
		a->scope = in6.sin6_scope_id;
		memcpy(a->ip, &in6.sin6_addr, 16);
	} else if (family == AF_UNIX && len > (socklen_t)offsetof(struct sockaddr_un, sun_path) &&
	           len <= (socklen_t)sizeof(struct sockaddr_un)) {
		size_t at = offsetof(struct sockaddr_un, sun_path);

		set_path(a, raw + at, len - at);
	} else {
		return false;
	}
	a->family = (uint8_t)family;
	fold(a);
	return true;
}

socklen_t addr_to_sockaddr(const struct addr *a, struct sockaddr_storage *ss)
{
	memset(ss, 0, sizeof(*ss));
	if (a->family == AF_INET && !a->mapped) {
		struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(a->port) };

		memcpy(&in.sin_addr, a->ip, 4);
		memcpy(ss, &in, sizeof(in));
		return sizeof(in);
	}
	if (a->family == AF_INET || a->family == AF_INET6) {
		struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(a->port),
			                    .sin6_scope_id = a->scope };

		if (a->mapped) {
			memcpy(&in6.sin6_addr, mapped_prefix, 12);
			memcpy((uint8_t *)&in6.sin6_addr + 12, a->ip, 4);
		} else {
			memcpy(&in6.sin6_addr, a->ip, 16);
		}
		memcpy(ss, &in6, sizeof(in6));
		return sizeof(in6);
	}
	return 0;
}

/* The family and bytes of a literal as written, mapped ones not folded;
 * AF_UNSPEC if it is none. */
static uint8_t parse_literal(const char *text, uint8_t ip[16])
{
	memset(ip, 0, 16);
	if (inet_pton(AF_INET, text, ip) == 1)
		return AF_INET;
	/* A failed attempt may have left bytes behind. */
	memset(ip, 0, 16);
	if (inet_pton(AF_INET6, text, ip) == 1)
		return AF_INET6;
	memset(ip, 0, 16);
	return AF_UNSPEC;
}

bool addr_parse_ip(struct addr *a, const char *text)
{
	memset(a, 0, sizeof(*a));
	a->family = parse_literal(text, a->ip);
	fold(a);
	return a->family != AF_UNSPEC;
}

static bool is_ip(const struct addr *a)
{
	return a->family == AF_INET || a->family == AF_INET6;
}

bool addr_same_ip(const struct addr *a, const struct addr *b)
{
	return is_ip(a) && a->family == b->family &&
	       memcmp(a->ip, b->ip, a->family == AF_INET ? 4 : 16) == 0;
}

bool addr_is_loopback(const struct addr *a)
{
	static const uint8_t one[16] = { [15] = 1 };

	if (a->family == AF_INET)
		return a->ip[0] == 127;
	return a->family == AF_INET6 && memcmp(a->ip, one, 16) == 0;
}

bool addr_is_any(const struct addr *a)
{
	static const uint8_t zero[16];

	return is_ip(a) && memcmp(a->ip, zero, a->family == AF_INET ? 4 : 16) == 0;
}

bool addr_is_special(const struct addr *a)
{
	static const uint8_t broadcast[4] = { 255, 255, 255, 255 };

	if (a->family == AF_INET)
		return (a->ip[0] == 169 && a->ip[1] == 254) || (a->ip[0] & 0xf0) == 0xe0 ||
		       memcmp(a->ip, broadcast, 4) == 0;
	if (a->family == AF_INET6)
		return a->ip[0] == 0xff || (a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80);
	return false;
}

static void fmt_v4(struct fmt *f, const uint8_t *ip)
{
	for (int i = 0; i < 4; i++) {
		if (i > 0)
			fmt_char(f, '.');
		fmt_u64(f, ip[i]);
	}
}

static unsigned group(const uint8_t *ip, int i)
{
	return (unsigned)ip[2 * i] << 8 | ip[2 * i + 1];
}

/* The longest run of zero groups, the first of equals; at least two. */
static int zero_run(const uint8_t *ip, int *length)
{
	int best = -1;

	*length = 1;
	for (int i = 0, n = 0; i < 8; i++) {
		n = group(ip, i) == 0 ? n + 1 : 0;
		if (n > *length) {
			*length = n;
			best = i - n + 1;
		}
	}
	return best;
}

static void fmt_v6(struct fmt *f, const uint8_t *ip)
{
	int length, run = zero_run(ip, &length);

	for (int i = 0; i < 8; i++) {
		if (i == run) {
			fmt_str(f, "::");
			i += length - 1;
			continue;
		}
		if (i > 0 && i != run + length)
			fmt_char(f, ':');
		fmt_hex(f, group(ip, i));
	}
}

static void fmt_ip(struct fmt *f, uint8_t family, const uint8_t *ip)
{
	if (family == AF_INET)
		fmt_v4(f, ip);
	else
		fmt_v6(f, ip);
}

void addr_fmt_ip(struct fmt *f, const struct addr *a)
{
	if (is_ip(a))
		fmt_ip(f, a->family, a->ip);
	else if (a->family == AF_UNIX)
		fmt_str(f, a->path);
}

void addr_fmt(struct fmt *f, const struct addr *a)
{
	if (!is_ip(a)) {
		addr_fmt_ip(f, a);
		return;
	}
	if (a->family == AF_INET6)
		fmt_char(f, '[');
	addr_fmt_ip(f, a);
	if (a->family == AF_INET6) {
		if (a->scope) {
			fmt_char(f, '%');
			fmt_u64(f, a->scope);
		}
		fmt_char(f, ']');
	}
	fmt_char(f, ':');
	fmt_u64(f, a->port);
}

/* True if the first <bits> bits are equal. */
static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned rest = bits % 8;

	if (memcmp(a, b, bits / 8) != 0)
		return false;
	return rest == 0 || ((a[bits / 8] ^ b[bits / 8]) >> (8 - rest)) == 0;
}

/* Clears all bits from <bits> on; true if any was set. */
static bool clear_host_bits(uint8_t ip[16], unsigned bits)
{
	bool any = false;

	for (unsigned i = bits / 8; i < 16; i++) {
		unsigned keep = i == bits / 8 ? bits % 8 : 0;
		uint8_t mask = (uint8_t)(0xff >> keep);

		any |= (ip[i] & mask) != 0;
		ip[i] &= (uint8_t)~mask;
	}
	return any;
}

/* A prefix length of at most <most>: digits only, no leading zero; -1. */
static int parse_bits(const char *s, int most)
{
	int n = 0;

	if (!*s || (s[0] == '0' && s[1]))
		return -1;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return -1;
		n = n * 10 + (*s - '0');
		if (n > most)
			return -1;
	}
	return n;
}

enum cidr_status cidr_parse(struct cidr *c, const char *text)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char literal[INET6_ADDRSTRLEN];
	int bits;

	memset(c, 0, sizeof(*c));
	if (len >= sizeof(literal))
		return CIDR_BAD_ADDRESS;
	memcpy(literal, text, len);
	literal[len] = '\0';
	c->family = parse_literal(literal, c->ip);
	if (c->family == AF_UNSPEC)
		return CIDR_BAD_ADDRESS;
	bits = c->family == AF_INET ? 32 : 128;
	if (slash)
		bits = parse_bits(slash + 1, bits);
	if (bits < 0)
		return CIDR_BAD_LENGTH;
	if (c->family == AF_INET6 && bits >= 96 &&
	    memcmp(c->ip, mapped_prefix, sizeof(mapped_prefix)) == 0) {
		c->family = AF_INET;
		memmove(c->ip, c->ip + 12, 4);
		memset(c->ip + 4, 0, 12);
		bits -= 96;
	}
	c->bits = (uint8_t)bits;
	return clear_host_bits(c->ip, c->bits) ? CIDR_HOST_BITS : CIDR_OK;
}

void cidr_fmt(struct fmt *f, const struct cidr *c)
{
	fmt_ip(f, c->family, c->ip);
	fmt_char(f, '/');
	fmt_u64(f, c->bits);
}

bool cidr_match(const struct cidr *c, const struct addr *a)
{
	return c->family == a->family && same_bits(c->ip, a->ip, c->bits);
}

bool cidr_covers(const struct cidr *outer, const struct cidr *inner)
{
	return outer->family == inner->family && outer->bits <= inner->bits &&
	       same_bits(outer->ip, inner->ip, outer->bits);
}
