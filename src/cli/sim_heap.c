/* SPDX-License-Identifier: MIT */
#include "cli/sim_heap.h"

#include <stdlib.h>

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static bool grow(struct sim_heap *h)
{
	size_t room = h->room ? h->room * 2 : 1024;
	struct sim_event *events = reallocarray(h->events, room, sizeof(*events));

	if (!events) {
		h->failed = true;
		return false;
	}
	h->events = events;
	h->room = room;
	return true;
}

void sim_heap_push(struct sim_heap *h, int64_t at, uint32_t what, uint32_t who, uint64_t data)
{
	struct sim_event e = { .at = at, .what = what, .who = who, .data = data };
	size_t i = h->count;

	if (h->count == h->room && !grow(h))
		return;
	e.order = h->next_order++;
	h->count++;
	while (i > 0 && before(&e, &h->events[(i - 1) / 2])) {
		h->events[i] = h->events[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->events[i] = e;
}

bool sim_heap_pop(struct sim_heap *h, struct sim_event *e)
{
	struct sim_event last;
	size_t i = 0;

	if (h->count == 0)
		return false;
	*e = h->events[0];
	last = h->events[--h->count];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < h->count && before(&h->events[child + 1], &h->events[child]))
			child++;
		if (child >= h->count || !before(&h->events[child], &last))
			break;
		h->events[i] = h->events[child];
		i = child;
	}
	if (h->count > 0)
		h->events[i] = last;
	return true;
}

void sim_heap_free(struct sim_heap *h)
{
	free(h->events);
	*h = (struct sim_heap){ 0 };
}
