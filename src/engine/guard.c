/* SPDX-License-Identifier: MIT */
#include "engine/guard.h"

#include <errno.h>

#include "base/compat.h"
#include "base/fmt.h"
#include "policy/breaker.h"
#include "policy/budget.h"
#include "policy/classify.h"
#include "policy/pace.h"
#include "policy/window.h"
#include "state/shm.h"

/* How long one attempt may take before its place is another's: its own limit, or
 * what a connect to a dead machine takes by the kernel's defaults is too long to
 * block everybody else. */
#define PROBE_FOR (3 * DUR_S)

/* An attempt that succeeded took long if it took so much more than the quickest did:
 * it stood in a line, or something was lost. */
#define SLOW (100 * DUR_MS)

/* How often who is held looks whether it still is. */
#define HOLD_STEP (100 * DUR_MS)

/* Tries of a compare-and-swap: somebody else was quicker each time, so others make
 * progress; what is lost is one count of many. */
#define TRIES 64

static void add(_Atomic uint64_t *word, uint64_t n)
{
	atomic_fetch_add_explicit(word, n, memory_order_relaxed);
}

static struct slot *stats_of(const struct guard *g)
{
	return g->stats ? g->stats : g->slot;
}

bool guard_is_open(const struct guard *g)
{
	if (!g->slot)
		return false;
	return shm_check(g->slot) && (!g->stats || shm_check(g->stats));
}

static void tally(const struct guard *g, enum tally what)
{
	add(&stats_of(g)->tally[what], 1);
}

static int64_t probe_for(const struct policy *p)
{
	int64_t own = p->attempt_timeout;

	return own == DUR_NONE ? PROBE_FOR : own < DUR_S ? DUR_S : own;
}

static void count(_Atomic uint64_t *word, int64_t now, int64_t length, uint32_t n)
{
	uint64_t was = atomic_load(word);

	for (unsigned i = 0; i < TRIES; i++)
		if (atomic_compare_exchange_weak(word, &was, window_add(was, now, length, n)))
			return;
}

static void find(struct guard *g, const struct guarded *who, const char *dest)
{
	bool shared;

	g->slot = who->ops->slot(who->ctx, who->policy, dest, &shared);
	if (g->slot && who->ops->stats)
		g->stats = who->ops->stats(who->ctx, who->policy, dest, shared);
}

/* Look-ups of a name are another matter than connects to it. */
static LR_NOINLINE void find_lookup(struct guard *g, const struct guarded *who)
{
	char dest[SLOT_TEXT];
	struct fmt f;

	fmt_init(&f, dest, sizeof(dest));
	fmt_str(&f, "lookup:");
	fmt_str(&f, who->dest);
	fmt_end(&f);
	find(g, who, dest);
}

void guard_open(struct guard *g, const struct guarded *who)
{
	if (g->slot || !who->ops->slot)
		return;
	if (who->op == OP_LOOKUP)
		find_lookup(g, who);
	else
		find(g, who, who->dest);
}

static void give_back(struct guard *g, const struct guarded *who, enum err_class paid,
                      uint64_t times)
{
	uint64_t was = atomic_load(&g->slot->spent);

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t word = was;

		for (uint64_t j = 0; j < times && word > 0; j++)
			word = budget_success(&who->policy->budget, word, paid);
		if (word == was || atomic_compare_exchange_weak(&g->slot->spent, &was, word))
			return;
	}
}

/* Only those to IP addresses are counted before anything fails. */
static bool is_tallied(const struct guarded *who)
{
	return who->addr && who->addr->family != AF_UNIX && who->ops->first_calls;
}

/* How many calls may have given their token back, had anybody seen them succeed: of <n>
 * that were tallied those before the present one, else as if there were one each second
 * since the last failure. */
static uint64_t unseen(const struct guard *g, const struct guarded *who, uint64_t n, int64_t now)
{
	int64_t last;

	if (guard_wants_first(who->policy) && who->op != OP_SEND)
		return 0;
	if (is_tallied(who))
		return n - (who->attempt <= 1);
	last = (int64_t)atomic_load(&g->slot->last_failure);
	return last > 0 && last < now ? (uint64_t)((now - last) / DUR_S) : 0;
}

