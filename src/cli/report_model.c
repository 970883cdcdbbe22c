/* SPDX-License-Identifier: MIT */
/* From events in any order to everything that the page tells. */
#include "cli/report_model.h"

#include <stdlib.h>
#include <string.h>

static int compare_events(const void *a, const void *b)
{
	const struct rep_event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* A counting sort: events keep their order within a destination. */
static void index_dests(struct report *r)
{
	uint32_t *start = report_need(calloc(r->dests.count + 2, sizeof(*start)));
	uint32_t *at = report_need(calloc(r->dests.count + 1, sizeof(*at)));

	for (uint32_t i = 0; i < r->event_count; i++)
		start[r->events[i].dest + 1]++;
	for (uint32_t d = 0; d < r->dests.count; d++) {
		start[d + 1] += start[d];
		at[d] = start[d];
	}
	r->by_dest = report_need(calloc(r->event_count + 1, sizeof(*r->by_dest)));
	for (uint32_t i = 0; i < r->event_count; i++)
		r->by_dest[at[r->events[i].dest]++] = i;
	r->dest_start = start;
	free(at);
}

/* ---- totals --------------------------------------------------------------- */

static void count_event(struct rep_totals *t, const struct rep_event *e)
{
	if (!t->lines++)
		t->first = e->time;
	t->last = e->time;
	switch ((enum event_kind)e->kind) {
	case EVENT_WOULD_RETRY:
		t->observed++;
		break;
	case EVENT_MOVED:
	case EVENT_FALLBACK:
	case EVENT_REDIRECT:
		t->moved++;
		break;
	case EVENT_SUPPRESSED:
		t->suppressed += e->count;
		break;
	case EVENT_PASSED:
		t->passed++;
		break;
	case EVENT_INJECTED:
		t->injected++;
		break;
	default:
		break;
	}
}

static void count_call(struct rep_totals *t, const struct rep_call *c)
{
	t->calls[c->outcome]++;
	t->failed += c->failed;
	if (c->outcome == REP_RECOVERED || c->outcome == REP_GAVE_UP)
		t->attempts += c->attempts;
	if (c->outcome != REP_RECOVERED)
		return;
	t->waited = dur_add(t->waited, c->waited);
	if (c->waited > t->longest_wait)
		t->longest_wait = c->waited;
}

static void count_outage(struct rep_totals *t, const struct rep_outage *o)
{
	t->outages++;
	t->down = dur_add(t->down, o->to - o->from);
	if (o->to - o->from > t->longest_outage)
		t->longest_outage = o->to - o->from;
}

static int compare_waits(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void count_all(struct report *r)
{
	uint32_t waits = 0;

	r->dest_totals = report_need(calloc(r->dests.count + 1, sizeof(*r->dest_totals)));
	r->program_totals = report_need(calloc(r->programs.count + 1,
	                                       sizeof(*r->program_totals)));
	r->program_signal = report_need(calloc(r->programs.count + 1,
	                                       sizeof(*r->program_signal)));
	r->waits = report_need(calloc(r->call_count + 1, sizeof(*r->waits)));
	for (uint32_t i = 0; i < r->event_count; i++) {
		const struct rep_event *e = &r->events[i];

		count_event(&r->all, e);
		count_event(&r->dest_totals[e->dest], e);
		count_event(&r->program_totals[e->program], e);
		if (e->kind == EVENT_STOPPING)
			r->program_signal[e->program] = e->reason;
	}
	for (uint32_t i = 0; i < r->call_count; i++) {
		const struct rep_call *c = &r->calls[i];

		count_call(&r->all, c);
		count_call(&r->dest_totals[c->dest], c);
		count_call(&r->program_totals[c->program], c);
		if (c->outcome == REP_RECOVERED)
			r->waits[waits++] = c->waited;
	}
	qsort(r->waits, waits, sizeof(*r->waits), compare_waits);
	for (uint32_t i = 0; i < r->outage_count; i++) {
		count_outage(&r->all, &r->outages[i]);
		count_outage(&r->dest_totals[r->outages[i].dest], &r->outages[i]);
	}
}

/* ---- what comes first ----------------------------------------------------- */

static uint64_t weight(const struct rep_totals *t)
{
	return t->failed + t->observed + report_calls(t);
}

struct weighed {
	const struct rep_totals *totals;
	const struct rep_names *names;
};

static int compare_weights(const void *a, const void *b, void *weighed)
{
	const struct weighed *w = weighed;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t wx = weight(&w->totals[x]), wy = weight(&w->totals[y]);

	if (wx != wy)
		return wx > wy ? -1 : 1;
	return strcmp(w->names->list[x], w->names->list[y]);
}

/* Number 0 stands for lines without a name; <all>: also those without trouble. */
static uint32_t *in_order(const struct rep_totals *totals, const struct rep_names *names,
                          bool all, uint32_t *count)
{
	uint32_t *list = report_need(calloc(names->count + 1, sizeof(*list)));
	struct weighed weighed = { totals, names };

	for (uint32_t i = 0; i < names->count; i++) {
		if (weight(&totals[i]) || (all && totals[i].lines))
			list[(*count)++] = i;
	}
	qsort_r(list, *count, sizeof(*list), compare_weights, &weighed);
	return list;
}

static int compare_counts(const void *a, const void *b, void *names)
{
	const struct rep_count *x = a, *y = b;
	char **list = ((struct rep_names *)names)->list;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(list[x->name], list[y->name]);
}

static struct rep_count *frequent(const uint64_t *counts, struct rep_names *names,
                                  uint32_t *count)
{
	struct rep_count *list = report_need(calloc(names->count + 1, sizeof(*list)));

	for (uint32_t i = 0; i < names->count; i++) {
		if (counts[i])
			list[(*count)++] = (struct rep_count){ i, counts[i] };
	}
	qsort_r(list, *count, sizeof(*list), compare_counts, names);
	return list;
}

static void count_words(struct report *r)
{
	uint64_t *errors = report_need(calloc(r->words.count + 1, sizeof(*errors)));
	uint64_t *reasons = report_need(calloc(r->words.count + 1, sizeof(*reasons)));

	for (uint32_t i = 0; i < r->event_count; i++) {
		const struct rep_event *e = &r->events[i];

		if (e->kind == EVENT_GAVE_UP)
			reasons[e->reason]++;
		if (e->kind == EVENT_GAVE_UP || e->kind == EVENT_RETRY ||
		    e->kind == EVENT_WOULD_RETRY)
			errors[e->error]++;
	}
	r->errors = frequent(errors, &r->words, &r->error_count);
	r->reasons = frequent(reasons, &r->words, &r->reason_count);
	free(errors);
	free(reasons);
}

void report_model(struct report *r)
{
	if (r->event_count)
		qsort(r->events, r->event_count, sizeof(*r->events), compare_events);
	report_find_calls(r);
	index_dests(r);
	report_find_outages(r);
	count_all(r);
	count_words(r);
	r->dest_order = in_order(r->dest_totals, &r->dests, false, &r->dest_count);
	r->program_order = in_order(r->program_totals, &r->programs, true,
	                            &r->program_count);
}

uint64_t report_calls(const struct rep_totals *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < REP_OUTCOMES; i++)
		sum += t->calls[i];
	return sum;
}

static int64_t share(uint64_t part, uint64_t whole)
{
	return whole ? (int64_t)((double)part / (double)whole * PPM) : -1;
}

int64_t report_effective(const struct rep_totals *t)
{
	return share(t->calls[REP_RECOVERED], t->calls[REP_RECOVERED] + t->calls[REP_GAVE_UP]);
}

int64_t report_actual(const struct rep_totals *t)
{
	return share(t->calls[REP_RECOVERED], t->attempts);
}
