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
 * Lock-free: an entry is used by one at a time, and one that is found in use is
 * spoilt, and goes. Safe in threads, signal handlers and a forked child (which
 * has none). No errno; system calls: mmap() and munmap() only.
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

/* The kernel took the first <n> bytes of <iov>. */
void replay_add(int fd, const struct iovec *iov, size_t count, size_t n);

/* Nothing is to be kept of <fd> any more. */
void replay_drop(int fd);

/* How many bytes the program has sent that are all kept, and how many of them
 * went over the present connection. False: nothing is kept of this socket. */
bool replay_given(int fd, uint64_t identity, uint64_t *given);

/* The connection is made again: none of the bytes went over the new one. */
void replay_restart(int fd);

/*
 * Hands what is to be sent next to <out>, which returns how many bytes it took,
 * or a negative errno value. Returns that, or 0 if all is sent, or if nothing is
 * kept. <out> must not wait, nor be jumped out of.
 */
typedef long replay_out(void *arg, const void *data, size_t len);
long replay_step(int fd, replay_out *out, void *arg);

void replay_postfork_child(void);

#endif
