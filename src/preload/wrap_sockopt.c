/* SPDX-License-Identifier: MIT */
/* getsockopt(SO_ERROR), by which programs learn how their connect has ended, setsockopt(),
 * of which some is to be done again, and shutdown(), by which they end it. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "engine/pending.h"
#include "preload/dial.h"
#include "preload/gate.h"
#include "preload/io.h"
#include "preload/real.h"
#include "preload/waits.h"
#include "state/options.h"
#include "state/peers.h"

/*
 * The failure of a first attempt, which nobody has seen but who asks now: a program that has
 * the socket in an epoll set and never waits in one through us, but by a raw system call
 * (Bun), has seen it there, and would make an error of its own of a 0. The others that ask
 * before they wait (Ruby, Chromium) have no such registration, or wait through us. True: it
 * is the program's.
 */
static bool was_seen_past_us(int fd)
{
	struct pend_ref ref;

	return dial_is_watched(fd) && !waits_in_sets() && fdtab_find(fd, &ref) &&
	       pend_state(&ref) == PEND_CONNECTING && atomic_load(&ref.p->identity) == 0 &&
	       fdtab_drop(&ref);
}

/* The kernel comes first: it checks the arguments, and what it tells (an error
 * that it has, it tells once) is not to be lost. */
static LR_NOINLINE int read_error(int fd, void *value, socklen_t *len, bool connecting)
{
	struct signal_hold hold;
	int error = 0;

	if (real.getsockopt(fd, SOL_SOCKET, SO_ERROR, value, len) != 0)
		return -1;
	if (*len != sizeof(error))
		return 0;
	memcpy(&error, value, sizeof(error));
	/* A vfork child must not act for its parent; where nothing failed there
	 * is nothing to be done, and no system call to ask with. */
	if ((error || !connecting) && !runtime_owns_process())
		return 0;
	if (error && was_seen_past_us(fd))
		return 0;
	if (error)
		error = pending_result(&preload_ops, &hold, fd, error);
	else if (pending_ask(&preload_ops, &hold, fd, &error) != ANSWER_ERROR)
		error = 0;
	memcpy(value, &error, sizeof(error));
	return 0;
}

/* No connect is under way there, as the program has seen; its connection may be over. */
static LR_NOINLINE int error_of_connection(int fd, void *value)
{
	int error;

	memcpy(&error, value, sizeof(error));
	error = again_option(fd, error);
	memcpy(value, &error, sizeof(error));
	return 0;
}

/* No connect is under way on <fd>. */
LR_INLINE int read_idle_error(int fd, int level, int name, void *value, socklen_t *len)
{
	LR_KEEP(fd);
	LR_KEEP(value);
	LR_KEEP(len);
	int rc = real.getsockopt(fd, level, name, value, len);
	int error;

	if (lr_unlikely(rc != 0) || lr_unlikely(*kept_len != sizeof(error)))
		return rc;
	memcpy(&error, kept_value, sizeof(error));
	return lr_likely(!error) ? 0 : error_of_connection(kept_fd, kept_value);
}

static LR_NOINLINE int getsockopt_pending(int fd, int level, int name, void *value,
                                          socklen_t *len)
{
	struct pend_ref ref;
	bool found;

	if (level != SOL_SOCKET || name != SO_ERROR) {
		gate_open();
		return real.getsockopt(fd, level, name, value, len);
	}
	if (gate_open()) {
		found = fdtab_find(fd, &ref);
		if (found || fdtab_is_dup(fd))
			return read_error(fd, value, len,
			                  found && pend_state(&ref) == PEND_CONNECTING);
	}
	return read_idle_error(fd, level, name, value, len);
}

LR_NO_CANARY int wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	uint32_t word = fdtab_word();

	if (lr_unlikely(word & ~FDTAB_ASIDE))
		return getsockopt_pending(fd, level, name, value, len);
	/* It matters once something was connected. */
	if (name == SO_ERROR && level == SOL_SOCKET && lr_likely(word & FDTAB_PEERS))
		return read_idle_error(fd, level, name, value, len);
	return real.getsockopt(fd, level, name, value, len);
}

#if LR_TIME64
/* It differs in the options that are times. */
int wrap___getsockopt64(int fd, int level, int name, void *value, socklen_t *len)
{
	if (level != SOL_SOCKET || name != SO_ERROR)
		return real.__getsockopt64(fd, level, name, value, len);
	return getsockopt_pending(fd, level, name, value, len);
}
#endif

/* What the kernel forgets with an attempt that fails is set again before the next. */
static LR_NOINLINE int set_tcp_option(int (*const *call)(int, int, int, const void *, socklen_t),
                                      int fd, int name, const void *value, socklen_t len)
{
	int rc;
	int set;

	if (fdtab_busy() & FDTAB_CLOSED)
		runtime_init();
	rc = (*call)(fd, IPPROTO_TCP, name, value, len);
	if (rc != 0 || len < sizeof(set) || (gate_now() & GATE_PASS) || thread_is_vforked())
		return rc;
	memcpy(&set, value, sizeof(set));
	options_note(fd, name == TCP_MAXSEG ? OPTION_MAXSEG : OPTION_WINDOW_CLAMP, set);
	return rc;
}

static inline bool is_forgotten(int level, int name)
{
	return level == IPPROTO_TCP && (name == TCP_MAXSEG || name == TCP_WINDOW_CLAMP);
}

int wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (lr_unlikely(is_forgotten(level, name)))
		return set_tcp_option(&real.setsockopt, fd, name, value, len);
	if (lr_unlikely(fdtab_busy() & FDTAB_CLOSED))
		runtime_init();
	return real.setsockopt(fd, level, name, value, len);
}

#if LR_TIME64
int wrap___setsockopt64(int fd, int level, int name, const void *value, socklen_t len)
{
	if (lr_unlikely(is_forgotten(level, name)))
		return set_tcp_option(&real.__setsockopt64, fd, name, value, len);
	if (lr_unlikely(fdtab_busy() & FDTAB_CLOSED))
		runtime_init();
	return real.__setsockopt64(fd, level, name, value, len);
}
#endif

static LR_NOINLINE int shutdown_pending(int fd, int how)
{
	struct signal_hold hold;
	struct pend_ref ref;

	if (gate_open() && how >= SHUT_RD && how <= SHUT_RDWR &&
	    (fdtab_find(fd, &ref) || fdtab_is_dup(fd)) && runtime_owns_process())
		pending_shut_down(&preload_ops, &hold, fd);
	return real.shutdown(fd, how);
}

/* The program says that it has sent all; of that a part is still to be sent again.
 * If that cannot be done, the peer shall not take it for whole. */
static LR_NOINLINE void finish_replay(int fd)
{
	struct io io = { .fd = fd, .way = WRITES };
	int saved = errno;

	if (!again_before(&io))
		preload_ops.dissolve(NULL, fd);
	errno = saved;
}

int wrap_shutdown(int fd, int how)
{
	if (lr_unlikely(fdtab_word() & FDTAB_REPLAY) && how != SHUT_RD)
		finish_replay(fd);
	/* A connection that the program has ended is not made again. */
	if (fdtab_word() & FDTAB_PEERS)
		peers_forget(fd);
	if (gate_idle())
		return real.shutdown(fd, how);
	return shutdown_pending(fd, how);
}
