/* SPDX-License-Identifier: MIT */
/* dial.h - the parts of connect(): of wrap_connect.c, for each other and for other
 * calls that connect (MSG_FASTOPEN). */
#ifndef LIBRETRY_PRELOAD_DIAL_H
#define LIBRETRY_PRELOAD_DIAL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/libc.h"
#include "engine/ops.h"
#include "preload/gate.h"
#include "state/fdtab.h"

/* In what follows <began> is clock_at_entry() of the program's call, and <entry_errno>
 * errno at that time. */

static inline int dial_finish(int error, int entry_errno)
{
	errno = error ? error : entry_errno;
	return error ? -1 : 0;
}

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

/*
 * What comes before a first attempt, where the gate has one of GATE_ATTEMPT: faults that
 * are injected, and what a policy wants. True: *rc is the end of the call, with errno;
 * else nothing was done. Of dial_first.c; the rest of these is for it.
 */
bool dial_before(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                 int entry_errno, int *rc);

/* The program's own call; one that is under way after it is remembered. */
int dial_call(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
              int64_t attempt_timeout);

/* dial_call() has failed, by errno. What the kernel goes on with (most non-blocking
 * connects), and what is the program's own affair, is no failure to us. Returns as
 * connect() does. */
int dial_refused(int fd, const struct sockaddr *sa, socklen_t len, int64_t began,
                 int entry_errno);

/* A blocking connect, retried. <aim>: where it is redirected to, or NULL. <error>: of the
 * first attempt; 0: that is still to be made. 0 or an errno value. */
int dial_drive(const struct engine_ops *ops, int fd, const struct sockaddr *sa, socklen_t len,
               const struct target *t, const struct addr *aim, int64_t began, int error);

/* <fd> stands in an epoll set where other threads may wait: on this machine the refusal
 * can reach them before connect() has returned to us, so the record is begun before that
 * call. dial_withdraw(): connect() then did not say EINPROGRESS. */
bool dial_is_watched(int fd);
static inline bool dial_may_race(int fd, const struct sockaddr *sa, socklen_t len)
{
	return lr_unlikely(!libc_single_threaded()) && fdtab_knows(fd) && dial_is_watched(fd) &&
	       !thread_is_vforked() &&
	       len <= sizeof(struct sockaddr_storage) && gate_may_read(sa, len);
}
void dial_withdraw(int fd);

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
