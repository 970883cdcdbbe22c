/* SPDX-License-Identifier: MIT */
/*
 * pending.h - a non-blocking connect, retried behind the program's own waits.
 *
 *     connecting -> backoff -> connecting ... -> success, or a native failure
 *
 * The socket stays the program's, under its number, with its options and its
 * registrations. Between two attempts it is dissolved (connect(AF_UNSPEC)), and
 * the kernel then shows it writable and hung up, for ever and even to epoll with
 * no events asked (measured): so it is kept out of poll and select, and its epoll
 * registrations are parked: modified to one-shot with no events. Such a one is
 * reported once more, which the wait wrapper swallows, and then is silent; the
 * next attempt puts it back, and putting it back reports whatever is the case by
 * then, edge-triggered or not. The last attempt is left to the kernel and the
 * program, as are failures that nobody retries.
 *
 * Nothing here waits. A record is claimed for a few system calls at most, with
 * signals held back (ops->enter), so that no handler can jump out of it; a
 * thread that finds it claimed takes the descriptor for pending. Every action
 * is preceded by a look at the socket's identity. errno: untouched.
 */
#ifndef LIBRETRY_ENGINE_PENDING_H
#define LIBRETRY_ENGINE_PENDING_H

#include "engine/guard.h"
#include "engine/ops.h"
#include "state/fdtab.h"
#include "state/peers.h"

struct pending_call {
	int fd;
	const struct sockaddr *sa;
	socklen_t len;
	const struct addr *aim;  /* where the rule has redirected it; NULL: nowhere */
	int64_t began;           /* ns, clock of ops->entry_time */
	uintptr_t thread;        /* thread_key() */
	int64_t attempt_timeout; /* of the first attempt; DUR_NONE */
	struct guard guard;      /* of pending_first(); else all zero */
	uint64_t identity;       /* pending_remake(): of the socket */
};

/* connect() has answered EINPROGRESS. Makes no system call. */
void pending_begin(const struct engine_ops *ops, void *ctx, const struct pending_call *call);

/*
 * Before the first attempt of a non-blocking connect to <t>, whose policy
 * guard_wants_first(). GUARD_GO: make it, and begin with the same <call>. GUARD_PARK: the socket
 * is in backoff, or on its way to a fallback as the breaker is open; answer EINPROGRESS.
 * GUARD_REFUSED: answer *error, the last real one.
 */
enum guard_answer pending_first(const struct engine_ops *ops, void *ctx,
                                struct pending_call *call, const struct target *t, int *error);

/* The first attempt that pending_first() let go is over at once, and no record tells of it:
 * it succeeded, or (<error>) ended by what is the program's own affair. */
void pending_first_over(const struct engine_ops *ops, void *ctx, struct pending_call *call,
                        const struct target *t, int error);

/*
 * connect() of a non-blocking socket failed at once with <error>, for target
 * <t>. Returns EINPROGRESS if it is retried from now on (the socket is in
 * backoff), else <error>, which the program gets.
 */
int pending_failed_at_once(const struct engine_ops *ops, void *ctx,
                           const struct pending_call *call, const struct target *t, int error);

/*
 * The connection of a non-blocking socket is over, by <error>, and is remakable;
 * <call> is the connect that made it, .began the time of ops->now. Returns EAGAIN
 * if it is made again from now on, as an attempt of the OP_SEND that <so_far>
 * tells of: the socket is in backoff. Else <error>, which the program gets.
 * <replay>: what is kept of it is sent before the program sees it connected.
 */
int pending_remake(const struct engine_ops *ops, void *ctx, const struct pending_call *call,
                   const struct target *t, const struct so_far *so_far, bool replay, int error);

/* What a wait is to do with a descriptor that the kernel reports. */
enum sight {
	SIGHT_SHOW = 0,
	SIGHT_HIDE,       /* pending: report nothing */
	SIGHT_SHOW_ERROR  /* show; the error was taken off the socket by us, so
	                   * the kernel's bits lack POLLERR, POLLIN (and
	                   * POLLRDHUP): add those that were asked for, as it would */
};

