/* SPDX-License-Identifier: MIT */
#include "config/env.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/compat.h"

/* The names in their rows, not in pointers that the loader would have to relocate. */
static const struct {
	char name[25];
	uint8_t len;
} names[ENV_COUNT] = {
#define X(id, name) [ENV_##id] = { name, sizeof(name) - 1 },
	ENV_TABLE(X)
#undef X
};
#define X(id, text) _Static_assert(sizeof(text) <= sizeof(names[0].name), text);
ENV_TABLE(X)
#undef X

#define OURS "LIBRETRY_"

/* The variable that the entry "NAME=value" sets; ENV_COUNT if none of ours. */
static enum env_var which(const char *entry)
{
	unsigned v = 0;

	/* Most of an environment is left at its first byte. */
	if (*entry != 'L' && *entry != 'X' && *entry != 'H')
		return ENV_COUNT;
	if (strncmp(entry, OURS, sizeof(OURS) - 1) != 0)
		v = ENV_FIRST_FOREIGN;
	for (; v < ENV_COUNT; v++)
		if (strncmp(entry, names[v].name, names[v].len) == 0 && entry[names[v].len] == '=')
			return (enum env_var)v;
	return ENV_COUNT;
}

static void keep(struct env *e, enum env_var v, const char *value)
{
	size_t size = strlen(value) + 1;

	if (size > sizeof(e->bytes) - e->used) {
		e->dropped++;
		return;
	}
	memcpy(e->bytes + e->used, value, size);
	e->value[v] = e->bytes + e->used;
	e->used += size;
}

void env_snapshot(struct env *e, char *const *environ, bool secure)
{
	bool seen[ENV_COUNT] = { false };

	memset(e->value, 0, sizeof(e->value));
	e->secure = secure;
	e->dropped = 0;
	e->used = 0;
	e->wants_all = false;
	if (secure || !environ)
		return;
	for (; *environ; environ++) {
		enum env_var v = which(*environ);

		/* The first entry counts, as it does for getenv(). */
		if (v == ENV_COUNT || seen[v])
			continue;
		seen[v] = true;
		if ((*environ)[names[v].len + 1])
			keep(e, v, *environ + names[v].len + 1);
	}
}

const char *env_name(enum env_var v)
{
	return v < ENV_COUNT ? names[v].name : NULL;
}

const char *env_get(const struct env *e, enum env_var v)
{
	return v < ENV_COUNT && !e->secure ? e->value[v] : NULL;
}

bool env_is_true(const char *value)
{
	static const char *const yes[] = { "1", "yes", "true", "on" };

	for (size_t i = 0; value && i < ARRAY_LEN(yes); i++)
		if (strcasecmp(value, yes[i]) == 0)
			return true;
	return false;
}

bool env_flag(const struct env *e, enum env_var v)
{
	return env_is_true(env_get(e, v));
}
