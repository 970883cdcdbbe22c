/* SPDX-License-Identifier: MIT */
/* The library's own memcpy() and so on, which this program is linked with, beside libc's. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/prng.h"
#include "tests/unit/unit.h"

#define ROUNDS 20000
#define MOST 80

static struct prng random_numbers;
/* Two places that end where nothing can be read. */
static unsigned char *end[2];

static unsigned below(unsigned bound)
{
	return (unsigned)(prng_next(&random_numbers) % bound);
}

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static void *libc(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	ck_assert_ptr_nonnull(f);
	return f;
}

#define LIBC(name) \
	({ \
		static void *found; \
		if (!found) \
			found = libc(#name); \
		(__typeof__(&name))found; \
	})

static void setup(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	prng_seed(&random_numbers, 1);
	for (int i = 0; i < 2; i++) {
		unsigned char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		ck_assert_ptr_ne(p, MAP_FAILED);
		ck_assert_int_eq(mprotect(p + page, page, PROT_NONE), 0);
		end[i] = p + page;
	}
}

/* A text of few letters, the zero byte the last that can be read. */
static const char *text(int where, unsigned len)
{
	static const char letters[] = "aAzZ\xc4\xe4 @[";
	char *p = (char *)end[where] - len - 1;

	for (unsigned i = 0; i < len; i++)
		p[i] = letters[below(below(2) ? 2 : sizeof(letters) - 1)];
	p[len] = '\0';
	return p;
}

START_TEST(bytes_move_as_in_libc)
{
	unsigned char was[2 * MOST], own[2 * MOST], its[2 * MOST];

	setup();
	for (unsigned i = unit_rounds(ROUNDS); i > 0; i--) {
		unsigned n = below(MOST), from = below(MOST), to = below(MOST);

		for (size_t k = 0; k < sizeof(was); k++)
			own[k] = its[k] = was[k] = (unsigned char)below(256);
		ck_assert_ptr_eq(memmove(own + to, own + from, n), own + to);
		LIBC(memmove)(its + to, its + from, n);
		ck_assert_int_eq(LIBC(memcmp)(own, its, sizeof(own)), 0);
		ck_assert_ptr_eq(memcpy(own + to, was + from, n), own + to);
		LIBC(memmove)(its + to, was + from, n);
		ck_assert_int_eq(LIBC(memcmp)(own, its, sizeof(own)), 0);
		ck_assert_ptr_eq(memset(own + to, (int)from - 40, n), own + to);
		LIBC(memset)(its + to, (int)from - 40, n);
		ck_assert_int_eq(LIBC(memcmp)(own, its, sizeof(own)), 0);
		memcpy(end[0] - n, own, n);
		memmove(end[1] - n, end[0] - n, n);
		memset(end[1] - n, 0, n);
	}
}
END_TEST

START_TEST(bytes_are_found_as_in_libc)
{
	setup();
	for (unsigned i = unit_rounds(ROUNDS); i > 0; i--) {
		unsigned n = below(MOST), len = below(5);
		const char *a = text(0, n) + 1, *b = text(1, len) + 1;
		int c = a[(int)below(n + 1) - 1] + (below(2) ? 256 : 0);

		ck_assert_ptr_eq(memchr(a, c, n), LIBC(memchr)(a, c, n));
		ck_assert_ptr_eq(memmem(a, n, b, len), LIBC(memmem)(a, n, b, len));
		if (len > n)
			continue;
		ck_assert_int_eq(sign(memcmp(a, b, len)), sign(LIBC(memcmp)(a, b, len)));
		memcpy(end[1] - n, a, n);
		if (n && below(2))
			end[1][-(int)below(n) - 1] ^= 0x80;
		ck_assert_int_eq(sign(memcmp(a, end[1] - n, n)),
		                 sign(LIBC(memcmp)(a, end[1] - n, n)));
	}
}
END_TEST

START_TEST(texts_compare_as_in_libc)
{
	setup();
	for (unsigned i = unit_rounds(ROUNDS); i > 0; i--) {
		const char *a = text(0, below(below(2) ? 4 : MOST));
		const char *b = text(1, below(below(2) ? 4 : MOST));
		size_t most = below(MOST + 1);

		if (below(4) == 0 && strlen(a) < MOST)
			b = memcpy(end[1] - strlen(a) - 1, a, strlen(a) + 1);
		ck_assert_uint_eq(strlen(a), LIBC(strlen)(a));
		ck_assert_uint_eq(strnlen(a, most), LIBC(strnlen)(a, most));
		ck_assert_int_eq(sign(strcmp(a, b)), sign(LIBC(strcmp)(a, b)));
		ck_assert_int_eq(sign(strncmp(a, b, most)), sign(LIBC(strncmp)(a, b, most)));
		ck_assert_int_eq(sign(strcasecmp(a, b)), sign(LIBC(strcasecmp)(a, b)));
		ck_assert_int_eq(sign(strncasecmp(a, b, most)),
		                 sign(LIBC(strncasecmp)(a, b, most)));
		/* Without an end of their own. */
		a = memset(end[0] - most, 'x', most);
		b = memset(end[1] - most, 'x', most);
		ck_assert_uint_eq(strnlen(a, most), most);
		ck_assert_int_eq(strncmp(a, b, most), 0);
		ck_assert_int_eq(strncasecmp(a, b, most), 0);
	}
}
END_TEST

START_TEST(letters_are_found_as_in_libc)
{
	setup();
	for (unsigned i = unit_rounds(ROUNDS); i > 0; i--) {
		const char *a = text(0, below(below(2) ? 4 : MOST));
		const char *b = text(1, below(5));
		int c = below(4) ? b[0] : 'z' + 256;

		ck_assert_ptr_eq(strchr(a, c), LIBC(strchr)(a, c));
		ck_assert_ptr_eq(strrchr(a, c), LIBC(strrchr)(a, c));
		ck_assert_uint_eq(strcspn(a, b), LIBC(strcspn)(a, b));
		ck_assert_uint_eq(strspn(a, b), LIBC(strspn)(a, b));
	}
}
END_TEST

UNIT_MAIN("string", &bytes_move_as_in_libc, &bytes_are_found_as_in_libc,
          &texts_compare_as_in_libc, &letters_are_found_as_in_libc)
