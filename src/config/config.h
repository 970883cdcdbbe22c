/* SPDX-License-Identifier: MIT */
/*
 * config.h - from files and environment to a policy set.
 *
 * Loading may allocate and does I/O; it happens at the first call that needs
 * it, never in a constructor and never on the way of a call that needs no
 * configuration. Nothing here writes to a descriptor: faults go to the
 * caller's <diag_fn>.
 */
#ifndef LIBRETRY_CONFIG_CONFIG_H
#define LIBRETRY_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "config/env.h"
#include "config/lcapi.h"
#include "policy/inject.h"
#include "policy/policy.h"
#include "policy/settings.h"

enum diag_level {
	DIAG_NOTE = 0, /* "> 5 attempts" */
	DIAG_WARNING,  /* probably not what is meant */
	DIAG_UNKNOWN,  /* unknown key: an error for "check", a warning at run time */
	DIAG_ERROR,    /* the file cannot be used */
	DIAG_UNREADABLE /* the file cannot be read at all */
};

struct diag {
	enum diag_level level;
	const char *file; /* NULL: the environment */
	unsigned line;    /* 0: no line */
	const char *text; /* "path.to.field: value: what is wrong (allowed) hint" */
};

typedef void diag_fn(void *ctx, const struct diag *d);

/* "FILE:LINE: text" into <f>, as people see it. */
struct fmt;
void diag_fmt(struct fmt *f, const struct diag *d);

struct config {
	struct policy_set set;
	struct log_settings log;
	struct process_settings process;
	struct stats_settings stats;
	struct inject_set inject; /* .enabled: in force; else only to be shown */
	enum mode mode;          /* LIBRETRY_MODE */
	/* Files that were looked at (also if they were bad, so that a repair can
	 * be noticed): the main one, drop-ins, included ones. None: built in. */
	const char *const *files;
	unsigned file_count;
	/* A policy wants something done before the first attempt
	 * (attempt_timeout, nonblocking = "block", send = "first-write", socket
	 * options), or a rule
	 * redirects. */
	bool before_connect;
	bool before_lookup;      /* dns_attempt_timeout, or others hear of it */
	bool after_lookup;       /* a rule has a place that goes by a name */
	/* Errors and unknown keys met while loading. */
	unsigned errors;
	unsigned unknown;
	unsigned warnings;
	bool unreadable;
	struct arena *arena;     /* owns everything above */
};

/*
 * Which file is in use, by the search order of design section 10:
 * LIBRETRY_CONFIG, $XDG_CONFIG_HOME (or ~/.config)/libretry/libretry.conf,
 * <sysconfdir>/libretry/hosts.d/<hostname>.conf,
 * <sysconfdir>/libretry/libretry.conf. Writes its path to <path> and returns
 * true; false if none exists or LIBRETRY_CONFIG=none. A LIBRETRY_CONFIG that
 * does not exist, or one that is too long for <path> and is cut, is "in use"
 * (and then an error). No malloc; errno untouched; two to four faccessat()
 * calls at most. A hostname with a '/' or a leading dot is not looked for.
 */
bool config_locate(const struct env *env, const char *sysconfdir, const char *hostname,
                   char *path, size_t size);

/*
 * Loads <path> (NULL: built-in policies only), the drop-ins beside it
 * (conf.d, names ending in .conf) and the overrides of <env>. <lc> may be NULL if <path> is
 * NULL. <report> may be NULL.
 *
 * Opens and reads files, so it is a cancellation point; needs about 8 KiB of
 * stack; not for signal handlers; takes no lock; errno may change.
 *
 * Never fails but for memory (NULL): a file with errors gives the built-in
 * policies with the overrides (and .errors > 0), after every fault was reported.
 */
struct config *config_load(const char *path, const struct lcapi *lc, const struct env *env,
                           diag_fn *report, void *ctx);

void config_free(struct config *c);

/* A policy by name; NULL if there is none. */
const struct policy *config_policy(const struct config *c, const char *name);

/* Whether <text> can be the value of LIBRETRY_INJECT; on false <why> says what is
 * wrong. Pure. */
bool config_inject(const char *text, struct fmt *why);

/* Called for each variable that overrides something: the setting
 * ("base_delay", "log.level"), the value as given, the variable's name. */
typedef void override_fn(void *ctx, const char *field, const char *value,
                         const char *variable);

/*
 * Lists the overrides of <env> that are in force: set and well-formed. Whether
 * the policy that LIBRETRY_POLICY names exists is not known here. Pure.
 */
void config_overrides(const struct env *env, override_fn *each, void *ctx);

#endif
