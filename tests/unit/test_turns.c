/* SPDX-License-Identifier: MIT */
#include "state/turns.h"

#include <pthread.h>
#include <stdatomic.h>

#include "engine/connect.h"
#include "engine/resolve.h"
#include "tests/unit/call.h"

#define NOW (1000 * DUR_S)

static void fresh(void)
{
	setup();
	turns_postfork_child();
}

START_TEST(so_many_at_a_time)
{
	struct turn a = { .word = 0 }, b = { .word = 0 }, c = { .word = 0 };

	fresh();
	ck_assert(turns_take(&a, 1, 2, NOW, NOW + DUR_S));
	ck_assert(turns_take(&b, 1, 2, NOW, NOW + DUR_S));
	ck_assert(!turns_take(&c, 1, 2, NOW, NOW + DUR_S));
	/* Who has one keeps it, however many there are. */
	ck_assert(turns_take(&a, 1, 1, NOW, NOW + 2 * DUR_S));
	ck_assert_uint_eq(turns_taken(NOW), 2);
	/* Other destinations are none of it. */
	ck_assert(turns_take(&c, UINT64_C(1) << 62, 1, NOW, NOW + DUR_S));
	turns_give(&c);
	turns_give(&c);
	ck_assert(!turns_take(&c, 1, 2, NOW, NOW + DUR_S));
	turns_give(&b);
	ck_assert(turns_take(&c, 1, 2, NOW, NOW + DUR_S));
	turns_give(NULL);
	ck_assert_uint_eq(turns_taken(NOW), 2);
}
END_TEST

/* Who never gives his back, as after a jump, loses it with its time. */
START_TEST(none_is_lost_for_good)
{
	struct turn lost = { .word = 0 }, next = { .word = 0 };

	fresh();
	ck_assert(turns_take(&lost, 1, 1, NOW, NOW + DUR_S));
	ck_assert(!turns_take(&next, 1, 1, NOW + DUR_S - DUR_MS, NOW + 9 * DUR_S));
	ck_assert(turns_take(&next, 1, 1, NOW + DUR_S, NOW + 9 * DUR_S));
	/* It is the other's now. */
	turns_give(&lost);
	ck_assert_uint_eq(turns_taken(NOW + DUR_S), 1);
	ck_assert(!turns_take(&lost, 1, 1, NOW + DUR_S, NOW + 2 * DUR_S));
}
END_TEST

/* No time at all, a time long over, and no end. */
START_TEST(strange_times)
{
	struct turn t = { .word = 0 }, other = { .word = 0 };

	fresh();
	ck_assert(turns_take(&t, 1, 1, NOW, NOW));
	ck_assert(!turns_take(&other, 1, 1, NOW, NOW));
	ck_assert(turns_take(&other, 1, 1, NOW + DUR_MS, 0));
	turns_give(&other);
	ck_assert(turns_take(&t, 1, 1, NOW, DUR_NONE));
	ck_assert(!turns_take(&other, 1, 1, NOW + 1000 * DUR_S, DUR_NONE));
	turns_give(&t);
	ck_assert_uint_eq(turns_taken(NOW), 0);
}
END_TEST

START_TEST(there_is_no_more_room)
{
	static struct turn all[CONCURRENT_MAX];
	struct turn more = { .word = 0 };

	fresh();
	memset(all, 0, sizeof(all));
	for (unsigned i = 0; i < CONCURRENT_MAX; i++)
		ck_assert(turns_take(&all[i], (uint64_t)i << 40, 1, NOW, NOW + DUR_S));
	ck_assert(!turns_take(&more, UINT64_C(77) << 56, 1, NOW, NOW + DUR_S));
	ck_assert(turns_take(&more, UINT64_C(77) << 56, 1, NOW + DUR_S, NOW + 2 * DUR_S));
}
END_TEST

#define THREADS 8
#define ROUNDS 100000
static pthread_barrier_t all_there;
static _Atomic unsigned inside, most_inside, granted;

