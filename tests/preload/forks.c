/* SPDX-License-Identifier: MIT */
/*
 * Children of programs that are in the middle of retries: forked from among
 * threads, spawned with actions on the parent's descriptors, made past libc.
 */
#include "tests/preload/guest.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>

#define THREADS 8
#define CHILDREN 100

/* 127.0.0.1: many attempts. 127.0.0.2: two, a few ms apart. */
static struct sockaddr_in dead, brief;

static int connect_to(const struct sockaddr_in *sa)
{
	int fd = tcp_socket();
	int rc = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 ? 0 : errno;

	close(fd);
	return rc;
}

static int connect_in_poll(const struct sockaddr_in *sa)
{
	struct pollfd p = { .events = POLLOUT };
	int error = -1;
	socklen_t len = sizeof(error);

	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (connect(p.fd, (const struct sockaddr *)sa, sizeof(*sa)) != 0 && errno != EINPROGRESS)
		error = errno;
	else if (poll(&p, 1, 20000) == 1)
		getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &len);
	close(p.fd);
	return error;
}

static void *retries_for_ever(void *arg)
{
	struct addrinfo *list;

	for (;;) {
		switch ((intptr_t)arg % 3) {
		case 0: connect_to(&dead); break;
		case 1: connect_in_poll(&dead); break;
		default: getaddrinfo("long.test", "80", NULL, &list); break;
		}
	}
	return NULL;
}

/* A child does all of it once, and ends. */
static void child(int number)
{
	struct addrinfo *list;

	alarm(30);
	signal(SIGALRM, SIG_DFL);
	if (connect_to(&brief) != ECONNREFUSED)
		_exit(1);
	if (connect_in_poll(&brief) != ECONNREFUSED)
		_exit(2);
	/* 0: not looked up; the status tells which error it was instead. */
	if (number % 3 == 0) {
		int rc = getaddrinfo("again.test", "80", NULL, &list);

		if (rc != EAI_AGAIN)
			_exit(100 - rc);
	}
	_exit(0);
}

/* The first wait that process <pid> has logged, in its own words. */
static bool first_wait(const char *log, pid_t pid, char wait[32])
{
	char tag[48];
	const char *line;
	const char *end;

	snprintf(tag, sizeof(tag), "libretry[%d] WARN retry op=connect", (int)pid);
	line = strstr(log, tag);
	if (!line || !(line = strstr(line, " wait=")) || !(end = strchr(line + 6, ' ')) ||
	    end - line - 6 > 31)
		return false;
	memcpy(wait, line + 6, (size_t)(end - line - 6));
	wait[end - line - 6] = '\0';
	return true;
}

static char *whole_log(void)
{
	FILE *f = fopen(getenv("TEST_LOG"), "r");
	size_t size = 8 << 20;
	char *text = malloc(size);
	size_t n;

	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(text);
	n = fread(text, 1, size - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

START_TEST(fork_storm_among_retrying_threads)
{
	static char waits[CHILDREN][32];
	pthread_t t[THREADS];
	pid_t pids[CHILDREN];
	char *log;
	int alike = 0;

	bound(&dead);
	bound_at("127.0.0.2", &brief);
	/* A child made while the configuration is being read goes without. */
	connect_to(&brief);
	for (intptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, retries_for_ever, (void *)i), 0);
	for (int i = 0; i < CHILDREN; i++) {
		int status;

		pids[i] = fork();
		if (pids[i] == 0)
			child(i);
		ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
		ck_assert_msg(status == 0, "child %d: status %x", i, (unsigned)status);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_cancel(t[i]);
		pthread_join(t[i], NULL);
	}
	/* Workers of one parent do not march in step. */
	log = whole_log();
	for (int i = 0; i < CHILDREN; i++) {
		ck_assert_msg(first_wait(log, pids[i], waits[i]), "child %d logged no wait", i);
		for (int j = 0; j < i; j++)
			if (strcmp(waits[i], waits[j]) == 0) {
				alike++;
				break;
			}
	}
	free(log);
	/* The log says them in 50 steps or so; in step they would all be the same. */
	ck_assert_int_le(alike, CHILDREN * 3 / 4);
}
END_TEST

static int begin(struct sockaddr_in *to, int *server)
{
	struct pollfd p = { .events = POLLOUT };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	*server = bound(to);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)to, sizeof(*to)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	p.fd = fd;
	/* Its first failure is seen here. */
	ck_assert_int_eq(poll(&p, 1, 30), 0);
	return fd;
}

