/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/duration.h"
#include "base/fmt.h"
#include "cli/cli.h"
#include "cli/stats.h"

/* One counter for each destination. */
static const struct {
	const char *name, *help;
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
	const char *label;
	enum tally tally;
} gave_up[] = {
	{ "attempts", TALLY_GAVE_UP_ATTEMPTS }, { "deadline", TALLY_GAVE_UP_DEADLINE },
	{ "budget", TALLY_BUDGET_REFUSED },     { "breaker", TALLY_BREAKER_REFUSED },
	{ "concurrent", TALLY_CONCURRENT_REFUSED }, { "stopping", TALLY_GAVE_UP_STOPPING },
}, passed[] = {
	{ "not-retryable", TALLY_NOT_RETRYABLE }, { "other", TALLY_GAVE_UP_OTHER },
};

static const char *const attempts_le[STATS_ATTEMPTS] = { "1", "2", "3", "4", "5", "10", "+Inf" };
static const char *const waits_le[STATS_WAITS] = { "0.01", "0.03", "0.1", "0.3", "1",
	                                           "3", "10", "30", "100", "+Inf" };

static void family(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name, type);
}

/* As in the log, where a backslash only begins a \xNN: here it is doubled. */
static void label(FILE *to, const char *name, const char *text)
{
	char word[4 * SLOT_TEXT + 1];
	struct fmt f;

	fmt_init(&f, word, sizeof(word));
	fmt_word(&f, text, sizeof(word));
	fmt_end(&f);
	fprintf(to, "%s=\"", name);
	for (const char *c = word; *c; c++) {
		if (*c == '\\')
			fputc('\\', to);
		fputc(*c, to);
	}
	fputc('"', to);
}

/* NAME{segment="...",op="...",dest="...",policy="..."[,MORE="WHICH"]}, a blank follows. */
static void series(FILE *to, const struct stats *st, const struct stats_dest *d,
                   const char *name, const char *more, const char *which)
{
	bool lookup = strncmp(d->text, "lookup:", 7) == 0;

	fprintf(to, "%s{", name);
	label(to, "segment", st->segment->whose);
	fprintf(to, ",op=\"%s\",", lookup ? "lookup" : "connect");
	label(to, "dest", lookup ? d->text + 7 : d->text);
	fputc(',', to);
	label(to, "policy", d->policy);
	if (more)
		fprintf(to, ",%s=\"%s\"", more, which);
	fputs("} ", to);
}

static void value(FILE *to, uint64_t n)
{
	fprintf(to, "%" PRIu64 "\n", n);
}

static void seconds(FILE *to, int64_t ns)
{
	fprintf(to, "%" PRId64 ".%03d\n", ns / DUR_S, (int)(ns % DUR_S / DUR_MS));
}

static void all_counters(FILE *to, const struct stats *st)
{
	for (size_t c = 0; c < ARRAY_LEN(counters); c++) {
		family(to, counters[c].name, "counter", counters[c].help);
		for (unsigned i = 0; i < st->count; i++) {
			series(to, st, &st->dests[i], counters[c].name, NULL, NULL);
			value(to, st->dests[i].tally[counters[c].tally]);
		}
	}
}

static void by_reason(FILE *to, const struct stats *st, const char *name, const char *help,
                      const struct named_tally *reasons, size_t n)
{
	family(to, name, "counter", help);
	for (unsigned i = 0; i < st->count; i++) {
		for (size_t r = 0; r < n; r++) {
			series(to, st, &st->dests[i], name, "reason", reasons[r].label);
			value(to, st->dests[i].tally[reasons[r].tally]);
		}
	}
}

static uint64_t buckets(FILE *to, const struct stats *st, const struct stats_dest *d,
                        const char *name, const uint64_t *n, const char *const *le, size_t size)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < size; i++) {
		sum += n[i];
		series(to, st, d, name, "le", le[i]);
		value(to, sum);
	}
	return sum;
}

static void attempts(FILE *to, const struct stats *st)
{
	family(to, "libretry_attempts", "histogram", "Attempts of calls that met a failure");
	for (unsigned i = 0; i < st->count; i++) {
		const struct stats_dest *d = &st->dests[i];
		uint64_t n = buckets(to, st, d, "libretry_attempts_bucket", d->attempts,
		                     attempts_le, STATS_ATTEMPTS);

		series(to, st, d, "libretry_attempts_sum", NULL, NULL);
		value(to, d->sum_attempts);
		series(to, st, d, "libretry_attempts_count", NULL, NULL);
		value(to, n);
	}
}

static void waits(FILE *to, const struct stats *st)
{
	family(to, "libretry_wait_seconds", "histogram",
	       "All waits together of calls that waited for a retry");
	for (unsigned i = 0; i < st->count; i++) {
		const struct stats_dest *d = &st->dests[i];
		uint64_t n = buckets(to, st, d, "libretry_wait_seconds_bucket", d->waits, waits_le,
		                     STATS_WAITS);

		series(to, st, d, "libretry_wait_seconds_sum", NULL, NULL);
		fprintf(to, "%" PRIu64 ".%06u\n", d->sum_wait / 1000000,
		        (unsigned)(d->sum_wait % 1000000));
		series(to, st, d, "libretry_wait_seconds_count", NULL, NULL);
		value(to, n);
	}
}

