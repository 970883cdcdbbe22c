/* SPDX-License-Identifier: MIT */
#include "policy/breaker.h"

#include "policy/backoff.h"
#include "policy/window.h"

/*
 * From the top: state 2, opened 6 (in a row), generation 8, count 20, until 28.
 * closed:    count = failures in a row; until = 0
 * open:      until = when it ends
 * half-open: count = probes out; until = when the places of the latest are free
 * The generation changes whenever places are free for new probes, so that a ticket
 * tells whose results these are.
 */
#define UNTIL_BITS 28
#define COUNT_BITS 20
#define GENERATION_BITS 8
#define OPENED_BITS 6

#define MASK(bits) ((UINT32_C(1) << (bits)) - 1)

#define COUNT_MAX MASK(COUNT_BITS)
#define OPENED_MAX MASK(OPENED_BITS)

struct fields {
	uint32_t state, opened, generation, count, until;
};

static struct fields unpack(uint64_t word)
{
	struct fields f;

	f.until = (uint32_t)(word & MASK(UNTIL_BITS));
	word >>= UNTIL_BITS;
	f.count = (uint32_t)(word & MASK(COUNT_BITS));
	word >>= COUNT_BITS;
	f.generation = (uint32_t)(word & MASK(GENERATION_BITS));
	word >>= GENERATION_BITS;
	f.opened = (uint32_t)(word & MASK(OPENED_BITS));
	f.state = (uint32_t)(word >> OPENED_BITS);
	/* Nothing that was written here: begin afresh. */
	if (f.state > BREAKER_HALF_OPEN)
		return (struct fields){ .state = BREAKER_CLOSED };
	return f;
}

static uint64_t pack(const struct fields *f)
{
	uint64_t word = f->state;

	word = word << OPENED_BITS | f->opened;
	word = word << GENERATION_BITS | (f->generation & MASK(GENERATION_BITS));
	word = word << COUNT_BITS | f->count;
	return word << UNTIL_BITS | (f->until & MASK(UNTIL_BITS));
}

static uint16_t ticket_of(const struct fields *f)
{
	return (uint16_t)(f->generation | 1u << GENERATION_BITS);
}

/* Rounded up, at least 1, at most what the configuration allows. */
static uint32_t to_ms(int64_t ns)
{
	if (ns > DUR_MAX_CONFIG)
		ns = DUR_MAX_CONFIG;
	return ns <= DUR_MS ? 1 : (uint32_t)((ns + DUR_MS - 1) / DUR_MS);
}

static uint32_t now_ms(int64_t now)
{
	return (uint32_t)(now / DUR_MS) & MASK(UNTIL_BITS);
}

/* Clocks of others may be ahead by as much. */
#define LAG_MS 10000

/* ms until f->until. <longest> ms is the most that it can be: if it seems more, it was
 * long ago. */
static uint32_t left_ms(const struct fields *f, int64_t now, uint32_t longest)
{
	uint32_t left = (f->until - now_ms(now)) & MASK(UNTIL_BITS);

	return left <= longest + LAG_MS ? left : 0;
}

/* Open time number <opened>, and the longest that it could have been. */
static struct backoff_wait open_time(const struct policy *p, uint32_t opened, uint64_t random)
{
	struct backoff b = { .base = p->breaker.open_for,
		             .max = p->breaker.max_open_for,
		             .multiplier = 2 * PPM,
		             .jitter_ratio = p->backoff.jitter_ratio,
		             .jitter = p->backoff.jitter == JITTER_NONE ? JITTER_NONE
		                                                        : JITTER_PROPORTIONAL,
		             .cap = CAP_HARD };

	return backoff_wait(&b, opened, false, 0, random);
}

static uint32_t open_left_ms(const struct policy *p, const struct fields *f, int64_t now)
{
	return left_ms(f, now, to_ms(open_time(p, f->opened, 0).ceiling));
}

static struct breaker_told open_it(const struct policy *p, struct fields f, int64_t now,
                                   uint64_t random)
{
	f.state = BREAKER_OPEN;
	if (f.opened < OPENED_MAX)
		f.opened++;
	f.count = 0;
	f.generation++;
	f.until = now_ms(now) + to_ms(open_time(p, f.opened, random).wait);
	return (struct breaker_told){ .word = pack(&f), .opened = true };
}

