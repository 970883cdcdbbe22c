/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "policy/inject.h"

static const struct fault plain = {
	.op = OP_CONNECT, .error = { ERR_ERRNO, ECONNREFUSED }, .probability = PPM
};

static bool struck(const struct fault *f, uint64_t nth, int64_t since)
{
	struct injection i;

	return inject_decide(f, 0, nth, since, 1, &i);
}

START_TEST(counts_decide)
{
	static const struct {
		uint32_t first, every, after;
		const char *calls; /* 'x': struck, from call 1 on */
	} cases[] = {
		{ 0, 0, 0, "xxxxxxxxxxxx" }, { 3, 0, 0, "xxx........." },
		{ 0, 3, 0, "..x..x..x..x" }, { 0, 1, 0, "xxxxxxxxxxxx" },
		{ 0, 0, 4, "....xxxxxxxx" }, { 3, 0, 4, "....xxx....." },
		{ 0, 3, 4, "......x..x.." }, { 4, 2, 0, ".x.x........" },
		{ 1, 0, 11, "...........x" }, { 1, 2, 0, "............" },
	};

	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		struct fault f = plain;

		f.first = cases[c].first;
		f.every = cases[c].every;
		f.after = cases[c].after;
		for (uint64_t n = 1; n <= 12; n++)
			ck_assert_msg(struck(&f, n, 0) == (cases[c].calls[n - 1] == 'x'),
			              "case %zu, call %d", c, (int)n);
	}
}
END_TEST

static unsigned share(const struct fault *f, unsigned index, uint64_t seed, unsigned calls)
{
	unsigned n = 0;
	struct injection i;

	for (unsigned c = 1; c <= calls; c++)
		n += inject_decide(f, index, c, 0, seed, &i);
	return n;
}

START_TEST(probability_is_kept)
{
	static const int64_t ppm[] = { 0, 1000, 50000, 300000, 500000, 999000, PPM };
	const unsigned calls = 100000;

	for (size_t p = 0; p < ARRAY_LEN(ppm); p++) {
		for (uint64_t seed = 0; seed < 3; seed++) {
			struct fault f = plain;
			int64_t expected = ppm[p] * calls / PPM;

			f.probability = ppm[p];
			/* Five standard deviations are at most 790. */
			ck_assert_int_lt(llabs(share(&f, 0, seed, calls) - expected), 800);
			if (ppm[p] == 0 || ppm[p] == PPM)
				ck_assert_int_eq(share(&f, 0, seed, calls), expected);
		}
	}
}
END_TEST

/* Bit n: call n + 1 is struck. */
static uint64_t pattern(const struct fault *f, unsigned index, uint64_t seed)
{
	uint64_t bits = 0;
	struct injection i;

	for (unsigned n = 0; n < 64; n++)
		bits |= (uint64_t)inject_decide(f, index, n + 1, n, seed, &i) << n;
	return bits;
}

START_TEST(seed_and_index_decide)
{
	struct fault f = plain;

	f.probability = PPM / 2;
	f.delay = f.delay_jitter = DUR_S;
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct injection a, b;

		ck_assert_uint_eq(pattern(&f, 0, seed), pattern(&f, 0, seed));
		ck_assert_uint_ne(pattern(&f, 0, seed), pattern(&f, 0, seed + 1));
		ck_assert_uint_ne(pattern(&f, 0, seed), pattern(&f, 1, seed));
		if (!inject_decide(&f, 3, 9, 0, seed, &a))
			continue;
		/* The time counts for outages only. */
		ck_assert(inject_decide(&f, 3, 9, DUR_S, seed, &b));
		ck_assert_int_eq(a.delay, b.delay);
	}
}
END_TEST

START_TEST(what_happens)
{
	struct fault f = plain;
	struct injection i;

	ck_assert(inject_decide(&f, 0, 1, 0, 0, &i));
	ck_assert_int_eq(i.error.code, ECONNREFUSED);
	ck_assert(i.delay == 0 && i.short_write == 0 && !i.reset);

	f.error.code = 0;
	f.reset = true;
	ck_assert(inject_decide(&f, 0, 1, 0, 0, &i));
	ck_assert(i.reset && i.error.domain == ERR_ERRNO);
	ck_assert_int_eq(i.error.code, ECONNRESET);

	f.reset = false;
	f.op = OP_SEND;
	f.short_write = 7;
	ck_assert(inject_decide(&f, 0, 1, 0, 0, &i));
	ck_assert(i.error.code == 0 && i.short_write == 7);

	f.first = 1;
	i.delay = 99;
	ck_assert(!inject_decide(&f, 0, 2, 0, 0, &i));
	ck_assert(i.error.code == 0 && i.short_write == 0 && i.delay == 0 && !i.reset);
}
END_TEST

