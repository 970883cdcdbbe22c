/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/compat.h"
#include "cli/destarg.h"
#include "cli/show.h"
#include "cli/suggest.h"
#include "config/diag.h"
#include "policy/classify.h"

#define TEXT_MAX 1024

/* Below so many outages it is said that they are few; from FAIR on it is not. */
#define FEW 5
#define FAIR 20

#define WIDTH 86

static void dur(char *text, size_t size, int64_t ns)
{
	struct fmt f;

	fmt_init(&f, text, size);
	show_dur(&f, ns, false);
	fmt_end(&f);
}

/* A paragraph of comment lines, for people. */
static void __attribute__((format(printf, 3, 4)))
say(struct out *o, const char *indent, const char *format, ...)
{
	char text[TEXT_MAX], line[WIDTH + 1];
	size_t used = 0;
	va_list args;

	if (o->json)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (const char *at = text; *at;) {
		size_t word = strcspn(at, " ");

		if (used && used + 1 + word > WIDTH - strlen(indent)) {
			out_say(o, "#%s%.*s", indent, (int)used, line);
			used = 0;
		}
		if (used)
			line[used++] = ' ';
		/* A path may be longer than a line. */
		if (word > WIDTH - used)
			word = WIDTH - used;
		memcpy(line + used, at, word);
		used += word;
		at += word;
		at += strspn(at, " ");
	}
	out_say(o, "#%s%.*s", indent, (int)used, line);
}

static double percent(double share)
{
	/* Never rounded up to all. */
	return floor(share * 1000) / 10;
}

static void say_source(struct out *o, const struct suggest *s)
{
	const struct seen *seen = &s->seen;
	char first[40], last[40];
	struct fmt f;

	out_member(o, "source", s->path);
	out_member(o, "kind", s->timeline ? "timeline" : "log");
	if (s->timeline) {
		say(o, " ", "%s: a timeline", s->path);
		return;
	}
	fmt_init(&f, first, sizeof(first));
	fmt_utc(&f, seen->first / DUR_S, seen->first % DUR_S);
	fmt_end(&f);
	fmt_init(&f, last, sizeof(last));
	fmt_utc(&f, seen->last / DUR_S, seen->last % DUR_S);
	fmt_end(&f);
	out_member(o, "first", first);
	out_member(o, "last", last);
	out_member_int(o, "lines", (int64_t)seen->lines);
	out_member_int(o, "suppressed_lines", (int64_t)seen->suppressed);
	out_member_int(o, "injected_failures", (int64_t)seen->injected);
	say(o, " ", "%s: %lu lines of libretry's, %s to %s", s->path,
	    (unsigned long)seen->lines, first, last);
	if (s->damaged)
		say(o, " ", "Lines that could not be read were left out.");
	if (seen->suppressed)
		say(o, " ", "%lu lines were held back when it was written (log.burst), so "
		    "outages may look shorter than they were.",
		    (unsigned long)seen->suppressed);
	if (seen->injected)
		say(o, " ", "%lu failures were injected on purpose: they are in the figures.",
		    (unsigned long)seen->injected);
}

static const char *title(const struct suggest *s, const struct suggestion *g)
{
	return s->timeline ? "the destination" : g->dest->dest;
}

static void say_outages(struct out *o, const struct suggest *s, const struct suggestion *g)
{
	char shortest[48], median[48], longest[48], down[48];
	size_t n = g->counted;

	dur(shortest, sizeof(shortest), g->shortest);
	dur(median, sizeof(median), g->median);
	dur(longest, sizeof(longest), g->longest);
	dur(down, sizeof(down), g->down);
	out_say(o, "#");
	if (n == 1)
		say(o, " ", "%s: 1 outage of %s", title(s, g), longest);
	else
		say(o, " ", "%s: %zu outages of %s to %s (median %s), down for %s in all",
		    title(s, g), n, shortest, longest, median, down);
	if (g->open == g->dest->count)
		say(o, "   ", "No end was seen%s: recoveries are logged only of calls that "
		    "were retried. So %s lasted at least so long, and what follows is "
		    "too good.", n == 1 ? "" : " of any", n == 1 ? "it" : "each");
	else if (g->open)
		say(o, "   ", "The end of %zu of them was not seen: they lasted at least so "
		    "long, and what follows is a little too good.", g->open);
}

