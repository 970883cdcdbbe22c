/* SPDX-License-Identifier: MIT */
/*
 * Reads, writes and socket options under the library: the same comparison as in
 * fds.c, on files, pipes and sockets.
 */
#include "tests/preload/bare.h"

#include <pthread.h>
#include <sys/time.h>
#include <sys/uio.h>

/* The other names, which compilers and old objects use. */
ssize_t __read(int fd, void *buf, size_t len);
ssize_t __write(int fd, const void *buf, size_t len);
ssize_t __send(int fd, const void *buf, size_t len, int flags);
ssize_t __read_chk(int fd, void *buf, size_t len, size_t size);
ssize_t __recv_chk(int fd, void *buf, size_t len, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t size, int flags,
                       struct sockaddr *from, socklen_t *from_len);

/* Out of the compiler's sight, too. */
static volatile int below = -1;
static volatile int above = 1025;

/* Every function that writes, for one buffer. */
static ssize_t write_by(unsigned how, int fd, const void *buf, size_t len, int flags)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1 } };

	switch (how) {
	case 0: return write(fd, buf, len);
	case 1: return __write(fd, buf, len);
	case 2: return writev(fd, &iov, 1);
	case 3: return send(fd, buf, len, flags);
	case 4: return __send(fd, buf, len, flags);
	case 5: return sendto(fd, buf, len, flags, NULL, 0);
	case 6: return sendmsg(fd, &m.msg_hdr, flags);
	default: return sendmmsg(fd, &m, 1, flags) == 1 ? (ssize_t)m.msg_len : -1;
	}
}

static ssize_t read_by(unsigned how, int fd, void *buf, size_t len, int flags)
{
	struct iovec iov = { buf, len };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1 } };

	switch (how) {
	case 0: return read(fd, buf, len);
	case 1: return __read(fd, buf, len);
	case 2: return __read_chk(fd, buf, len, len);
	case 3: return readv(fd, &iov, 1);
	case 4: return recv(fd, buf, len, flags);
	case 5: return __recv_chk(fd, buf, len, len, flags);
	case 6: return recvfrom(fd, buf, len, flags, NULL, NULL);
	case 7: return __recvfrom_chk(fd, buf, len, len, flags, NULL, NULL);
	case 8: return recvmsg(fd, &m.msg_hdr, flags);
	default: return recvmmsg(fd, &m, 1, flags, NULL) == 1 ? (ssize_t)m.msg_len : -1;
	}
}
#define WRITERS 8
#define FILE_WRITERS 3 /* the first ones, which take any file */
#define READERS 10
#define FILE_READERS 4

/* <to> and <from>: two ends, one of which may be a dup. */
static void check_transfer(int to, int from, unsigned writers, unsigned readers)
{
	char buf[8];

	for (unsigned w = 0; w < writers; w++) {
		for (unsigned r = 0; r < readers; r++) {
			WORKS(write_by(w, to, "hello", 5, MSG_NOSIGNAL), 5);
			memset(buf, 0, sizeof(buf));
			WORKS(read_by(r, from, buf, 2, 0), 2);
			WORKS(read_by(r, from, buf + 2, 6, 0), 3);
			ck_assert_str_eq(buf, "hello");
		}
	}
	for (unsigned w = 0; w < writers; w++)
		FAILS(write_by(w, to, bad, 5, MSG_NOSIGNAL), EFAULT);
	write(to, "hello", 5);
	for (unsigned r = 0; r < readers; r++)
		FAILS(read_by(r, from, bad, 5, 0), EFAULT);
	WORKS(read(from, buf, 5), 5);
	WORKS(fcntl(from, F_SETFL, O_NONBLOCK), 0);
	for (unsigned r = 0; r < readers; r++)
		FAILS(read_by(r, from, buf, 5, 0), EAGAIN);
	WORKS(fcntl(from, F_SETFL, 0), 0);
	if (readers > FILE_READERS)
		for (unsigned r = FILE_READERS; r < readers; r++)
			FAILS(read_by(r, from, buf, 5, MSG_DONTWAIT), EAGAIN);
	close(to);
	for (unsigned r = 0; r + 1 < readers; r++)
		WORKS(read_by(r, from, buf, 5, 0), 0);
	close(from);
}

static void tcp_pair(int pair[2])
{
	struct sockaddr_in sa;
	int server = bound(&sa);

	ck_assert_int_eq(listen(server, 1), 0);
	pair[0] = tcp_socket();
	ck_assert_int_eq(connect(pair[0], (struct sockaddr *)&sa, sizeof(sa)), 0);
	pair[1] = accept(server, NULL, NULL);
	ck_assert_int_ge(pair[1], 0);
	close(server);
}

