/* SPDX-License-Identifier: MIT */
/* What those who call a destination know together, and how it changes what happens. */
#include <inttypes.h>
#include <string.h>

#include "base/compat.h"
#include "cli/explain.h"
#include "cli/show.h"
#include "config/diag.h"
#include "policy/budget.h"
#include "policy/pace.h"
#include "state/layers.h"

#define TEXT_MAX 256

/* Whether anything is asked of it at all: not by who only watches. */
static bool acts(const struct answer *a)
{
	return a->mode == MODE_RETRY && !a->inert;
}

static void who_shares(struct fmt *f, const struct answer *a)
{
	int64_t group = a->c->process.host_group;

	switch (a->policy->budget.scope) {
	case SCOPE_PROCESS:
		fmt_str(f, "the threads of one process");
		return;
	case SCOPE_HOST:
		if (group >= 0) {
			fmt_str(f, "the programs of group ");
			fmt_i64(f, group);
			return;
		}
		fmt_str(f, "all programs of a user (process.host_group is not set)");
		return;
	case SCOPE_USER:
		fmt_str(f, "all programs of a user");
	}
}

static void say_bound(struct out *o, const struct answer *a)
{
	const struct budget *b = &a->policy->budget;
	char who[TEXT_MAX], each[32], time[32];
	struct fmt f;

	if (a->f.attempts <= 1)
		return;
	fmt_init(&f, who, sizeof(who));
	who_shares(&f, a);
	fmt_end(&f);
	if (b->kind == BUDGET_TOKENS) {
		out_say(o, "  %u retries (%u after time-outs) by %s; then one for each %u calls (%u) "
		           "that succeed at once", BUDGET_TOKENS_MAX / budget_cost(CLASS_REFUSED),
		        BUDGET_TOKENS_MAX / budget_cost(CLASS_TIMEOUT), who,
		        budget_cost(CLASS_REFUSED), budget_cost(CLASS_TIMEOUT));
	} else {
		fmt_init(&f, each, sizeof(each));
		fmt_ppm(&f, b->ratio);
		fmt_end(&f);
		fmt_init(&f, time, sizeof(time));
		fmt_dur_exact(&f, b->ttl);
		fmt_end(&f);
		out_say(o, "  in %s at most %s retries for each call, and %" PRIu64 " besides, by %s",
		        time, each, (uint64_t)explain_floor(b), who);
	}
	out_say(o, "  where it is used up a failure goes straight to the program "
	           "(reason=budget)");
}

/* How many retries it gives whatever the calls were; for BUDGET_RATIO. */
int64_t explain_floor(const struct budget *b)
{
	int64_t retries;

	if (__builtin_mul_overflow((int64_t)b->min_retries_per_second, b->ttl, &retries))
		return INT64_MAX / DUR_S;
	return retries / DUR_S;
}

static void say_budget(struct out *o, const struct answer *a)
{
	const struct budget *b = &a->policy->budget;
	bool ratio = b->kind == BUDGET_RATIO;
	char text[TEXT_MAX];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	show_budget(&f, b);
	fmt_end(&f);
	out_member(o, "budget", text);
	out_member(o, "scope", show_scope(b->scope));
	out_member_int(o, "budget_floor", b->kind == BUDGET_NONE ? -1
	                                  : ratio ? explain_floor(b)
	                                          : BUDGET_TOKENS_MAX /
	                                                    budget_cost(CLASS_REFUSED));
	out_member_int(o, "budget_ttl_ns", ratio ? b->ttl : -1);
	out_say(o, "budget: %s%s", text, b->kind == BUDGET_NONE ? "" :
	        a->f.attempts <= 1 ? " (nothing to limit)" : "");
	if (b->kind != BUDGET_NONE)
		say_bound(o, a);
}

static bool has_first(const struct answer *a)
{
	return a->q->op == OP_CONNECT && a->d.proto != PROTO_UDP;
}

/* By how many failures of one call, with no other call beside it, it opens. */
static uint32_t opens_at(const struct breaker *b)
{
	uint32_t n = b->consecutive_failures ? b->consecutive_failures : UINT32_MAX;

	return b->failure_ratio && b->minimum_calls < n ? b->minimum_calls : n;
}

