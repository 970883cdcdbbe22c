/* SPDX-License-Identifier: MIT */
/* loader.h - inside of config_load(): load*.c, dropins.c, overrides.c. */
#ifndef LIBRETRY_CONFIG_LOADER_H
#define LIBRETRY_CONFIG_LOADER_H

#include "config/node.h"

#define LOAD_DROPINS_MAX 256
#define LOAD_POLICIES_MAX 256
#define LOAD_DESTS_MAX 1024
#define LOAD_PROGRAMS_MAX 256
#define LOAD_ITEMS_MAX 256 /* of one list: hosts, addresses, ports */
#define LOAD_INHERIT_MAX 8
#define LOAD_BYTES_MAX (8 * TEXT_MAX)

/* A policy while it is worked on. */
struct pol {
	struct policy p;
	struct err_set retry_on, never_on;
	const struct node *node; /* NULL: built in */
	bool resolved;
	bool bad; /* reported; what follows from it is no news */
	struct pol *next; /* all of them, the private ones of destinations too */
};

/* One file: the main one or a drop-in. */
struct unit {
	struct parsed parsed;
	struct node root;
	const struct node *policies, *destinations, *programs; /* NULL: not there */
	bool main;
};

struct loader {
	struct reading r;
	struct diag_sink sink;
	const struct env *env;
	struct config *out;
	struct unit *units; /* the main file first */
	unsigned unit_count;
	struct pol *pols[LOAD_POLICIES_MAX + 16]; /* by name, the built-in ones first */
	unsigned pol_count;
	struct pol *all;
	struct rule *rules;
	const struct node **rule_nodes; /* NULL: a condition of it is wrong */
	unsigned rule_count;
	struct program_rule *programs;
	unsigned program_count;
	struct fault *faults;
	unsigned fault_count;
	bool incomplete; /* a file could not be parsed: what is missing may be in it */
};

/* A copy of <n> that outlives the caller's frame. */
const struct node *load_keep_node(struct loader *ld, const struct node *n);

/* How many entries there may be, over all files, and what they are called. */
struct load_limit {
	const unsigned *count;
	unsigned max;
	const char *what;
};

/* Hands the groups of <list> (NULL: there is none) to <read_one>, which counts
 * them in *limit->count. */
void load_list(struct loader *ld, const struct node *list, const struct load_limit *limit,
               void (*read_one)(struct loader *ld, const struct node *n));

/* load_policy.c: the table of policies. */
bool pols_builtin(struct loader *ld);
void pols_collect(struct loader *ld, const struct unit *u);
void pols_resolve(struct loader *ld);
struct pol *pol_find(const struct loader *ld, const char *name);
/* The policy that the text at <n> names; NULL after reporting. */
struct pol *pol_named(struct loader *ld, const struct node *n);
/* A copy of <base> with the fields of <group> put over it. */
struct pol *pol_private(struct loader *ld, const struct pol *base, const struct node *group);
/* The set of errors that is retried: retry_on without never_on. */
struct err_set pol_errors(const struct pol *p);

/* load_errors.c: one word of retry_on or never_on into <set>; on false <why>
 * says what is wrong. <never>: the word stands in never_on. */
bool errors_add_word(struct err_set *set, const char *word, bool never, struct fmt *why);
bool errors_read(const struct node *n, struct err_set *set, bool never);

/* check.c: rules between the fields of one policy. */
void policy_check(const struct node *group, const struct pol *p);

/* load_cond.c: conditions on destinations, shared with injected faults. True
 * if <k> is one of them, read or reported. */
bool cond_read(const struct node *n, const struct key *k, struct rule *rule);
/* Whether the conditions exclude each other: those of Unix sockets, and those of the
 * network. */
bool cond_excluded(const struct rule *r);
/* "host:port", "192.0.2.1:80", "[::1]:80" into <e>, whose texts the arena keeps;
 * false after reporting. */
bool cond_endpoint(const struct node *n, const char *text, struct endpoint *e);
/* Texts of a list, or one text alone, each accepted by <check> (which may give
 * another text back, or NULL after reporting). */
typedef const char *check_text_fn(const struct node *n, const char *text);
unsigned cond_texts(const struct node *n, const char *const **texts, check_text_fn *check);

/* load_dest.c */
void dests_read(struct loader *ld, const struct unit *u);
void dests_shadowed(struct loader *ld);

/* load_program.c */
void programs_read(struct loader *ld, const struct unit *u);

/* load_misc.c: process, log, stats; hands on inject. */
void misc_read(struct loader *ld, const struct node *n);
/* "stderr", "file:/x" ... into <s>; on false <why> says what is wrong. */
bool log_to_parse(const char *text, struct log_settings *s, struct fmt *why);
/* "none", "file:/x", and unless <shm> is NULL "shm", into *shm and <path>, of LOG_PATH_MAX
 * bytes ("": no file); on false <why> says what is wrong. */
bool stats_to_parse(const char *text, bool *shm, char *path, struct fmt *why);

/* host_group.c. "host_group" of process: libc's way to ask for a group loads modules
 * and may connect to servers, so only /etc/group is asked. */
void host_group_read(const struct node *n, struct process_settings *p);
/* The number of the group <name> in the file <path>; false if it is not there. */
bool host_group_find(const char *path, const char *name, int64_t *gid);

/* load_inject.c. The file's faults; then, over them, LIBRETRY_INJECT and
 * LIBRETRY_SEED, which decide whether anything of it is in force. */
void inject_read(struct loader *ld, const struct node *n);
void inject_apply(struct loader *ld);
/* "connect:ECONNREFUSED:first=3,send:reset" into <faults>, which has room for
 * INJECT_FAULTS_MAX, or is NULL; on false <why> says what is wrong. */
bool inject_parse(const char *text, struct fault *faults, unsigned *count, struct fmt *why);
/* LIBRETRY_INJECT is set, and to something that makes sense. */
bool inject_well_formed(const struct env *env);

/* dropins.c: names of DIR/conf.d/ *.conf, in byte order, for the main file
 * <path>. The number of them; faults are reported. */
unsigned dropins_list(struct loader *ld, const char *path, const char **paths);

/* overrides.c: the environment over everything that has been loaded. */
void overrides_apply(struct loader *ld);

#endif