static void say_sure(struct out *o, const struct suggest *s, const struct suggestion *g)
{
	const struct advice *a = &g->advice;
	size_t n = g->counted;
	char within[48];

	dur(within, sizeof(within), s->within);
	if (n == 1)
		say(o, "   ", "How sure: not at all. One outage is an anecdote; this is a guess "
		    "to start with.");
	else if (n < FEW)
		say(o, "   ", "How sure: little. %zu outages are few; this is a guess to start "
		    "with.", n);
	else
		say(o, "   ", "How sure: %s, by %zu outages. Others like these would give "
		    "%.1f to %.1f %% (95 %% of resamplings).",
		    n < FAIR ? "roughly" : "fairly", n, percent(a->low),
		    percent(a->high));
	say(o, "   ", "If they go on to come like this, the next one is longer than all of "
	    "these with a chance of 1 in %zu.", n + 1);
	if (a->beyond)
		say(o, "   ", "%zu outage%s longer than %s (--within): waiting is no cure for "
		    "%s. The search left %s out, the figures did not.", a->beyond,
		    a->beyond == 1 ? " was" : "s were", within,
		    a->beyond == 1 ? "it" : "them", a->beyond == 1 ? "it" : "them");
	if (!a->reached)
		say(o, "   ", "No policy reaches %.4g %% within %s: this one comes nearest.",
		    s->target * 100, within);
}

/* Of all calls at a steady pace, in per cent. */
static double overall(double down, double span, double success)
{
	return floor((1 - down / span * (1 - success)) * 1e5) / 1e3;
}

static void say_result(struct out *o, const struct suggest *s, const struct suggestion *g)
{
	const struct advice *a = &g->advice;
	double span = s->timeline ? (double)s->seen.last : (double)(s->seen.last - s->seen.first);
	char late[48], longest[48], latency[48], within[48];

	dur(latency, sizeof(latency), g->latency);
	dur(within, sizeof(within), s->within);
	if (!g->possible) {
		say(o, "   ", "All of them are longer than %s (--within): waiting is no cure, so "
		    "nothing is suggested.", within);
		return;
	}
	say(o, "   ", "Of calls that begin while it is down %.1f %% would succeed (%.1f %% by "
	    "the built-in default), with %.1f attempts each.", percent(a->found.success),
	    percent(a->usual.success), a->found.calls);
	if (span > (double)g->down)
		say(o, "   ", "Of all calls in that time: %.3f %%; without retries %.3f %%.",
		    overall((double)g->down, span, a->found.success),
		    overall((double)g->down, span, 0));
	if (a->found.success > 0) {
		dur(late, sizeof(late), (int64_t)(a->found.late_ms * (double)DUR_MS));
		dur(longest, sizeof(longest), (int64_t)(a->found.longest_ms * (double)DUR_MS));
		say(o, "   ", "They would be done %s after the end of the outage on average; "
		    "95 %% of them take at most %s.", late, longest);
	}
	say(o, "   ", "A failed attempt was taken to last %s.", latency);
	if (s->latency == DUR_NONE && g->latency >= DUR_S)
		say(o, "   ", "That is long: attempt_timeout would end it earlier. Try it: "
		    "--latency=3s");
	say_sure(o, s, g);
}

static void fmt_retry_on(struct fmt *f, const struct err_set *seen)
{
	struct err_set set = err_set_default();
	struct err_set usual = set;
	char words[TEXT_MAX];
	struct fmt w;

	for (size_t i = 0; i < ARRAY_LEN(set.errnos); i++)
		set.errnos[i] |= seen->errnos[i];
	set.eais |= seen->eais;
	if (memcmp(&set, &usual, sizeof(set)) == 0)
		return;
	fmt_init(&w, words, sizeof(words));
	show_errors(&w, &set);
	fmt_end(&w);
	fmt_str(f, " retry_on = [ \"");
	for (const char *c = words; *c; c++) {
		if (*c == ',')
			fmt_str(f, "\", \"");
		else
			fmt_char(f, *c);
	}
	fmt_str(f, "\" ];");
}

static void say_policy(struct out *o, const struct suggest *s, const struct suggestion *g)
{
	const struct policy *p = &g->advice.policy;
	char text[TEXT_MAX];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	diag_format(&f, "base_delay = \"%t\"; max_delay = \"%t\"; max_attempts = %u; "
	                "deadline = \"%t\";", p->backoff.base, p->backoff.max, p->max_attempts,
	            p->deadline);
	if (s->latency != DUR_NONE && !s->timeline && s->latency < g->dest->elapsed)
		diag_format(&f, " attempt_timeout = \"%t\";", s->latency);
	fmt_retry_on(&f, &g->dest->errors);
	fmt_end(&f);
	out_say(o, "  %s = { %s };", g->name, text);
}

/* The conditions of the rule, as far as what was logged tells them. */
static void say_rule(struct out *o, const struct suggestion *g, bool last)
{
	struct dest_arg d;
	const char *why;
	char text[TEXT_MAX], ip[ADDR_TEXT_MAX];
	struct fmt f, a;

	if (!dest_arg_parse(&d, g->dest->dest, &why))
		return;
	fmt_init(&a, ip, sizeof(ip));
	addr_fmt_ip(&a, &d.addr);
	fmt_end(&a);
	fmt_init(&f, text, sizeof(text));
	if (d.name[0])
		diag_format(&f, "host = %q;", d.name);
	else
		diag_format(&f, d.addr.family == AF_UNIX ? "unix = %q;" : "addr = %q;", ip);
	if (d.port >= 0)
		diag_format(&f, " port = \"%u\";", (unsigned)d.port);
	fmt_end(&f);
	out_say(o, "  { %s policy = \"%s\"; }%s", text, g->name, last ? "" : ",");
}

