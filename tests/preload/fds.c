/* SPDX-License-Identifier: MIT */
/*
 * Descriptors under the library. What the wrappers of close, dup and fcntl answer
 * is what the bare system calls answer, with no connect under way, and with one
 * that is no business of these descriptors.
 */
#include "tests/preload/bare.h"

#include <sys/epoll.h>

/* The other names, which compilers and old objects use. */
int __close(int fd);
int __dup2(int fd, int to);
int __fcntl(int fd, int cmd, ...);

static bool is_open(int fd)
{
	return syscall(SYS_fcntl, fd, F_GETFD) >= 0;
}

/* Closes <fd> past the library, and answers with it. */
static int closing(int fd)
{
	int saved = errno;

	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = saved;
	return fd;
}

static int bare_dup2(int fd, int to)
{
#ifdef SYS_dup2
	return (int)syscall(SYS_dup2, fd, to);
#else
	if (fd == to)
		return syscall(SYS_fcntl, fd, F_GETFD) < 0 ? -1 : to;
	return (int)syscall(SYS_dup3, fd, to, 0);
#endif
}

static void check_close(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = file();
	int pair[2];
	int set = epoll_create1(0);
	int copy;

	FAILS(close(-1), EBADF);
	FAILS(close(1 << 20), EBADF);
	FAILS(close(INT32_MAX), EBADF);
	FAILS(close(INT32_MIN), EBADF);
	WORKS(close(fd), 0);
	FAILS(close(fd), EBADF);
	fd = file();
	WORKS(__close(fd), 0);
	ck_assert(!is_open(fd));

	/* Something is known of these. */
	stream_pair(pair);
	ck_assert_int_eq(epoll_ctl(set, EPOLL_CTL_ADD, pair[0], &e), 0);
	copy = dup(pair[1]);
	WORKS(close(pair[0]), 0);
	WORKS(close(copy), 0);
	ck_assert(!is_open(pair[0]) && !is_open(copy) && is_open(pair[1]));
	FAILS(close(pair[0]), EBADF);
	FAILS(close(copy), EBADF);
	WORKS(close(pair[1]), 0);
	WORKS(close(set), 0);
}

START_TEST(closes)
{
	twice(check_close);
}
END_TEST

static void check_dup(void)
{
	int fd = file();
	int other[2];
	int free_number;

	ck_assert_int_eq(pipe(other), 0);
	free_number = closing(dup(fd));
	SAME(closing(dup(fd)), closing((int)syscall(SYS_dup, fd)));
	SAME(dup(-1), syscall(SYS_dup, -1));
	SAME(dup(free_number), syscall(SYS_dup, free_number));
	for (int i = 0; i < 2; i++) {
		int (*call)(int, int) = i ? __dup2 : dup2;

		SAME(closing(call(fd, free_number)), closing(bare_dup2(fd, free_number)));
		SAME(call(fd, -1), bare_dup2(fd, -1));
		SAME(call(fd, INT32_MAX), bare_dup2(fd, INT32_MAX));
		SAME(call(-1, -1), bare_dup2(-1, -1));
		SAME(call(free_number, free_number), bare_dup2(free_number, free_number));
		/* The target stays if the source is none. */
		SAME(call(free_number, other[0]), bare_dup2(free_number, other[0]));
		ck_assert(is_open(other[0]));
		/* Nothing happens at all: the flag stays. */
		WORKS(call(fd, fd), fd);
		ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	}
	SAME(dup3(fd, fd, 0), syscall(SYS_dup3, fd, fd, 0));
	SAME(dup3(fd, other[0], O_NONBLOCK), syscall(SYS_dup3, fd, other[0], O_NONBLOCK));
	SAME(dup3(-1, other[0], O_CLOEXEC), syscall(SYS_dup3, -1, other[0], O_CLOEXEC));
	ck_assert(is_open(other[0]));
	WORKS(dup3(fd, free_number, O_CLOEXEC), free_number);
	ck_assert_int_eq(fcntl(free_number, F_GETFD), FD_CLOEXEC);
	WORKS(dup2(fd, free_number), free_number);
	ck_assert_int_eq(fcntl(free_number, F_GETFD), 0);
	/* Over an open one: the number names the file now. */
	WORKS(dup2(fd, other[1]), other[1]);
	WORKS(write(other[1], "abc", 3), 3);
	ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 3);
	close(fd);
	close(other[0]);
	close(other[1]);
	close(free_number);
}

START_TEST(duplicates)
{
	twice(check_dup);
}
END_TEST

