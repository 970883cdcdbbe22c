/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/logread.h"
#include "log/render.h"

/* 2026-11-29T18:31:37.123Z; a line has the milliseconds. */
static const struct render_stamp stamp = { 1795977097, 123456789, 4242 };
static const int64_t stamp_ns = INT64_C(1795977097123000000);

static const enum log_format formats[] = { LOG_TEXT, LOG_LOGFMT, LOG_JSON };

static char line[LOG_LINE_MAX + 1];
static char path[] = "/tmp/logread.XXXXXX";

static const char *render(enum log_format format, const struct event *e)
{
	struct fmt f;

	fmt_init(&f, line, sizeof(line));
	render_event(&f, format, e, &stamp);
	return line;
}

static struct logread *open_bytes(const char *bytes, size_t len)
{
	struct logread *r;
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
	r = logread_open(path);
	ck_assert_ptr_nonnull(r);
	unlink(path);
	return r;
}

static struct logread *open_text(const char *text)
{
	return open_bytes(text, strlen(text));
}

/* The one line that <text> is. */
static struct logread *one(const char *text, struct log_line *l)
{
	struct logread *r = open_text(text);

	ck_assert_msg(logread_next(r, l), "not read: %s", text);
	return r;
}

/* <text> has so many lines of each sort. */
static void counts_bytes(const char *text, size_t len, unsigned ours, unsigned damaged,
                         unsigned foreign)
{
	struct logread *r = open_bytes(text, len);
	struct log_line l;
	unsigned n = 0;

	while (logread_next(r, &l))
		n++;
	ck_assert_msg(n == ours, "%u of ours instead of %u: %.80s", n, ours, text);
	ck_assert_msg(logread_damaged(r) == damaged, "%lu damaged instead of %u: %.80s",
	              logread_damaged(r), damaged, text);
	ck_assert_msg(logread_foreign(r) == foreign, "%lu foreign instead of %u: %.80s",
	              logread_foreign(r), foreign, text);
	logread_close(r);
}

static void counts(const char *text, unsigned ours, unsigned damaged, unsigned foreign)
{
	counts_bytes(text, strlen(text), ours, damaged, foreign);
}

static struct event full_event(enum event_kind kind, const struct addr *a, const char *name)
{
	return (struct event){
		.kind = kind, .level = LOG_WARN_LEVEL, .op = OP_LOOKUP, .dest = name, .addr = a,
		.to = name, .attempt = 2, .max_attempts = 5, .attempts = 3,
		.error = { ERR_EAI, EAI_AGAIN }, .reason = REASON_NOT_RETRYABLE,
		.wait = 112 * DUR_MS + 7, .elapsed = 412 * DUR_US + 9, .left = 29950 * DUR_MS,
		.waited = 1540 * DUR_MS, .delay = 20 * DUR_MS, .short_write = 3, .reset = true,
		.policy = name, .rule = { name, 63 }, .signal = SIGTERM, .lines = 12345678901,
		.message = name,
	};
}

static bool has_attempts(enum event_kind k)
{
	return k == EVENT_RECOVERED || k == EVENT_GAVE_UP || k == EVENT_ABANDONED;
}

static bool has_attempt(enum event_kind k)
{
	return k == EVENT_RETRY || k == EVENT_WOULD_RETRY;
}

static bool has_op(enum event_kind k)
{
	return k != EVENT_STOPPING && k != EVENT_SUPPRESSED && k != EVENT_CONFIG;
}

static bool has_error(enum event_kind k)
{
	return has_attempt(k) || k == EVENT_GAVE_UP || k == EVENT_PASSED || k == EVENT_INJECTED ||
	       k == EVENT_STALE;
}

/* What may have been rounded: 112.000007 ms are "112ms". */
static void same_durations(const struct log_line *l, enum event_kind k, bool is_exact)
{
	if (has_attempt(k)) {
		ck_assert_int_eq(l->wait, is_exact ? 112 * DUR_MS + 7 : 112 * DUR_MS);
		ck_assert_int_eq(l->elapsed, is_exact ? 412 * DUR_US + 9 : 400 * DUR_US);
		ck_assert_int_eq(l->left, is_exact ? 29950 * DUR_MS : 29900 * DUR_MS);
	}
	if (has_attempts(k))
		ck_assert_int_eq(l->waited, is_exact ? 1540 * DUR_MS : 1500 * DUR_MS);
}

