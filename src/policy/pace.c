/* SPDX-License-Identifier: MIT */
#include "policy/pace.h"

#include "base/prng.h"

/*
 * bits 0-1    enum pace_state
 *      2-8    ramp: the window
 *      9-15   out: who was let go and has not reported; down: the probe
 *     16-22   ramp: how many were let go in this tick; else: how many probes have
 *             failed in a row
 *     23-25   ramp: ticks are longer, by so many doublings
 *     26-27   ramp: attempts that failed in a row
 *     28      ramp: somebody was parked in this tick
 *     29      ramp: the window was narrowed in this tick
 *     30-37   turn: which probe or ramp a ticket is of; never 0
 *     38-63   ms: down: when the next probe may be made, or with one out when its
 *             right ends; ramp: when this tick began
 */
struct pace {
	enum pace_state state;
	uint32_t window, out, count, longer, failed;
	bool waiting, narrowed;
	uint32_t turn, ms;
};

#define COUNT_MAX 0x7f
#define TURNS 0xff
#define MS_BITS 26
#define MS_MASK ((UINT32_C(1) << MS_BITS) - 1)

/* Who is parked asks again within 150 ms: in most ticks all of them do. */
#define TICK_MS 100
#define LONGER_MAX 6
/* Nobody has come for so long: whoever was waiting has gone. */
#define QUIET_MS 10000

/* So many failures in a row in the ramp: it is down again. */
#define FAILED_MAX 3

/* Between probes; more once that many have failed. */
#define GAP_MAX (300 * DUR_MS)
#define GAP_GROWS 32

#define RIGHT_MAX (60 * DUR_S)

static uint32_t ms_of(int64_t ns)
{
	return (uint32_t)(ns / DUR_MS) & MS_MASK;
}

/* How long ago <ms> was; negative: it is to come. Wraps after 18 hours. */
static int32_t ms_since(uint32_t ms, int64_t now)
{
	uint32_t d = (ms_of(now) - ms) & MS_MASK;

	return d > MS_MASK / 2 ? (int32_t)d - (int32_t)MS_MASK - 1 : (int32_t)d;
}

static struct pace unpack(uint64_t word)
{
	return (struct pace){ .state = (enum pace_state)(word & 3),
		              .window = word >> 2 & 0x7f,
		              .out = word >> 9 & 0x7f,
		              .count = word >> 16 & COUNT_MAX,
		              .longer = word >> 23 & 7,
		              .failed = word >> 26 & 3,
		              .waiting = word >> 28 & 1,
		              .narrowed = word >> 29 & 1,
		              .turn = word >> 30 & TURNS,
		              .ms = (uint32_t)(word >> 38) };
}

static uint64_t word_of(const struct pace *s)
{
	return (uint64_t)s->state | (uint64_t)s->window << 2 | (uint64_t)s->out << 9 |
	       (uint64_t)s->count << 16 | (uint64_t)s->longer << 23 | (uint64_t)s->failed << 26 |
	       (uint64_t)s->waiting << 28 | (uint64_t)s->narrowed << 29 |
	       (uint64_t)s->turn << 30 | (uint64_t)(s->ms & MS_MASK) << 38;
}

/* The next tick, if it is time for one. If in the last one nobody had to wait, there is
 * nobody left to be held back. */
static void tick(struct pace *s, int64_t now)
{
	int32_t since = ms_since(s->ms, now);

	if (since < TICK_MS << s->longer)
		return;
	if (!s->waiting || since > QUIET_MS) {
		*s = (struct pace){ .state = PACE_UP, .turn = s->turn };
		return;
	}
	s->ms = ms_of(now);
	s->count = s->window;
	s->waiting = s->narrowed = false;
}

/* Anybody may have written it: what nobody can have meant becomes something harmless. */
static struct pace read_word(uint64_t word, int64_t now)
{
	struct pace s = unpack(word);
	int32_t ahead;

