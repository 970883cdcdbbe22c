/* SPDX-License-Identifier: MIT */
#include "state/peers.h"

#include <stdatomic.h>
#include <string.h>

#include "base/compat.h"
#include "state/fdtab.h"

/* What is kept, in words, so that who reads while another writes reads something,
 * and finds out afterwards that it is worth nothing. */
enum { ADDRESS = 0, THREAD = 4, IDENTITY, ATTEMPT, BEGAN, WAITED, PREVIOUS_WAIT, WORDS };

/* The low half of .head is the descriptor + 1; 0: none; BUSY: being written. The
 * other half counts. */
#define BUSY UINT32_MAX

struct place {
	_Atomic uint64_t head;
	_Atomic uint64_t words[WORDS];
};

static struct place places[PEERS];

static struct place *place_of(int fd)
{
	return &places[(unsigned)fd % PEERS];
}

static bool is_of(uint64_t head, int fd)
{
	return (uint32_t)head == (uint32_t)fd + 1;
}

/* True: the place is ours until leave(). */
static bool enter(struct place *p, uint64_t *head)
{
	*head = atomic_load_explicit(&p->head, memory_order_relaxed);
	return (uint32_t)*head != BUSY &&
	       atomic_compare_exchange_strong(&p->head, head, *head | BUSY);
}

/* It is about <fd> now; -1: about none. */
static void leave(struct place *p, uint64_t head, int fd)
{
	atomic_store_explicit(&p->head, ((head >> 32) + 1) << 32 | ((uint32_t)fd + 1),
	                      memory_order_release);
}

static void put(struct place *p, unsigned i, uint64_t value)
{
	atomic_store_explicit(&p->words[i], value, memory_order_relaxed);
}

/* <size> is a constant where this is called. */
static inline void put_word(struct place *p, unsigned i, const void *from, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, from, size);
	put(p, i, word);
}

static void put_four(struct place *p, const char *sa)
{
	put_word(p, ADDRESS, sa, 8);
	put_word(p, ADDRESS + 1, sa + 8, sizeof(struct sockaddr_in) - 8);
}

static void put_six(struct place *p, const char *sa)
{
	put_word(p, ADDRESS, sa, 8);
	put_word(p, ADDRESS + 1, sa + 8, 8);
	put_word(p, ADDRESS + 2, sa + 16, 8);
	put_word(p, ADDRESS + 3, sa + 24, sizeof(struct sockaddr_in6) - 24);
}

static bool get(int fd, uint64_t words[WORDS])
{
	struct place *p = place_of(fd);
	uint64_t head = atomic_load_explicit(&p->head, memory_order_acquire);

	if (fd < 0 || !is_of(head, fd))
		return false;
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = atomic_load_explicit(&p->words[i], memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&p->head, memory_order_relaxed) == head;
}

void peers_note(int fd, const struct sockaddr *sa, socklen_t len, uintptr_t thread)
{
	struct place *p = place_of(fd);
	bool four = sa->sa_family == AF_INET && len >= sizeof(struct sockaddr_in);
	bool six = sa->sa_family == AF_INET6 && len >= sizeof(struct sockaddr_in6);
	uint64_t head;

	if (lr_unlikely(!four && !six)) {
		peers_forget(fd);
		return;
	}
	if (lr_unlikely(!enter(p, &head)))
		return;
	if (four)
		put_four(p, (const char *)sa);
	else
		put_six(p, (const char *)sa);
	put(p, THREAD, thread);
	put(p, IDENTITY, 0);
	leave(p, head, fd);
	if (lr_unlikely(!(fdtab_word() & FDTAB_PEERS)))
		atomic_fetch_or(&fdtab_gate, FDTAB_PEERS);
}

bool peers_find(int fd, struct peer *out)
{
	uint64_t words[WORDS];

	if (!get(fd, words))
		return false;
	memset(out, 0, sizeof(*out));
	memcpy(&out->to, words, sizeof(out->to));
	out->len = out->to.sa.sa_family == AF_INET ? sizeof(out->to.in) : sizeof(out->to.in6);
	out->thread = (uintptr_t)words[THREAD];
	out->identity = words[IDENTITY];
	if (out->identity)
		out->so_far = (struct so_far){ .attempt = (unsigned)words[ATTEMPT],
			                       .began = (int64_t)words[BEGAN],
			                       .waited = (int64_t)words[WAITED],
			                       .previous_wait = (int64_t)words[PREVIOUS_WAIT] };
	return true;
}

void peers_copy(int from, int to)
{
	struct place *p = place_of(to);
	uint64_t words[WORDS];
	uint64_t head;

	if (to < 0 || !get(from, words)) {
		peers_forget(to);
	} else if (enter(p, &head)) {
		for (unsigned i = 0; i < WORDS; i++)
			put(p, i, words[i]);
		leave(p, head, to);
	}
}

/* In one step, for close(). Who is about to write it has a newer one. */
void peers_forget(int fd)
{
	struct place *p = place_of(fd);
	uint64_t head = atomic_load_explicit(&p->head, memory_order_relaxed);

	if (lr_unlikely(is_of(head, fd)) && fd >= 0)
		atomic_compare_exchange_strong(&p->head, &head, ((head >> 32) + 1) << 32);
}

void peers_progress(int fd, uint64_t identity, const struct so_far *so_far)
{
	struct place *p = place_of(fd);
	uint64_t head;

	if (fd < 0 || !enter(p, &head))
		return;
	if (is_of(head, fd)) {
		put(p, IDENTITY, identity);
		put(p, ATTEMPT, so_far->attempt);
		put(p, BEGAN, (uint64_t)so_far->began);
		put(p, WAITED, (uint64_t)so_far->waited);
		put(p, PREVIOUS_WAIT, (uint64_t)so_far->previous_wait);
	}
	leave(p, head, (int)((uint32_t)head - 1));
}

void peers_reset(void)
{
	for (unsigned i = 0; i < PEERS; i++)
		atomic_store(&places[i].head, 0);
	atomic_fetch_and(&fdtab_gate, ~FDTAB_PEERS);
}
