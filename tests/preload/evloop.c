/* SPDX-License-Identifier: MIT */
/*
 * A non-blocking connect to a server that comes late: each of libc's waits
 * shows nothing until it succeeds, costs nothing, and keeps its own time.
 */
#include "tests/preload/evloop.h"

#include <pthread.h>

#define LATE_MS 600

/* Whether the second set has an event, which is the one. */
static bool second_set(const struct setting *s, struct ev *e)
{
	int n = wait_epoll(s->call, e, e->epfd2, 0);

	if (n != 0) {
		must_eq(n, 1);
		must_eq(e->got, EPOLLOUT);
		must_eq(e->got_data, e->data + 2);
	}
	return n != 0;
}

/* One event in each set, after any number of looks; then as the kernel has it. */
static void wait_until_shown(const struct setting *s, struct ev *e)
{
	bool again = !(s->mode & (EPOLLET | EPOLLONESHOT));
	bool two = s->place == TWO_SETS;
	bool second = false;
	int64_t start = ms_now();
	int n = 0;

	while (n == 0 && !second) {
		must(within(start, 5000));
		n = wait_slice(s->call, e, 50);
		if (n == 0 && two)
			second = second_set(s, e);
		if (e->slices == 1)
			no_peer(e->fd);
	}
	if (second)
		n = wait_for(s->call, e, 0);
	must_eq(n, 1);
	must_eq(e->got, POLLOUT);
	must_eq(e->got_data, s->call >= EPOLL_WAIT ? e->data : 0);
	connected_to(e->fd, &e->sa);
	if (two)
		must_eq(second_set(s, e), second ? again : true);
	if (two)
		must_eq(second_set(s, e), again);
	must_eq(wait_for(s->call, e, 0), again);
}

/* It can be waited for in the other direction now. */
static void gives_input(const struct setting *s, struct ev *e)
{
	char buf[8];

	e->asked = POLLIN;
	if (s->call >= EPOLL_WAIT) {
		e->data ^= 0xff00;
		must_eq(enrol(EPOLL_CTL_MOD, e->epfd, e->watched, EPOLLIN | s->mode, e->data), 0);
	}
	must_eq(wait_for(s->call, e, 0), 0);
	must_eq(write(e->watched, "ping", 4), 4);
	must_eq(wait_for(s->call, e, 2000), 1);
	must_eq(e->got, POLLIN);
	must_eq(e->got_data, s->call >= EPOLL_WAIT ? e->data : 0);
	must_eq(read(e->fd, buf, sizeof(buf)), 4);
}

static void late_server(unsigned i)
{
	struct setting s = setting_at(i);
	struct ev e = { .asked = POLLOUT };
	int64_t start;

	e.server = bound(&e.sa);
	start = ms_now();
	serve_late(e.server, LATE_MS);
	ev_connect(&s, &e);
	wait_until_shown(&s, &e);
	must(ms_now() - start >= LATE_MS);
	gives_input(&s, &e);
	rescued_once();
	/* One that is late may be the machine's fault, most are not. */
	must(e.slices >= 3 || machine_is_late());
	must(e.late * 2 <= e.slices + 2);
}

START_TEST(a_late_server_is_reached_in_every_way)
{
	side_by_side(SETTINGS, 20, late_server);
}
END_TEST

/* One long wait over a whole backoff: the time is slept away. */
static void long_wait(unsigned i)
{
	struct setting s = setting_at(i < PLAIN_CALLS ? i : i + AFTER * 9);
	struct ev e = { .asked = POLLIN | POLLOUT };
	int64_t start, cpu;

	e.server = bound_at(SLOW, &e.sa);
	serve_late(e.server, 500);
	ev_connect(&s, &e);
	start = ms_now();
	cpu = cpu_ms();
	must_eq(wait_for(s.call, &e, i % 2 ? -1 : 20000), 1);
	must(cpu_ms() - cpu < CPU_LIMIT_MS);
	must_eq(e.got, POLLOUT);
	must(ms_now() - start >= 1950);
	must(within(start, 3000));
	connected_to(e.fd, &e.sa);
	rescued_once();
	must_eq(log_lines(" retry "), 1);
}

START_TEST(a_backoff_is_slept_away)
{
	side_by_side(PLAIN_CALLS + 9, 15, long_wait);
}
END_TEST

