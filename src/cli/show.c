/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <string.h>

#include "base/compat.h"
#include "base/duration.h"
#include "base/fmt.h"
#include "cli/show.h"
#include "policy/backoff.h"
#include "policy/classify.h"

#define TEXT_MAX 2048

static void cell_fmt(struct out *o, struct fmt *f)
{
	/* Cut only by a rule with hundreds of conditions: say so. */
	if (f->cut && f->cap > 4)
		memcpy(f->buf + f->cap - 4, "...", 4);
	else
		fmt_end(f);
	out_cell(o, f->buf);
}

void show_source(struct out *o, struct source source)
{
	char text[TEXT_MAX];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	fmt_str(&f, source.file ? source.file : "built in");
	if (source.file && source.line) {
		fmt_char(&f, ':');
		fmt_u64(&f, source.line);
	}
	cell_fmt(o, &f);
	out_cell(o, source.file);
	out_cell_int(o, source.file ? source.line : 0);
}

int64_t show_worst_wait(const struct policy *p)
{
	int64_t total = 0, previous = 0;

	for (unsigned n = 1; n < p->max_attempts; n++) {
		previous = backoff_wait(&p->backoff, n, false, previous, UINT64_MAX).ceiling;
		total = dur_add(total, previous);
	}
	return total < p->deadline ? total : p->deadline;
}

static void cell_figures(struct out *o, const struct policy *p)
{
	const struct backoff *b = &p->backoff;
	int64_t most = b->max;

	if (p->max_attempts <= 1) {
		out_cell_int(o, 1);
		for (unsigned i = 0; i < 4; i++)
			out_cell(o, NULL);
		return;
	}
	out_cell_int(o, p->max_attempts);
	if (b->schedule_len) {
		most = 0;
		for (unsigned i = 0; i < b->schedule_len; i++)
			most = b->schedule[i] > most ? b->schedule[i] : most;
		out_cell(o, "schedule");
	} else {
		out_cell_duration(o, b->base);
	}
	out_cell_duration(o, most);
	out_cell_duration(o, p->deadline);
	out_cell_duration(o, show_worst_wait(p));
}

#define FIGURE_COLUMNS \
	{ "max_attempts", "ATTEMPTS" }, { "base_delay", "BASE" }, { "max_delay", "MAX" }, \
	{ "deadline", "DEADLINE" }, { "worst_wait", "WORST-WAIT" }

static void list_start(struct fmt *f, const char *name, unsigned index)
{
	if (index) {
		fmt_char(f, ',');
		return;
	}
	if (f->len)
		fmt_char(f, ' ');
	fmt_str(f, name);
	fmt_char(f, '=');
}

static void fmt_names(struct fmt *f, const char *name, const char *const *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		list_start(f, name, i);
		fmt_str(f, list[i]);
	}
}

void show_conditions(struct fmt *f, const struct rule *r)
{
	static const char *const protos[] = { "", "tcp", "udp", "unix" };

	if (r->never) {
		fmt_str(f, "nothing (unknown key)");
		return;
	}
	fmt_names(f, "host", r->hosts, r->host_count);
	for (unsigned i = 0; i < r->cidr_count; i++) {
		list_start(f, "addr", i);
		cidr_fmt(f, &r->cidrs[i]);
	}
	for (unsigned i = 0; i < r->port_count; i++) {
		list_start(f, "port", i);
		fmt_u64(f, r->ports[i].low);
		if (r->ports[i].high == r->ports[i].low)
			continue;
		fmt_char(f, '-');
		fmt_u64(f, r->ports[i].high);
	}
	fmt_names(f, "unix", r->unix_paths, r->unix_count);
	if (r->proto != PROTO_ANY) {
		list_start(f, "proto", 0);
		fmt_str(f, protos[r->proto]);
	}
	if (!f->len)
		fmt_str(f, "everything");
}

void show_rules(struct out *o, const struct config *c)
{
	static const struct out_column columns[] = {
		{ NULL, "WHERE" }, { "file", NULL }, { "line", NULL }, { "name", "NAME" },
		{ "policy", "POLICY" }, FIGURE_COLUMNS, { "matches", "MATCHES" }
	};
	const struct policy *rest = c->set.fallback_policy;

	out_table(o, "rules", "rules, in the order in which they are tried:", columns,
	          ARRAY_LEN(columns));
	for (unsigned i = 0; i < c->set.rule_count; i++) {
		const struct rule *r = &c->set.rules[i];
		char text[TEXT_MAX];
		struct fmt f;

		show_source(o, r->source);
		out_cell(o, r->name);
		out_cell(o, r->policy->name);
		cell_figures(o, r->policy);
		fmt_init(&f, text, sizeof(text));
		show_conditions(&f, r);
		cell_fmt(o, &f);
	}
	show_source(o, rest->source);
	out_cell(o, NULL);
	out_cell(o, rest->name);
	cell_figures(o, rest);
	out_cell(o, c->set.rule_count ? "everything else" : "everything");
	out_table_end(o);
}

