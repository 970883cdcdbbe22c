/* SPDX-License-Identifier: MIT */
/* compat.h - compiler attributes and small macros; the only place for them. */
#ifndef LIBRETRY_BASE_COMPAT_H
#define LIBRETRY_BASE_COMPAT_H

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define lr_likely(x) __builtin_expect(!!(x), 1)
#define lr_unlikely(x) __builtin_expect(!!(x), 0)

/* Exported from the preloaded object: everything else is hidden. */
#define LR_EXPORT __attribute__((visibility("default")))

/* For declarations of data that hot paths read: -fvisibility does not reach
 * those, and without this their address is looked up first. */
#define LR_HIDDEN __attribute__((visibility("hidden")))

/* No array is here: what -fstack-protector-strong takes for one is not. */
#define LR_NO_CANARY __attribute__((no_stack_protector))

/* A part of a hot path, where a call would cost as much as the part itself. */
#define LR_INLINE static inline __attribute__((always_inline))

/* Kept out of line so that the frame of the fast path stays small. */
#define LR_NOINLINE __attribute__((noinline))

/* An argument, as kept_a, on the stack over the real call: where nothing but a failure asks
 * for it again, a register that outlives a call costs three instructions more. */
#define LR_KEEP(a) \
	__typeof__(a) kept_##a = (a); \
	__asm__("" : "+m"(kept_##a))

/* Whether the functions of .S files are there: the few lines of each are written for each
 * architecture. */
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
#define LR_JUMPS 1
#else
#define LR_JUMPS 0
#endif

#define LR_UNUSED __attribute__((unused))

/* Thread-local data of a guest: initial-exec, because the general model may
 * allocate on first use (and a hook may run inside malloc). */
#define LR_TLS __thread __attribute__((tls_model("initial-exec")))

#endif
