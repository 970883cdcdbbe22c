/* SPDX-License-Identifier: MIT */
#include "policy/breaker.h"

#include <pthread.h>
#include <string.h>

#include "base/prng.h"
#include "policy/builtin.h"
#include "policy/window.h"
#include "tests/unit/unit.h"

/* As long as a machine may have been up; no round number of anything. */
#define START (INT64_C(1234567) * DUR_S + 890 * DUR_MS)
#define PROBE_FOR (2 * DUR_S)
#define LAG (10 * DUR_S)
#define WRAP ((INT64_C(1) << 28) * DUR_MS)

static struct policy policy(unsigned in_a_row, unsigned probes)
{
	struct policy p = builtin_default();

	p.backoff.jitter = JITTER_NONE;
	p.breaker.enabled = true;
	p.breaker.consecutive_failures = in_a_row;
	p.breaker.half_open_probes = probes;
	return p;
}

static struct breaker_asked ask(const struct policy *p, uint64_t *word, int64_t now)
{
	struct breaker_asked a = breaker_ask(p, *word, now, PROBE_FOR);

	if ((a.answer == BREAKER_PROBE) != (a.ticket != BREAKER_NO_TICKET))
		ck_abort_msg("answer %d with ticket %u", a.answer, a.ticket);
	*word = a.word;
	return a;
}

/* An attempt without a ticket fails; true if that opened it. */
static bool fails(const struct policy *p, uint64_t *word, int64_t now)
{
	struct breaker_told t = breaker_failed(p, *word, now, BREAKER_NO_TICKET, false, 0);

	*word = t.word;
	return t.opened;
}

static uint64_t opened(const struct policy *p, int64_t now)
{
	uint64_t word = 0;

	while (!fails(p, &word, now))
		ck_assert_int_eq(ask(p, &word, now).answer, BREAKER_GO);
	return word;
}

START_TEST(so_many_in_a_row_open_it)
{
	static const unsigned limits[] = { 1, 2, 5, 1000, 1000000 };

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct policy p = policy(limits[i], 1);
		uint64_t word = 0;
		unsigned early = 0;

		for (unsigned n = 1; n < limits[i]; n++)
			early += fails(&p, &word, START);
		/* A success between them begins the row again. */
		word = breaker_succeeded(word, BREAKER_NO_TICKET).word;
		for (unsigned n = 1; n < limits[i]; n++)
			early += fails(&p, &word, START);
		ck_assert_uint_eq(early, 0);
		ck_assert_int_eq(breaker_state(&p, word, START), BREAKER_CLOSED);
		ck_assert(fails(&p, &word, START));
		ck_assert_int_eq(breaker_state(&p, word, START), BREAKER_OPEN);
		ck_assert_int_eq(breaker_left(&p, word, START), 5 * DUR_S);
	}
}
END_TEST

START_TEST(success_of_a_good_one_stores_nothing)
{
	struct breaker_told t = breaker_succeeded(0, BREAKER_NO_TICKET);

	ck_assert_uint_eq(t.word, 0);
	ck_assert(!t.closed && !t.opened);
}
END_TEST

START_TEST(not_enabled_it_never_refuses)
{
	struct policy p = policy(1, 1);
	uint64_t word = opened(&p, START);

	p.breaker.enabled = false;
	ck_assert_int_eq(ask(&p, &word, START).answer, BREAKER_GO);
	word = 0;
	ck_assert(!fails(&p, &word, START));
	ck_assert_uint_eq(word, 0);
}
END_TEST