	if (s.state > PACE_RAMP)
		return (struct pace){ .state = PACE_UP };
	if (s.state == PACE_UP)
		return s;
	ahead = -ms_since(s.ms, now);
	if (ahead > (s.state == PACE_DOWN ? (int32_t)(RIGHT_MAX / DUR_MS) : TICK_MS))
		s.ms = ms_of(now);
	if (s.state == PACE_DOWN)
		return s;
	if (s.window > PACE_WINDOW_MAX)
		s.window = PACE_WINDOW_MAX;
	if (s.window == 0)
		s.window = 1;
	if (s.count > s.window)
		s.count = s.window;
	if (s.longer > LONGER_MAX)
		s.longer = LONGER_MAX;
	return s;
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

static struct pace_asked parked(const struct pace *s, int64_t now, uint64_t random)
{
	return (struct pace_asked){ .word = word_of(s),
		                    .answer = PACE_PARK,
		                    .until = ask_again(now, random) };
}

static struct pace_asked go(const struct pace *s, enum pace_answer answer, uint32_t ticket)
{
	return (struct pace_asked){ .word = word_of(s),
		                    .answer = answer,
		                    .ticket = (uint16_t)ticket };
}

static struct pace_asked ask_ramp(struct pace *s, int64_t now, int64_t probe_for, bool fresh,
                                  uint64_t random)
{
	if (s->out >= s->window && ms_since(s->ms, now) * DUR_MS >= probe_for)
		s->out = 0;
	/* While all that were let go are out no time passes for the others. */
	if (s->out < s->window)
		tick(s, now);
	if (s->state == PACE_UP || fresh)
		return go(s, PACE_GO, PACE_NO_TICKET);
	if (s->out >= s->window || s->count == 0) {
		s->waiting = true;
		return parked(s, now, random);
	}
	s->out++;
	s->count--;
	return go(s, PACE_GO, s->turn);
}

struct pace_asked pace_ask(const struct policy *p, uint64_t word, int64_t now,
                           int64_t probe_for, bool fresh, uint64_t random)
{
	struct pace s = read_word(word, now);

	if (!p->coordinate || s.state == PACE_UP)
		return (struct pace_asked){ .word = word, .answer = PACE_GO };
	if (probe_for > RIGHT_MAX)
		probe_for = RIGHT_MAX;
	if (s.state == PACE_RAMP)
		return ask_ramp(&s, now, probe_for, fresh, random);
	if (ms_since(s.ms, now) < 0)
		return parked(&s, now, random);
	/* Nobody probes, or who does has had the time. */
	next_turn(&s);
	s.out = 1;
	s.ms = ms_of(dur_add(now, probe_for));
	return go(&s, PACE_PROBE, s.turn);
}

/* Down, with the next probe after a gap that grows. */
static void bring_down(struct pace *s, const struct policy *p, int64_t now, uint64_t random)
{
	uint32_t probes = s->state == PACE_DOWN ? s->count : 0;
	int64_t most = GAP_MAX + GAP_MAX * probes / GAP_GROWS;
	int64_t gap = p->backoff.base;

	if (most > p->backoff.max)
		most = p->backoff.max;
	for (uint32_t i = 0; i < probes && gap < most; i++)
		gap *= 2;
	if (gap > most)
		gap = most;
	*s = (struct pace){ .state = PACE_DOWN,
		            .count = probes < COUNT_MAX ? probes + 1 : probes,
		            .turn = s->turn,
		            .ms = ms_of(dur_add(now, gap / 2 + prng_below(random, gap))) };
	next_turn(s);
}

/* Once in a tick: those that are out at one time meet the same trouble. */
static void narrow(struct pace *s)
{
	if (s->narrowed)
		return;
	s->narrowed = true;
	s->count = 0;
	if (s->window > 1)
		s->window /= 2;
	else if (s->longer < LONGER_MAX)
		s->longer++;
}

static void widen(struct pace *s)
{
	if (s->longer > 0)
		s->longer /= 2;
	else if (s->window < PACE_WINDOW_MAX)
		s->window++;
}

uint64_t pace_failed(const struct policy *p, uint64_t word, int64_t now, uint16_t ticket,
                     uint64_t random)
{
	struct pace s = read_word(word, now);

	if (!p->coordinate)
		return word;
	/* Others' failures say what is known already. */
	if (s.state == PACE_DOWN && !is_of_now(&s, ticket))
		return word;
	if (s.state == PACE_RAMP) {
		if (is_of_now(&s, ticket))
			s.out--;
		tick(&s, now);
	}
	if (s.state == PACE_RAMP && ++s.failed < FAILED_MAX)
		narrow(&s);
	else
		bring_down(&s, p, now, random);
	return word_of(&s);
}

uint64_t pace_succeeded(const struct policy *p, uint64_t word, int64_t now, uint16_t ticket,
                        bool slow)
{
	struct pace s = read_word(word, now);
	bool let_go;

	if (!p->coordinate || s.state == PACE_UP)
		return word;
	if (s.state == PACE_DOWN) {
		/* Also if it was not the probe: somebody got through. */
		s = (struct pace){ .state = PACE_RAMP,
			           .window = slow ? 1 : PACE_WINDOW,
			           .count = slow ? 1 : PACE_WINDOW,
			           .longer = slow ? LONGER_MAX : 0,
			           .waiting = true,
			           .turn = s.turn,
			           .ms = ms_of(now) };
		next_turn(&s);
		return word_of(&s);
	}
	let_go = is_of_now(&s, ticket);
	s.out -= let_go;
	s.failed = 0;
	tick(&s, now);
	if (s.state == PACE_UP)
		return word_of(&s);
	if (slow)
		narrow(&s);
	else if (let_go)
		widen(&s);
	return word_of(&s);
}

uint64_t pace_abandoned(uint64_t word, uint16_t ticket)
{
	struct pace s = unpack(word);

	if ((s.state != PACE_DOWN && s.state != PACE_RAMP) || !is_of_now(&s, ticket))
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
	struct pace s = read_word(word, now);

	if (s.state == PACE_RAMP)
		tick(&s, now);
	return s.state;
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
