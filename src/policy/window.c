/* SPDX-License-Identifier: MIT */
#include "policy/window.h"

#include "policy/policy.h"

/* From the top: the slice's number, the count of the slice before, of this one. */
#define COUNT_BITS 22
#define SLICE_BITS (64 - 2 * COUNT_BITS)
#define SLICE_MASK ((UINT64_C(1) << SLICE_BITS) - 1)

struct slices {
	uint64_t number;
	uint64_t before, current;
};

static struct slices unpack(uint64_t word)
{
	return (struct slices){ .number = word >> 2 * COUNT_BITS,
	                        .before = word >> COUNT_BITS & WINDOW_MAX,
	                        .current = word & WINDOW_MAX };
}

static int64_t at_least_min(int64_t length)
{
	return length < WINDOW_LENGTH_MIN ? WINDOW_LENGTH_MIN : length;
}

/* The slices as they are at <now>; *into: ns since the current one began. */
static struct slices advance(uint64_t word, int64_t now, int64_t length, int64_t *into)
{
	struct slices s = unpack(word);
	uint64_t number = (uint64_t)(now / length) & SLICE_MASK;
	uint64_t ahead = (number - s.number) & SLICE_MASK;

	*into = now % length;
	if (ahead == 0)
		return s;
	if (ahead == 1)
		return (struct slices){ .number = number, .before = s.current };
	if (ahead == SLICE_MASK) {
		/* Somebody with a later clock has begun the next one. */
		*into = 0;
		return s;
	}
	return (struct slices){ .number = number };
}

uint64_t window_add(uint64_t word, int64_t now, int64_t length, uint32_t n)
{
	int64_t into;
	struct slices s = advance(word, now, at_least_min(length), &into);

	s.current = n > WINDOW_MAX - s.current ? WINDOW_MAX : s.current + n;
	return s.number << 2 * COUNT_BITS | s.before << COUNT_BITS | s.current;
}

int64_t window_estimate(uint64_t word, int64_t now, int64_t length)
{
	int64_t into;
	struct slices s;
	int64_t share;
	int shift;

	length = at_least_min(length);
	s = advance(word, now, length, &into);
	/* Millionths of the slice before that are still within <length>. */
	shift = length > INT64_MAX / PPM ? 24 : 0;
	share = ((length - into) >> shift) * PPM / (length >> shift);
	return (int64_t)s.current * PPM + (int64_t)s.before * share;
}
