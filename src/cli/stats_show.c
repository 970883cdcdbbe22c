/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/compat.h"
#include "base/duration.h"
#include "base/fmt.h"
#include "cli/stats.h"

static void count(struct out *o, uint64_t n)
{
	out_cell_int(o, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static void names(struct out *o, const struct stats_dest *d)
{
	out_cell(o, d->text);
	out_cell(o, d->policy);
}

static const char *error_name(const struct stats_dest *d, char *buf, size_t size)
{
	const char *name = err_name(d->last_error);
	struct fmt f;

	if (d->last_error.code == 0 || name)
		return name;
	fmt_init(&f, buf, size);
	fmt_i64(&f, d->last_error.code);
	fmt_end(&f);
	return buf;
}

/* "ECONNREFUSED, 3s ago" */
static void last_error(struct out *o, const struct stats_dest *d)
{
	char number[24], text[96];
	const char *name = error_name(d, number, sizeof(number));
	struct fmt f;

	if (!name || d->last_failure < 0) {
		out_cell(o, NULL);
		return;
	}
	fmt_init(&f, text, sizeof(text));
	fmt_str(&f, name);
	fmt_str(&f, ", ");
	fmt_dur(&f, d->last_failure < DUR_S ? d->last_failure / DUR_MS * DUR_MS
	                                    : d->last_failure / DUR_S * DUR_S);
	fmt_str(&f, " ago");
	fmt_end(&f);
	out_cell(o, text);
}

/* While anybody is there, one probes more often than this, unless nothing answers. */
#define QUIET (10 * DUR_S)

static void add_state(struct fmt *f, const char *what, const char *more, int64_t left)
{
	if (f->len)
		fmt_str(f, ", ");
	fmt_str(f, what);
	fmt_str(f, more);
	if (left > 0) {
		fmt_str(f, " for ");
		fmt_dur(f, left < DUR_S ? left : left / (100 * DUR_MS) * (100 * DUR_MS));
	}
}

/* A word that nobody has changed since the last failure says nothing of the present. */
static const char *pace_text(const struct stats_dest *d)
{
	if (d->pace != PACE_DOWN)
		return "ramp";
	return d->last_failure > QUIET ? "was down" : "down, one probes";
}

/* "held for 12s, breaker open for 3s, down"; nothing while all is well */
static void state(struct out *o, const struct stats_dest *d)
{
	char text[128];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	if (d->hold_left)
		add_state(&f, "held", "", d->hold_left);
	if (d->has_breaker && d->breaker != BREAKER_CLOSED)
		add_state(&f, "breaker ", breaker_state_name(d->breaker), d->breaker_left);
	if (d->has_pace && d->pace != PACE_UP)
		add_state(&f, pace_text(d), "", 0);
	fmt_end(&f);
	out_cell(o, f.len ? text : NULL);
}

static void nullable(struct out *o, int64_t value)
{
	if (value < 0)
		out_cell(o, NULL);
	else
		out_cell_int(o, value);
}

static void ago(struct out *o, int64_t ns)
{
	if (ns < 0)
		out_cell(o, NULL);
	else
		out_cell_duration(o, ns);
}

static const struct out_column columns[] = {
	{ "destination", "DESTINATION" },
	{ "policy", "POLICY" },
	{ "calls", "CALLS" },
	{ "first_try_ok", "OK-AT-ONCE" },
	{ "retries", "RETRIES" },
	{ "recovered", "RECOVERED" },
	{ "gave_up", "GAVE-UP" },
	{ "passed", "PASSED" },
	{ "abandoned", "ABANDONED" },
	{ NULL, "LAST-ERROR" },
	{ NULL, "STATE" },
	{ "gave_up_attempts", NULL },
	{ "gave_up_deadline", NULL },
	{ "gave_up_budget", NULL },
	{ "gave_up_breaker", NULL },
	{ "gave_up_concurrent", NULL },
	{ "gave_up_stopping", NULL },
	{ "passed_not_retryable", NULL },
	{ "passed_other", NULL },
	{ "injected", NULL },
	{ "parked", NULL },
	{ "probes", NULL },
	{ "stale", NULL },
	{ "breaker", NULL },
	{ "breaker_open_for", NULL },
	{ "pace", NULL },
	{ "hold_left", NULL },
	{ "budget_left", NULL },
	{ "last_error", NULL },
	{ "last_failure_ago", NULL },
	{ "attempts_1", NULL },
	{ "attempts_2", NULL },
	{ "attempts_3", NULL },
	{ "attempts_4", NULL },
	{ "attempts_5", NULL },
	{ "attempts_6_to_10", NULL },
	{ "attempts_more", NULL },
	{ "attempts_sum", NULL },
	{ "waited_10ms", NULL },
	{ "waited_30ms", NULL },
	{ "waited_100ms", NULL },
	{ "waited_300ms", NULL },
	{ "waited_1s", NULL },
	{ "waited_3s", NULL },
	{ "waited_10s", NULL },
	{ "waited_30s", NULL },
	{ "waited_100s", NULL },
	{ "waited_more", NULL },
	{ "waited_sum_us", NULL }
};

#define NAMES 2 /* columns */
#define STATE 10

_Static_assert(STATE < ARRAY_LEN(columns), "it is one of them");

/* Where a line has no room for all, what happens now comes before what was counted. */
static const struct out_column *state_first(void)
{
	static struct out_column own[ARRAY_LEN(columns)];

	memcpy(own, columns, sizeof(own));
	memmove(&own[NAMES + 1], &own[NAMES], (STATE - NAMES) * sizeof(own[0]));
	own[NAMES] = columns[STATE];
	return own;
}

/* In the order of the columns. */
static void row(struct out *o, const struct stats_dest *d, bool narrow)
{
	static const enum tally more[] = {
		TALLY_GAVE_UP_ATTEMPTS, TALLY_GAVE_UP_DEADLINE, TALLY_BUDGET_REFUSED,
		TALLY_BREAKER_REFUSED, TALLY_CONCURRENT_REFUSED, TALLY_GAVE_UP_STOPPING,
		TALLY_NOT_RETRYABLE, TALLY_GAVE_UP_OTHER, TALLY_INJECTED, TALLY_PARKED,
		TALLY_PROBES, TALLY_STALE
	};
	char number[24];

	names(o, d);
	if (narrow)
		state(o, d);
	count(o, d->tally[TALLY_CALLS]);
	count(o, stats_first_ok(d));
	count(o, d->tally[TALLY_RETRIES]);
	count(o, d->tally[TALLY_RECOVERED]);
	count(o, stats_gave_up(d));
	count(o, stats_passed(d));
	count(o, d->tally[TALLY_ABANDONED]);
	last_error(o, d);
	if (!narrow)
		state(o, d);
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		count(o, d->tally[more[i]]);
	out_cell(o, d->has_breaker ? breaker_state_name(d->breaker) : NULL);
	out_cell_duration(o, d->breaker_left);
	out_cell(o, d->has_pace ? pace_state_name(d->pace) : NULL);
	out_cell_duration(o, d->hold_left);
	nullable(o, d->budget_left);
	out_cell(o, error_name(d, number, sizeof(number)));
	ago(o, d->last_failure);
	for (size_t i = 0; i < STATS_ATTEMPTS; i++)
		count(o, d->attempts[i]);
	count(o, d->sum_attempts);
	for (size_t i = 0; i < STATS_WAITS; i++)
		count(o, d->waits[i]);
	count(o, d->sum_wait);
}

/* Rows of tallies, of those destinations where one of them is not 0. */
static void some(struct out *o, const struct stats *st, const char *title,
                 const struct out_column *heads, const enum tally *tallies, size_t n)
{
	out_table(o, NULL, title, heads, n + 2);
	for (unsigned i = 0; i < st->count; i++) {
		const struct stats_dest *d = &st->dests[i];
		uint64_t any = 0;

		for (size_t j = 0; j < n; j++)
			any |= d->tally[tallies[j]];
		if (!any)
			continue;
		names(o, d);
		for (size_t j = 0; j < n; j++)
			count(o, d->tally[tallies[j]]);
	}
	out_table_end(o);
}

static void reasons(struct out *o, const struct stats *st)
{
	static const struct out_column heads[] = {
		{ NULL, "DESTINATION" }, { NULL, "POLICY" }, { NULL, "ATTEMPTS" },
		{ NULL, "DEADLINE" }, { NULL, "BUDGET" }, { NULL, "BREAKER" },
		{ NULL, "CONCURRENT" }, { NULL, "STOPPING" }, { NULL, "NOT-RETRYABLE" },
		{ NULL, "OTHER" }
	};
	static const enum tally tallies[] = {
		TALLY_GAVE_UP_ATTEMPTS, TALLY_GAVE_UP_DEADLINE, TALLY_BUDGET_REFUSED,
		TALLY_BREAKER_REFUSED, TALLY_CONCURRENT_REFUSED, TALLY_GAVE_UP_STOPPING,
		TALLY_NOT_RETRYABLE, TALLY_GAVE_UP_OTHER
	};

	_Static_assert(ARRAY_LEN(heads) == ARRAY_LEN(tallies) + 2, "a heading for each");
	some(o, st, "Why it gave up (the first six), or passed the failure on:", heads, tallies,
	     ARRAY_LEN(tallies));
}

static void others(struct out *o, const struct stats *st)
{
	static const struct out_column heads[] = {
		{ NULL, "DESTINATION" }, { NULL, "POLICY" }, { NULL, "PROBES" },
		{ NULL, "PARKED" }, { NULL, "INJECTED" }, { NULL, "STALE" }
	};
	static const enum tally tallies[] = { TALLY_PROBES, TALLY_PARKED, TALLY_INJECTED,
		                              TALLY_STALE };

	_Static_assert(ARRAY_LEN(heads) == ARRAY_LEN(tallies) + 2, "a heading for each");
	some(o, st, "Attempts made for all, how often others waited for one, attempts struck on "
	            "purpose, old answers handed out:", heads, tallies, ARRAY_LEN(tallies));
}

static bool all_zero(const uint64_t *n, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (n[i])
			return false;
	return true;
}

static void attempts(struct out *o, const struct stats *st)
{
	static const struct out_column heads[] = {
		{ NULL, "DESTINATION" }, { NULL, "POLICY" }, { NULL, "1" }, { NULL, "2" },
		{ NULL, "3" }, { NULL, "4" }, { NULL, "5" }, { NULL, "6-10" }, { NULL, "MORE" }
	};

	_Static_assert(ARRAY_LEN(heads) == STATS_ATTEMPTS + 2, "a heading for each");
	out_table(o, NULL, "Calls in trouble by their attempts:", heads, ARRAY_LEN(heads));
	for (unsigned i = 0; i < st->count; i++) {
		if (all_zero(st->dests[i].attempts, STATS_ATTEMPTS))
			continue;
		names(o, &st->dests[i]);
		for (size_t j = 0; j < STATS_ATTEMPTS; j++)
			count(o, st->dests[i].attempts[j]);
	}
	out_table_end(o);
}

static void waits(struct out *o, const struct stats *st)
{
	static const struct out_column heads[] = {
		{ NULL, "DESTINATION" }, { NULL, "POLICY" }, { NULL, "10ms" }, { NULL, "30ms" },
		{ NULL, "100ms" }, { NULL, "300ms" }, { NULL, "1s" }, { NULL, "3s" },
		{ NULL, "10s" }, { NULL, "30s" }, { NULL, "100s" }, { NULL, "MORE" }
	};

	_Static_assert(ARRAY_LEN(heads) == STATS_WAITS + 2, "a heading for each");
	out_table(o, NULL, "Calls that waited, by how long at most, all waits together:", heads,
	          ARRAY_LEN(heads));
	for (unsigned i = 0; i < st->count; i++) {
		if (all_zero(st->dests[i].waits, STATS_WAITS))
			continue;
		names(o, &st->dests[i]);
		for (size_t j = 0; j < STATS_WAITS; j++)
			count(o, st->dests[i].waits[j]);
	}
	out_table_end(o);
}

static void budgets(struct out *o, const struct stats *st)
{
	static const struct out_column heads[] = {
		{ NULL, "DESTINATION" }, { NULL, "POLICY" }, { NULL, "RETRIES-LEFT" }
	};

	out_table(o, NULL, "Budgets that are shared:", heads, ARRAY_LEN(heads));
	for (unsigned i = 0; i < st->count; i++) {
		if (st->dests[i].budget_left < 0)
			continue;
		names(o, &st->dests[i]);
		out_cell_int(o, st->dests[i].budget_left);
	}
	out_table_end(o);
}

static void head(struct out *o, const struct stats *st)
{
	char since[40];
	struct fmt f;

	out_member(o, "segment", st->segment->whose);
	out_member(o, "file", st->segment->path);
	out_member_bool(o, "present", st->present);
	if (!st->present) {
		out_say(o, "%s: no statistics yet", st->segment->whose);
		return;
	}
	fmt_init(&f, since, sizeof(since));
	fmt_utc(&f, st->created / DUR_S, st->created % DUR_S);
	fmt_end(&f);
	out_member(o, "created", since);
	out_member_int(o, "overflow", (int64_t)(st->overflow & INT64_MAX));
	out_say(o, "%s: %u of %d places taken, since %s", st->segment->whose, st->count,
	        SHM_SLOTS, since);
	if (st->overflow)
		out_say(o, "%llu times there was no place left: those are not counted here, and "
		           "nothing limits them", (unsigned long long)st->overflow);
}

void stats_show(struct out *o, const struct stats *st)
{
	head(o, st);
	out_table(o, "destinations", NULL, st->narrow ? state_first() : columns,
	          ARRAY_LEN(columns));
	for (unsigned i = 0; i < st->count; i++)
		row(o, &st->dests[i], st->narrow);
	out_table_end(o);
	if (o->json)
		return;
	if (st->count == 0 && st->present)
		out_say(o, "No failure was counted yet.");
	if (st->count == 0)
		return;
	reasons(o, st);
	attempts(o, st);
	waits(o, st);
	others(o, st);
	budgets(o, st);
	out_say(o, "%s", "");
	out_say(o, "OK-AT-ONCE is CALLS - RECOVERED - GAVE-UP - PASSED - ABANDONED: what is under "
	           "way counts as ok.");
	out_say(o, "A process adds its calls when it meets a failure of the destination.");
}
