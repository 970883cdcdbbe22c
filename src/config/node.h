/* SPDX-License-Identifier: MIT */
/*
 * node.h - a setting of the tree together with the way to it, so that every
 * message can name its path, file and line.
 */
#ifndef LIBRETRY_CONFIG_NODE_H
#define LIBRETRY_CONFIG_NODE_H

#include "config/keys.h"
#include "config/parse.h"

/* What reading needs everywhere. */
struct reading {
	const struct lcapi *lc;
	struct diag_sink *sink;
	struct arena *keep;    /* for what the configuration consists of */
	struct arena *scratch; /* given back after loading */
};

struct node {
	const struct reading *r;
	const struct parsed *file;
	const struct node *up; /* NULL: the file itself */
	const char *key;       /* NULL: an element of a list */
	unsigned index;
	config_setting_t *s;
};

struct node node_root(const struct reading *r, const struct parsed *file);

/* Number of members or elements. */
unsigned node_count(const struct node *n);
/* The one at <index>, which must exist. */
struct node node_at(const struct node *n, unsigned index);
/* False if there is none of this name. */
bool node_member(const struct node *n, const char *name, struct node *member);

bool node_is_group(const struct node *n);
/* A list ( ) or an array [ ]. */
bool node_is_list(const struct node *n);
/* NULL if it is no text. */
const char *node_text(const struct node *n);

/* A key whose fault has been reported and which was given another name: it is
 * to be passed over. */
bool node_is_passed_over(const struct node *n);

struct source node_source(const struct node *n);
/* "destinations[2].policy" */
void node_path(struct fmt *f, const struct node *n);
/* The value as it might be written; groups and lists are not printed out. */
void node_value(struct fmt *f, const struct node *n);

/* Reports "path: what"; formats as diag_format(). */
void node_say(const struct node *n, enum diag_level level, const char *format, ...);
/* Reports "path: value: what". */
void node_fault(const struct node *n, enum diag_level level, const char *format, ...);
/* Reports that the value is of another type than <expected>, for example
 * "a group { }". */
void node_wrong_type(const struct node *n, const char *expected);

/*
 * value.c: values by the rules of their key.
 */

/* Reads <text>. On false <why> says what is wrong and what is allowed. */
bool value_from_text(const struct key *k, const char *text, int64_t *number,
                     struct fmt *why);

/* Reads the setting; false after reporting what is wrong with it. A text goes
 * to <text> and lives as long as the tree. */
bool value_from_node(const struct node *n, const struct key *k, int64_t *number,
                     const char **text);

/* Called for keys of KIND_CUSTOM. */
typedef void custom_fn(void *ctx, const struct node *n, const struct key *k, void *target);

/*
 * Reads a group: each member by the key of its name in <place> into <target>.
 * Unknown keys are reported. False if it is no group, or if a member was wrong.
 */
bool group_read(const struct node *group, enum place place, void *target,
                custom_fn *custom, void *ctx);

#endif
