/* SPDX-License-Identifier: MIT */
/*
 * send = "safe" where others have a part in it: other threads, programs that wait
 * by themselves, servers that do not answer, and sockets that are not ours.
 */
#include "tests/preload/resets.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/sendfile.h>
#include <sys/time.h>

#define SHORT "127.0.0.13" /* deadline = "300ms" */
#define WAITING "127.0.0.14" /* waits 1 s before each attempt */
#define EAGER "127.0.0.15" /* waits 10 ms */

/* ---- reads of programs that wait by themselves ---- */

static void wait_by(unsigned call, int fd)
{
	struct ev e = { .epfd = -1, .fd = fd, .watched = fd, .asked = POLLIN };

	if (call >= EPOLL_WAIT) {
		e.epfd = set_of_events();
		must_eq(enrol(EPOLL_CTL_ADD, e.epfd, fd, EPOLLIN, 7), 0);
	}
	must_eq(wait_for(call, &e, 5000), 1);
}

/* The program has something to say, on another event: it must not be kept in the
 * read. */
static void read_after(unsigned call)
{
	struct server *s = serve(SAFE, "re");
	int fd = dial_reset(s);
	char c;

	snprintf(case_name, sizeof(case_name), "a read after wait %u", call);
	wait_by(call, fd);
	must_fail(read(fd, &c, 1), ECONNRESET);
	must_eq(s->accepted, 1);
	nothing_done();
}

START_TEST(a_read_after_a_wait_is_the_programs)
{
	side_by_side(CALLS, 12, read_after);
}
END_TEST

/* It waited, and connects again. */
static void a_read_after_a_connect(void)
{
	struct server *s = serve(SAFE, "ebe");
	int fd = dial(s);
	struct server *t = serve(SAFE, "rb");
	char buf[8];

	must_eq(write(fd, "ping", 4), 4);
	must_get(fd, "ping");
	fd = dial_reset(t);
	must_eq(read(fd, buf, sizeof(buf)), 5);
	must_eq(t->accepted, 2);
}

/* A write is made again, whoever waits. */
static void a_write_after_a_wait(void)
{
	struct server *s = serve(SAFE, "re");
	int fd = dial_reset(s);

	wait_by(0, fd);
	must_eq(write(fd, "ping", 4), 4);
	must_get(fd, "ping");
	must_eq(log_lines(" recovered op=send "), 1);
}

