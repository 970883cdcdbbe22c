/* SPDX-License-Identifier: MIT */
#include "log/render.h"

#include <string.h>

#include "base/compat.h"

/*
 * Most bytes of a field's value, escapes included. Together with the rest of
 * the longest line (JSON, would-retry) they stay below LOG_LINE_MAX; the test
 * of this file builds that line.
 */
enum {
	DEST_MAX = 160,
	ADDR_MAX = 128,
	POLICY_MAX = 48,
	FILE_MAX = 112,
	WORD_MAX = 32, /* our own words: op, level, event, reason */
	MESSAGE_MAX = 600
};

/* The longest escape of one byte: \xNN in text, \u00NN in JSON. */
enum { TEXT_WORST = 4, JSON_WORST = 6 };

enum {
	F_DEST = 1 << 0, /* and op, addr */
	F_ATTEMPT = 1 << 1,
	F_ATTEMPTS = 1 << 2,
	F_ERROR = 1 << 3,
	F_REASON = 1 << 4,
	F_WAIT = 1 << 5, /* and elapsed, left */
	F_WAITED = 1 << 6,
	F_POLICY = 1 << 7, /* and rule */
	F_SIGNAL = 1 << 8,
	F_LINES = 1 << 9,
	F_MESSAGE = 1 << 10,
	F_OP = 1 << 11,
	F_FAULT = 1 << 12,
	F_TO = 1 << 13,
	F_AGE = 1 << 14
};

/* Which fields a kind has; their order is that of put_fields(). */
static const unsigned fields[EVENT_KINDS] = {
	[EVENT_RETRY] = F_OP | F_DEST | F_ATTEMPT | F_ERROR | F_WAIT | F_POLICY,
	[EVENT_WOULD_RETRY] = F_OP | F_DEST | F_ATTEMPT | F_ERROR | F_WAIT | F_POLICY,
	[EVENT_RECOVERED] = F_OP | F_DEST | F_ATTEMPTS | F_WAITED | F_POLICY,
	[EVENT_MOVED] = F_OP | F_DEST | F_REASON,
	[EVENT_FALLBACK] = F_OP | F_DEST | F_TO | F_REASON | F_POLICY,
	[EVENT_WOULD_FALLBACK] = F_OP | F_DEST | F_TO | F_POLICY,
	[EVENT_REDIRECT] = F_OP | F_DEST | F_TO | F_REASON | F_POLICY,
	[EVENT_WOULD_REDIRECT] = F_OP | F_DEST | F_TO | F_POLICY,
	[EVENT_PARKED] = F_OP | F_DEST | F_REASON | F_POLICY,
	[EVENT_LAYERING] = F_OP | F_DEST | F_ATTEMPTS | F_REASON | F_POLICY,
	[EVENT_GAVE_UP] = F_OP | F_DEST | F_ATTEMPTS | F_ERROR | F_REASON | F_WAITED | F_POLICY,
	[EVENT_STALE] = F_OP | F_DEST | F_ERROR | F_AGE | F_POLICY,
	[EVENT_ABANDONED] = F_OP | F_DEST | F_ATTEMPTS | F_WAITED | F_POLICY,
	[EVENT_STOPPING] = F_SIGNAL,
	[EVENT_SUPPRESSED] = F_DEST | F_LINES,
	[EVENT_PASSED] = F_OP | F_DEST | F_TO | F_ERROR | F_REASON,
	[EVENT_INJECTED] = F_OP | F_DEST | F_ERROR | F_FAULT | F_POLICY,
	[EVENT_CONFIG] = F_MESSAGE,
};

static const struct {
	const char *upper, *lower;
} levels[] = {
	[LOG_ERROR_LEVEL] = { "ERROR", "error" },
	[LOG_WARN_LEVEL] = { "WARN", "warn" },
	[LOG_INFO_LEVEL] = { "INFO", "info" },
	[LOG_DEBUG_LEVEL] = { "DEBUG", "debug" },
};

struct writer {
	struct fmt *f;
	enum log_format format;
};

static void put_key(const struct writer *w, const char *key)
{
	if (w->format == LOG_JSON) {
		fmt_str(w->f, ",\"");
		fmt_str(w->f, key);
		fmt_str(w->f, "\":");
	} else {
		fmt_char(w->f, ' ');
		fmt_str(w->f, key);
		fmt_char(w->f, '=');
	}
}