void show_jitter(struct fmt *f, const struct backoff *b)
{
	static const char *const names[] = {
		[JITTER_PROPORTIONAL] = "proportional", [JITTER_FULL] = "full",
		[JITTER_EQUAL] = "equal", [JITTER_ADDITIVE] = "additive",
		[JITTER_DECORRELATED] = "decorrelated", [JITTER_NONE] = "none"
	};

	fmt_str(f, names[b->jitter]);
	if (b->jitter == JITTER_PROPORTIONAL || b->jitter == JITTER_ADDITIVE) {
		fmt_char(f, ' ');
		fmt_ppm(f, b->jitter_ratio);
	}
}

static void cell_jitter(struct out *o, const struct backoff *b)
{
	char text[64];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	show_jitter(&f, b);
	cell_fmt(o, &f);
}

static void word(struct fmt *f, const char *text)
{
	if (f->len)
		fmt_char(f, ',');
	fmt_str(f, text);
}

static bool set_includes(const struct err_set *set, const struct err_set *part)
{
	for (size_t i = 0; i < ARRAY_LEN(set->errnos); i++) {
		if (part->errnos[i] & ~set->errnos[i])
			return false;
	}
	return !(part->eais & ~set->eais);
}

void show_errors(struct fmt *f, const struct err_set *set)
{
	struct err_set rest = *set;
	const char *name;

	for (int class = 0; class < CLASS_COUNT; class++) {
		struct err_set members = { 0 };

		err_set_add_class(&members, class);
		if (!set_includes(set, &members))
			continue;
		word(f, class_name(class));
		err_set_remove_class(&rest, class);
	}
	for (unsigned i = 0; (name = err_table_name(i)) != NULL; i++) {
		struct err e;

		if (!err_parse(name, &e) || !err_set_has(&rest, e))
			continue;
		/* Several names may stand for one error. */
		err_set_remove(&rest, e);
		word(f, name);
	}
}

static void cell_retry_on(struct out *o, const struct err_set *set)
{
	char text[TEXT_MAX];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	show_errors(&f, set);
	cell_fmt(o, &f);
}

void show_policies(struct out *o, const struct config *c)
{
	static const struct out_column columns[] = {
		{ NULL, "WHERE" }, { "file", NULL }, { "line", NULL }, { "name", "NAME" },
		FIGURE_COLUMNS, { "attempt_timeout", "ATTEMPT-TIMEOUT" }, { "jitter", "JITTER" },
		{ "retry_on", "RETRY-ON" }
	};

	out_table(o, "policies", "policies:", columns, ARRAY_LEN(columns));
	for (unsigned i = 0; i < c->set.policy_count; i++) {
		const struct policy *p = c->set.policies[i];

		show_source(o, p->source);
		out_cell(o, p->name);
		cell_figures(o, p);
		if (p->max_attempts <= 1) {
			out_cell(o, NULL);
			out_cell(o, NULL);
			out_cell(o, NULL);
			continue;
		}
		out_cell_duration(o, p->attempt_timeout);
		cell_jitter(o, &p->backoff);
		cell_retry_on(o, &p->retry);
	}
	out_table_end(o);
}

void show_programs(struct out *o, const struct config *c)
{
	static const struct out_column columns[] = {
		{ NULL, "WHERE" }, { "file", NULL }, { "line", NULL }, { "enabled", "ENABLED" },
		{ "mode", "MODE" }, { "policy", "POLICY" }, { "exe", "EXE" }
	};

	out_table(o, "programs", "programs, the first match decides:", columns,
	          ARRAY_LEN(columns));
	for (unsigned i = 0; i < c->set.program_count; i++) {
		const struct program_rule *p = &c->set.programs[i];
		char text[TEXT_MAX];
		struct fmt f;

		show_source(o, p->source);
		out_cell_bool(o, p->enabled);
		if (p->mode_set)
			out_cell(o, p->mode == MODE_OBSERVE ? "observe" : "retry");
		else
			out_cell(o, NULL);
		out_cell(o, p->policy ? p->policy->name : NULL);
		fmt_init(&f, text, sizeof(text));
		for (unsigned n = 0; n < p->exe_count; n++)
			word(&f, p->exes[n]);
		cell_fmt(o, &f);
	}
	out_table_end(o);
}

static void fmt_setting(struct fmt *f, const char *name)
{
	if (f->len)
		fmt_char(f, ' ');
	fmt_str(f, name);
}

static void fmt_count(struct fmt *f, const char *name, uint32_t n)
{
	if (!n)
		return;
	fmt_setting(f, name);
	fmt_u64(f, n);
}

