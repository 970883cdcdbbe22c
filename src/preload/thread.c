/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/prng.h"
#include "preload/runtime.h"

/* The project's whole thread-local data. */
LR_TLS struct thread_marks thread_marks;
static LR_TLS struct {
	struct prng prng;
	uint32_t seeded_in; /* generation + 1; 0: never */
} self;

/* Counts forks in this process's ancestry. */
static _Atomic uint32_t generation;
static _Atomic uint32_t threads_seeded;

void thread_random_postfork_child(void)
{
	atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

static uint64_t new_seed(uint32_t gen)
{
	int saved = errno;
	uint64_t seed;
	struct timespec t;

	if (runtime_seed(&seed)) {
		uint64_t mix[2] = { gen, atomic_fetch_add(&threads_seeded, 1) };

		return hash_bytes(mix, sizeof(mix), seed);
	}
	/* Never blocks; before the kernel's pool is ready the clock, the pid and
	 * where we were loaded are enough to tell two processes apart. */
	if (syscall(SYS_getrandom, &seed, sizeof(seed), 1 /* GRND_NONBLOCK */) !=
	    (long)sizeof(seed)) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		uint64_t mix[4] = { (uint64_t)t.tv_nsec, (uint64_t)t.tv_sec,
		                    (uint64_t)syscall(SYS_getpid), thread_key() };

		seed = hash_bytes(mix, sizeof(mix), 0);
	}
	errno = saved;
	return seed;
}

uint64_t thread_random(void)
{
	uint32_t gen = atomic_load_explicit(&generation, memory_order_relaxed);

	if (self.seeded_in != gen + 1) {
		prng_seed(&self.prng, new_seed(gen));
		self.seeded_in = gen + 1;
	}
	return prng_next(&self.prng);
}