/* Around values that are strings in JSON. */
static void put_quote(const struct writer *w)
{
	if (w->format == LOG_JSON)
		fmt_char(w->f, '"');
}

static void put_number(const struct writer *w, const char *key, uint64_t v)
{
	put_key(w, key);
	fmt_u64(w->f, v);
}

typedef void escape_fn(struct fmt *f, const char *s, size_t max);

/*
 * <s> through <escape> in at most <room> bytes. What does not fit is cut where
 * it fits for certain: harmless names are long, hostile ones get shorter.
 */
static void put_bounded(struct fmt *f, const char *s, size_t room, size_t worst,
                        escape_fn *escape)
{
	struct fmt before = *f;

	escape(f, s, room - strlen("..."));
	if (f->cut == before.cut && f->len - before.len <= room)
		return;
	*f = before;
	escape(f, s, (room - strlen("...")) / worst);
}

static void put_value(const struct writer *w, const char *s, size_t room)
{
	if (w->format == LOG_JSON)
		put_bounded(w->f, s, room, JSON_WORST, fmt_json);
	else
		put_bounded(w->f, s, room, TEXT_WORST, fmt_word);
}

static void put_string(const struct writer *w, const char *key, const char *s, size_t room)
{
	if (!s)
		return;
	put_key(w, key);
	put_quote(w);
	put_value(w, s, room);
	put_quote(w);
}

static void put_addr(const struct writer *w, const struct addr *a)
{
	char text[ADDR_TEXT_MAX];
	struct fmt f;

	if (!a || a->family == AF_UNSPEC)
		return;
	fmt_init(&f, text, sizeof(text));
	addr_fmt(&f, a);
	fmt_end(&f);
	put_string(w, "addr", text, ADDR_MAX);
}

static void put_error(const struct writer *w, struct err e)
{
	const char *name = err_name(e);

	if (e.code == 0)
		return;
	put_key(w, "error");
	put_quote(w);
	if (name)
		fmt_str(w->f, name);
	else
		fmt_i64(w->f, e.code);
	put_quote(w);
}

static void put_duration(const struct writer *w, const char *key, int64_t ns)
{
	put_key(w, key);
	put_quote(w);
	fmt_dur(w->f, ns);
	put_quote(w);
	if (w->format != LOG_JSON || ns == DUR_NONE)
		return;
	fmt_str(w->f, ",\"");
	fmt_str(w->f, key);
	fmt_str(w->f, "_ns\":");
	fmt_i64(w->f, ns);
}

static void put_attempt(const struct writer *w, const struct event *e)
{
	put_key(w, "attempt");
	put_quote(w);
	fmt_u64(w->f, e->attempt);
	fmt_char(w->f, '/');
	fmt_u64(w->f, e->max_attempts);
	put_quote(w);
}

static void put_rule(const struct writer *w, const struct source *rule)
{
	if (!rule->file)
		return;
	put_key(w, "rule");
	put_quote(w);
	put_value(w, rule->file, FILE_MAX);
	fmt_char(w->f, ':');
	fmt_u64(w->f, rule->line);
	put_quote(w);
}

static void put_signal(const struct writer *w, int number)
{
	const char *name = event_signal_name(number);

	put_key(w, "signal");
	put_quote(w);
	if (name)
		fmt_str(w->f, name);
	else
		fmt_i64(w->f, number);
	put_quote(w);
}

static void put_clean(struct fmt *f, const char *s, size_t max, bool quoted)
{
	size_t i;

	for (i = 0; i < max && s[i]; i++) {
		bool plain = s[i] == ' ' || s[i] == '=' || s[i] == '"' || s[i] == '\\';

		if (plain && quoted && s[i] != ' ' && s[i] != '=')
			fmt_char(f, '\\');
		if (plain)
			fmt_char(f, s[i]);
		else
			fmt_word(f, (const char[]){ s[i], '\0' }, 1);
	}
	if (s[i])
		fmt_str(f, "...");
}

static void clean_plain(struct fmt *f, const char *s, size_t max)
{
	put_clean(f, s, max, false);
}

static void clean_quoted(struct fmt *f, const char *s, size_t max)
{
	put_clean(f, s, max, true);
}

