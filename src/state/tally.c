/* SPDX-License-Identifier: MIT */
#include "state/tally.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/compat.h"
#include "base/duration.h"

#define COUNT(head) ((head) >> 24)

/* An address in words, as in a cell. */
struct name {
	uint64_t w[3];
};

struct tally_cell tally_cells[TALLY_SETS][TALLY_WAYS];
/* When each was last taken, or given to its address. Apart, for the place of a set to be
 * a shift. */
static _Atomic int64_t all_since[TALLY_SETS * TALLY_WAYS];
static _Atomic uint64_t remainder_of_all;

static struct tally_cell *set_of(const struct name *n)
{
	return tally_set(n->w[0] ^ n->w[1] * UINT64_C(0xff51afd7ed558ccd) ^ n->w[2]);
}

static _Atomic int64_t *since_of(const struct tally_cell *c)
{
	return &all_since[c - &tally_cells[0][0]];
}

static inline bool is_of(const struct tally_cell *c, const struct name *n)
{
	return atomic_load_explicit(&c->w[0], memory_order_relaxed) == n->w[0] &&
	       atomic_load_explicit(&c->w[1], memory_order_relaxed) == n->w[1] &&
	       atomic_load_explicit(&c->w[2], memory_order_relaxed) == n->w[2];
}

/* All that there is to an IPv4 address; the other words are 0. */
static inline uint64_t first_word(const struct sockaddr *sa)
{
	uint64_t word;

	memcpy(&word, sa, sizeof(word));
	return word;
}

/* Mapped IPv4 counts as IPv4, the label of a flow does not count. */
static bool name_of(struct name *n, const struct sockaddr *sa, socklen_t len)
{
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr_in6 six;

	n->w[1] = n->w[2] = 0;
	if (addr_is_four(sa, len)) {
		n->w[0] = first_word(sa);
		return true;
	}
	if (len < sizeof(six) || sa->sa_family != AF_INET6)
		return false;
	memcpy(&six, sa, sizeof(six));
	if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
		four.sin_port = six.sin6_port;
		memcpy(&four.sin_addr, &six.sin6_addr.s6_addr[12], sizeof(four.sin_addr));
		n->w[0] = first_word((const struct sockaddr *)&four);
		return true;
	}
	six.sin6_flowinfo = six.sin6_scope_id;
	n->w[0] = first_word((const struct sockaddr *)&six);
	memcpy(&n->w[1], &six.sin6_addr, sizeof(six.sin6_addr));
	return true;
}

static bool addr_of(struct addr *a, const uint64_t w[3])
{
	struct sockaddr_in6 in6 = { 0 };

	memcpy(&in6, w, 8);
	if (in6.sin6_family == AF_INET)
		return addr_from_sockaddr(a, (const struct sockaddr *)&in6,
		                          sizeof(struct sockaddr_in));
	in6.sin6_scope_id = in6.sin6_flowinfo;
	in6.sin6_flowinfo = 0;
	memcpy(&in6.sin6_addr, &w[1], 16);
	return addr_from_sockaddr(a, (const struct sockaddr *)&in6, sizeof(in6));
}

/* One more, if the cell is the one of <n>. */
static bool count_in(struct tally_cell *c, const struct name *n)
{
	uint64_t head = atomic_load_explicit(&c->head, memory_order_acquire);

	while (!(head & TALLY_ODD) && is_of(c, n))
		if (tally_change(c, &head, head + TALLY_ONE))
			return true;
	return false;
}

/* The cell that is least missed: an empty one, if there is one. */
static struct tally_cell *least(struct tally_cell *set, uint64_t *head)
{
	struct tally_cell *found = NULL;

	for (unsigned i = 0; i < TALLY_WAYS; i++) {
		uint64_t other = atomic_load_explicit(&set[i].head, memory_order_acquire);

		if (!(other & TALLY_ODD) && (!found || COUNT(other) < COUNT(*head))) {
			found = &set[i];
			*head = other;
		}
	}
	return found;
}

