/* SPDX-License-Identifier: MIT */
/*
 * bound.c - a library that is preloaded right behind libretry.so, so that for both
 * dlsym(RTLD_NEXT) gives the same, and that compares this with what libretry.so has
 * in its table of real functions. With BOUND_OPEN it loads libretry.so itself, and
 * expects libc's functions there; with BOUND_LIBC they must be in libc in any case.
 * bound.sh reads what it says.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compat.h"
#include "base/libc.h"
#include "preload/time64.h"

static const struct {
	const char *name;
	int since;
} rows[] = {
#define SYMBOL(ret, name, params, args, missing) { #name, 0 },
#define SYMBOL_SINCE(minor, ret, name, params, args, missing) { #name, minor },
#define JUMP(ret, name, params, args, missing) SYMBOL(ret, name, params, args, missing)
#define ALIAS_JUMP(ret, name, target, params, args)
#define ALIAS(ret, name, target, params, args)
#define ALIAS_SINCE(minor, ret, name, target, params, args)
#include "preload/symbols.def"
};

static int find_library(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libretry.so"))
		return 0;
	*(uintptr_t *)base = info->dlpi_addr;
	return 1;
}

__attribute__((constructor)) static void load(void)
{
	const char *path = getenv("BOUND_OPEN");

	if (path && !dlopen(path, RTLD_NOW))
		dprintf(1, "%s\n", dlerror());
}

static int is_libcs(void *function)
{
	void *known = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	Dl_info its, libcs;

	return dladdr(function, &its) && dladdr(known, &libcs) && its.dli_fbase == libcs.dli_fbase;
}

__attribute__((destructor)) static void compare(void)
{
	void *from = getenv("BOUND_OPEN") ? dlopen("libc.so.6", RTLD_NOW) : RTLD_NEXT;
	void *const *table;
	uintptr_t base = 0;
	unsigned same = 0;

	dl_iterate_phdr(find_library, &base);
	table = (void *const *)(base + strtoul(getenv("BOUND_AT"), NULL, 16));
	for (size_t i = 0; base && i < ARRAY_LEN(rows); i++) {
		if (rows[i].since > libc_glibc_minor() ||
		    (table[i] == dlsym(from, rows[i].name) &&
		     (!getenv("BOUND_LIBC") || is_libcs(table[i]))))
			same++;
		else
			dprintf(1, "%s ", rows[i].name);
	}
	dprintf(1, "%u of %zu\n", same, ARRAY_LEN(rows));
}