/* The new connection says nothing, because the program is to speak first. */
static void a_read_of_nothing(void)
{
	struct server *s = serve(SHORT, "re");
	int fd = dial_reset(s);
	int64_t began = ms_now();
	char c;

	must_fail(read(fd, &c, 1), ECONNRESET);
	must(ms_now() - began >= 250);
	must(ms_now() - began < 3000);
	must_eq(s->accepted, 2);
	must_eq(log_lines(" gave-up op=send "), 1);
	must_eq(log_lines(" reason=deadline "), 1);
	/* As after any reset. */
	must_eq(read(fd, &c, 1), 0);
	must_fail(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	must_eq(s->accepted, 2);
}

static void set_limit(int fd, int name, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	must_eq(setsockopt(fd, SOL_SOCKET, name, &tv, sizeof(tv)), 0);
}

static void a_read_with_a_limit(void)
{
	struct server *s = serve(SAFE, "re");
	int fd = dial_reset(s);
	int64_t began = ms_now();
	char c;

	set_limit(fd, SO_RCVTIMEO, 300);
	must_fail(read(fd, &c, 1), ECONNRESET);
	must(ms_now() - began < 3000);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* The connection stands, and the program is told of its signal. */
static void a_read_that_is_interrupted(void)
{
	struct server *s = serve(SAFE, "re");
	int fd = dial_reset(s);
	struct sigaction act = { .sa_handler = on_alarm };
	struct itimerval in = { .it_value.tv_usec = 400000 };
	char c;

	sigaction(SIGALRM, &act, NULL);
	must_eq(setitimer(ITIMER_REAL, &in, NULL), 0);
	must_fail(read(fd, &c, 1), EINTR);
	must_eq(log_lines(" recovered op=send "), 1);
	must_eq(log_lines(" gave-up "), 0);
	must_eq(write(fd, "ping", 4), 4);
	must_get(fd, "ping");
}

/* ---- other threads ---- */

struct reader {
	pthread_t thread;
	int fd;
	ssize_t rc;
	int error;
	int64_t ended;
};

static void *read_one(void *arg)
{
	struct reader *r = arg;
	char c;

	r->rc = read(r->fd, &c, 1);
	r->error = errno;
	r->ended = ms_now();
	return NULL;
}

static void start(struct reader *r, int fd)
{
	r->fd = fd;
	must_eq(pthread_create(&r->thread, NULL, read_one, r), 0);
}

/* How threads that read are stopped. */
static void ended_by(bool by_shutdown)
{
	struct server *s = serve(WAITING, "re");
	int fd = dial_reset(s);
	struct reader r;

	start(&r, fd);
	for (unsigned i = 0; log_lines(" retry op=send ") == 0; i++) {
		must(i < 5000);
		sleep_ms(1);
	}
	if (by_shutdown)
		must_fail(shutdown(fd, SHUT_RDWR), ENOTCONN);
	else
		must_fail(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	must_eq(pthread_join(r.thread, NULL), 0);
	must_eq(r.rc, -1);
	must_eq(r.error, ECONNRESET);
	must_eq(s->accepted, 1);
	must_eq(log_lines(" abandoned op=send "), 1);
}

static void shut_down_meanwhile(void)
{
	ended_by(true);
}

static void learnt_meanwhile(void)
{
	ended_by(false);
}

static int raw_socket(const struct sockaddr_in *sa)
{
	int fd = (int)syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);

	must(fd >= 0);
	must_eq(syscall(SYS_connect, fd, sa, sizeof(*sa)), 0);
	return fd;
}

/* The socket <from> under the number <fd>. */
static int put_at(int from, int fd)
{
	if (from == fd)
		return fd;
	must_eq(syscall(SYS_dup3, from, fd, 0), fd);
	syscall(SYS_close, from);
	return fd;
}

/* A server that resets the one connection, and whose queue is full: further SYNs
 * get no answer. */
static int dead_server(const char *ip, struct sockaddr_in *sa, int *fd)
{
	int server = bound_at(ip, sa), got;

	must_eq(listen(server, 0), 0);
	*fd = tcp_socket();
	must_eq(connect(*fd, (struct sockaddr *)sa, sizeof(*sa)), 0);
	got = (int)syscall(SYS_accept4, server, NULL, NULL, 0);
	for (int i = 0; i < 4; i++)
		syscall(SYS_connect, socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), sa,
		        sizeof(*sa));
	sleep_ms(50);
	hang_up(got);
	return server;
}

/* While an attempt is in the kernel its number becomes another socket's, which is
 * connected elsewhere. */
static void the_number_is_anothers(void)
{
	struct server *other = serve(SAFE, "e");
	struct sockaddr_in sa, peer;
	socklen_t len = sizeof(peer);
	struct reader r;
	int fd, server = dead_server(EAGER, &sa, &fd), on = 1;

	start(&r, fd);
	sleep_ms(300);
	must_eq(close(fd), 0);
	must_eq(put_at(raw_socket(&other->sa), fd), fd);
	must_eq(write(fd, "ping", 4), 4);
	/* The kernel's next SYN is refused, and the one after it is not. */
	must_eq(syscall(SYS_close, server), 0);
	must_eq(pthread_join(r.thread, NULL), 0);
	server = tcp_socket();
	setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	must_eq(r.rc, -1);
	must_eq(r.error, ECONNRESET);
	must_eq(getpeername(fd, (struct sockaddr *)&peer, &len), 0);
	must_eq(peer.sin_port, other->sa.sin_port);
	must_get(fd, "ping");
	must_eq(log_lines(" abandoned op=send "), 1);
}

/* ---- servers that do not answer ---- */

static void no_answer(bool writes, int limit)
{
	struct sockaddr_in sa;
	int64_t began = ms_now();
	ssize_t n;
	char c;
	int fd;

	dead_server(limit ? SAFE : SHORT, &sa, &fd);
	if (limit)
		set_limit(fd, limit, 300);
	n = writes ? write(fd, "x", 1) : read(fd, &c, 1);
	must_eq(n, -1);
	must(errno == ECONNRESET || errno == ETIMEDOUT);
	must(ms_now() - began < 5000);
	/* The kernel does not go on with it. */
	must_fail(send(fd, "y", 1, MSG_NOSIGNAL), EPIPE);
	must_eq(log_lines(" gave-up op=send "), 1);
}

static void no_answer_to_a_write(void)
{
	no_answer(true, 0);
}

static void no_answer_to_a_read(void)
{
	no_answer(false, 0);
}

static void no_answer_within_a_write(void)
{
	no_answer(true, SO_SNDTIMEO);
}

static void no_answer_within_a_read(void)
{
	no_answer(false, SO_RCVTIMEO);
}

static void no_answer_in_a_loop(void)
{
	int64_t began = ms_now();
	struct sockaddr_in sa;
	struct pollfd p = { .events = POLLOUT };

	dead_server(SHORT, &sa, &p.fd);
	must_eq(fcntl(p.fd, F_SETFL, O_NONBLOCK), 0);
	must_fail(send(p.fd, "x", 1, MSG_NOSIGNAL), EAGAIN);
	must_eq(poll(&p, 1, 5000), 1);
	must_fail(send(p.fd, "x", 1, MSG_NOSIGNAL), ECONNRESET);
	must(ms_now() - began < 3000);
}

/* ---- sockets that are not ours ---- */

/* Who waits for SIGIO waits past us. */
static void signalled(void)
{
	struct server *s = serve(SAFE, "re");
	int fd = dial_reset(s);
	char c;

	signal(SIGIO, SIG_IGN);
	must_eq(fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC), 0);
	must_fail(read(fd, &c, 1), ECONNRESET);
	must_eq(s->accepted, 1);
	nothing_done();
}