/* A sentence: the one value that may hold spaces, and the last of its line. */
static void put_message(const struct writer *w, const char *message)
{
	if (!message)
		return;
	switch (w->format) {
	case LOG_JSON:
		put_string(w, "message", message, MESSAGE_MAX);
		break;
	case LOG_LOGFMT:
		put_key(w, "message");
		fmt_char(w->f, '"');
		put_bounded(w->f, message, MESSAGE_MAX, TEXT_WORST, clean_quoted);
		fmt_char(w->f, '"');
		break;
	case LOG_TEXT:
		fmt_char(w->f, ' ');
		put_bounded(w->f, message, MESSAGE_MAX, TEXT_WORST, clean_plain);
		break;
	}
}

static void put_fault(const struct writer *w, const struct event *e)
{
	if (e->reset)
		put_number(w, "reset", 1);
	if (e->delay)
		put_duration(w, "delay", e->delay);
	if (e->short_write)
		put_number(w, "short_write", e->short_write);
}

static void put_fields(const struct writer *w, const struct event *e, unsigned has)
{
	if (has & F_OP)
		put_string(w, "op", op_name(e->op), WORD_MAX);
	if (has & F_DEST)
		put_string(w, "dest", e->dest, DEST_MAX);
	if ((has & F_DEST) && (has & F_OP))
		put_addr(w, e->addr);
	if (has & F_TO)
		put_string(w, "to", e->to, DEST_MAX);
	if (has & F_ATTEMPT)
		put_attempt(w, e);
	if (has & F_ATTEMPTS)
		put_number(w, "attempts", e->attempts);
	if (has & F_ERROR)
		put_error(w, e->error);
	if ((has & F_REASON) && e->reason != REASON_NONE)
		put_string(w, "reason", reason_name(e->reason), WORD_MAX);
	if (has & F_WAIT) {
		put_duration(w, "wait", e->wait);
		put_duration(w, "elapsed", e->elapsed);
		if (e->left != DUR_NONE)
			put_duration(w, "left", e->left);
	}
	if (has & F_FAULT)
		put_fault(w, e);
	if (has & F_AGE)
		put_duration(w, "age", e->age);
	if (has & F_WAITED)
		put_duration(w, "waited", e->waited);
	if (has & F_POLICY) {
		put_string(w, "policy", e->policy, POLICY_MAX);
		put_rule(w, &e->rule);
	}
	if (has & F_SIGNAL)
		put_signal(w, e->signal);
	if (has & F_LINES)
		put_number(w, "lines", e->lines);
	if (has & F_MESSAGE)
		put_message(w, e->message);
}

static void put_head(const struct writer *w, const struct event *e,
                     const struct render_stamp *stamp)
{
	unsigned level = event_level(e);
	uint64_t pid = (uint64_t)stamp->pid;

	if (level >= ARRAY_LEN(levels))
		level = LOG_DEBUG_LEVEL;
	if (w->format == LOG_TEXT) {
		fmt_utc(w->f, stamp->seconds, stamp->nanoseconds);
		fmt_str(w->f, " libretry[");
		fmt_u64(w->f, pid);
		fmt_str(w->f, "] ");
		fmt_str(w->f, levels[level].upper);
		fmt_char(w->f, ' ');
		fmt_str(w->f, event_name(e->kind));
		return;
	}
	fmt_str(w->f, w->format == LOG_JSON ? "{\"time\":\"" : "time=");
	fmt_utc(w->f, stamp->seconds, stamp->nanoseconds);
	put_quote(w);
	put_number(w, "pid", pid);
	put_string(w, "level", levels[level].lower, WORD_MAX);
	put_string(w, "event", event_name(e->kind), WORD_MAX);
}

void render_event(struct fmt *f, enum log_format format, const struct event *e,
                  const struct render_stamp *stamp)
{
	const struct writer w = { f, format };

	put_head(&w, e, stamp);
	if ((unsigned)e->kind < EVENT_KINDS)
		put_fields(&w, e, fields[e->kind]);
	fmt_str(f, format == LOG_JSON ? "}\n" : "\n");
	fmt_end(f);
}

size_t render_stamp_len(const char *line, size_t len)
{
	const char *tag = memchr(line, ' ', len);
	const char *level;

	if (!tag)
		return 0;
	tag++;
	level = memchr(tag, ' ', len - (size_t)(tag - line));
	return level ? (size_t)(level + 1 - line) : 0;
}
