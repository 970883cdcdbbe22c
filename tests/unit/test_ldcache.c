/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/prng.h"
#include "cli/ldcache.h"
#include "unit.h"

#define SIZE 512

/* As ldconfig(8) writes it: libtwo.so once, libone.so twice and once more for a
 * special processor. */
static const char texts[] = "libone.so\0/lib/libone.so\0/old/libone.so\0/fast/libone.so\0"
                            "libtwo.so\0/lib/libtwo.so";
enum { NAME_ONE = 0, PATH_ONE = 10, PATH_OLD = 25, PATH_FAST = 40, NAME_TWO = 56,
       PATH_TWO = 66 };

struct entry {
	int32_t flags;
	uint32_t name, path, os_version;
	uint64_t hwcap;
};

static size_t make(unsigned char *bytes, bool old_in_front)
{
	static const struct entry rows[] = {
		{ 0x303, NAME_TWO, PATH_TWO, 0, 0 },
		{ 0x303, NAME_ONE, PATH_FAST, 0, UINT64_C(1) << 62 },
		{ 0x303, NAME_ONE, PATH_ONE, 0, 0 },
		{ 0x3, NAME_ONE, PATH_OLD, 0, 0 },
	};
	const uint32_t count = ARRAY_LEN(rows), one = 1;
	/* The old header, an entry of 12 bytes, and 4 that align. */
	size_t start = old_in_front ? 16 + 12 + 4 : 0;
	size_t at = start + 48 + sizeof(rows);

	memset(bytes, 0, SIZE);
	if (old_in_front) {
		memcpy(bytes, "ld.so-1.7.0", 11);
		memcpy(bytes + 12, &one, 4);
	}
	memcpy(bytes + start, "glibc-ld.so.cache1.1", 20);
	memcpy(bytes + start + 20, &count, 4);
	for (size_t i = 0; i < count; i++) {
		struct entry e = rows[i];

		e.name += 48 + sizeof(rows);
		e.path += 48 + sizeof(rows);
		memcpy(bytes + start + 48 + i * sizeof(e), &e, sizeof(e));
	}
	memcpy(bytes + at, texts, sizeof(texts));
	return at + sizeof(texts);
}

static int memory = -1;
static char path[40];

static const char *as_file(const void *bytes, size_t size)
{
	if (memory < 0) {
		memory = memfd_create("cache", 0);
		ck_assert_int_ge(memory, 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	}
	ck_assert_int_eq(ftruncate(memory, 0), 0);
	ck_assert_int_eq(pwrite(memory, bytes, size, 0), (ssize_t)size);
	return path;
}

START_TEST(finds)
{
	unsigned char bytes[SIZE];
	struct ldcache c;

	for (unsigned old = 0; old < 2; old++) {
		ldcache_read(&c, as_file(bytes, make(bytes, old)));
		ck_assert_uint_eq(c.entries, 4);
		ck_assert_str_eq(ldcache_find(&c, "libone.so", 0), "/lib/libone.so");
		ck_assert_str_eq(ldcache_find(&c, "libone.so", 1), "/old/libone.so");
		ck_assert_ptr_null(ldcache_find(&c, "libone.so", 2));
		ck_assert_str_eq(ldcache_find(&c, "libtwo.so", 0), "/lib/libtwo.so");
		ck_assert_ptr_null(ldcache_find(&c, "lib", 0));
		ldcache_free(&c);
	}
}
END_TEST

START_TEST(nothing)
{
	static const char *const others[] = { "", "text", "ld.so-1.7.0", "glibc-ld.so.cache1.1" };
	struct ldcache c;

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		ldcache_read(&c, as_file(others[i], strlen(others[i])));
		ck_assert_uint_eq(c.entries, 0);
		ck_assert_ptr_null(ldcache_find(&c, "", 0));
		ldcache_free(&c);
	}
	ldcache_read(&c, "/nonexistent");
	ck_assert_uint_eq(c.entries, 0);
	ldcache_free(&c);
	ldcache_read(&c, "/");
	ck_assert_uint_eq(c.entries, 0);
	ldcache_free(&c);
}
END_TEST

static void survive(const void *bytes, size_t size)
{
	struct ldcache c;
	const char *found;

	ldcache_read(&c, as_file(bytes, size));
	ck_assert_uint_le(c.entries, SIZE / sizeof(struct entry));
	for (unsigned i = 0; i < 8; i++) {
		found = ldcache_find(&c, "libone.so", i);
		ck_assert(!found || strlen(found) < SIZE);
	}
	ldcache_free(&c);
}

START_TEST(truncated)
{
	unsigned char bytes[SIZE];

	for (unsigned old = 0; old < 2; old++) {
		size_t size = make(bytes, old);

		for (size_t len = 0; len <= size; len++)
			survive(bytes, len);
	}
}
END_TEST

START_TEST(damaged)
{
	static const uint32_t edges[] = { 0, 1, 0x7fffffff, 0xffffffff, 0xfffffff0, SIZE, 48 };
	unsigned char bytes[SIZE];
	struct prng r;

	prng_seed(&r, 7);
	for (unsigned round = 0; round < 5000; round++) {
		size_t size = make(bytes, round & 1);

		for (unsigned i = 0; i < 3; i++) {
			uint64_t random = prng_next(&r);
			uint32_t value = (uint32_t)random;

			if (random >> 63)
				value = edges[(random >> 32) % ARRAY_LEN(edges)];
			memcpy(bytes + (random >> 40) % (size - 4), &value, 4);
		}
		survive(bytes, size);
	}
}
END_TEST

UNIT_MAIN("ldcache", &finds, &nothing, &truncated, &damaged)
