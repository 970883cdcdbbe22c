/* SPDX-License-Identifier: MIT */
/* The page: the answer, the figures, the tables. Its size is bounded. */
#include <stdlib.h>
#include <string.h>

#include "base/compat.h"
#include "cli/report_html.h"

enum { DESTS_DRAWN = 12, DEST_ROWS = 100, PROGRAM_ROWS = 50, WORD_ROWS = 20 };

/* ---- the answer ----------------------------------------------------------- */

static bool same_day(const struct rep_totals *t)
{
	return t->first / (86400 * DUR_S) == t->last / (86400 * DUR_S);
}

static void when(const struct report *r, FILE *to)
{
	const struct rep_totals *t = &r->all;

	fputs("Between ", to);
	html_date(to, t->first);
	fputc(' ', to);
	html_clock(to, t->first);
	fputs(" and ", to);
	if (!same_day(t)) {
		html_date(to, t->last);
		fputc(' ', to);
	}
	html_clock(to, t->last);
	fputs(" UTC,", to);
}

static void clause(FILE *to, uint64_t n, const char *one, const char *many)
{
	if (!n)
		return;
	fputs("; ", to);
	html_plural(to, n, one, many);
}

static void saved(const struct report *r, FILE *to)
{
	const struct rep_totals *t = &r->all;
	uint64_t calls = report_calls(t), ok = t->calls[REP_RECOVERED];

	if (!calls) {
		fputs("nothing was retried", to);
	} else if (!ok && !r->has_info) {
		fputs("how many calls were saved is not in the log, which has no line of level "
		      "info", to);
	} else {
		fputs("libretry saved ", to);
		if (ok == calls)
			fputs(calls == 1 ? "the one call" : calls == 2 ? "both calls" : "all ", to);
		else if (ok)
			html_count(to, ok);
		else
			fputs("none", to);
		if (ok != calls)
			fputs(" of ", to);
		if (ok != calls || calls > 2)
			html_plural(to, calls, "call", "calls");
		fputs(" that met trouble", to);
	}
	clause(to, t->calls[REP_GAVE_UP], "gave up", "gave up");
	clause(to, t->calls[REP_ABANDONED], "was abandoned by its program",
	       "were abandoned by their programs");
	clause(to, t->calls[REP_UNFINISHED], "has no end in the log", "have no end in the log");
	clause(to, t->suppressed, "line was suppressed in the log: what is here is the least that "
	                          "happened",
	       "lines were suppressed in the log: what is here is the least that happened");
	clause(to, t->observed, "failure was only observed", "failures were only observed");
}

static void answer(const struct report *r, FILE *to)
{
	const struct rep_totals *t = &r->all;
	bool bad = t->calls[REP_GAVE_UP] > 0 || t->calls[REP_UNFINISHED] > 0;

	fprintf(to, "<p class=\"answer%s\">", bad ? " bad" : "");
	if (!t->lines) {
		fputs("There is no line of libretry in this log.", to);
	} else if (!r->dest_count) {
		when(r, to);
		fputs(" no failure was logged.", to);
	} else {
		when(r, to);
		fputc(' ', to);
		html_plural(to, r->dest_count, "destination failed", "destinations failed");
		if (t->outages) {
			fputs(", in ", to);
			html_plural(to, t->outages, "outage of ", "outages of at most ");
			html_dur(to, t->longest_outage);
		}
		fputs(": ", to);
		saved(r, to);
		fputs(".", to);
	}
	fputs("</p>\n", to);
}

static void source(const struct report *r, FILE *to)
{
	fputs("<p class=\"dim\">", to);
	html_plural(to, r->all.lines, "line", "lines");
	fputs(" of libretry in ", to);
	for (size_t i = 0; i < r->file_count && i < 5; i++) {
		fputs(i ? ", " : "", to);
		html_text(to, strcmp(r->files[i], "-") == 0 ? "standard input" : r->files[i]);
	}
	if (r->file_count > 5)
		fprintf(to, " and %zu more", r->file_count - 5);
	fputs(". All times are UTC.</p>\n", to);
}

/* ---- figures -------------------------------------------------------------- */

static void card(FILE *to, const char *name, uint64_t n, const char *small)
{
	fprintf(to, "<div><dt>%s</dt><dd>", name);
	html_count(to, n);
	fprintf(to, "<small>%s</small></dd></div>", small);
}

static void duration_card(FILE *to, const char *name, int64_t ns, const char *small)
{
	fprintf(to, "<div><dt>%s</dt><dd>", name);
	html_dur(to, ns);
	fprintf(to, "<small>%s</small></dd></div>", small);
}