static void say_breaker(struct out *o, const struct answer *a)
{
	const struct breaker *b = &a->policy->breaker;
	bool away = has_first(a) && a->rule && a->rule->fallback_count;
	/* What fails at a fallback says nothing of the destination. */
	bool in_one = b->enabled && !away && opens_at(b) < a->f.attempts;
	char text[TEXT_MAX], who[TEXT_MAX];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	show_breaker(&f, b);
	fmt_end(&f);
	out_member(o, "breaker", text);
	out_member_bool(o, "breaker_opens_within_call", acts(a) && in_one);
	if (!b->enabled)
		return;
	fmt_init(&f, who, sizeof(who));
	who_shares(&f, a);
	fmt_end(&f);
	out_say(o, "breaker: %s%s", text, acts(a) ? "" : " (not asked)");
	if (!acts(a))
		return;
	out_say(o, "  failures of %s count; while it is open %s (reason=breaker)", who,
	        !has_first(a) ? "nothing is retried"
	        : away        ? "calls go to the fallback at once"
	                      : "calls fail at once with the last error");
	out_say(o, "  then %u attempt%s at a time look%s whether it is back; the first that "
	           "succeeds closes it, the first that fails opens it for twice the time",
	        b->half_open_probes, b->half_open_probes == 1 ? "" : "s",
	        b->half_open_probes == 1 ? "s" : "");
	if (in_one)
		out_say(o, "  one call alone opens it: its attempt %u is refused, unless its wait is "
		           "longer than the open time", opens_at(b) + 1);
}

static void say_coordinate(struct out *o, const struct answer *a)
{
	char who[TEXT_MAX];
	struct fmt f;

	out_member_bool(o, "coordinate", a->policy->coordinate);
	if (!a->policy->coordinate)
		return;
	fmt_init(&f, who, sizeof(who));
	who_shares(&f, a);
	fmt_end(&f);
	if (!acts(a)) {
		out_say(o, "coordinate: true (nobody is asked)");
		return;
	}
	out_say(o, "coordinate: true, among %s", who);
	out_say(o, "  while it is down one attempt at a time finds out whether it is back; "
	           "%s wait for its result, up to their deadlines",
	        has_first(a) ? "the others, first ones too," : "other retries");
	out_say(o, "  then those that waited come in a ramp: %u, one more for each that succeeds, "
	           "to %u", PACE_WINDOW, PACE_WINDOW_MAX);
}

static void say_layering(struct out *o, const struct answer *a)
{
	static const char *const words[] = { "detect", "yield", "ignore" };
	enum layering l = a->policy->layering;

	out_member(o, "layering", words[l]);
	if (l == LAYERING_IGNORE || a->f.attempts <= 1)
		return;
	out_say(o, "layering: %s: if %d calls in a row come to nothing in %d s, the program "
	           "retries by itself; %s", words[l], LAYERS_SERIES, (int)(LAYERS_TIME / DUR_S),
	        l == LAYERING_YIELD ? "its further calls are not retried" : "the log says so once");
	if (l == LAYERING_YIELD)
		out_say(o, "  until none has failed for %d s (reason=layered)",
		        (int)(LAYERS_KNOWN / DUR_S));
}

static void say_concurrent(struct out *o, const struct answer *a)
{
	uint32_t most = a->policy->max_concurrent_retries;

	out_member_int(o, "max_concurrent_retries", most);
	if (!most || a->f.attempts <= 1)
		return;
	out_say(o, "max_concurrent_retries: %" PRIu32 "%s", most, acts(a) ? "" : " (not counted)");
	if (acts(a))
		out_say(o, "  while so many %s of one process are in a retry here, the failure of "
		           "another goes straight to the program (reason=concurrent)",
		        a->q->op == OP_LOOKUP ? "look-ups" : "calls");
}

static void say_carry(struct out *o, const struct answer *a)
{
	const struct policy *p = a->policy;
	bool used = p->carry && a->q->op != OP_SEND;
	char time[32];
	struct fmt f;

	fmt_init(&f, time, sizeof(time));
	fmt_dur_exact(&f, p->carry_for);
	fmt_end(&f);
	out_member_bool(o, "carry", used && acts(a));
	out_member(o, "carry_for", time);
	if (used && acts(a) && a->f.attempts > 1)
		out_say(o, "carry: a call that fails within %s of the last failure here, in the "
		           "same process, goes on at that one's last wait", time);
}

static void say_hold(struct out *o, const struct answer *a)
{
	bool heard = acts(a) &&
	             (a->policy->budget.scope != SCOPE_PROCESS || a->c->process.stats_shm);
	bool first = has_first(a) && (a->policy->breaker.enabled || a->policy->coordinate);

	out_member_bool(o, "hold_heard", heard);
	if (heard && (a->f.attempts > 1 || first))
		out_say(o, "hold: \"libretry hold\" is heard: %s wait for its end, up to their "
		           "deadlines", first ? "attempts, first ones too," : "retries");
}

void explain_guards(struct out *o, const struct answer *a)
{
	say_budget(o, a);
	say_breaker(o, a);
	say_coordinate(o, a);
	say_concurrent(o, a);
	say_carry(o, a);
	say_layering(o, a);
	say_hold(o, a);
}
