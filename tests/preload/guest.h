/* SPDX-License-Identifier: MIT */
/*
 * guest.h - for programs that run under the library: late servers without a
 * race for the port, a clock, and the lines that the library logged for us.
 */
#ifndef LIBRETRY_TESTS_GUEST_H
#define LIBRETRY_TESTS_GUEST_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#define GUEST __attribute__((unused)) static

GUEST int64_t ms_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A time, and how often the thread has gone to sleep until then. */
struct instant {
	int64_t ms;
	long sleeps;
};

GUEST struct instant instant(void)
{
	struct rusage use;

	ck_assert_int_eq(getrusage(RUSAGE_THREAD, &use), 0);
	return (struct instant){ ms_now(), use.ru_nvcsw };
}

/* Whether since <then> nothing was waited for as long as <ms>. A loaded machine takes
 * longer as well, but takes the processor from who has not gone to sleep. */
GUEST bool at_once(struct instant then, int64_t ms)
{
	struct instant now = instant();

	return now.ms - then.ms < ms || now.sleeps == then.sleeps;
}

GUEST void sleep_ms(int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

/* How late this machine is: told by a process beside us that does nothing but sleep, 5 ms
 * at a time, and counts how much longer that took. */
struct lateness {
	_Atomic int64_t us;
	_Atomic unsigned sleeps;
};
GUEST struct lateness *lateness;
GUEST pid_t lateness_pid;

GUEST void lateness_count(void)
{
	struct timespec a, b;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int64_t over;

		clock_gettime(CLOCK_MONOTONIC, &a);
		sleep_ms(5);
		clock_gettime(CLOCK_MONOTONIC, &b);
		over = (int64_t)(b.tv_sec - a.tv_sec) * 1000000 - 5000 +
		       (b.tv_nsec - a.tv_nsec) / 1000;
		if (over > 1000)
			lateness->us += over;
		lateness->sleeps++;
	}
}

GUEST void lateness_begin(void)
{
	lateness = mmap(NULL, sizeof(*lateness), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	                -1, 0);
	ck_assert_ptr_ne(lateness, MAP_FAILED);
	lateness_pid = fork();
	ck_assert_int_ge(lateness_pid, 0);
	if (lateness_pid == 0)
		lateness_count();
}

GUEST void lateness_end(void)
{
	kill(lateness_pid, SIGKILL);
	waitpid(lateness_pid, NULL, 0);
	munmap(lateness, sizeof(*lateness));
	lateness = NULL;
}

/* In ms, since it began; a sleep that goes on is waited for. 0 where it was not begun. */
GUEST int64_t lateness_ms(void)
{
	unsigned before = lateness ? lateness->sleeps : 0;
	int64_t end = ms_now() + 1000;

	if (!lateness)
		return 0;
	while (lateness->sleeps - before < 2 && ms_now() < end)
		sleep_ms(1);
	return lateness->us / 1000;
}

/* Whether since <start>, when lateness_ms() was <late>, less than <ms> went by, and what a
 * machine that is so late takes more for some sleeps one after the other. */
GUEST bool in_time(int64_t start, int64_t late, int64_t ms)
{
	int64_t took = ms_now() - start;

	return took < ms || took < ms + 4 * (lateness_ms() - late);
}

/* A bound TCP socket at <ip> that does not listen: connecting to it is
 * refused, and nobody else can have the port. */
GUEST int bound_at(const char *ip, struct sockaddr_in *sa)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*sa);

	memset(sa, 0, sizeof(*sa));
	sa->sin_family = AF_INET;
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(inet_pton(AF_INET, ip, &sa->sin_addr), 1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)sa, sizeof(*sa)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)sa, &len), 0);
	return fd;
}

GUEST int bound(struct sockaddr_in *sa)
{
	return bound_at("127.0.0.1", sa);
}

/* Until thread or process *<who> (0: it is not there yet) sleeps in the kernel. */
GUEST void until_it_sleeps(_Atomic pid_t *who)
{
	int64_t end = ms_now() + 10000;
	char state = '?';

	while (state != 'S' && ms_now() < end) {
		char path[64];
		FILE *f;

		sleep_ms(1);
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)*who);
		f = fopen(path, "r");
		if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = '?';
		if (f)
			fclose(f);
	}
}

