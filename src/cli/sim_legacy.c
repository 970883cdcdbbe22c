/* SPDX-License-Identifier: MIT */
#include "cli/sim_legacy.h"

#include <errno.h>
#include <math.h>

#include "base/compat.h"

#define MT_SIZE 624
#define MT_SHIFT 397

/* MT19937, as Matsumoto and Nishimura describe it. */
struct mt {
	uint32_t state[MT_SIZE];
	unsigned at;
};

static void mt_seed(struct mt *m, uint32_t seed)
{
	m->state[0] = seed;
	for (unsigned i = 1; i < MT_SIZE; i++)
		m->state[i] = 1812433253u * (m->state[i - 1] ^ m->state[i - 1] >> 30) + i;
	m->at = MT_SIZE;
}

/* Moves on around the ring; its last member then stands in front, too. */
static unsigned next(struct mt *m, unsigned i)
{
	if (++i < MT_SIZE)
		return i;
	m->state[0] = m->state[MT_SIZE - 1];
	return 1;
}

/* By a list of words, least first: how Python seeds with an integer. */
static void mt_seed_words(struct mt *m, const uint32_t *words, unsigned count)
{
	unsigned i = 1;

	mt_seed(m, 19650218u);
	for (unsigned k = 0; k < MT_SIZE; k++) {
		uint32_t last = m->state[i - 1] ^ m->state[i - 1] >> 30;

		m->state[i] = (m->state[i] ^ last * 1664525u) + words[k % count] + k % count;
		i = next(m, i);
	}
	for (unsigned k = 0; k < MT_SIZE - 1; k++) {
		uint32_t last = m->state[i - 1] ^ m->state[i - 1] >> 30;

		m->state[i] = (m->state[i] ^ last * 1566083941u) - i;
		i = next(m, i);
	}
	m->state[0] = UINT32_C(1) << 31;
}

static uint32_t mt_next(struct mt *m)
{
	uint32_t y;

	if (m->at == MT_SIZE) {
		for (unsigned i = 0; i < MT_SIZE; i++) {
			uint32_t high = m->state[i] & UINT32_C(0x80000000);
			uint32_t low = m->state[(i + 1) % MT_SIZE] & UINT32_C(0x7fffffff);

			m->state[i] = m->state[(i + MT_SHIFT) % MT_SIZE] ^ (high | low) >> 1 ^
			              (low & 1 ? UINT32_C(0x9908b0df) : 0);
		}
		m->at = 0;
	}
	y = m->state[m->at++];
	y ^= y >> 11;
	y ^= y << 7 & UINT32_C(0x9d2c5680);
	y ^= y << 15 & UINT32_C(0xefc60000);
	return y ^ y >> 18;
}

/* random.random() */
static double mt_random(struct mt *m)
{
	uint32_t high = mt_next(m) >> 5;
	uint32_t low = mt_next(m) >> 6;

	return (high * 67108864.0 + low) / 9007199254740992.0;
}

static double mt_between(struct mt *m, double low, double high)
{
	return low + (high - low) * mt_random(m);
}

#define OUTAGES 300
#define REQUESTS 10000
#define EVERY 5.0    /* ms, as all that follow */
#define LATENCY 20.0
#define FAIL 0.01

struct span {
	double start, end;
};

struct script {
	struct mt random;
	struct span outages[OUTAGES];
	unsigned cursor;
};

static void draw_outages(struct script *s)
{
	double at = 0;

	for (unsigned i = 0; i < OUTAGES; i++) {
		at += -log(1.0 - mt_random(&s->random)) / (1.0 / 2000.0);
		s->outages[i].start = at;
		s->outages[i].end = at + mt_between(&s->random, 50, 500);
	}
}

/* The mistake: what the cursor has passed is up for ever, also for a request that
 * begins earlier than the retry which moved it. */
static bool down(struct script *s, double at)
{
	while (s->cursor < OUTAGES && s->outages[s->cursor].end <= at)
		s->cursor++;
	return s->cursor < OUTAGES && s->outages[s->cursor].start <= at;
}

static double wait_after(struct script *s, unsigned policy, unsigned attempt)
{
	if (policy == 1)
		return 100;
	return 40.0 * (1u << (attempt - 1)) * mt_between(&s->random, 0.5, 1.5);
}

static int64_t ns(double ms)
{
	return (int64_t)llround(ms * (double)DUR_MS);
}

static void run(struct script *s, unsigned policy, const struct sim_outages *truth,
                struct sim_result *r)
{
	static const char *const names[] = { "none", "fixed-100ms", "backoff-40ms" };
	unsigned attempts = policy == 0 ? 1 : 4;
	struct sim_times took = { .at = NULL }, lost = { .at = NULL }, calls = { .at = NULL };

	*r = (struct sim_result){ .policy = names[policy] };
	s->cursor = 0;
	for (unsigned i = 0; i < REQUESTS; i++) {
		double began = EVERY * i, at = began;
		bool failed = true;

		for (unsigned n = 1; failed && n <= attempts; n++) {
			sim_times_add(&calls, ns(at));
			r->wasted += sim_outages_cover(truth, ns(at));
			/* Python's "or": no number is drawn during an outage. */
			failed = down(s, at) || mt_random(&s->random) < FAIL;
			at += LATENCY;
			if (failed && n < attempts)
				at += wait_after(s, policy, n);
		}
		sim_times_add(failed ? &lost : &took, ns(at - began));
	}
	sim_result_fill(r, &took, &lost, &calls);
	sim_times_free(&took);
	sim_times_free(&lost);
	sim_times_free(&calls);
}

void sim_legacy_run(uint64_t seed, struct sim_result results[SIM_LEGACY_POLICIES],
                    struct sim_outages *outages)
{
	uint32_t words[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
	struct interval list[OUTAGES];
	struct script s;

	mt_seed_words(&s.random, words, words[1] ? 2 : 1);
	draw_outages(&s);
	for (unsigned i = 0; i < OUTAGES; i++)
		list[i] = (struct interval){ ns(s.outages[i].start), ns(s.outages[i].end) };
	sim_outages_set(outages, list, OUTAGES);
	for (unsigned policy = 0; policy < SIM_LEGACY_POLICIES; policy++)
		run(&s, policy, outages, &results[policy]);
}

struct sim_outage_world sim_legacy_world(const struct sim_outages *outages)
{
	return (struct sim_outage_world){ .requests = REQUESTS,
	                                  .every = 5 * DUR_MS,
	                                  .latency = 20 * DUR_MS,
	                                  .fail = PPM / 100,
	                                  .error = ECONNREFUSED,
	                                  .outages = outages };
}
