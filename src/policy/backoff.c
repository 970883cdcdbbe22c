/* SPDX-License-Identifier: MIT */
#include "policy/backoff.h"

#include "base/prng.h"

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* min(base * multiplier^(n-1), max). Stops as soon as the value cannot change
 * any more, so that n = 10^6 costs as little as n = 40. */
static int64_t grow(int64_t base, int64_t multiplier, int64_t max, unsigned n)
{
	int64_t raw = min64(base, max);

	while (n-- > 1 && raw < max) {
		int64_t next = dur_scale(raw, multiplier);

		/* Rounded down, a tiny value times 1.0001 stands still. */
		if (next <= raw)
			break;
		raw = min64(next, max);
	}
	return raw;
}

/* The unjittered wait and the limit that a hard cap puts on it. */
static int64_t raw_wait(const struct backoff *b, unsigned n, int64_t base, int64_t *limit)
{
	if (b->schedule_len > 0) {
		unsigned last = b->schedule_len - 1;

		*limit = 0;
		for (unsigned i = 0; i <= last; i++)
			if (b->schedule[i] > *limit)
				*limit = b->schedule[i];
		return b->schedule[n - 1 < last ? n - 1 : last];
	}
	*limit = b->max;
	return grow(base, b->multiplier, b->max, n);
}

static struct backoff_wait between(int64_t floor, int64_t ceiling, uint64_t random)
{
	struct backoff_wait w = { .floor = floor, .ceiling = ceiling };

	w.wait = dur_add(floor, prng_below(random, ceiling - floor));
	return w;
}

/* Soft: drawn, then capped, as it was published; then most waits at the cap are the cap.
 * Hard: drawn under the cap, which keeps them apart. */
static struct backoff_wait decorrelated(const struct backoff *b, int64_t base, int64_t previous,
                                        int64_t limit, uint64_t random)
{
	int64_t top = dur_scale(previous > base ? previous : base, 3 * PPM);
	int64_t capped = min64(limit, top);
	struct backoff_wait w = between(base, b->cap == CAP_SOFT ? top : capped, random);

	w.wait = min64(w.wait, limit);
	w.ceiling = capped;
	return w;
}

/* The value around which a ratio jitter spreads: under a hard cap low enough
 * that the upper end stays within the limit. */
static int64_t centre(const struct backoff *b, int64_t raw, int64_t limit)
{
	if (b->cap == CAP_SOFT)
		return raw;
	/* limit / (1 + r); the division first cannot overflow, and loses less
	 * than a microsecond. */
	return min64(raw, limit / (PPM + b->jitter_ratio) * PPM +
	                          limit % (PPM + b->jitter_ratio) * PPM / (PPM + b->jitter_ratio));
}

struct backoff_wait backoff_wait(const struct backoff *b, unsigned n, bool local,
                                 int64_t previous, uint64_t random)
{
	int64_t base = local ? b->base_local : b->base;
	int64_t limit;
	int64_t raw;
	int64_t c;
	int64_t spread;

	if (n == 0)
		n = 1;
	/* Lack of a local resource needs time, so it never skips the wait. */
	if (b->first_immediate && !local) {
		if (n == 1)
			return (struct backoff_wait){ 0, 0, 0 };
		n--;
	}
	raw = raw_wait(b, n, base, &limit);
	switch (b->jitter) {
	case JITTER_FULL:
		return between(0, raw, random);
	case JITTER_EQUAL:
		return between(raw / 2, raw, random);
	case JITTER_ADDITIVE:
		c = centre(b, raw, limit);
		return between(c, dur_add(c, dur_scale(c, b->jitter_ratio)), random);
	case JITTER_DECORRELATED:
		return decorrelated(b, min64(base, limit), previous, limit, random);
	case JITTER_NONE:
		return between(raw, raw, random);
	case JITTER_PROPORTIONAL:
		break;
	}
	c = centre(b, raw, limit);
	spread = dur_scale(c, b->jitter_ratio);
	return between(c - spread, dur_add(c, spread), random);
}