/* Many short waits over a backoff, as a program with a 5 ms timer makes: what
 * is left of the time is neither lost nor made longer. */
static void short_waits(unsigned i)
{
	struct setting s = setting_at(i);
	struct ev e = { .asked = POLLOUT };
	int64_t start;
	int n;

	e.server = bound_at(SLOW, &e.sa);
	serve_late(e.server, 500);
	ev_connect(&s, &e);
	start = ms_now();
	while ((n = wait_slice(s.call, &e, 5)) == 0)
		must(within(start, 3000));
	must_eq(n, 1);
	must_eq(e.got, POLLOUT);
	must(ms_now() - start >= 1950);
	must(e.slices >= 30 || machine_is_late());
	must(e.late * 4 <= e.slices);
	rescued_once();
}

START_TEST(short_waits_keep_their_time)
{
	side_by_side(CALLS, CALLS, short_waits);
}
END_TEST

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	(void)sig;
	caught++;
}

/* A handler ends a wait, whatever its flags; those with a mask let it through. */
static void interrupted(unsigned i)
{
	struct setting s = setting_at(i);
	struct ev e = { .asked = POLLOUT };
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = i % 2 ? SA_RESTART : 0 };
	bool masks = s.call != POLL && s.call != POLL_CHK && s.call != SELECT &&
	             s.call != EPOLL_WAIT;
	sigset_t usr1, none;
	int64_t start;

	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigaction(SIGUSR1, &act, NULL);
	if (masks) {
		sigprocmask(SIG_BLOCK, &usr1, NULL);
		e.mask = &none;
	}
	e.server = bound_at(SLOW, &e.sa);
	serve_late(e.server, 500);
	ev_connect(&s, &e);
	must_eq(wait_for(s.call, &e, 20), 0);
	start = ms_now();
	if (fork() == 0) {
		sleep_ms(200);
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	must_fail(wait_for(s.call, &e, i % 2 ? -1 : 5000), EINTR);
	must(ms_now() - start >= 195);
	must(within(start, 1000));
	must_eq(caught, 1);
	must_eq(wait_for(s.call, &e, 5000), 1);
	must_eq(e.got, POLLOUT);
	must_eq(caught, 1);
	if (masks) {
		sigset_t now;

		sigprocmask(SIG_BLOCK, NULL, &now);
		must(sigismember(&now, SIGUSR1));
	}
	rescued_once();
}

START_TEST(a_signal_ends_the_wait)
{
	side_by_side(CALLS, CALLS, interrupted);
}
END_TEST

#define MANY 16

/* Servers that begin to listen one after the other, 200 ms after the other end
 * of the pipe that is returned is written to or closed. */
static int many_servers(struct sockaddr_in *sa)
{
	int server[MANY];
	int ends[2];
	char c;

	must_eq(pipe2(ends, O_CLOEXEC), 0);
	for (unsigned k = 0; k < MANY; k++)
		server[k] = bound(&sa[k]);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[1]);
		(void)!read(ends[0], &c, 1);
		sleep_ms(200);
		for (unsigned k = 0; k < MANY; k++) {
			(void)listen(server[k], 4);
			sleep_ms(20);
		}
		for (;;)
			pause();
	}
	close(ends[0]);
	return ends[1];
}

/* Several in one set, each to a server of its own. */
static void many_in_a_set(unsigned i)
{
	uint32_t mode = (const uint32_t[]){ 0, EPOLLET, EPOLLONESHOT }[i];
	struct sockaddr_in sa[MANY];
	int fd[MANY];
	bool seen[MANY] = { false };
	struct epoll_event list[4];
	int epfd = set_of_events();
	int go = many_servers(sa);
	int64_t start;

	snprintf(case_name, sizeof(case_name), "many, mode %#x", mode);
	for (unsigned k = 0; k < MANY; k++) {
		fd[k] = stream();
		must_fail(connect(fd[k], (struct sockaddr *)&sa[k], sizeof(sa[k])), EINPROGRESS);
		must_eq(enrol(EPOLL_CTL_ADD, epfd, fd[k], EPOLLOUT | mode, 1001 + 2 * k), 0);
	}
	must_eq(epoll_wait(epfd, list, 4, 1), 0);
	close(go);
	start = ms_now();
	for (unsigned left = MANY; left > 0;) {
		int n = epoll_wait(epfd, list, 4, 1000);

		must(n > 0);
		must(within(start, 5000));
		for (int j = 0; j < n; j++) {
			uint64_t k = (list[j].data.u64 - 1001) / 2;

			must(list[j].data.u64 % 2 == 1 && k < MANY);
			must(!seen[k]);
			must_eq(list[j].events, EPOLLOUT);
			seen[k] = true;
			left--;
			connected_to(fd[k], &sa[k]);
			if (!mode)
				must_eq(epoll_ctl(epfd, EPOLL_CTL_DEL, fd[k], NULL), 0);
		}
	}
	must_eq(log_lines(" recovered "), MANY);
	must_eq(log_lines(" gave-up "), 0);
}

