/* SPDX-License-Identifier: MIT */
#include "cli/logread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/logline.h"

/* Of a longer line the end is looked at: ours are shorter, but what others
 * wrote without a newline may stand in front of one. */
enum { LINE_ROOM = 16384 };

struct logread {
	FILE *file;
	unsigned long number, damaged, foreign;
	size_t len;
	bool whole;      /* .buf has the beginning of the line */
	bool begun;      /* .buf has not, and it was the beginning of one of ours */
	bool terminated; /* a newline was at its end */
	size_t next;     /* in .buf, where another line of ours may begin */
	char buf[LINE_ROOM];
	char store[LINE_ROOM + 1];
};

struct logread *logread_open(const char *path)
{
	bool standard = strcmp(path, "-") == 0;
	struct logread *r = calloc(1, sizeof(*r));
	struct stat st;

	if (!r)
		return NULL;
	r->file = standard ? stdin : fopen(path, "re");
	if (r->file && fstat(fileno(r->file), &st) == 0 && S_ISDIR(st.st_mode)) {
		logread_close(r);
		errno = EISDIR;
		return NULL;
	}
	if (!r->file) {
		free(r);
		return NULL;
	}
	return r;
}

void logread_close(struct logread *r)
{
	if (r->file != stdin)
		fclose(r->file);
	free(r);
}

/* False at the end. */
static bool read_line(struct logread *r)
{
	int c;

	r->len = 0;
	r->whole = true;
	r->begun = false;
	r->terminated = false;
	while ((c = getc_unlocked(r->file)) != EOF && c != '\n') {
		/* What a file that was cut under its writer begins with. */
		if (c == '\0' && r->len == 0)
			continue;
		if (r->len == LINE_ROOM) {
			if (r->whole)
				r->begun = logline_form(r->buf, r->len, true) != LINE_NONE;
			memmove(r->buf, r->buf + LINE_ROOM / 2, LINE_ROOM / 2);
			r->len = LINE_ROOM / 2;
			r->whole = false;
		}
		r->buf[r->len++] = (char)c;
	}
	r->terminated = c == '\n';
	if (c == EOF && r->len == 0)
		return false;
	if (r->len && r->buf[r->len - 1] == '\r')
		r->len--;
	r->number++;
	r->next = 0;
	return true;
}

/* The next place in the line, from .next on, where one of ours begins. */
static enum line_form next_head(const struct logread *r, size_t *at)
{
	for (size_t i = r->next; i < r->len; i++) {
		const char *s = r->buf + i;
		enum line_form form;

		if (*s != '{' && *s != 't' && !(*s >= '1' && *s <= '2'))
			continue;
		form = logline_form(s, r->len - i, i == 0 && r->whole);
		if (form != LINE_NONE) {
			*at = i;
			return form;
		}
	}
	return LINE_NONE;
}

/* Two lines may stand in one, the first of them cut by a full disk. */
static bool parse_line(struct logread *r, struct log_line *line)
{
	enum line_form form;
	unsigned long damaged = r->begun;
	size_t at = 0;

	/* Keys in an order that is not ours: somebody has rewritten it. */
	line->number = r->number;
	if (r->whole && r->len && r->buf[0] == '{' &&
	    logline_parse(r->buf, r->len, LINE_JSON, r->store, line))
		return true;
	while ((form = next_head(r, &at)) != LINE_NONE) {
		const char *s = r->buf + at;

		if ((r->terminated || form == LINE_JSON) &&
		    logline_parse(s, r->len - at, form, r->store, line)) {
			r->damaged += damaged;
			return true;
		}
		damaged++;
		r->next = at + 1;
	}
	if (damaged)
		r->damaged += damaged;
	else
		r->foreign += r->len > 0;
	return false;
}

bool logread_next(struct logread *r, struct log_line *line)
{
	while (read_line(r)) {
		if (parse_line(r, line))
			return true;
	}
	return false;
}

unsigned long logread_damaged(const struct logread *r)
{
	return r->damaged;
}

unsigned long logread_foreign(const struct logread *r)
{
	return r->foreign;
}
