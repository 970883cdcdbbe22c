/* SPDX-License-Identifier: MIT */
/*
 * peers.h - where the program's sockets were connected to, by descriptor.
 *
 * A socket whose connection was reset tells its peer, but not which side made
 * the connection: an accepted one must never be connected anywhere. So connect()
 * leaves a note (fdtab_note.h). Whoever uses one asks the socket for its peer first.
 *
 * How often a connection was made again is kept for PEERS of them, the number modulo
 * PEERS is the place, a newer one takes it.
 *
 * Lock-free; what is being written is not there. Safe in threads, signal handlers and a
 * forked child. No errno; no system call but that of a chunk of slots (fdtab.h). A
 * handler that jumps out of the few stores of peers_progress() leaves its place unusable.
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
#include "state/fdtab_note.h"

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

/* From now on a failure may be that of a connection that the program made. */
static inline void peers_seen(void)
{
	if (lr_unlikely(!(fdtab_word() & FDTAB_PEERS)))
		fdtab_raise(FDTAB_PEERS);
}

/* connect(<fd>, <sa>) has been successful, or is under way. <sa> was read by the
 * kernel; what is no IP address only takes an older note away. */
static inline void peers_note(int fd, const struct sockaddr *sa, socklen_t len, uintptr_t thread)
{
	if (fdtab_note_any(fd, sa, len, thread, 0, FDTAB_NOTE_KEPT))
		peers_seen();
}

/* The note of <fd>; false if there is none. */
bool peers_find(int fd, struct peer *out);

/* <to> is a dup of <from>. */
void peers_copy(int from, int to);

/* The program has ended the connection of <fd> itself, or a part of it; or has
 * learnt that it is over. Who is just writing the note has a newer one. */
LR_INLINE void peers_forget(int fd)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint64_t word = slot ? atomic_load_explicit(&slot->word, memory_order_relaxed) : 0;

	if (word & FDTAB_NOTE_KEPT)
		fdtab_note_forget(slot);
}

/* Keeps <so_far> with the note of <fd>, for the socket <identity>. */
void peers_progress(int fd, uint64_t identity, const struct so_far *so_far);

void peers_reset(void); /* tests */

#endif
