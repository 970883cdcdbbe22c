/* SPDX-License-Identifier: MIT */
#include "state/view.h"

#include <string.h>

#include "base/duration.h"
#include "policy/builtin.h"

/* Finer than that it is of no use to anybody. */
static int64_t to_ms(int64_t ns)
{
	return ns / DUR_MS * DUR_MS;
}

static uint64_t word(const _Atomic uint64_t *w)
{
	return atomic_load_explicit(w, memory_order_relaxed);
}

static void words(uint64_t *to, const _Atomic uint64_t *from, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		to[i] = word(&from[i]);
}

/* What the word says, without the policy that it is of: how long it may be open is not
 * known, but never longer than any configuration allows, and it was opened by a failure. */
static void read_breaker(struct stats_dest *d, uint64_t breaker, int64_t now)
{
	struct policy p = builtin_default();

	p.breaker.enabled = true;
	p.breaker.open_for = p.breaker.max_open_for = DUR_MAX_CONFIG;
	d->has_breaker = breaker != 0;
	d->breaker = breaker_state(&p, breaker, now);
	d->breaker_left = breaker_left(&p, breaker, now);
	if (d->breaker == BREAKER_OPEN && d->last_failure > DUR_MAX_CONFIG) {
		d->breaker = BREAKER_HALF_OPEN;
		d->breaker_left = 0;
	}
}

static void read_failure(struct stats_dest *d, const struct slot *s, int64_t now)
{
	bool lookup = strncmp(d->text, "lookup:", 7) == 0;
	int64_t at = (int64_t)word(&s->last_failure);

	d->last_error.domain = lookup ? ERR_EAI : ERR_ERRNO;
	d->last_error.code = (int)(int32_t)(uint32_t)word(&s->last_error);
	d->last_failure = at <= 0 ? -1 : at > now ? 0 : to_ms(now - at);
}

void view_read(struct stats_dest *d, const struct slot *s, int64_t now)
{
	int64_t hold = (int64_t)word(&s->hold);
	uint64_t pace = word(&s->pace);

	memset(d, 0, sizeof(*d));
	memcpy(d->text, (const void *)s->text, SLOT_TEXT);
	memcpy(d->policy, (const void *)s->policy, SLOT_POLICY);
	words(d->tally, s->tally, TALLY_COUNT);
	words(d->attempts, s->attempts, STATS_ATTEMPTS);
	words(d->waits, s->waits, STATS_WAITS);
	d->sum_attempts = word(&s->sum_attempts);
	d->sum_wait = word(&s->sum_wait);
	d->budget_calls = word(&s->calls);
	d->budget_spent = word(&s->spent);
	d->budget_left = -1;
	/* A longer one is none: as in engine/guard. */
	if (hold > now && hold - now <= DUR_MAX_CONFIG)
		d->hold_left = to_ms(dur_add(hold - now, DUR_MS - 1));
	d->has_pace = pace != 0;
	d->pace = pace_state(pace, now);
	read_failure(d, s, now);
	read_breaker(d, word(&s->breaker), now);
}

uint64_t stats_gave_up(const struct stats_dest *d)
{
	return d->tally[TALLY_GAVE_UP_ATTEMPTS] + d->tally[TALLY_GAVE_UP_DEADLINE] +
	       d->tally[TALLY_GAVE_UP_STOPPING] + d->tally[TALLY_BUDGET_REFUSED] +
	       d->tally[TALLY_BREAKER_REFUSED] + d->tally[TALLY_CONCURRENT_REFUSED];
}

uint64_t stats_passed(const struct stats_dest *d)
{
	return d->tally[TALLY_NOT_RETRYABLE] + d->tally[TALLY_GAVE_UP_OTHER];
}

uint64_t stats_first_ok(const struct stats_dest *d)
{
	uint64_t others = d->tally[TALLY_RECOVERED] + stats_gave_up(d) + stats_passed(d) +
	                  d->tally[TALLY_ABANDONED];

	return d->tally[TALLY_CALLS] > others ? d->tally[TALLY_CALLS] - others : 0;
}
