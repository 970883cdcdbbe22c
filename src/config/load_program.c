/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "config/loader.h"

struct program_reading {
	struct loader *ld;
	struct program_rule *rule;
	bool has_exe;
};

static const char *check_exe(const struct node *n, const char *text)
{
	if (!*text) {
		node_fault(n, DIAG_ERROR, "is empty (a path or a pattern such as \"*/backup-*\")");
		return NULL;
	}
	if (strchr(text, '/') && *text != '/' && !strchr("*?[", *text))
		node_fault(n, DIAG_WARNING,
		           "can never match: programs are known by their absolute path (begin with "
		           "\"/\" or \"*\")");
	return text;
}

static void read_custom(void *ctx, const struct node *n, const struct key *k, void *target)
{
	struct program_reading *p = ctx;
	struct pol *pol;

	(void)target;
	if (strcmp(k->name, "exe") == 0) {
		p->rule->exe_count = cond_texts(n, &p->rule->exes, check_exe);
		p->has_exe = true;
		return;
	}
	pol = pol_named(p->ld, n);
	p->rule->policy = pol ? &pol->p : NULL;
}

static void read_one(struct loader *ld, const struct node *n)
{
	struct program_rule *r = &ld->programs[ld->program_count];
	struct program_reading p = { .ld = ld, .rule = r };
	struct node mode;

	memset(r, 0, sizeof(*r));
	r->source = node_source(n);
	r->enabled = true;
	group_read(n, PLACE_PROGRAM, r, read_custom, &p);
	r->mode_set = node_member(n, "mode", &mode);
	if (node_is_group(n) && !p.has_exe)
		node_say(n, DIAG_ERROR, "exe is missing (which program the entry is for)");
	ld->program_count++;
}

void programs_read(struct loader *ld, const struct unit *u)
{
	const struct load_limit limit = { &ld->program_count, LOAD_PROGRAMS_MAX, "programs" };

	load_list(ld, u->programs, &limit, read_one);
}