static void same(const struct log_line *l, const struct event *e, bool is_exact)
{
	enum event_kind k = e->kind;
	bool dest = has_op(k) || k == EVENT_SUPPRESSED;
	char rule[200];

	ck_assert_int_eq(l->kind, k);
	ck_assert_int_eq(l->level, event_level(e));
	ck_assert_int_eq(l->time, stamp_ns);
	ck_assert_int_eq(l->pid, 4242);
	ck_assert_uint_eq(l->number, 1);
	ck_assert_str_eq(l->dest, dest ? e->dest : "");
	ck_assert_str_eq(l->addr, has_op(k) ? "192.0.2.10:5432" : "");
	ck_assert_str_eq(l->error, has_error(k) ? "EAI_AGAIN" : "");
	ck_assert_uint_eq(l->attempt, has_attempt(k) ? 2 : 0);
	ck_assert_uint_eq(l->max_attempts, has_attempt(k) ? 5 : 0);
	ck_assert_uint_eq(l->attempts, has_attempts(k) || k == EVENT_LAYERING ? 3 : 0);
	ck_assert_uint_eq(l->lines, k == EVENT_SUPPRESSED ? 12345678901 : 0);
	ck_assert_str_eq(l->signal, k == EVENT_STOPPING ? "SIGTERM" : "");
	ck_assert_str_eq(l->message, k == EVENT_CONFIG ? e->message : "");
	if (has_op(k))
		ck_assert_int_eq(l->op, OP_LOOKUP);
	if (k == EVENT_FALLBACK || k == EVENT_WOULD_REDIRECT)
		ck_assert_str_eq(l->to, e->to);
	if (k == EVENT_GAVE_UP || k == EVENT_PASSED)
		ck_assert_str_eq(l->reason, "not-retryable");
	if (has_attempt(k) || has_attempts(k)) {
		snprintf(rule, sizeof(rule), "%s:63", e->rule.file);
		ck_assert_str_eq(l->policy, e->policy);
		ck_assert_str_eq(l->rule, rule);
	}
	same_durations(l, k, is_exact);
}

/* Whatever render_event() writes is read back. */
START_TEST(round_trip)
{
	/* Bytes that are not UTF-8 are another matter in JSON. */
	static const char *const names[] = {
		"db1:5432", "a b=c\"d\\e", "\x1b[2J\n\t\x7f", "b\xc3\xbc\xe2\x82\xac",
		"\\x41", "</script>&<b>", "..."
	};
	struct addr a;

	addr_parse_ip(&a, "192.0.2.10");
	a.port = 5432;
	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		for (int kind = 0; kind < EVENT_KINDS; kind++) {
			struct event e = full_event((enum event_kind)kind, &a, names[n]);

			for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
				struct log_line l;
				struct logread *r = one(render(formats[i], &e), &l);

				same(&l, &e, formats[i] == LOG_JSON);
				ck_assert(!logread_next(r, &l));
				ck_assert_uint_eq(logread_damaged(r) + logread_foreign(r), 0);
				logread_close(r);
			}
		}
	}
}
END_TEST

START_TEST(every_byte_comes_back)
{
	for (int byte = 1; byte < 256; byte++) {
		const char name[] = { 'x', (char)byte, 'y', '\0' };
		struct event e = { .kind = EVENT_SUPPRESSED, .dest = name };

		for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
			const char latin1[] = { 'x', (char)(0xc0 | byte >> 6),
				                (char)(0x80 | (byte & 0x3f)), 'y', '\0' };
			struct log_line l;
			struct logread *r = one(render(formats[i], &e), &l);

			if (formats[i] == LOG_JSON && byte >= 0x80)
				ck_assert_str_eq(l.dest, latin1);
			else
				ck_assert_str_eq(l.dest, name);
			logread_close(r);
		}
	}
}
END_TEST

/* Everything at its longest, of each byte: read, and not damaged. */
START_TEST(longest_lines)
{
	static char evil[5000], all[EVENT_KINDS * ARRAY_LEN(formats) * LOG_LINE_MAX + 1];
	struct addr a = { .family = AF_UNIX };

	for (int byte = 1; byte < 256; byte++) {
		size_t len = 0;

		memset(evil, byte, sizeof(evil) - 1);
		memset(a.path, byte, sizeof(a.path) - 1);
		for (int kind = 0; kind < EVENT_KINDS; kind++) {
			struct event e = full_event((enum event_kind)kind, &a, evil);

			e.wait = -(DUR_NONE - 1);
			e.elapsed = DUR_NONE - 1;
			e.left = INT64_MIN;
			for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
				render(formats[i], &e);
				memcpy(all + len, line, strlen(line));
				len += strlen(line);
			}
		}
		counts_bytes(all, len, EVENT_KINDS * ARRAY_LEN(formats), 0, 0);
	}
}
END_TEST