START_TEST(open_refuses_until_its_time_is_over)
{
	struct policy p = policy(5, 1);
	uint64_t word = opened(&p, START);
	uint64_t before = word;
	struct breaker_asked a;
	struct breaker_told t;

	ck_assert_int_eq(ask(&p, &word, START).answer, BREAKER_REFUSED);
	ck_assert_int_eq(ask(&p, &word, START + 4999 * DUR_MS).answer, BREAKER_REFUSED);
	/* What began before it opened does not count any more. */
	ck_assert(!fails(&p, &word, START + DUR_S));
	ck_assert_uint_eq(breaker_succeeded(word, BREAKER_NO_TICKET).word, before);
	ck_assert_uint_eq(word, before);
	ck_assert_int_eq(breaker_state(&p, word, START + 5 * DUR_S), BREAKER_HALF_OPEN);
	a = ask(&p, &word, START + 5 * DUR_S);
	ck_assert_int_eq(a.answer, BREAKER_PROBE);
	ck_assert_int_eq(ask(&p, &word, START + 5 * DUR_S).answer, BREAKER_REFUSED);
	ck_assert_int_eq(breaker_state(&p, word, START + 5 * DUR_S), BREAKER_HALF_OPEN);
	t = breaker_succeeded(word, a.ticket);
	ck_assert(t.closed);
	ck_assert_int_eq(breaker_state(&p, t.word, START + 5 * DUR_S), BREAKER_CLOSED);
	ck_assert_int_eq(ask(&p, &t.word, START + 5 * DUR_S).answer, BREAKER_GO);
	/* Its failures are forgotten. */
	for (unsigned n = 1; n < 5; n++)
		ck_assert(!fails(&p, &t.word, START + 6 * DUR_S));
	ck_assert(fails(&p, &t.word, START + 6 * DUR_S));
	ck_assert_int_eq(breaker_left(&p, t.word, START + 6 * DUR_S), 5 * DUR_S);
}
END_TEST

START_TEST(open_time_doubles_to_the_maximum)
{
	static const int64_t expect[] = { 5, 10, 20, 40, 80, 160, 300, 300, 300 };
	struct policy p = policy(1, 1);
	int64_t now = START;
	uint64_t word = opened(&p, now);

	for (unsigned n = 0; n < 200; n++) {
		int64_t s = n < ARRAY_LEN(expect) ? expect[n] : 300;
		struct breaker_asked a;
		struct breaker_told t;

		ck_assert_int_eq(breaker_left(&p, word, now), s * DUR_S);
		now += s * DUR_S;
		a = ask(&p, &word, now);
		ck_assert_int_eq(a.answer, BREAKER_PROBE);
		t = breaker_failed(&p, word, now, a.ticket, false, 0);
		ck_assert(t.opened);
		word = t.word;
	}
}
END_TEST

START_TEST(open_time_has_the_jitter_of_the_policy)
{
	static const struct {
		enum jitter jitter;
		int64_t open_for, low, high; /* ms, the ends of the open time */
	} rows[] = {
		{ JITTER_NONE, 5000, 5000, 5000 },
		{ JITTER_PROPORTIONAL, 5000, 2500, 7500 },
		{ JITTER_FULL, 5000, 2500, 7500 },
		{ JITTER_ADDITIVE, 5000, 2500, 7500 },
		{ JITTER_PROPORTIONAL, 300000, 100000, 300000 }, /* the cap is hard */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct policy p = policy(1, 1);
		struct breaker_told t;

		p.backoff.jitter = rows[i].jitter;
		p.breaker.open_for = rows[i].open_for * DUR_MS;
		t = breaker_failed(&p, 0, START, BREAKER_NO_TICKET, false, 0);
		ck_assert_int_eq(breaker_left(&p, t.word, START), rows[i].low * DUR_MS);
		t = breaker_failed(&p, 0, START, BREAKER_NO_TICKET, false, UINT64_MAX);
		/* The centre of a hard cap is rounded down. */
		ck_assert_int_le(breaker_left(&p, t.word, START), rows[i].high * DUR_MS);
		ck_assert_int_ge(breaker_left(&p, t.word, START), (rows[i].high - 1) * DUR_MS);
	}
}
END_TEST