/* All of them, and descriptors without a connect, in one poll(). */
static void many_in_poll(void)
{
	struct sockaddr_in sa[MANY];
	struct pollfd p[2 * MANY];
	int go = many_servers(sa);
	unsigned done = 0;

	snprintf(case_name, sizeof(case_name), "many, poll");
	for (unsigned k = 0; k < MANY; k++) {
		p[2 * k] = (struct pollfd){ quiet(), POLLIN, 0 };
		p[2 * k + 1] = (struct pollfd){ stream(), POLLOUT, 0 };
		must_fail(connect(p[2 * k + 1].fd, (struct sockaddr *)&sa[k], sizeof(sa[k])),
		          EINPROGRESS);
	}
	must_eq(poll(p, 2 * MANY, 1), 0);
	close(go);
	while (done < MANY) {
		int n = poll(p, 2 * MANY, 2000);

		must(n > 0);
		for (unsigned k = 0; k < 2 * MANY; k++) {
			if (p[k].fd < 0 || p[k].revents == 0)
				continue;
			n--;
			must_eq(k % 2, 1);
			must_eq(p[k].revents, POLLOUT);
			must_eq(so_error(p[k].fd), 0);
			p[k].fd = -1;
			done++;
		}
		must_eq(n, 0);
	}
	must_eq(log_lines(" recovered "), MANY);
}

static void many(unsigned i)
{
	if (i < 3)
		many_in_a_set(i);
	else
		many_in_poll();
}

START_TEST(many_at_once)
{
	side_by_side(4, 4, many);
}
END_TEST

struct waiter {
	int epfd;
	int n;
	struct epoll_event event;
};

static void *wait_in_thread(void *arg)
{
	struct waiter *w = arg;

	w->n = epoll_wait(w->epfd, &w->event, 1, 2500);
	return NULL;
}

/* Both threads see a level-triggered event, one of them a one-shot. */
static void two_threads(unsigned i)
{
	uint32_t mode = i ? EPOLLONESHOT : 0;
	struct waiter w[2];
	struct sockaddr_in sa;
	pthread_t t[2];
	int server = bound(&sa);
	int fd, epfd = set_of_events();

	snprintf(case_name, sizeof(case_name), "two threads, mode %#x", mode);
	serve_late(server, LATE_MS);
	fd = stream();
	must_fail(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), EINPROGRESS);
	must_eq(enrol(EPOLL_CTL_ADD, epfd, fd, EPOLLOUT | mode, 7777777777777), 0);
	for (int k = 0; k < 2; k++) {
		w[k] = (struct waiter){ .epfd = epfd };
		must_eq(pthread_create(&t[k], NULL, wait_in_thread, &w[k]), 0);
	}
	for (int k = 0; k < 2; k++) {
		pthread_join(t[k], NULL);
		must(w[k].n >= 0);
		if (w[k].n == 0)
			continue;
		must_eq(w[k].event.events, EPOLLOUT);
		must_eq(w[k].event.data.u64, 7777777777777);
	}
	must_eq(w[0].n + w[1].n, mode ? 1 : 2);
	connected_to(fd, &sa);
	rescued_once();
}

START_TEST(two_threads_in_one_set)
{
	side_by_side(2, 2, two_threads);
}
END_TEST

UNIT_MAIN("preload evloop", &a_late_server_is_reached_in_every_way, &a_backoff_is_slept_away,
          &short_waits_keep_their_time, &a_signal_ends_the_wait, &many_at_once,
          &two_threads_in_one_set)
