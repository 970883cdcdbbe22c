/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/need.h"
#include "cli/sim.h"

void sim_times_add(struct sim_times *t, int64_t ns)
{
	if (t->count == t->room) {
		t->room = t->room ? 2 * t->room : 1024;
		t->at = need(reallocarray(t->at, t->room, sizeof(*t->at)));
	}
	t->at[t->count++] = ns;
	t->sorted = false;
}

void sim_times_clear(struct sim_times *t)
{
	t->count = 0;
	t->sorted = false;
}

void sim_times_free(struct sim_times *t)
{
	free(t->at);
	*t = (struct sim_times){ .at = NULL };
}

#define RADIX_BITS 11
#define RADIX_SIZE (1u << RADIX_BITS)

static size_t digit(int64_t value, unsigned shift)
{
	return (uint64_t)value >> shift & (RADIX_SIZE - 1);
}

/* One pass of a radix sort; false if all have the same digit there. */
static bool pass(const int64_t *from, int64_t *to, size_t count, unsigned shift)
{
	size_t start[RADIX_SIZE] = { 0 };
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		start[digit(from[i], shift)]++;
	if (start[digit(from[0], shift)] == count)
		return false;
	for (size_t d = 0; d < RADIX_SIZE; d++) {
		size_t n = start[d];

		start[d] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		to[start[digit(from[i], shift)]++] = from[i];
	return true;
}

static bool is_sorted(const struct sim_times *t)
{
	for (size_t i = 1; i < t->count; i++)
		if (t->at[i - 1] > t->at[i])
			return false;
	return true;
}

/* By digits and not by comparing: there are millions. None is negative. */
void sim_times_sort(struct sim_times *t)
{
	int64_t *other, *swap;

	if (t->sorted)
		return;
	t->sorted = true;
	if (is_sorted(t))
		return;
	other = need(reallocarray(NULL, t->room, sizeof(*other)));
	for (unsigned shift = 0; shift < 63; shift += RADIX_BITS) {
		if (!pass(t->at, other, t->count, shift))
			continue;
		swap = t->at;
		t->at = other;
		other = swap;
	}
	free(other);
}

double sim_times_quantile_ms(struct sim_times *t, double share)
{
	size_t index = (size_t)(share * (double)t->count);

	if (t->count == 0)
		return NAN;
	sim_times_sort(t);
	if (index >= t->count)
		index = t->count - 1;
	return (double)t->at[index] / (double)DUR_MS;
}

double sim_times_mean_ms(const struct sim_times *t)
{
	double sum = 0;

	for (size_t i = 0; i < t->count; i++)
		sum += (double)t->at[i];
	return t->count ? sum / (double)t->count / (double)DUR_MS : NAN;
}

size_t sim_times_peak(struct sim_times *t, int64_t window)
{
	size_t first = 0, most = 0;

	sim_times_sort(t);
	for (size_t i = 0; i < t->count; i++) {
		while (t->at[i] - t->at[first] >= window)
			first++;
		if (i + 1 - first > most)
			most = i + 1 - first;
	}
	return most;
}

void sim_result_fill(struct sim_result *r, struct sim_times *successes,
                     struct sim_times *failures, struct sim_times *calls)
{
	r->requests = successes->count + failures->count;
	r->failures = failures->count;
	r->calls = calls->count;
	r->success = r->requests ? (double)successes->count / (double)r->requests : NAN;
	r->attempts = r->requests ? (double)calls->count / (double)r->requests : NAN;
	r->mean_ms = sim_times_mean_ms(successes);
	r->fail_ms = sim_times_mean_ms(failures);
	r->p50_ms = sim_times_quantile_ms(successes, 0.5);
	r->p95_ms = sim_times_quantile_ms(successes, 0.95);
	r->p99_ms = sim_times_quantile_ms(successes, 0.99);
	r->peak_per_s = (double)sim_times_peak(calls, DUR_S);
}

struct sim_stat sim_stat(const double *values, size_t count)
{
	struct sim_stat s = { NAN, 0 };
	double sum = 0, squares = 0;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (isnan(values[i]))
			continue;
		sum += values[i];
		n++;
	}
	if (n == 0)
		return s;
	s.mean = sum / (double)n;
	for (size_t i = 0; i < count; i++)
		if (!isnan(values[i]))
			squares += (values[i] - s.mean) * (values[i] - s.mean);
	if (n > 1)
		s.two_sd = 2 * sqrt(squares / (double)(n - 1));
	return s;
}

/* One step of the generator from a state that all three have gone into: there are
 * two streams a request, so it must be cheap. */
struct prng sim_stream(uint64_t seed, enum sim_stream kind, uint64_t index)
{
	struct prng p, stream;

	prng_seed(&p, seed ^ (uint64_t)kind << 56);
	p.state = prng_next(&p) + index * UINT64_C(0xd1342543de82ef95);
	prng_seed(&stream, prng_next(&p));
	return stream;
}

double sim_uniform(uint64_t random)
{
	return (double)(random >> 11) / (double)(UINT64_C(1) << 53);
}