START_TEST(places_of_probes)
{
	struct policy p = policy(1, 3);
	uint64_t word = opened(&p, START);
	int64_t now = START + 5 * DUR_S;
	struct breaker_asked first, later;

	first = ask(&p, &word, now);
	ck_assert_int_eq(first.answer, BREAKER_PROBE);
	ck_assert_int_eq(ask(&p, &word, now).answer, BREAKER_PROBE);
	ck_assert_int_eq(ask(&p, &word, now + DUR_S).answer, BREAKER_PROBE);
	ck_assert_int_eq(ask(&p, &word, now + DUR_S).answer, BREAKER_REFUSED);
	/* One is given back. */
	word = breaker_abandoned(word, first.ticket);
	ck_assert_int_eq(ask(&p, &word, now + DUR_S).answer, BREAKER_PROBE);
	ck_assert_int_eq(ask(&p, &word, now + DUR_S).answer, BREAKER_REFUSED);
	/* None of them reports: free when the latest is over, not before. */
	now += DUR_S + PROBE_FOR;
	ck_assert_int_eq(ask(&p, &word, now - DUR_MS).answer, BREAKER_REFUSED);
	later = ask(&p, &word, now);
	ck_assert_int_eq(later.answer, BREAKER_PROBE);
	ck_assert_uint_ne(later.ticket, first.ticket);
	/* The late ones: given back is nothing, a failure is nothing ... */
	ck_assert_uint_eq(breaker_abandoned(word, first.ticket), word);
	ck_assert_uint_eq(breaker_failed(&p, word, now, first.ticket, false, 0).word, word);
	/* ... success closes it. */
	ck_assert(breaker_succeeded(word, first.ticket).closed);
	ck_assert(breaker_failed(&p, word, now, later.ticket, false, 0).opened);
	/* A place that is not taken cannot be given back. */
	for (unsigned n = 0; n < 5; n++)
		word = breaker_abandoned(word, later.ticket);
	for (unsigned n = 0; n < 3; n++)
		ck_assert_int_eq(ask(&p, &word, now).answer, BREAKER_PROBE);
	ck_assert_int_eq(ask(&p, &word, now).answer, BREAKER_REFUSED);
}
END_TEST

START_TEST(a_share_of_failures_opens_it)
{
	static const struct {
		unsigned calls, failures;
		bool expect;
	} rows[] = {
		{ 4, 4, false },  { 5, 0, false },   { 5, 1, false },      { 5, 2, true },
		{ 10, 2, false }, { 100, 25, true }, { 1000, 249, false }, { 1000, 250, true },
	};
	struct policy p = policy(0, 1);

	p.breaker.failure_ratio = PPM / 4;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t calls = window_add(0, START, p.breaker.window, rows[i].calls);
		uint64_t failures = window_add(0, START, p.breaker.window, rows[i].failures);
		bool many = breaker_too_many(&p.breaker, calls, failures, START);

		ck_assert_int_eq(many, rows[i].expect);
		ck_assert_int_eq(breaker_failed(&p, 0, START, 0, many, 0).opened, many);
		/* Of long ago. */
		ck_assert(!breaker_too_many(&p.breaker, calls, failures, START + 60 * DUR_S));
	}
	p.breaker.failure_ratio = 0;
	ck_assert(!breaker_too_many(&p.breaker, window_add(0, START, 30 * DUR_S, 99),
	                            window_add(0, START, 30 * DUR_S, 99), START));
}
END_TEST

START_TEST(the_clock_may_wrap)
{
	struct policy p = policy(1, 1);
	int64_t edges[] = { WRAP - DUR_MS, WRAP - 2 * DUR_S, 7 * WRAP - 5 * DUR_S, WRAP, 0 };

	for (size_t i = 0; i < ARRAY_LEN(edges); i++) {
		int64_t now = edges[i];
		uint64_t word = opened(&p, now);
		uint64_t idle = word;

		ck_assert_int_eq(ask(&p, &word, now + 4999 * DUR_MS).answer, BREAKER_REFUSED);
		ck_assert_int_eq(ask(&p, &word, now + 5 * DUR_S).answer, BREAKER_PROBE);
		ck_assert_int_eq(ask(&p, &word, now + 6 * DUR_S).answer, BREAKER_REFUSED);
		ck_assert_int_eq(ask(&p, &word, now + 7 * DUR_S).answer, BREAKER_PROBE);
		/* Days later; and at the one moment when it looks young again. */
		word = idle;
		ck_assert_int_eq(ask(&p, &word, now + WRAP / 2).answer, BREAKER_PROBE);
		word = idle;
		ck_assert_int_eq(ask(&p, &word, now + WRAP).answer, BREAKER_REFUSED);
		ck_assert_int_eq(ask(&p, &word, now + WRAP + 5 * DUR_S).answer, BREAKER_PROBE);
	}
}
END_TEST

