/* SPDX-License-Identifier: MIT */
#include "config/timeline.h"

#include <string.h>

#include "base/duration.h"
#include "config/diag.h"
#include "config/text.h"


/* One line, without its end. */
struct row {
	const char *at, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool skip_blanks(struct row *r)
{
	while (r->at < r->end && is_blank(*r->at))
		r->at++;
	return r->at < r->end && *r->at != '#';
}

/* The next word of the row; one that is too long is cut, and then no duration. */
static void take_word(struct row *r, char *word, size_t size)
{
	struct fmt f;

	fmt_init(&f, word, size);
	while (r->at < r->end && *r->at && *r->at != '#' && !is_blank(*r->at))
		fmt_char(&f, *r->at++);
	fmt_end(&f);
}

static bool take_time(struct row *r, int64_t *ns, struct fmt *why)
{
	char word[48], with_unit[sizeof(word) + 2];
	enum dur_status status;
	struct fmt f;

	if (!skip_blanks(r)) {
		fmt_str(why, "two times are expected (START END)");
		return false;
	}
	take_word(r, word, sizeof(word));
	status = dur_parse(word, ns);
	if (status == DUR_NO_UNIT) {
		fmt_init(&f, with_unit, sizeof(with_unit));
		fmt_str(&f, word);
		fmt_str(&f, "ms");
		fmt_end(&f);
		status = dur_parse(with_unit, ns);
	}
	if (status == DUR_OK)
		return true;
	diag_format(why, "%q: %s (such as \"2s\", or a number of ms)", word,
	            dur_status_text(status));
	return false;
}

/* False if the row is wrong; <i> with .end 0 if it is empty. */
static bool read_row(struct row r, struct interval *i, struct fmt *why)
{
	i->end = 0;
	if (!skip_blanks(&r))
		return true;
	if (!take_time(&r, &i->start, why) || !take_time(&r, &i->end, why))
		return false;
	if (skip_blanks(&r)) {
		fmt_str(why, "more than two times (START END)");
		return false;
	}
	if (i->end <= i->start) {
		diag_format(why, "ends at %t and begins at %t (START before END)", i->end,
		            i->start);
		return false;
	}
	return true;
}

static bool read_rows(const struct slurp *s, struct interval *list, unsigned *count,
                      struct fmt *why)
{
	const char *end = s->bytes + s->len;
	unsigned line = 1;

	*count = 0;
	for (const char *at = s->bytes; at < end; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		struct row r = { at, stop ? stop : end };
		struct interval one;

		diag_format(why, "line %u: ", line);
		if (!read_row(r, &one, why))
			return false;
		if (one.end && *count == TIMELINE_MAX) {
			diag_format(why, "too many intervals (at most %u)", TIMELINE_MAX);
			return false;
		}
		why->len = 0;
		if (one.end)
			list[(*count)++] = one;
		at = r.end + 1;
	}
	if (*count == 0)
		fmt_str(why, "holds no interval (lines \"START END\")");
	return *count > 0;
}

bool timeline_load(struct timeline *t, const char *path, struct arena *keep,
                   struct arena *scratch, struct fmt *why)
{
	struct slurp s = { .bytes = arena_alloc(scratch, TEXT_MAX + 1) };
	struct interval *list = arena_array(scratch, TIMELINE_MAX, sizeof(*list));
	struct interval *kept;
	unsigned count;

	if (!s.bytes || !list) {
		fmt_str(why, "cannot be read: no memory");
		return false;
	}
	if (!slurp_file(&s, path, why) || !read_rows(&s, list, &count, why))
		return false;
	kept = arena_array(keep, count, sizeof(*kept));
	if (!kept) {
		fmt_str(why, "cannot be read: no memory");
		return false;
	}
	memcpy(kept, list, count * sizeof(*kept));
	*t = (struct timeline){ kept, count };
	return true;
}