START_TEST(durations)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{ "0us", 0 }, { "41us", 41000 }, { "0.4ms", 400000 }, { "112ms", 112 * DUR_MS },
		{ "1.5s", 1500 * DUR_MS }, { "2m", 120 * DUR_S }, { "1.2h", 4320 * DUR_S },
		{ "24h", DUR_MAX_CONFIG }, { "2562047.7h", DUR_MAX_CONFIG },
		{ "-1.5s", -1500 * DUR_MS }, { "none", DUR_NONE },
	};
	char text[200];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct log_line l;
		struct logread *r;

		snprintf(text, sizeof(text), "2026-11-29T18:31:37.123Z libretry[1] INFO recovered "
		                             "op=connect attempts=1 waited=%s\n", cases[i].text);
		r = one(text, &l);
		ck_assert_msg(l.waited == cases[i].ns, "%s", cases[i].text);
		ck_assert_int_eq(l.left, DUR_NONE);
		logread_close(r);
	}
}
END_TEST

#define HEAD "2026-11-29T18:31:37.123Z libretry[4242] "
#define LOGFMT "time=2026-11-29T18:31:37.123Z pid=4242 "
#define JSON "{\"time\":\"2026-11-29T18:31:37.123Z\",\"pid\":4242,"
#define TEXT_LINE HEAD "INFO recovered op=connect dest=d attempts=2 waited=1s policy=p\n"
#define LOGFMT_LINE LOGFMT "level=warn event=suppressed dest=d lines=3\n"
#define JSON_LINE JSON "\"level\":\"info\",\"event\":\"stopping\",\"signal\":\"SIGINT\"}\n"

START_TEST(what_is_wrong_is_damaged)
{
	static const char *const bad[] = {
		HEAD, HEAD "WARN", HEAD "LOUD retry", HEAD "WARN unknown op=connect",
		HEAD "WARN retried op=connect", HEAD "INFO recovered op=connect attempts=2",
		HEAD "INFO recovered op=connect attempts= waited=1s",
		HEAD "INFO recovered op=connect attempts=-2 waited=1s",
		HEAD "INFO recovered op=connect attempts=4294967296 waited=1s",
		HEAD "INFO recovered op=connect attempts=2x waited=1s",
		HEAD "INFO recovered op=connect attempts=2 waited=1",
		HEAD "INFO recovered op=connect attempts=2 waited=",
		HEAD "INFO recovered op=connect attempts=2 waited=1s waited=1s",
		HEAD "INFO recovered op=conn attempts=2 waited=1s",
		HEAD "INFO recovered attempts=2 waited=1s",
		HEAD "INFO recovered op=connect  attempts=2 waited=1s",
		HEAD "INFO recovered op=connect attempts=2 waited=1s and more",
		HEAD "INFO recovered op=connect attempts=2 waited=1s dest=\\x0",
		HEAD "INFO recovered op=connect attempts=2 waited=1s dest=\\x00",
		HEAD "INFO recovered op=connect attempts=2 waited=1s dest=a\\nb",
		HEAD "WARN retry op=connect attempt=1 wait=1s elapsed=1s",
		HEAD "WARN retry op=connect attempt=1/ wait=1s elapsed=1s",
		HEAD "WARN retry op=connect attempt=/5 wait=1s elapsed=1s",
		HEAD "WARN retry op=connect attempt=11111111111111111/5 wait=1s elapsed=1s",
		HEAD "WARN suppressed lines=18446744073709551616",
		"2026-11-29T18:31:37.123Z libretry[] INFO stopping signal=SIGINT",
		"2026-11-29T18:31:37.123Z libretry[x] INFO stopping signal=SIGINT",
		"2026-11-29T18:31:37.123Z libretry[99999999999] INFO stopping signal=SIGINT",
		"2026-11-29T18:31:37.123Z libretry[1]INFO stopping signal=SIGINT",
		LOGFMT "level=warn", LOGFMT "level=warn event=suppressed",
		LOGFMT "level=debug event=config message=\"cut",
		LOGFMT "level=debug event=config message=\"",
		JSON, JSON "}", JSON "\"level\":\"info\",\"event\":\"stopping\"",
		JSON "\"level\":\"info\",\"event\":\"stopping\"}",
		JSON "\"level\":\"info\",\"event\":\"stopping\",\"signal\":null}",
		JSON "\"level\":\"info\",\"event\":\"stopping\",\"signal\":[\"SIGINT\"]}",
		JSON "\"level\":\"info\",\"event\":\"stopping\",\"signal\":\"a\",\"signal\":\"b\"}",
		JSON "\"level\":\"info\",\"event\":\"stopping\",\"signal\":\"\\u0000\"}",
		JSON "\"level\":\"info\",\"event\":\"stopping\",\"signal\":\"\xff\"}",
		JSON "\"level\":\"info\",\"event\":\"stopping\",\"signal\":\"a\"} more",
		JSON "\"level\":\"warn\",\"event\":\"suppressed\",\"lines\":1e3}",
		JSON "\"level\":\"warn\",\"event\":\"suppressed\",\"lines\":-1}",
	};
	char text[400];

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		snprintf(text, sizeof(text), "%s\n", bad[i]);
		counts(text, 0, 1, 0);
	}
}
END_TEST