/* A word is stored as "release" so that nobody sees it before the odd number. */
static bool give_to(struct tally_cell *c, uint64_t head, const struct name *n, int64_t now)
{
	if (!tally_change(c, &head, (head & TALLY_NUMBER) | TALLY_ODD))
		return false;
	if (COUNT(head))
		atomic_fetch_add_explicit(&remainder_of_all, COUNT(head), memory_order_relaxed);
	for (unsigned i = 0; i < ARRAY_LEN(n->w); i++)
		atomic_store_explicit(&c->w[i], n->w[i], memory_order_release);
	atomic_store_explicit(since_of(c), now, memory_order_relaxed);
	atomic_store_explicit(&c->head, TALLY_ONE | ((head + 2) & TALLY_NUMBER),
	                      memory_order_release);
	return true;
}

void tally_call_any(const struct sockaddr *sa, socklen_t len, int64_t now)
{
	struct name n;
	struct tally_cell *set;
	struct tally_cell *c;
	uint64_t head;

	if (!name_of(&n, sa, len))
		return;
	set = set_of(&n);
	for (unsigned i = 0; i < TALLY_WAYS; i++)
		if (count_in(&set[i], &n))
			return;
	c = least(set, &head);
	if (!c || !give_to(c, head, &n, now))
		atomic_fetch_add_explicit(&remainder_of_all, 1, memory_order_relaxed);
}

/* In ms, of which a product with 2^40 calls has room. */
uint64_t tally_recent(uint64_t n, int64_t length, int64_t since, int64_t now)
{
	uint64_t elapsed = now > since ? (uint64_t)(now - since) / DUR_MS : 0;
	uint64_t last = (uint64_t)length / DUR_MS;

	return elapsed > last ? (n * last + elapsed - 1) / elapsed : n;
}

uint64_t tally_take(const struct addr *a, int64_t now, int64_t length, uint64_t *recent)
{
	struct sockaddr_storage ss;
	socklen_t len = addr_to_sockaddr(a, &ss);
	const struct sockaddr *sa = (const struct sockaddr *)&ss;
	struct tally_cell *set;
	struct name n;
	uint64_t sum = 0;

	*recent = 0;
	if (len == 0 || !name_of(&n, sa, len))
		return 0;
	set = set_of(&n);
	for (unsigned i = 0; i < TALLY_WAYS; i++) {
		uint64_t head = atomic_load_explicit(&set[i].head, memory_order_acquire);

		while (!(head & TALLY_ODD) && COUNT(head) && is_of(&set[i], &n)) {
			int64_t since = atomic_load_explicit(since_of(&set[i]), memory_order_relaxed);

			if (!tally_change(&set[i], &head, head & TALLY_NUMBER))
				continue;
			sum += COUNT(head);
			*recent += tally_recent(COUNT(head), length, since, now);
			atomic_store_explicit(since_of(&set[i]), now, memory_order_relaxed);
			break;
		}
	}
	return sum;
}

static void drain(struct tally_cell *c, void (*out)(void *arg, const struct addr *a, uint64_t n),
                  void *arg)
{
	uint64_t head = atomic_load_explicit(&c->head, memory_order_acquire);
	uint64_t w[3];
	struct addr a;

	while (!(head & TALLY_ODD) && COUNT(head)) {
		for (unsigned i = 0; i < ARRAY_LEN(w); i++)
			w[i] = atomic_load_explicit(&c->w[i], memory_order_relaxed);
		if (!tally_change(c, &head, head & TALLY_NUMBER))
			continue;
		if (addr_of(&a, w))
			out(arg, &a, COUNT(head));
		return;
	}
}

void tally_drain(void (*out)(void *arg, const struct addr *a, uint64_t n), void *arg)
{
	for (unsigned i = 0; i < TALLY_SETS; i++)
		for (unsigned j = 0; j < TALLY_WAYS; j++)
			drain(&tally_cells[i][j], out, arg);
	out(arg, NULL, atomic_exchange(&remainder_of_all, 0));
}

void tally_postfork_child(void)
{
	for (unsigned i = 0; i < TALLY_SETS; i++)
		for (unsigned j = 0; j < TALLY_WAYS; j++)
			atomic_store_explicit(&tally_cells[i][j].head, 0, memory_order_relaxed);
	atomic_store_explicit(&remainder_of_all, 0, memory_order_relaxed);
}
