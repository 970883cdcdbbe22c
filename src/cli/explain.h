/* SPDX-License-Identifier: MIT */
/* explain.h - "libretry explain": the question, the answer, and how it is told. */
#ifndef LIBRETRY_CLI_EXPLAIN_H
#define LIBRETRY_CLI_EXPLAIN_H

#include <limits.h>

#include "cli/destarg.h"
#include "cli/foresee.h"
#include "cli/inuse.h"
#include "cli/limits.h"
#include "cli/out.h"
#include "config/config.h"

#define OUTER_MAX 16

/* A stop signal ends all waits within this (libretry(7)). */
#define STOP_WAITS (100 * DUR_MS)

struct question {
	enum op op;
	enum proto proto; /* PROTO_ANY: not said */
	const char *text; /* DEST as given */
	struct dest_arg dest;
	const char *exe;    /* NULL: not said; so for all texts */
	const char *config;
	const char *error_name;
	struct err error;
	unsigned replicas;  /* 0: not said */
	unsigned outer[OUTER_MAX];
	unsigned outer_count;
	int64_t grace;      /* ns; DUR_NONE: not said */
	bool json;
};

struct answer {
	const struct question *q;
	struct env env;
	char path[PATH_MAX];
	struct in_use in_use;
	struct config *c;
	bool rejected[ENV_COUNT];
	bool unusable;        /* the file has errors, or cannot be read */
	char fault[1024];     /* the first of them */

	struct dest d;
	const struct rule *rule; /* NULL: none matches */
	unsigned tried;          /* rules before it, or all */
	bool on_address;         /* a rule before it would match some addresses */

	char exe[PATH_MAX];      /* what the rules of "programs" are asked about */
	const struct program_rule *program;

	const struct policy *policy;
	const char *policy_from; /* a clause */
	enum mode mode;
	bool inert;              /* the library does nothing at all */
	const char *off;         /* why nothing is retried at all; NULL: it is */
	bool retried;            /* --error: it is retried ... */
	bool once;               /* ... once and at once */
	char error_why[512];

	struct syn_limits syn;
	unsigned syns;           /* sent again, within it */
	struct resolver_limits resolver;
	int64_t lookup;          /* ns, the longest look-up of the name; 0: no name */
	struct foresight how;
	struct forecast f;

	bool stop_on_term;       /* SIGTERM ends the waits */
	int64_t stop_fallback;   /* ns, a fallback's name may hold signals back */
	int64_t stop;            /* ns, the longest that a stop can take; DUR_NONE */
};

/* Everything but what has to do with options. False after a message: memory, or
 * a file given by name that cannot be read. */
bool explain_answer(struct answer *a, const struct question *q);

/* Whether a stop fits into the time given; true if none was. */
bool explain_grace_holds(const struct answer *a);

/* Prints it. */
void explain_say(struct out *o, const struct answer *a);

/* explain_guard.c: what is known and limited together with others. */
void explain_guards(struct out *o, const struct answer *a);
/* How many retries within its ttl a budget of kind ratio gives whatever the calls. */
int64_t explain_floor(const struct budget *b);

/* explain_time.c: what has to do with time. */
void explain_times(struct out *o, const struct answer *a);

#endif
