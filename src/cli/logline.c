/* SPDX-License-Identifier: MIT */
#include "cli/logline.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/compat.h"
#include "cli/logvalue.h"

struct parser {
	struct log_line *line;
	char *store;
	unsigned seen; /* bit: row of fields */
};

/* ---- fields with a meaning ------------------------------------------------ */

static bool set_time(struct log_line *line, const char *text)
{
	const char *end = text + strlen(text);

	return value_stamp(&text, end, &line->time) && text == end;
}

static bool set_pid(struct log_line *line, const char *text)
{
	uint64_t n;

	if (!value_number(text, INT32_MAX, &n))
		return false;
	line->pid = (long)n;
	return true;
}

static bool set_level(struct log_line *line, const char *text)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcasecmp(text, names[i]) == 0) {
			line->level = (enum log_level)i;
			return true;
		}
	}
	return false;
}

static bool set_event(struct log_line *line, const char *text)
{
	for (int kind = 0; kind < EVENT_KINDS; kind++) {
		if (strcmp(text, event_name((enum event_kind)kind)) == 0) {
			line->kind = (enum event_kind)kind;
			return true;
		}
	}
	return false;
}

static bool set_op(struct log_line *line, const char *text)
{
	for (int op = OP_CONNECT; op <= OP_SEND; op++) {
		if (strcmp(text, op_name((enum op)op)) == 0) {
			line->op = (enum op)op;
			return true;
		}
	}
	return false;
}

/* "1/5" */
static bool set_attempt(struct log_line *line, const char *text)
{
	const char *slash = strchr(text, '/');
	char first[16];

	if (!slash || (size_t)(slash - text) >= sizeof(first))
		return false;
	memcpy(first, text, (size_t)(slash - text));
	first[slash - text] = '\0';
	return value_count(first, &line->attempt) && value_count(slash + 1, &line->max_attempts);
}

static bool set_attempts(struct log_line *line, const char *text)
{
	return value_count(text, &line->attempts);
}

static bool set_lines(struct log_line *line, const char *text)
{
	return value_number(text, UINT64_MAX, &line->lines);
}

/* ---- fields --------------------------------------------------------------- */

enum kind_of_field { TEXT, DURATION, EXACT, OTHER };

#define AT(member) offsetof(struct log_line, member)

/* Durations come before their exact twins. */
static const struct {
	const char *key;
	enum kind_of_field kind;
	size_t at;
	bool (*set)(struct log_line *line, const char *text);
} fields[] = {
	{ "time", OTHER, 0, set_time },
	{ "pid", OTHER, 0, set_pid },
	{ "level", OTHER, 0, set_level },
	{ "event", OTHER, 0, set_event },
	{ "op", OTHER, 0, set_op },
	{ "attempt", OTHER, 0, set_attempt },
	{ "attempts", OTHER, 0, set_attempts },
	{ "lines", OTHER, 0, set_lines },
	{ "wait", DURATION, AT(wait), NULL },
	{ "elapsed", DURATION, AT(elapsed), NULL },
	{ "left", DURATION, AT(left), NULL },
	{ "waited", DURATION, AT(waited), NULL },
	{ "wait_ns", EXACT, AT(wait), NULL },
	{ "elapsed_ns", EXACT, AT(elapsed), NULL },
	{ "left_ns", EXACT, AT(left), NULL },
	{ "waited_ns", EXACT, AT(waited), NULL },
	{ "dest", TEXT, AT(dest), NULL },
	{ "addr", TEXT, AT(addr), NULL },
	{ "to", TEXT, AT(to), NULL },
	{ "error", TEXT, AT(error), NULL },
	{ "reason", TEXT, AT(reason), NULL },
	{ "policy", TEXT, AT(policy), NULL },
	{ "rule", TEXT, AT(rule), NULL },
	{ "signal", TEXT, AT(signal), NULL },
	{ "message", TEXT, AT(message), NULL },
};

static int find_field(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (strcmp(fields[i].key, key) == 0)
			return (int)i;
	}
	return -1;
}

static bool seen(const struct parser *p, const char *key)
{
	return p->seen >> find_field(key) & 1;
}

