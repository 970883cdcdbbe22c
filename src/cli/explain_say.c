/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/compat.h"
#include "cli/explain.h"
#include "cli/show.h"
#include "cli/why.h"
#include "config/diag.h"
#include "policy/match.h"

#define TEXT_MAX 2048

static void place(struct fmt *f, struct source s)
{
	if (!s.file)
		fmt_str(f, "built in");
	else
		diag_format(f, "%s:%u", s.file, s.line);
}

static const char *mode_word(enum mode mode)
{
	return mode == MODE_OBSERVE ? "observe" : "retry";
}

/* The answer in one line. */
static void say_verdict(struct out *o, const struct answer *a)
{
	const struct question *q = a->q;
	const char *why = NULL;
	char text[TEXT_MAX];
	struct fmt f;

	if (a->off)
		why = a->off;
	else if (!a->retried)
		why = a->error_why;
	out_member_bool(o, "retried", !why);
	out_member(o, "not_retried_because", why);
	fmt_init(&f, text, sizeof(text));
	diag_format(&f, "%s %s: ", op_name(q->op), q->text);
	if (q->error_name)
		diag_format(&f, "%s is ", q->error_name);
	if (why) {
		diag_format(&f, q->error_name ? "not retried (%s)" : "not retried: %s", why);
	} else if (a->once) {
		diag_format(&f, "retried once, at once (%s)", a->error_why);
	} else {
		const struct step *last = a->f.attempts > 1 ? &a->f.retry[a->f.attempts - 2] : NULL;

		if (q->error_name)
			diag_format(&f, "retried (%s), ", a->error_why);
		diag_format(&f, "%u attempts at most", a->f.attempts);
		if (last) {
			fmt_str(&f, "; if each fails at once, the last ");
			show_dur(&f, last->at_min, false);
			if (last->at_max != last->at_min) {
				fmt_str(&f, " to ");
				show_dur(&f, last->at_max, true);
			}
			fmt_str(&f, " after the first");
		}
	}
	fmt_end(&f);
	out_say(o, "%s", text);
}

static void say_config(struct out *o, const struct answer *a)
{
	char text[PATH_MAX + 64];

	in_use_members(o, &a->in_use);
	in_use_text(&a->in_use, text, sizeof(text));
	out_say(o, "configuration: %s", text);
	out_member_bool(o, "usable", !a->unusable);
	if (a->unusable) {
		out_say(o, "  it cannot be used, so the built-in policies hold "
		           "(\"libretry check\" tells all of it):");
		out_say(o, "  %s", a->fault);
	} else {
		in_use_files(o, a->c);
		if (a->c->unknown)
			out_say(o, "  it has unknown keys, which are ignored (\"libretry check\" tells "
			           "which)");
	}
}

static void say_program(struct out *o, const struct answer *a)
{
	const struct program_rule *p = a->program;
	unsigned count = a->c->set.program_count;
	char text[TEXT_MAX];
	struct fmt f;

	out_member(o, "exe", a->exe[0] ? a->exe : NULL);
	out_member(o, "program_file", p ? p->source.file : NULL);
	out_member_int(o, "program_line", p ? p->source.line : 0);
	out_member(o, "mode", mode_word(a->mode));
	if (!a->exe[0]) {
		if (count)
			out_say(o, "program: not said, and \"programs\" has %u entr%s (--exe)",
			        count, count == 1 ? "y" : "ies");
		return;
	}
	fmt_init(&f, text, sizeof(text));
	fmt_str(&f, a->exe);
	if (p) {
		fmt_str(&f, ", by the entry at ");
		place(&f, p->source);
		fmt_str(&f, p->enabled ? ": enabled" : ": enabled = false");
		if (p->mode_set)
			diag_format(&f, ", mode %s", mode_word(p->mode));
		if (p->policy)
			diag_format(&f, ", policy %s where no rule matches", p->policy->name);
	} else {
		fmt_str(&f, count ? ", which no entry of \"programs\" names" : "");
	}
	fmt_end(&f);
	out_say(o, "program: %s", text);
}

static void say_rule(struct out *o, const struct answer *a)
{
	const struct rule *r = a->rule;
	unsigned count = a->c->set.rule_count;
	char text[TEXT_MAX];
	struct fmt f;

	out_member(o, "rule_name", r ? r->name : NULL);
	out_member(o, "rule_file", r ? r->source.file : NULL);
	out_member_int(o, "rule_line", r ? r->source.line : 0);
	out_member_bool(o, "depends_on_address", a->on_address);
	fmt_init(&f, text, sizeof(text));
	if (r) {
		place(&f, r->source);
		if (r->name)
			diag_format(&f, " %q", r->name);
		fmt_char(&f, ':');
		show_conditions(&f, r);
	} else {
		fmt_str(&f, count ? "none matches" : "there are none");
	}
	fmt_end(&f);
	out_say(o, "rule: %s", text);
	if (a->on_address)
		out_say(o, "  this depends on the address of %s: a rule before it names addresses "
		           "(say --addr=ADDRESS)", a->d.host);
}

static void say_policy(struct out *o, const struct answer *a)
{
	const struct policy *p = a->policy;
	const struct policy *base = config_policy(a->c, p->name);
	char text[TEXT_MAX];
	struct fmt f;

	out_member(o, "policy", p->name);
	out_member(o, "policy_file", p->source.file);
	out_member_int(o, "policy_line", p->source.file ? p->source.line : 0);
	out_member(o, "policy_from", a->policy_from);
	fmt_init(&f, text, sizeof(text));
	diag_format(&f, "%s, %s; ", p->name, a->policy_from);
	if (base && base != p) {
		place(&f, base->source);
		fmt_str(&f, ", with the override at ");
	}
	place(&f, p->source);
	fmt_end(&f);
	out_say(o, "policy: %s", text);
	fmt_init(&f, text, sizeof(text));
	show_errors(&f, &p->retry);
	fmt_end(&f);
	out_member(o, "retry_on", text);
	if (p->max_attempts > 1)
		out_say(o, "  retries %s", text[0] ? text : "nothing");
}

