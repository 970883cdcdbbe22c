/* SPDX-License-Identifier: MIT */
/*
 * peers.h - where the program's sockets were connected to, by descriptor.
 *
 * A socket whose connection was reset tells its peer, but not which side made
 * the connection: an accepted one must never be connected anywhere. So connect()
 * leaves a note: PEERS of them, the number modulo PEERS is the place, a newer one
 * takes it. It is only a note: a descriptor dies unseen, and its number may name
 * another socket by now. Whoever uses one asks the socket for its peer first.
 *
 * Lock-free; a note that is being written is not there. Safe in threads, signal
 * handlers and a forked child. No errno, no system call. A handler that jumps out
 * of the few stores of peers_note() leaves its place unusable.
 */
#ifndef LIBRETRY_STATE_PEERS_H
#define LIBRETRY_STATE_PEERS_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "base/compat.h"
#include "state/fdtab.h"

#define PEERS 256

/* What an operation that is retried has been through; .attempt 0: nothing. */
struct so_far {
	unsigned attempt;      /* the current one, from 1 */
	int64_t began;         /* ns, monotonic: its first failure */
	int64_t waited;        /* ns */
	int64_t previous_wait; /* ns */
};

struct peer {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} to;
	socklen_t len;
	uintptr_t thread;      /* thread_key() of the caller of connect */
	uint64_t identity;     /* of the socket that .so_far is about; 0: none */
	struct so_far so_far;  /* how often its connection was made again */
};

/*
 * peers' own. What is kept is in words, so that who reads while another writes reads
 * something, and finds out afterwards that it is worth nothing. The low half of a head is
 * the descriptor + 1; 0: none; PEERS_BUSY: being written. The other half counts.
 */
enum { PEERS_ADDRESS = 0, PEERS_THREAD = 4, PEERS_IDENTITY, PEERS_ATTEMPT, PEERS_BEGAN,
       PEERS_WAITED, PEERS_PREVIOUS_WAIT, PEERS_WORDS };
#define PEERS_BUSY UINT32_MAX
extern _Atomic uint64_t peers_heads[PEERS] LR_HIDDEN;
extern _Atomic uint64_t peers_words[PEERS][PEERS_WORDS] LR_HIDDEN;

static inline unsigned peers_place(int fd)
{
	return (unsigned)fd % PEERS;
}

static inline bool peers_is_of(uint64_t head, int fd)
{
	return (uint32_t)head == (uint32_t)fd + 1;
}

/* True: the place is the caller's until peers_leave(). */
LR_INLINE bool peers_enter(unsigned place, uint64_t *head)
{
	*head = atomic_load_explicit(&peers_heads[place], memory_order_relaxed);
	return (uint32_t)*head != PEERS_BUSY &&
	       atomic_compare_exchange_strong(&peers_heads[place], head, *head | PEERS_BUSY);
}

/* It is about <fd> now; -1: about none. */
LR_INLINE void peers_leave(unsigned place, uint64_t head, int fd)
{
	atomic_store_explicit(&peers_heads[place],
	                      ((head >> 32) + 1) << 32 | ((uint32_t)fd + 1),
	                      memory_order_release);
}

LR_INLINE void peers_put(unsigned place, unsigned i, uint64_t value)
{
	atomic_store_explicit(&peers_words[place][i], value, memory_order_relaxed);
}

/* <size>, at most 8, is a constant where this is called. */
LR_INLINE void peers_put_bytes(unsigned place, unsigned i, const void *from, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, from, size);
	peers_put(place, i, word);
}

LR_INLINE void peers_written(unsigned place, uint64_t head, int fd, uintptr_t thread)
{
	peers_put(place, PEERS_THREAD, thread);
	peers_put(place, PEERS_IDENTITY, 0);
	peers_leave(place, head, fd);
	if (lr_unlikely(!(fdtab_word() & FDTAB_PEERS)))
		atomic_fetch_or(&fdtab_gate, FDTAB_PEERS);
}

/* peers_note() where addr_is_four(), and where not. */
LR_INLINE void peers_note_four(int fd, const struct sockaddr *sa, uintptr_t thread)
{
	unsigned place = peers_place(fd);
	uint64_t head;

	if (lr_unlikely(!peers_enter(place, &head)))
		return;
	peers_put_bytes(place, PEERS_ADDRESS, sa, 8);
	peers_put_bytes(place, PEERS_ADDRESS + 1, (const char *)sa + 8,
	                sizeof(struct sockaddr_in) - 8);
	peers_written(place, head, fd, thread);
}
void peers_note_other(int fd, const struct sockaddr *sa, socklen_t len, uintptr_t thread);

/* connect(<fd>, <sa>) has been successful, or is under way. <sa> was read by the
 * kernel; what is no IP address only takes an older note away. */
static inline void peers_note(int fd, const struct sockaddr *sa, socklen_t len, uintptr_t thread)
{
	if (lr_likely(addr_is_four(sa, len)))
		peers_note_four(fd, sa, thread);
	else
		peers_note_other(fd, sa, len, thread);
}

/* The note of <fd>; false if there is none. */
bool peers_find(int fd, struct peer *out);

/* <to> is a dup of <from>. */
void peers_copy(int from, int to);

/* The program has ended the connection of <fd> itself, or a part of it; or has
 * learnt that it is over. In one step, for close(): who is about to write the note has
 * a newer one. */
LR_INLINE void peers_forget(int fd)
{
	_Atomic uint64_t *at = &peers_heads[peers_place(fd)];
	uint64_t head = atomic_load_explicit(at, memory_order_relaxed);

	if (peers_is_of(head, fd) && fd >= 0)
		atomic_compare_exchange_strong(at, &head, ((head >> 32) + 1) << 32);
}

/* Keeps <so_far> with the note of <fd>, for the socket <identity>. */
void peers_progress(int fd, uint64_t identity, const struct so_far *so_far);

void peers_reset(void); /* tests */

#endif
