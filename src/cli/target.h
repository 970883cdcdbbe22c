/* SPDX-License-Identifier: MIT */
/* target.h - which file runs in the end when a program is started, and whether
 * the loader would preload anything into it. */
#ifndef LIBRETRY_CLI_TARGET_H
#define LIBRETRY_CLI_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/findings.h"

enum target_trait {
	TARGET_STATIC = 1 << 0,        /* no dynamic loader (PT_INTERP) */
	TARGET_SETUID = 1 << 1,
	TARGET_SETUID_OWN = 1 << 2,    /* ... of the user who asks: no effect for that one */
	TARGET_SETGID = 1 << 3,
	TARGET_SETGID_OWN = 1 << 4,
	TARGET_FILECAPS = 1 << 5,
	TARGET_FILECAPS_ROOT = 1 << 6, /* ... and root asks: no effect */
	TARGET_PRIVILEGES_VOID = 1 << 7, /* ... and nosuid, or for set-IDs no_new_privs */
	TARGET_FOREIGN = 1 << 8,       /* other class, byte order or machine */
	TARGET_OTHER_LIBC = 1 << 9,    /* its dynamic loader is another C library's */
	TARGET_GO = 1 << 10,           /* what the Go linker writes: raw system calls */
	TARGET_DAMAGED = 1 << 11,      /* headers that make no sense */
	TARGET_CLEARED = 1 << 12,      /* a script whose first line is "env -i" */
	TARGET_PIE = 1 << 13           /* says nothing about coverage */
};

/* Scripts whose interpreter is a script; the kernel's own limit, and as many
 * that env(1) leads to. */
#define TARGET_DEPTH 8

struct target {
	char path[PATH_MAX];   /* the file that runs in the end: what the traits are of */
	char script[PATH_MAX]; /* the script that led there; "" if there was none */
	char loader[PATH_MAX]; /* its dynamic loader; "" if there is none */
	unsigned traits;
	bool elf;              /* false: a folder, a device */
};

/*
 * Where execvp() would find <name> with <search> (the value of PATH; NULL: the
 * system's default). True and the path in <out>; else false and errno: ENOENT,
 * or EACCES if only files that may not be executed were met.
 */
bool target_find(const char *name, const char *search, char *out, size_t size);

/*
 * Examines the file at <path>. Scripts lead to the interpreter of their first
 * line, env(1) there to what it starts, and a file of no known kind to /bin/sh,
 * as execvp() does it. <like> is a file of the right architecture and C library (the
 * library; if it cannot be read, <self> is taken), <self> one with the right dynamic
 * loader, if it has that C library (the command). <privileges>: look at set-ID bits and
 * capabilities (of a process that runs they say nothing). False with errno if <path> or
 * its interpreter cannot be read; then there is nothing to report.
 */
bool target_examine(struct target *t, const char *path, const char *like, const char *self,
                    bool privileges);

/* Adds what the traits of <t> mean. */
void target_findings(const struct target *t, struct findings *f);

#endif
