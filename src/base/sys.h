/* SPDX-License-Identifier: MIT */
/*
 * sys.h - system calls without libc in between.
 *
 * libc's functions are cancellation points and may be wrapped by us or by
 * another preloaded library. These are neither: each asks the kernel through
 * syscall(), answers with the value or -errno, and leaves errno as it was.
 * Safe in signal handlers. Nothing here restarts after EINTR.
 */
#ifndef LIBRETRY_BASE_SYS_H
#define LIBRETRY_BASE_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Expects "int saved = errno" before the call. */
static inline long sys_result(long result, int saved)
{
	if (result == -1) {
		result = -errno;
		errno = saved;
	}
	return result;
}

#define SYS_RESULT(result) \
	({ \
		int sys_saved = errno; \
		sys_result(result, sys_saved); \
	})
#define SYS_CALL(...) SYS_RESULT(syscall(__VA_ARGS__))

static inline int sys_openat(int dir, const char *path, int flags, mode_t mode)
{
	return (int)SYS_CALL(SYS_openat, dir, path, flags | O_LARGEFILE, mode);
}

/* On Linux the descriptor is gone whatever the answer is. */
static inline int sys_close(int fd)
{
	return (int)SYS_CALL(SYS_close, fd);
}

/* Also false if it cannot be told. */
static inline bool sys_exists(const char *path)
{
	return SYS_CALL(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

/* The length, at most <size>: no zero byte is put behind. */
static inline ssize_t sys_readlink(const char *path, char *to, size_t size)
{
	return SYS_CALL(SYS_readlinkat, AT_FDCWD, path, to, size);
}

static inline ssize_t sys_write(int fd, const void *buf, size_t len)
{
	return SYS_CALL(SYS_write, fd, buf, len);
}

static inline ssize_t sys_read(int fd, void *buf, size_t len)
{
	return SYS_CALL(SYS_read, fd, buf, len);
}

/*
 * The layout of struct stat is libc's own. Only where it is known to be the kernel's as
 * well, in glibc and musl, libc is left out. There it is no cancellation point either.
 */
#if (defined(__x86_64__) && defined(__LP64__)) || (defined(__aarch64__) && defined(__LP64__))
static inline int sys_fstat(int fd, struct stat *st)
{
	return (int)SYS_CALL(SYS_fstat, fd, st);
}

static inline int sys_stat(const char *path, struct stat *st)
{
	return (int)SYS_CALL(SYS_newfstatat, AT_FDCWD, path, st, 0);
}
#else
static inline int sys_fstat(int fd, struct stat *st)
{
	int saved = errno;

	return (int)sys_result(fstat(fd, st), saved);
}

static inline int sys_stat(const char *path, struct stat *st)
{
	int saved = errno;

	return (int)sys_result(stat(path, st), saved);
}
#endif

/* The struct that the plain time calls take: two longs, whatever time_t is. */
struct sys_timespec {
	long sec;
	long nsec;
};

static inline struct sys_timespec sys_timespec(const struct timespec *ts)
{
	struct sys_timespec k = { LONG_MAX, 0 };

	if ((int64_t)ts->tv_sec < (int64_t)LONG_MAX) {
		k.sec = (long)ts->tv_sec;
		k.nsec = (long)ts->tv_nsec;
	}
	return k;
}

/* Without a signal mask. <timeout> NULL: no limit; it is not changed. */
static inline int sys_ppoll(struct pollfd *fds, unsigned n, const struct timespec *timeout)
{
	struct sys_timespec k = { 0, 0 };

	if (timeout)
		k = sys_timespec(timeout);
	return (int)SYS_CALL(SYS_ppoll, fds, n, timeout ? &k : NULL, NULL, (size_t)8);
}

/* An entry of a folder as the kernel tells it. */
struct sys_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

/* Bytes of such entries, one after the other; 0 at the end. */
static inline ssize_t sys_getdents(int fd, void *buf, size_t len)
{
	return SYS_CALL(SYS_getdents64, fd, buf, len);
}

/* False: there is none, or it is longer or out of the root. */
static inline bool sys_getcwd(char *to, size_t size)
{
	return SYS_CALL(SYS_getcwd, to, size) > 0 && to[0] == '/';
}

static inline pid_t sys_getpid(void)
{
	return (pid_t)SYS_CALL(SYS_getpid);
}

static inline int sys_dup3(int from, int to, int flags)
{
	return (int)SYS_CALL(SYS_dup3, from, to, flags);
}

static inline int sys_socket(int domain, int type, int protocol)
{
	return (int)SYS_CALL(SYS_socket, domain, type, protocol);
}

static inline ssize_t sys_sendto(int fd, const void *buf, size_t len, int flags,
                                 const struct sockaddr *to, socklen_t to_len)
{
	return SYS_CALL(SYS_sendto, fd, buf, len, flags, to, to_len);
}

static inline ssize_t sys_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return SYS_CALL(SYS_sendmsg, fd, msg, flags);
}

static inline int sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	return (int)SYS_CALL(SYS_getsockopt, fd, level, name, value, len);
}

