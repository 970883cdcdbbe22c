/* SPDX-License-Identifier: MIT */
/*
 * inject.h - faults made on purpose, at the places where real calls are made.
 *
 * Each function is asked before the real call of one attempt. It counts the call
 * for every fault that matches, waits out their delays, logs what is done, and
 * says whether the call is not to be made. An injected failure then takes the
 * way of every other: it is classified, retried, and given to the program.
 *
 * Several faults may strike one call: delays add up, the first error wins. In a
 * vfork child nothing is injected. errno untouched unless said.
 */
#ifndef LIBRETRY_PRELOAD_INJECT_H
#define LIBRETRY_PRELOAD_INJECT_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "policy/inject.h"
#include "preload/runtime.h"
#include "preload/signal.h"

/* The clock of outages begins; sends are looked at until it is known whether any
 * are to fail. For the constructor, if LIBRETRY_INJECT is set. */
void inject_arm(void);

/* A configuration comes into force: its faults (NULL: none), which must live as
 * long as the process. Counts begin anew. True: there is something to inject. */
bool inject_publish(const struct inject_set *set);

/* In the child after fork: counts and the clock go on from the parent's. Without
 * a seed, workers forked from one parent do not march in step. */
void inject_postfork_child(void);

/* One load. */
static inline bool inject_active(void)
{
	return lr_unlikely(gate_now() & GATE_INJECT);
}

/* The first attempt of a connect; <sa> is readable. True: it has failed with
 * *error. A delay applies to a blocking socket only, and a caught signal ends it:
 * the call is then made. */
bool inject_first(int fd, const struct sockaddr *sa, socklen_t len, int *error);

/* An attempt of a blocking connect, with signals held back in <hold>. A delay
 * takes from *limit; if it takes all, the attempt has failed by *expired. */
bool inject_attempt(struct signal_hold *hold, int fd, const struct sockaddr *sa, socklen_t len,
                    int64_t *limit, bool *expired, int *error);

/* An attempt that must not wait. */
bool inject_start(int fd, const struct sockaddr *sa, socklen_t len, int *error);

/* A look-up of <host>; <port> -1: not known. True: it has failed with *e. */
bool inject_lookup(const char *host, int port, enum proto proto, struct err *e);

/*
 * real.send() and its relatives on a socket that no connect is under way on, for
 * when fdtab's gate has FDTAB_SENDS. Faults strike sockets only. errno as the
 * real call leaves it. May load the configuration.
 */
ssize_t inject_send(int fd, const void *buf, size_t len, int flags);
ssize_t inject_sendto(int fd, const void *buf, size_t len, int flags,
                      const struct sockaddr *to, socklen_t to_len);
ssize_t inject_sendmsg(int fd, const struct msghdr *msg, int flags);
int inject_sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags);
ssize_t inject_write(int fd, const void *buf, size_t len);
ssize_t inject_writev(int fd, const struct iovec *iov, int n);

/* For inject_send.c: a call, and what is known of it. */
struct inject_call {
	struct dest dest;
	bool stream;   /* of a stream socket */
	bool can_wait; /* a delay keeps nobody from what it has to do */
	size_t len;    /* send: bytes that it is to take */
};

/* Asks all faults, counts and logs; does not wait. */
void inject_ask(const struct inject_call *call, struct injection *sum);

/* What socket <fd> talks. */
enum proto inject_proto(int fd);

#endif
