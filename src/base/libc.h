/* SPDX-License-Identifier: MIT */
/*
 * libc.h - what glibc has and another C library lacks; the only place for it.
 *
 * The other one is musl, where time_t has 64 bits on every architecture and functions
 * with times have other names on 32-bit ones, which symbols.def does not know.
 */
#ifndef LIBRETRY_BASE_LIBC_H
#define LIBRETRY_BASE_LIBC_H

#include <features.h>
#include <limits.h>
#include <netdb.h>
#include <stdbool.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#include <sys/single_threaded.h>
#elif ULONG_MAX == 0xffffffff
#error "with this C library only 64-bit architectures are supported"
#endif

/* For gethostbyname() only: "errno tells". */
#ifndef NETDB_INTERNAL
#define NETDB_INTERNAL (-1)
#endif

/* For close_range(), which musl lacks; the kernel's. */
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif

/* freeaddrinfo() takes lists that were put together of several answers. */
#ifdef __GLIBC__
#define LIBC_JOINS_ANSWERS true
#else
#define LIBC_JOINS_ANSWERS false
#endif

/* No other thread exists. False where libc does not tell: in doubt there is one. */
static inline bool libc_single_threaded(void)
{
#ifdef __GLIBC__
	return __libc_single_threaded;
#else
	return false;
#endif
}

/* The second number of glibc's version: "2.36" is 36. 0 in another C library. */
static inline int libc_glibc_minor(void)
{
	int minor = 0;
#ifdef __GLIBC__
	const char *p = gnu_get_libc_version();

	while (*p && *p++ != '.')
		;
	for (; *p >= '0' && *p <= '9'; p++)
		minor = minor * 10 + (*p - '0');
#endif
	return minor;
}

/* "2.36"; "musl" otherwise. */
static inline const char *libc_version(void)
{
#ifdef __GLIBC__
	return gnu_get_libc_version();
#else
	return "musl";
#endif
}

#endif
