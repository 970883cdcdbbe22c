/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/compat.h"
#include "config/loader.h"
#include "policy/builtin.h"

struct err_set pol_errors(const struct pol *p)
{
	struct err_set set = p->retry_on;

	for (unsigned i = 0; i < ARRAY_LEN(set.errnos); i++)
		set.errnos[i] &= ~p->never_on.errnos[i];
	set.eais &= ~p->never_on.eais;
	return set;
}

struct pol *pol_find(const struct loader *ld, const char *name)
{
	for (unsigned i = 0; i < ld->pol_count; i++)
		if (strcmp(ld->pols[i]->p.name, name) == 0)
			return ld->pols[i];
	return NULL;
}

static struct pol *pol_new(struct loader *ld)
{
	struct pol *p = arena_alloc(ld->r.keep, sizeof(*p));

	if (p) {
		p->next = ld->all;
		ld->all = p;
	}
	return p;
}

bool pols_builtin(struct loader *ld)
{
	struct policy policy;

	for (unsigned i = 0; builtin_policy(i, &policy); i++) {
		struct pol *p = pol_new(ld);

		if (!p)
			return false;
		p->p = policy;
		p->retry_on = policy.retry;
		p->resolved = true;
		ld->pols[ld->pol_count++] = p;
	}
	return true;
}

struct pol *pol_named(struct loader *ld, const struct node *n)
{
	const char *name = node_text(n);
	struct nearest near;
	char buf[128];
	struct pol *p;
	struct fmt f;

	if (!name) {
		node_wrong_type(n, "the name of a policy in quotes");
		return NULL;
	}
	p = pol_find(ld, name);
	if (p || ld->incomplete)
		return p;
	for (unsigned i = 0; i < ld->unit_count; i++) {
		const struct text *t = &ld->units[i].parsed.text;

		if (text_noted(t->blanked, t->blanked_count, name))
			return NULL;
	}
	near = nearest_to(name);
	for (unsigned i = 0; i < ld->pol_count; i++)
		nearest_offer(&near, ld->pols[i]->p.name);
	fmt_init(&f, buf, sizeof(buf));
	nearest_say(&f, &near);
	fmt_end(&f);
	node_fault(n, DIAG_ERROR, "no such policy%s", buf);
	return NULL;
}

static void collect_one(struct loader *ld, const struct node *n)
{
	struct pol *known = pol_find(ld, n->key), *p;

	if (known && known->node) {
		struct source there = node_source(known->node);

		node_say(n, DIAG_ERROR, "already defined at %s:%u", there.file, there.line);
		return;
	}
	if (!known && ld->pol_count >= LOAD_POLICIES_MAX) {
		node_say(n, DIAG_ERROR, "too many policies (at most %u)", LOAD_POLICIES_MAX);
		return;
	}
	p = pol_new(ld);
	if (!p)
		return;
	p->p.name = arena_text(ld->r.keep, n->key, strlen(n->key));
	p->p.source = node_source(n);
	p->node = load_keep_node(ld, n);
	if (!known) {
		ld->pols[ld->pol_count++] = p;
		return;
	}
	for (unsigned i = 0; i < ld->pol_count; i++)
		if (ld->pols[i] == known)
			ld->pols[i] = p;
}

void pols_collect(struct loader *ld, const struct unit *u)
{
	if (!u->policies)
		return;
	if (!node_is_group(u->policies)) {
		node_wrong_type(u->policies, "a group { }");
		return;
	}
	for (unsigned i = 0; i < node_count(u->policies); i++) {
		struct node n = node_at(u->policies, i);

		if (!node_is_passed_over(&n))
			collect_one(ld, &n);
	}
}

static void read_schedule(const struct node *n, struct policy *p)
{
	static const struct key step = { .kind = KIND_DURATION, .low = DUR_MIN_CONFIG,
		                         .high = DUR_MAX_CONFIG, .flags = KEY_ZERO };
	unsigned count = node_count(n);

	p->backoff.schedule_len = 0;
	if (!node_is_list(n)) {
		node_wrong_type(n, "a list of durations, such as [ \"0s\", \"1s\" ],");
		return;
	}
	if (count < 1 || count > SCHEDULE_MAX) {
		node_say(n, DIAG_ERROR, "has %u entries (1 to %u)", count, SCHEDULE_MAX);
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		struct node entry = node_at(n, i);
		const char *text;

		if (value_from_node(&entry, &step, &p->backoff.schedule[i], &text))
			p->backoff.schedule_len = i + 1;
	}
}

static void read_max_retries(const struct node *n, struct policy *p)
{
	static const struct key retries = { .kind = KIND_COUNT, .low = 0, .high = 999 };
	struct node other;
	const char *text;
	int64_t number;

	if (node_member(n->up, "max_attempts", &other)) {
		node_fault(n, DIAG_ERROR,
		           "stands beside max_attempts, which counts one more (use one of them)");
		return;
	}
	if (value_from_node(n, &retries, &number, &text))
		p->max_attempts = (uint32_t)number + 1;
}

/* <ctx>: the struct pol that is read. */
static void read_custom(void *ctx, const struct node *n, const struct key *k, void *target)
{
	struct pol *p = ctx;

	(void)target;
	if (strcmp(k->name, "schedule") == 0)
		read_schedule(n, &p->p);
	else if (strcmp(k->name, "max_retries") == 0)
		read_max_retries(n, &p->p);
	else if (strcmp(k->name, "retry_on") == 0)
		errors_read(n, &p->retry_on, false);
	else if (strcmp(k->name, "never_on") == 0)
		errors_read(n, &p->never_on, true);
}

