/* SPDX-License-Identifier: MIT */
/*
 * Many at a time: threads that want the same slot, processes that make the same
 * segment, and processes that are killed at any instruction.
 */
#include "state/shm_file.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/duration.h"
#include "base/prng.h"
#include "base/sys.h"
#include "tests/unit/shm.h"

#define THREADS 16
#define WORKERS 50
#define DESTS 200
#define KILLING (2 * DUR_S)

/* What all processes of a test see. */
static struct common {
	_Atomic uint32_t go;
	_Atomic uint32_t stop;
	_Atomic uint64_t wanted[WORKERS];  /* adds, before each */
	_Atomic uint64_t done[WORKERS];    /* ... and after it */
	_Atomic uint64_t unshared;
	_Atomic uint64_t ready;
} *common;

static void open_common(void)
{
	open_folder();
	common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	              0);
	ck_assert_ptr_ne(common, MAP_FAILED);
}

static void close_common(void)
{
	munmap(common, sizeof(*common));
	close_folder();
}

static void wait_for_go(void)
{
	atomic_fetch_add(&common->ready, 1);
	while (!atomic_load(&common->go))
		sched_yield();
}

static void dest_of(char *dest, size_t size, unsigned n)
{
	snprintf(dest, size, "host-%u.example.net:%u", n, 1000 + n);
}

static enum scope thread_scope;
static struct slot *found[THREADS][DESTS];

static void *find_all(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	unsigned dests = thread_scope == SCOPE_PROCESS ? SHM_OWN_SLOTS : DESTS;
	char dest[64];
	bool shared;

	wait_for_go();
	for (unsigned i = 0; i < dests; i++) {
		dest_of(dest, sizeof(dest), i);
		found[me][i] = shm_slot(thread_scope, dest, "default", &shared);
		atomic_fetch_add(&found[me][i]->tally[TALLY_CALLS], 1);
		if (shared != (thread_scope != SCOPE_PROCESS))
			atomic_fetch_add(&common->unshared, 1);
	}
	return NULL;
}

/* The very first call of each attaches, and each slot is claimed by all at once. */
static void race(enum scope scope)
{
	pthread_t threads[THREADS];
	unsigned dests = scope == SCOPE_PROCESS ? SHM_OWN_SLOTS : DESTS;
	unsigned apart = 0;

	thread_scope = scope;
	atomic_store(&common->go, 0);
	atomic_store(&common->ready, 0);
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, find_all, (void *)(uintptr_t)i),
		                 0);
	while (atomic_load(&common->ready) < THREADS)
		sched_yield();
	atomic_store(&common->go, 1);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(atomic_load(&common->unshared), 0);
	for (unsigned d = 0; d < dests; d++) {
		for (unsigned i = 1; i < THREADS; i++)
			apart += found[i][d] != found[0][d];
		apart += atomic_load(&found[0][d]->tally[TALLY_CALLS]) != THREADS;
	}
	ck_assert_uint_eq(apart, 0);
}

START_TEST(threads_claim_one_slot)
{
	open_common();
	for (unsigned i = 0; i < 6; i++) {
		race(SCOPE_PROCESS);
		race(SCOPE_USER);
		shm_reset(folder);
		ck_assert_int_eq(unlink(segment), 0);
	}
	close_common();
}
END_TEST

static _Atomic uint64_t let_go_of;

static void *use_for_ever(void *arg)
{
	bool shared;
	struct slot *s;

	while (!atomic_load(&common->stop)) {
		s = user_slot(arg, &shared);
		if (!s || !shared)
			continue;
		atomic_fetch_add(&s->tally[TALLY_CALLS], 1);
		sched_yield();
		/* It may have been retired meanwhile. */
		atomic_fetch_add(&s->tally[TALLY_RETRIES], 1);
		atomic_fetch_add(&let_go_of, 1);
	}
	return NULL;
}

START_TEST(retired_under_threads)
{
	static char *const dests[4] = { "a:1", "b:1", "c:1", "a:1" };
	pthread_t threads[4];

	open_common();
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use_for_ever, dests[i]), 0);
	for (unsigned i = 0; i < 100; i++) {
		uint64_t was = atomic_load(&let_go_of);

		while (atomic_load(&let_go_of) == was)
			sched_yield();
		shm_retire(segment);
	}
	atomic_store(&common->stop, 1);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_ptr_null(shm_trouble());
	ck_assert(is_shared("a:1"));
	close_common();
}
END_TEST

/* One add, of which the others know that it was about to be made, and that it was. */
static void add_one(unsigned me, struct prng *random)
{
	char dest[64];
	bool shared;
	struct slot *s;

	dest_of(dest, sizeof(dest), (unsigned)prng_below(prng_next(random), DESTS - 1));
	s = shm_slot(SCOPE_USER, dest, "default", &shared);
	if (!s || !shared) {
		atomic_fetch_add(&common->unshared, 1);
		return;
	}
	atomic_fetch_add(&common->wanted[me], 1);
	atomic_fetch_add(&s->tally[TALLY_CALLS], 1);
	atomic_fetch_add(&common->done[me], 1);
}

