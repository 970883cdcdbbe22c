/* SPDX-License-Identifier: MIT */
#include "config/arena.h"

#include <stdint.h>

#include "base/sys.h"

#define CHUNK ((size_t)64 * 1024)
#define ALIGN (sizeof(max_align_t) > 16 ? sizeof(max_align_t) : (size_t)16)

struct chunk {
	struct chunk *next;
	size_t size; /* of the mapping */
	size_t used; /* this header included */
};

struct arena {
	struct chunk *chunks; /* the one in use first */
	bool failed;
};

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static struct chunk *map_chunk(size_t need)
{
	size_t size;
	struct chunk *c;

	if (need > SIZE_MAX / 2)
		return NULL;
	size = round_up(need + round_up(sizeof(*c), ALIGN), CHUNK);
	c = sys_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!c)
		return NULL;
	c->next = NULL;
	c->size = size;
	c->used = round_up(sizeof(*c), ALIGN);
	return c;
}

static void *take(struct chunk *c, size_t size)
{
	void *p = (char *)c + c->used;

	c->used += size;
	return p;
}

struct arena *arena_new(void)
{
	struct chunk *c = map_chunk(sizeof(struct arena));
	struct arena *a;

	if (!c)
		return NULL;
	a = take(c, round_up(sizeof(*a), ALIGN));
	a->chunks = c;
	a->failed = false;
	return a;
}

void arena_free(struct arena *a)
{
	struct chunk *c = a ? a->chunks : NULL;

	while (c) {
		struct chunk *next = c->next;

		sys_munmap(c, c->size);
		c = next;
	}
}

/* A big piece gets a chunk of its own behind the current one, whose rest
 * would be lost otherwise. */
static void *take_new(struct arena *a, size_t size)
{
	struct chunk *c = map_chunk(size);

	if (!c)
		return NULL;
	if (size > CHUNK / 4) {
		c->next = a->chunks->next;
		a->chunks->next = c;
	} else {
		c->next = a->chunks;
		a->chunks = c;
	}
	return take(c, size);
}

void *arena_alloc(struct arena *a, size_t size)
{
	void *p = NULL;

	if (size <= SIZE_MAX / 2) {
		size = round_up(size ? size : 1, ALIGN);
		if (size <= a->chunks->size - a->chunks->used)
			return take(a->chunks, size);
		p = take_new(a, size);
	}
	if (!p)
		a->failed = true;
	return p;
}

bool arena_failed(const struct arena *a)
{
	return a->failed;
}
