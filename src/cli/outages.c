/* SPDX-License-Identifier: MIT */
#include "cli/outages.h"

#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "cli/need.h"
#include "policy/classify.h"

enum what { FAILED, RECOVERED };

struct moment {
	const char *dest; /* one of .names */
	int64_t time;
	size_t order; /* of the lines */
	int64_t elapsed;
	enum what what;
	struct err error;
};

/* A process that is at another place than the destination: its success there says
 * nothing. */
struct away {
	const char *dest;
	long pid;
};

struct reading {
	struct moment *moments;
	size_t count, room;
	char **names;
	size_t name_count, name_room;
	struct away *away;
	size_t away_count, away_room;
};

static void *grown(void *list, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return list;
	*room = *room ? 2 * *room : 64;
	return need(reallocarray(list, *room, size));
}

static const char *name_of(struct reading *g, const char *dest)
{
	/* The lines of one destination tend to stand together. */
	for (size_t i = g->name_count; i-- > 0;)
		if (strcmp(g->names[i], dest) == 0)
			return g->names[i];
	g->names = grown(g->names, g->name_count, &g->name_room, sizeof(*g->names));
	g->names[g->name_count] = need(strdup(dest));
	return g->names[g->name_count++];
}

static struct away *find_away(struct reading *g, const char *dest, long pid)
{
	for (size_t i = 0; i < g->away_count; i++)
		if (g->away[i].dest == dest && g->away[i].pid == pid)
			return &g->away[i];
	return NULL;
}

static void note_away(struct reading *g, const char *dest, long pid)
{
	if (find_away(g, dest, pid))
		return;
	g->away = grown(g->away, g->away_count, &g->away_room, sizeof(*g->away));
	g->away[g->away_count++] = (struct away){ dest, pid };
}

static void add(struct reading *g, const struct log_line *l, enum what what)
{
	struct moment m = { .dest = name_of(g, l->dest),
	                    .time = l->time,
	                    .order = g->count,
	                    .what = what };
	struct away *away = find_away(g, m.dest, l->pid);

	if (l->kind == EVENT_RECOVERED || l->kind == EVENT_GAVE_UP) {
		bool elsewhere = away && what == RECOVERED;

		if (away)
			*away = g->away[--g->away_count];
		if (elsewhere)
			return;
	}
	/* gave-up does not say how long the last attempt took. */
	m.elapsed = l->kind == EVENT_GAVE_UP ? -1 : l->elapsed;
	if (l->error[0])
		err_parse(l->error, &m.error);
	g->moments = grown(g->moments, g->count, &g->room, sizeof(*g->moments));
	g->moments[g->count++] = m;
}

static void take(struct seen *s, struct reading *g, const struct log_line *l)
{
	if (l->kind == EVENT_SUPPRESSED)
		s->suppressed += l->lines;
	if (l->kind == EVENT_INJECTED)
		s->injected++;
	if (!l->dest[0])
		return;
	switch (l->kind) {
	case EVENT_RETRY:
	case EVENT_WOULD_RETRY:
		add(g, l, FAILED);
		break;
	case EVENT_GAVE_UP:
		/* What ended it was another thing than the destination. */
		if (strcmp(l->reason, "attempts") == 0 || strcmp(l->reason, "deadline") == 0)
			add(g, l, FAILED);
		break;
	case EVENT_FALLBACK:
		note_away(g, name_of(g, l->dest), l->pid);
		break;
	case EVENT_RECOVERED:
		add(g, l, RECOVERED);
		break;
	default:
		break;
	}
}

static int compare(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;
	int by_name = strcmp(a->dest, b->dest);

	if (by_name)
		return by_name;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int compare_times(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

static int64_t median_elapsed(const struct moment *m, size_t count)
{
	int64_t *list = NULL;
	size_t n = 0, room = 0;
	int64_t median = 0;

	for (size_t i = 0; i < count; i++) {
		if (m[i].what != FAILED || m[i].elapsed < 0)
			continue;
		list = grown(list, n, &room, sizeof(*list));
		list[n++] = m[i].elapsed;
	}
	if (n) {
		qsort(list, n, sizeof(*list), compare_times);
		median = list[n / 2];
	}
	free(list);
	return median;
}

/* The moments of one destination, in time. */
static void group(struct dest_seen *d, const struct moment *m, size_t count, int64_t gap)
{
	struct outage_seen *now = NULL;
	size_t room = 0;

	for (size_t i = 0; i < count; i++) {
		if (m[i].what == RECOVERED) {
			if (now && now->open) {
				now->open = false;
				now->end = m[i].time;
			}
			now = NULL;
			continue;
		}
		if (m[i].error.code)
			err_set_add(&d->errors, m[i].error);
		d->failures++;
		if (!now || m[i].time - (m[i].elapsed > 0 ? m[i].elapsed : 0) - now->last > gap) {
			int64_t start = m[i].time - (m[i].elapsed > 0 ? m[i].elapsed : 0);

			/* An attempt that began while it was down, told of later. */
			if (d->count && start < d->list[d->count - 1].end)
				start = d->list[d->count - 1].end;
			d->list = grown(d->list, d->count, &room, sizeof(*d->list));
			now = &d->list[d->count++];
			*now = (struct outage_seen){ .start = start, .open = true };
		}
		now->failures++;
		now->last = now->end = m[i].time;
	}
	d->elapsed = median_elapsed(m, count);
}

static int compare_dests(const void *left, const void *right)
{
	const struct dest_seen *a = left, *b = right;

	if (a->failures != b->failures)
		return a->failures > b->failures ? -1 : 1;
	return strcmp(a->dest, b->dest);
}

static void group_all(struct seen *s, struct reading *g, int64_t gap)
{
	size_t room = 0;

	if (g->count)
		qsort(g->moments, g->count, sizeof(*g->moments), compare);
	for (size_t from = 0, to; from < g->count; from = to) {
		struct dest_seen d = { .dest = NULL };

		for (to = from + 1; to < g->count && g->moments[to].dest == g->moments[from].dest;)
			to++;
		group(&d, g->moments + from, to - from, gap);
		if (!d.count)
			continue;
		d.dest = need(strdup(g->moments[from].dest));
		s->dests = grown(s->dests, s->count, &room, sizeof(*s->dests));
		s->dests[s->count++] = d;
	}
	if (s->count)
		qsort(s->dests, s->count, sizeof(*s->dests), compare_dests);
}

void seen_read(struct seen *s, struct logread *r, int64_t gap)
{
	struct reading g = { .moments = NULL };
	struct log_line l;

	*s = (struct seen){ .dests = NULL };
	while (logread_next(r, &l)) {
		if (s->lines++ == 0)
			s->first = s->last = l.time;
		s->first = l.time < s->first ? l.time : s->first;
		s->last = l.time > s->last ? l.time : s->last;
		take(s, &g, &l);
	}
	group_all(s, &g, gap);
	for (size_t i = 0; i < g.name_count; i++)
		free(g.names[i]);
	free(g.names);
	free(g.moments);
	free(g.away);
}

void seen_free(struct seen *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->dests[i].dest);
		free(s->dests[i].list);
	}
	free(s->dests);
}

size_t seen_intervals(const struct dest_seen *d, struct interval *list, size_t *open)
{
	size_t count = 0, without_end = 0;

	for (size_t i = 0; i < d->count; i++) {
		const struct outage_seen *one = &d->list[i];

		without_end += one->open;
		/* One failure alone has no length. */
		if (one->end > one->start && !(one->open && one->failures == 1))
			list[count++] = (struct interval){ one->start, one->end };
	}
	if (open)
		*open = without_end;
	return count;
}
