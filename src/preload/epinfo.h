/* SPDX-License-Identifier: MIT */
/*
 * epinfo.h - registrations in an epoll set that were made past us: by a raw
 * system call, by io_uring, or under a number that we did not know to be a dup.
 * The kernel lists them in /proc/self/fdinfo (with inodes since Linux 4.13).
 */
#ifndef LIBRETRY_PRELOAD_EPINFO_H
#define LIBRETRY_PRELOAD_EPINFO_H

#include <stdbool.h>
#include <stdint.h>

/* What a search for a registration came to, if it is no descriptor. */
enum {
	EPINFO_UNKNOWN = -1, /* there may be one of which cannot be told whose it is */
	EPINFO_GONE = -2,    /* there are others, and it is not among them (any more) */
	EPINFO_OTHER = -3    /* it is of a file that has no connect under way */
};

/*
 * Set <epfd> has reported <events> with <data>, and no registration of that kind
 * was seen. If one is found that leads to the socket of a live record, it is
 * remembered (fdtab_watch_set, fdtab_attach) and its descriptor returned; else one of
 * the above: EPINFO_UNKNOWN also where there is no /proc. Of several with the same
 * <data> the first is taken.
 *
 * Reads at most 1 MiB, and nothing for 50 ms after a search that told nothing, nor for
 * nine times as long as one took that told that there is nothing for us. A
 * descriptor is open meanwhile: hold signals back, whose handlers may jump out.
 * No malloc, no lock, no cancellation point, errno untouched.
 */
int epinfo_learn(int epfd, uint32_t events, uint64_t data);

/* The same at <now> (ns, monotonic), and without a pause of the second kind. */
int epinfo_learn_at(int epfd, uint32_t events, uint64_t data, int64_t now);

/* One registration as the kernel lists it. */
struct epinfo {
	int fd; /* the number that it was made under */
	uint32_t events;
	uint64_t data;
	uint64_t ino;
};

/* Reads the line <line>, without its newline; false if it is none of these. */
bool epinfo_parse(const char *line, struct epinfo *e);

#endif
