/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/compat.h"
#include "base/duration.h"
#include "state/view.h"

/* Names in their rows, not in pointers that the loader would have to relocate in each
 * process. One counter for each destination. */
static const struct {
	char name[30], help[80];
	enum tally tally;
} counters[] = {
	{ "libretry_calls_total",
	  "Calls by programs: first attempts, counted when their process meets a failure",
	  TALLY_CALLS },
	{ "libretry_retries_total", "Attempts after the first", TALLY_RETRIES },
	{ "libretry_recovered_total", "Calls that succeeded after retries", TALLY_RECOVERED },
	{ "libretry_abandoned_total", "Calls whose descriptor was closed by the program meanwhile",
	  TALLY_ABANDONED },
	{ "libretry_injected_total", "Attempts that were struck on purpose", TALLY_INJECTED },
	{ "libretry_parked_total", "How often an attempt had to wait for the result of another",
	  TALLY_PARKED },
	{ "libretry_probes_total", "Attempts made for all while a destination was down",
	  TALLY_PROBES },
	{ "libretry_stale_answers_total", "Look-ups that an old answer was handed out for",
	  TALLY_STALE },
};

static const struct named_tally {
	char label[14];
	enum tally tally;
} gave_up[] = {
	{ "attempts", TALLY_GAVE_UP_ATTEMPTS }, { "deadline", TALLY_GAVE_UP_DEADLINE },
	{ "budget", TALLY_BUDGET_REFUSED },     { "breaker", TALLY_BREAKER_REFUSED },
	{ "concurrent", TALLY_CONCURRENT_REFUSED }, { "stopping", TALLY_GAVE_UP_STOPPING },
}, passed[] = {
	{ "not-retryable", TALLY_NOT_RETRYABLE }, { "other", TALLY_GAVE_UP_OTHER },
};

static const char attempts_le[STATS_ATTEMPTS][5] = { "1", "2", "3", "4", "5", "10", "+Inf" };
static const char waits_le[STATS_WAITS][5] = { "0.01", "0.03", "0.1", "0.3", "1",
	                                       "3", "10", "30", "100", "+Inf" };

struct page {
	struct fmt f;
	const struct view *v;
};

/* After each line, so that the next one fits. */
static void end_line(struct page *p)
{
	fmt_char(&p->f, '\n');
	if (p->f.len <= VIEW_ROOM - VIEW_LINE_MAX)
		return;
	p->v->flush(p->v->to, p->f.buf, p->f.len);
	p->f.len = 0;
}

static void family(struct page *p, const char *name, const char *type, const char *help)
{
	fmt_str(&p->f, "# HELP ");
	fmt_str(&p->f, name);
	fmt_char(&p->f, ' ');
	fmt_str(&p->f, help);
	fmt_char(&p->f, '.');
	end_line(p);
	fmt_str(&p->f, "# TYPE ");
	fmt_str(&p->f, name);
	fmt_char(&p->f, ' ');
	fmt_str(&p->f, type);
	end_line(p);
}

/* As in the log, where a backslash only begins a \xNN: here it is doubled. */
static void label(struct page *p, const char *name, const char *text)
{
	char word[4 * SLOT_TEXT + 1];
	struct fmt f;

	fmt_init(&f, word, sizeof(word));
	fmt_word(&f, text, sizeof(word));
	fmt_end(&f);
	fmt_str(&p->f, name);
	fmt_str(&p->f, "=\"");
	for (const char *c = word; *c; c++) {
		if (*c == '\\')
			fmt_char(&p->f, '\\');
		fmt_char(&p->f, *c);
	}
	fmt_char(&p->f, '"');
}

/* NAME{segment="...",op="...",dest="...",policy="..."[,MORE="WHICH"]}, a blank follows. */
static void series(struct page *p, const struct stats_dest *d, const char *name,
                   const char *more, const char *which)
{
	bool lookup = strncmp(d->text, "lookup:", 7) == 0;

	fmt_str(&p->f, name);
	fmt_char(&p->f, '{');
	label(p, "segment", p->v->segment);
	fmt_str(&p->f, lookup ? ",op=\"lookup\"," : ",op=\"connect\",");
	label(p, "dest", lookup ? d->text + 7 : d->text);
	fmt_char(&p->f, ',');
	label(p, "policy", d->policy);
	if (more) {
		fmt_char(&p->f, ',');
		fmt_str(&p->f, more);
		fmt_str(&p->f, "=\"");
		fmt_str(&p->f, which);
		fmt_char(&p->f, '"');
	}
	fmt_str(&p->f, "} ");
}

static void value(struct page *p, uint64_t n)
{
	fmt_u64(&p->f, n);
	end_line(p);
}

/* <whole>.<part>, the part in <digits> digits. */
static void decimal(struct page *p, int64_t whole, uint64_t part, unsigned digits)
{
	fmt_i64(&p->f, whole);
	fmt_char(&p->f, '.');
	fmt_pad(&p->f, part, digits);
	end_line(p);
}

static void seconds(struct page *p, int64_t ns)
{
	decimal(p, ns / DUR_S, (uint64_t)(ns % DUR_S / DUR_MS), 3);
}

/* A loop over all destinations, one in <d>. */
#define EACH_DEST(p, d) \
	for (unsigned each_i = 0; each_i < (p)->v->count; each_i++) \
		if (((d) = (p)->v->dest((p)->v->arg, each_i)) != NULL)

static void all_counters(struct page *p)
{
	const struct stats_dest *d;

	for (size_t c = 0; c < ARRAY_LEN(counters); c++) {
		family(p, counters[c].name, "counter", counters[c].help);
		EACH_DEST(p, d) {
			series(p, d, counters[c].name, NULL, NULL);
			value(p, d->tally[counters[c].tally]);
		}
	}
}

