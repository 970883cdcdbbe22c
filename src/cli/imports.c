/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compat.h"
#include "cli/elf.h"
#include "cli/imports.h"
#include "cli/known.h"
#include "cli/need.h"
#include "cli/searchpath.h"

/* Adds <word> to a list with ", " between, if it is not there. */
static void add_word(char **list, const char *word)
{
	size_t len = strlen(word);
	char *longer;

	for (const char *at = *list; at && (at = strstr(at, word)) != NULL; at += len) {
		if ((at == *list || at[-1] == ' ') && (at[len] == ',' || !at[len]))
			return;
	}
	longer = need_text("%s%s%s", *list ? *list : "", *list ? ", " : "", word);
	free(*list);
	*list = longer;
}

void imports_init(struct imports *im, const char *root)
{
	char *path = need_text("%s" LDCACHE_FILE, root);

	memset(im, 0, sizeof(*im));
	im->root = root;
	ldcache_read(&im->cache, path);
	free(path);
}

void imports_free(struct imports *im)
{
	for (size_t i = 0; i < im->object_count; i++) {
		free(im->objects[i].path);
		free(im->objects[i].name);
	}
	free(im->objects);
	free(im->list);
	free(im->own);
	free(im->missing);
	findings_free(&im->hints);
	ldcache_free(&im->cache);
	memset(im, 0, sizeof(*im));
}

struct visit {
	struct imports *im;
	size_t object;
	bool syscall, epoll; /* imports syscall(), and waits with epoll */
};

static int by_name(const void *key, const void *row)
{
	return strcmp(key, ((const struct wrapped *)row)->name);
}

static void add_import(struct imports *im, const struct wrapped *symbol, size_t object)
{
	im->list = need(reallocarray(im->list, im->count + 1, sizeof(*im->list)));
	im->list[im->count++] = (struct import){ symbol, object };
}

static void see_symbol(void *ctx, const char *name, bool defined)
{
	struct visit *v = ctx;
	struct imports *im = v->im;
	const struct known_name *known = known_name(name, defined);
	const struct wrapped *w;

	/* libc's own syscall() is imported for many reasons: see visit(). */
	if (known && known->code == FINDING_RAW_CALLS)
		v->syscall = true;
	else if (known && !findings_have(&im->hints, known->code))
		findings_add(&im->hints, known->code, im->objects[v->object].path,
		             known->code == FINDING_OTHER_LOOKUPS ? name : NULL);
	if (defined && v->object != 0)
		return;
	w = bsearch(name, wrapped, wrapped_count, sizeof(*wrapped), by_name);
	if (!w)
		return;
	if (defined) {
		add_word(&im->own, name);
	} else {
		v->epoll |= strncmp(name, "epoll_", 6) == 0;
		add_import(im, w, v->object);
	}
}

/* NULL if it is there already, or one too many. Its parent is itself. */
static struct object *add_object(struct imports *im, const char *name, const char *path,
                                 const struct stat *st, bool later)
{
	struct object *o;

	for (size_t i = 0; i < im->object_count; i++) {
		if (im->objects[i].dev == st->st_dev && im->objects[i].ino == st->st_ino)
			return NULL;
	}
	if (im->object_count == OBJECTS_MAX)
		return NULL;
	im->objects =
		need(reallocarray(im->objects, im->object_count + 1, sizeof(*im->objects)));
	o = &im->objects[im->object_count];
	*o = (struct object){ .parent = im->object_count++, .later = later,
	                      .dev = st->st_dev, .ino = st->st_ino };
	o->path = need(strdup(path));
	o->name = name ? need(strdup(name)) : NULL;
	return o;
}

/* The loader does not look for what it has by that name. */
static bool have_name(const struct imports *im, const char *name)
{
	for (size_t i = 0; i < im->object_count; i++) {
		if (im->objects[i].name && strcmp(im->objects[i].name, name) == 0)
			return true;
	}
	return false;
}

static void add_library(struct imports *im, size_t user, const struct elf *e, const char *name,
                        const struct searchpath *paths)
{
	struct search s = { .root = im->root, .cache = &im->cache, .kind = e };
	struct object *o;
	struct stat st;

	for (size_t up = user;; up = im->objects[up].parent) {
		searchpath_add(&s, &paths[up], up == user);
		if (up == im->objects[up].parent)
			break;
	}
	if (search_library(&s, name, &st)) {
		o = add_object(im, name, s.found, &st, im->objects[user].later);
		if (o)
			o->parent = user;
	} else if (!im->objects[user].later) {
		/* What is loaded later finds what the program has loaded by then. */
		add_word(&im->missing, name);
	}
	search_free(&s);
}

/* What one object needs, by the paths that it and those above it bring. */
static void add_needed(struct imports *im, size_t object, const struct elf *e,
                       const struct elf_dynamic *d, struct searchpath *paths)
{
	searchpath_object(&paths[object], im->objects[object].path, elf_text(d, d->rpath),
	                  elf_text(d, d->runpath));
	for (unsigned i = 0; i < d->needed_count; i++) {
		const char *name = elf_text(d, d->needed[i]);

		if (*name && !have_name(im, name))
			add_library(im, object, e, name, paths);
	}
}

