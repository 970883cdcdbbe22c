/* SPDX-License-Identifier: MIT */
/* ldcache.h - reads the cache that ldconfig(8) writes: name of a library to path.
 * Every offset of the file is checked. */
#ifndef LIBRETRY_CLI_LDCACHE_H
#define LIBRETRY_CLI_LDCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LDCACHE_FILE "/etc/ld.so.cache"

struct ldcache {
	char *bytes; /* with a NUL behind them */
	size_t size;
	size_t start;   /* of the header of the format that is read */
	size_t entries; /* how many; 0: nothing usable */
};

/* Reads <path>. Always leaves a usable <c>, an empty one if there is no such
 * file or it is in no known format. ldcache_free() it. */
void ldcache_read(struct ldcache *c, const char *path);
void ldcache_free(struct ldcache *c);

/*
 * The path of <name>: the <index>th of its entries, in the order of the cache,
 * those for special processors (hwcaps) left out; NULL past the last. Which of
 * them is of the right architecture is the caller's to see.
 */
const char *ldcache_find(const struct ldcache *c, const char *name, unsigned index);

#endif
