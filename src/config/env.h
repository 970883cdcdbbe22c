/* SPDX-License-Identifier: MIT */
/*
 * env.h - one snapshot of our environment variables.
 *
 * Taken once, at start: programs overwrite their environment for the process
 * title, and getenv() is not safe beside setenv(). In secure mode (AT_SECURE)
 * the snapshot is empty.
 */
#ifndef LIBRETRY_CONFIG_ENV_H
#define LIBRETRY_CONFIG_ENV_H

#include <stdbool.h>
#include <stddef.h>

/* Every variable that libretry reads. The enum and the table in env.c come
 * from this list (X(identifier, "NAME")). */
#define ENV_TABLE(X) \
	X(CONFIG, "LIBRETRY_CONFIG") \
	X(DISABLE, "LIBRETRY_DISABLE") \
	X(MODE, "LIBRETRY_MODE") \
	X(STRICT, "LIBRETRY_STRICT") \
	X(POLICY, "LIBRETRY_POLICY") \
	X(BASE_DELAY, "LIBRETRY_BASE_DELAY") \
	X(MAX_DELAY, "LIBRETRY_MAX_DELAY") \
	X(DEADLINE, "LIBRETRY_DEADLINE") \
	X(ATTEMPT_TIMEOUT, "LIBRETRY_ATTEMPT_TIMEOUT") \
	X(MULTIPLIER, "LIBRETRY_MULTIPLIER") \
	X(JITTER, "LIBRETRY_JITTER") \
	X(JITTER_RATIO, "LIBRETRY_JITTER_RATIO") \
	X(CAP, "LIBRETRY_CAP") \
	X(MAX_ATTEMPTS, "LIBRETRY_MAX_ATTEMPTS") \
	X(RETRY_ON, "LIBRETRY_RETRY_ON") \
	X(BUDGET, "LIBRETRY_BUDGET") \
	X(LOG, "LIBRETRY_LOG") \
	X(LOG_LEVEL, "LIBRETRY_LOG_LEVEL") \
	X(LOG_FORMAT, "LIBRETRY_LOG_FORMAT") \
	X(STATS, "LIBRETRY_STATS") \
	X(TIMELINE, "LIBRETRY_TIMELINE") \
	X(INJECT, "LIBRETRY_INJECT") \
	X(SEED, "LIBRETRY_SEED") \
	X(XDG_CONFIG_HOME, "XDG_CONFIG_HOME") \
	X(HOME, "HOME")

enum env_var {
#define X(id, name) ENV_##id,
	ENV_TABLE(X)
#undef X
	ENV_COUNT
};
/* From here on the names do not begin with LIBRETRY_. */
#define ENV_FIRST_FOREIGN ENV_XDG_CONFIG_HOME

#define ENV_BYTES 4096

struct env {
	const char *value[ENV_COUNT]; /* NULL: unset or empty */
	bool secure;                  /* AT_SECURE: nothing was read */
	bool wants_all;               /* set by who wants to know of all faults: also
	                               * what would not be in force is read */
	unsigned dropped;             /* bit count of variables too long to keep */
	size_t used;
	char bytes[ENV_BYTES];
};

/* Fills <e> from <environ>. No malloc, errno untouched, safe before main. */
void env_snapshot(struct env *e, char *const *environ, bool secure);

const char *env_name(enum env_var v);

/* NULL if unset, empty, or in secure mode. */
const char *env_get(const struct env *e, enum env_var v);

/* "1", "yes", "true", "on" (any case) are true; unset and all else false. */
bool env_flag(const struct env *e, enum env_var v);
bool env_is_true(const char *value); /* NULL: false */

#endif
