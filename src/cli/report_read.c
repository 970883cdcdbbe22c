/* SPDX-License-Identifier: MIT */
/* The lines of the log as events, and the tables of names they refer to. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/report.h"

/* So many texts of "config" lines are kept. */
enum { MESSAGES_MAX = 20 };

void *report_need(void *memory)
{
	if (!memory) {
		cli_say("report: out of memory");
		exit(EXIT_REPORT_FAILED);
	}
	return memory;
}

void *report_grow(void *list, size_t count, size_t size)
{
	/* At every power of two. */
	if (count & (count - 1))
		return list;
	return report_need(reallocarray(list, count ? 2 * count : 1, size));
}

struct name {
	uint32_t number;
	char text[];
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static void add_name(struct rep_names *names, struct name *name)
{
	name->number = names->count;
	names->list = report_grow(names->list, names->count, sizeof(*names->list));
	names->list[names->count++] = name->text;
	report_need(tsearch(name, &names->tree, compare_names));
}

static struct name *new_name(const char *text)
{
	size_t size = strlen(text) + 1;
	struct name *name = report_need(malloc(sizeof(*name) + size));

	memcpy(name->text, text, size);
	return name;
}

static uint32_t number_of(struct rep_names *names, const char *text)
{
	struct name *name = new_name(text);
	struct name **found;

	if (!names->count)
		add_name(names, new_name(""));
	found = tfind(name, &names->tree, compare_names);
	if (!found) {
		add_name(names, name);
		return name->number;
	}
	free(name);
	return (*found)->number;
}

static void keep_message(struct report *r, const char *text)
{
	r->message_total++;
	if (r->message_count == MESSAGES_MAX)
		return;
	for (uint32_t i = 0; i < r->message_count; i++) {
		if (strcmp(r->messages[i], text) == 0)
			return;
	}
	r->messages = report_grow(r->messages, r->message_count, sizeof(*r->messages));
	r->messages[r->message_count++] = report_need(strdup(text));
}

static bool has_attempt(enum event_kind kind)
{
	return kind == EVENT_RETRY || kind == EVENT_WOULD_RETRY;
}

static void add_event(struct report *r, const struct log_line *l)
{
	struct rep_event *e;
	char pid[24];

	snprintf(pid, sizeof(pid), "%ld", l->pid);
	r->has_info |= l->level >= LOG_INFO_LEVEL;
	if (l->kind == EVENT_CONFIG)
		keep_message(r, l->message);
	r->events = report_grow(r->events, r->event_count, sizeof(*r->events));
	e = &r->events[r->event_count];
	*e = (struct rep_event){
		.time = l->time, .span = l->waited, .elapsed = l->elapsed, .count = l->attempts,
		.order = r->event_count++, .dest = number_of(&r->dests, l->dest),
		.program = number_of(&r->programs, pid), .error = number_of(&r->words, l->error),
		.reason = number_of(&r->words, l->kind == EVENT_STOPPING ? l->signal : l->reason),
		.call = REPORT_NO_CALL, .kind = (uint8_t)l->kind, .op = (uint8_t)l->op,
	};
	if (has_attempt(l->kind)) {
		e->span = l->wait;
		e->count = l->attempt;
	} else if (l->kind == EVENT_SUPPRESSED) {
		e->count = l->lines;
	}
	/* A chart cannot show time that runs backwards. */
	if (e->span < 0)
		e->span = 0;
	if (e->elapsed < 0)
		e->elapsed = 0;
	if (e->elapsed > e->time)
		e->elapsed = e->time;
}

bool report_read(struct report *r, const char *path)
{
	struct logread *log = logread_open(path);
	struct log_line line;

	if (!log)
		return false;
	while (r->event_count < UINT32_MAX - 1 && logread_next(log, &line))
		add_event(r, &line);
	r->damaged += logread_damaged(log);
	r->foreign += logread_foreign(log);
	logread_close(log);
	return true;
}

static void free_names(struct rep_names *names)
{
	tdestroy(names->tree, free);
	free(names->list);
}

void report_free(struct report *r)
{
	for (uint32_t i = 0; i < r->message_count; i++)
		free(r->messages[i]);
	free(r->messages);
	free_names(&r->dests);
	free_names(&r->programs);
	free_names(&r->words);
	free(r->events);
	free(r->calls);
	free(r->outages);
	free(r->by_dest);
	free(r->dest_start);
	free(r->dest_order);
	free(r->program_order);
	free(r->dest_totals);
	free(r->program_totals);
	free(r->program_signal);
	free(r->reasons);
	free(r->errors);
	free(r->waits);
}
