/* SPDX-License-Identifier: MIT */
#include "preload/configure.h"

#include <string.h>

#include "base/compat.h"
#include "base/fmt.h"
#include "base/prng.h"
#include "base/sys.h"
#include "log/log.h"

#define KEPT 5
#define TEXT_MAX 320

/* What the loader said, until the log is configured. Static and not on the
 * stack, which may be a small one; loading is one thread's at a time. */
static struct {
	char error[TEXT_MAX]; /* the first */
	unsigned errors;
	char warning[KEPT][TEXT_MAX];
	unsigned warnings;
} said;

static void keep(char *text, const struct diag *d)
{
	struct fmt f;

	fmt_init(&f, text, TEXT_MAX);
	diag_fmt(&f, d);
	fmt_end(&f);
}

static void collect(void *ctx, const struct diag *d)
{
	(void)ctx;
	if (d->level >= DIAG_ERROR) {
		if (said.errors++ == 0)
			keep(said.error, d);
		return;
	}
	/* A doubtful setting of the file is for "check"; what is not obeyed at
	 * all is for the log. */
	if (d->level == DIAG_UNKNOWN || (d->level == DIAG_WARNING && !d->file)) {
		if (said.warnings < KEPT)
			keep(said.warning[said.warnings], d);
		said.warnings++;
	}
}

static void say(enum log_level level, const char *message)
{
	struct event e;

	memset(&e, 0, sizeof(e));
	e.kind = EVENT_CONFIG;
	e.level = level;
	e.message = message;
	e.left = DUR_NONE;
	log_emit(&e);
}

static void say_errors(bool strict, bool kept)
{
	char text[TEXT_MAX + 160];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	fmt_str(&f, said.error);
	if (said.errors > 1) {
		fmt_str(&f, " (and ");
		fmt_u64(&f, said.errors - 1);
		fmt_str(&f, said.errors > 2 ? " more errors" : " more error");
		fmt_str(&f, ", see \"libretry check\")");
	}
	fmt_str(&f, kept     ? "; the configuration read before stays in force"
	            : strict ? "; LIBRETRY_STRICT: nothing is retried"
	                     : "; the built-in policy is used");
	fmt_end(&f);
	say(LOG_ERROR_LEVEL, text);
}

static void no_libconfig(const char *path, const char *why)
{
	struct diag d = { .level = DIAG_UNREADABLE, .file = path, .text = why };

	collect(NULL, &d);
}

struct config *configure_load(const char *path, const struct env *env, bool again)
{
	struct lcapi lc;
	void *handle = NULL;
	const char *why = NULL;
	struct config *c;

	memset(&said, 0, sizeof(said));
	if (path && !lcapi_load(&lc, &handle, &why)) {
		no_libconfig(path, why);
		path = NULL;
	}
	c = config_load(path, path ? &lc : NULL, env, collect, NULL);
	if (handle)
		lcapi_unload(handle);
	if (c && why)
		c->errors++;
	if (c && again && c->errors)
		say_errors(false, true);
	return c;
}

struct overrides_text {
	struct fmt f;
};

static void add_override(void *ctx, const char *field, const char *value, const char *variable)
{
	struct overrides_text *t = ctx;

	fmt_char(&t->f, ' ');
	fmt_str(&t->f, field);
	fmt_char(&t->f, '=');
	fmt_word(&t->f, value, 32);
	fmt_str(&t->f, " (");
	fmt_str(&t->f, variable);
	fmt_char(&t->f, ')');
}

static void say_in_force(const struct config *c, const struct env *env)
{
	char text[512];
	struct overrides_text t;

	fmt_init(&t.f, text, sizeof(text));
	for (unsigned i = 0; i < c->file_count; i++) {
		fmt_str(&t.f, i ? " " : "files: ");
		fmt_str(&t.f, c->files[i]);
	}
	fmt_str(&t.f, c->file_count ? ";" : "built in;");
	fmt_str(&t.f, " rules=");
	fmt_u64(&t.f, c->set.rule_count);
	config_overrides(env, add_override, &t);
	fmt_end(&t.f);
	say(LOG_DEBUG_LEVEL, text);
}

void configure_report(const struct config *c, const struct env *env)
{
	if (said.errors)
		say_errors(env_flag(env, ENV_STRICT), false);
	for (unsigned i = 0; i < said.warnings && i < KEPT; i++)
		say(LOG_WARN_LEVEL, said.warning[i]);
	if (log_wants(LOG_DEBUG_LEVEL))
		say_in_force(c, env);
}

static uint64_t add_stat(const char *path, uint64_t hash)
{
	struct stat st;
	uint64_t facts[6] = { 0 };

	if (sys_stat(path, &st) == 0) {
		facts[0] = (uint64_t)st.st_dev;
		facts[1] = (uint64_t)st.st_ino;
		facts[2] = (uint64_t)st.st_size;
		facts[3] = (uint64_t)st.st_mtim.tv_sec;
		facts[4] = (uint64_t)st.st_mtim.tv_nsec;
		facts[5] = 1;
	}
	return hash_bytes(facts, sizeof(facts), hash);
}

uint64_t configure_fingerprint(const struct config *c, const char *path)
{
	char dir[512];
	struct fmt f;
	const char *slash = strrchr(path, '/');
	uint64_t hash = add_stat(path, 0);

	for (unsigned i = 0; c && i < c->file_count; i++)
		hash = add_stat(c->files[i], hash);
	fmt_init(&f, dir, sizeof(dir));
	fmt_mem(&f, path, slash ? (size_t)(slash - path) + 1 : 0);
	fmt_str(&f, "conf.d");
	fmt_end(&f);
	return add_stat(dir, hash);
}
