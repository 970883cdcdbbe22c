/* SPDX-License-Identifier: MIT */
#include "preload/ops.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/time.h>

#include "base/fmt.h"
#include "base/libc.h"
#include "base/sys.h"
#include "engine/wait.h"
#include "log/log.h"
#include "preload/attempt.h"
#include "preload/inject.h"
#include "preload/places.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "preload/replace.h"
#include "preload/runtime.h"
#include "preload/signal.h"
#include "preload/target.h"
#include "state/fdtab.h"
#include "state/peers.h"
#include "state/replay.h"
#include "state/shm.h"
#include "state/stats_file.h"
#include "state/tally.h"

static uint64_t op_identity(void *ctx, int fd)
{
	(void)ctx;
	return probe_identity(fd);
}

static bool op_connected_to_self(void *ctx, int fd)
{
	(void)ctx;
	return probe_connected_to_self(fd);
}

static void op_dissolve(void *ctx, int fd)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	(void)ctx;
	sys_connect(fd, &none, sizeof(none));
	if (fdtab_word() & FDTAB_REPLAY)
		replay_restart(fd);
}

static bool op_change_family(void *ctx, int fd, uint8_t family, bool in_place, bool *mapped)
{
	(void)ctx;
	return replace_family(fd, family, in_place, mapped);
}

static unsigned op_resolve(void *ctx, const char *host, int64_t limit, struct name_ip *ips)
{
	return places_resolve(ctx, host, limit, ips);
}

static int op_listening(void *ctx, const struct addr *a)
{
	(void)ctx;
	return probe_listening(a);
}

/* Said once: what should be shared is this process's own. */
static void log_no_segment(const char *why)
{
	char text[SHM_PATH_MAX + 160];
	struct event e;
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	fmt_str(&f, why);
	fmt_str(&f, "; what should be shared with other processes is kept in this one");
	fmt_end(&f);
	runtime_report();
	memset(&e, 0, sizeof(e));
	e.kind = EVENT_CONFIG;
	e.level = LOG_WARN_LEVEL;
	e.message = text;
	e.left = DUR_NONE;
	log_emit(&e);
}

static struct slot *op_slot(void *ctx, const struct policy *p, const char *dest, bool *shared)
{
	struct slot *slot = shm_slot(p->budget.scope, dest, p->name, shared);
	const char *why = *shared || p->budget.scope == SCOPE_PROCESS ? NULL : shm_trouble();

	(void)ctx;
	if (why)
		log_no_segment(why);
	return slot;
}

/* Where nobody asked to share, that there is no segment is nobody's trouble. A file is
 * about this process alone. */
static struct slot *op_stats(void *ctx, const struct policy *p, const char *dest, bool is_shared)
{
	const struct config *c = runtime_config();
	struct slot *slot;
	bool shared;

	(void)ctx;
	if (is_shared && stats_file_on())
		return shm_slot(SCOPE_PROCESS, dest, p->name, &shared);
	if (!c || !c->process.stats_shm || is_shared)
		return NULL;
	slot = shm_slot(SCOPE_USER, dest, p->name, &shared);
	return shared ? slot : NULL;
}

/* Not in a child of vfork(), whose counters are its parent's; nor once the program has
 * confined itself. */
static void op_counted(void *ctx, bool end)
{
	int64_t now;

	(void)ctx;
	if (!stats_file_on() || (gate_now() & GATE_PASS))
		return;
	now = slot_now();
	if (stats_file_counted(end, now) && runtime_owns_process())
		stats_file_write(now);
}

static uint64_t op_first_calls(void *ctx, const struct addr *a, int64_t length,
                               uint64_t *recent)
{
	(void)ctx;
	return tally_take(a, clock_at_entry(), length, recent);
}

/* With signals held back no changed file would be read: that is done here. */
static bool op_enter(void *ctx)
{
	if (!runtime_owns_process())
		return false;
	runtime_config();
	signal_hold(ctx);
	return true;
}

static void op_leave(void *ctx)
{
	signal_release(ctx);
}

static bool op_target(void *ctx, const struct sockaddr *sa, socklen_t len, uintptr_t thread,
                      struct target *t)
{
	(void)ctx;
	return target_find(t, sa, len, thread);
}