/* <value> stays where it is. False if it is none, or the second of its field. */
static bool set_field(struct parser *p, const char *key, const char *value)
{
	int i = find_field(key);
	char *member;

	if (i < 0)
		return true;
	if (p->seen >> i & 1)
		return false;
	p->seen |= 1U << i;
	member = (char *)p->line + fields[i].at;
	switch (fields[i].kind) {
	case TEXT:
		*(const char **)member = value;
		return true;
	case DURATION:
		return value_duration(value, (int64_t *)member);
	case EXACT:
		return value_exact(value, (int64_t *)member);
	case OTHER:
		break;
	}
	return fields[i].set(p->line, value);
}

/* Whether all is there that the kind always has. */
static bool complete(const struct parser *p)
{
	static const char *const head[] = { "time", "pid", "level", "event" };

	for (size_t i = 0; i < ARRAY_LEN(head); i++) {
		if (!seen(p, head[i]))
			return false;
	}
	switch (p->line->kind) {
	case EVENT_RETRY:
	case EVENT_WOULD_RETRY:
		return seen(p, "op") && seen(p, "attempt") && seen(p, "wait") &&
		       seen(p, "elapsed");
	case EVENT_RECOVERED:
	case EVENT_GAVE_UP:
	case EVENT_ABANDONED:
		return seen(p, "op") && seen(p, "attempts") && seen(p, "waited");
	case EVENT_SUPPRESSED:
		return seen(p, "lines");
	case EVENT_STOPPING:
		return seen(p, "signal");
	case EVENT_CONFIG:
		return true;
	default:
		return seen(p, "op");
	}
}

/* ---- text and logfmt ------------------------------------------------------ */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte of "\xNN" at <s>; 0 if that is not there. */
static unsigned char escape(const char *s, const char *end)
{
	int high, low;

	if (end - s < 4 || s[0] != '\\' || s[1] != 'x')
		return 0;
	high = hex_value(s[2]);
	low = hex_value(s[3]);
	return high < 0 || low < 0 ? 0 : (unsigned char)(high << 4 | low);
}

/* A value of the form of fmt_word(), copied to the store. NULL: it is none. */
static const char *word(struct parser *p, const char *s, const char *end)
{
	const char *start = p->store;

	for (; s < end; s++) {
		if (*s == '\\') {
			unsigned char byte = escape(s, end);

			if (!byte)
				return NULL;
			*p->store++ = (char)byte;
			s += 3;
		} else {
			*p->store++ = *s;
		}
	}
	*p->store++ = '\0';
	return start;
}

/* A sentence: there a backslash of the text stands as it is, so only what must
 * have been escaped is undone; if it was <quoted>, backslashes and quotes too. */
static const char *sentence(struct parser *p, const char *s, const char *end, bool quoted)
{
	const char *start = p->store;

	for (; s < end; s++) {
		unsigned char byte = escape(s, end);

		if (quoted && *s == '\\' && end - s > 1 && (s[1] == '\\' || s[1] == '"')) {
			*p->store++ = *++s;
		} else if (byte && (byte < ' ' || byte >= 0x7f)) {
			*p->store++ = (char)byte;
			s += 3;
		} else {
			*p->store++ = *s;
		}
	}
	*p->store++ = '\0';
	return start;
}

static bool pair(struct parser *p, const char *s, const char *end)
{
	const char *equals = memchr(s, '=', (size_t)(end - s));
	const char *value;
	char key[16];
	size_t len;

	if (!equals || equals == s)
		return false;
	len = (size_t)(equals - s);
	if (len >= sizeof(key))
		return true;
	memcpy(key, s, len);
	key[len] = '\0';
	value = word(p, equals + 1, end);
	return value && set_field(p, key, value);
}

static bool pairs(struct parser *p, const char *s, const char *end)
{
	static const char message[] = "message=\"";

	while (s < end) {
		const char *space = memchr(s, ' ', (size_t)(end - s));
		const char *stop = space ? space : end;

		if (value_literal(&s, end, message))
			return end > s && end[-1] == '"' &&
			       set_field(p, "message", sentence(p, s, end - 1, true));
		if (!pair(p, s, stop))
			return false;
		if (!space)
			break;
		s = space + 1;
	}
	return true;
}

