/* SPDX-License-Identifier: MIT */
/* quiet.h - write() without the signals that it can raise. */
#ifndef LIBRETRY_BASE_QUIET_H
#define LIBRETRY_BASE_QUIET_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Writes <len> bytes; what write() returns, or -errno. SIGPIPE, SIGXFSZ and SIGTTOU are
 * held off meanwhile, and what the write itself raised is taken away: one that was pending
 * before is the program's own (the kernel keeps only one of each). Raw system calls, errno
 * untouched, safe in signal handlers.
 */
ssize_t quiet_write(int fd, const void *bytes, size_t len);

#endif
