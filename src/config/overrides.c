/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/compat.h"
#include "config/loader.h"

/* Variables with one value, and the key whose rules they follow. */
static const struct {
	enum env_var var;
	enum place place;
	const char *key;
	const char *field;
} table[] = {
	{ ENV_BASE_DELAY, PLACE_POLICY, "base_delay", "base_delay" },
	{ ENV_MAX_DELAY, PLACE_POLICY, "max_delay", "max_delay" },
	{ ENV_DEADLINE, PLACE_POLICY, "deadline", "deadline" },
	{ ENV_ATTEMPT_TIMEOUT, PLACE_POLICY, "attempt_timeout", "attempt_timeout" },
	{ ENV_MULTIPLIER, PLACE_POLICY, "multiplier", "multiplier" },
	{ ENV_JITTER, PLACE_POLICY, "jitter", "jitter" },
	{ ENV_JITTER_RATIO, PLACE_POLICY, "jitter_ratio", "jitter_ratio" },
	{ ENV_CAP, PLACE_POLICY, "cap", "cap" },
	{ ENV_MAX_ATTEMPTS, PLACE_POLICY, "max_attempts", "max_attempts" },
	{ ENV_BUDGET, PLACE_BUDGET, "kind", "budget.kind" },
	{ ENV_LOG_LEVEL, PLACE_LOG, "level", "log.level" },
	{ ENV_LOG_FORMAT, PLACE_LOG, "format", "log.format" },
	{ ENV_MODE, PLACE_PROGRAM, "mode", "mode" },
};

/* The variables, read and found good. */
struct overrides {
	const struct env *env;
	struct diag_sink *sink;
	bool has[ENV_COUNT];
	int64_t number[ENV_COUNT];
	struct err_set retry_on;
	struct log_settings log; /* where to, only */
};

static const struct source environment = { NULL, 0 };

static void wrong(struct overrides *o, enum env_var var, const char *why)
{
	o->has[var] = false;
	diag_say(o->sink, DIAG_WARNING, environment, "%s: %q: %s", env_name(var),
	         env_get(o->env, var), why);
}

static void read_numbers(struct overrides *o)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		enum env_var var = table[i].var;
		const char *text = env_get(o->env, var);
		char buf[256];
		struct fmt why;

		if (!text)
			continue;
		fmt_init(&why, buf, sizeof(buf));
		o->has[var] = true;
		if (value_from_text(key_find(table[i].place, table[i].key), text, &o->number[var],
		                    &why))
			continue;
		fmt_end(&why);
		wrong(o, var, buf);
	}
}

/* The words of "refused,timeout,ENOENT", blanks around them ignored. */
static bool read_words(struct overrides *o, const char *text, struct fmt *why)
{
	char word[64];
	struct fmt f;

	do {
		size_t skip = strspn(text, " \t"), len = strcspn(text + skip, ",");
		const char *end = text + skip + len;

		while (len > 0 && strchr(" \t", text[skip + len - 1]))
			len--;
		fmt_init(&f, word, sizeof(word));
		fmt_mem(&f, text + skip, len);
		fmt_end(&f);
		if (len == 0)
			fmt_str(why, "has an empty word");
		if (len == 0 || !errors_add_word(&o->retry_on, word, false, why))
			return false;
		text = *end ? end + 1 : NULL;
	} while (text);
	return true;
}

static void read_retry_on(struct overrides *o)
{
	const char *text = env_get(o->env, ENV_RETRY_ON);
	char buf[512];
	struct fmt why;

	if (!text)
		return;
	fmt_init(&why, buf, sizeof(buf));
	o->has[ENV_RETRY_ON] = true;
	if (read_words(o, text, &why))
		return;
	fmt_end(&why);
	wrong(o, ENV_RETRY_ON, buf);
}

static void read_log(struct overrides *o)
{
	const char *text = env_get(o->env, ENV_LOG);
	char buf[256];
	struct fmt why;

	if (!text)
		return;
	fmt_init(&why, buf, sizeof(buf));
	o->has[ENV_LOG] = true;
	if (log_to_parse(text, &o->log, &why))
		return;
	fmt_end(&why);
	wrong(o, ENV_LOG, buf);
}

static void check_delays(struct overrides *o)
{
	char buf[128];
	struct fmt why;

	if (!o->has[ENV_BASE_DELAY] || !o->has[ENV_MAX_DELAY] ||
	    o->number[ENV_BASE_DELAY] <= o->number[ENV_MAX_DELAY])
		return;
	fmt_init(&why, buf, sizeof(buf));
	diag_format(&why, "is more than %s (at most %t)", env_name(ENV_MAX_DELAY),
	            o->number[ENV_MAX_DELAY]);
	fmt_end(&why);
	wrong(o, ENV_BASE_DELAY, buf);
}

static void read_all(struct overrides *o, const struct env *env, struct diag_sink *sink)
{
	memset(o, 0, sizeof(*o));
	o->env = env;
	o->sink = sink;
	read_numbers(o);
	read_retry_on(o);
	read_log(o);
	check_delays(o);
}

/* One of the two delays may come from the file: it gives way. */
static void apply_delays(const struct overrides *o, struct backoff *b)
{
	if (o->has[ENV_BASE_DELAY] || o->has[ENV_MAX_DELAY] || o->has[ENV_MULTIPLIER])
		b->schedule_len = 0;
	if (b->base <= b->max)
		return;
	if (o->has[ENV_MAX_DELAY])
		b->base = b->max;
	else
		b->max = b->base;
}

