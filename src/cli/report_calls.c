/* SPDX-License-Identifier: MIT */
/* Which events belong to one call, and which outages they tell of. */
#include <stdlib.h>
#include <string.h>

#include "cli/report_model.h"

/*
 * Calls that are still going on, in a list for each program, operation and
 * destination. Bounded, so that a log of calls that never end does not take
 * time with the square; what falls out counts as unfinished.
 */
enum { OPEN_BUCKETS = 4096, OPEN_MAX = 256 };

struct open {
	uint32_t *calls[OPEN_BUCKETS];
	uint32_t count[OPEN_BUCKETS];
};

static uint32_t bucket_of(const struct rep_event *e)
{
	uint32_t h = e->dest * 2654435761U ^ e->program * 2246822519U ^ e->op;

	return (h ^ h >> 15) % OPEN_BUCKETS;
}

static void take_out(struct open *o, uint32_t bucket, uint32_t i)
{
	uint32_t *list = o->calls[bucket];

	for (o->count[bucket]--; i < o->count[bucket]; i++)
		list[i] = list[i + 1];
}

static void put_in(struct open *o, uint32_t bucket, uint32_t call)
{
	if (!o->calls[bucket])
		o->calls[bucket] = report_need(calloc(OPEN_MAX, sizeof(*o->calls[bucket])));
	if (o->count[bucket] == OPEN_MAX)
		take_out(o, bucket, 0);
	o->calls[bucket][o->count[bucket]++] = call;
}

static int64_t apart(int64_t a, int64_t b)
{
	return a > b ? dur_sub(a, b) : dur_sub(b, a);
}

/* How badly <c> fits <e>, whose attempt began, or which was itself, at <at>. */
static int64_t misfit(const struct rep_call *c, const struct rep_event *e, int64_t at)
{
	int64_t d = apart(c->next, at);

	return e->kind == EVENT_RETRY ? d : dur_add(d, apart(c->waited, e->span));
}

static bool is_of(const struct rep_call *c, const struct rep_event *e)
{
	return c->dest == e->dest && c->program == e->program && c->op == e->op;
}

/*
 * The open call that <e>, whose attempt began at <began>, goes on with: one that
 * has made <attempts> before, and if there are several the one that was due and,
 * at an end, has waited as long; <waiting>: only if it was not due yet. Index in its bucket, or -1.
 */
static int64_t find_open(const struct report *r, const struct open *o, const struct rep_event *e,
                         uint64_t attempts, int64_t began, bool waiting)
{
	uint32_t bucket = bucket_of(e);
	int64_t best = -1, least = 0;

	for (uint32_t i = 0; i < o->count[bucket]; i++) {
		const struct rep_call *c = &r->calls[o->calls[bucket][i]];
		int64_t d = misfit(c, e, began);

		if (!is_of(c, e) || c->attempts != attempts || (waiting && c->next <= began))
			continue;
		if (best < 0 || d < least) {
			best = i;
			least = d;
		}
	}
	return best;
}

/*
 * The same if lines of it are missing, because they were suppressed: one that has made
 * fewer attempts, was due by then, and began when this one did, as far as it is known:
 * not later than its waits ago, and the latest of those.
 */
static int64_t find_gap(const struct report *r, const struct open *o, const struct rep_event *e,
                        int64_t began)
{
	bool end = e->kind != EVENT_RETRY;
	uint32_t bucket = bucket_of(e);
	int64_t best = -1, latest = 0;

	for (uint32_t i = 0; i < o->count[bucket]; i++) {
		const struct rep_call *c = &r->calls[o->calls[bucket][i]];

		if (!is_of(c, e) || c->attempts + 1 >= e->count || c->next > began ||
		    (end && (c->waited > e->span || dur_add(c->from, e->span) > e->time)))
			continue;
		if (best < 0 || c->from > latest) {
			best = i;
			latest = c->from;
		}
	}
	return best;
}

static uint32_t new_call(struct report *r, const struct rep_event *e)
{
	struct rep_call *c;

	r->calls = report_grow(r->calls, r->call_count, sizeof(*r->calls));
	c = &r->calls[r->call_count];
	*c = (struct rep_call){ .from = e->time - e->elapsed, .dest = e->dest,
		                .program = e->program, .op = e->op };
	return r->call_count++;
}

static void attempt_failed(struct report *r, struct open *o, struct rep_event *e)
{
	int64_t began = e->time - e->elapsed, at = -1;
	struct rep_call *c;

	if (e->count > 1)
		at = find_open(r, o, e, e->count - 1, began, false);
	if (at < 0)
		at = find_gap(r, o, e, began);
	if (at >= 0) {
		e->call = o->calls[bucket_of(e)][at];
	} else {
		e->call = new_call(r, e);
		put_in(o, bucket_of(e), e->call);
	}
	c = &r->calls[e->call];
	c->attempts = c->failed = e->count;
	c->to = e->time;
	c->next = dur_add(e->time, e->span);
	c->waited = dur_add(c->waited, e->span);
}

/* An attempt was announced, and then others had their say, or the time was over. */
static bool may_be_refused(const struct report *r, const struct rep_event *e)
{
	const char *reason = r->words.list[e->reason];

	return e->kind == EVENT_GAVE_UP &&
	       (strcmp(reason, "breaker") == 0 || strcmp(reason, "deadline") == 0);
}

/* Whichever fits better: one whose last attempt has a line of its own, and one where it
 * has none. */