static void check_transfers(void)
{
	int fds[2];
	int copy;

	ck_assert_int_eq(pipe(fds), 0);
	check_transfer(fds[1], fds[0], FILE_WRITERS, FILE_READERS);
	ck_assert_int_eq(pipe(fds), 0);
	copy = dup(fds[1]);
	close(fds[1]);
	check_transfer(copy, fds[0], FILE_WRITERS, FILE_READERS);
	stream_pair(fds);
	check_transfer(fds[0], fds[1], WRITERS, READERS);
	tcp_pair(fds);
	check_transfer(fds[0], fds[1], WRITERS, READERS);
	tcp_pair(fds);
	copy = fcntl(fds[1], F_DUPFD, 30);
	close(fds[1]);
	check_transfer(fds[0], copy, WRITERS, READERS);
}

START_TEST(transfers)
{
	twice(check_transfers);
}
END_TEST

static void check_refusals(void)
{
	char buf[8];
	struct iovec iov = { buf, 1 };
	struct mmsghdr none;
	int fd = file();
	int fresh = tcp_socket();
	int pair[2];

	for (unsigned w = 0; w < WRITERS; w++)
		FAILS(write_by(w, -1, "x", 1, 0), EBADF);
	for (unsigned r = 0; r < READERS; r++)
		FAILS(read_by(r, -1, buf, 1, 0), EBADF);
	for (unsigned w = FILE_WRITERS; w < WRITERS; w++)
		FAILS(write_by(w, fd, "x", 1, 0), ENOTSOCK);
	for (unsigned r = FILE_READERS; r < READERS; r++)
		FAILS(read_by(r, fd, buf, 1, 0), ENOTSOCK);
	for (unsigned w = FILE_WRITERS; w < WRITERS; w++)
		FAILS(write_by(w, fresh, "x", 1, MSG_NOSIGNAL), EPIPE);
	for (unsigned r = 0; r < READERS; r++)
		FAILS(read_by(r, fresh, buf, 1, 0), ENOTCONN);
	SAME(writev(fd, &iov, below), syscall(SYS_writev, fd, &iov, below));
	SAME(writev(fd, &iov, above), syscall(SYS_writev, fd, &iov, above));
	SAME(readv(fd, bad, 1), syscall(SYS_readv, fd, bad, 1));
	SAME(readv(fd, &iov, 0), syscall(SYS_readv, fd, &iov, 0));
	stream_pair(pair);
	SAME(sendmsg(pair[0], bad, 0), syscall(SYS_sendmsg, pair[0], bad, 0));
	SAME(recvmsg(pair[0], bad, 0), syscall(SYS_recvmsg, pair[0], bad, 0));
	SAME(sendmmsg(pair[0], &none, 0, 0), syscall(SYS_sendmmsg, pair[0], &none, 0, 0));
	SAME(recv(pair[0], buf, 1, MSG_OOB | MSG_DONTWAIT),
	     syscall(SYS_recvfrom, pair[0], buf, 1, MSG_OOB | MSG_DONTWAIT, NULL, NULL));
	SAME(write(pair[0], buf, 0), syscall(SYS_write, pair[0], buf, 0));
	SAME(read(pair[0], buf, 0), syscall(SYS_read, pair[0], buf, 0));
	close(pair[0]);
	close(pair[1]);
	close(fresh);
	close(fd);
}

START_TEST(refusals)
{
	twice(check_refusals);
}
END_TEST

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	(void)sig;
	caught++;
}

static void check_signals(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct itimerval often = { { 0, 5000 }, { 0, 5000 } };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	char buf[4];
	int fds[2];

	sigaction(SIGALRM, &act, NULL);
	sigaction(SIGPIPE, &act, NULL);
	for (unsigned r = 0; r < READERS; r++) {
		stream_pair(fds);
		setitimer(ITIMER_REAL, &often, NULL);
		FAILS(read_by(r, fds[0], buf, 4, 0), EINTR);
		setitimer(ITIMER_REAL, &never, NULL);
		close(fds[0]);
		close(fds[1]);
	}
	for (unsigned w = 0; w < WRITERS; w++) {
		stream_pair(fds);
		close(fds[1]);
		caught = 0;
		FAILS(write_by(w, fds[0], "x", 1, 0), EPIPE);
		ck_assert_int_eq(caught, 1);
		if (w >= FILE_WRITERS) {
			FAILS(write_by(w, fds[0], "x", 1, MSG_NOSIGNAL), EPIPE);
			ck_assert_int_eq(caught, 1);
		}
		close(fds[0]);
	}
}

