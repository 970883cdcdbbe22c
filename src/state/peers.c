/* SPDX-License-Identifier: MIT */
#include "state/peers.h"

_Atomic uint64_t peers_heads[PEERS];
_Atomic uint64_t peers_words[PEERS][PEERS_WORDS];

static bool get(int fd, uint64_t words[PEERS_WORDS])
{
	unsigned place = peers_place(fd);
	uint64_t head = atomic_load_explicit(&peers_heads[place], memory_order_acquire);

	if (fd < 0 || !peers_is_of(head, fd))
		return false;
	for (unsigned i = 0; i < PEERS_WORDS; i++)
		words[i] = atomic_load_explicit(&peers_words[place][i], memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&peers_heads[place], memory_order_relaxed) == head;
}

void peers_note_other(int fd, const struct sockaddr *sa, socklen_t len, uintptr_t thread)
{
	unsigned place = peers_place(fd);
	const char *from = (const char *)sa;
	uint64_t head;

	if (len < sizeof(struct sockaddr_in6) || sa->sa_family != AF_INET6) {
		peers_forget(fd);
		return;
	}
	if (!peers_enter(place, &head))
		return;
	peers_put_bytes(place, PEERS_ADDRESS, from, 8);
	peers_put_bytes(place, PEERS_ADDRESS + 1, from + 8, 8);
	peers_put_bytes(place, PEERS_ADDRESS + 2, from + 16, 8);
	peers_put_bytes(place, PEERS_ADDRESS + 3, from + 24, sizeof(struct sockaddr_in6) - 24);
	peers_written(place, head, fd, thread);
}

bool peers_find(int fd, struct peer *out)
{
	uint64_t words[PEERS_WORDS];

	if (!get(fd, words))
		return false;
	memset(out, 0, sizeof(*out));
	memcpy(&out->to, words, sizeof(out->to));
	out->len = out->to.sa.sa_family == AF_INET ? sizeof(out->to.in) : sizeof(out->to.in6);
	out->thread = (uintptr_t)words[PEERS_THREAD];
	out->identity = words[PEERS_IDENTITY];
	if (!out->identity)
		return true;
	out->so_far.attempt = (unsigned)words[PEERS_ATTEMPT];
	out->so_far.began = (int64_t)words[PEERS_BEGAN];
	out->so_far.waited = (int64_t)words[PEERS_WAITED];
	out->so_far.previous_wait = (int64_t)words[PEERS_PREVIOUS_WAIT];
	return true;
}

void peers_copy(int from, int to)
{
	unsigned place = peers_place(to);
	uint64_t words[PEERS_WORDS];
	uint64_t head;

	if (to < 0 || !get(from, words)) {
		peers_forget(to);
	} else if (peers_enter(place, &head)) {
		for (unsigned i = 0; i < PEERS_WORDS; i++)
			peers_put(place, i, words[i]);
		peers_leave(place, head, to);
	}
}

void peers_progress(int fd, uint64_t identity, const struct so_far *so_far)
{
	unsigned place = peers_place(fd);
	uint64_t head;

	if (fd < 0 || !peers_enter(place, &head))
		return;
	if (peers_is_of(head, fd)) {
		peers_put(place, PEERS_IDENTITY, identity);
		peers_put(place, PEERS_ATTEMPT, so_far->attempt);
		peers_put(place, PEERS_BEGAN, (uint64_t)so_far->began);
		peers_put(place, PEERS_WAITED, (uint64_t)so_far->waited);
		peers_put(place, PEERS_PREVIOUS_WAIT, (uint64_t)so_far->previous_wait);
	}
	peers_leave(place, head, (int)((uint32_t)head - 1));
}

void peers_reset(void)
{
	for (unsigned i = 0; i < PEERS; i++)
		atomic_store(&peers_heads[i], 0);
	atomic_fetch_and(&fdtab_gate, ~FDTAB_PEERS);
}
