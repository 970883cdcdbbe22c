/* SPDX-License-Identifier: MIT */
/*
 * arena.h - memory that is handed out piece by piece and given back at once.
 *
 * The chunks come from mmap(): nothing here is in the host's malloc, whose
 * statistics, debuggers and replacements are its own business. No lock; one
 * arena belongs to one thread at a time. errno may change.
 */
#ifndef LIBRETRY_CONFIG_ARENA_H
#define LIBRETRY_CONFIG_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena;

/* NULL if there is no memory. */
struct arena *arena_new(void);

/* Gives everything back; NULL is ignored. */
void arena_free(struct arena *a);

/* <size> bytes of zeros, aligned for any type; NULL if there is no memory,
 * which the arena then remembers. A <size> of 0 gives a valid pointer. */
void *arena_alloc(struct arena *a, size_t size);

/* <count> members of <size> bytes; NULL also if the product overflows. */
void *arena_array(struct arena *a, size_t count, size_t size);

/* A copy of the first <len> bytes of <s> and a NUL; "" if there is no memory,
 * so that only arena_failed() needs to be asked, once. */
const char *arena_text(struct arena *a, const char *s, size_t len);

/* Whether an allocation has failed since arena_new(). */
bool arena_failed(const struct arena *a);

#endif
