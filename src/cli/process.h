/* SPDX-License-Identifier: MIT */
/* process.h - what /proc tells about a process that runs. */
#ifndef LIBRETRY_CLI_PROCESS_H
#define LIBRETRY_CLI_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/findings.h"

struct process {
	char exe[PATH_MAX];     /* without " (deleted)" */
	bool exe_deleted;
	char exe_link[40];      /* "/proc/PID/exe": can be opened all the same */
	char root[40];          /* "/proc/PID/root" if it sees other files; "" */
	int seccomp;            /* 0 none, 1 strict, 2 filter; -1 not known */
	int no_new_privs;       /* 0, 1; -1 not known */
	bool secure;            /* AT_SECURE, as far as it can be read */
	char **variables;       /* its environment at start; NULL: not readable */
	char *environment;
	char **mapped;          /* files with code in it, each once */
	size_t mapped_count;
	char library[PATH_MAX]; /* the libretry.so among them; "" */
	bool library_deleted;
};

/*
 * Reads about <pid> ("self" for this process). False with errno: ESRCH (no such
 * process), ENOENT (a kernel thread, or one that has ended: no program), EACCES.
 */
bool process_read(struct process *p, const char *pid);
void process_free(struct process *p);

/* The value of a variable; NULL if it is not set or not known. */
const char *process_variable(const struct process *p, const char *name);

/* Adds what this means for the preload. <own>: the library that belongs to this
 * command, to compare with; "" if there is none. */
void process_findings(const struct process *p, const char *own, struct findings *f);

/* Adds what holds for every program started by <p>: filters and the like. */
void process_limits(const struct process *p, const char *file, struct findings *f);

/* Adds what the value of LD_PRELOAD names beside libretry.so (NULL: nothing); with
 * <here>, also that it names libretry.so. */
void preload_findings(const char *value, bool here, struct findings *f);

#endif
