/* SPDX-License-Identifier: MIT */
/* probe.h - questions about sockets and addresses, put to the kernel. */
#ifndef LIBRETRY_PRELOAD_PROBE_H
#define LIBRETRY_PRELOAD_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "engine/ops.h"

/*
 * Whether a TCP listener would take a connection to <a> (address and port): 1
 * yes, 0 no (loopback only), -1 not known, because the address is not this
 * machine's, packets to it may be redirected, or the kernel does not tell.
 * Nobody is connected to. Opens a descriptor for the moment (CLOEXEC), keeps
 * errno, is no cancellation point.
 */
int probe_listening(const struct addr *a);

/* Its two sources, each with the same answers: sock_diag (needs tcp_diag in the
 * kernel, and netlink), and the tables under /proc/net. */
int probe_by_diag(const struct addr *a);
int probe_by_proc(const struct addr *a);

/* The type of socket <fd> (SOCK_STREAM ...); negative if it is none. */
int probe_socket_type(int fd);

/* SO_COOKIE of <fd>, else (before Linux 4.6) its inode; 0 if it is no socket. */
uint64_t probe_identity(int fd);

/* O_NONBLOCK is set on <fd>; a bad descriptor counts as such. */
bool probe_nonblocking(int fd);

/* SO_SNDTIMEO of <fd> in ns; DUR_NONE if it has none. */
int64_t probe_send_timeout(int fd);

/* Whether the connection that TCP socket <fd> made to <sa> is over (closed by both
 * sides, or reset), nothing was received over it, and <sent> bytes were taken from
 * the program. False also where the kernel does not count (before Linux 4.19), or
 * if the peer has acknowledged the end of the program's side (one that it has not
 * does not show). */
bool probe_over(int fd, const struct sockaddr *sa, socklen_t len, uint64_t sent);

/* How many bytes the kernel has taken for the present connection of TCP socket
 * <fd>; false if it does not tell. */
bool probe_taken(int fd, uint64_t *taken);

/* What the stream socket <fd> has come to. "Never connected" is what TCP_INFO
 * says of a socket that no round trip was measured on; a disconnect resets that
 * (measured). Multipath TCP is CONDITION_OTHER. */
enum condition probe_condition(int fd);

/* Both ends of the connection are the same address and port. */
bool probe_connected_to_self(int fd);

#endif
