/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "base/compat.h"
#include "cli/explain.h"
#include "cli/show.h"
#include "config/diag.h"

/* People see so many lines of a long series: the first ones, and the end. */
#define SHOWN_FIRST 10
#define SHOWN_LAST 2

/* From that many calls per request on there is a warning. */
#define CALLS_MANY 10

static void cell_dur(struct out *o, int64_t ns, bool up)
{
	char text[48];
	struct fmt f;

	if (o->json) {
		out_cell_duration(o, ns);
		out_cell_int(o, ns == DUR_NONE ? -1 : ns);
		return;
	}
	fmt_init(&f, text, sizeof(text));
	show_dur(&f, ns, up);
	fmt_end(&f);
	out_cell(o, text);
	out_cell(o, NULL);
}

static void cell_range(struct out *o, int64_t low, int64_t high)
{
	char text[100];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	show_dur(&f, low, false);
	if (high != low) {
		fmt_str(&f, " to ");
		show_dur(&f, high, true);
	}
	fmt_end(&f);
	out_cell(o, text);
}

static void cell_step(struct out *o, const struct step *s)
{
	static const struct step none = { 0, 0, 0, 0 };

	if (s)
		cell_range(o, s->wait_min, s->wait_max);
	else
		out_cell(o, NULL);
	if (!s)
		s = &none;
	cell_range(o, s->at_min, s->at_max);
	if (!o->json) {
		for (unsigned i = 0; i < 8; i++)
			out_cell(o, NULL);
		return;
	}
	cell_dur(o, s->wait_min, false);
	cell_dur(o, s->wait_max, false);
	cell_dur(o, s->at_min, false);
	cell_dur(o, s->at_max, false);
}

static void say_calls(struct out *o, const struct answer *a)
{
	static const struct out_column columns[] = {
		{ "attempt", "ATTEMPT" }, { NULL, "WAIT-BEFORE" }, { NULL, "CALL-AT" },
		{ "wait_min", NULL }, { "wait_min_ns", NULL }, { "wait_max", NULL },
		{ "wait_max_ns", NULL }, { "at_min", NULL }, { "at_min_ns", NULL },
		{ "at_max", NULL }, { "at_max_ns", NULL }
	};
	const struct forecast *f = &a->f;
	bool all = o->json || f->attempts <= SHOWN_FIRST + SHOWN_LAST + 1;

	if (!o->json && f->attempts == 1)
		return;
	out_table(o, "calls", "when each attempt begins, if the ones before fail at once:",
	          columns, ARRAY_LEN(columns));
	for (unsigned n = 0; n < f->attempts; n++) {
		if (!all && n == SHOWN_FIRST) {
			out_cell(o, "...");
			for (unsigned i = 1; i < ARRAY_LEN(columns); i++)
				out_cell(o, i < 3 ? "..." : NULL);
			n = f->attempts - SHOWN_LAST;
		}
		out_cell_int(o, n + 1);
		cell_step(o, n ? &f->retry[n - 1] : NULL);
	}
	out_table_end(o);
}

/* Under the table: where its figures come from. */
static void say_formula(struct out *o, const struct answer *a)
{
	const struct backoff *b = &a->policy->backoff;
	char text[256];
	struct fmt f;

	if (a->f.attempts <= 1 || a->once)
		return;
	fmt_init(&f, text, sizeof(text));
	if (b->schedule_len) {
		diag_format(&f, "schedule of %u waits", b->schedule_len);
	} else {
		fmt_str(&f, a->how.local ? "base_delay_local " : "base_delay ");
		fmt_dur_exact(&f, a->how.local ? b->base_local : b->base);
		fmt_str(&f, ", multiplier ");
		fmt_ppm(&f, b->multiplier);
		fmt_str(&f, ", max_delay ");
		fmt_dur_exact(&f, b->max);
	}
	fmt_str(&f, ", jitter ");
	show_jitter(&f, b);
	fmt_str(&f, b->cap == CAP_HARD ? ", cap hard" : ", cap soft");
	if (b->first_immediate && !a->how.local)
		fmt_str(&f, ", first_retry immediate");
	fmt_end(&f);
	out_say(o, "(%s)", text);
	if (a->f.attempts < a->policy->max_attempts)
		out_say(o, "(attempt %u and later would begin after the deadline)",
		        a->f.attempts + 1);
}