static struct breaker_asked probe(struct fields f, int64_t now, int64_t probe_for)
{
	f.state = BREAKER_HALF_OPEN;
	f.count++;
	f.until = now_ms(now) + to_ms(probe_for);
	return (struct breaker_asked){ .word = pack(&f),
		                       .answer = BREAKER_PROBE,
		                       .ticket = ticket_of(&f) };
}

struct breaker_asked breaker_ask(const struct policy *p, uint64_t word, int64_t now,
                                 int64_t probe_for)
{
	struct breaker_asked same = { .word = word, .answer = BREAKER_GO };
	struct fields f = unpack(word);

	if (!p->breaker.enabled)
		return same;
	switch (f.state) {
	case BREAKER_OPEN:
		if (open_left_ms(p, &f, now) == 0)
			return probe(f, now, probe_for);
		break;
	case BREAKER_HALF_OPEN:
		if (left_ms(&f, now, to_ms(probe_for)) == 0) {
			f.generation++;
			f.count = 0;
			return probe(f, now, probe_for);
		}
		if (f.count < p->breaker.half_open_probes && f.count < COUNT_MAX)
			return probe(f, now, probe_for);
		break;
	default:
		return same;
	}
	same.answer = BREAKER_REFUSED;
	return same;
}

static struct breaker_told closed_failed(const struct policy *p, struct fields f, int64_t now,
                                         bool too_many, uint64_t random)
{
	uint32_t limit = p->breaker.consecutive_failures;

	if (f.count < COUNT_MAX)
		f.count++;
	if (too_many || (limit > 0 && f.count >= limit))
		return open_it(p, f, now, random);
	return (struct breaker_told){ .word = pack(&f) };
}

struct breaker_told breaker_failed(const struct policy *p, uint64_t word, int64_t now,
                                   uint16_t ticket, bool too_many, uint64_t random)
{
	struct fields f = unpack(word);

	if (p->breaker.enabled && f.state == BREAKER_CLOSED)
		return closed_failed(p, f, now, too_many, random);
	if (f.state == BREAKER_HALF_OPEN && ticket == ticket_of(&f))
		return open_it(p, f, now, random);
	return (struct breaker_told){ .word = word };
}

struct breaker_told breaker_succeeded(uint64_t word, uint16_t ticket)
{
	struct fields f = unpack(word);
	struct fields closed = { .state = BREAKER_CLOSED, .generation = f.generation };

	if (f.state != BREAKER_CLOSED && ticket == BREAKER_NO_TICKET)
		return (struct breaker_told){ .word = word };
	return (struct breaker_told){ .word = pack(&closed),
		                      .closed = f.state != BREAKER_CLOSED };
}

uint64_t breaker_abandoned(uint64_t word, uint16_t ticket)
{
	struct fields f = unpack(word);

	if (f.state != BREAKER_HALF_OPEN || ticket != ticket_of(&f) || f.count == 0)
		return word;
	f.count--;
	return pack(&f);
}

bool breaker_too_many(const struct breaker *b, uint64_t calls, uint64_t failures, int64_t now)
{
	int64_t of, failed;

	if (b->failure_ratio == 0)
		return false;
	of = window_estimate(calls, now, b->window);
	failed = window_estimate(failures, now, b->window);
	return of >= (int64_t)b->minimum_calls * PPM && failed >= dur_scale(of, b->failure_ratio);
}

enum breaker_state breaker_state(const struct policy *p, uint64_t word, int64_t now)
{
	struct fields f = unpack(word);

	if (f.state == BREAKER_OPEN && breaker_left(p, word, now) > 0)
		return BREAKER_OPEN;
	return f.state == BREAKER_OPEN || f.state == BREAKER_HALF_OPEN ? BREAKER_HALF_OPEN
	                                                               : BREAKER_CLOSED;
}

int64_t breaker_left(const struct policy *p, uint64_t word, int64_t now)
{
	struct fields f = unpack(word);

	return f.state == BREAKER_OPEN ? (int64_t)open_left_ms(p, &f, now) * DUR_MS : 0;
}

const char *breaker_state_name(enum breaker_state s)
{
	switch (s) {
	case BREAKER_CLOSED:
		return "closed";
	case BREAKER_OPEN:
		return "open";
	case BREAKER_HALF_OPEN:
		return "half-open";
	}
	return "?";
}
