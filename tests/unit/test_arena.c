/* SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <stdint.h>
#include <string.h>

#include "unit.h"

#include "config/arena.h"

START_TEST(gives_aligned_zeros)
{
	struct arena *a = arena_new();

	ck_assert_ptr_nonnull(a);
	for (size_t size = 0; size < 300; size++) {
		unsigned char *p = arena_alloc(a, size);

		ck_assert_ptr_nonnull(p);
		ck_assert_uint_eq((uintptr_t)p % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			ck_assert_uint_eq(p[i], 0);
		memset(p, 0xff, size);
	}
	ck_assert(!arena_failed(a));
	arena_free(a);
}
END_TEST

START_TEST(pieces_do_not_overlap)
{
	static const size_t sizes[] = { 1, 65536, 17, 1 << 20, 40000, 3, 200000, 65520 };
	unsigned char *p[ARRAY_LEN(sizes)];
	struct arena *a = arena_new();

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		p[i] = arena_alloc(a, sizes[i]);
		ck_assert_ptr_nonnull(p[i]);
		memset(p[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		ck_assert_uint_eq(p[i][0], i + 1);
		ck_assert_uint_eq(p[i][sizes[i] - 1], i + 1);
	}
	arena_free(a);
}
END_TEST

START_TEST(copies_texts)
{
	struct arena *a = arena_new();

	ck_assert_str_eq(arena_text(a, "hello", 3), "hel");
	ck_assert_str_eq(arena_text(a, "", 0), "");
	ck_assert_str_eq(arena_text(a, NULL, 0), "");
	arena_free(a);
}
END_TEST

START_TEST(remembers_failure)
{
	struct arena *a = arena_new();

	ck_assert_ptr_null(arena_array(a, SIZE_MAX / 2, 3));
	ck_assert(arena_failed(a));
	arena_free(a);
	a = arena_new();
	ck_assert_ptr_null(arena_alloc(a, SIZE_MAX));
	ck_assert(arena_failed(a));
	ck_assert_ptr_nonnull(arena_alloc(a, 8));
	ck_assert(arena_failed(a));
	arena_free(a);
	a = arena_new();
	ck_assert_ptr_null(arena_alloc(a, SIZE_MAX / 4 * 3));
	ck_assert_str_eq(arena_text(a, "x", SIZE_MAX), "");
	ck_assert(arena_failed(a));
	arena_free(a);
	arena_free(NULL);
}
END_TEST

START_TEST(leaves_malloc_alone)
{
	struct mallinfo2 before = mallinfo2(), after;
	struct arena *a = arena_new();

	for (int i = 0; i < 1000; i++)
		arena_alloc(a, 1000);
	after = mallinfo2();
	ck_assert_uint_eq(before.uordblks, after.uordblks);
	ck_assert_uint_eq(before.hblkhd, after.hblkhd);
	arena_free(a);
}
END_TEST

UNIT_MAIN("arena", &gives_aligned_zeros, &pieces_do_not_overlap, &copies_texts,
          &remembers_failure, &leaves_malloc_alone)