/* Some programs make the descriptor blocking again while the connect is under
 * way (Rust's connect_timeout): then this attempt borrows O_NONBLOCK. */
static int op_start(void *ctx, int fd, const struct sockaddr *sa, socklen_t len)
{
	int saved = errno;
	int flags = sys_fcntl(fd, F_GETFL, 0);
	bool blocking = flags >= 0 && !(flags & O_NONBLOCK);
	int cancel;
	int rc;

	(void)ctx;
	if (inject_active() && inject_start(fd, sa, len, &rc))
		return rc;
	attempt_options(fd);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (blocking)
		sys_fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	rc = real.connect(fd, sa, len) == 0 ? 0 : errno;
	if (blocking)
		sys_fcntl(fd, F_SETFL, flags);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return rc;
}

static int op_take_error(void *ctx, int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	(void)ctx;
	return sys_getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 ? error : 0;
}

/* A program that is told by SIGIO knows of a failure before we do, and waits past
 * us for what comes next. */
static bool is_signalled(int fd)
{
	int flags = sys_fcntl(fd, F_GETFL, 0);

	return flags >= 0 && (flags & O_ASYNC);
}

static enum condition op_condition(void *ctx, int fd)
{
	(void)ctx;
	return is_signalled(fd) ? CONDITION_OTHER : probe_condition(fd);
}

static bool op_remakable(void *ctx, int fd, const struct sockaddr *sa, socklen_t len, bool replay)
{
	uint64_t sent = 0;

	(void)ctx;
	if (replay && !replay_given(fd, probe_identity(fd), &sent))
		return false;
	return probe_over(fd, sa, len, sent) && !is_signalled(fd);
}

static bool op_wanted(void *ctx, int fd, const struct sockaddr *sa, socklen_t len)
{
	struct peer peer;

	(void)ctx;
	return peers_find(fd, &peer) && peer.len == len && memcmp(&peer.to, sa, len) == 0;
}

static void op_end(void *ctx, int fd)
{
	(void)ctx;
	sys_shutdown(fd, SHUT_RDWR);
}

/*
 * What cannot be sent now is sent later; a peer that is gone raises no signal for
 * what the program sent long ago. Another thread may have been in the middle of a
 * call of its own: with the last byte it is asked whether these are all.
 */
static long send_some(void *fd, const void *data, size_t len, size_t given)
{
	long n = sys_sendto(*(int *)fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
	uint64_t taken;

	if (n == (long)len && probe_taken(*(int *)fd, &taken) && taken != given + len)
		return -ECANCELED;
	return n;
}

/* 0: there may be some; else why it is not waited for. */
static int wait_for_room(struct signal_hold *hold, int fd, int64_t until)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int64_t left = until ? dur_sub(until, sys_monotonic()) : 0;
	int saved = errno;
	bool interrupted;

	if (left <= 0 || signal_stopping())
		return EAGAIN;
	signal_let(hold);
	interrupted = real.poll(&p, 1, left < DUR_S ? wait_ms(left) : 1000) < 0 &&
	              errno == EINTR && signal_may_interrupt();
	signal_hold_again(hold);
	errno = saved;
	return interrupted ? EINTR : 0;
}

/* Whoever has it has no processor, unless a handler has interrupted him here: so not for
 * ever. 0: look again. */
static int wait_for_another(unsigned *waits)
{
	struct timespec ms = { 0, DUR_MS };

	if (++*waits > FDTAB_PATIENCE / DUR_MS)
		return ENOENT;
	sys_ppoll(NULL, 0, &ms);
	return 0;
}

static int op_replay(void *ctx, int fd, uint64_t identity, int64_t until)
{
	unsigned waits = 0;
	int error;
	long n;

	while ((n = replay_step(fd, identity, send_some, &fd)) != 0) {
		error = n == -EAGAIN  ? wait_for_room(ctx, fd, until)
		        : n == -EBUSY ? wait_for_another(&waits)
		        : n < 0       ? (int)-n
		                      : 0;
		if (error)
			return error;
	}
	return 0;
}