static void say_block(struct out *o, const struct suggest *s, const struct suggestion *list,
                      size_t count)
{
	size_t last = count;

	for (size_t i = 0; i < count; i++)
		last = list[i].possible ? i : last;
	if (last == count || o->json)
		return;
	out_say(o, "%s", "");
	out_say(o, "version = 1;");
	out_say(o, "policies:");
	out_say(o, "{");
	for (size_t i = 0; i < count; i++)
		if (list[i].possible)
			say_policy(o, s, &list[i]);
	out_say(o, "};");
	if (s->timeline)
		return;
	out_say(o, "destinations = (");
	for (size_t i = 0; i < count; i++)
		if (list[i].possible)
			say_rule(o, &list[i], i == last);
	out_say(o, ");");
}

static void json_suggestions(struct out *o, const struct suggest *s,
                             const struct suggestion *list, size_t count)
{
	static const struct out_column columns[] = {
		{ "dest", NULL }, { "outages", NULL }, { "open", NULL }, { "beyond", NULL },
		{ "shortest", NULL }, { "median", NULL }, { "longest", NULL }, { "down", NULL },
		{ "possible", NULL }, { "policy", NULL }, { "base_delay", NULL },
		{ "max_delay", NULL }, { "max_attempts", NULL }, { "deadline", NULL },
		{ "success", NULL }, { "success_low", NULL }, { "success_high", NULL },
		{ "success_default", NULL }, { "attempts", NULL }, { "late_ms", NULL },
		{ "reached", NULL }
	};

	out_table(o, "suggestions", NULL, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < count; i++) {
		const struct suggestion *g = &list[i];
		const struct advice *a = &g->advice;

		out_cell(o, s->timeline ? NULL : g->dest->dest);
		out_cell_int(o, (int64_t)g->counted);
		out_cell_int(o, (int64_t)g->open);
		out_cell_int(o, (int64_t)a->beyond);
		out_cell_duration(o, g->shortest);
		out_cell_duration(o, g->median);
		out_cell_duration(o, g->longest);
		out_cell_duration(o, g->down);
		out_cell_bool(o, g->possible);
		out_cell(o, g->possible ? g->name : NULL);
		out_cell_duration(o, a->policy.backoff.base);
		out_cell_duration(o, a->policy.backoff.max);
		out_cell_int(o, a->policy.max_attempts);
		out_cell_duration(o, a->policy.deadline);
		out_cell_real(o, g->possible ? a->found.success : NAN, 4);
		out_cell_real(o, g->possible ? a->low : NAN, 4);
		out_cell_real(o, g->possible ? a->high : NAN, 4);
		out_cell_real(o, g->possible ? a->usual.success : NAN, 4);
		out_cell_real(o, g->possible ? a->found.calls : NAN, 2);
		out_cell_real(o, g->possible ? a->found.late_ms : NAN, 1);
		out_cell_bool(o, a->reached);
	}
	out_table_end(o);
}

static void json_outages(struct out *o, const struct suggestion *list, size_t count)
{
	static const struct out_column columns[] = {
		{ "dest", NULL }, { "start", NULL }, { "length", NULL }, { "length_ns", NULL },
		{ "open", NULL }, { "failures", NULL }
	};

	out_table(o, "outages", NULL, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < count; i++) {
		const struct dest_seen *d = list[i].dest;

		for (size_t n = 0; n < d->count; n++) {
			const struct outage_seen *one = &d->list[n];
			char start[40];
			struct fmt f;

			fmt_init(&f, start, sizeof(start));
			fmt_utc(&f, one->start / DUR_S, one->start % DUR_S);
			fmt_end(&f);
			out_cell(o, d->dest);
			out_cell(o, start);
			out_cell_duration(o, one->end - one->start);
			out_cell_int(o, one->end - one->start);
			out_cell_bool(o, one->open);
			out_cell_int(o, one->failures);
		}
	}
	out_table_end(o);
}

void suggest_say(struct out *o, const struct suggest *s, const struct suggestion *list,
                 size_t count)
{
	say_source(o, s);
	for (size_t i = 0; i < count; i++) {
		say_outages(o, s, &list[i]);
		say_result(o, s, &list[i]);
	}
	say_block(o, s, list, count);
	if (!o->json)
		return;
	json_suggestions(o, s, list, count);
	if (!s->timeline)
		json_outages(o, list, count);
}
