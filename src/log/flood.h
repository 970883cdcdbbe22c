/* SPDX-License-Identifier: MIT */
/*
 * flood.h - at most so many lines per destination in so much time.
 *
 * A bounded table without locks. Every step is one atomic operation and no
 * mark says "in use", so a signal handler may come, and leave by siglongjmp(),
 * anywhere. No line is lost from the books; under races a window may let a few
 * more through, and lines that are counted while their slot changes hands go
 * to the new name. Time is passed in.
 */
#ifndef LIBRETRY_LOG_FLOOD_H
#define LIBRETRY_LOG_FLOOD_H

#include <stdbool.h>
#include <stdint.h>

#define FLOOD_SLOTS 64

/* Names are told apart by this many bytes less one; longer ones that agree in
 * them share a count. A multiple of 8. */
#define FLOOD_NAME_MAX 128

struct flood_slot {
	uint32_t key; /* hash of the name, 0 = free */
	uint32_t count;
	uint32_t held;
	int64_t start;
	uint64_t name[FLOOD_NAME_MAX / sizeof(uint64_t)];
};

/* All zero = empty. The last slot is for whoever finds no other one. */
struct flood {
	struct flood_slot slots[FLOOD_SLOTS + 1];
};

struct flood_limit {
	uint32_t burst; /* lines ...; 0: summaries only */
	int64_t per;    /* ... in a window of this many ns */
};

/* What must be told now about lines that were held back. */
struct flood_held {
	uint32_t lines; /* 0 = nothing to tell */
	char dest[FLOOD_NAME_MAX]; /* "" = no destination, or one not known */
};

/*
 * Whether a line for <name> may be written at <now> (ns, monotonic). <name> is
 * a destination, or (<is_dest> false) what stands for lines without one. Sets
 * <held> if a summary is due: the window of <name> is over, or a slot was taken
 * over from a destination whose window is over. While all slots have open
 * windows, further names share one slot.
 */
bool flood_admit(struct flood *t, const struct flood_limit *limit, const char *name,
                 bool is_dest, int64_t now, struct flood_held *held);

/* Takes the next held-back count from *<cursor> (0 at first) on; false at the
 * end. */
bool flood_drain(struct flood *t, unsigned *cursor, struct flood_held *held);

/* Forgets held-back counts, not how many lines the windows have seen. */
void flood_forget(struct flood *t);

#endif
