/* SPDX-License-Identifier: MIT */
/*
 * send = "first-write", and something comes while what was sent is being sent again:
 * whatever the program does then, the server gets a whole in order, or a connection
 * that is broken.
 */
#include "tests/preload/resets.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/time.h>

#define WHOLE "127.0.0.16" /* first-write, 1 MiB */
#define LARGE 400000

enum how { READS_LATE, SPEAKS_EARLY, NEVER_READS };

/* What came over the second connection: first so many 'X', in one piece, and then
 * others. */
struct sink {
	struct sockaddr_in sa;
	_Atomic unsigned first;  /* bytes over the first connection */
	_Atomic unsigned xs;
	_Atomic unsigned others;
	_Atomic unsigned turns;  /* from one kind to the other */
	_Atomic int end;         /* errno of the last read; -1: none yet */
};

static void count(struct sink *s, const char *buf, size_t n)
{
	static char last = 'X';

	for (size_t i = 0; i < n; i++) {
		atomic_fetch_add(buf[i] == 'X' ? &s->xs : &s->others, 1);
		s->turns += (buf[i] == 'X') != (last == 'X');
		last = buf[i];
	}
}

static ssize_t raw_read(int fd, char *buf, size_t size)
{
	return syscall(SYS_read, fd, buf, size);
}

static void sink_serve(struct sink *s, int server, unsigned size, enum how how)
{
	static char buf[65536];
	ssize_t n;
	int fd = (int)syscall(SYS_accept4, server, NULL, NULL, 0);

	while (s->first < size && (n = raw_read(fd, buf, sizeof(buf))) > 0)
		s->first += (unsigned)n;
	hang_up(fd);
	fd = (int)syscall(SYS_accept4, server, NULL, NULL, 0);
	if (how == SPEAKS_EARLY)
		syscall(SYS_sendto, fd, "early", 5, MSG_NOSIGNAL, NULL, 0);
	sleep_ms(how == NEVER_READS ? 1500 : 700);
	while ((n = raw_read(fd, buf, sizeof(buf))) > 0) {
		count(s, buf, (size_t)n);
		if (memchr(buf, '\n', (size_t)n))
			syscall(SYS_sendto, fd, "answer", 6, MSG_NOSIGNAL, NULL, 0);
	}
	s->end = n < 0 ? errno : 0;
}

static struct sink *sink(unsigned size, enum how how)
{
	struct sink *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
	                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int server = bound_at(WHOLE, &s->sa);
	int small = 4096;
	pid_t pid;

