/* SPDX-License-Identifier: MIT */
#include "state/tally.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/duration.h"
#include "tests/unit/unit.h"

#define LENGTH (10 * DUR_S)

static _Thread_local uint64_t recent; /* of the last take */
static int64_t clock_now = 1000 * DUR_S;

static struct sockaddr_in four(uint32_t ip, uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		                     .sin_port = htons(port),
		                     .sin_addr.s_addr = htonl(ip) };
}

static void call(uint32_t ip, uint16_t port)
{
	struct sockaddr_in in = four(ip, port);

	tally_call((struct sockaddr *)&in, sizeof(in), clock_now);
}

static uint64_t take(uint32_t ip, uint16_t port)
{
	struct sockaddr_in in = four(ip, port);
	struct addr a;

	ck_assert(addr_from_sockaddr(&a, (struct sockaddr *)&in, sizeof(in)));
	return tally_take(&a, clock_now, LENGTH, &recent);
}

START_TEST(what_was_counted_is_taken_once)
{
	ck_assert_uint_eq(take(1, 80), 0);
	for (unsigned i = 0; i < 1000; i++)
		call(1, 80);
	call(1, 81);
	call(2, 80);
	ck_assert_uint_eq(take(1, 80), 1000);
	ck_assert_uint_eq(take(1, 80), 0);
	call(1, 80);
	ck_assert_uint_eq(take(1, 80), 1);
	ck_assert_uint_eq(take(1, 81), 1);
	ck_assert_uint_eq(take(2, 80), 1);
}
END_TEST

/* A day of calls is no leave for a day's share of retries. */
START_TEST(what_is_long_ago_is_not_recent)
{
	static const struct {
		unsigned calls;
		int64_t later; /* ns, from the first call to the take */
		uint64_t recent;
	} table[] = {
		{ 100, 0, 100 },           { 100, LENGTH, 100 },          { 100, 2 * LENGTH, 50 },
		{ 1000, 100 * LENGTH, 10 }, { 1, 100 * LENGTH, 1 },        { 3, INT64_MAX / 2, 1 },
		{ 0, 2 * LENGTH, 0 },      { 1000, 3 * LENGTH / 2, 667 },
	};

	for (unsigned i = 0; i < ARRAY_LEN(table); i++) {
		int64_t then = clock_now;

		/* Once by a new cell, once by one that was taken before. */
		for (unsigned again = 0; again < 2; again++) {
			clock_now = then;
			if (again)
				take(9 + i, 1);
			for (unsigned n = 0; n < table[i].calls; n++)
				call(9 + i, 1);
			clock_now += table[i].later;
			ck_assert_uint_eq(take(9 + i, 1), table[i].calls);
			ck_assert_msg(recent == table[i].recent, "row %u: %ju", i, recent);
			then = clock_now;
			if (table[i].later > 1000 * LENGTH)
				break;
		}
		clock_now = 1000 * DUR_S;
	}
	/* A clock that went back. */
	call(1, 1);
	clock_now -= 10 * LENGTH;
	call(1, 1);
	ck_assert_uint_eq(take(1, 1), 2);
	ck_assert_uint_eq(recent, 2);
}
END_TEST

static struct sockaddr_in6 six(const char *ip, uint16_t port, uint32_t scope, uint32_t flow)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		                    .sin6_port = htons(port),
		                    .sin6_scope_id = scope,
		                    .sin6_flowinfo = flow };

	ck_assert_int_eq(inet_pton(AF_INET6, ip, &in6.sin6_addr), 1);
	return in6;
}

static void call6(const char *ip, uint16_t port, uint32_t scope, uint32_t flow)
{
	struct sockaddr_in6 in6 = six(ip, port, scope, flow);

	tally_call((struct sockaddr *)&in6, sizeof(in6), clock_now);
}

