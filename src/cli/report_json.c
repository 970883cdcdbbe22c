/* SPDX-License-Identifier: MIT */
/* The figures of the page for programs. */
#include "base/compat.h"
#include "base/fmt.h"
#include "cli/out.h"
#include "cli/report.h"

static void moment(struct out *o, int64_t ns)
{
	char text[40];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	fmt_utc(&f, ns / DUR_S, ns % DUR_S);
	fmt_end(&f);
	out_cell(o, text);
}

static void share(struct out *o, int64_t ppm)
{
	if (ppm < 0)
		out_cell(o, NULL);
	else
		out_cell_real(o, (double)ppm / PPM, 6);
}

static void totals_row(struct out *o, const struct rep_totals *t)
{
	out_cell_int(o, (int64_t)report_calls(t));
	out_cell_int(o, (int64_t)t->calls[REP_RECOVERED]);
	out_cell_int(o, (int64_t)t->calls[REP_GAVE_UP]);
	out_cell_int(o, (int64_t)t->calls[REP_ABANDONED]);
	out_cell_int(o, (int64_t)t->calls[REP_UNFINISHED]);
	out_cell_int(o, (int64_t)t->observed);
	out_cell_int(o, (int64_t)t->failed);
	share(o, report_effective(t));
	share(o, report_actual(t));
	out_cell_int(o, (int64_t)t->lines);
	out_cell_int(o, (int64_t)t->suppressed);
}

#define TOTALS \
	{ "calls", NULL }, { "saved", NULL }, { "gave_up", NULL }, { "abandoned", NULL }, \
	{ "unfinished", NULL }, { "observed", NULL }, { "failed_attempts", NULL }, \
	{ "effective", NULL }, { "actual", NULL }, { "lines", NULL }, { "suppressed", NULL }

static void json_totals(struct out *o, const struct report *r)
{
	static const struct out_column columns[] = { TOTALS, { "outages", NULL },
		                                     { "down", NULL } };

	out_table(o, "total", NULL, columns, ARRAY_LEN(columns));
	totals_row(o, &r->all);
	out_cell_int(o, (int64_t)r->all.outages);
	out_cell_duration(o, r->all.down);
	out_table_end(o);
}

static void json_dests(struct out *o, const struct report *r)
{
	static const struct out_column columns[] = { { "dest", NULL }, TOTALS, { "outages", NULL },
		                                     { "down", NULL } };

	out_table(o, "destinations", NULL, columns, ARRAY_LEN(columns));
	for (uint32_t i = 0; i < r->dest_count; i++) {
		const struct rep_totals *t = &r->dest_totals[r->dest_order[i]];

		out_cell(o, r->dests.list[r->dest_order[i]]);
		totals_row(o, t);
		out_cell_int(o, (int64_t)t->outages);
		out_cell_duration(o, t->down);
	}
	out_table_end(o);
}

static void json_programs(struct out *o, const struct report *r)
{
	static const struct out_column columns[] = { { "pid", NULL }, TOTALS };

	out_table(o, "programs", NULL, columns, ARRAY_LEN(columns));
	for (uint32_t i = 0; i < r->program_count; i++) {
		out_cell(o, r->programs.list[r->program_order[i]]);
		totals_row(o, &r->program_totals[r->program_order[i]]);
	}
	out_table_end(o);
}

static void json_outages(struct out *o, const struct report *r)
{
	static const struct out_column columns[] = { { "dest", NULL }, { "from", NULL },
		                                     { "to", NULL }, { "length", NULL },
		                                     { "failed_attempts", NULL },
		                                     { "suppressed", NULL },
		                                     { "recovered", NULL } };

	out_table(o, "outages", NULL, columns, ARRAY_LEN(columns));
	for (uint32_t i = 0; i < r->outage_count; i++) {
		const struct rep_outage *x = &r->outages[i];

		out_cell(o, r->dests.list[x->dest]);
		moment(o, x->from);
		moment(o, x->to);
		out_cell_duration(o, x->to - x->from);
		out_cell_int(o, (int64_t)x->failed);
		out_cell_int(o, (int64_t)x->suppressed);
		out_cell_bool(o, x->recovered);
	}
	out_table_end(o);
}

static void json_words(struct out *o, const struct report *r, const char *key,
                       const struct rep_count *list, uint32_t count)
{
	static const struct out_column columns[] = { { "name", NULL }, { "count", NULL } };

	out_table(o, key, NULL, columns, ARRAY_LEN(columns));
	for (uint32_t i = 0; i < count; i++) {
		out_cell(o, r->words.list[list[i].name]);
		out_cell_int(o, (int64_t)list[i].count);
	}
	out_table_end(o);
}

void report_json(const struct report *r, FILE *to)
{
	struct out o;

	out_open(&o, to, true);
	out_member_int(&o, "lines", (int64_t)r->all.lines);
	out_member_int(&o, "damaged", (int64_t)r->damaged);
	out_member_int(&o, "foreign", (int64_t)r->foreign);
	out_member_int(&o, "injected", (int64_t)r->all.injected);
	out_member_bool(&o, "has_info", r->has_info);
	json_totals(&o, r);
	json_dests(&o, r);
	json_programs(&o, r);
	json_outages(&o, r);
	json_words(&o, r, "reasons", r->reasons, r->reason_count);
	json_words(&o, r, "errors", r->errors, r->error_count);
	out_close(&o);
}
