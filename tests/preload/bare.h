/* SPDX-License-Identifier: MIT */
/*
 * bare.h - for programs that compare what the library's wrappers answer with what
 * the bare system calls answer.
 */
#ifndef LIBRETRY_TESTS_BARE_H
#define LIBRETRY_TESTS_BARE_H

#include <fcntl.h>
#include <sys/syscall.h>

#include "tests/preload/guest.h"

#define NONE 4711 /* an errno that nobody sets */

/* Where nothing is mapped; out of the compiler's sight. */
GUEST void *volatile bad = (void *)16;

/* <call> and <bare> give the same value and leave the same errno. */
#define SAME(call, bare) \
	do { \
		long value_, wanted_; \
		int error_, wanted_error_; \
		errno = NONE; \
		wanted_ = (long)(bare); \
		wanted_error_ = errno; \
		errno = NONE; \
		value_ = (long)(call); \
		error_ = errno; \
		ck_assert_int_eq(value_, wanted_); \
		ck_assert_int_eq(error_, wanted_error_); \
	} while (0)

#define FAILS(call, error) \
	do { \
		errno = NONE; \
		ck_assert_int_eq((call), -1); \
		ck_assert_int_eq(errno, (error)); \
	} while (0)

#define WORKS(call, value) \
	do { \
		errno = NONE; \
		ck_assert_int_eq((call), (value)); \
		ck_assert_int_eq(errno, NONE); \
	} while (0)

GUEST int file(void)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/file", getenv("TEST_DIR"));
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	return fd;
}

GUEST void stream_pair(int pair[2])
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
}

/* A connect that the kernel has refused already and nobody has asked about. */
GUEST int begin_a_connect(void)
{
	struct sockaddr_in sa;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	bound(&sa);
	FAILS(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), EINPROGRESS);
	return fd;
}

GUEST void twice(void (*body)(void))
{
	body();
	begin_a_connect();
	body();
}

#endif