static int shared(const char *ip, struct sockaddr_in *sa)
{
	int fd = (int)syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(*sa);
	int on = 1;

	must_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	must_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
	if (ip) {
		*sa = (struct sockaddr_in){ .sin_family = AF_INET };
		must_eq(inet_pton(AF_INET, ip, &sa->sin_addr), 1);
	}
	must_eq(bind(fd, (struct sockaddr *)sa, sizeof(*sa)), 0);
	must_eq(getsockname(fd, (struct sockaddr *)sa, &len), 0);
	return fd;
}

/* Two peers that connect from the port at which they listen: the accepted socket
 * has the number and the peer of one that this side has connected. */
static void accepted_from_the_same_peer(void)
{
	for (unsigned how = 0; how < 2; how++) {
		struct sockaddr_in a, b;
		int la = shared("127.0.0.11", &a), lb = shared("127.0.0.12", &b);
		int fd = tcp_socket(), from, got;

		must_eq(listen(la, 8) + listen(lb, 8), 0);
		must_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
		got = (int)syscall(SYS_accept4, la, NULL, NULL, 0);
		must(got >= 0);
		must_eq(how ? syscall(SYS_close, fd) : close(fd), 0);
		syscall(SYS_close, got);
		from = put_at(shared(NULL, &a), 40);
		must_eq(syscall(SYS_connect, from, &b, sizeof(b)), 0);
		put_at((int)syscall(SYS_accept4, lb, NULL, NULL, 0), fd);
		hang_up(from);
		until_closed(fd);
		must_fail(send(fd, "hello", 5, MSG_NOSIGNAL), ECONNRESET);
		must_eq(fcntl(la, F_SETFL, O_NONBLOCK), 0);
		must_fail(accept(la, NULL, NULL), EAGAIN);
		nothing_done();
		close(fd);
	}
}

/* A server in a sandbox is asked nothing, though something was connected. */
static void in_a_sandbox(void)
{
	struct server *s = serve(SAFE, "e");
	struct sockaddr_in sa;
	int server = bound_at(SAFE, &sa), client, got, status;
	pid_t pid;

	dial(s);
	must_eq(listen(server, 1), 0);
	client = raw_socket(&sa);
	got = (int)syscall(SYS_accept4, server, NULL, NULL, 0);
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		syscall(SYS_close, client);
		while (tcp_state(got) != TCP_CLOSE)
			sleep_ms(1);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		syscall(SYS_exit, write(got, "x", 1) < 0 && errno == ECONNRESET ? 0 : 1);
	}
	hang_up(client);
	must_eq(waitpid(pid, &status, 0), pid);
	must_eq(status, 0);
}