static void say_error(struct out *o, const struct answer *a)
{
	if (!a->q->error_name)
		return;
	out_member(o, "error", a->q->error_name);
	out_member_bool(o, "error_retried", a->retried);
	out_member(o, "error_why", a->error_why);
	if (a->off)
		out_say(o, "%s: %s otherwise (%s)", a->q->error_name,
		        a->retried ? "would be retried" : "would not be retried",
		        a->error_why);
}

static void say_tried(struct out *o, const struct answer *a)
{
	static const struct out_column columns[] = {
		{ NULL, "WHERE" }, { "file", NULL }, { "line", NULL }, { "name", "NAME" },
		{ "policy", "POLICY" }, { "why_not", "WHY-NOT" }
	};

	out_table(o, "tried", a->rule ? "rules tried before it:" : "rules tried:", columns,
	          ARRAY_LEN(columns));
	for (unsigned i = 0; i < a->tried; i++) {
		const struct rule *r = &a->c->set.rules[i];
		char text[TEXT_MAX];
		bool on_address;
		struct fmt f;

		fmt_init(&f, text, sizeof(text));
		place(&f, r->source);
		fmt_end(&f);
		out_cell(o, text);
		out_cell(o, r->source.file);
		out_cell_int(o, r->source.line);
		out_cell(o, r->name);
		out_cell(o, r->policy->name);
		fmt_init(&f, text, sizeof(text));
		why_no_match(r, &a->d, &f, &on_address);
		fmt_end(&f);
		out_cell(o, text);
	}
	out_table_end(o);
}

static void say_places(struct out *o, const struct answer *a)
{
	static const struct out_column columns[] = { { "place", NULL } };
	const struct rule *r = a->q->op == OP_CONNECT ? a->rule : NULL;
	char text[TEXT_MAX];
	struct fmt f;

	out_member(o, "redirect", r && r->redirect ? r->redirect->text : NULL);
	out_member_int(o, "fallback_after", r && r->fallback_count ? r->fallback_after : 0);
	out_table(o, "fallback", NULL, columns, ARRAY_LEN(columns));
	fmt_init(&f, text, sizeof(text));
	for (unsigned i = 0; r && i < r->fallback_count; i++) {
		if (o->json)
			out_cell(o, r->fallback[i].text);
		diag_format(&f, i ? ", then %s" : "%s", r->fallback[i].text);
	}
	if (o->json)
		out_table_end(o);
	fmt_end(&f);
	if (r && r->redirect)
		out_say(o, "redirect: connects go to %s from the first attempt on",
		        r->redirect->text);
	if (r && r->fallback_count)
		out_say(o, "fallback: after %u failed attempt%s to %s, then here again",
		        r->fallback_after, r->fallback_after == 1 ? "" : "s", text);
	if (r && r->plain)
		out_say(o, "  (not in a process that has also looked the address up under a name "
		           "that the rule does not hold for)");
}

static void say_stale(struct out *o, const struct answer *a)
{
	int64_t oldest = a->policy->stale_dns;
	char text[32];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	fmt_dur_exact(&f, oldest);
	fmt_end(&f);
	out_member(o, "stale_dns", oldest == DUR_NONE ? NULL : text);
	if (oldest != DUR_NONE && a->q->op == OP_LOOKUP && a->mode == MODE_RETRY && !a->inert)
		out_say(o, "stale_dns: getaddrinfo that ends with EAI_AGAIN answers with what this "
		           "process was answered at most %s ago", text);
}

static void say_notes(struct out *o, const struct answer *a)
{
	bool local = a->d.addr && a->d.addr->family == AF_UNIX;
	enum nonblocking n = a->policy->nonblocking;

	if (a->off || o->json || a->q->op == OP_LOOKUP || a->d.proto == PROTO_UDP)
		return;
	if (a->q->op == OP_CONNECT && local && !(a->rule && rule_names_dest(a->rule)))
		out_say(o, "note: a non-blocking connect that fails at once goes back to the "
		           "program, since no rule names the path");
	else if (n != NONBLOCKING_DEFERRED)
		out_say(o, "note: a non-blocking connect %s", n == NONBLOCKING_BLOCK
		                   ? "waits, retries included (nonblocking = \"block\")"
		                   : "is not retried (nonblocking = \"observe\")");
	if (a->d.host && a->policy->address_walk == WALK_DETECT)
		out_say(o, "note: if %s has several addresses, a failure goes straight back while "
		           "another one could answer (address_walk)", a->d.host);
	if (!a->d.host && !local && a->c->set.rule_count)
		out_say(o, "note: if the program has looked up a name for this address, rules by "
		           "that name hold: ask for it, with --addr");
}

void explain_say(struct out *o, const struct answer *a)
{
	out_member(o, "destination", a->q->text);
	out_member(o, "op", op_name(a->q->op));
	say_verdict(o, a);
	say_config(o, a);
	say_program(o, a);
	say_rule(o, a);
	say_policy(o, a);
	say_error(o, a);
	say_places(o, a);
	explain_guards(o, a);
	say_stale(o, a);
	say_notes(o, a);
	say_tried(o, a);
	show_environment(o, &a->env, a->rejected);
	explain_times(o, a);
}
