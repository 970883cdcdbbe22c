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

/*
 * Set <epfd> has reported <events> with <data>, and no registration of that kind
 * was seen. If one is found that leads to the socket of a live record, it is
 * remembered (fdtab_watch_set, fdtab_attach) and its descriptor returned; else
 * -1, also where there is no /proc. Of several with the same <data> the first
 * is taken.
 *
 * Reads at most 1 MiB, and nothing for 50 ms after a search in vain. A
 * descriptor is open meanwhile: hold signals back, whose handlers may jump out.
 * No malloc, no lock, no cancellation point, errno untouched.
 */
int epinfo_learn(int epfd, uint32_t events, uint64_t data);

/* The same at <now> (ns, monotonic). */
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