static uint64_t take6(const char *ip, uint16_t port, uint32_t scope)
{
	struct sockaddr_in6 in6 = six(ip, port, scope, 0);
	struct addr a;

	ck_assert(addr_from_sockaddr(&a, (struct sockaddr *)&in6, sizeof(in6)));
	return tally_take(&a, clock_now, LENGTH, &recent);
}

START_TEST(addresses_are_told_apart)
{
	call6("2001:db8::1", 80, 0, 0);
	call6("2001:db8::1", 80, 0, 12345); /* a label of a flow is no address */
	call6("2001:db8::1", 81, 0, 0);
	call6("2001:db8::2", 80, 0, 0);
	call6("2001:db8:0:1::1", 80, 0, 0);
	call6("fe80::1", 80, 1, 0);
	call6("fe80::1", 80, 2, 0);
	call6("fe80::1", 80, 2, 0);
	call6("::", 80, 0, 0);
	/* The same as IPv4, however it is written. */
	call6("::ffff:192.0.2.1", 80, 0, 0);
	call(0xc0000201, 80);
	ck_assert_uint_eq(take6("::ffff:192.0.2.1", 80, 0), 2);
	call6("::ffff:192.0.2.1", 80, 0, 0);
	ck_assert_uint_eq(take(0xc0000201, 80), 1);
	ck_assert_uint_eq(take6("2001:db8::1", 80, 0), 2);
	ck_assert_uint_eq(take6("2001:db8::1", 81, 0), 1);
	ck_assert_uint_eq(take6("2001:db8::2", 80, 0), 1);
	ck_assert_uint_eq(take6("2001:db8:0:1::1", 80, 0), 1);
	ck_assert_uint_eq(take6("fe80::1", 80, 1), 1);
	ck_assert_uint_eq(take6("fe80::1", 80, 2), 2);
	ck_assert_uint_eq(take6("::", 80, 0), 1);
}
END_TEST

static uint64_t drained;
static uint64_t left_over;
static unsigned addresses;
static unsigned ends;

static void add_up(void *arg, const struct addr *a, uint64_t n)
{
	ck_assert_ptr_eq(arg, &drained);
	ck_assert_uint_eq(ends, 0);
	if (!a) {
		left_over = n;
		ends++;
		return;
	}
	ck_assert_uint_gt(n, 0);
	ck_assert(a->family == AF_INET || a->family == AF_INET6);
	drained += n;
	addresses++;
}

static uint64_t drain(void)
{
	drained = left_over = 0;
	addresses = ends = 0;
	tally_drain(add_up, &drained);
	ck_assert_uint_eq(ends, 1);
	return drained + left_over;
}

START_TEST(others_are_not_counted)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/x" };
	struct sockaddr_in in = four(1, 1);
	struct sockaddr_in6 in6 = six("::1", 1, 0, 0);
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct addr a;

	tally_call((struct sockaddr *)&un, sizeof(un), clock_now);
	tally_call((struct sockaddr *)&in, 8, clock_now);
	tally_call((struct sockaddr *)&in6, sizeof(struct sockaddr_in), clock_now);
	tally_call(&none, sizeof(none), clock_now);
	tally_call(NULL, 0, clock_now);
	ck_assert_uint_eq(drain(), 0);
	ck_assert(addr_from_sockaddr(&a, (struct sockaddr *)&un, sizeof(un)));
	ck_assert_uint_eq(tally_take(&a, clock_now, LENGTH, &recent), 0);
	/* Longer than the family has is what the kernel takes. */
	tally_call((struct sockaddr *)&(struct sockaddr_storage){ .ss_family = AF_INET },
	           sizeof(struct sockaddr_storage), clock_now);
	ck_assert_uint_eq(drain(), 1);
}
END_TEST

START_TEST(draining_empties)
{
	for (unsigned i = 0; i < 10; i++)
		call(100, 80);
	call6("2001:db8::1", 443, 7, 0);
	ck_assert_uint_eq(drain(), 11);
	ck_assert_uint_eq(addresses, 2);
	ck_assert_uint_eq(left_over, 0);
	ck_assert_uint_eq(drain(), 0);
	ck_assert_uint_eq(take(100, 80), 0);
}
END_TEST