static void cards(const struct report *r, FILE *to)
{
	const struct rep_totals *t = &r->all;
	uint64_t ok = t->calls[REP_RECOVERED];

	fputs("<dl>", to);
	card(to, "Calls that met trouble", report_calls(t), "their first attempt failed");
	card(to, "Saved", ok, "a later attempt succeeded");
	card(to, "Gave up", t->calls[REP_GAVE_UP], "the program got the error");
	if (t->calls[REP_ABANDONED])
		card(to, "Abandoned", t->calls[REP_ABANDONED], "closed by the program");
	if (t->calls[REP_UNFINISHED])
		card(to, "No end in the log", t->calls[REP_UNFINISHED],
		     "cut, suppressed, or killed");
	if (t->observed)
		card(to, "Only observed", t->observed, "failures in observe mode");
	card(to, "Failed attempts", t->failed, "single attempts, of all these calls");
	card(to, "Outages", t->outages, "first failure to recovery");
	if (t->outages)
		duration_card(to, "Time in outages", t->down, "all destinations together");
	if (ok) {
		duration_card(to, "Median wait", r->waits[ok / 2], "of a saved call");
		duration_card(to, "Longest wait", t->longest_wait, "of a saved call");
	}
	if (t->injected)
		card(to, "Injected", t->injected, "faults made on purpose");
	if (t->suppressed)
		card(to, "Suppressed lines", t->suppressed, "held back in the log");
	fputs("</dl>\n", to);
}

static void success(const struct report *r, FILE *to)
{
	if (report_effective(&r->all) < 0)
		return;
	fputs("<h2>Effective and actual success</h2>\n", to);
	report_bars(&r->all, 1, to);
	fputs("<p>Effective is what the program saw, actual is what the network did. What lies "
	      "between the two was saved by retrying. Calls that succeed at once are not logged, "
	      "so both are shares of the calls that met trouble, not of all calls: the success "
	      "of all is higher, and cannot be known from this log.", to);
	if (r->all.calls[REP_ABANDONED] || r->all.calls[REP_UNFINISHED])
		fputs(" Calls that were abandoned, or whose end is not in the log, are in neither.",
		      to);
	fputs("</p>\n", to);
}

/* ---- tables --------------------------------------------------------------- */

static void head_cell(FILE *to, const char *name, bool is_word)
{
	fprintf(to, "<th scope=\"col\"%s>%s</th>", is_word ? " class=\"w\"" : "", name);
}

static void count_cell(FILE *to, uint64_t n)
{
	fputs("<td>", to);
	html_count(to, n);
	fputs("</td>", to);
}

static void outcome_heads(FILE *to)
{
	static const char *const heads[] = { "Calls", "Saved", "Gave up", "Abandoned", "No end",
		                             "Failed attempts" };

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		head_cell(to, heads[i], false);
}

static void outcome_cells(const struct rep_totals *t, FILE *to)
{
	count_cell(to, report_calls(t));
	count_cell(to, t->calls[REP_RECOVERED]);
	count_cell(to, t->calls[REP_GAVE_UP]);
	count_cell(to, t->calls[REP_ABANDONED]);
	count_cell(to, t->calls[REP_UNFINISHED]);
	count_cell(to, t->failed + t->observed);
}

static void table_open(FILE *to, uint32_t shown, uint32_t count, const char *caption)
{
	fputs("<div class=\"wide\" tabindex=\"0\"><table><caption>", to);
	if (shown < count) {
		fprintf(to, "The first %u of ", shown);
		html_count(to, count);
		fputs(", those with most trouble. ", to);
	}
	fprintf(to, "%s</caption><thead><tr>", caption);
}

static void table_close(FILE *to)
{
	fputs("</tbody></table></div>\n", to);
}

static void dest_row(const struct report *r, uint32_t i, FILE *to)
{
	uint32_t dest = r->dest_order[i];
	const struct rep_totals *t = &r->dest_totals[dest];

	fputs("<tr><th scope=\"row\" class=\"w d\">", to);
	if (i < DESTS_DRAWN)
		fprintf(to, "<a href=\"#d%u\">", i + 1);
	html_text(to, html_dest(r, dest));
	fputs(i < DESTS_DRAWN ? "</a></th>" : "</th>", to);
	outcome_cells(t, to);
	fputs("<td>", to);
	html_share(to, report_effective(t));
	fputs("</td><td>", to);
	html_share(to, report_actual(t));
	fputs("</td>", to);
	count_cell(to, t->outages);
	fputs("<td>", to);
	html_dur(to, t->down);
	fputs("</td></tr>\n", to);
}