static int op_epoll_ctl(void *ctx, int epfd, int op, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event e = { .events = events, .data.u64 = data };
	int saved = errno;
	int rc = real.epoll_ctl(epfd, op, fd, &e) == 0 ? 0 : errno;

	(void)ctx;
	errno = saved;
	return rc;
}

static bool op_alone(void *ctx)
{
	(void)ctx;
	return libc_single_threaded();
}

static int64_t op_entry_time(void *ctx, int64_t entry)
{
	(void)ctx;
	return kernel_time_of(entry);
}

static int64_t op_now(void *ctx)
{
	(void)ctx;
	return sys_monotonic();
}

/* The first waiter that a stop signal wakes says so, for all. */
static void log_stop(void)
{
	struct event e;
	int sig = signal_take_unlogged();

	if (!sig)
		return;
	runtime_report();
	memset(&e, 0, sizeof(e));
	e.kind = EVENT_STOPPING;
	e.signal = sig;
	e.left = DUR_NONE;
	log_emit(&e);
}

static enum wake op_wait(void *ctx, int64_t until)
{
	struct signal_hold *hold = ctx;
	uint32_t outside = signal_watch();
	enum wake wake;

	signal_let(hold);
	wake = hold->interrupted && !signal_stopping() ? WAKE_INTERRUPTED : signal_wait(until);
	signal_hold_again(hold);
	if (signal_watched(outside) && wake == WAKE_TIMEOUT)
		wake = WAKE_INTERRUPTED;
	if (wake == WAKE_STOPPING)
		log_stop();
	return wake;
}

static bool op_stopping(void *ctx)
{
	(void)ctx;
	return signal_stopping();
}

static uint64_t op_random(void *ctx)
{
	(void)ctx;
	return thread_random();
}

static void op_log(void *ctx, const struct event *e)
{
	(void)ctx;
	runtime_report();
	log_emit(e);
}

static bool op_log_wants(void *ctx, enum log_level level)
{
	(void)ctx;
	return log_wants(level);
}

/*
 * nonblocking = "block": a non-blocking connect that is waited for. The time it
 * may take is the caller's; the descriptor's flag is left as it is.
 */
static int op_connect_block(void *ctx, int fd, const struct sockaddr *sa, socklen_t len,
                            int64_t limit, bool *expired)
{
	int64_t end = limit == DUR_NONE ? DUR_NONE : dur_add(sys_monotonic(), limit);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int saved;
	int rc;
	int n;

	*expired = false;
	attempt_options(fd);
	if (inject_active() && inject_attempt(ctx, fd, sa, len, &limit, expired, &rc))
		return rc;
	rc = attempt_call(ctx, fd, sa, len);
	saved = errno;
	if (rc != EINPROGRESS && rc != EALREADY)
		return rc;
	signal_let(ctx);
	n = real.poll(&p, 1, end == DUR_NONE ? -1 : wait_ms(limit));
	rc = n == 1 ? op_take_error(ctx, fd) : n == 0 ? EINPROGRESS : errno;
	signal_hold_again(ctx);
	*expired = n == 0;
	errno = saved;
	return rc;
}

#define OPS(connect_op) \
	{ \
		.connect = connect_op, .lookup = attempt_lookup, .identity = op_identity, \
		.connected_to_self = op_connected_to_self, .dissolve = op_dissolve, \
		.change_family = op_change_family, .resolve = op_resolve, \
		.listening = op_listening, .slot = op_slot, .stats = op_stats, .counted = op_counted, \
		.first_calls = op_first_calls, \
		.enter = op_enter, .leave = op_leave, .target = op_target, .start = op_start, \
		.take_error = op_take_error, .condition = op_condition, .remakable = op_remakable, \
		.wanted = op_wanted, .end = op_end, .replay = op_replay, \
		.epoll_ctl = op_epoll_ctl, .alone = op_alone, \
		.entry_time = op_entry_time, .now = op_now, .wait = op_wait, \
		.stopping = op_stopping, .random = op_random, \
		.log = op_log, .log_wants = op_log_wants, \
	}

const struct engine_ops preload_ops = OPS(attempt_connect);
const struct engine_ops preload_block_ops = OPS(op_connect_block);
