/* SPDX-License-Identifier: MIT */
/* searchpath.h - where the dynamic loader looks for a library. */
#ifndef LIBRETRY_CLI_SEARCHPATH_H
#define LIBRETRY_CLI_SEARCHPATH_H

#include <stdbool.h>
#include <sys/stat.h>

#include "cli/elf.h"
#include "cli/ldcache.h"

/* What one object says. */
struct searchpath {
	char *rpath;   /* NULL if there is none, or a runpath that overrules it */
	char *runpath;
	char *origin;  /* its folder */
};

void searchpath_object(struct searchpath *p, const char *path, const char *rpath,
                       const char *runpath);
void searchpath_free(struct searchpath *p);

/* One search; begin with all but these three zero. */
struct search {
	const char *root;            /* in front of every path that is opened */
	const struct ldcache *cache;
	const struct elf *kind;      /* what is found must go with this */
	const struct searchpath *objects[32];
	unsigned object_count;
	bool runpath_known;
	char *found;                 /* without the root */
};

/* The object that needs the library first (<own>), then those above it. */
void searchpath_add(struct search *s, const struct searchpath *p, bool own);

/* True, and s->found and <st>, if the library was found. */
bool search_library(struct search *s, const char *name, struct stat *st);
void search_free(struct search *s);

#endif
