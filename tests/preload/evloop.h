/* SPDX-License-Identifier: MIT */
/*
 * evloop.h - a non-blocking connect that is waited for by any of libc's waits,
 * registered in any way; and many such cases side by side, since each of them
 * mostly sleeps.
 */
#ifndef LIBRETRY_TESTS_EVLOOP_H
#define LIBRETRY_TESTS_EVLOOP_H

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>

#include "tests/preload/guest.h"

/* The headers declare these under _FORTIFY_SOURCE only. */
#ifdef __GLIBC__
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                const sigset_t *mask, size_t size);
#else
#define __poll_chk(fds, n, timeout, size) poll(fds, n, timeout)
#define __ppoll_chk(fds, n, timeout, mask, size) ppoll(fds, n, timeout, mask)
#endif

#define ALL_FAILURE (POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP)
#define CPU_LIMIT_MS 20
#define LATE_NS 20000000
#define SLOW "127.0.0.2" /* waits 2 s before each retry */
/* Three waits of 20 ms at least, since each grows from the one before, less the grain. */
#define LEAST_MS 57
#define DATA UINT64_C(0xfedcba9876543211)

GUEST char case_name[96];
GUEST int64_t late_before; /* lateness_ms() when the worker began */

__attribute__((unused, noreturn)) static void case_failed(const char *file, int line,
                                                          const char *what, long long got)
{
	fprintf(stderr, "%s:%d: case \"%s\" of process %d: %s; got %lld (%#llx), errno %s\n", file,
	        line, case_name, (int)getpid(), what, got, (unsigned long long)got,
	        strerror(errno));
	_exit(1);
}