static void visit(struct imports *im, size_t object, struct searchpath *paths)
{
	struct visit v = { .im = im, .object = object };
	char *path = need_text("%s%s", im->root, im->objects[object].path);
	struct elf_dynamic d;
	struct elf e;

	if (elf_open(&e, path)) {
		if (elf_dynamic_read(&e, &d)) {
			elf_symbols(&e, &d, see_symbol, &v);
			if (paths)
				add_needed(im, object, &e, &d, paths);
			elf_dynamic_free(&d);
		}
		elf_close(&e);
	}
	free(path);
	if (v.syscall && v.epoll && !findings_have(&im->hints, FINDING_RAW_CALLS))
		findings_add(&im->hints, FINDING_RAW_CALLS, im->objects[object].path, NULL);
}

void imports_add(struct imports *im, const char *path, bool needed, bool later)
{
	struct searchpath *paths = needed ? need(calloc(OBJECTS_MAX, sizeof(*paths))) : NULL;
	char *opened = need_text("%s%s", im->root, path);
	size_t first = im->object_count;
	struct stat st;

	if (stat(opened, &st) == 0)
		add_object(im, NULL, path, &st, later);
	free(opened);
	/* What is needed is put behind the end while this goes on. */
	for (size_t i = first; i < im->object_count; i++)
		visit(im, i, paths);
	for (size_t i = first; paths && i < im->object_count; i++)
		searchpath_free(&paths[i]);
	free(paths);
}

bool imports_group(const struct imports *im, const char *group)
{
	for (size_t i = 0; i < im->count; i++) {
		if (strcmp(im->list[i].symbol->group, group) == 0)
			return true;
	}
	return false;
}

void imports_findings(struct imports *im, struct findings *f)
{
	const char *program = im->object_count ? im->objects[0].path : NULL;

	for (size_t i = 0; i < im->hints.count; i++) {
		const struct finding *h = &im->hints.list[i];

		findings_add(f, h->code, h->file, h->detail);
	}
	if (findings_have(f, FINDING_CONFINES) && findings_have(f, FINDING_SECCOMP))
		findings_add(f, FINDING_CONFINED, program, NULL);
	if (im->own)
		findings_add(f, FINDING_OWN_NAMES, program, im->own);
	if (im->missing)
		findings_add(f, FINDING_MISSING, program, im->missing);
	if (program && !imports_group(im, "connect") && !imports_group(im, "lookup") &&
	    !findings_have(f, FINDING_LOADS_LATER) && !findings_have(f, FINDING_LAUNCHER))
		findings_add(f, FINDING_NO_CALLS, program, NULL);
}

/* The groups that people ask for; the others only help these. */
static const char *const groups[] = { "connect", "lookup", "send", "waits" };

#define SHOWN_FILES 3

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void group_row(const struct imports *im, const char *group, struct out *o)
{
	char *symbols = NULL, *files = NULL;
	size_t more = 0, last = OBJECTS_MAX, shown = 0;

	for (size_t i = 0; i < im->count; i++) {
		const struct import *m = &im->list[i];

		if (strcmp(m->symbol->group, group) != 0)
			continue;
		add_word(&symbols, m->symbol->name);
		if (m->object == last)
			continue;
		last = m->object;
		if (shown++ < SHOWN_FILES)
			add_word(&files, last_part(im->objects[last].path));
		else
			more++;
	}
	if (more) {
		char *text = need_text("and %zu more", more);

		add_word(&files, text);
		free(text);
	}
	out_cell(o, group);
	out_cell_bool(o, symbols != NULL);
	out_cell(o, symbols);
	out_cell(o, files);
	free(symbols);
	free(files);
}

void imports_show(const struct imports *im, struct out *o)
{
	static const struct out_column group_columns[] = {
		{ "group", "GROUP" }, { "seen", NULL }, { "symbols", "CALLS" },
		{ "imported_by", "IMPORTED BY" }
	};
	static const struct out_column symbol_columns[] = {
		{ "symbol", NULL }, { "group", NULL }, { "object", NULL }
	};

	out_table(o, "groups", im->object_count ? "Calls that the library wraps:" : NULL,
	          group_columns, ARRAY_LEN(group_columns));
	for (size_t i = 0; im->object_count && i < ARRAY_LEN(groups); i++)
		group_row(im, groups[i], o);
	out_table_end(o);
	if (!o->json)
		return;
	out_table(o, "symbols", NULL, symbol_columns, ARRAY_LEN(symbol_columns));
	for (size_t i = 0; i < im->count; i++) {
		out_cell(o, im->list[i].symbol->name);
		out_cell(o, im->list[i].symbol->group);
		out_cell(o, im->objects[im->list[i].object].path);
	}
	out_table_end(o);
}
