/* SPDX-License-Identifier: MIT */
/*
 * close(), dup() and their kind: a number stops naming what we know, or begins
 * to name the same socket as another one. What is known is forgotten before the
 * real call, since afterwards the number may be another thread's.
 *
 * A vfork child shares our memory, not our descriptors. One that libc made is known by
 * its thread's mark (thread_is_vforked). Another one, of a raw clone(), is told by
 * getpid() when it closes a number whose connect is under way, or while a connect is
 * retried, and marked then; elsewhere that would be a system call too many, so there such
 * a child that closes a number takes the parent's knowledge of its epoll registrations
 * and of its peer with it, which later connects on it then lack; a connection that breaks
 * afterwards is not made again.
 */
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/libc.h"
#include "base/sys.h"
#include "engine/pending.h"
#include "preload/gate.h"
#include "preload/real.h"
#include "state/options.h"
#include "state/peers.h"
#include "state/replay.h"

static bool unbound(void)
{
	return fdtab_busy() & FDTAB_CLOSED;
}

/* Registrations that are parked must be found again. */
static bool may_forget(void)
{
	return gate_idle() || fdtab_next_due() == DUR_NONE || runtime_owns_process();
}

/* Of a number with a record: only for the owner of the process. */
static void abandon(int fd)
{
	struct signal_hold hold;

	pending_closing(&preload_ops, &hold, fd);
}

static void forget(int fd)
{
	struct pend_ref ref;
	bool alone;

	fdtab_forget(fd, &ref, &alone);
}

/* What is kept of a number that goes. Not the parent's, in a vfork child. If its
 * peer has got but a part of it, that shall not end as if it were the whole. */
static LR_NOINLINE void drop_kept(int fd, bool open)
{
	if (replay_knows(fd) && runtime_owns_process() && !replay_drop(fd) && open)
		preload_ops.dissolve(NULL, fd);
}

static LR_NOINLINE int close_known(int fd)
{
	if (unbound())
		runtime_init();
	if (thread_is_vforked())
		return real.close(fd);
	peers_forget(fd);
	if (fdtab_word() & FDTAB_OPTIONS)
		options_forget(fd);
	if (fdtab_word() & FDTAB_REPLAY)
		drop_kept(fd, true);
	if (fdtab_under_way(fd)) {
		if (runtime_owns_process())
			abandon(fd);
	} else if (may_forget()) {
		forget(fd);
	}
	return real.close(fd);
}

int wrap_close(int fd)
{
	struct fdtab_slot *slot;
	uint64_t word = 0;

	if (lr_unlikely(fdtab_word() &
	                (FDTAB_CLOSED | FDTAB_REPLAY | FDTAB_VFORKED | FDTAB_OPTIONS)))
		return close_known(fd);
	slot = fdtab_slot(fd);
	if (slot)
		word = atomic_load_explicit(&slot->word, memory_order_relaxed);
	if (lr_unlikely(fdtab_word_knows(word)))
		return close_known(fd);
	/* A number that is given out again may be accepted from the same peer. */
	if (word & FDTAB_NOTE_KEPT)
		fdtab_note_forget(slot);
	return real.close(fd);
}

static void forget_range(unsigned first, unsigned last)
{
	for (unsigned fd = first; fdtab_next_known(&fd, last); fd++) {
		if (fdtab_under_way((int)fd))
			abandon((int)fd);
		else
			forget((int)fd);
	}
}

/* Whether a close_range() with <flags> closes what we know. With a table of its
 * own, this thread closes nothing for the others. */
static bool closes(int flags)
{
	return flags == 0 || (flags == CLOSE_RANGE_UNSHARE && libc_single_threaded());
}

static LR_NOINLINE int close_range_pending(unsigned first, unsigned last, int flags)
{
	if (!gate_open() || !closes(flags) || !fdtab_knows_range(first, last) ||
	    !runtime_owns_process())
		return real.close_range(first, last, flags);
	/* Before Linux 5.9, or in a sandbox, there is no such call, and then no
	 * connect may be given up for it. This number is never open. */
	if (real.close_range(UINT_MAX, UINT_MAX, 0) != 0)
		return -1;
	forget_range(first, last);
	return real.close_range(first, last, flags);
}

