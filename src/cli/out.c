/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/fmt.h"
#include "cli/cli.h"
#include "cli/out.h"

static void *need(void *memory)
{
	if (!memory) {
		cli_say("out of memory");
		exit(EXIT_CHECK_UNREADABLE);
	}
	return memory;
}

void out_printable(char *text)
{
	unsigned char lead = 0;
	unsigned more = 0; /* bytes of a character in UTF-8 that are to come */

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (more > 0 && (c & 0xc0) == 0x80) {
			more--;
			if (lead != 0xc2 || c >= 0xa0)
				continue;
			text[-1] = '?';
		} else {
			lead = c;
			more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc2 ? 1 : 0;
		}
		if (c < 0x20 || c == 0x7f || (c >= 0x80 && c < 0xa0))
			*text = '?';
	}
}

static void json_string(FILE *to, const char *text)
{
	/* Six bytes for each at worst: \u00NN. */
	size_t room = strlen(text) * 6 + 1;
	char *buf = need(malloc(room));
	struct fmt f;

	fmt_init(&f, buf, room);
	fmt_json(&f, text, strlen(text));
	fmt_end(&f);
	fprintf(to, "\"%s\"", buf);
	free(buf);
}

static void json_key(struct out *o, const char *key)
{
	fputs(o->first ? "\n  " : ",\n  ", o->to);
	o->first = false;
	json_string(o->to, key);
	fputs(": ", o->to);
}

void out_open(struct out *o, FILE *to, bool json)
{
	*o = (struct out){ .to = to, .json = json, .first = true };
	if (json)
		fputc('{', to);
}

void out_open_list(struct out *o, FILE *to, bool json)
{
	*o = (struct out){ .to = to, .json = json, .list = true, .first = true };
	if (json)
		fputc('[', to);
}

void out_close(struct out *o)
{
	if (o->json)
		fputs(o->list ? "\n]\n" : "\n}\n", o->to);
	free(o->cells);
	o->cells = NULL;
}

void out_say(struct out *o, const char *format, ...)
{
	va_list args;
	char *text = NULL;

	if (o->json)
		return;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	need(text);
	out_printable(text);
	fprintf(o->to, "%s\n", text);
	free(text);
}

void out_member(struct out *o, const char *key, const char *value)
{
	if (!o->json)
		return;
	json_key(o, key);
	if (value)
		json_string(o->to, value);
	else
		fputs("null", o->to);
}

void out_member_int(struct out *o, const char *key, int64_t value)
{
	if (!o->json)
		return;
	json_key(o, key);
	fprintf(o->to, "%" PRId64, value);
}

void out_member_bool(struct out *o, const char *key, bool value)
{
	if (!o->json)
		return;
	json_key(o, key);
	fputs(value ? "true" : "false", o->to);
}

void out_table(struct out *o, const char *key, const char *title,
               const struct out_column *columns, size_t column_count)
{
	o->key = key;
	o->title = title;
	o->columns = columns;
	o->column_count = column_count;
	o->cell_count = 0;
}

static void add_cell(struct out *o, const char *text, bool raw)
{
	if (o->cell_count == o->cell_room) {
		o->cell_room = o->cell_room ? 2 * o->cell_room : 64;
		o->cells = need(reallocarray(o->cells, o->cell_room, sizeof(*o->cells)));
	}
	o->cells[o->cell_count].text = text ? need(strdup(text)) : NULL;
	o->cells[o->cell_count].raw = raw;
	o->cell_count++;
}

void out_cell(struct out *o, const char *text)
{
	add_cell(o, text, false);
}

void out_cell_int(struct out *o, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	add_cell(o, text, true);
}

void out_cell_bool(struct out *o, bool value)
{
	if (o->json)
		add_cell(o, value ? "true" : "false", true);
	else
		add_cell(o, value ? "yes" : "no", false);
}

/* "null" is for what is no finite number. */
static void fmt_real(char *text, size_t size, double value, int decimals)
{
	size_t len;

	if (!isfinite(value)) {
		snprintf(text, size, "null");
		return;
	}
	len = (size_t)snprintf(text, size, "%.*f", decimals, value);
	if (len >= size) {
		snprintf(text, size, "%.17g", value);
	} else if (decimals > 0) {
		while (text[len - 1] == '0')
			len--;
		text[text[len - 1] == '.' ? len - 1 : len] = '\0';
	}
}