/* For the workers of side_by_side(): says which case it was. */
#define must(cond) \
	do { \
		if (!(cond)) \
			case_failed(__FILE__, __LINE__, #cond, 0); \
	} while (0)
#define must_eq(a, b) \
	do { \
		long long got_ = (long long)(a); \
		if (got_ != (long long)(b)) \
			case_failed(__FILE__, __LINE__, #a " == " #b, got_); \
	} while (0)
#define must_fail(call, error) \
	do { \
		long long got_ = (long long)(call); \
		if (got_ != -1 || errno != (error)) \
			case_failed(__FILE__, __LINE__, #call " fails with " #error, got_); \
	} while (0)

GUEST void worker_hangs(int sig)
{
	(void)sig;
	case_failed("worker", 0, "it ends", 0);
}

/* run(0) ... run(count - 1), each in a process of its own, <width> at a time. */
GUEST void side_by_side(unsigned count, unsigned width, void (*run)(unsigned i))
{
	unsigned running = 0, failed = 0, i = 0;

	lateness_begin();
	while (i < count || running > 0) {
		int status;

		if (i < count && running < width) {
			pid_t pid = fork();

			ck_assert_int_ge(pid, 0);
			if (pid == 0) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				signal(SIGALRM, worker_hangs);
				alarm(60);
				late_before = lateness_ms();
				run(i);
				_exit(0);
			}
			i++;
			running++;
			continue;
		}
		ck_assert_int_ge(wait(&status), 0);
		running--;
		if (status != 0)
			failed++;
	}
	lateness_end();
	ck_assert_uint_eq(failed, 0);
}

/* For the workers: whether less than <ms> went by since <start>, on a machine that is not
 * late. */
GUEST bool within(int64_t start, int64_t ms)
{
	return in_time(start, late_before, ms);
}

GUEST bool machine_is_late(void)
{
	return lateness_ms() - late_before > LATE_NS / 1000000;
}

GUEST int64_t ns_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

GUEST int64_t cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

/* A child that listens on <server> <ms> after a retry of ours (0: at once), and echoes
 * what it gets. Call it before the socket exists that the child shall not hold. */
GUEST pid_t serve_late(int server, int ms)
{
	pid_t program = getpid();
	unsigned before = log_lines(" retry ");
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0) {
		char buf[64];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(0);
		if (ms > 0)
			sleep_past_a_retry(ms, program, before);
		if (listen(server, 8) != 0)
			_exit(1);
		for (;;) {
			int c = accept(server, NULL, NULL);
			ssize_t n;

			while ((n = read(c, buf, sizeof(buf))) > 0)
				if (write(c, buf, (size_t)n) != n)
					_exit(1);
			close(c);
		}
	}
	return pid;
}

enum call {
	POLL = 0, POLL_CHK, PPOLL, PPOLL_CHK, SELECT, PSELECT,
	EPOLL_WAIT, EPOLL_PWAIT, EPOLL_PWAIT2, CALLS
};
enum place { BEFORE = 0, AFTER, TWO_SETS, DUP_BEFORE, DUP_AFTER, PLACES };

/* How it is waited for. */
struct setting {
	enum call call;
	uint32_t mode; /* 0, EPOLLET or EPOLLONESHOT */
	enum place place;
	bool drained;  /* the event that an unconnected socket gives at once */
	bool data_fd;
};

#define PLAIN_CALLS EPOLL_WAIT
#define EPOLL_SETTINGS (3 * 3 * PLACES)
#define SETTINGS (PLAIN_CALLS + EPOLL_SETTINGS + 3 + 1 + 3)

/* Setting <i> of SETTINGS; names the case. */
GUEST struct setting setting_at(unsigned i)
{
	static const char *const calls[] = { "poll", "__poll_chk", "ppoll", "__ppoll_chk", "select",
		"pselect", "epoll_wait", "epoll_pwait", "epoll_pwait2" };
	static const char *const places[] = { "before", "after", "two sets", "dup before",
		"dup after" };
	static const uint32_t modes[] = { 0, EPOLLET, EPOLLONESHOT };
	static const char *const mode_names[] = { "level", "edge", "one-shot" };
	struct setting s = { POLL, 0, AFTER, false, false };
	unsigned j = i - PLAIN_CALLS;
	unsigned mode = 0;

	if (i < PLAIN_CALLS) {
		s.call = (enum call)i;
	} else if (j < EPOLL_SETTINGS) {
		s.call = (enum call)(EPOLL_WAIT + j % 3);
		mode = j / 3 % 3;
		s.place = (enum place)(j / 9);
	} else if (j < EPOLL_SETTINGS + 3) {
		s.call = (enum call)(EPOLL_WAIT + j % 3);
		mode = 1;
		s.place = BEFORE;
		s.drained = true;
	} else if (j == EPOLL_SETTINGS + 3) {
		s.call = EPOLL_WAIT;
		s.data_fd = true;
	} else {
		static const enum call plain[] = { POLL, SELECT, PSELECT };

		s.call = plain[j - EPOLL_SETTINGS - 4];
		s.place = DUP_BEFORE;
	}
	s.mode = modes[mode];
	snprintf(case_name, sizeof(case_name), "%s, %s, %s%s%s", calls[s.call], mode_names[mode],
	         places[s.place], s.drained ? ", drained" : "", s.data_fd ? ", data.fd" : "");
	return s;
}

struct ev {
	struct sockaddr_in sa;
	int server;
	int fd;
	int watched;      /* what is waited for: <fd>, or a dup of it */
	int epfd, epfd2;
	uint32_t asked;
	uint64_t data;    /* of the registration in .epfd; .epfd2 has it + 2 */
	const sigset_t *mask;
	uint32_t got;     /* by the last wait */
	uint64_t got_data;
	unsigned slices, late;
};

/* A descriptor that never becomes ready. */
GUEST int quiet(void)
{
	static int ends[2];

	if (ends[1] == 0)
		must_eq(pipe2(ends, O_CLOEXEC), 0);
	return ends[0];
}

GUEST int wait_poll(enum call call, struct ev *e, int ms)
{
	struct pollfd p[3] = { { quiet(), POLLIN, 0 }, { -1, POLLIN, 77 },
		{ e->watched, (short)e->asked, 0x4000 } };
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
	const struct timespec *limit = ms < 0 ? NULL : &t;
	int n;

	if (call == POLL)
		n = poll(p, 3, ms);
	else if (call == POLL_CHK)
		n = __poll_chk(p, 3, ms, sizeof(p));
	else if (call == PPOLL)
		n = ppoll(p, 3, limit, e->mask);
	else
		n = __ppoll_chk(p, 3, limit, e->mask, sizeof(p));
	must_eq(t.tv_sec * 1000 + t.tv_nsec / 1000000, ms < 0 ? -1 : ms);
	must_eq(p[0].fd, quiet());
	must_eq(p[1].fd, -1);
	must_eq(p[2].fd, e->watched);
	must_eq((uint32_t)p[2].events, e->asked);
	if (n >= 0) {
		must_eq(p[0].revents, 0);
		must_eq(p[1].revents, 0);
		must_eq(p[2].revents != 0, n);
		e->got = (uint16_t)p[2].revents;
	}
	return n;
}

GUEST int wait_select(enum call call, struct ev *e, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000L };
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
	int top = e->watched > quiet() ? e->watched : quiet();
	fd_set r, w, x;
	int n;

	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_ZERO(&x);
	FD_SET(quiet(), &r);
	FD_SET(quiet(), &x);
	FD_SET(e->watched, &x);
	if (e->asked & POLLIN)
		FD_SET(e->watched, &r);
	if (e->asked & POLLOUT)
		FD_SET(e->watched, &w);
	if (call == SELECT)
		n = select(top + 1, &r, &w, &x, ms < 0 ? NULL : &tv);
	else
		n = pselect(top + 1, &r, &w, &x, ms < 0 ? NULL : &t, e->mask);
	must_eq(t.tv_sec * 1000 + t.tv_nsec / 1000000, ms < 0 ? -1 : ms);
	if (n < 0)
		return n;
	if (n == 0 && call == SELECT)
		must_eq(tv.tv_sec * 1000000 + tv.tv_usec, 0);
	must(!FD_ISSET(quiet(), &r));
	must(!FD_ISSET(quiet(), &x));
	must(!FD_ISSET(e->watched, &x));
	e->got = (FD_ISSET(e->watched, &r) ? POLLIN : 0U) |
	         (FD_ISSET(e->watched, &w) ? POLLOUT : 0U);
	must_eq(!!(e->got & POLLIN) + !!(e->got & POLLOUT), n);
	return n > 0;
}