static void ends_well(int fd, int server)
{
	struct pollfd p = { .events = POLLOUT, .fd = fd };
	int error = -1;
	socklen_t len = sizeof(error);

	listen_late(server, 50);
	ck_assert_int_eq(poll(&p, 1, 20000), 1);
	ck_assert_int_eq(p.revents, POLLOUT);
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	ck_assert_int_eq(error, 0);
	close(fd);
	close(server);
}

/* What posix_spawn does to the descriptors of its child is not done to ours. */
START_TEST(spawned_children_close_and_replace)
{
	extern char **environ;
	posix_spawn_file_actions_t actions;
	char *argv[] = { (char *)"true", NULL };
	struct sockaddr_in to;
	int status = -1;
	int server;
	pid_t pid;
	int fd = begin(&to, &server);

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, 0, fd);
	posix_spawn_file_actions_addclose(&actions, fd);
	posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	ck_assert_int_eq(posix_spawnp(&pid, "true", &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(system("exec 2>&- 3>&- 4>&- 5>&- 6>&- 7>&-; true"), 0);
	ck_assert_uint_eq(log_lines(" abandoned "), 0);
	ends_well(fd, server);
	ck_assert_uint_eq(log_lines(" recovered "), 1);
}
END_TEST

/* A vfork child uses every call that forgets, as runtimes do before exec. */
START_TEST(a_vfork_child_changes_nothing)
{
	struct sockaddr_in to;
	int status = -1;
	int server;
	pid_t pid;
	int fd = begin(&to, &server);

	bound_at("127.0.0.2", &brief);
	pid = vfork();
	if (pid == 0) {
		struct pollfd p = { .events = POLLOUT, .fd = fd };

		/* Retries are the parent's; here the failure is native. */
		connect_to(&brief);
		poll(&p, 1, 0);
		shutdown(fd, SHUT_RDWR);
		dup2(0, fd);
		close(fd);
		closefrom(3);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(log_lines(" abandoned "), 0);
	ck_assert_uint_eq(log_lines_of(pid, "libretry"), 0);
	ends_well(fd, server);
	ck_assert_uint_eq(log_lines(" recovered "), 1);
}
END_TEST

/* Nothing has failed yet when a child uses the parent's number for a connect of its own:
 * the parent is not led to where that one goes. */
START_TEST(a_vfork_child_connects)
{
	struct pollfd p = { .events = POLLOUT };
	struct sockaddr_in to, other, peer;
	socklen_t len = sizeof(peer);
	int server = bound(&to), others = bound_at("127.0.0.3", &other);
	int status;
	pid_t pid;

	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(connect(p.fd, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	pid = vfork();
	if (pid == 0) {
		/* One more, and one that is answered. */
		int next = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		int pipes[2];
		char c;

		if (connect(next, (struct sockaddr *)&other, sizeof(other)) != -1 ||
		    errno != EINPROGRESS || dup2(next, p.fd) != p.fd)
			_exit(1);
		close(p.fd);
		if (socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0) != p.fd ||
		    connect(p.fd, (struct sockaddr *)&other, sizeof(other)) != -1 ||
		    errno != EINPROGRESS)
			_exit(2);
		if (pipe(pipes) != 0 || dup2(pipes[0], p.fd) != p.fd ||
		    write(pipes[1], "x", 1) != 1 || poll(&p, 1, 0) < 0 ||
		    read(p.fd, &c, 1) != 1)
			_exit(3);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(listen(others, 8), 0);
	listen_late(server, 50);
	ck_assert_int_eq(poll(&p, 1, 20000), 1);
	ck_assert_int_eq(getpeername(p.fd, (struct sockaddr *)&peer, &len), 0);
	ck_assert_int_eq(peer.sin_port, to.sin_port);
	ck_assert_int_eq(peer.sin_addr.s_addr, to.sin_addr.s_addr);
	ck_assert_uint_eq(log_lines(" recovered "), 1);
}
END_TEST

/* What is known of the parent's connections stays: one that the server resets before a
 * byte went over it is made again. */
START_TEST(a_vfork_child_closes)
{
	struct linger l = { 1, 0 };
	struct pollfd p = { .events = POLLIN };
	struct sockaddr_in to;
	int server = bound(&to);
	int fd = tcp_socket();
	int status;
	int peer;
	pid_t pid;

	ck_assert_int_eq(listen(server, 8), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	pid = vfork();
	if (pid == 0) {
		dup2(fd, fd + 1);
		close(fd);
		close(fd + 1);
		if (socket(AF_INET, SOCK_STREAM, 0) != fd ||
		    connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
			_exit(1);
		dup2(0, fd);
		close(fd);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	peer = accept(server, NULL, NULL);
	setsockopt(peer, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(peer);
	p.fd = fd;
	ck_assert_int_eq(poll(&p, 1, 20000), 1);
	ck_assert_int_eq(send(fd, "hello", 5, 0), 5);
	ck_assert_uint_eq(log_lines(" recovered op=send"), 1);
}
END_TEST

/* A child in a wait, and a thread of its parent that connects meanwhile, on a number that is
 * a pipe in the child. */
static struct {
	struct sockaddr_in to;
	int fd;
	int pipes[2];
	_Atomic pid_t child;
} meanwhile;

static void *connects_when_the_child_waits(void *arg)
{
	until_it_sleeps(&meanwhile.child);
	if (connect(meanwhile.fd, (struct sockaddr *)&meanwhile.to, sizeof(meanwhile.to)) == 0 ||
	    errno != EINPROGRESS || write(meanwhile.pipes[1], "x", 1) != 1)
		return NULL;
	return arg;
}

/* The child's wait, which ends when that thread has written to the pipe. */
static int waits_by(unsigned way, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	fd_set readable;

	FD_ZERO(&readable);
	FD_SET(fd, &readable);
	switch (way) {
	case 0: return poll(&p, 1, -1);
	case 1: return ppoll(&p, 1, NULL, NULL);
	case 2: return select(fd + 1, &readable, NULL, NULL, NULL);
	default: return pselect(fd + 1, &readable, NULL, NULL, NULL, NULL);
	}
}

/* What the parent begins while its child waits is not what the child sees. */
static void waits_while_the_parent_connects(unsigned way)
{
	int server = bound(&meanwhile.to);
	int status;
	pthread_t t;
	void *done;
	pid_t pid;

	ck_assert_int_eq(pipe(meanwhile.pipes), 0);
	meanwhile.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	meanwhile.child = 0;
	ck_assert_int_eq(pthread_create(&t, NULL, connects_when_the_child_waits, &meanwhile), 0);
	pid = vfork();
	if (pid == 0) {
		/* Past the library, which is asked about the wait. */
		if (syscall(SYS_dup3, meanwhile.pipes[0], meanwhile.fd, 0) != meanwhile.fd)
			_exit(1);
		meanwhile.child = getpid();
		_exit(waits_by(way, meanwhile.fd) == 1 ? 0 : 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(pthread_join(t, &done), 0);
	ck_assert_ptr_eq(done, &meanwhile);
	ck_assert_int_eq(status, 0);
	ends_well(meanwhile.fd, server);
	ck_assert_uint_eq(log_lines(" recovered "), way + 1);
	close(meanwhile.pipes[0]);
	close(meanwhile.pipes[1]);
}

START_TEST(a_vfork_child_waits)
{
	for (unsigned way = 0; way < 4; way++)
		waits_while_the_parent_connects(way);
}
END_TEST

/* In a process of its own: a sanitizer starts a thread at its end. */
static void vfork_fails(void)
{
	const struct rlimit none = { 0, 0 };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (setrlimit(RLIMIT_NPROC, &none) != 0 || (geteuid() == 0 && setuid(65534) != 0))
			_exit(1);
		errno = 0;
		_exit(vfork() == -1 && errno == EAGAIN ? 0 : 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* vfork() itself: who it is, what it fails with, and the way back to a stack that is used
 * again; also where the parent is among threads, and then goes on connecting. */
START_TEST(vfork_is_vfork)
{
	pid_t own = getpid();
	volatile int seen = 0;
	int status;

	for (volatile int i = 0; i < 100; i++) {
		pid_t pid;

		errno = 4711;
		pid = vfork();
		if (pid == 0) {
			seen += getpid() != own && getppid() == own && errno == 4711;
			_exit(i);
		}
		ck_assert_int_gt(pid, 0);
		ck_assert_int_eq(errno, 4711);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(WEXITSTATUS(status), i);
	}
	ck_assert_int_eq(seen, 100);
	bound(&dead);
	bound_at("127.0.0.2", &brief);
	ck_assert_int_eq(connect_in_poll(&brief), ECONNREFUSED);
	ck_assert_uint_eq(log_lines(" retry "), 1);
	vfork_fails();
}
END_TEST

/* A child whose handlers of fork did not run: nothing of it is ours. */
START_TEST(a_child_made_past_libc)
{
	struct sockaddr_in to;
	int status = -1;
	int server;
	pid_t pid;
	int fd = begin(&to, &server);

	bound_at("127.0.0.2", &brief);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		struct pollfd p = { .events = POLLOUT, .fd = fd };

		_exit(connect_to(&brief) == ECONNREFUSED && poll(&p, 1, 20000) == 1 &&
		              close(fd) == 0
		              ? 0
		              : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(log_lines_of(pid, "libretry"), 0);
	ends_well(fd, server);
}
END_TEST

static struct {
	struct pollfd p;
	struct sockaddr_in other;
	unsigned does;
} cloned;

/* What the child does with the parent's number, by the bits of .does. */
static int child_of_clone(void *arg)
{
	int fd = cloned.p.fd;

	(void)arg;
	if ((cloned.does & 1) && dup2(fd, fd + 1) != fd + 1)
		return 1;
	close(fd);
	if ((cloned.does & 2) &&
	    (socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0) != fd ||
	     connect(fd, (struct sockaddr *)&cloned.other, sizeof(cloned.other)) != -1 ||
	     errno != EINPROGRESS))
		return 2;
	if (cloned.does & 4)
		close(fd);
	return 0;
}

/* It has its parent's memory, and nothing has failed there yet: the connect under way is not
 * lost, and not led to where the child has gone. */
START_TEST(a_child_of_clone)
{
	static char stack[1 << 16] __attribute__((aligned(16)));
	struct sockaddr_in to, peer;
	socklen_t len = sizeof(peer);

	ck_assert_int_eq(listen(bound_at("127.0.0.3", &cloned.other), 8), 0);
	cloned.p.events = POLLOUT;
	for (cloned.does = 0; cloned.does < 8; cloned.does++) {
		int server = bound(&to);
		int status;
		pid_t pid;

		cloned.p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		ck_assert_int_eq(connect(cloned.p.fd, (struct sockaddr *)&to, sizeof(to)), -1);
		ck_assert_int_eq(errno, EINPROGRESS);
		pid = clone(child_of_clone, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
		            NULL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, 0);
		listen_late(server, 0);
		ck_assert_int_eq(poll(&cloned.p, 1, 20000), 1);
		ck_assert_int_eq(getpeername(cloned.p.fd, (struct sockaddr *)&peer, &len), 0);
		ck_assert_int_eq(peer.sin_port, to.sin_port);
		ck_assert_int_eq(peer.sin_addr.s_addr, to.sin_addr.s_addr);
		ck_assert_uint_eq(log_lines(" recovered "), cloned.does + 1);
		close(cloned.p.fd);
		close(server);
	}
}
END_TEST

/* How many of the three waits show at once that a connect was refused. */
static int waits_that_tell(const struct sockaddr_in *sa)
{
	struct timeval limit = { 5, 0 };
	struct epoll_event event = { .events = EPOLLOUT };
	int set = epoll_create1(EPOLL_CLOEXEC);
	int fds[3];
	fd_set writable;

	for (int i = 0; i < 3; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (connect(fds[i], (const struct sockaddr *)sa, sizeof(*sa)) != -1 ||
		    errno != EINPROGRESS)
			return -1;
	}
	FD_ZERO(&writable);
	FD_SET(fds[1], &writable);
	epoll_ctl(set, EPOLL_CTL_ADD, fds[2], &event);
	return poll(&(struct pollfd){ fds[0], POLLOUT, 0 }, 1, 5000) +
	       select(fds[1] + 1, NULL, &writable, NULL, &limit) +
	       epoll_wait(set, &event, 1, 5000);
}

/* Its connects are not ours to retry, so their failures are not hidden either. */
START_TEST(a_child_made_past_libc_connects)
{
	int status = -1;
	pid_t pid;

	bound_at("127.0.0.2", &brief);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(waits_that_tell(&brief));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 3);
	ck_assert_uint_eq(log_lines_of(pid, "libretry"), 0);
}
END_TEST

/* The child of fork: its own connects, not its parent's, which are native there. */
START_TEST(a_child_inherits_no_retry)
{
	struct sockaddr_in to;
	int status = -1;
	int server;
	pid_t pid;
	int fd = begin(&to, &server);

	bound_at("127.0.0.2", &brief);
	pid = fork();
	if (pid == 0) {
		struct pollfd p = { .events = POLLOUT, .fd = fd };

		/* Dissolved by the parent's retry, or refused: it is over here. */
		_exit(poll(&p, 1, 20000) == 1 && connect_to(&brief) == ECONNREFUSED ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(log_lines_of(pid, " retry "), 1);
	ends_well(fd, server);
	ck_assert_uint_eq(log_lines(" recovered "), 1);
}
END_TEST

UNIT_MAIN("preload forks", &fork_storm_among_retrying_threads,
          &spawned_children_close_and_replace, &a_vfork_child_changes_nothing,
          &a_vfork_child_connects, &a_vfork_child_closes, &a_vfork_child_waits,
          &vfork_is_vfork, &a_child_made_past_libc, &a_child_made_past_libc_connects,
          &a_child_of_clone, &a_child_inherits_no_retry)