START_TEST(interruptions_and_broken_pipes)
{
	twice(check_signals);
}
END_TEST

static void *read_for_ever(void *arg)
{
	const int *fds = arg;
	char c = 0;

	ck_assert_int_eq(write(fds[1], &c, 1), 1);
	read(fds[0], &c, 1); /* the byte */
	read(fds[0], &c, 1);
	return NULL;
}

static void check_cancellation(void)
{
	pthread_t thread;
	void *result = NULL;
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, read_for_ever, fds), 0);
	ck_assert_int_eq(pthread_cancel(thread), 0);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	ck_assert_ptr_eq(result, PTHREAD_CANCELED);
	close(fds[0]);
	close(fds[1]);
}

START_TEST(cancellation)
{
	twice(check_cancellation);
}
END_TEST

/* A buffer that is too small is libc's affair, as alone. */
START_TEST(fortified_reads_abort)
{
	for (int i = 0; i < 3; i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			char buf[8];
			int pair[2];

			dup2(open("/dev/null", O_WRONLY), 2);
			signal(SIGABRT, SIG_DFL);
			stream_pair(pair);
			send(pair[0], buf, 1, 0);
			if (i == 0)
				__read_chk(pair[1], buf, 8, 4);
			else if (i == 1)
				__recv_chk(pair[1], buf, 8, 4, 0);
			else
				__recvfrom_chk(pair[1], buf, 8, 4, 0, NULL, NULL);
			_exit(0);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}
END_TEST

static void check_option(int fd, int level, int name, socklen_t size)
{
	unsigned char got[8], wanted[8];
	socklen_t got_size = size, wanted_size = size;

	memset(got, 0xaa, sizeof(got));
	memset(wanted, 0xaa, sizeof(wanted));
	SAME(getsockopt(fd, level, name, got, &got_size),
	     syscall(SYS_getsockopt, fd, level, name, wanted, &wanted_size));
	ck_assert_uint_eq(got_size, wanted_size);
	ck_assert_mem_eq(got, wanted, sizeof(got));
}

static void check_options(void)
{
	static const int names[] = { SO_ERROR, SO_TYPE, SO_RCVBUF, 9999 };
	socklen_t size = sizeof(int);
	int pair[2];
	int value;

	stream_pair(pair);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		for (socklen_t len = 0; len <= 8; len++)
			check_option(pair[0], SOL_SOCKET, names[i], len);
		check_option(pair[0], SOL_SOCKET, names[i], (socklen_t)-1);
		check_option(-1, SOL_SOCKET, names[i], 4);
	}
	check_option(pair[0], IPPROTO_TCP, SO_ERROR, 4);
	SAME(getsockopt(pair[0], SOL_SOCKET, SO_ERROR, bad, &size),
	     syscall(SYS_getsockopt, pair[0], SOL_SOCKET, SO_ERROR, bad, &size));
	FAILS(getsockopt(pair[0], SOL_SOCKET, SO_ERROR, &value, NULL), EFAULT);
	close(pair[0]);
	pair[0] = file();
	FAILS(getsockopt(pair[0], SOL_SOCKET, SO_ERROR, &value, &size), ENOTSOCK);
	close(pair[0]);
	close(pair[1]);
}

START_TEST(options)
{
	twice(check_options);
}
END_TEST

static void check_shutdown(void)
{
	char c;
	int pair[2];
	int fresh = tcp_socket();

	stream_pair(pair);
	FAILS(shutdown(-1, SHUT_RD), EBADF);
	FAILS(shutdown(pair[0], 7), EINVAL);
	FAILS(shutdown(pair[0], -1), EINVAL);
	FAILS(shutdown(fresh, SHUT_RDWR), ENOTCONN);
	WORKS(shutdown(pair[0], SHUT_WR), 0);
	WORKS(read(pair[1], &c, 1), 0);
	FAILS(send(pair[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	WORKS(write(pair[1], "x", 1), 1);
	WORKS(read(pair[0], &c, 1), 1);
	close(fresh);
	close(pair[0]);
	close(pair[1]);
	pair[0] = file();
	FAILS(shutdown(pair[0], SHUT_RD), ENOTSOCK);
	close(pair[0]);
}

START_TEST(shutdowns)
{
	twice(check_shutdown);
}
END_TEST

UNIT_MAIN("preload fdio", &transfers, &refusals, &interruptions_and_broken_pipes, &cancellation,
          &fortified_reads_abort, &options, &shutdowns)