GUEST int wait_epoll(enum call call, struct ev *e, int epfd, int ms)
{
	struct epoll_event list[8];
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
	int n;

	if (call == EPOLL_WAIT)
		n = epoll_wait(epfd, list, 8, ms);
	else if (call == EPOLL_PWAIT)
		n = epoll_pwait(epfd, list, 8, ms, e->mask);
	else
#ifdef __GLIBC__
		n = epoll_pwait2(epfd, list, 8, ms < 0 ? NULL : &t, e->mask);
#else
		n = epoll_pwait(epfd, list, 8, ms, e->mask);
	(void)t;
#endif
	if (n > 0) {
		e->got = list[0].events;
		e->got_data = list[0].data.u64;
	}
	return n;
}

/* 1: .got is what happened; 0; -1: errno says why. ms < 0: for ever. */
GUEST int wait_for(enum call call, struct ev *e, int ms)
{
	if (call < SELECT)
		return wait_poll(call, e, ms);
	if (call < EPOLL_WAIT)
		return wait_select(call, e, ms);
	return wait_epoll(call, e, e->epfd, ms);
}

/* The same; notes whether it ended in time, and takes no early end. */
GUEST int wait_slice(enum call call, struct ev *e, int ms)
{
	int64_t late = lateness ? lateness->us : 0;
	int64_t start = ns_now();
	int n = wait_for(call, e, ms);
	int64_t over = ns_now() - start - (int64_t)ms * 1000000;

	if (n == 0) {
		must(over >= 0);
		e->slices++;
		/* Not if nobody was in time just then. */
		e->late += over > LATE_NS && lateness_ms() * 1000 - late < LATE_NS / 2000;
	}
	return n;
}

GUEST int enrol(int op, int epfd, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };

	return epoll_ctl(epfd, op, fd, &event);
}

GUEST int stream(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	must(fd >= 0);
	return fd;
}

GUEST int set_of_events(void)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	must(fd >= 0);
	return fd;
}