/* Nothing is lost: what finds no place is in the remainder. */
START_TEST(more_addresses_than_places)
{
	uint64_t kept = 0;

	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < 10 * TALLY_CELLS; i++)
			call(i, (uint16_t)(i % 7));
	ck_assert_uint_eq(drain(), 30 * TALLY_CELLS);
	ck_assert_uint_gt(left_over, 0);
	ck_assert_uint_gt(addresses, TALLY_CELLS / 2);
	ck_assert_uint_le(addresses, TALLY_CELLS);
	/* The one that is used most keeps its place. */
	for (unsigned i = 0; i < 1000; i++) {
		for (unsigned j = 0; j < 10; j++)
			call(77, 7777);
		call(1000 + i, 80);
	}
	kept = take(77, 7777);
	ck_assert_uint_eq(kept, 10000);
	ck_assert_uint_eq(kept + drain(), 11000);
}
END_TEST

/* A few dozen destinations, as programs have them, do not push each other out. */
START_TEST(few_addresses_keep_their_places)
{
	uint64_t kept = 0;

	for (unsigned i = 0; i < 24; i++)
		for (unsigned j = 0; j < 5; j++)
			call(0x0a000000 + i, 5432);
	for (unsigned i = 0; i < 24; i++)
		kept += take(0x0a000000 + i, 5432);
	ck_assert_uint_eq(kept, 24 * 5);
	ck_assert_uint_eq(drain(), 0);
}
END_TEST

START_TEST(a_child_begins_with_nothing)
{
	pid_t pid;
	int status;

	call(5, 5);
	for (unsigned i = 0; i < 10 * TALLY_CELLS; i++)
		call(i, 9);
	pid = fork();
	if (pid == 0) {
		tally_postfork_child();
		if (drain() != 0)
			_exit(1);
		call(5, 5);
		_exit(take(5, 5) == 1 && drain() == 0 ? 0 : 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(drain(), 10 * TALLY_CELLS + 1);
}
END_TEST

#define THREADS 6
#define CALLS 400000

static _Atomic uint64_t taken;

/* Addresses that share places, so that they are given away all the time; one thread
 * takes and drains meanwhile. */
static void *count_many(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < CALLS; i++) {
		if (i % 2)
			call(i * (me + 1) % 997, 80);
		else
			call(4, 4);
	}
	return NULL;
}

static void take_some(void *arg, const struct addr *a, uint64_t n)
{
	(void)a;
	*(uint64_t *)arg += n;
}

static void *take_many(void *arg)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 300; i++) {
		sum += take(4, 4);
		tally_drain(take_some, &sum);
	}
	atomic_fetch_add(&taken, sum);
	return arg;
}

START_TEST(threads_lose_nothing)
{
	pthread_t threads[THREADS + 1];

	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, count_many, (void *)(uintptr_t)i), 0);
	ck_assert_int_eq(pthread_create(&threads[THREADS], NULL, take_many, NULL), 0);
	for (unsigned i = 0; i <= THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(atomic_load(&taken) + drain(), THREADS * CALLS);
}
END_TEST

/* Each thread's own address among them: none of its calls is another's. */
static void *count_mine(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < CALLS; i++)
		call(0x7f000000 + me, 1);
	return NULL;
}

START_TEST(threads_do_not_mix)
{
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, count_mine, (void *)(uintptr_t)i), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_uint_eq(take(0x7f000000 + i, 1), CALLS);
}
END_TEST

UNIT_MAIN("tally", &what_was_counted_is_taken_once, &what_is_long_ago_is_not_recent,
          &addresses_are_told_apart,
          &others_are_not_counted, &draining_empties, &more_addresses_than_places,
          &few_addresses_keep_their_places, &a_child_begins_with_nothing,
          &threads_lose_nothing, &threads_do_not_mix)