/* Commands with an integer argument or none. */
static inline int sys_fcntl(int fd, int cmd, long arg)
{
#ifdef SYS_fcntl64
	return (int)SYS_CALL(SYS_fcntl64, fd, cmd, arg);
#else
	return (int)SYS_CALL(SYS_fcntl, fd, cmd, arg);
#endif
}

/* Replaces <to>. */
static inline int sys_rename(const char *from, const char *to)
{
	return (int)SYS_CALL(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Gives the open file <fd> the name <to>, if there is none: as who may do so by its
 * number, or by what the kernel shows of it under /proc. */
static inline int sys_link(int fd, const char *in_proc, const char *to)
{
	int rc = (int)SYS_CALL(SYS_linkat, fd, "", AT_FDCWD, to, (long)AT_EMPTY_PATH);

	if (rc == 0 || rc == -EEXIST)
		return rc;
	return (int)SYS_CALL(SYS_linkat, AT_FDCWD, in_proc, AT_FDCWD, to,
	                     (long)AT_SYMLINK_FOLLOW);
}

static inline int sys_unlink(const char *path)
{
	return (int)SYS_CALL(SYS_unlinkat, AT_FDCWD, path, 0);
}

static inline int sys_fchmod(int fd, mode_t mode)
{
	return (int)SYS_CALL(SYS_fchmod, fd, mode);
}

/* The calls without "32" take 16 bits where both are there. */
static inline int sys_fchgrp(int fd, gid_t gid)
{
#ifdef SYS_fchown32
	return (int)SYS_CALL(SYS_fchown32, fd, (uid_t)-1, gid);
#else
	return (int)SYS_CALL(SYS_fchown, fd, (uid_t)-1, gid);
#endif
}

/* The effective one: the owner of what is created. */
static inline uid_t sys_geteuid(void)
{
#ifdef SYS_geteuid32
	return (uid_t)SYS_CALL(SYS_geteuid32);
#else
	return (uid_t)SYS_CALL(SYS_geteuid);
#endif
}

/* The soft limit RLIMIT_<resource>; UINT64_MAX: none. */
static inline uint64_t sys_limit(int resource)
{
	uint64_t limits[2] = { UINT64_MAX, UINT64_MAX };

	SYS_CALL(SYS_prlimit64, 0, resource, NULL, limits);
	return limits[0];
}

/* From the beginning of <fd>, which may be -1 with MAP_ANONYMOUS; NULL: it fails. */
static inline void *sys_mmap(void *at, size_t size, int prot, int flags, int fd)
{
#if defined(__SANITIZE_THREAD__)
	/* By libc's calls it knows that what was said of these addresses is over. It is not
	 * where something is laid over what others read. */
	long rc = at ? SYS_CALL(SYS_mmap, at, size, (long)prot, (long)flags, (long)fd, 0L)
	             : SYS_RESULT((long)mmap(at, size, prot, flags, fd, 0));
#elif defined(SYS_mmap2)
	long rc = SYS_CALL(SYS_mmap2, at, size, (long)prot, (long)flags, (long)fd, 0L);
#else
	long rc = SYS_CALL(SYS_mmap, at, size, (long)prot, (long)flags, (long)fd, 0L);
#endif

	/* Not "rc < 0": half of a 32-bit address space is. */
	return (unsigned long)rc > -4096UL ? NULL : (void *)rc;
}

static inline void sys_munmap(void *at, size_t size)
{
#ifdef __SANITIZE_THREAD__
	SYS_RESULT(munmap(at, size));
#else
	SYS_CALL(SYS_munmap, at, size);
#endif
}

/* Signal sets as the kernel has them: bit n-1 is signal n. */
#define SYS_SIGBIT(signo) (UINT64_C(1) << ((signo) - 1))
/* All but the two that libc keeps to itself (cancellation, setuid in all threads),
 * which must not wait for us. */
#define SYS_SIGALL (~(UINT64_C(3) << 31))

/* <how> as for pthread_sigmask(); <old> may be NULL. */
static inline int sys_sigmask(int how, const uint64_t *set, uint64_t *old)
{
	return (int)SYS_CALL(SYS_rt_sigprocmask, how, set, old, sizeof(*set));
}

static inline int sys_sigpending(uint64_t *set)
{
	return (int)SYS_CALL(SYS_rt_sigpending, set, sizeof(*set));
}

/* This is a handler that runs on the thread's alternate stack. */
static inline bool sys_on_signal_stack(void)
{
	stack_t stack = { .ss_flags = 0 };

	return SYS_CALL(SYS_sigaltstack, NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

/* Takes one pending signal of <set> without waiting; -EAGAIN if there is none. */
static inline int sys_sigtake(const uint64_t *set)
{
	struct sys_timespec zero = { 0, 0 };

	return (int)SYS_CALL(SYS_rt_sigtimedwait, set, NULL, &zero, sizeof(*set));
}

/* Programs give 0, 1 and 2 a meaning even while they are closed, so what we open
 * for a moment does not stay there. Takes and returns a descriptor or -errno. */
static inline int sys_off_stdio(int fd)
{
	int high;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	high = sys_fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	sys_close(fd);
	return high;
}

/* Whether the 8 bytes at <p> can be read, asked of the kernel: it copies the
 * set before it finds out that there is no such operation. */
static inline int sys_readable(const void *p)
{
	return SYS_CALL(SYS_rt_sigprocmask, -1, p, NULL, (size_t)8) == -EINVAL;
}

/* Whether the 4 bytes at <p>, on their own boundary, can be read and written: the kernel
 * adds 0 to them. (Nobody waits at the first address, nor for what is compared.) */
static inline int sys_writable(const void *p)
{
	static const uint32_t nobody;

	return SYS_CALL(SYS_futex, &nobody, 5 | 128 /* FUTEX_WAKE_OP_PRIVATE */, 1, 1, p,
	                1 << 28 /* FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0 */) != -EFAULT;
}

/* Memory comes in no smaller pieces. */
#define SYS_PAGE 4096

/* One of the two, of all of <size> bytes at <p>: a call for each page of them. */
static inline bool sys_all(const void *p, size_t size, int (*is_so)(const void *))
{
	uintptr_t at = (uintptr_t)p & ~(uintptr_t)7;
	uintptr_t end;

	if (__builtin_add_overflow((uintptr_t)p, size, &end))
		return false;
	for (; at < end; at = (at | (SYS_PAGE - 1)) + 1)
		if (!is_so((const void *)at))
			return false;
	return true;
}

/* Whether <p> may be an address of the program's, for all that its value tells: NULL and
 * what is near it, and the negative ones, lead nowhere. No system call. */
static inline bool sys_plausible(const void *p)
{
	uintptr_t at = (uintptr_t)p;

#if UINTPTR_MAX > UINT32_MAX
	return (intptr_t)at >= 65536;
#else
	return at >= 65536 && at < (uintptr_t)-SYS_PAGE;
#endif
}

/* Seconds and ns since the epoch, as one number of ns. */
static inline int64_t sys_realtime(void)
{
	struct sys_timespec t = { 0, 0 };

	SYS_CALL(SYS_clock_gettime, CLOCK_REALTIME, &t);
	return (int64_t)t.sec * 1000000000 + t.nsec;
}

/* The kernel's monotonic clock in ns, past every library that fakes it. */
static inline int64_t sys_monotonic(void)
{
	struct sys_timespec t = { 0, 0 };

	SYS_CALL(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (int64_t)t.sec * 1000000000 + t.nsec;
}

/* FUTEX_WAIT on a private word with a relative time-out. */
static inline int sys_futex_wait(const void *word, uint32_t expected, const struct timespec *rel)
{
	struct sys_timespec k = sys_timespec(rel);

	return (int)SYS_CALL(SYS_futex, word, 128 /* FUTEX_WAIT_PRIVATE */, expected, &k, NULL, 0);
}

/* The socket calls that the preload makes on its own account. */
static inline int sys_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	return (int)SYS_CALL(SYS_connect, fd, sa, len);
}

static inline int sys_getsockname(int fd, struct sockaddr *sa, socklen_t *len)
{
	return (int)SYS_CALL(SYS_getsockname, fd, sa, len);
}

static inline int sys_getpeername(int fd, struct sockaddr *sa, socklen_t *len)
{
	return (int)SYS_CALL(SYS_getpeername, fd, sa, len);
}

static inline int sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return (int)SYS_CALL(SYS_setsockopt, fd, level, name, value, len);
}

static inline int sys_shutdown(int fd, int how)
{
	return (int)SYS_CALL(SYS_shutdown, fd, how);
}

static inline ssize_t sys_recv(int fd, void *buf, size_t len, int flags)
{
	return SYS_CALL(SYS_recvfrom, fd, buf, len, flags, NULL, NULL);
}

#endif