/* Begins to connect to e->sa, registered as <s> says. */
GUEST void ev_connect(const struct setting *s, struct ev *e)
{
	bool sets = s->call >= EPOLL_WAIT;
	uint32_t events = e->asked | s->mode;

	e->fd = stream();
	e->watched = s->place == DUP_BEFORE ? dup(e->fd) : e->fd;
	e->data = s->data_fd ? (uint64_t)e->fd : DATA;
	e->epfd = sets ? set_of_events() : -1;
	e->epfd2 = s->place == TWO_SETS ? set_of_events() : -1;
	if (sets && s->place != AFTER && s->place != DUP_AFTER)
		must_eq(enrol(EPOLL_CTL_ADD, e->epfd, e->watched, events, e->data), 0);
	if (s->drained) {
		/* An unconnected socket is writable and hung up. */
		must_eq(wait_for(s->call, e, 0), 1);
		must_eq(e->got, (EPOLLOUT | EPOLLHUP));
		must_eq(wait_for(s->call, e, 0), 0);
	}
	must_fail(connect(e->fd, (struct sockaddr *)&e->sa, sizeof(e->sa)), EINPROGRESS);
	if (s->place == DUP_AFTER)
		e->watched = fcntl(e->fd, F_DUPFD_CLOEXEC, 0);
	must(e->watched >= 0);
	if (sets && (s->place == AFTER || s->place == DUP_AFTER))
		must_eq(enrol(EPOLL_CTL_ADD, e->epfd, e->watched, events, e->data), 0);
	if (s->place == TWO_SETS)
		must_eq(enrol(EPOLL_CTL_ADD, e->epfd2, e->watched, events, e->data + 2), 0);
}

GUEST int so_error(int fd)
{
	int error = -1;
	socklen_t len = sizeof(error);

	must_eq(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	must_eq(len, sizeof(error));
	return error;
}

GUEST void no_peer(int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	must_fail(getpeername(fd, (struct sockaddr *)&peer, &len), ENOTCONN);
}

GUEST void connected_to(int fd, const struct sockaddr_in *sa)
{
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);

	must_eq(so_error(fd), 0);
	must_eq(getpeername(fd, (struct sockaddr *)&peer, &len), 0);
	must_eq(peer.sin_port, sa->sin_port);
	must_eq(peer.sin_addr.s_addr, sa->sin_addr.s_addr);
}

/* The server of serve_late() is at the other end. */
GUEST void echoes(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };
	char buf[8];

	must_eq(write(fd, "ping", 4), 4);
	must_eq(poll(&p, 1, 2000), 1);
	must_eq(read(fd, buf, sizeof(buf)), 4);
	must_eq(memcmp(buf, "ping", 4), 0);
}

GUEST void rescued_once(void)
{
	must(log_lines(" retry ") >= 1);
	must_eq(log_lines(" recovered "), 1);
	must_eq(log_lines(" gave-up "), 0);
}

GUEST void error_once(int fd, int error)
{
	must_eq(so_error(fd), error);
	must_eq(so_error(fd), 0);
}

GUEST void gave_up_once(int64_t start)
{
	must(ms_now() - start >= LEAST_MS);
	must(within(start, 5000));
	must_eq(log_lines(" retry "), 3);
	must_eq(log_lines(" gave-up "), 1);
	must_eq(log_lines(" recovered "), 0);
}

/* A named case of a table. */
struct named {
	const char *name;
	void (*run)(void);
};

GUEST const struct named *group;

GUEST void run_named(unsigned i)
{
	snprintf(case_name, sizeof(case_name), "%s", group[i].name);
	group[i].run();
}

#define RUN_GROUP(list) \
	do { \
		group = (list); \
		side_by_side(ARRAY_LEN(list), 20, run_named); \
	} while (0)

/* In backoff, registered in e->epfd, after the server's child is made (ms >= 0). */
GUEST void in_backoff(struct ev *e, const char *ip, int ms)
{
	struct setting s = { EPOLL_WAIT, 0, AFTER, false, false };

	e->server = bound_at(ip, &e->sa);
	if (ms >= 0)
		serve_late(e->server, ms);
	e->asked = POLLOUT;
	ev_connect(&s, e);
	must_eq(wait_for(EPOLL_WAIT, e, 5), 0);
	must(log_lines(" retry ") >= 1);
}

GUEST void ends_well(struct ev *e)
{
	must_eq(wait_for(EPOLL_WAIT, e, 5000), 1);
	must_eq(e->got, EPOLLOUT);
	must_eq(e->got_data, e->data);
	connected_to(e->fd, &e->sa);
	rescued_once();
	echoes(e->fd);
}

#endif