START_TEST(lines_of_others)
{
	counts("", 0, 0, 0);
	counts("\n\r\n\n", 0, 0, 0);
	counts("hello\n", 0, 0, 1);
	counts("hello", 0, 0, 1);
	counts("{\n}\n{}\n{\"time\":1}\n[]\n", 0, 0, 5);
	counts("{\"time\":\"2026-11-29T18:31:37.123Z\",\"level\":\"info\"}\n", 0, 0, 1);
	counts("time=2026-11-29T18:31:37.123Z level=info msg=x\n", 0, 0, 1);
	counts("2026-11-29T18:31:37.123Z retry libretry\n", 0, 0, 1);
	counts("2026-13-29T18:31:37.123Z libretry[1] INFO stopping signal=SIGINT\n", 0, 0, 1);
	counts("1969-12-31T18:31:37.123Z libretry[1] INFO stopping signal=SIGINT\n", 0, 0, 1);
	counts("9999-12-31T18:31:37.123Z libretry[1] INFO stopping signal=SIGINT\n", 0, 0, 1);
	counts("libretry: warning: something\n" TEXT_LINE "more\n", 1, 0, 2);
}
END_TEST

START_TEST(forms_may_be_mixed)
{
	struct log_line l;
	struct logread *r = open_text(TEXT_LINE "other\n" LOGFMT_LINE "\r\n" JSON_LINE);

	ck_assert(logread_next(r, &l));
	ck_assert_uint_eq(l.number, 1);
	ck_assert_int_eq(l.kind, EVENT_RECOVERED);
	ck_assert(logread_next(r, &l));
	ck_assert_uint_eq(l.number, 3);
	ck_assert_int_eq(l.kind, EVENT_SUPPRESSED);
	ck_assert_str_eq(l.policy, "");
	ck_assert(logread_next(r, &l));
	ck_assert_uint_eq(l.number, 5);
	ck_assert_str_eq(l.signal, "SIGINT");
	ck_assert(!logread_next(r, &l));
	ck_assert(!logread_next(r, &l));
	logread_close(r);
}
END_TEST

START_TEST(ends_of_lines)
{
	counts(HEAD "INFO stopping signal=SIGINT\r\n" HEAD "INFO stopping signal=SIGINT\r\n", 2, 0,
	       0);
	counts(JSON "\"level\":\"info\",\"event\":\"stopping\",\"signal\":\"a\"}\r\n", 1, 0, 0);
	/* "412m" may have been "412ms"; a JSON object shows where it ends. */
	counts(HEAD "INFO recovered op=connect dest=d attempts=2 waited=412m", 0, 1, 0);
	counts(LOGFMT "level=warn event=suppressed dest=d lines=3", 0, 1, 0);
	counts(JSON "\"level\":\"info\",\"event\":\"stopping\",\"signal\":\"a\"}", 1, 0, 0);
}
END_TEST

