/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "base/prng.h"
#include "base/sys.h"
#include "tests/unit/fdtab.h"

START_TEST(waits_no_longer_than_its_patience)
{
	struct pend_ref ref;
	int64_t began;

	fdtab_reset();
	ref = begin(7, PEND_BUSY);
	began = sys_monotonic();
	ck_assert(fdtab_wait_idle(&ref));
	ck_assert_int_ge(sys_monotonic() - began, FDTAB_PATIENCE);
	ck_assert_int_eq(pend_state(&ref), PEND_BUSY);
}
END_TEST

static void *release_later(void *arg)
{
	SYS_CALL(SYS_sched_yield);
	fdtab_release(arg, PEND_BACKOFF);
	return NULL;
}

START_TEST(waits_for_the_claimer)
{
	struct pend_ref ref;
	struct pend_ref claimed;
	pthread_t t;

	fdtab_reset();
	claimed = ref = begin(7, PEND_BUSY);
	ck_assert_int_eq(pthread_create(&t, NULL, release_later, &claimed), 0);
	do
		ck_assert(fdtab_wait_idle(&ref));
	while (pend_state(&ref) == PEND_BUSY);
	ck_assert_int_eq(pend_state(&ref), PEND_BACKOFF);
	pthread_join(t, NULL);
}
END_TEST

#define THREADS 4
#define ROUNDS 20000

/* Across the border of two chunks. */
static int some_fd(struct prng *p)
{
	return FDTAB_CHUNK - 8 + (int)prng_below(prng_next(p), 15);
}

/* What only a claimer writes is whole whenever somebody has claimed it. */
static void work_on(struct pend_ref *ref, struct prng *p)
{
	static const enum pend_state ends[] = {
		PEND_CONNECTING, PEND_BACKOFF, PEND_FAILED, PEND_REPORTED, PEND_FREE
	};
	struct pending *r = ref->p;

	ck_assert_int_eq(r->began, r->waited);
	ck_assert_int_eq(r->began, r->backoff_began);
	r->began = (int64_t)prng_next(p);
	r->waited = r->began;
	r->backoff_began = r->began;
	atomic_store_explicit(&r->due, r->began, memory_order_relaxed);
	fdtab_release(ref, ends[prng_below(prng_next(p), ARRAY_LEN(ends) - 1)]);
}

static void look_at_watches(int fd)
{
	struct watch w;

	for (unsigned i = 0; i < FDTAB_WATCHES; i++)
		if (fdtab_watch_get(fd, i, &w)) {
			ck_assert_uint_eq(w.data, (uint64_t)w.events << 32 | w.events);
			ck_assert_int_ge(w.epfd, 2);
			ck_assert_int_le(w.epfd, 6);
			ck_assert_uint_le(w.parked, 3);
		}
}

static void stress_watches(struct prng *p)
{
	int fd = some_fd(p);
	int epfd = 2 + (int)prng_below(prng_next(p), 4);
	uint64_t word = prng_next(p) & 0xff;

	switch (prng_below(prng_next(p), 4)) {
	case 0:
		fdtab_watch_set(fd, epfd, (uint32_t)word, word << 32 | word);
		break;
	case 1:
		fdtab_watch_del(fd, epfd);
		break;
	case 2:
		fdtab_watch_park(fd, epfd, (unsigned)word & 3);
		break;
	case 3:
		fdtab_watch_find(epfd, word << 32 | word, word & 1);
		break;
	default:
		look_at_watches(fd);
	}
}

/* As work_on() wants it. */
static void begin_young(int fd)
{
	static const struct sockaddr_in in = { .sin_family = AF_INET };

	fdtab_begin_young(fd, (const struct sockaddr *)&in, sizeof(in), 0, 1);
}

static void stress_records(struct prng *p)
{
	int fd = some_fd(p);
	struct pend_ref ref;
	unsigned at = 0;
	bool alone;

	switch (prng_below(prng_next(p), 8)) {
	case 4:
	case 5:
		begin_young(fd);
		break;
	case 6:
		fdtab_drop_young(fd);
		break;
	case 0:
		if (fdtab_begin(fd, &ref))
			work_on(&ref, p);
		break;
	case 1:
		close_fd(fd, &alone);
		break;
	case 2:
		fdtab_dup(fd, some_fd(p));
		break;
	case 3:
		while (fdtab_next(&at, &ref))
			if (fdtab_claim(&ref))
				work_on(&ref, p);
		fdtab_next_due();
		break;
	default:
		if (fdtab_find(fd, &ref) && fdtab_claim(&ref))
			work_on(&ref, p);
	}
}

static void *stress(void *arg)
{
	struct prng p;

	prng_seed(&p, (uint64_t)(uintptr_t)arg);
	for (unsigned i = 0; i < ROUNDS; i++) {
		stress_records(&p);
		stress_watches(&p);
	}
	return NULL;
}

START_TEST(threads)
{
	pthread_t t[THREADS];
	struct pend_ref ref;
	unsigned at = 0;
	bool alone;

	fdtab_reset();
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, stress, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	fdtab_record_all();
	ck_assert_uint_eq(fdtab_busy(), count_live());
	while (fdtab_next(&at, &ref)) {
		struct pend_ref found;

		ck_assert_int_ne(pend_state(&ref), PEND_BUSY);
		/* Somebody can still get at it, and it knows whom to act on. */
		ck_assert(fdtab_find(first_fd(&ref), &found));
		ck_assert_ptr_eq(found.p, ref.p);
	}
	for (unsigned fd = 0; fdtab_next_known(&fd, FDTAB_FDS - 1); fd++)
		close_fd((int)fd, &alone);
	ck_assert_uint_eq(fdtab_busy(), 0);
	ck_assert_uint_eq(count_live(), 0);
}
END_TEST

#define WRITES 300000
/* Where .data and .events of the second entry lie in two cache lines, if the
 * chunk is aligned to one: the likeliest to be torn. */
#define TORN_FD 5

static _Atomic bool written;

static void *write_watches(void *arg)
{
	for (uint32_t i = 1; i <= WRITES; i++) {
		fdtab_watch_set(TORN_FD, 4, i, (uint64_t)i << 32 | i);
		fdtab_watch_park(TORN_FD, 4, i & 3);
	}
	atomic_store(&written, true);
	return arg;
}

START_TEST(watches_are_read_whole)
{
	struct watch w;
	uint32_t newest = 0;
	unsigned torn = 0;
	pthread_t t;

	fdtab_reset();
	fdtab_watch_set(TORN_FD, 3, 0, 0);
	ck_assert_int_eq(pthread_create(&t, NULL, write_watches, NULL), 0);
	while (!atomic_load(&written))
		if (fdtab_watch_get(TORN_FD, 1, &w)) {
			torn += w.data != ((uint64_t)w.events << 32 | w.events);
			torn += w.events < newest;
			newest = w.events;
		}
	pthread_join(t, NULL);
	ck_assert_uint_eq(torn, 0);
	ck_assert(fdtab_watch_get(TORN_FD, 1, &w));
	ck_assert_uint_eq(w.events, WRITES);
	ck_assert_uint_eq(w.parked, WRITES & 3);
}
END_TEST

UNIT_MAIN("fdtab_threads", &waits_no_longer_than_its_patience, &waits_for_the_claimer,
          &threads, &watches_are_read_whole)