/* The calls that were made since anything failed here, this one among them. */
static void take_calls(struct guard *g, const struct guarded *who, int64_t now)
{
	const struct policy *p = who->policy;
	uint64_t n = who->attempt <= 1;
	uint64_t recent = n;

	if (is_tallied(who))
		n = who->ops->first_calls(who->ctx, who->addr, p->budget.ttl, &recent);
	if (n == 0)
		return;
	add(&stats_of(g)->tally[TALLY_CALLS], n);
	if (p->budget.kind == BUDGET_RATIO)
		count(&g->slot->calls, now, p->budget.ttl,
		      recent > WINDOW_MAX ? WINDOW_MAX : (uint32_t)recent);
	else if (p->budget.kind == BUDGET_TOKENS)
		give_back(g, who, CLASS_NONE, unseen(g, who, n, now));
}

static enum breaker_answer ask_breaker(struct guard *g, const struct policy *p, int64_t now)
{
	uint64_t was = atomic_load(&g->slot->breaker);
	struct breaker_asked a = { .answer = BREAKER_REFUSED };

	for (unsigned i = 0; i < TRIES; i++) {
		a = breaker_ask(p, was, now, probe_for(p));
		if (a.word == was ||
		    atomic_compare_exchange_weak(&g->slot->breaker, &was, a.word)) {
			g->breaker = a.ticket;
			return a.answer;
		}
	}
	return BREAKER_REFUSED;
}

static enum pace_answer ask_pace(struct guard *g, const struct guarded *who, unsigned attempt,
                                 int64_t now, int64_t *until)
{
	bool fresh = attempt <= 1 && !g->parked;
	const struct policy *p = who->policy;
	uint64_t random = who->ops->random(who->ctx);
	uint64_t was = atomic_load(&g->slot->pace);

	for (unsigned i = 0; i < TRIES; i++) {
		struct pace_asked a = pace_ask(p, was, now, probe_for(p), fresh, random);

		*until = a.until;
		if (a.word == was || atomic_compare_exchange_weak(&g->slot->pace, &was, a.word)) {
			g->pace = a.ticket;
			return a.answer;
		}
	}
	*until = dur_add(now, 100 * DUR_MS);
	return PACE_PARK;
}

/* "libretry hold" writes it where everybody looks for his slot: of one that has its words
 * for itself that is where its outcomes are counted. */
static int64_t held_until(const struct guard *g, int64_t now)
{
	int64_t own = (int64_t)atomic_load(&g->slot->hold);
	int64_t shown = g->stats ? (int64_t)atomic_load(&g->stats->hold) : 0;
	int64_t hold = own > shown ? own : shown;

	/* Longer than anybody can have said: of another clock, or nobody's word. */
	return dur_sub(hold, now) <= DUR_MAX_CONFIG ? hold : 0;
}

enum guard_answer guard_ask(struct guard *g, const struct guarded *who, unsigned attempt,
                            int64_t now, int64_t *until, enum reason *reason)
{
	int64_t hold;

	if (!guard_is_open(g))
		return GUARD_GO;
	hold = held_until(g, now);
	/* Looked at again now and then: it may be released. */
	if (hold > now) {
		*until = hold < dur_add(now, HOLD_STEP) ? hold : dur_add(now, HOLD_STEP);
		*reason = REASON_HOLD;
		return GUARD_PARK;
	}
	if (who->policy->breaker.enabled && ask_breaker(g, who->policy, now) == BREAKER_REFUSED)
		return GUARD_REFUSED;
	if (who->policy->coordinate) {
		enum pace_answer answer = ask_pace(g, who, attempt, now, until);

		if (answer == PACE_PARK) {
			*reason = REASON_PACE;
			guard_abandoned(g);
			g->parked = true;
			tally(g, TALLY_PARKED);
			return GUARD_PARK;
		}
		if (answer == PACE_PROBE)
			tally(g, TALLY_PROBES);
	}
	if (attempt > 1)
		tally(g, TALLY_RETRIES);
	return GUARD_GO;
}

static void tell_breaker_failed(struct guard *g, const struct guarded *who, int64_t now)
{
	const struct breaker *b = &who->policy->breaker;
	uint64_t random = who->ops->random(who->ctx);
	bool too_many = false;
	uint64_t was;

	if (b->failure_ratio > 0) {
		count(&g->slot->breaker_calls, now, b->window, 1);
		count(&g->slot->breaker_failures, now, b->window, 1);
		too_many = breaker_too_many(b, atomic_load(&g->slot->breaker_calls),
		                            atomic_load(&g->slot->breaker_failures), now);
	}
	was = atomic_load(&g->slot->breaker);
	for (unsigned i = 0; i < TRIES; i++) {
		struct breaker_told t = breaker_failed(who->policy, was, now, g->breaker, too_many,
		                                       random);

		if (t.word == was ||
		    atomic_compare_exchange_weak(&g->slot->breaker, &was, t.word))
			break;
	}
	g->breaker = BREAKER_NO_TICKET;
}