void out_member_real(struct out *o, const char *key, double value, int decimals)
{
	char text[64];

	if (!o->json)
		return;
	fmt_real(text, sizeof(text), value, decimals);
	json_key(o, key);
	fputs(text, o->to);
}

void out_cell_real(struct out *o, double value, int decimals)
{
	char text[64];

	fmt_real(text, sizeof(text), value, decimals);
	add_cell(o, isfinite(value) ? text : NULL, true);
}

void out_cell_duration(struct out *o, int64_t ns)
{
	char text[48];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	if (!o->json)
		fmt_dur(&f, ns);
	else if (ns == DUR_NONE)
		fmt_str(&f, "none");
	else
		fmt_dur_exact(&f, ns);
	fmt_end(&f);
	add_cell(o, text, false);
}

static const char *shown(const struct out_cell *cell)
{
	return cell->text && cell->text[0] ? cell->text : "-";
}

/* Characters of <text> on the screen: the bytes that begin one, in UTF-8. */
static size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static size_t column_width(const struct out *o, size_t column)
{
	size_t width = text_width(o->columns[column].heading);

	for (size_t i = column; i < o->cell_count; i += o->column_count) {
		size_t len = text_width(shown(&o->cells[i]));

		if (len > width)
			width = len;
	}
	return width;
}

/* The last column is not padded: no blanks at the ends of lines. */
static void text_cell(struct out *o, const char *text, size_t width, bool last)
{
	if (last)
		fprintf(o->to, "%s\n", text);
	else
		fprintf(o->to, "%s%*s  ", text, (int)(width - text_width(text)), "");
}

static void table_text(struct out *o)
{
	size_t *widths = need(calloc(o->column_count + 1, sizeof(*widths)));
	size_t last = 0;

	for (size_t i = 0; i < o->cell_count; i++) {
		if (o->cells[i].text)
			out_printable(o->cells[i].text);
	}
	for (size_t c = 0; c < o->column_count; c++) {
		if (!o->columns[c].heading)
			continue;
		widths[c] = column_width(o, c);
		last = c;
	}
	fputc('\n', o->to);
	if (o->title)
		fprintf(o->to, "%s\n", o->title);
	for (size_t c = 0; c < o->column_count; c++) {
		if (o->columns[c].heading)
			text_cell(o, o->columns[c].heading, widths[c], c == last);
	}
	for (size_t i = 0; i < o->cell_count; i++) {
		size_t c = i % o->column_count;

		if (o->columns[c].heading)
			text_cell(o, shown(&o->cells[i]), widths[c], c == last);
	}
	free(widths);
}

static void json_row(struct out *o, const struct out_cell *row)
{
	const char *between = "{";

	for (size_t c = 0; c < o->column_count; c++) {
		if (!o->columns[c].key)
			continue;
		fputs(between, o->to);
		between = ", ";
		json_string(o->to, o->columns[c].key);
		fputs(": ", o->to);
		if (!row[c].text)
			fputs("null", o->to);
		else if (row[c].raw)
			fputs(row[c].text, o->to);
		else
			json_string(o->to, row[c].text);
	}
	fputc('}', o->to);
}

static void list_json(struct out *o)
{
	for (size_t i = 0; i < o->cell_count; i += o->column_count) {
		fputs(o->first ? "\n  " : ",\n  ", o->to);
		o->first = false;
		json_row(o, &o->cells[i]);
	}
}

static void table_json(struct out *o)
{
	json_key(o, o->key);
	fputc('[', o->to);
	for (size_t i = 0; i < o->cell_count; i += o->column_count) {
		fputs(i ? ",\n    " : "\n    ", o->to);
		json_row(o, &o->cells[i]);
	}
	fputs(o->cell_count ? "\n  ]" : "]", o->to);
}

void out_table_end(struct out *o)
{
	if (o->json && o->list)
		list_json(o);
	else if (o->json)
		table_json(o);
	else if (o->cell_count)
		table_text(o);
	for (size_t i = 0; i < o->cell_count; i++)
		free(o->cells[i].text);
	o->cell_count = 0;
}