/* A clock that was read earlier than the word was written finds it open, too. */
START_TEST(a_clock_behind_is_refused)
{
	struct policy p = policy(1, 1);
	uint64_t word = opened(&p, START);

	ck_assert_int_eq(ask(&p, &word, START - DUR_MS).answer, BREAKER_REFUSED);
	ck_assert_int_eq(ask(&p, &word, START - LAG).answer, BREAKER_REFUSED);
	ck_assert_int_eq(ask(&p, &word, START + 5 * DUR_S).answer, BREAKER_PROBE);
	ck_assert_int_eq(ask(&p, &word, START + 4 * DUR_S).answer, BREAKER_REFUSED);
}
END_TEST

START_TEST(no_word_refuses_for_longer_than_it_may)
{
	struct policy p = policy(3, 2);
	struct prng r;

	p.backoff.jitter = JITTER_PROPORTIONAL;
	prng_seed(&r, 99);
	for (unsigned n = 0; n < 200000; n++) {
		uint64_t word = prng_next(&r);
		int64_t now = (int64_t)(prng_next(&r) >> 4);
		int64_t bound = p.breaker.max_open_for + PROBE_FOR + LAG + DUR_MS;

		if (ask(&p, &word, now).answer == BREAKER_REFUSED &&
		    ask(&p, &word, now + bound).answer == BREAKER_REFUSED)
			ck_abort_msg("%llx refuses for too long", (unsigned long long)word);
		(void)breaker_failed(&p, word, now, (uint16_t)prng_next(&r), n % 2,
		                     prng_next(&r));
		(void)breaker_succeeded(word, (uint16_t)prng_next(&r));
		(void)breaker_abandoned(word, (uint16_t)prng_next(&r));
	}
	/* What nobody wrote counts as new. */
	ck_assert_int_eq(breaker_state(&p, UINT64_MAX, START), BREAKER_CLOSED);
	ck_assert_uint_eq(breaker_succeeded(UINT64_MAX, 0).word, 0);
}
END_TEST

/* ------------------------------------------------------- several at one time -- */

#define ACTORS 12

struct actor {
	bool computed;    /* .from and .to are set: the swap comes next */
	uint64_t from, to;
	enum { ASKING, OUT, TELLING } step;
	struct breaker_asked asked;
	bool probe;
	int64_t over;     /* until when the probe's place is its own, to the ms */
	enum { FAILED, SUCCEEDED, ABANDONED } result;
};

/* Computes the actor's next word; the swap is another step, so that anything can come
 * between. */
static void compute(const struct policy *p, struct actor *a, uint64_t word, int64_t now,
                    struct prng *r)
{
	a->from = word;
	a->computed = true;
	if (a->step == ASKING) {
		a->asked = breaker_ask(p, word, now, PROBE_FOR);
		a->over = now / DUR_MS * DUR_MS + PROBE_FOR;
		a->to = a->asked.word;
		return;
	}
	a->step = TELLING;
	switch (a->result) {
	case FAILED:
		a->to = breaker_failed(p, word, now, a->asked.ticket, false, prng_next(r)).word;
		break;
	case SUCCEEDED:
		a->to = breaker_succeeded(word, a->asked.ticket).word;
		break;
	case ABANDONED:
		a->to = breaker_abandoned(word, a->asked.ticket);
		break;
	}
}

static void swapped(struct actor *a, struct prng *r)
{
	if (a->step == TELLING) {
		a->probe = false;
		a->step = ASKING;
	} else if (a->asked.answer != BREAKER_REFUSED) {
		a->probe = a->asked.answer == BREAKER_PROBE;
		a->step = OUT;
		/* The destination is mostly bad. */
		a->result = prng_next(r) % 8 == 0 ? SUCCEEDED
		                                  : prng_next(r) % 8 == 0 ? ABANDONED : FAILED;
	}
}

/* Twelve actors load, compute and swap in any order, some probes never report: there are
 * never more of them out than allowed, and it never stands still. */