static void *come_and_go(void *arg)
{
	struct turn t = { .word = 0 };

	(void)arg;
	pthread_barrier_wait(&all_there);
	for (unsigned i = unit_rounds(ROUNDS); i > 0; i--) {
		unsigned n;

		if (!turns_take(&t, 1, 1, NOW, NOW + DUR_S))
			continue;
		n = atomic_fetch_add(&inside, 1) + 1;
		for (unsigned most = atomic_load(&most_inside);
		     n > most && !atomic_compare_exchange_weak(&most_inside, &most, n);)
			;
		atomic_fetch_add(&granted, 1);
		atomic_fetch_sub(&inside, 1);
		turns_give(&t);
	}
	return NULL;
}

START_TEST(never_more_among_threads)
{
	pthread_t threads[THREADS];

	fresh();
	pthread_barrier_init(&all_there, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(atomic_load(&most_inside), 1);
	ck_assert_uint_gt(atomic_load(&granted), THREADS);
	ck_assert_uint_eq(turns_taken(NOW), 0);
}
END_TEST

static struct turn mine;

static void limited(uint32_t most)
{
	fresh();
	w.remembers = true;
	p.max_concurrent_retries = most;
	mine.word = 0;
	call.turn = &mine;
}

/* So many others are in a retry of <dest>. */
static void others(const char *dest, enum op op, unsigned count)
{
	uint64_t key = hash_bytes(p.name, strlen(p.name),
	                          hash_bytes(dest, strlen(dest), op == OP_LOOKUP));
	struct turn t;

	while (count-- > 0) {
		t.word = 0;
		ck_assert(turns_take(&t, key, 1000, w.clock, w.clock + 60 * DUR_S));
	}
}

START_TEST(a_connect_more_is_not_retried)
{
	const struct event *last;

	limited(2);
	others("127.0.0.1:5432", OP_CONNECT, 2);
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_uint_eq(w.wait_count, 0);
	last = &w.events[w.event_count - 1];
	ck_assert_int_eq(last->kind, EVENT_GAVE_UP);
	ck_assert_int_eq(last->reason, REASON_CONCURRENT);
	ck_assert_uint_eq(last->attempts, 1);
	ck_assert_uint_eq(atomic_load(&w.slot.tally[TALLY_CONCURRENT_REFUSED]), 1);
	/* It is not paid for. */
	ck_assert_uint_eq(atomic_load(&w.slot.spent), 0);
	ck_assert_uint_eq(turns_taken(w.clock), 2);
}
END_TEST

/* Of those that are allowed each gives its place back, however it ends. */
START_TEST(every_end_gives_it_back)
{
	static const struct {
		const char *what;
		int results[3];
		unsigned wake_at, closed_at, closed_in_call;
		bool no_budget;
		int error;
	} ends[] = {
		{ "success", { ECONNREFUSED, 0, 0 }, 0, 0, 0, false, 0 },
		{ "attempts", { ECONNREFUSED, ECONNREFUSED, ECONNREFUSED }, 0, 0, 0, false,
		  ECONNREFUSED },
		{ "not retryable", { ECONNREFUSED, EACCES, 0 }, 0, 0, 0, false, EACCES },
		{ "native", { ECONNREFUSED, EINTR, 0 }, 0, 0, 0, false, EINTR },
		{ "interrupted", { ECONNREFUSED, 0, 0 }, 1, 0, 0, false, ECONNREFUSED },
		{ "closed in a wait", { ECONNREFUSED, 0, 0 }, 0, 1, 0, false, ECONNREFUSED },
		{ "closed in a call", { ECONNREFUSED, ECONNREFUSED, 0 }, 0, 0, 2, false,
		  ECONNREFUSED },
		{ "budget", { ECONNREFUSED, 0, 0 }, 0, 0, 0, true, ECONNREFUSED },
	};

	for (unsigned i = 0; i < ARRAY_LEN(ends); i++) {
		limited(1);
		p.max_attempts = 3;
		script(3, ends[i].results);
		w.wake_at = ends[i].wake_at;
		w.wake = WAKE_INTERRUPTED;
		w.closed_at = ends[i].closed_at;
		w.closed_in_call = ends[i].closed_in_call;
		if (ends[i].no_budget)
			p.budget.min_retries_per_second = 0;
		ck_assert_msg(run() == ends[i].error, "%s", ends[i].what);
		ck_assert_msg(mine.word == 0 && turns_taken(w.clock) == 0, "%s", ends[i].what);
	}
}
END_TEST

/* The deadline, or the longest that a wait and an attempt can take. */
START_TEST(how_long_it_is_held)
{
	struct turn t = { .word = 0 };
	int64_t after;

	limited(1);
	p.deadline = DUR_NONE;
	p.attempt_timeout = 2 * DUR_S;
	SCRIPT(ECONNREFUSED);
	w.wake_at = 1;
	w.wake = WAKE_STOPPING;
	ck_assert_int_eq(run(), ECONNREFUSED);
	(void)t;
	/* The engine gives it back; what a jump leaves is seen in the words. */
	for (unsigned i = 0; i < 2; i++) {
		struct retry r = { .ops = &world_ops, .ctx = &w, .op = OP_CONNECT, .policy = &p,
			           .dest = "db:1", .began = w.clock, .limit = DUR_NONE,
			           .attempt = 1, .turn = &t };
		struct err e = { ERR_ERRNO, ECONNREFUSED };
		struct decision d;

		t.word = 0;
		if (i == 1)
			p.deadline = DUR_S;
		ck_assert(retry_decide(&r, e, ECONNREFUSED, &d));
		after = i == 0 ? d.wait + 2 * DUR_S + DUR_S : 2 * DUR_S;
		ck_assert_uint_eq(turns_taken(w.clock + after - 2 * DUR_MS), 1);
		ck_assert_uint_eq(turns_taken(w.clock + after), 0);
		turns_give(&t);
	}
}
END_TEST

START_TEST(zero_and_observing_are_no_limit)
{
	limited(0);
	SCRIPT(ECONNREFUSED, 0);
	ck_assert_int_eq(run(), 0);
	limited(1);
	others("127.0.0.1:5432", OP_CONNECT, 1);
	call.mode = MODE_OBSERVE;
	SCRIPT(ECONNREFUSED);
	ck_assert_int_eq(run(), ECONNREFUSED);
	ck_assert_uint_eq(world_count(&w, EVENT_WOULD_RETRY), 1);
}
END_TEST

/* Those of a name are others than connects to it. */
START_TEST(look_ups)
{
	struct lookup_call lookup = { .host = "db", .port = 80, .policy = &p };
	struct err e = { ERR_EAI, EAI_AGAIN };
	int sys_errno = 0;

	limited(1);
	lookup.turn = &mine;
	lookup.began = w.clock;
	w.domain = ERR_EAI;
	others("db:80", OP_CONNECT, 1);
	SCRIPT(0);
	ck_assert_int_eq(engine_lookup(&world_ops, &w, &lookup, e, &sys_errno).code, 0);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_uint_eq(turns_taken(w.clock), 1);
	others("db:80", OP_LOOKUP, 1);
	ck_assert_int_eq(engine_lookup(&world_ops, &w, &lookup, e, &sys_errno).code, EAI_AGAIN);
	ck_assert_uint_eq(w.calls, 1);
	ck_assert_int_eq(w.events[w.event_count - 1].reason, REASON_CONCURRENT);
}
END_TEST

UNIT_MAIN("turns", &so_many_at_a_time, &none_is_lost_for_good, &strange_times,
          &there_is_no_more_room, &never_more_among_threads, &a_connect_more_is_not_retried,
          &every_end_gives_it_back, &how_long_it_is_held, &zero_and_observing_are_no_limit,
          &look_ups)
