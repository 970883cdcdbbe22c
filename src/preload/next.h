/* SPDX-License-Identifier: MIT */
/*
 * next.h - what dlsym(RTLD_NEXT) finds, for many names at once: one walk over the
 * objects behind us in place of a dlsym() for each name, which costs ten times as much.
 */
#ifndef LIBRETRY_PRELOAD_NEXT_H
#define LIBRETRY_PRELOAD_NEXT_H

#include <stddef.h>
#include <stdint.h>

/* So many names at once, so many bytes in a name, the zero byte not counted. */
#define NEXT_NAMES 64
#define NEXT_NAME_LEN 24

struct next_name {
	uint32_t hash; /* NEXT_HASH */
	uint16_t at;   /* where in the text of all names */
	uint8_t len;
	uint8_t since; /* glibc 2.since has it */
};

/*
 * The hash of the GNU hash table for a string literal, as a constant: the sum of
 * c * 33^(bytes behind c), and 5381 * 33^len.
 */
#define NEXT_HASH(s) \
	(5381U * NEXT_POW33(sizeof(s) - 1) + NEXT_C4(s, 0) + NEXT_C4(s, 4) + NEXT_C4(s, 8) + \
	 NEXT_C4(s, 12) + NEXT_C4(s, 16) + NEXT_C4(s, 20))
#define NEXT_C4(s, i) \
	(NEXT_C1(s, i) + NEXT_C1(s, (i) + 1) + NEXT_C1(s, (i) + 2) + NEXT_C1(s, (i) + 3))
#define NEXT_C1(s, i) \
	((i) < sizeof(s) - 1 ? (unsigned char)(s)[(i) < sizeof(s) ? (i) : 0] * \
	                               NEXT_POW33(sizeof(s) - 2 - (i)) \
	                     : 0U)
#define NEXT_POW33(n) \
	(((n)&1 ? 33U : 1U) * ((n)&2 ? 1089U : 1U) * ((n)&4 ? 1089U * 1089U : 1U) * \
	 ((n)&8 ? 1089U * 1089U * 1089U * 1089U : 1U) * \
	 ((n)&16 ? 1089U * 1089U * 1089U * 1089U * 1089U * 1089U * 1089U * 1089U : 1U))

/*
 * Sets found[i] to the function that dlsym(RTLD_NEXT, list[i]) would give, or to NULL:
 * ask dlsym(). It is NULL for all of them if we are not where a preload is, in front of
 * libc; if other namespaces exist (an auditor may want to see the look-ups); or if an object
 * is not as binutils and glibc make it (another C library's are not: their tables are
 * reached in another way). It is NULL for a name that has several versions there, or
 * is chosen at run time, or is anything else but one defined function. Names that came
 * after glibc 2.<minor> are left out. <n> is at most NEXT_NAMES.
 *
 * No malloc, and no lock but that of dl_iterate_phdr(), which guards the list of objects
 * and is not held while they are loaded, as dlsym()'s is. errno untouched.
 */
void next_find(const char *text, const struct next_name *list, size_t n, int minor, void **found);

#endif
