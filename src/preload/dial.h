/* SPDX-License-Identifier: MIT */
/* dial.h - the parts of connect(): of wrap_connect.c, for each other and for other
 * calls that connect (MSG_FASTOPEN). */
#ifndef LIBRETRY_PRELOAD_DIAL_H
#define LIBRETRY_PRELOAD_DIAL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Errors that no policy can retry. After some of them the address may not even
 * be readable: the kernel looks at the length first. */
static inline bool dial_is_programs_affair(int error)
{
	return error == EINTR || error == EALREADY || error == EISCONN || error == EBADF ||
	       error == EFAULT || error == EINVAL || error == ENOTSOCK || error == EAFNOSUPPORT;
}

/* A first attempt, just made, failed with errno. 0: connected after retries;
 * else -1 and errno, EINPROGRESS for a connect that is under way. */
int dial_failed(int fd, const struct sockaddr *sa, socklen_t len);

/* A non-blocking connect is under way. (A blocking one that SO_SNDTIMEO ended says
 * the same, and is the same from now on.) <began>: clock_at_entry();
 * <attempt_timeout>: ns, DUR_NONE. No system call is made here. Returns -1, errno
 * EINPROGRESS. */
int dial_under_way(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                   int64_t attempt_timeout);

enum outcome {
	OUTCOME_KNOWN,  /* *error is the answer */
	OUTCOME_HIDDEN, /* it failed, and is retried: of dial_again.c */
	OUTCOME_OTHER   /* *error is that of another connect than the one under way */
};

/*
 * <fd> has a connect under way already. Programs connect a second time to learn
 * how the first ended (hiredis, haproxy, Perl, Ruby), or to end it (AF_UNSPEC).
 * OUTCOME_KNOWN: *error is the answer. OUTCOME_OTHER: a connect of its own, not
 * made yet, or failed with *error. Without a failure no system call is made but
 * the program's.
 */
enum outcome dial_again(int fd, const struct sockaddr *sa, socklen_t len, int *error);

#endif