static void tell_breaker_succeeded(struct guard *g, const struct guarded *who, int64_t now)
{
	const struct breaker *b = &who->policy->breaker;
	uint64_t was = atomic_load(&g->slot->breaker);

	if (b->failure_ratio > 0)
		count(&g->slot->breaker_calls, now, b->window, 1);
	for (unsigned i = 0; i < TRIES; i++) {
		struct breaker_told t = breaker_succeeded(was, g->breaker);

		if (t.word != was &&
		    !atomic_compare_exchange_weak(&g->slot->breaker, &was, t.word))
			continue;
		if (t.closed) {
			atomic_store(&g->slot->breaker_calls, 0);
			atomic_store(&g->slot->breaker_failures, 0);
		}
		break;
	}
	g->breaker = BREAKER_NO_TICKET;
}

static void tell_pace(struct guard *g, const struct guarded *who, int64_t now, bool failed,
                      bool slow)
{
	uint64_t random = who->ops->random(who->ctx);
	uint64_t was = atomic_load(&g->slot->pace);

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t word = failed ? pace_failed(who->policy, was, now, g->pace, random)
		                       : pace_succeeded(who->policy, was, now, g->pace, slow);

		if (word == was || atomic_compare_exchange_weak(&g->slot->pace, &was, word))
			break;
	}
	g->pace = PACE_NO_TICKET;
}

/* The quickest success so far is in .pace_more. If somebody has left nonsense there: with
 * too little a ramp is slower than it need be, too much is set right by the next success. */
static bool is_slow(struct guard *g, int64_t took)
{
	uint64_t t = took > 0 ? (uint64_t)took : 1;
	uint64_t best = atomic_load(&g->slot->pace_more);

	if (best == 0 || t < best) {
		atomic_store(&g->slot->pace_more, t);
		return false;
	}
	return t - best > SLOW;
}

void guard_failed(struct guard *g, const struct guarded *who, struct err e, bool counts,
                  int64_t now)
{
	guard_open(g, who);
	if (!guard_is_open(g))
		return;
	take_calls(g, who, now);
	atomic_store(&g->slot->last_error, (uint64_t)(uint32_t)e.code);
	atomic_store(&g->slot->last_failure, (uint64_t)now);
	if (g->stats) {
		atomic_store(&g->stats->last_error, (uint64_t)(uint32_t)e.code);
		atomic_store(&g->stats->last_failure, (uint64_t)now);
	}
	if (!counts) {
		guard_abandoned(g);
		return;
	}
	if (who->policy->breaker.enabled)
		tell_breaker_failed(g, who, now);
	if (who->policy->coordinate)
		tell_pace(g, who, now, true, false);
}

bool guard_is_shut(const struct guard *g, const struct guarded *who, int64_t now, int64_t wait)
{
	return who->policy->breaker.enabled && guard_is_open(g) &&
	       breaker_state(who->policy, atomic_load(&g->slot->breaker), dur_add(now, wait)) ==
	               BREAKER_OPEN;
}

bool guard_pay(struct guard *g, const struct guarded *who, enum err_class class, int64_t now)
{
	const struct budget *b = &who->policy->budget;
	uint64_t was;

	g->paid = class;
	if (!guard_is_open(g) || b->kind == BUDGET_NONE)
		return true;
	was = atomic_load(&g->slot->spent);
	for (unsigned i = 0; i < TRIES; i++) {
		struct budget_step s = budget_retry(b, atomic_load(&g->slot->calls), was, now,
		                                    class);

		if (!s.allowed) {
			g->paid = CLASS_NONE;
			return false;
		}
		if (s.word == was || atomic_compare_exchange_weak(&g->slot->spent, &was, s.word))
			return true;
	}
	return true;
}

