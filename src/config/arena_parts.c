/* SPDX-License-Identifier: MIT */
/* What needs to know nothing of where arena_alloc() has it from. */
#include <stdint.h>
#include <string.h>

#include "config/arena.h"

void *arena_array(struct arena *a, size_t count, size_t size)
{
	size_t total;

	/* More than there can be, which the arena then remembers. */
	if (__builtin_mul_overflow(count, size, &total))
		total = SIZE_MAX;
	return arena_alloc(a, total);
}

const char *arena_text(struct arena *a, const char *s, size_t len)
{
	char *copy = len < SIZE_MAX ? arena_alloc(a, len + 1) : NULL;

	if (!copy)
		return "";
	if (len > 0)
		memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}