/*
 * Most of these are made by a child before exec. As long as no connect is under
 * way, what is known may become stale, as it does by a raw close: that costs no
 * getpid(), and takes nothing from the parent of a vfork child.
 */
int wrap_close_range(unsigned first, unsigned last, int flags)
{
	if (gate_idle())
		return real.close_range(first, last, flags);
	return close_range_pending(first, last, flags);
}

static LR_NOINLINE void closefrom_pending(int first)
{
	unsigned from = first < 0 ? 0 : (unsigned)first;

	if (gate_open() && fdtab_knows_range(from, UINT_MAX) && runtime_owns_process())
		forget_range(from, UINT_MAX);
	real.closefrom(first);
}

void wrap_closefrom(int first)
{
	if (gate_idle())
		real.closefrom(first);
	else
		closefrom_pending(first);
}

/*
 * <to> now names what <from> names. What was known of <to> is of before, also
 * where the kernel gave out the number: then it was closed unseen. Sockets and
 * others alike: to tell them apart would be a system call.
 */
static void copied(int from, int to)
{
	if (thread_is_vforked())
		return;
	if (lr_unlikely(fdtab_word() & FDTAB_OPTIONS))
		options_copy(from, to);
	if (lr_unlikely(fdtab_word() & FDTAB_REPLAY))
		drop_kept(to, false);
	if (lr_unlikely(fdtab_under_way(from) || fdtab_under_way(to))) {
		if (!runtime_owns_process())
			return;
		if (fdtab_under_way(to))
			abandon(to);
	}
	if (lr_unlikely(fdtab_knows(to))) {
		if (!may_forget())
			return;
		forget(to);
	}
	if (lr_unlikely(fdtab_word() & FDTAB_PEERS))
		peers_copy(from, to);
	fdtab_dup(from, to);
}

int wrap_dup(int fd)
{
	int to;

	if (lr_unlikely(unbound()))
		runtime_init();
	to = real.dup(fd);
	if (lr_likely(to >= 0))
		copied(fd, to);
	return to;
}

/* dup2() is about to close <to>, whose connect is under way; unless it fails. */
static LR_NOINLINE void before_dup2(int fd, int to)
{
	if (runtime_owns_process() && sys_fcntl(fd, F_GETFD, 0) >= 0)
		abandon(to);
}

int wrap_dup2(int fd, int to)
{
	int rc;

	if (lr_unlikely(unbound()))
		runtime_init();
	if (fd == to)
		return real.dup2(fd, to);
	if (lr_unlikely(fdtab_under_way(to)))
		before_dup2(fd, to);
	rc = real.dup2(fd, to);
	if (lr_likely(rc >= 0))
		copied(fd, to);
	return rc;
}

int wrap_dup3(int fd, int to, int flags)
{
	int rc;

	if (lr_unlikely(unbound()))
		runtime_init();
	if (lr_unlikely(fdtab_under_way(to)) && fd != to && !(flags & ~O_CLOEXEC))
		before_dup2(fd, to);
	rc = real.dup3(fd, to, flags);
	if (lr_likely(rc >= 0))
		copied(fd, to);
	return rc;
}

/* <call> points to real.fcntl or real.fcntl64, which may be filled in only here. */
static LR_NOINLINE int control(int (*const *call)(int, int, void *), int fd, int cmd, void *arg)
{
	int rc;

	if (unbound())
		runtime_init();
	rc = (*call)(fd, cmd, arg);
	if (rc >= 0 && (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC))
		copied(fd, rc);
	return rc;
}

/* Whatever <arg> is, an integer, a pointer or nothing, it is handed on. */
int wrap_fcntl(int fd, int cmd, void *arg)
{
	if (lr_unlikely(cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC || unbound()))
		return control(&real.fcntl, fd, cmd, arg);
	return real.fcntl(fd, cmd, arg);
}

int wrap_fcntl64(int fd, int cmd, void *arg)
{
	if (lr_unlikely(cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC || unbound()))
		return control(&real.fcntl64, fd, cmd, arg);
	return real.fcntl64(fd, cmd, arg);
}

#if LR_TIME64
int wrap___fcntl_time64(int fd, int cmd, void *arg)
{
	if (lr_unlikely(cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC || unbound()))
		return control(&real.__fcntl_time64, fd, cmd, arg);
	return real.__fcntl_time64(fd, cmd, arg);
}
#endif