static void destinations(const struct report *r, FILE *to)
{
	uint32_t shown = r->dest_count < DEST_ROWS ? r->dest_count : DEST_ROWS;

	if (!shown)
		return;
	fputs("<h2>Destinations</h2>\n", to);
	table_open(to, shown, r->dest_count, "Calls that met trouble, by destination");
	head_cell(to, "Destination", true);
	outcome_heads(to);
	head_cell(to, "Effective", false);
	head_cell(to, "Actual", false);
	head_cell(to, "Outages", false);
	head_cell(to, "Time in outages", false);
	fputs("</tr></thead><tbody>\n", to);
	for (uint32_t i = 0; i < shown; i++)
		dest_row(r, i, to);
	table_close(to);
	fputs("<h2>Timelines</h2>\n", to);
	fputs(report_marks, to);
	fputs("<p class=\"dim\">Where there are too many calls for marks, bars count them; each "
	      "row of bars has a scale of its own.</p>\n", to);
	for (uint32_t i = 0; i < shown && i < DESTS_DRAWN; i++)
		report_destination(r, r->dest_order[i], i + 1, to);
}

static void programs(const struct report *r, FILE *to)
{
	uint32_t shown = r->program_count < PROGRAM_ROWS ? r->program_count : PROGRAM_ROWS;

	if (!shown)
		return;
	fputs("<h2>Programs</h2>\n", to);
	table_open(to, shown, r->program_count,
	           "By process; the log has the numbers of programs, not their names");
	head_cell(to, "PID", true);
	outcome_heads(to);
	head_cell(to, "Lines", false);
	head_cell(to, "First line", true);
	head_cell(to, "Last line", true);
	head_cell(to, "Stopped by", true);
	fputs("</tr></thead><tbody>\n", to);
	for (uint32_t i = 0; i < shown; i++) {
		uint32_t p = r->program_order[i];
		const struct rep_totals *t = &r->program_totals[p];

		fputs("<tr><th scope=\"row\" class=\"w\">", to);
		html_text(to, r->programs.list[p]);
		fputs("</th>", to);
		outcome_cells(t, to);
		count_cell(to, t->lines);
		fputs("<td class=\"m\">", to);
		html_date(to, t->first);
		fputc(' ', to);
		html_clock(to, t->first);
		fputs("</td><td class=\"m\">", to);
		if (!same_day(t)) {
			html_date(to, t->last);
			fputc(' ', to);
		}
		html_clock(to, t->last);
		fputs("</td><td class=\"w\">", to);
		html_text(to, r->program_signal[p] ? r->words.list[r->program_signal[p]] : "-");
		fputs("</td></tr>\n", to);
	}
	table_close(to);
}

struct meaning {
	const char *word, *text;
};

static const char *meaning_of(const struct meaning *list, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].word, word) == 0)
			return list[i].text;
	}
	return "";
}

static void words(const struct report *r, const struct rep_count *list, uint32_t count,
                  const char *caption, const struct meaning *meanings, size_t known, FILE *to)
{
	uint32_t shown = count < WORD_ROWS ? count : WORD_ROWS;

	if (!shown)
		return;
	fprintf(to, "<div class=\"wide\" tabindex=\"0\"><table><caption>%s</caption><thead><tr>",
	        caption);
	head_cell(to, "Word in the log", true);
	head_cell(to, "Times", false);
	head_cell(to, "Meaning", true);
	fputs("</tr></thead><tbody>\n", to);
	for (uint32_t i = 0; i < shown; i++) {
		fputs("<tr><th scope=\"row\" class=\"w\">", to);
		html_text(to, html_word(r, list[i].name));
		fputs("</th>", to);
		count_cell(to, list[i].count);
		fprintf(to, "<td class=\"w\">%s</td></tr>\n",
		        meaning_of(meanings, known, r->words.list[list[i].name]));
	}
	table_close(to);
}

