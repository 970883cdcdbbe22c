/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "base/prng.h"

START_TEST(gives_the_published_sequence)
{
	/* splitmix64's first numbers from seed 1234567. */
	static const uint64_t expected[] = {
		UINT64_C(6457827717110365317),  UINT64_C(3203168211198807973),
		UINT64_C(9817491932198370423),  UINT64_C(4593380528125082431),
		UINT64_C(16408922859458223821),
	};
	struct prng p;

	prng_seed(&p, 1234567);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		ck_assert_uint_eq(prng_next(&p), expected[i]);
}
END_TEST

START_TEST(below_covers_its_bounds)
{
	static const struct {
		uint64_t random;
		int64_t bound, result;
	} cases[] = {
		{ 0, 0, 0 },
		{ UINT64_MAX, 0, 0 },
		{ 0, 100, 0 },
		{ UINT64_MAX, 100, 100 },
		{ UINT64_C(1) << 63, 99, 50 },
		{ (UINT64_C(1) << 63) - 1, 99, 49 },
		{ UINT64_MAX, INT64_MAX, INT64_MAX },
		{ 1, INT64_MAX, 0 },
		{ 2, INT64_MAX, 1 },
		{ UINT64_C(0xffffffff00000000), INT64_MAX, INT64_C(0x7fffffff80000000) },
		/* carries through both middle products */
		{ UINT64_MAX, INT64_C(0xffffffffe), INT64_C(0xffffffffe) },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_int_eq(prng_below(cases[i].random, cases[i].bound), cases[i].result);
}
END_TEST

START_TEST(below_is_even)
{
	unsigned seen[10] = { 0 };
	struct prng p;

	prng_seed(&p, 42);
	for (int i = 0; i < 100000; i++)
		seen[prng_below(prng_next(&p), 9)]++;
	for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
		ck_assert_uint_gt(seen[i], 9500);
		ck_assert_uint_lt(seen[i], 10500);
	}
}
END_TEST

START_TEST(hashes_as_published)
{
	ck_assert_uint_eq(hash_bytes("", 0, 0), UINT64_C(0xcbf29ce484222325));
	ck_assert_uint_eq(hash_bytes("a", 1, 0), UINT64_C(0xaf63dc4c8601ec8c));
	ck_assert_uint_eq(hash_bytes("foobar", 6, 0), UINT64_C(0x85944171f73967e8));
	/* In two steps as in one. */
	ck_assert_uint_eq(hash_bytes("bar", 3, hash_bytes("foo", 3, 0)),
	                  hash_bytes("foobar", 6, 0));
}
END_TEST

UNIT_MAIN("prng", &gives_the_published_sequence, &below_covers_its_bounds, &below_is_even,
          &hashes_as_published)