static void why_attempt(struct fmt *f, const struct answer *a)
{
	const struct resolver_limits *r = &a->resolver;

	if (a->f.cut) {
		fmt_str(f, "attempt_timeout ends each");
	} else if (a->d.addr && a->d.addr->family == AF_UNIX) {
		fmt_str(f, "a listener whose queue is full is waited for");
	} else if (a->q->op == OP_LOOKUP) {
		diag_format(f, "no name server answers: %u, timeout %us, %u rounds", r->servers,
		            r->timeout, r->attempts);
		if (r->searches)
			fmt_str(f, ", twice for the search list");
		if (a->policy->dns_attempt_timeout != DUR_NONE)
			fmt_str(f, " (dns_attempt_timeout)");
	} else {
		diag_format(f, "nobody answers: the kernel sends %u more SYNs", a->syns);
		if (a->syn.user_timeout)
			fmt_str(f, " (socket.user_timeout)");
		else if (a->policy->socket.syn_count)
			fmt_str(f, " (socket.syn_count)");
		else
			fmt_str(f, " (net.ipv4.tcp_syn_retries)");
	}
}

static void part(struct out *o, const char *name, int64_t ns, const char *why)
{
	out_cell(o, name);
	cell_dur(o, ns, true);
	out_cell(o, why);
}

/* What the deadline does to attempts. */
static const char *deadline_text(const struct answer *a)
{
	if (!a->how.cuts)
		return "no wait is begun that would end after it; an attempt is not cut";
	if (a->how.first_free && !a->f.cut)
		return "for waits and attempts, but for the first; the last one is cut there";
	return "for waits and attempts; the last one is cut there";
}

static const char *total_text(const struct answer *a)
{
	const struct forecast *f = &a->f;

	if (f->total == DUR_NONE)
		return "as long as that attempt";
	if (!f->by_deadline)
		return "all waits, and every attempt";
	if (a->how.parks)
		return a->how.cuts && !a->how.first_free
		               ? "the deadline: attempts wait for others'"
		               : "the deadline, as attempts wait for others', and one attempt";
	if (!a->how.cuts)
		return "the deadline, and one attempt";
	return f->total > a->policy->deadline ? "the first attempt; the deadline does not cut it"
	                                      : "the deadline";
}

static void say_worst(struct out *o, const struct answer *a)
{
	static const struct out_column columns[] = {
		{ "part", "PART" }, { "time", "TIME" }, { "time_ns", NULL }, { "why", "WHY" }
	};
	const struct forecast *f = &a->f;
	bool retries = (!a->how.once && a->policy->max_attempts > 1) ||
	               (a->how.parks && a->how.first_free);
	char text[256];
	struct fmt why;

	if (a->d.proto == PROTO_UDP && !a->f.waits)
		return;
	out_table(o, "worst_case", "worst case:", columns, ARRAY_LEN(columns));
	fmt_init(&why, text, sizeof(text));
	why_attempt(&why, a);
	fmt_end(&why);
	part(o, "one attempt", f->attempt, text);
	if (retries) {
		part(o, "all waits", f->waits, "each at its longest");
		if (a->policy->deadline == DUR_NONE)
			part(o, "deadline", DUR_NONE, "there is none");
		else
			part(o, "deadline", a->policy->deadline, deadline_text(a));
		part(o, "in all", f->total, total_text(a));
	}
	out_table_end(o);
	if (a->d.host && a->q->op == OP_CONNECT && !o->json) {
		fmt_init(&why, text, sizeof(text));
		show_dur(&why, a->lookup, true);
		fmt_end(&why);
		out_say(o, "(the look-up of %s before it is an operation of its own, %s for each "
		           "of its attempts: --op lookup)", a->d.host, text);
	}
}

/* What the budget makes of many requests: <times> calls of each come here. */
static void say_budgeted(struct out *o, const struct answer *a, uint64_t times)
{
	const struct budget *b = &a->policy->budget;
	uint64_t floor = (uint64_t)explain_floor(b);
	bool alone = b->scope == SCOPE_PROCESS;
	char each[48], time[32];
	int64_t calls;
	struct fmt f;

	if (a->f.attempts <= 1 || b->kind != BUDGET_RATIO ||
	    __builtin_mul_overflow((int64_t)times, PPM + b->ratio, &calls) ||
	    calls >= (int64_t)a->f.attempts * (int64_t)times * PPM)
		return;
	out_member_real(o, "calls_per_request_of_many", (double)calls / (double)PPM, 6);
	fmt_init(&f, each, sizeof(each));
	fmt_ppm(&f, calls);
	fmt_end(&f);
	fmt_init(&f, time, sizeof(time));
	fmt_dur_exact(&f, b->ttl);
	fmt_end(&f);
	out_say(o, "  of many requests: %s each, and %" PRIu64 " calls besides in %s%s (budget)",
	        each, floor, time, alone ? " for each process" : "");
	if (a->q->replicas && alone)
		out_say(o, "  the %u replicas have a budget each: %" PRIu64 " calls besides in all "
		           "(scope)", a->q->replicas, floor * a->q->replicas);
}

