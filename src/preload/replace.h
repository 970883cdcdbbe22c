/* SPDX-License-Identifier: MIT */
/* replace.h - a socket of another address family under the same descriptor. */
#ifndef LIBRETRY_PRELOAD_REPLACE_H
#define LIBRETRY_PRELOAD_REPLACE_H

#include <stdbool.h>

/*
 * Makes <fd>, a blocking stream socket that is not connected, able to connect
 * to an address of <family> (AF_INET or AF_INET6). An IPv6 socket reaches IPv4
 * by mapped addresses (*mapped is set); otherwise a fresh socket with the same
 * options and flags is put over the descriptor, unless <in_place> (which also
 * suits a non-blocking one).
 *
 * Only for a connect that has not returned yet: epoll registrations and
 * duplicates of the descriptor stay with the old socket (measured). False, and
 * nothing changed, if the program has bound the socket to an address or a
 * reserved port of its own or the kernel refuses. Keeps errno; no cancellation point.
 */
bool replace_family(int fd, int family, bool in_place, bool *mapped);

#endif