	must(s != MAP_FAILED);
	s->end = -1;
	must_eq(setsockopt(server, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	must_eq(listen(server, 8), 0);
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sink_serve(s, server, size, how);
		_exit(0);
	}
	syscall(SYS_close, server);
	return s;
}

/* All of it sent, and reset by now. */
static int sent(struct sink *s, unsigned size)
{
	static char data[LARGE];
	int fd = tcp_socket(), small = 8192;
	size_t done = 0;

	memset(data, 'X', sizeof(data));
	must_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	must_eq(connect(fd, (struct sockaddr *)&s->sa, sizeof(s->sa)), 0);
	while (done < size) {
		ssize_t n = write(fd, data, size - done);

		must(n > 0);
		done += (size_t)n;
	}
	until_closed(fd);
	must_eq(s->first, size);
	return fd;
}

static void *read_some(void *arg)
{
	char buf[16];

	return (void *)(intptr_t)(read((int)(intptr_t)arg, buf, sizeof(buf)) > 0 ? 0 : errno);
}

static void *write_some(void *arg)
{
	return (void *)(intptr_t)send((int)(intptr_t)arg, "ZZZZ", 4, MSG_NOSIGNAL);
}

static pthread_t started(void *(*run)(void *), int fd)
{
	pthread_t thread;

	must_eq(pthread_create(&thread, NULL, run, (void *)(intptr_t)fd), 0);
	return thread;
}

static intptr_t joined(pthread_t thread)
{
	void *result;

	must_eq(pthread_join(thread, &result), 0);
	return (intptr_t)result;
}

static void got_all(struct sink *s, unsigned xs, unsigned others)
{
	for (unsigned i = 0; s->end < 0; i++) {
		must(i < 5000);
		sleep_ms(1);
	}
	must_eq(s->end, 0);
	must_eq(s->xs, xs);
	must_eq(s->others, others);
	must_eq(s->turns, others != 0);
}

/* One thread sends it again, and another one sends. */
static void another_write(void)
{
	struct sink *s = sink(LARGE, READS_LATE);
	int fd = sent(s, LARGE);
	pthread_t reader = started(read_some, fd);

	sleep_ms(300);
	must_eq(send(fd, "YYYY", 4, MSG_DONTWAIT | MSG_NOSIGNAL), -1);
	must_eq(errno, EAGAIN);
	must_eq(send(fd, "YYYY", 4, MSG_NOSIGNAL), 4);
	must_eq(shutdown(fd, SHUT_WR), 0);
	got_all(s, LARGE, 4);
	joined(reader);
}

/* It is answered before all has gone. */
static void an_early_answer(void)
{
	struct sink *s = sink(LARGE, SPEAKS_EARLY);
	int fd = sent(s, LARGE);
	pthread_t writer = started(write_some, fd);

	sleep_ms(300);
	must_eq(joined(started(read_some, fd)), 0);
	must_eq(joined(writer), 4);
	must_eq(shutdown(fd, SHUT_WR), 0);
	got_all(s, LARGE, 4);
}

static sigjmp_buf out;

static void jump(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static int jumped_out(struct sink *s)
{
	int fd = sent(s, LARGE);
	struct itimerval in = { .it_value.tv_usec = 300000 };
	char c;

	signal(SIGALRM, jump);
	if (!sigsetjmp(out, 1)) {
		must_eq(setitimer(ITIMER_REAL, &in, NULL), 0);
		read(fd, &c, 1);
		must(false);
	}
	signal(SIGALRM, worker_hangs);
	alarm(20);
	return fd;
}

static void a_jump_and_a_write(void)
{
	struct sink *s = sink(LARGE, READS_LATE);
	int fd = jumped_out(s);

	must_fail(send(fd, "QQQQ", 4, MSG_DONTWAIT | MSG_NOSIGNAL), EAGAIN);
	must_eq(send(fd, "QQQQ", 4, MSG_NOSIGNAL), 4);
	must_eq(shutdown(fd, SHUT_WR), 0);
	got_all(s, LARGE, 4);
}

/* Which knows of no more than the end. */
static void a_jump_and_an_end(void)
{
	struct sink *s = sink(LARGE, READS_LATE);
	int fd = jumped_out(s);

	must_eq(shutdown(fd, SHUT_WR), 0);
	got_all(s, LARGE, 0);
}

/* A part of it, and then an end, would be taken for the whole. */
static void a_close(void)
{
	struct sink *s = sink(LARGE, NEVER_READS);
	int fd = jumped_out(s);

	must_eq(close(fd), 0);
	for (unsigned i = 0; s->end < 0; i++) {
		must(i < 5000);
		sleep_ms(1);
	}
	must_eq(s->end, ECONNRESET);
}

/* A child that shares our memory closes its own number. */
static void a_vfork_child(void)
{
	struct sink *s = sink(9, READS_LATE);
	int fd = sent(s, 9), status;
	struct pollfd p = { fd, POLLIN, 0 };
	char buf[8];
	pid_t pid;

	must_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	must_fail(read(fd, buf, sizeof(buf)), EAGAIN);
	pid = vfork();
	if (pid == 0) {
		close(fd);
		_exit(0);
	}
	must_eq(waitpid(pid, &status, 0), pid);
	p.events = POLLOUT;
	must_eq(poll(&p, 1, 5000), 1);
	must_eq(write(fd, "ZZ\n", 3), 3);
	must_get(fd, "answer");
	close(fd);
	got_all(s, 9, 3);
}

static const struct named cases[] = { { "another write", another_write },
	{ "an early answer", an_early_answer },
	{ "a jump and a write", a_jump_and_a_write },
	{ "a jump and an end", a_jump_and_an_end },
	{ "a close", a_close },
	{ "a vfork child", a_vfork_child } };

START_TEST(a_whole_in_order)
{
	RUN_GROUP(cases);
}
END_TEST

UNIT_MAIN("preload replay, in the middle", &a_whole_in_order)
