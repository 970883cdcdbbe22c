/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/compat.h"
#include "cli/cli.h"
#include "cli/need.h"
#include "cli/sim_contention.h"
#include "cli/sim_policies.h"
#include "config/node.h"
#include "policy/builtin.h"

static struct sim_policy *find(const struct sim_policies *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->list[i].policy.name, name) == 0)
			return &s->list[i];
	return NULL;
}

/* <name> is copied. */
static struct sim_policy *add(struct sim_policies *s, const char *name, const struct policy *p)
{
	struct sim_policy *new;

	s->list = need(reallocarray(s->list, s->count + 1, sizeof(*s->list)));
	new = &s->list[s->count++];
	*new = (struct sim_policy){ .policy = *p };
	new->policy.name = need(strdup(name));
	return new;
}

void sim_policies_free(struct sim_policies *s)
{
	for (size_t i = 0; i < s->count; i++)
		free((char *)s->list[i].policy.name);
	free(s->list);
	s->list = NULL;
	s->count = 0;
}

/* ------------------------------------------------------------------ words -- */

static void make_none(struct policy *p, enum sim_kind world)
{
	(void)world;
	p->max_attempts = 1;
}

static void make_fixed(struct policy *p, enum sim_kind world)
{
	(void)world;
	p->backoff.base = 100 * DUR_MS;
	p->backoff.multiplier = PPM;
	p->backoff.jitter = JITTER_NONE;
	p->max_attempts = 4;
}

static void make_backoff(struct policy *p, enum sim_kind world)
{
	(void)world;
	p->backoff.base = 40 * DUR_MS;
	p->backoff.cap = CAP_SOFT;
	p->max_attempts = 4;
}

/* One base for all kinds of jitter, as each world's published figures have it. */
static void make_jitter(struct policy *p, enum sim_kind world)
{
	if (world == SIM_CONTENTION) {
		sim_contention_policy(p, p->backoff.jitter, p->backoff.jitter_ratio);
	} else if (world == SIM_HERD) {
		p->backoff.base = DUR_S;
		p->backoff.max = 30 * DUR_S;
		p->backoff.cap = CAP_SOFT;
		p->max_attempts = 6;
		p->deadline = DUR_NONE;
	} else {
		make_backoff(p, world);
	}
}

/* Backoff as published figures of recovery have it. */
static void make_independent(struct policy *p, enum sim_kind world)
{
	(void)world;
	p->backoff.jitter = JITTER_FULL;
	p->max_attempts = 100;
	p->budget.kind = BUDGET_NONE;
}

static void make_budget(struct policy *p, enum sim_kind world)
{
	make_independent(p, world);
	p->budget.kind = BUDGET_RATIO;
	p->budget.min_retries_per_second = 10; /* as published, not the default */
}

static void make_coordinated(struct policy *p, enum sim_kind world)
{
	make_budget(p, world);
	p->budget.scope = SCOPE_USER;
	p->coordinate = true;
}

enum {
	WORD_SEED = 1, WORD_JITTERS = 2, WORD_NO_WAIT = 4, WORD_RECOVERY = 8, WORD_AT_ONCE = 16
};

static const struct word {
	const char *name;
	void (*make)(struct policy *p, enum sim_kind world);
	enum jitter jitter;
	int64_t ratio;   /* ppm; 0: the built-in one */
	unsigned groups; /* that it belongs to */
} words[] = {
	{ "none", make_none, 0, 0, WORD_SEED | WORD_RECOVERY },
	{ "fixed-100ms", make_fixed, 0, 0, WORD_SEED },
	{ "backoff-40ms", make_backoff, 0, 0, WORD_SEED },
	{ "no-jitter", make_jitter, JITTER_NONE, 0, WORD_JITTERS },
	{ "full", make_jitter, JITTER_FULL, 0, WORD_JITTERS },
	{ "equal", make_jitter, JITTER_EQUAL, 0, WORD_JITTERS },
	{ "proportional", make_jitter, JITTER_PROPORTIONAL, 0, WORD_JITTERS },
	{ "additive", make_jitter, JITTER_ADDITIVE, 3 * PPM / 10, WORD_JITTERS },
	{ "decorrelated", make_jitter, JITTER_DECORRELATED, 0, WORD_JITTERS },
	{ "independent", make_independent, 0, 0, WORD_RECOVERY },
	{ "budget-alone", make_budget, 0, 0, WORD_RECOVERY },
	{ "all-at-once", make_coordinated, 0, 0, WORD_RECOVERY | WORD_AT_ONCE },
	{ "coordinated", make_coordinated, 0, 0, WORD_RECOVERY },
	{ "no-wait", make_jitter, JITTER_NONE, 0, WORD_NO_WAIT },
};