/*
 * A wait has found <fd> ready; <bad>: with POLLERR or POLLHUP. Decides on a
 * failed attempt, notes a success. Call it for every descriptor reported
 * while fdtab_busy().
 */
enum sight pending_event(const struct engine_ops *ops, void *ctx, int fd, bool bad);

/* Whether <fd> must be kept out of a wait's set now (it is in backoff). */
bool pending_hidden(const struct engine_ops *ops, void *ctx, int fd);

/*
 * Before a call on <fd> (connect, SO_ERROR, send, recv ...) is made. First makes
 * the attempt for <fd> that is due, if one is. What to do then:
 */
enum answer {
	ANSWER_CALL = 0, /* make the real call, then pending_result() if it failed */
	ANSWER_PENDING,  /* in backoff: answer as for a connect under way */
	ANSWER_ERROR     /* *error is the outcome, and has now been delivered */
};
enum answer pending_ask(const struct engine_ops *ops, void *ctx, int fd, int *error);

/*
 * A real call on <fd> that reads the outcome of its connect has failed with
 * <error> (SO_ERROR: has read it). Returns the error that the program gets; 0:
 * the attempt failed and is retried, answer as for a connect under way. Errors
 * of a connect under way (EAGAIN, EALREADY, EINPROGRESS, ENOTCONN) and EINTR
 * come back as they are.
 */
int pending_result(const struct engine_ops *ops, void *ctx, int fd, int error);

/*
 * The program's connect() to the destination of a connect under way has begun an
 * attempt: another thread had just dissolved the socket. True: that attempt is undone,
 * if it is not the next one anyway, and all goes on as before. False: <fd> is another
 * socket by now, or the connect is over and this is one of its own.
 */
bool pending_undo(const struct engine_ops *ops, void *ctx, int fd);

/* The program learnt by another call that <fd> is connected: data came or went,
 * connect() answered 0 or EISCONN. */
void pending_connected(const struct engine_ops *ops, void *ctx, int fd);

/* The program closes <fd>, or puts another file under its number: before the
 * real call. All that is known of it goes; a connect under way is abandoned. A thread
 * that acts on it is waited for: a few system calls, at most some FDTAB_PATIENCE. */
void pending_closing(const struct engine_ops *ops, void *ctx, int fd);

/* The program ends the connect itself by connect(AF_UNSPEC), or by shutdown():
 * before the real call. Registrations become what the program made them. After a
 * shutdown() the reset of a connection that was being made again, which only we know
 * of, is told at the next call. */
void pending_withdraw(const struct engine_ops *ops, void *ctx, int fd);
void pending_shut_down(const struct engine_ops *ops, void *ctx, int fd);

/*
 * The program's own epoll_ctl(op) on a descriptor in backoff, <op> one of
 * EPOLL_CTL_ADD and EPOLL_CTL_MOD: the registration is made parked, and its
 * errors are the kernel's. True: done, *rc is 0 or an errno value. False: <fd>
 * is not in backoff, make the real call.
 */
bool pending_epoll_ctl(const struct engine_ops *ops, void *ctx, int epfd, int op, int fd,
                       uint32_t events, uint64_t data, int *rc);

/*
 * An event of set <epfd> for <fd> that is in backoff was swallowed. Parks its
 * registration (again) if it is not silent yet.
 */
void pending_swallowed(const struct engine_ops *ops, void *ctx, int epfd, int fd);

/* Whether a connect under way has no registration that we know: only then can an
 * event that belongs to none be its. */
bool pending_any_unwatched(void);

/*
 * An event with an error in set <epfd> belongs to no registration that was
 * seen, and the kernel does not tell to which: what the program makes of it is
 * plain kernel behaviour from now on. Failed attempts without a registration
 * that we know become the program's.
 */
void pending_unknown_event(const struct engine_ops *ops, void *ctx);

#endif
