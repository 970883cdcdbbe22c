/* SPDX-License-Identifier: MIT */
/*
 * imports.h - which of the wrapped functions a program and the libraries that it
 * needs import. The libraries are found as the dynamic loader would find them
 * (RPATH, LD_LIBRARY_PATH, RUNPATH, ldconfig's cache, the usual folders); nothing
 * is run or loaded. Not followed: folders for special processors (glibc-hwcaps),
 * $PLATFORM, and what a program loads by itself later.
 */
#ifndef LIBRETRY_CLI_IMPORTS_H
#define LIBRETRY_CLI_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/findings.h"
#include "cli/ldcache.h"
#include "cli/out.h"
#include "cli/wrapped.h"

/* More than any program needs; a file that names itself must not run away. */
#define OBJECTS_MAX 2048

struct object {
	char *path;    /* as it is shown */
	char *name;    /* by which it is needed; NULL: it was added by its path */
	size_t parent; /* which object needs it */
	bool later;    /* not needed, but known to be loaded */
	dev_t dev;
	ino_t ino;
};

/* Object <object> imports <symbol>. */
struct import {
	const struct wrapped *symbol;
	size_t object;
};

struct imports {
	const char *root; /* in front of every path that is opened; "" */
	struct ldcache cache;
	struct object *objects; /* the program is the first */
	size_t object_count;
	struct import *list;
	size_t count;
	struct findings hints; /* about objects; one of each code */
	char *own;             /* wrapped names that the program defines; NULL */
	char *missing;         /* libraries that were not found; NULL */
};

/* <root> "" or a folder ("/proc/1/root"); it must live as long as <im>. */
void imports_init(struct imports *im, const char *root);
void imports_free(struct imports *im);

/* Adds the file <path> and, with <needed>, everything that it needs. Files that
 * are there already, or that cannot be read, are left out. */
void imports_add(struct imports *im, const char *path, bool needed, bool later);

/* Whether anything imports a name of <group>. */
bool imports_group(const struct imports *im, const char *group);

/* Adds what follows from all of it: hints, missing libraries, nothing to cover. */
void imports_findings(struct imports *im, struct findings *f);

/* The groups as a table and, in JSON, every symbol with what imports it. */
void imports_show(const struct imports *im, struct out *o);

#endif