/* The word up to the next space, or to the end. */
static bool head_word(struct parser *p, const char *key, const char **s, const char *end)
{
	const char *space = memchr(*s, ' ', (size_t)(end - *s));
	const char *stop = space ? space : end;
	const char *value = word(p, *s, stop);

	*s = space ? space + 1 : end;
	return value && set_field(p, key, value);
}

/* From behind the "libretry[" on; <close> is what follows the number. */
static bool parse_text(struct parser *p, const char *s, const char *end, const char *close)
{
	const char *stop = memchr(s, ']', (size_t)(end - s));
	const char *pid = stop ? word(p, s, stop) : NULL;

	if (!pid || !set_field(p, "pid", pid))
		return false;
	s = stop;
	if (!value_literal(&s, end, close) || !head_word(p, "level", &s, end) ||
	    !head_word(p, "event", &s, end))
		return false;
	if (p->line->kind == EVENT_CONFIG)
		return s == end || set_field(p, "message", sentence(p, s, end, false));
	return pairs(p, s, end);
}

/* ---- JSON ----------------------------------------------------------------- */

static const char *keep(struct parser *p, const char *text)
{
	char *start = p->store;
	size_t size = strlen(text) + 1;

	memcpy(start, text, size);
	p->store += size;
	return start;
}

static bool member(struct parser *p, const char *key, const json_t *value)
{
	char text[24];

	if (json_is_string(value))
		return set_field(p, key, keep(p, json_string_value(value)));
	if (!json_is_integer(value))
		return false;
	snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	return set_field(p, key, keep(p, text));
}

/* In the order of the table: an exact duration overrides the one for people. */
static bool members(struct parser *p, const json_t *object)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const json_t *value = json_object_get(object, fields[i].key);

		if (value && !member(p, fields[i].key, value))
			return false;
	}
	return true;
}

static bool parse_json(struct parser *p, const char *s, const char *end)
{
	json_t *object = json_loadb(s, (size_t)(end - s), JSON_REJECT_DUPLICATES, NULL);
	bool ok = json_is_object(object) && members(p, object);

	json_decref(object);
	return ok;
}

/* ---- lines ---------------------------------------------------------------- */

enum line_form logline_form(const char *s, size_t len, bool whole)
{
	static const char tag[] = " libretry[";
	const char *end = s + len, *at = s;
	int64_t time;

	if (value_literal(&at, end, "{\"time\":\""))
		return value_stamp(&at, end, &time) && value_literal(&at, end, "\",\"pid\":")
		               ? LINE_JSON
		               : LINE_NONE;
	if (value_literal(&at, end, "time="))
		return value_stamp(&at, end, &time) && value_literal(&at, end, " pid=")
		               ? LINE_LOGFMT
		               : LINE_NONE;
	if (!value_stamp(&at, end, &time))
		return LINE_NONE;
	if (value_literal(&at, end, tag))
		return LINE_TEXT;
	/* "2026-11-29T18:31:37+01:00 host libretry[42]: WARN retry ..." */
	if (!whole || !value_literal(&at, end, " "))
		return LINE_NONE;
	at = memchr(at, ' ', (size_t)(end - at));
	return at && value_literal(&at, end, tag) ? LINE_SYSLOG : LINE_NONE;
}

bool logline_parse(const char *s, size_t len, enum line_form form, char *store,
                   struct log_line *line)
{
	struct parser p = { .line = line, .store = store };
	const char *end = s + len;
	unsigned long kept = line->number;
	bool ok = false;

	*line = (struct log_line){ .number = kept, .dest = "", .addr = "", .to = "",
		                   .error = "", .reason = "", .policy = "", .rule = "",
		                   .message = "", .signal = "", .left = DUR_NONE };
	if (memchr(s, '\0', len))
		return false;
	if (form == LINE_JSON) {
		ok = parse_json(&p, s, end);
	} else if (form == LINE_LOGFMT) {
		ok = pairs(&p, s, end);
	} else if (value_stamp(&s, end, &line->time)) {
		p.seen |= 1U << find_field("time");
		s = memchr(s, '[', (size_t)(end - s));
		ok = s && parse_text(&p, s + 1, end, form == LINE_TEXT ? "] " : "]: ");
	}
	return ok && complete(&p);
}