static int64_t find_refused(const struct report *r, const struct open *o,
                            const struct rep_event *e)
{
	const uint32_t *list = o->calls[bucket_of(e)];
	int64_t told = find_open(r, o, e, e->count, e->time, false);
	int64_t untold = e->count > 0 ? find_open(r, o, e, e->count - 1, e->time, false) : -1;

	if (told < 0 || untold < 0)
		return told < 0 ? untold : told;
	return misfit(&r->calls[list[told]], e, e->time) <=
	                       misfit(&r->calls[list[untold]], e, e->time)
	               ? told
	               : untold;
}

/*
 * The call that <e> is the end of. Its last attempt has no line of its own, so
 * one attempt less is known; but a call that was abandoned, or stopped by a
 * signal, may have been waiting, and then no attempt followed.
 */
static int64_t find_ended(const struct report *r, const struct open *o, const struct rep_event *e,
                          enum rep_outcome outcome)
{
	int64_t at = -1;

	if (outcome != REP_RECOVERED)
		at = find_open(r, o, e, e->count, e->time, true);
	if (at < 0 && may_be_refused(r, e))
		at = find_refused(r, o, e);
	if (at < 0 && e->count > 0)
		at = find_open(r, o, e, e->count - 1, e->time, false);
	if (at < 0 && outcome != REP_RECOVERED)
		at = find_open(r, o, e, e->count, e->time, false);
	return at < 0 ? find_gap(r, o, e, e->time) : at;
}

static void call_ended(struct report *r, struct open *o, struct rep_event *e,
                       enum rep_outcome outcome)
{
	int64_t at = find_ended(r, o, e, outcome);
	struct rep_call *c;

	if (at >= 0) {
		e->call = o->calls[bucket_of(e)][at];
		take_out(o, bucket_of(e), (uint32_t)at);
		c = &r->calls[e->call];
		e->told = c->attempts == e->count;
	} else {
		/* Its retries were suppressed, cut off, or below the level of the log. */
		e->call = new_call(r, e);
		c = &r->calls[e->call];
		c->from = e->span < e->time ? e->time - e->span : 0;
		c->failed = e->count > 0 ? e->count - 1 : 0;
	}
	/* What was going on when it was abandoned had not failed. */
	if (outcome == REP_RECOVERED)
		c->failed = e->count > 0 ? e->count - 1 : 0;
	else if (outcome == REP_GAVE_UP)
		c->failed = e->count;
	c->outcome = (uint8_t)outcome;
	c->attempts = e->count;
	c->waited = e->span;
	c->to = e->time;
}

void report_find_calls(struct report *r)
{
	struct open *o = report_need(calloc(1, sizeof(*o)));

	for (uint32_t i = 0; i < r->event_count; i++) {
		struct rep_event *e = &r->events[i];

		if (e->kind == EVENT_RETRY)
			attempt_failed(r, o, e);
		else if (e->kind == EVENT_RECOVERED)
			call_ended(r, o, e, REP_RECOVERED);
		else if (e->kind == EVENT_GAVE_UP)
			call_ended(r, o, e, REP_GAVE_UP);
		else if (e->kind == EVENT_ABANDONED)
			call_ended(r, o, e, REP_ABANDONED);
	}
	for (uint32_t b = 0; b < OPEN_BUCKETS; b++)
		free(o->calls[b]);
	free(o);
}

/* ---- outages -------------------------------------------------------------- */

struct trouble {
	bool open;
	struct rep_outage outage;
	int64_t alive; /* the last sign of it, waits included */
};

static void end_outage(struct report *r, struct trouble *t)
{
	if (t->open) {
		r->outages = report_grow(r->outages, r->outage_count, sizeof(*r->outages));
		r->outages[r->outage_count++] = t->outage;
	}
	t->open = false;
}

static void failure(struct report *r, struct trouble *t, const struct rep_event *e,
                    int64_t began)
{
	int64_t until = e->kind == EVENT_GAVE_UP ? e->time : dur_add(e->time, e->span);

	if (t->open && dur_sub(began, t->alive) > REPORT_GAP)
		end_outage(r, t);
	if (!t->open) {
		t->open = true;
		t->outage = (struct rep_outage){ .from = began, .dest = e->dest };
		t->alive = e->time;
	}
	t->outage.failed += !e->told;
	t->outage.to = e->time;
	if (until > t->alive)
		t->alive = until;
}

static void outages_of(struct report *r, uint32_t dest)
{
	struct trouble t = { .open = false };

	for (uint32_t i = r->dest_start[dest]; i < r->dest_start[dest + 1]; i++) {
		const struct rep_event *e = &r->events[r->by_dest[i]];

		if (e->kind == EVENT_RETRY || e->kind == EVENT_WOULD_RETRY)
			failure(r, &t, e, e->time - e->elapsed);
		else if (e->kind == EVENT_GAVE_UP)
			failure(r, &t, e, t.open ? e->time : r->calls[e->call].from);
		else if (e->kind == EVENT_SUPPRESSED)
			t.outage.suppressed += e->count;
		if (e->kind != EVENT_RECOVERED || !t.open)
			continue;
		t.outage.to = e->time;
		t.outage.recovered = true;
		end_outage(r, &t);
	}
	end_outage(r, &t);
}

static int compare_outages(const void *a, const void *b, void *dests)
{
	const struct rep_outage *x = a, *y = b;
	char **list = dests;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return strcmp(list[x->dest], list[y->dest]);
}

void report_find_outages(struct report *r)
{
	for (uint32_t d = 0; d < r->dests.count; d++)
		outages_of(r, d);
	if (r->outage_count)
		qsort_r(r->outages, r->outage_count, sizeof(*r->outages), compare_outages,
		        r->dests.list);
}
