/* SPDX-License-Identifier: MIT */
/*
 * odd.c - a library behind us with a table of names that cannot be right (ODD says
 * which): it changes its own after the loader has read it, before we do. And an
 * auditor that does nothing, with LD_AUDIT.
 */
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define ODD __attribute__((visibility("default")))

ODD unsigned la_version(unsigned version);
ODD int connect(void);

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

unsigned la_version(unsigned version)
{
	return version;
}

int connect(void)
{
	return -2;
}

/* Buckets, first symbol, words of the filter, its shift; then filter, buckets, chain. */
static uint32_t tables[][16] __attribute__((aligned(16))) = {
	{ 0 },
	{ 1, 1, 0x80000000, 6 },
	{ 0x7fffffff, 1, 1, 6, ~0U, ~0U, 1 },
	{ 1, 1, 3, 6, ~0U, ~0U, ~0U, ~0U, ~0U, ~0U, 1 },
	{ 1, 1, 1, 32, ~0U, ~0U, 1, 1 },
	{ 1, 1, 1, 6, ~0U, ~0U, 0x7fffffff, 1 },
	{ 1, 0xffffffff, 1, 6, ~0U, ~0U, 1, 1 },
	{ 1, 1, 1, 6, ~0U, ~0U, 1, 2 }, /* a chain without an end */
};

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static uintptr_t end_of_us(void)
{
	uintptr_t base = (uintptr_t)&__ehdr_start;
	const ElfW(Phdr) *p = (const ElfW(Phdr) *)(base + __ehdr_start.e_phoff);
	uintptr_t end = 0;

	for (unsigned i = 0; i < __ehdr_start.e_phnum; i++)
		if (p[i].p_type == PT_LOAD)
			end = base + p[i].p_vaddr + p[i].p_memsz;
	return end;
}

static uintptr_t table(unsigned n)
{
	switch (n) {
	case 0: return 0;
	case 1: return 8;
	case 2: return UINTPTR_MAX - 7;
	case 3: return (uintptr_t)tables + 1;
	case 4: return (end_of_us() - 4) & ~(uintptr_t)7;
	default: return (uintptr_t)tables[(n - 5) % (sizeof(tables) / sizeof(tables[0]))];
	}
}

__attribute__((constructor)) static void change(void)
{
	const char *odd = getenv("ODD");
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)_DYNAMIC & ~(page - 1);

	if (!odd || mprotect((void *)from, 2 * page, PROT_READ | PROT_WRITE) != 0)
		return;
	for (ElfW(Dyn) *d = _DYNAMIC; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_GNU_HASH)
			d->d_un.d_ptr = table((unsigned)atoi(odd));
}