/* A schedule and the formula exclude each other, the nearer one wins over the
 * inherited one. */
static void settle_schedule(const struct node *group, struct policy *p)
{
	static const char *const formula[] = { "base_delay", "multiplier", "max_delay" };
	struct node schedule, n;
	bool has_schedule = node_member(group, "schedule", &schedule);

	for (unsigned i = 0; i < ARRAY_LEN(formula); i++) {
		if (!node_member(group, formula[i], &n))
			continue;
		if (has_schedule)
			node_say(&schedule, DIAG_ERROR, "stands beside %s (use one or the other)",
			         formula[i]);
		else
			p->backoff.schedule_len = 0;
		return;
	}
}

/* Puts the fields of <group> over <p>. */
static void read_fields(const struct node *group, struct pol *p)
{
	const struct diag_sink *sink = group->r->sink;
	unsigned before = sink->count[DIAG_ERROR] + sink->hushed;

	group_read(group, PLACE_POLICY, &p->p, read_custom, p);
	if (node_is_group(group))
		settle_schedule(group, &p->p);
	p->p.retry = pol_errors(p);
	p->p.never = p->never_on;
	if (sink->count[DIAG_ERROR] + sink->hushed != before)
		p->bad = true;
	policy_check(group, p);
}

static void copy_fields(struct pol *to, const struct pol *from)
{
	const char *name = to->p.name;
	struct source source = to->p.source;

	to->p = from->p;
	to->p.name = name;
	to->p.source = source;
	to->retry_on = from->retry_on;
	to->never_on = from->never_on;
	to->bad = from->bad;
}

/* Out of line: its two policies would sit in each frame of resolve(). */
static LR_NOINLINE void from_builtin(struct pol *p, const char *name)
{
	struct pol base = { .p = builtin_default() };
	struct policy policy;

	for (unsigned i = 0; name && builtin_policy(i, &policy); i++)
		if (strcmp(policy.name, name) == 0)
			base.p = policy;
	base.retry_on = base.p.retry;
	copy_fields(p, &base);
}

static bool is_builtin(const char *name)
{
	struct policy policy;

	for (unsigned i = 0; builtin_policy(i, &policy); i++)
		if (strcmp(policy.name, name) == 0)
			return true;
	return false;
}

/* What <p> inherits from; NULL if nothing, or if there is no such policy. */
static struct pol *parent_of(const struct loader *ld, const struct pol *p)
{
	struct node n;

	if (!p->node || !node_member(p->node, "inherit", &n) || !node_text(&n))
		return NULL;
	/* A preset under its own name: there is no other way to adapt one. */
	if (strcmp(node_text(&n), p->p.name) == 0 && is_builtin(p->p.name))
		return NULL;
	return pol_find(ld, node_text(&n));
}

/* Whether the way from <p> up ends, in time. Only the policy that makes it too
 * long is reported, and everyone on a circle. */
static bool has_end(const struct loader *ld, const struct pol *p, const struct node *n)
{
	unsigned steps = 0;

	for (const struct pol *q = parent_of(ld, p); q; q = parent_of(ld, q)) {
		if (q == p) {
			node_fault(n, DIAG_ERROR, "inherits from itself (a circle)");
			return false;
		}
		if (++steps > ld->pol_count)
			return false;
	}
	if (steps == LOAD_INHERIT_MAX + 1)
		node_fault(n, DIAG_ERROR, "inherits over too many steps (at most %u)",
		           LOAD_INHERIT_MAX);
	return steps <= LOAD_INHERIT_MAX;
}

static void resolve(struct loader *ld, struct pol *p);

/* Starts <p> from the policy that it inherits from, or from the built-in
 * default. */
static void inherit(struct loader *ld, struct pol *p)
{
	struct node n;
	struct pol *base;

	from_builtin(p, NULL);
	if (!node_member(p->node, "inherit", &n))
		return;
	if (node_text(&n) && strcmp(node_text(&n), p->p.name) == 0 && is_builtin(p->p.name)) {
		from_builtin(p, p->p.name);
		return;
	}
	base = pol_named(ld, &n);
	if (!base || !has_end(ld, p, &n)) {
		p->bad = true;
		return;
	}
	resolve(ld, base);
	copy_fields(p, base);
}

/* Recurses over LOAD_INHERIT_MAX levels at most: has_end() sees to it. */
static void resolve(struct loader *ld, struct pol *p)
{
	if (p->resolved)
		return;
	p->resolved = true;
	inherit(ld, p);
	read_fields(p->node, p);
}

void pols_resolve(struct loader *ld)
{
	for (unsigned i = 0; i < ld->pol_count; i++)
		resolve(ld, ld->pols[i]);
}

struct pol *pol_private(struct loader *ld, const struct pol *base, const struct node *group)
{
	struct pol *p = pol_new(ld);
	struct node n;

	if (!p)
		return NULL;
	p->p.name = base->p.name;
	p->p.source = node_source(group);
	p->node = load_keep_node(ld, group);
	p->resolved = true;
	copy_fields(p, base);
	if (node_member(group, "inherit", &n))
		node_fault(&n, DIAG_ERROR,
		           "belongs in a policy (\"policy\" names the one to change)");
	read_fields(group, p);
	return p;
}