static void histograms(struct guard *g, unsigned attempts, int64_t waited)
{
	static const int64_t bounds[] = { 10 * DUR_MS, 30 * DUR_MS, 100 * DUR_MS, 300 * DUR_MS,
	                                  1 * DUR_S,   3 * DUR_S,   10 * DUR_S,   30 * DUR_S,
	                                  100 * DUR_S };
	struct slot *stats = stats_of(g);
	unsigned at = 0;

	if (attempts > 0) {
		add(&stats->attempts[attempts <= 5 ? attempts - 1 : attempts <= 10 ? 5 : 6], 1);
		add(&stats->sum_attempts, attempts);
	}
	if (waited <= 0)
		return;
	while (at < ARRAY_LEN(bounds) && waited > bounds[at])
		at++;
	add(&stats->waits[at], 1);
	add(&stats->sum_wait, (uint64_t)(waited / DUR_US));
}

void guard_succeeded(struct guard *g, const struct guarded *who, bool elsewhere,
                     unsigned attempt, int64_t waited, int64_t began, int64_t now)
{
	if (!guard_is_open(g))
		return;
	if (who->policy->breaker.enabled && !elsewhere)
		tell_breaker_succeeded(g, who, now);
	if (who->policy->coordinate && !elsewhere)
		tell_pace(g, who, now, false, is_slow(g, dur_sub(now, began)));
	if (who->policy->budget.kind == BUDGET_TOKENS)
		give_back(g, who, attempt > 1 ? g->paid : CLASS_NONE, 1);
	if (attempt <= 1)
		return;
	tally(g, TALLY_RECOVERED);
	histograms(g, attempt, waited);
}

static enum tally tally_of(enum reason reason)
{
	switch (reason) {
	case REASON_ATTEMPTS:
		return TALLY_GAVE_UP_ATTEMPTS;
	case REASON_DEADLINE:
		return TALLY_GAVE_UP_DEADLINE;
	case REASON_STOPPING:
	case REASON_INTERRUPTED:
		return TALLY_GAVE_UP_STOPPING;
	case REASON_BUDGET:
		return TALLY_BUDGET_REFUSED;
	case REASON_CONCURRENT:
		return TALLY_CONCURRENT_REFUSED;
	case REASON_BREAKER:
		return TALLY_BREAKER_REFUSED;
	case REASON_NOT_RETRYABLE:
		return TALLY_NOT_RETRYABLE;
	default:
		return TALLY_GAVE_UP_OTHER;
	}
}

void guard_gave_up(struct guard *g, const struct guarded *who, unsigned attempts,
                   int64_t waited, enum reason reason)
{
	if (!guard_is_open(g))
		return;
	/* Of a call that no attempt was made for no failure has been told. */
	if (attempts == 0)
		take_calls(g, who, who->ops->now(who->ctx));
	guard_abandoned(g);
	tally(g, tally_of(reason));
	histograms(g, attempts, waited);
}

void guard_abandoned(struct guard *g)
{
	uint64_t was, word;

	if (!guard_is_open(g))
		return;
	was = atomic_load(&g->slot->breaker);
	for (unsigned i = 0; g->breaker != BREAKER_NO_TICKET && i < TRIES; i++) {
		word = breaker_abandoned(was, g->breaker);
		if (word == was || atomic_compare_exchange_weak(&g->slot->breaker, &was, word))
			break;
	}
	g->breaker = BREAKER_NO_TICKET;
	was = atomic_load(&g->slot->pace);
	for (unsigned i = 0; g->pace != PACE_NO_TICKET && i < TRIES; i++) {
		word = pace_abandoned(was, g->pace);
		if (word == was || atomic_compare_exchange_weak(&g->slot->pace, &was, word))
			break;
	}
	g->pace = PACE_NO_TICKET;
}

void guard_left(struct guard *g)
{
	guard_abandoned(g);
	if (guard_is_open(g))
		tally(g, TALLY_ABANDONED);
}

void guard_injected(const struct guarded *who)
{
	struct guard g = { .slot = NULL };

	guard_open(&g, who);
	if (g.slot)
		tally(&g, TALLY_INJECTED);
}

void guard_stale(const struct guard *g)
{
	if (guard_is_open(g))
		tally(g, TALLY_STALE);
}

struct err guard_last_error(const struct guard *g, const struct guarded *who)
{
	struct err e = { who->op == OP_LOOKUP ? ERR_EAI : ERR_ERRNO, 0 };

	if (!guard_is_open(g))
		return e;
	e.code = (int)(int32_t)(uint32_t)atomic_load(&g->slot->last_error);
	/* What is in shared memory is anybody's: it must be an error of such a call. */
	if (!policy_retries(who->policy, who->op, e, 0, false))
		e.code = 0;
	return e;
}