static void by_reason(struct page *p, const char *name, const char *help,
                      const struct named_tally *reasons, size_t n)
{
	const struct stats_dest *d;

	family(p, name, "counter", help);
	EACH_DEST(p, d) {
		for (size_t r = 0; r < n; r++) {
			series(p, d, name, "reason", reasons[r].label);
			value(p, d->tally[reasons[r].tally]);
		}
	}
}

static uint64_t buckets(struct page *p, const struct stats_dest *d, const char *name,
                        const uint64_t *n, const char (*le)[5], size_t size)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < size; i++) {
		sum += n[i];
		series(p, d, name, "le", le[i]);
		value(p, sum);
	}
	return sum;
}

static void attempts(struct page *p)
{
	const struct stats_dest *d;

	family(p, "libretry_attempts", "histogram", "Attempts of calls that met a failure");
	EACH_DEST(p, d) {
		uint64_t n = buckets(p, d, "libretry_attempts_bucket", d->attempts, attempts_le,
		                     STATS_ATTEMPTS);

		series(p, d, "libretry_attempts_sum", NULL, NULL);
		value(p, d->sum_attempts);
		series(p, d, "libretry_attempts_count", NULL, NULL);
		value(p, n);
	}
}

static void waits(struct page *p)
{
	const struct stats_dest *d;

	family(p, "libretry_wait_seconds", "histogram",
	       "All waits together of calls that waited for a retry");
	EACH_DEST(p, d) {
		uint64_t n = buckets(p, d, "libretry_wait_seconds_bucket", d->waits, waits_le,
		                     STATS_WAITS);

		series(p, d, "libretry_wait_seconds_sum", NULL, NULL);
		decimal(p, (int64_t)(d->sum_wait / 1000000), d->sum_wait % 1000000, 6);
		series(p, d, "libretry_wait_seconds_count", NULL, NULL);
		value(p, n);
	}
}

/* One series for each state, and 1 at the one that it is. */
static void states(struct page *p)
{
	static const enum breaker_state breaker[] = { BREAKER_CLOSED, BREAKER_OPEN,
		                                      BREAKER_HALF_OPEN };
	static const enum pace_state pace[] = { PACE_UP, PACE_DOWN, PACE_RAMP };
	const struct stats_dest *d;

	family(p, "libretry_breaker_state", "gauge",
	       "The breaker of the destination, if it has ever been used: 1 at its state");
	EACH_DEST(p, d) {
		for (size_t s = 0; d->has_breaker && s < ARRAY_LEN(breaker); s++) {
			series(p, d, "libretry_breaker_state", "state",
			       breaker_state_name(breaker[s]));
			value(p, d->breaker == breaker[s]);
		}
	}
	family(p, "libretry_pace_state", "gauge",
	       "Coordinated recovery of the destination, if it was ever needed: 1 at its state");
	EACH_DEST(p, d) {
		for (size_t s = 0; d->has_pace && s < ARRAY_LEN(pace); s++) {
			series(p, d, "libretry_pace_state", "state", pace_state_name(pace[s]));
			value(p, d->pace == pace[s]);
		}
	}
}

static void gauges(struct page *p)
{
	const struct stats_dest *d;

	family(p, "libretry_budget_balance", "gauge",
	       "Retries that a shared budget has left, by the configuration in use here");
	EACH_DEST(p, d) {
		if (d->budget_left < 0)
			continue;
		series(p, d, "libretry_budget_balance", NULL, NULL);
		value(p, (uint64_t)d->budget_left);
	}
	family(p, "libretry_hold_seconds", "gauge",
	       "How long the destination is still held by hand; 0 if it is not");
	EACH_DEST(p, d) {
		series(p, d, "libretry_hold_seconds", NULL, NULL);
		seconds(p, d->hold_left);
	}
	family(p, "libretry_last_failure_timestamp_seconds", "gauge",
	       "When an attempt failed last");
	EACH_DEST(p, d) {
		if (d->last_failure < 0)
			continue;
		series(p, d, "libretry_last_failure_timestamp_seconds", NULL, NULL);
		seconds(p, p->v->wall - d->last_failure);
	}
}

static void one(struct page *p, const char *name, const char *type, const char *help, uint64_t n)
{
	family(p, name, type, help);
	fmt_str(&p->f, name);
	fmt_char(&p->f, '{');
	label(p, "segment", p->v->segment);
	fmt_str(&p->f, "} ");
	value(p, n);
}

static void all_families(struct page *p)
{
	const struct view *v = p->v;

	one(p, "libretry_segment_present", "gauge",
	    "Whether there is a segment; it is made at the first failure", v->present);
	if (!v->present)
		return;
	one(p, "libretry_segment_places", "gauge", "Places for destinations", v->places);
	one(p, "libretry_segment_places_taken", "gauge",
	    "Places for destinations that are taken", v->taken);
	one(p, "libretry_segment_overflow_total", "counter",
	    "How often no place was left for a destination", v->overflow);
	all_counters(p);
	by_reason(p, "libretry_giveups_total",
	          "Calls that ended with an error after all that could be done", gave_up,
	          ARRAY_LEN(gave_up));
	by_reason(p, "libretry_passed_total",
	          "Calls whose failure went to the program, because it was not to be retried",
	          passed, ARRAY_LEN(passed));
	attempts(p);
	waits(p);
	states(p);
	gauges(p);
}

void view_prometheus(const struct view *v)
{
	struct page p = { .v = v };

	fmt_init(&p.f, v->room, VIEW_ROOM);
	all_families(&p);
	v->flush(v->to, p.f.buf, p.f.len);
}