static struct policy policy_of(const struct word *w, enum sim_kind world)
{
	struct policy p = builtin_default();

	if (w->make == make_jitter) {
		p.backoff.jitter = w->jitter;
		if (w->ratio)
			p.backoff.jitter_ratio = w->ratio;
	}
	w->make(&p, world);
	if (w->groups & WORD_NO_WAIT) {
		/* No policy can say "never wait"; a list of one zero does. */
		p.backoff.schedule_len = 1;
		p.backoff.schedule[0] = 0;
	}
	return p;
}

static void add_word(struct sim_policies *s, const struct word *w)
{
	struct policy p = policy_of(w, s->world);
	struct sim_policy *new;

	if (find(s, w->name))
		return;
	new = add(s, w->name, &p);
	new->at_once = w->groups & WORD_AT_ONCE;
	new->endless = w->make == make_jitter && s->world == SIM_CONTENTION;
	new->no_wait = w->groups & WORD_NO_WAIT;
}

static bool add_group(struct sim_policies *s, const char *name)
{
	unsigned group = 0;
	bool found = false;

	if (strcmp(name, "seed") == 0)
		group = WORD_SEED;
	else if (strcmp(name, "jitters") == 0)
		group = WORD_JITTERS;
	else if (strcmp(name, "recovery") == 0)
		group = WORD_RECOVERY;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (!(words[i].groups & group) && strcmp(words[i].name, name) != 0)
			continue;
		add_word(s, &words[i]);
		found = true;
	}
	return found;
}

static void offer(struct nearest *near, char *list, size_t size, const char *name)
{
	struct fmt f = { .buf = list, .cap = size, .len = strlen(list) };

	nearest_offer(near, name);
	if (f.len)
		fmt_str(&f, ", ");
	fmt_str(&f, name);
	fmt_end(&f);
}

static bool unknown_policy(const struct sim_policies *s, const char *name)
{
	struct nearest near = nearest_to(name);
	struct policy builtin;
	char list[512] = "", hint[96];
	struct fmt f;

	for (unsigned i = 0; s->config && i < s->config->set.policy_count; i++)
		offer(&near, list, sizeof(list), s->config->set.policies[i]->name);
	for (unsigned i = 0; !s->config && builtin_policy(i, &builtin); i++)
		offer(&near, list, sizeof(list), builtin.name);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		offer(&near, list, sizeof(list), words[i].name);
	offer(&near, list, sizeof(list), "seed");
	offer(&near, list, sizeof(list), "jitters");
	offer(&near, list, sizeof(list), "recovery");
	fmt_init(&f, hint, sizeof(hint));
	nearest_say(&f, &near);
	fmt_end(&f);
	cli_say("simulate: --policy: no policy \"%s\" (%s, or NAME=base:40ms,attempts:4)%s", name,
	        list, hint);
	return false;
}

/* A policy of the configuration, or a built-in one. */
static bool named(const struct sim_policies *s, const char *name, struct policy *p)
{
	const struct policy *found = s->config ? config_policy(s->config, name) : NULL;

	if (found) {
		*p = *found;
		return true;
	}
	for (unsigned i = 0; !s->config && builtin_policy(i, p); i++)
		if (strcmp(p->name, name) == 0)
			return true;
	return false;
}

/* One of the words. */
static bool worded(const struct sim_policies *s, const char *name, struct policy *p)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i].name, name) == 0) {
			*p = policy_of(&words[i], s->world);
			return true;
		}
	return false;
}

static bool add_named(struct sim_policies *s, const char *name)
{
	struct policy p;

	if (!named(s, name, &p))
		return add_group(s, name) || unknown_policy(s, name);
	if (!find(s, name))
		add(s, name, &p);
	return true;
}

/* ----------------------------------------------------------- descriptions -- */

/* Short forms, and keys whose own form is a group. */
static const struct {
	const char *name, *key;
	enum place place;
} shorts[] = {
	{ "base", "base_delay", PLACE_POLICY },      { "mult", "multiplier", PLACE_POLICY },
	{ "max", "max_delay", PLACE_POLICY },        { "ratio", "jitter_ratio", PLACE_POLICY },
	{ "attempts", "max_attempts", PLACE_POLICY }, { "timeout", "attempt_timeout", PLACE_POLICY },
	{ "budget", "kind", PLACE_BUDGET },          { "breaker", "enabled", PLACE_BREAKER },
};