static void work(unsigned me, uint64_t adds)
{
	struct prng random;
	/* The one that kills must have its turn. */
	LR_UNUSED int level = nice(10);

	prng_seed(&random, (uint64_t)getpid());
	shm_reset(folder);
	while (!atomic_load(&common->stop) || adds > 0) {
		add_one(me, &random);
		adds -= adds > 0;
	}
	_exit(0);
}

static pid_t hire(unsigned me, uint64_t adds)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		work(me, adds);
	return pid;
}

static uint64_t sum(const _Atomic uint64_t *words)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < WORKERS; i++)
		total += atomic_load(&words[i]);
	return total;
}

/* Every slot has a name of its own, and the numbers of all of them. */
static uint64_t check_slots(unsigned killed)
{
	struct slot *slots;
	struct shm_header *h = shm_map(segment, false, &slots);
	uint64_t total = 0;
	unsigned unnamed = 0;
	unsigned twice = 0;

	ck_assert_ptr_nonnull(h);
	ck_assert_uint_eq(atomic_load(&h->overflow), 0);
	for (unsigned i = 0; i < SHM_SLOTS; i++) {
		total += atomic_load(&slots[i].tally[TALLY_CALLS]);
		unnamed += atomic_load(&slots[i].key) && !atomic_load(&slots[i].named);
		for (unsigned j = 0; j < i; j++)
			twice += atomic_load(&slots[i].key) &&
			         atomic_load(&slots[i].key) == atomic_load(&slots[j].key);
	}
	ck_assert_uint_eq(twice, 0);
	ck_assert_uint_le(unnamed, killed);
	shm_unmap(h);
	return total;
}

/*
 * Each that is killed may take one add with it that it was about to make, or that it
 * had made and not told. Nothing else is missing, and whoever is left goes on.
 */
START_TEST(killed_at_random)
{
	pid_t workers[WORKERS];
	struct prng random;
	unsigned killed = 0;
	uint64_t total;
	int64_t until;
	int status;

	open_common();
	prng_seed(&random, 4711);
	for (unsigned i = 0; i < WORKERS; i++)
		workers[i] = hire(i, 0);
	until = sys_monotonic() + KILLING;
	while (sys_monotonic() < until || killed < 10) {
		unsigned i = (unsigned)prng_below(prng_next(&random), WORKERS - 1);

		ck_assert_int_eq(kill(workers[i], SIGKILL), 0);
		ck_assert_int_eq(waitpid(workers[i], &status, 0), workers[i]);
		ck_assert(WIFSIGNALED(status));
		killed++;
		workers[i] = hire(i, 0);
	}
	atomic_store(&common->stop, 1);
	for (unsigned i = 0; i < WORKERS; i++) {
		ck_assert_int_eq(waitpid(workers[i], &status, 0), workers[i]);
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	ck_assert_uint_gt(sum(common->done), 1000);
	total = check_slots(killed);
	ck_assert_uint_ge(total, sum(common->done));
	ck_assert_uint_le(total, sum(common->wanted));
	ck_assert_uint_le(sum(common->wanted), sum(common->done) + killed);
	close_common();
}
END_TEST

/* All of them find that there is no segment, at once: one makes it, and nothing that
 * the others count is lost. */
START_TEST(made_by_many)
{
	pid_t workers[WORKERS];
	int status;

	open_common();
	atomic_store(&common->stop, 1);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < WORKERS; i++)
			workers[i] = hire(i, 100);
		for (unsigned i = 0; i < WORKERS; i++) {
			ck_assert_int_eq(waitpid(workers[i], &status, 0), workers[i]);
			ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		}
		ck_assert_uint_eq(sum(common->done) + atomic_load(&common->unshared),
		                  WORKERS * 100 * (round + 1));
		ck_assert_uint_eq(atomic_load(&common->unshared), 0);
		ck_assert_uint_eq(check_slots(0), WORKERS * 100);
		ck_assert_int_eq(unlink(segment), 0);
	}
	close_common();
}
END_TEST

/* A creator that is killed anywhere in the making: whoever comes later has a segment,
 * once what is left is old. */
START_TEST(makers_are_killed)
{
	struct prng random;
	unsigned left = 0;
	int status;

	open_common();
	shm_file_plain(true);
	prng_seed(&random, 4712);
	/* Later and later, until some had come so far. */
	for (unsigned i = 0; i < 60 || (left == 0 && i < 2000); i++) {
		pid_t pid = hire(0, 1000000);

		for (int64_t spin = prng_below(prng_next(&random), 40 + i); spin > 0; spin--)
			sched_yield();
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		if (inode_of(segment) == 0)
			continue;
		left++;
		age(segment, 2);
		shm_reset(folder);
		ck_assert(is_shared("a:1"));
		shm_reset(folder);
		ck_assert_int_eq(unlink(segment), 0);
	}
	shm_file_plain(false);
	ck_assert_uint_gt(left, 0);
	close_common();
}
END_TEST

UNIT_MAIN("shm_crowd", &threads_claim_one_slot, &retired_under_threads, &killed_at_random,
          &made_by_many, &makers_are_killed)
