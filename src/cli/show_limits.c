/* SPDX-License-Identifier: MIT */
/* What a policy says of those who call a destination together. */
#include "base/compat.h"
#include "cli/show.h"

#define TEXT_MAX 256

const char *show_scope(enum scope scope)
{
	static const char *const words[] = { "process", "user", "host" };

	return words[scope];
}

void show_budget(struct fmt *f, const struct budget *b)
{
	static const char *const words[] = { "ratio", "tokens", "none" };

	fmt_str(f, words[b->kind]);
	if (b->kind == BUDGET_RATIO) {
		fmt_char(f, ' ');
		fmt_ppm(f, b->ratio);
		fmt_str(f, " and ");
		fmt_u64(f, b->min_retries_per_second);
		fmt_str(f, " a second, over ");
		fmt_dur_exact(f, b->ttl);
	}
}

void show_breaker(struct fmt *f, const struct breaker *b)
{
	if (!b->enabled) {
		fmt_str(f, "off");
		return;
	}
	fmt_str(f, "opens");
	if (b->consecutive_failures) {
		fmt_str(f, " after ");
		fmt_u64(f, b->consecutive_failures);
		fmt_str(f, b->consecutive_failures == 1 ? " failure" : " failures in a row");
	}
	if (b->failure_ratio) {
		fmt_str(f, b->consecutive_failures ? ", or at a ratio of " : " at a ratio of ");
		fmt_ppm(f, b->failure_ratio);
		fmt_str(f, " of at least ");
		fmt_u64(f, b->minimum_calls);
		fmt_str(f, " calls in ");
		fmt_dur_exact(f, b->window);
	}
	fmt_str(f, ", for ");
	fmt_dur_exact(f, b->open_for);
	if (b->max_open_for > b->open_for) {
		fmt_str(f, " to ");
		fmt_dur_exact(f, b->max_open_for);
	}
}

static void limits_row(struct out *o, struct source source, const struct policy *p)
{
	static const char *const layering[] = { "detect", "yield", "ignore" };
	char text[TEXT_MAX];
	struct fmt f;

	show_source(o, source);
	out_cell(o, p->name);
	out_cell(o, show_scope(p->budget.scope));
	fmt_init(&f, text, sizeof(text));
	show_budget(&f, &p->budget);
	fmt_end(&f);
	out_cell(o, text);
	fmt_init(&f, text, sizeof(text));
	show_breaker(&f, &p->breaker);
	fmt_end(&f);
	out_cell(o, text);
	out_cell_bool(o, p->coordinate);
	out_cell(o, layering[p->layering]);
}

/* An entry of "destinations" with an override has a policy of its own. */
static bool is_own(const struct config *c, const struct policy *p)
{
	for (unsigned i = 0; i < c->set.policy_count; i++)
		if (c->set.policies[i] == p)
			return false;
	return true;
}

void show_limits(struct out *o, const struct config *c)
{
	static const struct out_column columns[] = {
		{ NULL, "WHERE" }, { "file", NULL }, { "line", NULL }, { "policy", "POLICY" },
		{ "scope", "SCOPE" }, { "budget", "BUDGET" }, { "breaker", "BREAKER" },
		{ "coordinate", "COORDINATE" }, { "layering", "LAYERING" }
	};

	out_table(o, "limits", "what the callers of a destination have together:", columns,
	          ARRAY_LEN(columns));
	for (unsigned i = 0; i < c->set.policy_count; i++)
		limits_row(o, c->set.policies[i]->source, c->set.policies[i]);
	for (unsigned i = 0; i < c->set.rule_count; i++)
		if (is_own(c, c->set.rules[i].policy))
			limits_row(o, c->set.rules[i].source, c->set.rules[i].policy);
	out_table_end(o);
}