static const struct key *key_of(const char *name)
{
	const struct key *k;

	for (size_t i = 0; i < ARRAY_LEN(shorts); i++)
		if (strcmp(shorts[i].name, name) == 0)
			return key_find(shorts[i].place, shorts[i].key);
	k = key_find(PLACE_POLICY, name);
	return k && k->kind != KIND_CUSTOM && k->kind != KIND_GROUP ? k : NULL;
}

static bool unknown_key(const struct policy *p, const char *name)
{
	struct nearest near = nearest_to(name);
	const struct key *k;
	char hint[96];
	struct fmt f;

	for (size_t i = 0; i < ARRAY_LEN(shorts); i++)
		nearest_offer(&near, shorts[i].name);
	nearest_offer(&near, "inherit");
	for (unsigned i = 0; (k = key_at(i)) != NULL; i++)
		if (k->place == PLACE_POLICY && key_of(k->name))
			nearest_offer(&near, k->name);
	fmt_init(&f, hint, sizeof(hint));
	nearest_say(&f, &near);
	fmt_end(&f);
	cli_say("simulate: --policy %s: %s: unknown key (base, mult, max, jitter, ratio, attempts, "
	        "deadline, timeout, cap, budget, breaker, inherit, and others of "
	        "libretry.conf(5))%s", p->name, name, hint);
	return false;
}

static bool set(const struct sim_policies *s, struct policy *p, const char *name,
                const char *value)
{
	const struct key *k = key_of(name);
	const char *own = p->name;
	int64_t number;
	char why[256];
	struct fmt f;

	if (strcmp(name, "inherit") == 0) {
		if (!named(s, value, p) && !worded(s, value, p))
			return unknown_policy(s, value);
		p->name = own;
		return true;
	}
	if (!k)
		return unknown_key(p, name);
	fmt_init(&f, why, sizeof(why));
	if (value_from_text(k, value, &number, &f)) {
		key_store(k, p, number, NULL);
		return true;
	}
	fmt_end(&f);
	cli_say("simulate: --policy %s: %s: \"%s\": %s", own, name, value, why);
	return false;
}

/* As the loader sees it. */
static bool makes_sense(const struct policy *p)
{
	char base[32], max[32];
	struct fmt f;

	if (p->backoff.base <= p->backoff.max)
		return true;
	fmt_init(&f, base, sizeof(base));
	fmt_dur_exact(&f, p->backoff.base);
	fmt_end(&f);
	fmt_init(&f, max, sizeof(max));
	fmt_dur_exact(&f, p->backoff.max);
	fmt_end(&f);
	cli_say("simulate: --policy %s: base: %s is more than max, %s (add max:%s)", p->name, base,
	        max, base);
	return false;
}

static bool is_known(const struct sim_policies *s, const char *name)
{
	struct policy p;

	return worded(s, name, &p) || named(s, name, &p);
}

/* The words of one --policy, from the left. */
struct reader {
	struct sim_policies *s;
	struct policy p;
	bool open; /* p is being described */
};

static bool finish(struct reader *r)
{
	if (!r->open)
		return true;
	r->open = false;
	if (!makes_sense(&r->p))
		return false;
	if (find(r->s, r->p.name) || is_known(r->s, r->p.name)) {
		cli_say("simulate: --policy %s: there is one of this name (another name)", r->p.name);
		return false;
	}
	add(r->s, r->p.name, &r->p);
	return true;
}

static bool read_word(struct reader *r, char *word)
{
	char *equals = strchr(word, '=');
	char *colon;

	if (equals) {
		if (!finish(r))
			return false;
		*equals = '\0';
		r->p = builtin_default();
		r->p.name = word;
		r->open = true;
		word = equals + 1;
	}
	colon = strchr(word, ':');
	if (!colon && !equals)
		return finish(r) && add_named(r->s, word);
	if (!colon || !r->open || !*r->p.name) {
		cli_say("simulate: --policy: \"%s\" is no policy (a name, or "
		        "NAME=base:40ms,mult:2,jitter:full,attempts:4)", word);
		return false;
	}
	*colon = '\0';
	return set(r->s, &r->p, word, colon + 1);
}

bool sim_policies_add(struct sim_policies *s, const char *text)
{
	char *copy = need(strdup(text));
	struct reader r = { .s = s };
	char *rest = copy;
	bool good = true;

	for (char *word; good && (word = strsep(&rest, ",")) != NULL;)
		good = read_word(&r, word);
	good = good && finish(&r);
	free(copy);
	return good;
}
