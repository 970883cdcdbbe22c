/* SPDX-License-Identifier: MIT */
/*
 * time64.h - where time_t has 32 bits, libc has some functions twice; the second
 * ones are for programs that were built with _TIME_BITS=64. This library takes the
 * first ones' types, and these structs for the others.
 */
#ifndef LIBRETRY_PRELOAD_TIME64_H
#define LIBRETRY_PRELOAD_TIME64_H

#include <endian.h>
#include <features.h>
#include <stdint.h>

#if defined(__TIMESIZE) && __TIMESIZE == 32
#define LR_TIME64 1
#else
#define LR_TIME64 0
#endif

#if LR_TIME64
#ifdef __USE_TIME_BITS64
#error "libretry.so wraps both kinds of functions, and is built without _TIME_BITS=64"
#endif
#define SYMBOL_TIME64(...) SYMBOL_SINCE(__VA_ARGS__)
#else
#define SYMBOL_TIME64(...)
#endif

struct timespec64 {
	int64_t sec;
#if __BYTE_ORDER == __LITTLE_ENDIAN
	int32_t nsec;
	int32_t padding;
#else
	int32_t padding;
	int32_t nsec;
#endif
};

struct timeval64 {
	int64_t sec;
	int64_t usec;
};

#endif