static void apply_to(const struct overrides *o, struct pol *p)
{
	bool off = p->p.max_attempts == 1;

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if ((table[i].place == PLACE_POLICY || table[i].place == PLACE_BUDGET) &&
		    o->has[table[i].var])
			key_store(key_find(table[i].place, table[i].key), &p->p,
			          o->number[table[i].var], NULL);
	/* Who switched it off did so for a reason. */
	if (off)
		p->p.max_attempts = 1;
	apply_delays(o, &p->p.backoff);
	if (o->has[ENV_RETRY_ON])
		p->retry_on = o->retry_on;
	p->p.retry = pol_errors(p);
}

static void apply_policy(struct loader *ld, struct overrides *o)
{
	const char *name = env_get(ld->env, ENV_POLICY);
	struct nearest near;
	struct pol *p;
	char buf[128];
	struct fmt why;

	if (!name)
		return;
	p = pol_find(ld, name);
	if (!p) {
		near = nearest_to(name);
		for (unsigned i = 0; i < ld->pol_count; i++)
			nearest_offer(&near, ld->pols[i]->p.name);
		fmt_init(&why, buf, sizeof(buf));
		fmt_str(&why, "no such policy");
		nearest_say(&why, &near);
		fmt_end(&why);
		wrong(o, ENV_POLICY, buf);
		return;
	}
	ld->out->set.fallback_policy = &p->p;
	for (unsigned i = 0; i < ld->rule_count; i++)
		ld->rules[i].policy = &p->p;
	for (unsigned i = 0; i < ld->program_count; i++)
		ld->programs[i].policy = NULL;
}

static void apply_log(const struct overrides *o, struct log_settings *log)
{
	if (o->has[ENV_LOG]) {
		log->to = o->log.to;
		log->fd = o->log.fd;
		memcpy(log->path, o->log.path, sizeof(log->path));
	}
	if (o->has[ENV_LOG_LEVEL])
		log->level = (enum log_level)o->number[ENV_LOG_LEVEL];
	if (o->has[ENV_LOG_FORMAT])
		log->format = (enum log_format)o->number[ENV_LOG_FORMAT];
}

/* One of the two that name files; false if it is not set, or wrong: then <why> has it. */
static bool parse_where(const struct env *env, enum env_var var, bool *shm, char *path,
                       struct fmt *why)
{
	const char *text = env_get(env, var);

	return text && stats_to_parse(text, var == ENV_STATS ? shm : NULL, path, why);
}

static void apply_file(struct loader *ld, enum env_var var, char *path)
{
	char buf[256];
	struct fmt why;

	fmt_init(&why, buf, sizeof(buf));
	parse_where(ld->env, var, &ld->out->process.stats_shm, path, &why);
	if (fmt_end(&why) > 0)
		diag_say(&ld->sink, DIAG_WARNING, environment, "%s: %q: %s", env_name(var),
		         env_get(ld->env, var), buf);
}

/* A program with another user's rights writes no file that its configuration names. */
static void apply_files(struct loader *ld)
{
	apply_file(ld, ENV_STATS, ld->out->stats.path);
	apply_file(ld, ENV_TIMELINE, ld->out->log.timeline);
	if (ld->env->secure)
		ld->out->stats.path[0] = ld->out->log.timeline[0] = '\0';
}

static void note_others(struct loader *ld)
{
	if (ld->env->dropped > 0)
		diag_say(&ld->sink, DIAG_WARNING, environment,
		         "%u of libretry's variables are too long; ignored", ld->env->dropped);
}

void overrides_apply(struct loader *ld)
{
	struct overrides o;

	read_all(&o, ld->env, &ld->sink);
	for (struct pol *p = ld->all; p; p = p->next)
		apply_to(&o, p);
	apply_log(&o, &ld->out->log);
	if (o.has[ENV_MODE])
		ld->out->mode = (enum mode)o.number[ENV_MODE];
	apply_policy(ld, &o);
	apply_files(ld);
	note_others(ld);
}

static void list_file(const struct env *env, enum env_var var, const char *field,
                      override_fn *each, void *ctx)
{
	char path[LOG_PATH_MAX], buf[256];
	struct fmt why;
	bool shm;

	fmt_init(&why, buf, sizeof(buf));
	if (parse_where(env, var, &shm, path, &why))
		each(ctx, field, env_get(env, var), env_name(var));
}

void config_overrides(const struct env *env, override_fn *each, void *ctx)
{
	struct diag_sink nobody = { .report = NULL };
	struct overrides o;

	read_all(&o, env, &nobody);
	if (env_get(env, ENV_POLICY))
		each(ctx, "policy", env_get(env, ENV_POLICY), env_name(ENV_POLICY));
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (o.has[table[i].var])
			each(ctx, table[i].field, env_get(env, table[i].var),
			     env_name(table[i].var));
	if (o.has[ENV_RETRY_ON])
		each(ctx, "retry_on", env_get(env, ENV_RETRY_ON), env_name(ENV_RETRY_ON));
	if (o.has[ENV_LOG])
		each(ctx, "log.to", env_get(env, ENV_LOG), env_name(ENV_LOG));
	list_file(env, ENV_STATS, "stats.to", each, ctx);
	list_file(env, ENV_TIMELINE, "stats.timeline", each, ctx);
	if (inject_well_formed(env))
		each(ctx, "inject", env_get(env, ENV_INJECT), env_name(ENV_INJECT));
}
