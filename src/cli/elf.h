/* SPDX-License-Identifier: MIT */
/* elf.h - what kind of file a program is, and whether a preload reaches it. */
#ifndef LIBRETRY_CLI_ELF_H
#define LIBRETRY_CLI_ELF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum target_trait {
	TARGET_STATIC = 1 << 0,       /* no dynamic loader (PT_INTERP) */
	TARGET_SETUID = 1 << 1,
	TARGET_SETUID_OWN = 1 << 2,   /* ... of the user who asks: no effect for that one */
	TARGET_SETGID = 1 << 3,
	TARGET_SETGID_OWN = 1 << 4,
	TARGET_FILECAPS = 1 << 5,
	TARGET_FILECAPS_ROOT = 1 << 6, /* ... and root asks: no effect */
	TARGET_FOREIGN = 1 << 7,      /* other class, byte order or machine */
	TARGET_OTHER_LIBC = 1 << 8,   /* its dynamic loader is not ours */
	TARGET_GO = 1 << 9            /* a Go build note: makes raw system calls */
};

/* Scripts whose interpreter is a script; the kernel's own limit. */
#define TARGET_DEPTH 4

struct target {
	char path[PATH_MAX];   /* the file that runs in the end: what the traits are of */
	char script[PATH_MAX]; /* the script that led there; "" if there was none */
	unsigned traits;
	bool elf;              /* false: of no kind that is known here */
};

/*
 * Where execvp() would find <name> with <search> (the value of PATH; NULL: the
 * system's default). True and the path in <out>; else false and errno: ENOENT,
 * or EACCES if only files that may not be executed were met.
 */
bool target_find(const char *name, const char *search, char *out, size_t size);

/*
 * Examines the file at <path>; scripts lead to their "#!" interpreter. <like> is
 * a file of the right architecture (the library), <self> one with the right
 * dynamic loader (the command). False with errno if <path> or its interpreter
 * cannot be read; then there is nothing to report. Whether the file system is
 * mounted "nosuid" is not looked at.
 */
bool target_examine(struct target *t, const char *path, const char *like, const char *self);

/* Why a preload does not reach <t>, as a clause: the <index>th reason, NULL past
 * the last. */
const char *target_reason(const struct target *t, unsigned index);

#endif