/* ---- sendfile() and splice() ---- */

static int a_file(void)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/%d.file", getenv("TEST_DIR"), (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0);
	must_eq(pwrite(fd, "ping", 4, 0), 4);
	return fd;
}

/* Four bytes into <fd>, by sendfile(), sendfile64() or splice(). */
static ssize_t copy_by(unsigned how, int fd, int file, const int *pipes)
{
	off_t at = 0;
	off64_t at64 = 0;

	switch (how) {
	case 0: return sendfile(fd, file, &at, 4);
	case 1: return sendfile64(fd, file, &at64, 4);
	default: return splice(pipes[0], NULL, fd, NULL, 4, 0);
	}
}

#define COPIERS 3

static void copies(unsigned i)
{
	bool nonblocking = i >= COPIERS;
	struct server *s = serve(SAFE, "re");
	int fd = dial_reset(s), file = a_file(), pipes[2];
	struct pollfd p = { fd, POLLOUT, 0 };
	char c;

	snprintf(case_name, sizeof(case_name), "copy %u", i);
	must_eq(pipe(pipes), 0);
	must_eq(write(pipes[1], "ping", 4), 4);
	if (nonblocking) {
		must_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
		must_fail(recv(fd, &c, 1, MSG_PEEK), EAGAIN);
		must_fail(copy_by(i % COPIERS, fd, file, pipes), EAGAIN);
		must_eq(poll(&p, 1, 5000), 1);
	}
	must_eq(copy_by(i % COPIERS, fd, file, pipes), 4);
	must_get(fd, "ping");
	must_eq(s->accepted, 2);
	must_eq(s->bytes, 4);
	must_eq(log_lines(" recovered op=send "), 1);
}

START_TEST(copies_are_writes)
{
	side_by_side(2 * COPIERS, 6, copies);
}
END_TEST

/* From the socket: a read. */
static void a_splice_that_reads(void)
{
	struct server *s = serve(SAFE, "rb");
	int fd = dial_reset(s), pipes[2];
	char buf[8];

	must_eq(pipe(pipes), 0);
	must_eq(splice(fd, NULL, pipes[1], NULL, 8, 0), 5);
	must_eq(read(pipes[0], buf, sizeof(buf)), 5);
	must_eq(memcmp(buf, "hello", 5), 0);
	/* And what has nothing to do with us. */
	must_fail(splice(pipes[0], NULL, pipes[1], NULL, 1, SPLICE_F_NONBLOCK), EINVAL);
	must_fail(sendfile(fd, -1, NULL, 1), EBADF);
	must_fail(sendfile(-1, fd, NULL, 1), EBADF);
}

static const struct named cases[] = { { "a read after a connect", a_read_after_a_connect },
	{ "a write after a wait", a_write_after_a_wait },
	{ "a read of nothing", a_read_of_nothing },
	{ "a read with a limit", a_read_with_a_limit },
	{ "a read that is interrupted", a_read_that_is_interrupted },
	{ "shut down meanwhile", shut_down_meanwhile },
	{ "learnt meanwhile", learnt_meanwhile },
	{ "the number is another's", the_number_is_anothers },
	{ "no answer, write", no_answer_to_a_write },
	{ "no answer, read", no_answer_to_a_read },
	{ "no answer, SO_SNDTIMEO", no_answer_within_a_write },
	{ "no answer, SO_RCVTIMEO", no_answer_within_a_read },
	{ "no answer, in a loop", no_answer_in_a_loop },
	{ "SIGIO", signalled },
	{ "accepted", accepted_from_the_same_peer },
	{ "sandbox", in_a_sandbox },
	{ "splice, read", a_splice_that_reads } };

START_TEST(others_have_a_part_in_it)
{
	RUN_GROUP(cases);
}
END_TEST

UNIT_MAIN("preload resets, more", &a_read_after_a_wait_is_the_programs, &copies_are_writes,
          &others_have_a_part_in_it)