static void reasons(const struct report *r, FILE *to)
{
	static const struct meaning why[] = {
		{ "attempts", "all attempts of the policy (max_attempts) were used up" },
		{ "deadline", "the next wait or attempt would have passed the deadline" },
		{ "budget", "the retry budget was empty" },
		{ "breaker", "the circuit breaker was open" },
		{ "concurrent", "as many other calls as may be were in a retry" },
		{ "stopping", "a stop signal had been caught" },
		{ "interrupted", "a signal handler ended the wait" },
		{ "not-retryable", "the last error is not one that the policy retries" },
		{ "other-address", "another address of the name could answer" },
		{ "name-exhausted", "the name had just used up its retries" },
	};
	static const struct meaning what[] = {
		{ "ECONNREFUSED", "nothing listened there" },
		{ "ETIMEDOUT", "no answer in time" },
		{ "EHOSTUNREACH", "no way to the host" },
		{ "ENETUNREACH", "no way to the network" },
		{ "ENETDOWN", "the network was down" },
		{ "EHOSTDOWN", "the host was down" },
		{ "ECONNRESET", "the connection was reset" },
		{ "ECONNABORTED", "the connection was broken off" },
		{ "EPIPE", "the other side had closed" },
		{ "EADDRNOTAVAIL", "no free local port, or no such local address" },
		{ "ENOBUFS", "no buffer space on this machine" },
		{ "ENOMEM", "no memory on this machine" },
		{ "EAGAIN", "the queue of the server was full" },
		{ "ENOENT", "the Unix socket was not there" },
		{ "EAI_AGAIN", "the name server gave no answer" },
		{ "TRY_AGAIN", "the name server gave no answer" },
		{ "EAI_NONAME", "the name does not exist" },
		{ "HOST_NOT_FOUND", "the name does not exist" },
	};

	if (!r->error_count && !r->reason_count)
		return;
	fputs("<h2>Reasons</h2>\n", to);
	words(r, r->reasons, r->reason_count, "Why calls were given up", why, ARRAY_LEN(why), to);
	words(r, r->errors, r->error_count, "What failed: errors of the attempts that were logged",
	      what, ARRAY_LEN(what), to);
}

/* ---- what the log is worth ------------------------------------------------ */

static void note(FILE *to, uint64_t n, const char *one, const char *many)
{
	if (!n)
		return;
	fputs("<li>", to);
	html_plural(to, n, one, many);
	fputs("</li>\n", to);
}

static void about(const struct report *r, FILE *to)
{
	const struct rep_totals *t = &r->all;

	fputs("<h2>About this log</h2>\n<ul>\n", to);
	note(to, t->lines, "line of libretry was read.", "lines of libretry were read.");
	note(to, t->suppressed,
	     "line was suppressed by the flood protection (<code>log.burst</code>): attempts and "
	     "outcomes are missing, and the figures here are the least that happened.",
	     "lines were suppressed by the flood protection (<code>log.burst</code>): attempts and "
	     "outcomes are missing, and the figures here are the least that happened.");
	note(to, r->damaged, "line is damaged, or of another version, and was passed over.",
	     "lines are damaged, or of another version, and were passed over.");
	note(to, r->foreign, "line was written by others.", "lines were written by others.");
	note(to, t->injected, "fault was injected on purpose; it counts like any other.",
	     "faults were injected on purpose; they count like any others.");
	note(to, t->moved, "call went to another place than the one asked for.",
	     "calls went to other places than the ones asked for.");
	note(to, t->passed, "call was passed through without a retry (level debug).",
	     "calls were passed through without a retry (level debug).");
	if (t->lines && !r->has_info)
		fputs("<li>No line has level info. With <code>log.level = \"warn\"</code> "
		      "recoveries are not logged, and outages seem to have no end.</li>\n", to);
	fputs("<li>The end of an outage is the first recovery that was logged. If nothing was "
	      "being retried when the destination came back, its end is not seen; trouble more "
	      "than a minute later counts as another outage.</li>\n"
	      "<li>Lines name no call. Retries of one program to one destination are put together "
	      "by their numbers and times; side by side they can be taken for each other, which "
	      "changes the lines of a timeline, but no outcome.</li>\n</ul>\n", to);
	if (!r->message_count)
		return;
	fprintf(to, "<h3>What libretry said about itself</h3>\n<ul>\n");
	for (uint32_t i = 0; i < r->message_count; i++) {
		fputs("<li><code>", to);
		html_text(to, r->messages[i]);
		fputs("</code></li>\n", to);
	}
	fputs("</ul>\n", to);
}

void report_page(const struct report *r, const char *title, FILE *to)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
	      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>", to);
	html_text(to, title);
	fprintf(to, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>", report_style);
	html_text(to, title);
	fputs("</h1>\n", to);
	answer(r, to);
	source(r, to);
	if (r->dest_count) {
		cards(r, to);
		success(r, to);
	}
	destinations(r, to);
	reasons(r, to);
	programs(r, to);
	about(r, to);
	fputs("</main>\n</body>\n</html>\n", to);
}
