/* SPDX-License-Identifier: MIT */
/*
 * ops.h - the seam: what an engine may ask of the world.
 *
 * preload/ fills it from libc, the simulator from a scripted world with a
 * virtual clock, unit tests from fakes; the engine above it is the same.
 * Every call answers with values; none of them sets errno for the engine.
 */
#ifndef LIBRETRY_ENGINE_OPS_H
#define LIBRETRY_ENGINE_OPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "log/event.h"
#include "policy/policy.h"
#include "state/names.h"
#include "state/slot.h"

/* How a wait ended. */
enum wake {
	WAKE_TIMEOUT = 0,
	WAKE_INTERRUPTED, /* a handler without SA_RESTART ran */
	WAKE_STOPPING     /* a signal of stop_on was caught */
};

/* What a TCP socket has come to, or a Unix stream socket. */
enum condition {
	CONDITION_OTHER = 0, /* neither, or no socket at all */
	CONDITION_TRYING,    /* a connect is under way */
	CONDITION_CONNECTED, /* it is connected, or has been */
	CONDITION_CLOSED,    /* never connected: fresh, dissolved, or failed */
	CONDITION_RESET      /* its connection is over, and no byte went over it */
};

/* A destination and what is configured for it. */
struct target {
	struct addr addr;
	struct name_entry name; /* .id 0: no look-up is known */
	enum mode mode;
	const struct policy *policy;
	const struct rule *rule; /* NULL: none matched */
};

struct engine_ops {
	/* connect(fd, sa, len): 0 or an errno value. <limit> ns bounds this
	 * attempt (DUR_NONE: the socket's own settings do). *expired: the limit
	 * ended it, and a TCP attempt then goes on in the kernel until dissolve;
	 * or <fd> has become another socket while it was under way. */
	int (*connect)(void *ctx, int fd, const struct sockaddr *sa, socklen_t len,
	               int64_t limit, bool *expired);
	/* One look-up of <call> (the caller's own description): the result in
	 * its own domain, {.., 0} = success; *sys_errno = errno after it. */
	struct err (*lookup)(void *ctx, void *call, int64_t limit, int *sys_errno);
	/* Which socket <fd> is now: a number that no other socket of this boot
	 * has; 0 if <fd> is no socket. */
	uint64_t (*identity)(void *ctx, int fd);
	/* True if the connected <fd> is connected to itself. */
	bool (*connected_to_self)(void *ctx, int fd);
	/* connect(AF_UNSPEC): make <fd> ready for another attempt. */
	void (*dissolve)(void *ctx, int fd);
	/* Make <fd> able to connect to addresses of <family>, by mapped ones if
	 * *mapped is set; false if that cannot be. May change its identity, but
	 * not with <in_place>. */
	bool (*change_family)(void *ctx, int fd, uint8_t family, bool in_place, bool *mapped);
	/* The addresses of <host>, a place that a rule names, at most NAMES_ADDRS, to
	 * <ips>; how many, 0 = not known. It may be looked up for <limit> ns; with 0
	 * only what is known from before counts, and if nothing is, or it is old, it is
	 * asked for at the next look-up of the program's. */
	unsigned (*resolve)(void *ctx, const char *host, int64_t limit, struct name_ip *ips);
	/* Whether something listens at <a>, found out without connecting: 1 yes,
	 * 0 no, -1 not known (a remote address). */
	int (*listening)(void *ctx, const struct addr *a);

	/* What is remembered of <dest> (as in the log; of a look-up "lookup:" before
	 * it) under <p>, here or by all who share it; NULL: nothing. */
	struct slot *(*slot)(void *ctx, const struct policy *p, const char *dest, bool *shared);
	/* Where what comes of calls to <dest> under <p> is counted; NULL: where the rest is.
	 * <shared>: that is others' as well. May be NULL. */
	struct slot *(*stats)(void *ctx, const struct policy *p, const char *dest, bool shared);
	/* Something was counted; <end>: a call is over. May be NULL. */
	void (*counted)(void *ctx, bool end);
	/* First attempts at <a> since the last time this was asked, one that is under
	 * way included; *recent: those of the last <length> ns. */
	uint64_t (*first_calls)(void *ctx, const struct addr *a, int64_t length,
	                        uint64_t *recent);

	/*
	 * For connects under way (engine/pending). enter and leave bracket what
	 * must not be jumped out of: signals and cancellation are held back.
	 * False, and nothing is held: this is not the process that the records
	 * are about (a vfork child), leave them alone.
	 */
	bool (*enter)(void *ctx);
	void (*leave)(void *ctx);
	/* What is configured for <sa>, by the look-ups of <thread> first; false
	 * if it is no destination of ours. */
	bool (*target)(void *ctx, const struct sockaddr *sa, socklen_t len, uintptr_t thread,
	               struct target *t);
	/* connect() that does not wait, whatever O_NONBLOCK says: 0 or an errno
	 * value. */
	int (*start)(void *ctx, int fd, const struct sockaddr *sa, socklen_t len);
	/* SO_ERROR: reads it and takes it off the socket. */
	int (*take_error)(void *ctx, int fd);
	enum condition (*condition)(void *ctx, int fd);
	/* Whether the connection that <fd> made to <sa> is over and may be made
	 * again: nothing went over it either way. With <replay>: nothing came, and
	 * all that was sent is kept. */
	bool (*remakable)(void *ctx, int fd, const struct sockaddr *sa, socklen_t len,
	                  bool replay);
	/* The program has neither ended the connection of <fd> to <sa> nor learnt
	 * that it is over. From memory. */
	bool (*wanted)(void *ctx, int fd, const struct sockaddr *sa, socklen_t len);
	/* shutdown() of both ways. */
	void (*end)(void *ctx, int fd);
	/*
	 * <fd>, the socket <identity>, is connected again: sends what is kept of it
	 * once more, and waits for room until <until> (clock of now; 0: not at
	 * all). 0: all of it; EAGAIN, EINTR: some is left (the time is over, or a
	 * stop signal was caught; a handler without SA_RESTART has run); ENOENT:
	 * nothing is kept; ECANCELED: something else was sent meanwhile; else the
	 * errno value by which that failed.
	 */
	int (*replay)(void *ctx, int fd, uint64_t identity, int64_t until);
	/* epoll_ctl(<op>): 0 or an errno value. */
	int (*epoll_ctl)(void *ctx, int epfd, int op, int fd, uint32_t events, uint64_t data);

	/* No other thread is there to act on what this one acts on. */
	bool (*alone)(void *ctx);
	/* When it was <entry>, on the clock of now. Reading that clock takes a
	 * system call, so what is noted before anything has failed is of another:
	 * preload's clock_at_entry(). */
	int64_t (*entry_time)(void *ctx, int64_t entry);
	/* CLOCK_MONOTONIC in ns. */
	int64_t (*now)(void *ctx);
	/* Waits until <until> (clock of now). A cancellation point. */
	enum wake (*wait)(void *ctx, int64_t until);
	/* Whether retrying has been stopped (a signal of stop_on). */
	bool (*stopping)(void *ctx);
	uint64_t (*random)(void *ctx);
	void (*log)(void *ctx, const struct event *e);
	bool (*log_wants)(void *ctx, enum log_level level);
};

#endif