static void say_amplification(struct out *o, const struct answer *a)
{
	const struct question *q = a->q;
	uint64_t calls = amplify(a->f.attempts, q->outer, q->outer_count);
	uint64_t all = q->replicas ? amplify((unsigned)q->replicas, q->outer, q->outer_count) : 0;
	char text[256];
	struct fmt f;

	all = all && !__builtin_mul_overflow(all, (uint64_t)a->f.attempts, &all) ? all : 0;
	out_member_int(o, "calls_per_request", (int64_t)calls);
	out_member_bool(o, "calls_warning", calls >= CALLS_MANY);
	if (q->replicas)
		out_member_int(o, "calls_of_replicas", (int64_t)all);
	fmt_init(&f, text, sizeof(text));
	for (unsigned i = 0; i < q->outer_count; i++)
		diag_format(&f, " x %u", q->outer[i]);
	fmt_end(&f);
	out_say(o, "%s", "");
	if (q->outer_count)
		out_say(o, "calls per request at most: %" PRIu64 " (%u attempts here%s of the "
		           "layers outside)", calls, a->f.attempts, text);
	else
		out_say(o, "calls per request at most: %" PRIu64, calls);
	if (q->replicas)
		out_say(o, "  %u replicas with one request each make %" PRIu64 " calls for %u "
		           "requests: still %" PRIu64 "-fold per request", q->replicas, all,
		        q->replicas, calls);
	say_budgeted(o, a, amplify(1, q->outer, q->outer_count));
	if (calls >= CALLS_MANY)
		out_say(o, "  warning: %u or more; let one layer retry, and the others fail fast",
		        CALLS_MANY);
}

static void say_grace(struct out *o, const struct answer *a)
{
	bool holds = explain_grace_holds(a);
	bool attempt = a->stop > STOP_WAITS;
	char stop[48], grace[48];
	struct fmt f;

	if (a->q->grace == DUR_NONE)
		return;
	fmt_init(&f, stop, sizeof(stop));
	show_dur(&f, a->stop, true);
	fmt_end(&f);
	fmt_init(&f, grace, sizeof(grace));
	fmt_dur_exact(&f, a->q->grace);
	fmt_end(&f);
	out_member(o, "stop_max", stop);
	out_member_int(o, "stop_max_ns", a->stop == DUR_NONE ? -1 : a->stop);
	out_member_bool(o, "stop_on_sigterm", a->stop_on_term);
	out_member_bool(o, "grace_holds", holds);
	out_say(o, "%s", "");
	out_say(o, "stop by SIGTERM: at most %s; the %s given %s", stop, grace,
	        holds ? "suffice" : "do not suffice");
	if (!a->off && a->stop_on_term)
		out_say(o, "  waits: end within 100ms, and nothing is tried again (stop_on)");
	else if (!a->off)
		out_say(o, "  waits: SIGTERM is not in stop_on, so the retries go on unless a "
		           "handler without SA_RESTART runs in the same thread");
	if (attempt)
		out_say(o, "  an attempt under way goes on as it would without libretry, if the "
		           "handler has SA_RESTART or runs in another thread");
	if (!holds && !a->f.cut && a->q->op != OP_LOOKUP && !a->off)
		out_say(o, "  attempt_timeout would end it earlier");
	if (!holds && a->lookup > a->f.attempt)
		out_say(o, "  the longest is the look-up of %s; dns_attempt_timeout bounds it",
		        a->d.host);
	if (a->stop_fallback)
		out_say(o, "  names of fallback are looked up with signals held back");
	out_say(o, "  (a program that does not catch SIGTERM ends at once)");
}

void explain_times(struct out *o, const struct answer *a)
{
	out_member_int(o, "attempts", a->f.attempts);
	say_calls(o, a);
	say_formula(o, a);
	say_worst(o, a);
	say_amplification(o, a);
	say_grace(o, a);
}