START_TEST(something_in_front)
{
	static const struct {
		const char *text;
		int64_t time;
	} cases[] = {
		{ "web-1  | " TEXT_LINE, 123 },
		{ "Connecting ... " TEXT_LINE, 123 },
		{ "web-1  | " LOGFMT_LINE, 123 },
		{ "Nov 29 18:31:37 host libretry[1]: " JSON_LINE, 123 },
		{ HEAD "INFO recovered op=connect dest=d atte" TEXT_LINE, 123 },
		{ "2026-11-29T18:31:37.5Z host libretry[7]: INFO stopping signal=SIGINT\n", 500 },
		{ "2026-11-29T19:31:37+01:00 h libretry[7]: INFO stopping signal=SIGINT\n", 0 },
		{ "2026-11-29T13:01:37.25-0530 h libretry[7]: INFO stopping signal=S\n", 250 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct log_line l;
		struct logread *r = one(cases[i].text, &l);

		ck_assert_msg(l.time == INT64_C(1795977097) * DUR_S + cases[i].time * DUR_MS,
		              "%s", cases[i].text);
		logread_close(r);
	}
	/* The first half of a line is lost, the second one is not. */
	counts(HEAD "INFO recovered op=connect dest=d atte" TEXT_LINE, 1, 1, 0);
	counts(JSON "\"level\":\"info\",\"ev" JSON_LINE, 1, 1, 0);
	counts("Nov 29 18:31:37 host libretry[1]: INFO stopping signal=SIGINT\n", 0, 0, 1);
}
END_TEST

/* A name that looks like a line is a name. */
START_TEST(lines_in_names)
{
	struct event e = { .kind = EVENT_SUPPRESSED, .dest = HEAD "INFO stopping signal=SIGINT" };

	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		struct log_line l;
		struct logread *r = one(render(formats[i], &e), &l);

		ck_assert_int_eq(l.kind, EVENT_SUPPRESSED);
		ck_assert_str_eq(l.dest, e.dest);
		logread_close(r);
	}
}
END_TEST

START_TEST(unknown_fields_and_other_orders)
{
	counts(HEAD "INFO recovered colour=red op=connect a_very_long_key_of_later=1 attempts=2 "
	            "waited=1s\n", 1, 0, 0);
	counts(JSON "\"level\":\"info\",\"new\":{\"a\":[1]},\"event\":\"stopping\","
	            "\"signal\":\"a\"}\n", 1, 0, 0);
	counts("{ \"event\": \"stopping\", \"level\": \"info\", \"pid\": 1, \"signal\": \"a\",\t"
	       "\"time\": \"2026-11-29T18:31:37.123Z\" }\n", 1, 0, 0);
}
END_TEST

START_TEST(exact_whatever_the_order)
{
	struct log_line l;
	struct logread *r = one(JSON "\"level\":\"info\",\"event\":\"recovered\",\"op\":\"send\","
	                             "\"waited_ns\":-1234567,\"attempts\":2,"
	                             "\"waited\":\"1s\"}\n", &l);

	ck_assert_int_eq(l.waited, -1234567);
	ck_assert_int_eq(l.op, OP_SEND);
	logread_close(r);
}
END_TEST

START_TEST(bytes_of_zero)
{
	static const char inside[] = HEAD "INFO stopping\0signal=SIGINT\n";
	static char text[100000];
	size_t len = sizeof(text) - strlen(TEXT_LINE);

	counts_bytes(inside, sizeof(inside) - 1, 0, 1, 0);
	counts_bytes("\0\n", 2, 0, 0, 0);
	counts_bytes("a\0b\n", 4, 0, 0, 1);
	/* What a log begins with that was cut to nothing under its writer. */
	memcpy(text + len, TEXT_LINE, strlen(TEXT_LINE));
	counts_bytes(text, sizeof(text), 1, 0, 0);
}
END_TEST

START_TEST(very_long_lines)
{
	static char text[200000];
	const size_t len = sizeof(text) - strlen("\n" TEXT_LINE);

	memset(text, 'x', len);
	memcpy(text + len, "\n" TEXT_LINE, strlen("\n" TEXT_LINE));
	counts_bytes(text, sizeof(text), 1, 0, 1);
	text[len] = ' ';
	counts_bytes(text, sizeof(text), 1, 0, 0);
	memcpy(text, HEAD, strlen(HEAD));
	text[len] = '\n';
	counts_bytes(text, sizeof(text), 1, 1, 0);
}
END_TEST

START_TEST(what_cannot_be_opened)
{
	ck_assert_ptr_null(logread_open("/nonexistent/log"));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_ptr_null(logread_open("/"));
	ck_assert_int_eq(errno, EISDIR);
}
END_TEST

UNIT_MAIN("logread", &round_trip, &every_byte_comes_back, &longest_lines, &durations,
          &what_is_wrong_is_damaged, &lines_of_others, &forms_may_be_mixed, &ends_of_lines,
          &something_in_front, &lines_in_names, &unknown_fields_and_other_orders,
          &exact_whatever_the_order, &bytes_of_zero, &very_long_lines, &what_cannot_be_opened)
