/* SPDX-License-Identifier: MIT */
/*
 * replay.h - send = "first-write": what a program has sent over a connection so
 * far, kept until something is received, so that it can be sent once more over a
 * new one.
 *
 * At most REPLAY_SOCKETS at one time, each with a mapping of its own, given back
 * when something is received, when it would overflow, and when the descriptor is
 * closed. By descriptor and identity of the socket.
 *
 * What is kept is not believed: data may also have gone by a dup, by another
 * process, or by calls that nobody sees (sendfile, splice, io_uring). Before it
 * is used the kernel's count of the bytes is compared with replay_given().
 *
 * What is to be sent again is one whole with what follows: an entry that goes
 * before all of it was sent takes the connection with it, by whoever is told.
 *
 * Lock-free: an entry is used by one at a time. One that is found in use by who
 * has sent something else is spoilt, and goes; who has only a question waits for it
 * (a few sched_yield()). Safe in threads, signal handlers and a forked child (which
 * has none). No errno; system calls besides: mmap() and munmap().
 */
#ifndef LIBRETRY_STATE_REPLAY_H
#define LIBRETRY_STATE_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define REPLAY_SOCKETS 64

/* A connect of <fd>, the socket <identity>, begins: at most <size> bytes of what
 * is sent are kept. Nothing happens if there is no room, or <size> is 0. */
void replay_begin(int fd, uint64_t identity, size_t size);

/* The kernel took the first <n> bytes of <iov>. False: it did so before all was
 * sent again, and nobody can make sense of the connection any more. */
bool replay_add(int fd, const struct iovec *iov, size_t count, size_t n);

/* Nothing is to be kept of <fd> any more. False: not all was sent again yet. */
bool replay_drop(int fd);

/* Something was received. Nothing more is kept; what is being sent again is sent
 * to its end. */
void replay_answered(int fd);

/* Something may be kept of <fd>; and not all of it was sent over the present
 * connection. Not exact while others use it; no system call. */
bool replay_knows(int fd);
bool replay_unfinished(int fd);

/* How many bytes the program has sent that are all kept, and how many of them
 * went over the present connection. False: nothing is kept of this socket. */
bool replay_given(int fd, uint64_t identity, uint64_t *given);

/* The connection is made again: none of the bytes went over the new one. */
void replay_restart(int fd);

/*
 * Hands what is to be sent next, after the first <given>, to <out>, which returns how
 * many bytes it took, or a negative errno value. Returns 0 if all is sent now, else what
 * <out> did; -ENOENT: nothing is kept of this socket; -ECANCELED: it was spoilt meanwhile;
 * -EBUSY: another thread is at it, for longer than such a call takes.
 * <out> must not wait, nor be jumped out of.
 */
typedef long replay_out(void *arg, const void *data, size_t len, size_t given);
long replay_step(int fd, uint64_t identity, replay_out *out, void *arg);

void replay_postfork_child(void);

#endif