/* One series for each state, and 1 at the one that it is. */
static void states(FILE *to, const struct stats *st)
{
	static const enum breaker_state breaker[] = { BREAKER_CLOSED, BREAKER_OPEN,
		                                      BREAKER_HALF_OPEN };
	static const enum pace_state pace[] = { PACE_UP, PACE_DOWN, PACE_RAMP };

	family(to, "libretry_breaker_state", "gauge",
	       "The breaker of the destination, if it has ever been used: 1 at its state");
	for (unsigned i = 0; i < st->count; i++) {
		for (size_t s = 0; st->dests[i].has_breaker && s < ARRAY_LEN(breaker); s++) {
			series(to, st, &st->dests[i], "libretry_breaker_state", "state",
			       breaker_state_name(breaker[s]));
			value(to, st->dests[i].breaker == breaker[s]);
		}
	}
	family(to, "libretry_pace_state", "gauge",
	       "Coordinated recovery of the destination, if it was ever needed: 1 at its state");
	for (unsigned i = 0; i < st->count; i++) {
		for (size_t s = 0; st->dests[i].has_pace && s < ARRAY_LEN(pace); s++) {
			series(to, st, &st->dests[i], "libretry_pace_state", "state",
			       pace_state_name(pace[s]));
			value(to, st->dests[i].pace == pace[s]);
		}
	}
}

static void gauges(FILE *to, const struct stats *st)
{
	family(to, "libretry_budget_balance", "gauge",
	       "Retries that a shared budget has left, by the configuration in use here");
	for (unsigned i = 0; i < st->count; i++) {
		if (st->dests[i].budget_left < 0)
			continue;
		series(to, st, &st->dests[i], "libretry_budget_balance", NULL, NULL);
		value(to, (uint64_t)st->dests[i].budget_left);
	}
	family(to, "libretry_hold_seconds", "gauge",
	       "How long the destination is still held by hand; 0 if it is not");
	for (unsigned i = 0; i < st->count; i++) {
		series(to, st, &st->dests[i], "libretry_hold_seconds", NULL, NULL);
		seconds(to, st->dests[i].hold_left);
	}
	family(to, "libretry_last_failure_timestamp_seconds", "gauge",
	       "When an attempt failed last");
	for (unsigned i = 0; i < st->count; i++) {
		if (st->dests[i].last_failure < 0)
			continue;
		series(to, st, &st->dests[i], "libretry_last_failure_timestamp_seconds", NULL,
		       NULL);
		seconds(to, st->wall - st->dests[i].last_failure);
	}
}

static void one(FILE *to, const struct stats *st, const char *name, const char *type,
                const char *help, uint64_t n)
{
	family(to, name, type, help);
	fprintf(to, "%s{", name);
	label(to, "segment", st->segment->whose);
	fputs("} ", to);
	value(to, n);
}

void stats_prometheus(FILE *to, const struct stats *st)
{
	one(to, st, "libretry_segment_present", "gauge",
	    "Whether there is a segment; it is made at the first failure", st->present);
	if (!st->present)
		return;
	one(to, st, "libretry_segment_places", "gauge", "Places for destinations",
	    SHM_SLOTS);
	one(to, st, "libretry_segment_places_taken", "gauge",
	    "Places for destinations that are taken", st->count);
	one(to, st, "libretry_segment_overflow_total", "counter",
	    "How often no place was left for a destination", st->overflow);
	all_counters(to, st);
	by_reason(to, st, "libretry_giveups_total",
	          "Calls that ended with an error after all that could be done", gave_up,
	          ARRAY_LEN(gave_up));
	by_reason(to, st, "libretry_passed_total",
	          "Calls whose failure went to the program, because it was not to be retried",
	          passed, ARRAY_LEN(passed));
	attempts(to, st);
	waits(to, st);
	states(to, st);
	gauges(to, st);
}

static bool write_to(int fd, const struct stats *st)
{
	FILE *to = fdopen(fd, "w");
	bool ok;

	if (!to) {
		close(fd);
		return false;
	}
	/* Its reader is somebody else. */
	fchmod(fd, 0644);
	stats_prometheus(to, st);
	ok = !ferror(to);
	return fclose(to) == 0 && ok;
}

bool stats_prometheus_file(const char *file, const struct stats *st)
{
	const char *slash = strrchr(file, '/');
	int folder = slash ? (int)(slash - file) + 1 : 0;
	char *aside;
	bool ok;
	int fd;

	/* In the same folder, and under a name that no collector reads. */
	if (asprintf(&aside, "%.*s.%s.XXXXXX", folder, file, file + folder) < 0) {
		cli_say("out of memory");
		return false;
	}
	fd = mkstemp(aside);
	ok = fd >= 0 && write_to(fd, st) && rename(aside, file) == 0;
	if (!ok) {
		cli_say("%s: %s", file, strerror(errno));
		if (fd >= 0)
			unlink(aside);
	}
	free(aside);
	return ok;
}

bool stats_health(FILE *to, const struct stats *st)
{
	static const struct out_column columns[] = {
		{ "destination", NULL }, { "policy", NULL }, { "reason", NULL }, { "for", NULL }
	};
	bool ok = true;
	struct out o;

	for (unsigned i = 0; i < st->count; i++)
		ok = ok && !st->dests[i].hold_left && st->dests[i].breaker != BREAKER_OPEN;
	out_open(&o, to, true);
	out_member(&o, "status", ok ? "ok" : "degraded");
	out_member(&o, "segment", st->segment->whose);
	out_member_bool(&o, "present", st->present);
	out_table(&o, "degraded", NULL, columns, ARRAY_LEN(columns));
	for (unsigned i = 0; i < st->count; i++) {
		const struct stats_dest *d = &st->dests[i];

		if (!d->hold_left && d->breaker != BREAKER_OPEN)
			continue;
		out_cell(&o, d->text);
		out_cell(&o, d->policy);
		out_cell(&o, d->hold_left ? "held" : "breaker open");
		out_cell_duration(&o, (d->hold_left ? d->hold_left : d->breaker_left));
	}
	out_table_end(&o);
	out_close(&o);
	return ok;
}
