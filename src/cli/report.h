/* SPDX-License-Identifier: MIT */
/*
 * report.h - what "report" knows about a log: its lines as events in the order
 * of time, the calls that they belong to, outages, totals. Filled by
 * report_read.c and report_model.c, shown by report_page.c and its helpers.
 *
 * The log names no call. Lines are put together by program, operation,
 * destination, number of the attempt and expected time; calls of one program
 * that fail side by side can be taken for each other. That changes no outcome;
 * failed attempts of calls that were abandoned can be counted one off.
 */
#ifndef LIBRETRY_CLI_REPORT_H
#define LIBRETRY_CLI_REPORT_H

#include <stddef.h>

#include "cli/logread.h"

/* Trouble that begins this long after the last sign of earlier trouble is
 * another outage, even if no recovery was seen between them. */
#define REPORT_GAP (60 * DUR_S)

#define REPORT_NO_CALL UINT32_MAX

struct rep_event {
	int64_t time;
	int64_t span;    /* retry: the wait that follows; ends: waited in all; ns */
	int64_t elapsed; /* ns, retry: of the attempt that failed */
	uint64_t count;  /* number of the attempt, of attempts, of lines */
	uint32_t order;  /* as read */
	uint32_t dest, program, error, reason; /* in their tables of names */
	uint32_t call;
	uint8_t kind, op;
	bool told;       /* ends: the last attempt has a line of its own */
};

enum rep_outcome { REP_UNFINISHED = 0, REP_RECOVERED, REP_GAVE_UP, REP_ABANDONED };
enum { REP_OUTCOMES = REP_ABANDONED + 1 };

/* A call that met trouble. */
struct rep_call {
	int64_t from, to; /* begin of its first attempt, last sign of it */
	int64_t next;     /* when the next attempt was due */
	int64_t waited;   /* ns, as the log says at its end, else the waits so far */
	uint64_t attempts;
	uint64_t failed;  /* of them */
	uint32_t dest, program;
	uint32_t lane;    /* for the chart */
	uint8_t outcome, op;
};

struct rep_outage {
	int64_t from, to; /* first failure; recovery, or last sign of trouble */
	uint64_t failed;  /* attempts, as far as they are logged */
	uint64_t suppressed; /* lines */
	uint32_t dest;
	bool recovered;
};

/* What is counted, in all and for each destination and program. */
struct rep_totals {
	uint64_t lines;
	uint64_t calls[REP_OUTCOMES];
	uint64_t attempts; /* of the calls that ended, the successful ones too */
	uint64_t failed;   /* attempts, of all calls */
	uint64_t observed; /* would-retry */
	uint64_t moved;    /* moved, fallback, redirect */
	uint64_t injected, passed, suppressed;
	int64_t first, last;     /* first and last line */
	int64_t waited;          /* by calls that recovered, in all; ns */
	int64_t longest_wait;    /* ... and at most */
	uint64_t outages;
	int64_t down;            /* ns in outages */
	int64_t longest_outage;
};

/* Texts by number, in the order in which they were first seen. Number 0 is "". */
struct rep_names {
	void *tree;
	char **list;
	uint32_t count;
};

struct rep_count {
	uint32_t name;
	uint64_t count;
};

struct report {
	struct rep_names dests, programs, words; /* words: errors, reasons, signals */
	struct rep_event *events;
	uint32_t event_count;
	struct rep_call *calls;
	uint32_t call_count;
	struct rep_outage *outages; /* in the order of their beginnings */
	uint32_t outage_count;
	uint32_t *by_dest;          /* events of destination d, in the order of time: */
	uint32_t *dest_start;       /* by_dest[dest_start[d]] to [dest_start[d + 1]) */
	uint32_t *dest_order;       /* destinations with trouble, most of it first */
	uint32_t dest_count;        /* in dest_order */
	uint32_t *program_order;    /* the same for programs */
	uint32_t program_count;
	struct rep_totals all;
	struct rep_totals *dest_totals, *program_totals; /* by number */
	uint32_t *program_signal;   /* by number; a word */
	struct rep_count *reasons, *errors; /* most frequent first */
	uint32_t reason_count, error_count;
	int64_t *waits; /* of calls that recovered, in order; .calls[REP_RECOVERED] of them */
	char **messages; /* of the library, the first of them */
	uint32_t message_count, message_total;
	unsigned long damaged, foreign;
	const char *const *files;
	size_t file_count;
	bool has_info; /* a line of level info or debug is there */
};

/* Adds the lines of <path>; false with errno if it cannot be read. After the last
 * file report_model() puts together what is derived. Running out of memory ends
 * the command. */
bool report_read(struct report *r, const char *path);
void report_model(struct report *r);
void report_free(struct report *r);

/* Memory, or the end of the command with a message. */
void *report_need(void *memory);

/* Grows <list> for one more element of <size>; <count> are there. */
void *report_grow(void *list, size_t count, size_t size);

/* Calls that met trouble. */
uint64_t report_calls(const struct rep_totals *t);

/* Attempts with a success among <calls> that the program saw an end of, and
 * among their single attempts; ppm. -1: there were none. */
int64_t report_effective(const struct rep_totals *t);
int64_t report_actual(const struct rep_totals *t);

/* The page, and the same figures as JSON. */
void report_page(const struct report *r, const char *title, FILE *to);
void report_json(const struct report *r, FILE *to);

#endif