static void check_control(int (*call)(int, int, ...))
{
	int fd = file();
	int size = 0;
	int pipes[2];
	struct f_owner_ex owner = { F_OWNER_PID, getpid() };
	struct f_owner_ex seen = { 0, 0 };

	for (int cmd = F_DUPFD;; cmd = F_DUPFD_CLOEXEC) {
		int copy;

		SAME(closing(call(fd, cmd, 0)), closing((int)syscall(SYS_fcntl, fd, cmd, 0)));
		SAME(closing(call(fd, cmd, 300)), closing((int)syscall(SYS_fcntl, fd, cmd, 300)));
		SAME(call(fd, cmd, -1), syscall(SYS_fcntl, fd, cmd, -1));
		SAME(call(fd, cmd, INT32_MAX), syscall(SYS_fcntl, fd, cmd, INT32_MAX));
		SAME(call(-1, cmd, 0), syscall(SYS_fcntl, -1, cmd, 0));
		copy = call(fd, cmd, 400);
		ck_assert_int_ge(copy, 400);
		ck_assert_int_eq(call(copy, F_GETFD), cmd == F_DUPFD ? 0 : FD_CLOEXEC);
		ck_assert_int_eq(close(copy), 0);
		if (cmd == F_DUPFD_CLOEXEC)
			break;
	}
	SAME(call(fd, F_GETFL), syscall(SYS_fcntl, fd, F_GETFL));
	WORKS(call(fd, F_SETFL, O_APPEND | O_NONBLOCK), 0);
	ck_assert_int_eq(call(fd, F_GETFL) & (O_APPEND | O_NONBLOCK), O_APPEND | O_NONBLOCK);
	WORKS(call(fd, F_SETFD, 0), 0);
	SAME(call(fd, F_GETFD), syscall(SYS_fcntl, fd, F_GETFD));
	SAME(call(-1, F_GETFD), syscall(SYS_fcntl, -1, F_GETFD));
	SAME(call(fd, 12345, 0), syscall(SYS_fcntl, fd, 12345, 0));
	ck_assert_int_eq(pipe(pipes), 0);
	size = call(pipes[0], F_SETPIPE_SZ, 8192);
	ck_assert_int_ge(size, 8192);
	WORKS(call(pipes[1], F_GETPIPE_SZ), size);
	WORKS(call(pipes[0], F_SETOWN_EX, &owner), 0);
	WORKS(call(pipes[0], F_GETOWN_EX, &seen), 0);
	ck_assert_int_eq(seen.pid, owner.pid);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
}

static void check_controls(void)
{
	check_control(fcntl);
	check_control(fcntl64);
	check_control(__fcntl);
}

START_TEST(controls)
{
	twice(check_controls);
}
END_TEST

/* In a child: is the byte 5 locked by <holder>, and nothing behind byte 9? */
static void see_the_lock(int fd, pid_t holder)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 5, .l_len = 1 };
	bool ok = fcntl(fd, F_GETLK, &l) == 0 && l.l_type == F_WRLCK && l.l_pid == holder &&
	          l.l_start == 0 && l.l_len == 10;

	l = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 5, .l_len = 1 };
	ok = ok && fcntl(fd, F_SETLK, &l) == -1 && (errno == EAGAIN || errno == EACCES);
	l.l_start = 10;
	ok = ok && fcntl64(fd, F_SETLKW, &l) == 0;
	_exit(ok ? 0 : 1);
}

static void check_locks(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10 };
	int fd = file();
	int status = -1;
	pid_t self = getpid();
	pid_t pid;

	WORKS(fcntl(fd, F_SETLK, &l), 0);
	pid = fork();
	if (pid == 0)
		see_the_lock(fd, self);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	FAILS(fcntl(fd, F_GETLK, bad), EFAULT);
	l.l_type = 77;
	FAILS(fcntl(fd, F_SETLK, &l), EINVAL);
	l.l_type = F_UNLCK;
	WORKS(fcntl(fd, F_SETLK, &l), 0);
	l.l_type = F_RDLCK;
	l.l_pid = 0;
	WORKS(fcntl(fd, F_OFD_SETLK, &l), 0);
	close(fd);
}

START_TEST(locks)
{
	twice(check_locks);
}
END_TEST

static void fill(int first, int last)
{
	int fd = file();

	for (int to = first; to <= last; to++)
		ck_assert_int_eq(dup2(fd, to), to);
	close(fd);
}

static unsigned open_between(int first, int last)
{
	unsigned n = 0;

	for (int fd = first; fd <= last; fd++)
		n += is_open(fd);
	return n;
}

static void check_ranges(void)
{
	fill(500, 530);
	WORKS(close_range(503, 506, 0), 0);
	ck_assert_uint_eq(open_between(503, 506), 0);
	ck_assert_uint_eq(open_between(500, 530), 27);
	WORKS(close_range(503, 506, 0), 0);
	FAILS(close_range(510, 509, 0), EINVAL);
	FAILS(close_range(500, 510, 1 << 10), EINVAL);
	ck_assert_uint_eq(open_between(500, 530), 27);
	WORKS(close_range(500, 530, CLOSE_RANGE_CLOEXEC), 0);
	ck_assert_uint_eq(open_between(500, 530), 27);
	ck_assert_int_eq(fcntl(500, F_GETFD), FD_CLOEXEC);
	WORKS(close_range(507, 507, CLOSE_RANGE_UNSHARE), 0);
	ck_assert_uint_eq(open_between(500, 530), 26);
	errno = NONE;
	closefrom(520);
	ck_assert_int_eq(errno, NONE);
	ck_assert_uint_eq(open_between(520, 530), 0);
	ck_assert_uint_eq(open_between(500, 519), 15);
	WORKS(close_range(400, ~0U, 0), 0);
	ck_assert_uint_eq(open_between(500, 530), 0);
}

START_TEST(ranges)
{
	if (syscall(SYS_close_range, ~0U, ~0U, 0) != 0)
		return; /* before Linux 5.9 */
	twice(check_ranges);
	/* The log is none of the descriptors that this closes. */
	closefrom(500);
	closefrom(-1);
	ck_assert(!is_open(0));
}
END_TEST

UNIT_MAIN("preload fds", &closes, &duplicates, &controls, &locks, &ranges)