static void fmt_effect(struct fmt *f, const struct fault *t)
{
	if (t->error.code)
		fmt_setting(f, err_name(t->error));
	if (t->reset)
		fmt_setting(f, "reset");
	fmt_count(f, "short_write=", t->short_write);
	if (t->delay || t->delay_jitter) {
		fmt_setting(f, "delay=");
		fmt_dur(f, t->delay);
	}
	if (t->delay_jitter) {
		fmt_setting(f, "delay_jitter=");
		fmt_dur(f, t->delay_jitter);
	}
}

static void fmt_times(struct fmt *f, const struct fault *t)
{
	if (t->probability < PPM) {
		fmt_setting(f, "probability=");
		fmt_ppm(f, t->probability);
	}
	fmt_count(f, "after=", t->after);
	fmt_count(f, "first=", t->first);
	fmt_count(f, "every=", t->every);
	fmt_count(f, "timeline=", t->timeline_count);
	if (t->outage.mean_gap) {
		fmt_setting(f, "outage=");
		fmt_dur(f, t->outage.mean_gap);
		fmt_char(f, ',');
		fmt_dur(f, t->outage.min);
		fmt_char(f, '-');
		fmt_dur(f, t->outage.max);
	}
	if (!f->len)
		fmt_str(f, "always");
}

void show_faults(struct out *o, const struct config *c)
{
	static const struct out_column columns[] = {
		{ NULL, "WHERE" }, { "file", NULL }, { "line", NULL }, { "call", "CALL" },
		{ "effect", "EFFECT" }, { "when", "WHEN" }, { "matches", "MATCHES" }
	};
	static const char *const calls[] = { "connect", "getaddrinfo", "send" };

	out_member_bool(o, "inject", c->inject.enabled);
	out_table(o, "faults", c->inject.enabled
	                  ? "injected faults:"
	                  : "faults, not injected (inject.enabled and LIBRETRY_INJECT=1 would):",
	          columns, ARRAY_LEN(columns));
	for (unsigned i = 0; i < c->inject.count; i++) {
		const struct fault *t = &c->inject.faults[i];
		char text[TEXT_MAX];
		struct fmt f;

		show_source(o, t->source);
		out_cell(o, calls[t->op]);
		fmt_init(&f, text, sizeof(text));
		fmt_effect(&f, t);
		cell_fmt(o, &f);
		fmt_init(&f, text, sizeof(text));
		fmt_times(&f, t);
		cell_fmt(o, &f);
		fmt_init(&f, text, sizeof(text));
		show_conditions(&f, &t->match);
		cell_fmt(o, &f);
	}
	out_table_end(o);
}

/* What show_environment() hands through config_overrides(). */
struct environment {
	struct out *out;
	const bool *rejected;
	bool any;
};

static void show_override(void *ctx, const char *field, const char *value, const char *variable)
{
	struct environment *e = ctx;

	for (int v = 0; v < ENV_COUNT; v++) {
		if (e->rejected[v] && strcmp(env_name(v), variable) == 0)
			return;
	}
	if (e->out->json) {
		out_cell(e->out, field);
		out_cell(e->out, value);
		out_cell(e->out, variable);
		return;
	}
	if (!e->any) {
		out_say(e->out, "%s", "");
		out_say(e->out, "overrides of the environment:");
	}
	e->any = true;
	out_say(e->out, "%s=%s (%s)", field, value, variable);
}

void show_environment(struct out *o, const struct env *env, const bool rejected[ENV_COUNT])
{
	static const struct out_column columns[] = {
		{ "setting", NULL }, { "value", NULL }, { "variable", NULL }
	};
	struct environment e = { o, rejected, false };

	out_table(o, "environment", NULL, columns, ARRAY_LEN(columns));
	config_overrides(env, show_override, &e);
	if (o->json)
		out_table_end(o);
}

void show_dur(struct fmt *f, int64_t ns, bool up)
{
	static const struct {
		int64_t below, unit, step;
		const char *name;
	} rows[] = {
		{ DUR_MS, DUR_US, DUR_US, "us" },
		{ 10 * DUR_MS, DUR_MS, DUR_MS / 10, "ms" },
		{ DUR_S, DUR_MS, DUR_MS, "ms" },
		{ 10 * DUR_S, DUR_S, DUR_S / 100, "s" },
		{ 600 * DUR_S, DUR_S, DUR_S / 10, "s" },
		{ 7200 * DUR_S, 60 * DUR_S, 6 * DUR_S, "m" },
		{ INT64_MAX, 3600 * DUR_S, 360 * DUR_S, "h" },
	};
	size_t i = 0;
	int64_t steps;

	if (ns == DUR_NONE) {
		fmt_str(f, "no limit");
		return;
	}
	if (ns == 0) {
		fmt_str(f, "0s");
		return;
	}
	while (ns >= rows[i].below)
		i++;
	steps = ns / rows[i].step + (up && ns % rows[i].step != 0);
	fmt_ppm(f, steps * (PPM / (rows[i].unit / rows[i].step)));
	fmt_str(f, rows[i].name);
}
