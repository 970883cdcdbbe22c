/* SPDX-License-Identifier: MIT */
#include "policy/pace.h"

#include "base/prng.h"

/*
 * bits 0-1    enum pace_state
 *      2-8    the window
 *      9-15   out: attempts that have a place in it, or the probe
 *     16-19   probes that failed in a row: the gap to the next one grows
 *     20-31   turn: which probe or ramp a ticket is of; never 0
 *     32-63   ms: down: when the next probe may be made, or with one out when its
 *             right ends; ramp: when those that are out are forgotten
 */
struct pace {
	enum pace_state state;
	uint32_t window, out, failed, turn, ms;
};

#define TURNS 0xfff
#define GAP_MAX (500 * DUR_MS)

static uint32_t ms_of(int64_t ns)
{
	return (uint32_t)(ns / DUR_MS);
}

/* Wraps after 49 days. */
static bool is_past(uint32_t ms, int64_t now)
{
	return (int32_t)(ms - ms_of(now)) <= 0;
}

static struct pace read_word(uint64_t word, int64_t now)
{
	struct pace s = { .state = (enum pace_state)(word & 3),
		          .window = word >> 2 & 0x7f,
		          .out = word >> 9 & 0x7f,
		          .failed = word >> 16 & 0xf,
		          .turn = word >> 20 & TURNS,
		          .ms = (uint32_t)(word >> 32) };

	if (s.state > PACE_RAMP)
		return (struct pace){ .state = PACE_UP };
	if (s.window > PACE_WINDOW_MAX)
		s.window = PACE_WINDOW_MAX;
	if (s.state == PACE_RAMP && s.window == 0)
		s.window = 1;
	/* Longer than any right or gap: nobody has meant that. */
	if (!is_past(s.ms, now) && s.ms - ms_of(now) > 120000)
		s.ms = ms_of(now);
	return s;
}

static uint64_t word_of(const struct pace *s)
{
	return (uint64_t)s->state | (uint64_t)s->window << 2 | (uint64_t)s->out << 9 |
	       (uint64_t)s->failed << 16 | (uint64_t)(s->turn & TURNS) << 20 |
	       (uint64_t)s->ms << 32;
}

static void next_turn(struct pace *s)
{
	s->turn = (s->turn + 1) & TURNS;
	if (s->turn == 0)
		s->turn = 1;
}

/* Ramp and probe share the numbers: of the present turn. */
static bool is_of_now(const struct pace *s, uint16_t ticket)
{
	return ticket != PACE_NO_TICKET && s->turn == ticket && s->out > 0;
}

/* When somebody who is parked asks again: not all at once. */
static int64_t ask_again(int64_t now, uint64_t random)
{
	return dur_add(now, 50 * DUR_MS + prng_below(random, 100 * DUR_MS));
}

static struct pace_asked parked(uint64_t word, int64_t now, uint64_t random)
{
	return (struct pace_asked){ .word = word,
		                    .answer = PACE_PARK,
		                    .until = ask_again(now, random) };
}

static struct pace_asked go(struct pace *s, enum pace_answer answer)
{
	return (struct pace_asked){ .word = word_of(s),
		                    .answer = answer,
		                    .ticket = (uint16_t)s->turn };
}

struct pace_asked pace_ask(const struct policy *p, uint64_t word, int64_t now,
                           int64_t probe_for, uint64_t random)
{
	struct pace s = read_word(word, now);

	if (!p->coordinate || s.state == PACE_UP)
		return (struct pace_asked){ .word = word, .answer = PACE_GO };
	if (s.state == PACE_DOWN) {
		if (!is_past(s.ms, now))
			return parked(word, now, random);
		/* Nobody probes, or who does has had the time. */
		next_turn(&s);
		s.out = 1;
		s.ms = ms_of(dur_add(now, probe_for));
		return go(&s, PACE_PROBE);
	}
	if (s.out > 0 && is_past(s.ms, now))
		s.out = 0;
	if (s.out >= s.window)
		return parked(word, now, random);
	s.out++;
	s.ms = ms_of(dur_add(now, probe_for));
	return go(&s, PACE_GO);
}

/* Down, with the next probe after a gap that grows. */
static void bring_down(struct pace *s, const struct policy *p, int64_t now, uint64_t random)
{
	int64_t most = p->backoff.max < GAP_MAX ? p->backoff.max : GAP_MAX;
	int64_t gap = p->backoff.base;

	for (unsigned i = 0; i < s->failed && gap < most; i++)
		gap *= 2;
	if (gap > most)
		gap = most;
	if (s->failed < 15)
		s->failed++;
	s->state = PACE_DOWN;
	s->window = 0;
	s->out = 0;
	s->ms = ms_of(dur_add(now, gap / 2 + prng_below(random, gap)));
	next_turn(s);
}

uint64_t pace_failed(const struct policy *p, uint64_t word, int64_t now, uint16_t ticket,
                     uint64_t random)
{
	struct pace s = read_word(word, now);

	if (!p->coordinate)
		return word;
	switch (s.state) {
	case PACE_UP:
		s.failed = 0;
		bring_down(&s, p, now, random);
		break;
	case PACE_DOWN:
		/* Others' failures say what is known already. */
		if (!is_of_now(&s, ticket))
			return word;
		bring_down(&s, p, now, random);
		break;
	case PACE_RAMP:
		if (is_of_now(&s, ticket))
			s.out--;
		if (s.window <= 1) {
			bring_down(&s, p, now, random);
			break;
		}
		s.window /= 2;
		break;
	}
	return word_of(&s);
}

uint64_t pace_succeeded(const struct policy *p, uint64_t word, int64_t now, uint16_t ticket,
                        bool slow)
{
	struct pace s = read_word(word, now);

	if (!p->coordinate || s.state == PACE_UP)
		return word;
	if (s.state == PACE_DOWN) {
		/* Also if it was not the probe: somebody got through. */
		s.state = PACE_RAMP;
		s.window = PACE_WINDOW;
		s.out = 0;
		s.failed = 0;
		next_turn(&s);
		return word_of(&s);
	}
	if (is_of_now(&s, ticket))
		s.out--;
	if (slow)
		s.window = s.window > 1 ? s.window / 2 : 1;
	else if (s.window < PACE_WINDOW_MAX)
		s.window++;
	else
		s = (struct pace){ .state = PACE_UP, .turn = s.turn };
	return word_of(&s);
}

uint64_t pace_abandoned(uint64_t word, uint16_t ticket)
{
	struct pace s = read_word(word, (int64_t)(word >> 32) * DUR_MS);

	if (s.state == PACE_UP || !is_of_now(&s, ticket))
		return word;
	s.out--;
	/* The right to probe is free again at once. */
	if (s.state == PACE_DOWN) {
		next_turn(&s);
		s.ms -= 1 << 20;
	}
	return word_of(&s);
}

enum pace_state pace_state(uint64_t word, int64_t now)
{
	return read_word(word, now).state;
}

const char *pace_state_name(enum pace_state s)
{
	switch (s) {
	case PACE_UP:
		return "up";
	case PACE_DOWN:
		return "down";
	case PACE_RAMP:
		return "ramp";
	}
	return "?";
}
