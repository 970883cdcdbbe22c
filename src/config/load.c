/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "config/loader.h"
#include "policy/builtin.h"

struct root_reading {
	struct loader *ld;
	struct unit *u;
};

const struct node *load_keep_node(struct loader *ld, const struct node *n)
{
	struct node *copy = arena_alloc(ld->r.scratch, sizeof(*copy));

	if (copy)
		*copy = *n;
	return copy;
}

void load_list(struct loader *ld, const struct node *list, const struct load_limit *limit,
               void (*read_one)(struct loader *ld, const struct node *n))
{
	if (!list)
		return;
	if (!node_is_list(list)) {
		node_wrong_type(list, "a list ( ) of groups { }");
		return;
	}
	for (unsigned i = 0; i < node_count(list); i++) {
		struct node n = node_at(list, i);

		if (*limit->count == limit->max) {
			node_say(&n, DIAG_ERROR, "too many %s (at most %u)", limit->what,
			         limit->max);
			return;
		}
		read_one(ld, &n);
	}
}

static bool no_memory(const struct loader *ld)
{
	return arena_failed(ld->r.keep) || arena_failed(ld->r.scratch);
}

static unsigned errors_of(const struct loader *ld)
{
	return ld->sink.count[DIAG_ERROR] + ld->sink.count[DIAG_UNREADABLE];
}

static void read_root(void *ctx, const struct node *n, const struct key *k, void *target)
{
	struct root_reading *r = ctx;

	(void)target;
	if (strcmp(k->name, "policies") == 0)
		r->u->policies = load_keep_node(r->ld, n);
	else if (strcmp(k->name, "destinations") == 0)
		r->u->destinations = load_keep_node(r->ld, n);
	else if (strcmp(k->name, "programs") == 0)
		r->u->programs = load_keep_node(r->ld, n);
	else if (strcmp(k->name, "version") == 0)
		return;
	else if (!r->u->main)
		node_say(n, DIAG_ERROR, "belongs in the main file (%s)",
		         r->ld->units[0].parsed.path);
	else
		misc_read(r->ld, n);
}

static void check_version(struct loader *ld, const struct unit *u)
{
	const struct text *t = &u->parsed.text;
	struct node n;

	if (node_member(&u->root, "version", &n)) {
		if (config_setting_type(n.s) != CONFIG_TYPE_INT)
			node_wrong_type(&n, "1, without quotes,");
		else if (ld->r.lc->config_setting_get_int(n.s) != 1)
			node_fault(&n, DIAG_ERROR, "unknown format (1 is the only one)");
		return;
	}
	if (text_noted(t->faulty, t->faulty_count, "version") ||
	    text_noted(t->blanked, t->blanked_count, "version"))
		return;
	diag_say(&ld->sink, DIAG_ERROR, (struct source){ u->parsed.path, 0 },
	         "version: is missing (write \"version = 1;\")");
}

static void load_unit(struct loader *ld, const char *path)
{
	struct unit *u = &ld->units[ld->unit_count];
	struct root_reading reading = { ld, u };
	unsigned before = errors_of(ld);

	u->main = ld->unit_count++ == 0;
	parse_file(&u->parsed, path, ld->r.lc, ld->r.keep, ld->r.scratch, &ld->sink);
	if (!u->parsed.has_tree) {
		ld->incomplete = true;
		if (errors_of(ld) == before)
			diag_say(&ld->sink, DIAG_UNREADABLE, (struct source){ path, 0 },
			         "cannot be read: no memory");
		return;
	}
	u->root = node_root(&ld->r, &u->parsed);
	group_read(&u->root, PLACE_ROOT, NULL, read_root, &reading);
	check_version(ld, u);
}