START_TEST(delays_spread)
{
	static const struct {
		int64_t delay, jitter, least, most;
	} cases[] = {
		{ 200 * DUR_MS, 0, 200 * DUR_MS, 200 * DUR_MS },
		{ 200 * DUR_MS, 50 * DUR_MS, 150 * DUR_MS, 250 * DUR_MS },
		{ 10 * DUR_MS, 30 * DUR_MS, 0, 40 * DUR_MS },
		{ 0, DUR_MS, 0, DUR_MS },
	};

	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		int64_t least = INT64_MAX, most = 0;
		struct fault f = plain;

		f.delay = cases[c].delay;
		f.delay_jitter = cases[c].jitter;
		for (unsigned n = 1; n <= 2000; n++) {
			struct injection i;

			ck_assert(inject_decide(&f, 0, n, 0, 5, &i));
			least = i.delay < least ? i.delay : least;
			most = i.delay > most ? i.delay : most;
		}
		ck_assert_int_ge(least, cases[c].least);
		ck_assert_int_le(most, cases[c].most);
		/* Both ends are nearly reached. */
		ck_assert_int_le(least - cases[c].least, (most - least) / 100);
		ck_assert_int_le(cases[c].most - most, (most - least) / 100);
	}
}
END_TEST

/* 1 - exp(-E[length] / mean_gap) of the time, as for any Poisson process. */
START_TEST(outages_take_their_share)
{
	static const struct {
		struct outage o;
		int64_t ppm;
	} cases[] = {
		{ { 2 * DUR_S, 50 * DUR_MS, 500 * DUR_MS }, 128470 },
		{ { DUR_S, DUR_S, DUR_S }, 632120 },
		{ { DUR_S, 0, 100 * DUR_MS }, 48770 },
		{ { DUR_S, 3 * DUR_S, 3 * DUR_S }, 950210 },
	};
	const int64_t samples = 100000;

	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		int64_t down = 0;

		for (int64_t n = 0; n < samples; n++)
			down += inject_outage(&cases[c].o, 0, n * 37 * DUR_MS, 42);
		down = down * PPM / samples;
		ck_assert_msg(llabs(down - cases[c].ppm) < cases[c].ppm / 20, "case %zu: %lld ppm",
		              c, (long long)down);
	}
}
END_TEST

/* Each is as long as it should be, also over the seams at 64 mean gaps. */
START_TEST(outages_are_whole)
{
	static const struct outage o = { DUR_S, 100 * DUR_MS, 100 * DUR_MS };
	int64_t began = -1, gap_sum = 0, last = 0;
	unsigned count = 0;

	if (unit_valgrind())
		return; /* a figure, of 600,000 calls; outages_know_no_past makes some as well */
	for (int64_t t = 0; t < 600 * DUR_S; t += DUR_MS) {
		bool down = inject_outage(&o, 2, t, 9);

		if (down && began < 0) {
			began = t;
			gap_sum += t - last;
			last = t;
			count++;
		} else if (!down && began >= 0) {
			ck_assert_int_ge(t - began, 99 * DUR_MS);
			began = -1;
		}
	}
	/* Those that begin in another are not seen: exp(-0.1) of 600. */
	ck_assert_uint_gt(count, 480);
	ck_assert_uint_lt(count, 606);
	ck_assert_int_gt(gap_sum / count, 990 * DUR_MS);
}
END_TEST

START_TEST(outages_know_no_past)
{
	static const struct outage o = { 100 * DUR_MS, DUR_MS, 200 * DUR_MS };
	bool forward[500], differs = false;

	for (int n = 0; n < 500; n++)
		forward[n] = inject_outage(&o, 0, n * 61 * DUR_MS, 3);
	for (int n = 499; n >= 0; n--) {
		ck_assert(inject_outage(&o, 0, n * 61 * DUR_MS, 3) == forward[n]);
		differs = differs || inject_outage(&o, 1, n * 61 * DUR_MS, 3) != forward[n];
	}
	ck_assert(differs);
}
END_TEST

START_TEST(outages_at_their_limits)
{
	static const struct outage all[] = {
		{ DUR_MIN_CONFIG, 0, DUR_MAX_CONFIG },
		{ DUR_MAX_CONFIG, DUR_MAX_CONFIG, DUR_MAX_CONFIG },
		{ DUR_MIN_CONFIG, DUR_MIN_CONFIG, DUR_MIN_CONFIG },
		{ 1, 0, 1 },
	};
	static const struct outage none = { 0, 0, 0 };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		inject_outage(&all[i], 63, 0, UINT64_MAX);
		inject_outage(&all[i], 63, 1000 * DUR_MAX_CONFIG, UINT64_MAX);
		inject_outage(&all[i], 63, DUR_NONE, 0);
		ck_assert(!inject_outage(&all[i], 0, -1, 0));
	}
	/* A thousand beginnings a millisecond, each of half a day. */
	ck_assert(inject_outage(&all[0], 0, DUR_S, 0));
	ck_assert(!inject_outage(&none, 0, DUR_S, 0));
}
END_TEST

