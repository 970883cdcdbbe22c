/* SPDX-License-Identifier: MIT */
/*
 * sim_heap.h - what happens next in a simulated world: events by time, those of one
 * moment in the order in which they were put in. Begin with zeros.
 */
#ifndef LIBRETRY_CLI_SIM_HEAP_H
#define LIBRETRY_CLI_SIM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_event {
	int64_t at;      /* ns */
	uint64_t order;  /* sim_heap's */
	uint32_t what;   /* the world's */
	uint32_t who;
	uint64_t data;
};

struct sim_heap {
	struct sim_event *events;
	size_t count, room;
	uint64_t next_order;
	bool failed; /* memory ran out; events were lost */
};

/* O(log count). */
void sim_heap_push(struct sim_heap *h, int64_t at, uint32_t what, uint32_t who, uint64_t data);
/* False: none is left. */
bool sim_heap_pop(struct sim_heap *h, struct sim_event *e);
void sim_heap_free(struct sim_heap *h);

#endif