static void load_dropins(struct loader *ld, const char *path)
{
	const char **paths = arena_array(ld->r.scratch, LOAD_DROPINS_MAX, sizeof(*paths));
	unsigned count = paths ? dropins_list(ld, path, paths) : 0;
	size_t bytes = ld->units[0].parsed.size;

	for (unsigned i = 0; i < count && !no_memory(ld); i++) {
		if (bytes > LOAD_BYTES_MAX) {
			diag_say(&ld->sink, DIAG_ERROR, (struct source){ paths[i], 0 },
			         "all files together are too large (at most %i bytes)",
			         (int64_t)LOAD_BYTES_MAX);
			return;
		}
		load_unit(ld, paths[i]);
		bytes += ld->units[ld->unit_count - 1].parsed.size;
	}
}

/* What the trees hold, now that all names are known. Drop-ins come before the
 * main file: a host's own entries before the catch-alls. */
static void read_units(struct loader *ld)
{
	for (unsigned i = 0; i < ld->unit_count; i++)
		pols_collect(ld, &ld->units[i]);
	if (no_memory(ld))
		return;
	pols_resolve(ld);
	for (unsigned i = 1; i <= ld->unit_count; i++)
		dests_read(ld, &ld->units[i % ld->unit_count]);
	for (unsigned i = 1; i <= ld->unit_count; i++)
		programs_read(ld, &ld->units[i % ld->unit_count]);
	if (!no_memory(ld))
		dests_shadowed(ld);
}

static void load_files(struct loader *ld, const char *path)
{
	ld->units = arena_array(ld->r.scratch, LOAD_DROPINS_MAX + 1, sizeof(*ld->units));
	ld->rules = arena_array(ld->r.keep, LOAD_DESTS_MAX, sizeof(*ld->rules));
	ld->rule_nodes = arena_array(ld->r.scratch, LOAD_DESTS_MAX, sizeof(*ld->rule_nodes));
	ld->programs = arena_array(ld->r.keep, LOAD_PROGRAMS_MAX, sizeof(*ld->programs));
	if (no_memory(ld))
		return;
	path = arena_text(ld->r.keep, path, strlen(path));
	if (!ld->r.lc) {
		diag_say(&ld->sink, DIAG_UNREADABLE, (struct source){ path, 0 },
		         "cannot be read: libconfig is not there");
		return;
	}
	load_unit(ld, path);
	/* Beside a file that is not there, conf.d may be anyone's. */
	if (ld->sink.count[DIAG_UNREADABLE] == 0)
		load_dropins(ld, path);
	if (!no_memory(ld))
		read_units(ld);
}

/* Nothing of a bad file is used: half a configuration is no configuration. */
static void fall_back(struct loader *ld)
{
	ld->pol_count = 0;
	ld->all = NULL;
	ld->rule_count = 0;
	ld->program_count = 0;
	ld->out->log = builtin_log();
	ld->out->process = builtin_process();
	ld->out->stats = builtin_stats();
	ld->out->inject = (struct inject_set){ .enabled = false };
	pols_builtin(ld);
}

static void list_files(struct loader *ld)
{
	unsigned count = ld->unit_count;
	const char **files;

	for (unsigned i = 0; i < ld->unit_count; i++)
		count += ld->units[i].parsed.text.included_count;
	files = arena_array(ld->r.keep, count, sizeof(*files));
	if (!files)
		return;
	ld->out->files = files;
	for (unsigned i = 0; i < ld->unit_count; i++)
		*files++ = ld->units[i].parsed.path;
	for (unsigned i = 0; i < ld->unit_count; i++) {
		const struct text *t = &ld->units[i].parsed.text;

		for (unsigned j = 0; j < t->included_count; j++)
			*files++ = t->included[j];
	}
	ld->out->file_count = count;
}