START_TEST(timelines)
{
	static const struct interval list[] = { { 10, 20 }, { 5, 7 }, { 15, 30 } };
	struct fault f = plain;

	f.timeline = list;
	f.timeline_count = ARRAY_LEN(list);
	for (int64_t t = 0; t < 40; t++)
		ck_assert(struck(&f, 1, t) == ((t >= 5 && t < 7) || (t >= 10 && t < 30)));
	/* None of its intervals is another thing than no timeline. */
	f.timeline_count = 0;
	ck_assert(!struck(&f, 1, 10));
}
END_TEST

START_TEST(conditions)
{
	static const char *const hosts[] = { "db*" };
	struct addr a, special;
	struct dest d = { .op = OP_CONNECT, .host = "db1", .addr = &a, .port = 80,
		          .proto = PROTO_TCP };
	struct fault f = plain;

	ck_assert(addr_parse_ip(&a, "192.0.2.1"));
	ck_assert(addr_parse_ip(&special, "224.0.0.1"));
	ck_assert(inject_matches(&f, &d));
	d.addr = &special;
	ck_assert(!inject_matches(&f, &d));
	f.match.hosts = hosts;
	f.match.host_count = 1;
	ck_assert(inject_matches(&f, &d));
	d.host = "web";
	ck_assert(!inject_matches(&f, &d));
	d.host = "DB.";
	ck_assert(inject_matches(&f, &d));
	d.op = OP_SEND;
	ck_assert(!inject_matches(&f, &d));
	f.op = OP_SEND;
	f.match.proto = PROTO_UDP;
	ck_assert(!inject_matches(&f, &d));
	d.proto = PROTO_UDP;
	ck_assert(inject_matches(&f, &d));
}
END_TEST

START_TEST(errors_that_can_be)
{
	static const struct {
		enum op op;
		const char *name;
		const char *why; /* NULL: it can */
	} cases[] = {
		{ OP_CONNECT, "ECONNREFUSED", NULL },
		{ OP_CONNECT, "ETIMEDOUT", NULL },
		{ OP_CONNECT, "ENOENT", NULL },
		{ OP_CONNECT, "EAGAIN", NULL },
		{ OP_CONNECT, "EPIPE", "connect does not return it (see connect(2))" },
		{ OP_CONNECT, "EMFILE", "connect does not return it (see connect(2))" },
		{ OP_CONNECT, "EAI_AGAIN", "the call does not return it (an errno name)" },
		{ OP_CONNECT, "TRY_AGAIN", "the call does not return it (an errno name)" },
		{ OP_CONNECT, "EINPROGRESS",
		  "says that the attempt goes on, or has been made (an error that ends it)" },
		{ OP_CONNECT, "EINTR",
		  "says that the attempt goes on, or has been made (an error that ends it)" },
		{ OP_SEND, "EPIPE", NULL },
		{ OP_SEND, "EINTR", NULL },
		{ OP_SEND, "ENOBUFS", NULL },
		{ OP_SEND, "EADDRINUSE", "send does not return it (see send(2))" },
		{ OP_SEND, "ENOENT", "send does not return it (see send(2))" },
		{ OP_SEND, "EAI_FAIL", "the call does not return it (an errno name)" },
		{ OP_LOOKUP, "EAI_AGAIN", NULL },
		{ OP_LOOKUP, "EAI_NONAME", NULL },
		{ OP_LOOKUP, "EAI_OVERFLOW", "getaddrinfo does not return it (EAI_...)" },
		{ OP_LOOKUP, "EAI_SYSTEM",
		  "would need an errno with it (EAI_AGAIN, EAI_FAIL, ...)" },
		{ OP_LOOKUP, "ECONNREFUSED", "getaddrinfo does not return it (EAI_...)" },
		{ OP_LOOKUP, "HOST_NOT_FOUND", "getaddrinfo does not return it (EAI_...)" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *why = NULL;
		struct err e;
		bool can;

		ck_assert(err_parse(cases[i].name, &e));
		can = inject_possible(cases[i].op, e, &why);
		ck_assert_msg(can == !cases[i].why, "%s", cases[i].name);
		if (!can)
			ck_assert_str_eq(why, cases[i].why);
	}
}
END_TEST

UNIT_MAIN("inject", &counts_decide, &probability_is_kept, &seed_and_index_decide, &what_happens,
          &delays_spread, &outages_take_their_share, &outages_are_whole, &outages_know_no_past,
          &outages_at_their_limits, &timelines, &conditions, &errors_that_can_be)
