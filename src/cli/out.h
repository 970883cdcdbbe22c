/* SPDX-License-Identifier: MIT */
/*
 * out.h - one emitter for both readers: aligned tables for people, one JSON
 * object for programs. The caller describes a thing once; which of the two
 * comes out is decided at out_open(). Memory that runs out ends the command
 * with a message.
 */
#ifndef LIBRETRY_CLI_OUT_H
#define LIBRETRY_CLI_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct out_column {
	const char *key;     /* in JSON; NULL: not there */
	const char *heading; /* for people; NULL: not shown to them */
};

struct out_cell {
	char *text; /* NULL: null, shown as "-" */
	bool raw;   /* a number or a truth value: no quotes in JSON */
};

struct out {
	FILE *to;
	bool json;
	bool list;  /* the JSON is an array, not an object */
	bool first; /* nothing written in the JSON object yet */
	const char *key;
	const char *title;
	const struct out_column *columns;
	size_t column_count;
	struct out_cell *cells;
	size_t cell_count;
	size_t cell_room;
};

void out_open(struct out *o, FILE *to, bool json);
/* For what is one list: in JSON the rows of the tables that follow are one array, and
 * nothing is around it. No members then, and the tables' keys do not count. */
void out_open_list(struct out *o, FILE *to, bool json);
void out_close(struct out *o);

/* For people only; nothing in JSON. */
void out_say(struct out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For programs only: one member of the object. <value> NULL: null. */
void out_member(struct out *o, const char *key, const char *value);
void out_member_int(struct out *o, const char *key, int64_t value);
void out_member_bool(struct out *o, const char *key, bool value);
/* As out_cell_real(). */
void out_member_real(struct out *o, const char *key, double value, int decimals);

/*
 * A table: begin, then the cells row by row, then end. People get <title> on a
 * line (NULL: none), the headings and the rows, and nothing at all if there is
 * no row; programs get an array of objects under <key>. <columns> must live
 * until out_table_end(); the texts are copied.
 */
void out_table(struct out *o, const char *key, const char *title,
               const struct out_column *columns, size_t column_count);
void out_cell(struct out *o, const char *text); /* NULL: null */
void out_cell_int(struct out *o, int64_t value);
void out_cell_bool(struct out *o, bool value);
/* With at most <decimals>, zeros at the end left out; what is no finite number: null. */
void out_cell_real(struct out *o, double value, int decimals);
/* A duration (ns): "29.9s" for people; in JSON exact and as the configuration
 * spells it, "none" for DUR_NONE. */
void out_cell_duration(struct out *o, int64_t ns);
void out_table_end(struct out *o);

/* Control characters in <text>, also those above 0x7f, become '?', in place: a name from a
 * file must not steer the terminal. */
void out_printable(char *text);

#endif
