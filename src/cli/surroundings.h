/* SPDX-License-Identifier: MIT */
/* surroundings.h - whether the library and its configuration work here: what "run"
 * warns of and "doctor" reports, whatever the program is. */
#ifndef LIBRETRY_CLI_SURROUNDINGS_H
#define LIBRETRY_CLI_SURROUNDINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/findings.h"
#include "cli/inuse.h"

/*
 * Looks for the library (<given>, or the one of the command at <self>) and, with
 * <probe>, whether the loader takes it: the command starts itself under it with
 * --version. The path goes to <out>, "" if there is none.
 */
void library_findings(const char *given, const char *self, bool probe, char *out, size_t size,
                      struct findings *f);

struct setup {
	struct config *config;
	struct in_use in_use;
	char path[PATH_MAX];
	int64_t worst_wait;      /* ns, of the policies that can be in force */
	bool term_stops;         /* SIGTERM ends waits, if the program catches it */
	const char *log;         /* "stderr", "file", ... */
};

/*
 * Loads the configuration that a program at <exe> (NULL: any) with <env> would
 * use, or <given>, and adds what is wrong with it and what it means. Faults go to
 * <report> as well (NULL: nowhere). <grace> in ns, -1: not asked.
 * setup_free() it.
 */
void setup_findings(struct setup *s, const struct env *env, const char *given, const char *exe,
                    int64_t grace, diag_fn *report, struct findings *f);
void setup_free(struct setup *s);

/* Adds what /etc/ld.so.preload holds. */
void system_preload_findings(struct findings *f);

#endif
