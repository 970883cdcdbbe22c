/* SPDX-License-Identifier: MIT */
/*
 * arena.c - the functions of config/arena.c, each piece from malloc(): AddressSanitizer
 * sees where one ends, which it does not in a mapping, and a run costs no mmap() and
 * munmap(), which were most of it. Linked before the room's archive, so that its own
 * stay there. The few pieces as large as the largest file are kept and used again:
 * malloc() would map each, and AddressSanitizer hold many back.
 */
#include "config/arena.h"

#include <string.h>

#include "fuzz.h"

#define LARGE ((size_t)64 * 1024)
#define KEPT 4

struct piece {
	struct piece *next;
	size_t size;
	max_align_t data[];
};

struct arena {
	struct piece *pieces;
	bool failed;
};

static unsigned living;
static struct piece *kept[KEPT];

unsigned fuzz_arenas(void)
{
	return living;
}

struct arena *arena_new(void)
{
	struct arena *a = calloc(1, sizeof(*a));

	FUZZ_CHECK(a);
	living++;
	return a;
}

/* They hold text from their start on: no more is wiped than was used. */
static void wipe(struct piece *p)
{
	static const char zeros[LARGE];
	char *at = (char *)p->data;

	for (size_t left = p->size; left > 0;) {
		size_t n = left < LARGE ? left : LARGE;

		if (memcmp(at, zeros, n) == 0)
			return;
		memset(at, 0, n);
		at += n;
		left -= n;
	}
}

static void give_back(struct piece *p)
{
	for (unsigned i = 0; p->size >= LARGE && i < KEPT; i++)
		if (!kept[i]) {
			wipe(p);
			kept[i] = p;
			return;
		}
	free(p);
}

static struct piece *get(size_t size)
{
	struct piece *p;

	for (unsigned i = 0; i < KEPT; i++)
		if (kept[i] && kept[i]->size == size) {
			p = kept[i];
			kept[i] = NULL;
			return p;
		}
	p = calloc(1, sizeof(*p) + size);
	if (p)
		p->size = size;
	return p;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	for (struct piece *p = a->pieces; p;) {
		struct piece *next = p->next;

		give_back(p);
		p = next;
	}
	free(a);
	living--;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct piece *p = NULL;

	if (size <= SIZE_MAX / 2)
		p = get(size);
	if (!p) {
		a->failed = true;
		return NULL;
	}
	p->next = a->pieces;
	a->pieces = p;
	return p->data;
}

bool arena_failed(const struct arena *a)
{
	return a->failed;
}