START_TEST(any_interleaving_keeps_the_number_of_probes)
{
	for (unsigned seed = 0; seed < 60; seed++) {
		struct policy p = policy(2, 1 + seed % 3);
		struct actor actors[ACTORS];
		struct prng r;
		uint64_t word = 0;
		int64_t now = START;
		unsigned probes = 0, most = 0;

		p.breaker.max_open_for = 6 * DUR_S;
		memset(actors, 0, sizeof(actors));
		prng_seed(&r, seed);
		for (unsigned n = 0; n < 20000; n++) {
			struct actor *a = &actors[prng_next(&r) % ACTORS];
			unsigned out = 0;

			now += prng_below(prng_next(&r), 100 * DUR_MS);
			if (!a->computed) {
				/* Some stay away longer than a probe may. */
				if (a->step == OUT && now < a->over && prng_next(&r) % 4)
					continue;
				compute(&p, a, word, now, &r);
				continue;
			}
			a->computed = false;
			if (word != a->from)
				continue;
			word = a->to;
			swapped(a, &r);
			probes += a->step == OUT && a->probe;
			for (unsigned i = 0; i < ACTORS; i++)
				out += actors[i].step == OUT && actors[i].probe &&
				       now < actors[i].over;
			most = out > most ? out : most;
		}
		ck_assert_uint_eq(most, p.breaker.half_open_probes);
		ck_assert_uint_ge(probes, 50);
	}
}
END_TEST

#define THREADS 4
#define ROUNDS 300

struct shared {
	struct policy policy;
	uint64_t word;
	int64_t now;
	unsigned probes;
	uint16_t ticket;
	pthread_barrier_t *barrier;
};

static void ask_together(struct shared *s)
{
	for (unsigned n = 0; n < 50; n++) {
		uint64_t old = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);
		struct breaker_asked a;

		do
			a = breaker_ask(&s->policy, old, s->now, PROBE_FOR);
		while (a.word != old &&
		       !__atomic_compare_exchange_n(&s->word, &old, a.word, false,
		                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
		if (a.answer != BREAKER_PROBE)
			continue;
		__atomic_fetch_add(&s->probes, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&s->ticket, a.ticket, __ATOMIC_RELAXED);
	}
}

static void *run_rounds(void *arg)
{
	struct shared *s = arg;

	for (unsigned round = 0; round < ROUNDS; round++) {
		bool one;

		pthread_barrier_wait(s->barrier);
		ask_together(s);
		one = pthread_barrier_wait(s->barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
		if (!one)
			continue;
		ck_assert_uint_eq(s->probes, s->policy.breaker.half_open_probes);
		s->probes = 0;
		s->word = breaker_failed(&s->policy, s->word, s->now, s->ticket, false, 0).word;
		s->now += breaker_left(&s->policy, s->word, s->now);
	}
	return NULL;
}

/* When the open time ends, all ask at once: exactly N go. */
START_TEST(threads_let_exactly_n_probes_out)
{
	for (unsigned probes = 1; probes <= 5; probes += 2) {
		pthread_barrier_t barrier;
		struct shared s = { .policy = policy(1, probes), .barrier = &barrier };
		pthread_t t[THREADS];

		s.word = opened(&s.policy, START);
		s.now = START + 5 * DUR_S;
		pthread_barrier_init(&barrier, NULL, THREADS);
		for (unsigned n = 0; n < THREADS; n++)
			ck_assert_int_eq(pthread_create(&t[n], NULL, run_rounds, &s), 0);
		for (unsigned n = 0; n < THREADS; n++)
			pthread_join(t[n], NULL);
		pthread_barrier_destroy(&barrier);
	}
}
END_TEST

UNIT_MAIN("breaker", &so_many_in_a_row_open_it, &success_of_a_good_one_stores_nothing,
          &not_enabled_it_never_refuses, &open_refuses_until_its_time_is_over,
          &open_time_doubles_to_the_maximum, &open_time_has_the_jitter_of_the_policy,
          &places_of_probes, &a_share_of_failures_opens_it, &the_clock_may_wrap,
          &a_clock_behind_is_refused, &no_word_refuses_for_longer_than_it_may,
          &any_interleaving_keeps_the_number_of_probes, &threads_let_exactly_n_probes_out)
