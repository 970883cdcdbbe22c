/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compat.h"
#include "cli/need.h"
#include "cli/searchpath.h"

void searchpath_object(struct searchpath *p, const char *path, const char *rpath,
                       const char *runpath)
{
	char *real = realpath(path, NULL);
	char *slash;

	p->runpath = *runpath ? need(strdup(runpath)) : NULL;
	p->rpath = *rpath && !*runpath ? need(strdup(rpath)) : NULL;
	p->origin = real ? real : need(strdup(path));
	slash = strrchr(p->origin, '/');
	if (slash)
		*slash = '\0';
}

void searchpath_free(struct searchpath *p)
{
	free(p->rpath);
	free(p->runpath);
	free(p->origin);
	memset(p, 0, sizeof(*p));
}

void searchpath_add(struct search *s, const struct searchpath *p, bool own)
{
	if (own)
		s->runpath_known = p->runpath != NULL;
	if (s->object_count < ARRAY_LEN(s->objects))
		s->objects[s->object_count++] = p;
}

void search_free(struct search *s)
{
	free(s->found);
	s->found = NULL;
}

/* Whether <path> is a library that goes with the program. */
static bool try_path(struct search *s, const char *path, struct stat *st)
{
	char *opened = need_text("%s%s", s->root, path);
	bool ok = false;
	struct elf e;

	if (stat(opened, st) == 0 && elf_open(&e, opened)) {
		ok = elf_same_kind(&e, s->kind);
		elf_close(&e);
	}
	free(opened);
	if (ok)
		s->found = need(strdup(path));
	return ok;
}

static bool try_folder(struct search *s, const char *folder, const char *name, struct stat *st)
{
	char *path = need_text("%s/%s", folder, name);
	bool ok = try_path(s, path, st);

	free(path);
	return ok;
}

/* The value of the "$NAME" or "${NAME}" at <at>; its length goes to <len>. */
static const char *variable(const char *at, const char *origin, const char *lib, size_t *len)
{
	static const char *const names[] = { "$ORIGIN", "${ORIGIN}", "$LIB", "${LIB}" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		*len = strlen(names[i]);
		if (strncmp(at, names[i], *len) == 0)
			return i < 2 ? origin : lib;
	}
	return NULL;
}

/* One folder of a list with its variables replaced. */
static char *expand(const char *from, size_t len, const char *origin, const char *lib)
{
	const char *end = from + len;
	char *folder = need(strdup(""));

	while (from < end) {
		size_t skip = 0, plain;
		const char *value = variable(from, origin, lib, &skip);
		char *longer;

		plain = value ? 0 : 1 + strcspn(from + 1, "$");
		if (plain > (size_t)(end - from))
			plain = (size_t)(end - from);
		longer = need_text("%s%.*s", folder, value ? (int)strlen(value) : (int)plain,
		                   value ? value : from);
		free(folder);
		folder = longer;
		from += value ? skip : plain;
	}
	return folder;
}

/* What $LIB is: Debian's way, then the others'. */
static const char *const lib_names[] = {
#if defined(__x86_64__) && !defined(__ILP32__)
	"lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
	"lib/aarch64-linux-gnu",
#elif defined(__i386__)
	"lib/i386-linux-gnu",
#endif
	"lib64", "lib"
};

static bool try_list(struct search *s, const char *list, const char *origin, const char *name,
                     struct stat *st)
{
	for (size_t len; list && *list; list += len + (list[len] == ':')) {
		len = strcspn(list, ":");
		for (size_t i = 0; len && i < ARRAY_LEN(lib_names); i++) {
			char *folder = expand(list, len, origin, lib_names[i]);
			bool ok = try_folder(s, folder, name, st);

			free(folder);
			if (ok)
				return true;
			if (!memmem(list, len, "LIB", 3))
				break;
		}
	}
	return false;
}

static bool try_usual(struct search *s, const char *name, struct stat *st)
{
	for (size_t i = 0; i < ARRAY_LEN(lib_names); i++) {
		char folder[64];

		snprintf(folder, sizeof(folder), "/%s", lib_names[i]);
		if (try_folder(s, folder, name, st))
			return true;
		snprintf(folder, sizeof(folder), "/usr/%s", lib_names[i]);
		if (try_folder(s, folder, name, st))
			return true;
	}
	return false;
}

bool search_library(struct search *s, const char *name, struct stat *st)
{
	const struct searchpath *own = s->object_count ? s->objects[0] : NULL;
	const char *path;

	if (strchr(name, '/'))
		return try_path(s, name, st);
	for (unsigned i = 0; i < s->object_count && !s->runpath_known; i++) {
		const struct searchpath *p = s->objects[i];

		if (try_list(s, p->rpath, p->origin, name, st))
			return true;
	}
	if (try_list(s, getenv("LD_LIBRARY_PATH"), "", name, st))
		return true;
	if (own && try_list(s, own->runpath, own->origin, name, st))
		return true;
	for (unsigned i = 0; (path = ldcache_find(s->cache, name, i)) != NULL; i++) {
		if (try_path(s, path, st))
			return true;
	}
	return try_usual(s, name, st);
}