/* A TCP listener whose queue is full: the kernel drops further SYNs, and a
 * connect hangs. */
GUEST int full_queue_at(const char *ip, struct sockaddr_in *sa)
{
	int server = bound_at(ip, sa);

	ck_assert_int_eq(listen(server, 0), 0);
	for (int i = 0; i < 3; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

		connect(fd, (struct sockaddr *)sa, sizeof(*sa));
	}
	sleep_ms(20);
	return server;
}

GUEST void full_queue(struct sockaddr_in *sa)
{
	full_queue_at("127.0.0.1", sa);
}

GUEST int tcp_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* A connect of a socket of its own, which is closed then: 0, or its error. */
GUEST int connect_once(const struct sockaddr_in *to)
{
	int fd = tcp_socket();
	int rc = connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0 ? 0 : errno;

	close(fd);
	return rc;
}

/* Where the module deep.so is: beside early.so. */
GUEST void deep_path(char *path, size_t size)
{
	const char *early = getenv("EARLY_SO");
	char *slash;

	ck_assert_ptr_nonnull(early);
	snprintf(path, size, "%s", early);
	slash = strrchr(path, '/');
	snprintf(slash, (size_t)(path + size - slash), "/deep.so");
}

/* Lines of process <pid> in the library's log that hold <word>. */
GUEST unsigned log_lines_of(pid_t pid, const char *word)
{
	FILE *f = fopen(getenv("TEST_LOG"), "r");
	char line[2048];
	char tag[64];
	unsigned n = 0;

	snprintf(tag, sizeof(tag), "libretry[%d]", (int)pid);
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (strstr(line, tag) && strstr(line, word))
			n++;
	fclose(f);
	return n;
}

GUEST unsigned log_lines(const char *word)
{
	return log_lines_of(getpid(), word);
}

/* What a late server does before it listens: waits until <program> has logged one more
 * than <before> retries, however slow it is, and then for <ms>. */
GUEST void sleep_past_a_retry(int ms, pid_t program, unsigned before)
{
	int64_t end = ms_now() + 10000;

	while (log_lines_of(program, " retry ") <= before && ms_now() < end)
		sleep_ms(10);
	sleep_ms(ms);
}

/* A child that listens on <fd> <ms> after a retry of ours, or if not <seen> from now,
 * answers one connection with "ok" and ends; dies with us. */
GUEST pid_t listen_later(int fd, int ms, bool seen)
{
	pid_t program = getpid();
	unsigned before = log_lines(" retry ");
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		int c;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (seen)
			sleep_past_a_retry(ms, program, before);
		else
			sleep_ms(ms);
		if (listen(fd, 8) != 0)
			_exit(1);
		c = accept(fd, NULL, NULL);
		if (c < 0 || write(c, "ok", 2) != 2)
			_exit(1);
		_exit(0);
	}
	return pid;
}

GUEST pid_t listen_late(int fd, int ms)
{
	return listen_later(fd, ms, true);
}

/* A child that listens on <fd> once this process has logged one more retry; it
 * takes connections for as long as we live. */
GUEST void listen_when_retried(int fd)
{
	pid_t parent = getpid();
	unsigned before = log_lines(" retry op=connect");

	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (log_lines_of(parent, " retry op=connect") == before)
		sleep_ms(10);
	listen(fd, 8);
	for (;;)
		pause();
}

GUEST void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		errno = 0; /* what comes of it is seen later */
	close(fd);
}

/* Mounts a tmpfs at <path> that this process and its children alone see; false if we may
 * not. */
GUEST bool own_tmpfs(const char *path, const char *options)
{
	char uid[48], gid[48];

	snprintf(uid, sizeof(uid), "%u %u 1", geteuid(), geteuid());
	snprintf(gid, sizeof(gid), "%u %u 1", getegid(), getegid());
	if (geteuid() == 0) {
		if (unshare(CLONE_NEWNS) != 0)
			return false;
	} else {
		if (unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0)
			return false;
		write_text("/proc/self/setgroups", "deny");
		write_text("/proc/self/uid_map", uid);
		write_text("/proc/self/gid_map", gid);
	}
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", path, "tmpfs", 0, options) == 0;
}

#endif