static void publish(struct loader *ld)
{
	const struct policy **policies =
		arena_array(ld->r.keep, ld->pol_count, sizeof(const struct policy *));
	struct config *c = ld->out;

	if (!policies)
		return;
	for (unsigned i = 0; i < ld->pol_count; i++)
		policies[i] = &ld->pols[i]->p;
	c->set.policies = policies;
	c->set.policy_count = ld->pol_count;
	c->set.rules = ld->rules;
	c->set.rule_count = ld->rule_count;
	c->set.programs = ld->programs;
	c->set.program_count = ld->program_count;
	c->set.fallback_policy = config_policy(c, "default");
	list_files(ld);
}

static void look_ahead(struct config *c, const struct policy *p)
{
	const struct socket_options *s = p ? &p->socket : NULL;

	if (!p)
		return;
	if (p->nonblocking == NONBLOCKING_BLOCK || p->attempt_timeout != DUR_NONE ||
	    p->send == SEND_FIRST_WRITE || s->syn_count || s->user_timeout || s->keepalive_idle ||
	    s->keepalive_interval || s->keepalive_count || p->breaker.enabled || p->coordinate)
		c->before_connect = true;
	if (p->dns_attempt_timeout != DUR_NONE || p->breaker.enabled || p->coordinate)
		c->before_lookup = true;
}

/* Only policies that can be met: a preset that nobody uses costs nothing. */
static void look_ahead_all(struct config *c)
{
	look_ahead(c, c->set.fallback_policy);
	for (unsigned i = 0; i < c->set.rule_count; i++) {
		const struct rule *r = &c->set.rules[i];

		look_ahead(c, r->policy);
		c->before_connect |= r->redirect != NULL;
		c->after_lookup |= r->redirect && r->redirect->host;
		for (unsigned j = 0; j < r->fallback_count; j++)
			c->after_lookup |= r->fallback[j].host != NULL;
	}
	for (unsigned i = 0; i < c->set.program_count; i++)
		look_ahead(c, c->set.programs[i].policy);
}

static void count_faults(struct loader *ld)
{
	struct config *c = ld->out;

	c->errors = errors_of(ld);
	c->unknown = ld->sink.count[DIAG_UNKNOWN];
	c->warnings = ld->sink.count[DIAG_WARNING];
	c->unreadable = ld->sink.count[DIAG_UNREADABLE] > 0;
}

static void load(struct loader *ld, const char *path)
{
	ld->out->log = builtin_log();
	ld->out->process = builtin_process();
	ld->out->stats = builtin_stats();
	pols_builtin(ld);
	if (path)
		load_files(ld, path);
	if (errors_of(ld) > 0)
		fall_back(ld);
	if (no_memory(ld))
		return;
	publish(ld);
	if (no_memory(ld))
		return;
	overrides_apply(ld);
	inject_apply(ld);
	look_ahead_all(ld->out);
	count_faults(ld);
}

struct config *config_load(const char *path, const struct lcapi *lc, const struct env *env,
                           diag_fn *report, void *ctx)
{
	struct arena *keep = arena_new(), *scratch = arena_new();
	struct config *c = keep ? arena_alloc(keep, sizeof(*c)) : NULL;
	struct loader *ld = scratch ? arena_alloc(scratch, sizeof(*ld)) : NULL;

	if (c && ld) {
		c->arena = keep;
		ld->sink = (struct diag_sink){ .report = report, .ctx = ctx };
		ld->r = (struct reading){ lc, &ld->sink, keep, scratch };
		ld->env = env;
		ld->out = c;
		load(ld, path);
		for (unsigned i = 0; i < ld->unit_count; i++)
			parse_release(&ld->units[i].parsed, lc);
		if (no_memory(ld))
			c = NULL;
	} else {
		c = NULL;
	}
	arena_free(scratch);
	if (!c)
		arena_free(keep);
	return c;
}

void config_free(struct config *c)
{
	if (c)
		arena_free(c->arena);
}

const struct policy *config_policy(const struct config *c, const char *name)
{
	for (unsigned i = 0; i < c->set.policy_count; i++)
		if (strcmp(c->set.policies[i]->name, name) == 0)
			return c->set.policies[i];
	return NULL;
}
