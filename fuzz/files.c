/* SPDX-License-Identifier: MIT */
/* What is read from files, and the environment that overrides it. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/config.h"
#include "config/timeline.h"
#include "fuzz.h"
#include "policy/match.h"

#define VARIABLES 32

static char path[64];

/* One file for all, at <path>. */
static void write_file(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		FUZZ_CHECK(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	FUZZ_CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
}

/* The number that the next descriptor gets. */
static int next_fd(void)
{
	int fd = dup(STDERR_FILENO);

	FUZZ_CHECK(fd >= 0 && close(fd) == 0);
	return fd;
}

static void read_texts(void *ctx, const struct diag *d)
{
	char buf[256];
	struct fmt f;

	(void)ctx;
	fmt_init(&f, buf, sizeof(buf));
	diag_fmt(&f, d);
}

/* What a policy says is within what its users take for granted. */
static void check_policy(const struct policy *p)
{
	FUZZ_CHECK(p->name && p->backoff.base > 0 && p->backoff.max >= p->backoff.base);
	FUZZ_CHECK(p->backoff.multiplier >= PPM && p->max_attempts >= 1);
	FUZZ_CHECK(p->backoff.jitter_ratio >= 0 && p->backoff.jitter_ratio <= PPM);
	FUZZ_CHECK(p->backoff.schedule_len <= SCHEDULE_MAX && p->deadline > 0);
}

static void load(const char *file, const struct env *env)
{
	struct dest d = { .op = OP_CONNECT, .host = "db1", .port = 5432, .proto = PROTO_TCP };
	struct addr a;
	int next = next_fd();
	struct config *c;

	c = config_load(file, &lcapi_direct, env, read_texts, NULL);
	FUZZ_CHECK(c);
	for (unsigned i = 0; i < c->set.policy_count; i++)
		check_policy(c->set.policies[i]);
	FUZZ_CHECK(c->set.fallback_policy);
	FUZZ_CHECK(addr_parse_ip(&a, "10.1.2.3"));
	a.port = 5432;
	d.addr = &a;
	match_rule(&c->set, &d);
	match_program(&c->set, "/usr/bin/curl");
	config_free(c);
	FUZZ_CHECK(fuzz_arenas() == 0 && next_fd() == next);
}

void fuzz_conf(const uint8_t *data, size_t size)
{
	static struct env env;

	write_file(data, size);
	env.wants_all = true;
	load(path, &env);
}

void fuzz_env(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char *variables[VARIABLES + 1] = { NULL };
	char *next = text;
	char why[256];
	struct env env;
	struct fmt f;

	for (unsigned i = 0; next && i < VARIABLES; i++)
		variables[i] = strsep(&next, "\n");
	env_snapshot(&env, variables, false);
	/* Files are fuzz_conf()'s business. */
	env.value[ENV_CONFIG] = NULL;
	load(NULL, &env);
	fmt_init(&f, why, sizeof(why));
	if (env_get(&env, ENV_INJECT))
		config_inject(env_get(&env, ENV_INJECT), &f);
	free(text);
}

void fuzz_timeline(const uint8_t *data, size_t size)
{
	struct arena *keep = arena_new(), *scratch = arena_new();
	struct timeline t;
	char why[256];
	struct fmt f;

	write_file(data, size);
	fmt_init(&f, why, sizeof(why));
	if (timeline_load(&t, path, keep, scratch, &f)) {
		FUZZ_CHECK(t.list && t.count > 0 && t.count <= TIMELINE_MAX);
		for (unsigned i = 0; i < t.count; i++)
			FUZZ_CHECK(t.list[i].start < t.list[i].end);
	} else {
		FUZZ_CHECK(f.len > 0);
	}
	arena_free(keep);
	arena_free(scratch);
	FUZZ_CHECK(fuzz_arenas() == 0);
}
