/* SPDX-License-Identifier: MIT */
/*
 * string.c - libc's functions for bytes and text, for libretry.so alone.
 *
 * Each of them that is imported is looked up at every start of a program, through all
 * objects in front of libc. Hidden ones of the same names are found when linking. Who
 * calls them includes <string.h> as everybody does, and sees the contracts there; only
 * that letters are those of ASCII whatever the locale is. Left out where a sanitizer must
 * see the calls. strcmp() is libc's: look-ups of names call it. Nothing is read outside of
 * what is given, not even in the same word.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Eight bytes anywhere. */
typedef uint64_t word __attribute__((may_alias, aligned(1)));
typedef uint32_t half __attribute__((may_alias, aligned(1)));

struct pair {
	uint64_t a;
	uint64_t b;
};

static inline struct pair get16(const unsigned char *p)
{
	return (struct pair){ *(const word *)p, *(const word *)(p + 8) };
}

static inline void put16(unsigned char *p, struct pair v)
{
	*(word *)p = v.a;
	*(word *)(p + 8) = v.b;
}

/* Less than 16 bytes: all are read before the first is written. */
static inline void move_few(unsigned char *to, const unsigned char *from, size_t n)
{
	if (n >= 8) {
		uint64_t head = *(const word *)from;
		uint64_t tail = *(const word *)(from + n - 8);

		*(word *)to = head;
		*(word *)(to + n - 8) = tail;
	} else if (n >= 4) {
		uint32_t head = *(const half *)from;
		uint32_t tail = *(const half *)(from + n - 4);

		*(half *)to = head;
		*(half *)(to + n - 4) = tail;
	} else if (n > 0) {
		unsigned char head = from[0];
		unsigned char middle = from[n / 2];
		unsigned char tail = from[n - 1];

		to[0] = head;
		to[n / 2] = middle;
		to[n - 1] = tail;
	}
}

/* What is written last was read first: the other steps may have overwritten it. */
void *memmove(void *into, const void *source, size_t n)
{
	unsigned char *to = into;
	const unsigned char *from = source;

	if (n < 16) {
		move_few(to, from, n);
	} else if ((uintptr_t)to - (uintptr_t)from >= n) {
		struct pair tail = get16(from + n - 16);

		for (size_t i = 0; i < n - 16; i += 16)
			put16(to + i, get16(from + i));
		put16(to + n - 16, tail);
	} else {
		struct pair head = get16(from);

		for (size_t i = n - 16; i > 0; i = i > 16 ? i - 16 : 0)
			put16(to + i, get16(from + i));
		put16(to, head);
	}
	return into;
}

void *memcpy(void *into, const void *source, size_t n)
{
	return memmove(into, source, n);
}

void *memset(void *into, int c, size_t n)
{
	unsigned char *to = into;
	uint64_t v = (unsigned char)c * UINT64_C(0x0101010101010101);
	struct pair both = { v, v };

	if (n < 8) {
		for (size_t i = 0; i < n; i++)
			to[i] = (unsigned char)c;
		return into;
	}
	if (n < 16) {
		*(word *)to = v;
		*(word *)(to + n - 8) = v;
		return into;
	}
	for (size_t i = 0; i < n - 16; i += 16)
		put16(to + i, both);
	put16(to + n - 16, both);
	return into;
}

static inline int same8(const unsigned char *a, const unsigned char *b)
{
	return *(const word *)a == *(const word *)b;
}

int memcmp(const void *one, const void *other, size_t n)
{
	const unsigned char *a = one;
	const unsigned char *b = other;
	size_t i = 0;

	/* Addresses and most names. */
	if (n >= 8 && n <= 16 && same8(a, b) && same8(a + n - 8, b + n - 8))
		return 0;
	while (n - i >= 8 && same8(a + i, b + i))
		i += 8;
	for (; i < n; i++)
		if (a[i] != b[i])
			return a[i] - b[i];
	return 0;
}

void *memchr(const void *bytes, int c, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		if (p[i] == (unsigned char)c)
			return (void *)(uintptr_t)(p + i);
	return NULL;
}

void *memmem(const void *bytes, size_t n, const void *part, size_t len)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; len <= n && i <= n - len; i++)
		if (memcmp(p + i, part, len) == 0)
			return (void *)(uintptr_t)(p + i);
	return NULL;
}

size_t strlen(const char *text)
{
	const char *p = text;

	/* Every look-up of a name asks. */
	for (;; p += 4) {
		if (!p[0])
			return (size_t)(p - text);
		if (!p[1])
			return (size_t)(p - text) + 1;
		if (!p[2])
			return (size_t)(p - text) + 2;
		if (!p[3])
			return (size_t)(p - text) + 3;
	}
}

size_t strnlen(const char *text, size_t most)
{
	size_t n = 0;

	while (n < most && text[n])
		n++;
	return n;
}

char *strchr(const char *text, int c)
{
	for (; *text != (char)c; text++)
		if (!*text)
			return NULL;
	return (char *)(uintptr_t)text;
}

char *strrchr(const char *text, int c)
{
	const char *last = NULL;

	for (;; text++) {
		if (*text == (char)c)
			last = text;
		if (!*text)
			return (char *)(uintptr_t)last;
	}
}

int strncmp(const char *one, const char *other, size_t most)
{
	for (size_t i = 0; i < most; i++) {
		unsigned char a = (unsigned char)one[i];
		unsigned char b = (unsigned char)other[i];

		if (a != b || !a)
			return a - b;
	}
	return 0;
}

static unsigned char lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

int strncasecmp(const char *one, const char *other, size_t most)
{
	for (size_t i = 0; i < most; i++) {
		unsigned char a = lower(one[i]);
		unsigned char b = lower(other[i]);

		if (a != b || !a)
			return a - b;
	}
	return 0;
}

int strcasecmp(const char *one, const char *other)
{
	return strncasecmp(one, other, SIZE_MAX);
}

size_t strcspn(const char *text, const char *of)
{
	size_t n = 0;

	while (text[n] && !strchr(of, text[n]))
		n++;
	return n;
}

size_t strspn(const char *text, const char *of)
{
	size_t n = 0;

	while (text[n] && strchr(of, text[n]))
		n++;
	return n;
}
