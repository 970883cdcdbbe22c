/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "log/render.h"
#include "tests/unit/json.h"

static char line[LOG_LINE_MAX + 1];

/* 2026-11-29T18:31:37.123Z */
static const struct render_stamp stamp = { 1795977097, 123456789, 4242 };

static const enum log_format formats[] = { LOG_TEXT, LOG_LOGFMT, LOG_JSON };

static const char *render(enum log_format format, const struct event *e)
{
	struct fmt f;

	fmt_init(&f, line, sizeof(line));
	render_event(&f, format, e, &stamp);
	ck_assert(!f.cut);
	ck_assert_uint_eq(f.len, strlen(line));
	ck_assert_uint_le(f.len, LOG_LINE_MAX);
	ck_assert_ptr_eq(strchr(line, '\n'), line + f.len - 1);
	return line;
}

static struct addr db_addr(void)
{
	struct addr a;

	addr_parse_ip(&a, "192.0.2.10");
	a.port = 5432;
	return a;
}

static struct event retry_event(const struct addr *a)
{
	return (struct event){
		.kind = EVENT_RETRY,
		.op = OP_CONNECT,
		.dest = "db1:5432",
		.addr = a,
		.attempt = 1,
		.max_attempts = 5,
		.error = { ERR_ERRNO, ECONNREFUSED },
		.wait = 112 * DUR_MS + 7,
		.elapsed = 412 * DUR_US,
		.left = 29950 * DUR_MS,
		.policy = "default",
	};
}

#define HEAD "2026-11-29T18:31:37.123Z libretry[4242] "
#define LOGFMT_HEAD "time=2026-11-29T18:31:37.123Z pid=4242 "
#define JSON_HEAD "{\"time\":\"2026-11-29T18:31:37.123Z\",\"pid\":4242,"
#define TARGET "op=connect dest=db1:5432 addr=192.0.2.10:5432 "

START_TEST(retry_line_is_the_contract)
{
	struct addr a = db_addr();
	struct event e = retry_event(&a);

	ck_assert_str_eq(render(LOG_TEXT, &e),
	                 HEAD "WARN retry " TARGET "attempt=1/5 error=ECONNREFUSED "
	                 "wait=112ms elapsed=0.4ms left=29.9s policy=default\n");
	e.rule = (struct source){ "/etc/libretry/libretry.conf", 63 };
	ck_assert_str_eq(render(LOG_LOGFMT, &e),
	                 LOGFMT_HEAD "level=warn event=retry " TARGET
	                 "attempt=1/5 error=ECONNREFUSED wait=112ms elapsed=0.4ms left=29.9s "
	                 "policy=default rule=/etc/libretry/libretry.conf:63\n");
	ck_assert_str_eq(render(LOG_JSON, &e),
	                 JSON_HEAD "\"level\":\"warn\",\"event\":\"retry\",\"op\":\"connect\","
	                 "\"dest\":\"db1:5432\",\"addr\":\"192.0.2.10:5432\","
	                 "\"attempt\":\"1/5\",\"error\":\"ECONNREFUSED\",\"wait\":\"112ms\","
	                 "\"wait_ns\":112000007,\"elapsed\":\"0.4ms\",\"elapsed_ns\":412000,"
	                 "\"left\":\"29.9s\",\"left_ns\":29950000000,\"policy\":\"default\","
	                 "\"rule\":\"/etc/libretry/libretry.conf:63\"}\n");
}
END_TEST

START_TEST(other_kinds_in_text)
{
	static struct addr a;
	static const struct {
		struct event e;
		const char *text;
	} cases[] = {
		{ { .kind = EVENT_WOULD_RETRY, .op = OP_LOOKUP, .dest = "db1", .attempt = 1,
		    .max_attempts = 5, .error = { ERR_EAI, EAI_AGAIN }, .wait = 100 * DUR_MS,
		    .elapsed = 5 * DUR_S, .left = DUR_NONE, .policy = "p",
		    .rule = { "x.conf", 7 } },
		  "WARN would-retry op=lookup dest=db1 attempt=1/5 error=EAI_AGAIN wait=100ms "
		  "elapsed=5s policy=p rule=x.conf:7\n" },
		{ { .kind = EVENT_RECOVERED, .op = OP_CONNECT, .dest = "db1:5432", .addr = &a,
		    .attempts = 3, .waited = 412 * DUR_MS, .policy = "default" },
		  "INFO recovered " TARGET "attempts=3 waited=412ms policy=default\n" },
		{ { .kind = EVENT_GAVE_UP, .op = OP_CONNECT, .dest = "db1:5432", .addr = &a,
		    .attempts = 5, .error = { ERR_ERRNO, ECONNREFUSED },
		    .reason = REASON_ATTEMPTS, .waited = 1500 * DUR_MS, .policy = "default",
		    .rule = { "x.conf", 7 } },
		  "ERROR gave-up " TARGET "attempts=5 error=ECONNREFUSED reason=attempts "
		  "waited=1.5s policy=default rule=x.conf:7\n" },
		{ { .kind = EVENT_ABANDONED, .op = OP_CONNECT, .dest = "db1:5432", .addr = &a,
		    .attempts = 2, .waited = 10 * DUR_MS, .policy = "default" },
		  "INFO abandoned " TARGET "attempts=2 waited=10ms policy=default\n" },
		{ { .kind = EVENT_MOVED, .op = OP_CONNECT, .dest = "db1:5432", .addr = &a,
		    .policy = "default" },
		  "INFO moved op=connect dest=db1:5432 addr=192.0.2.10:5432\n" },
		{ { .kind = EVENT_FALLBACK, .op = OP_CONNECT, .dest = "db1:5432", .addr = &a,
		    .to = "[::1]:5433", .left = DUR_NONE, .policy = "p", .rule = { "x.conf", 7 } },
		  "WARN fallback " TARGET "to=[::1]:5433 policy=p rule=x.conf:7\n" },
		{ { .kind = EVENT_WOULD_FALLBACK, .op = OP_CONNECT, .dest = "db1:5432", .addr = &a,
		    .to = "standby:5433", .left = DUR_NONE },
		  "WARN would-fallback " TARGET "to=standby:5433\n" },
		{ { .kind = EVENT_REDIRECT, .op = OP_CONNECT, .dest = "db1:5432", .addr = &a,
		    .to = "standby:5433", .left = DUR_NONE, .reason = REASON_UNUSABLE },
		  "WARN redirect " TARGET "to=standby:5433 reason=unusable\n" },
		{ { .kind = EVENT_WOULD_REDIRECT, .op = OP_CONNECT, .dest = "db1:5432", .addr = &a,
		    .to = "standby:5433", .left = DUR_NONE },
		  "WARN would-redirect " TARGET "to=standby:5433\n" },
		{ { .kind = EVENT_PASSED, .op = OP_CONNECT, .dest = "db1:5432", .addr = &a,
		    .to = "standby:5433", .left = DUR_NONE, .reason = REASON_UNUSABLE },
		  "DEBUG passed " TARGET "to=standby:5433 reason=unusable\n" },
		{ { .kind = EVENT_STOPPING, .signal = SIGTERM, .dest = "x" },
		  "INFO stopping signal=SIGTERM\n" },
		{ { .kind = EVENT_STOPPING, .signal = 50 }, "INFO stopping signal=50\n" },
		{ { .kind = EVENT_SUPPRESSED, .dest = "db1:5432", .lines = 12345678901 },
		  "WARN suppressed dest=db1:5432 lines=12345678901\n" },
		{ { .kind = EVENT_SUPPRESSED, .lines = 1 }, "WARN suppressed lines=1\n" },
		{ { .kind = EVENT_PASSED, .op = OP_SEND, .dest = "d", .addr = &a,
		    .error = { ERR_ERRNO, 4000 }, .reason = REASON_BUDGET },
		  "DEBUG passed op=send dest=d addr=192.0.2.10:5432 error=4000 reason=budget\n" },
		{ { .kind = EVENT_INJECTED, .op = OP_CONNECT, .dest = "db1:5432", .addr = &a,
		    .error = { ERR_ERRNO, ECONNREFUSED }, .left = DUR_NONE,
		    .rule = { "x.conf", 7 } },
		  "WARN injected " TARGET "error=ECONNREFUSED rule=x.conf:7\n" },
		{ { .kind = EVENT_INJECTED, .op = OP_SEND, .dest = "d", .delay = 20 * DUR_MS,
		    .short_write = 3, .rule = { "LIBRETRY_INJECT", 1 } },
		  "WARN injected op=send dest=d delay=20ms short_write=3 "
		  "rule=LIBRETRY_INJECT:1\n" },
		{ { .kind = EVENT_INJECTED, .op = OP_SEND, .reset = true,
		    .error = { ERR_ERRNO, ECONNRESET } },
		  "WARN injected op=send error=ECONNRESET reset=1\n" },
		{ { .kind = EVENT_CONFIG, .level = LOG_ERROR_LEVEL,
		    .message = "x.conf:1: \"ful\": a=b \\ \n\x1b\xc3" },
		  "ERROR config x.conf:1: \"ful\": a=b \\ \\x0a\\x1b\\xc3\n" },
		{ { .kind = EVENT_CONFIG, .level = LOG_WARN_LEVEL }, "WARN config\n" },
	};

	a = db_addr();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		render(LOG_TEXT, &cases[i].e);
		ck_assert_int_eq(strncmp(line, HEAD, strlen(HEAD)), 0);
		ck_assert_str_eq(line + strlen(HEAD), cases[i].text);
		ck_assert_uint_eq(render_stamp_len(line, strlen(line)), strlen(HEAD));
	}
}
END_TEST

START_TEST(json_and_logfmt_of_other_kinds)
{
	struct event e = { .kind = EVENT_GAVE_UP, .op = OP_CONNECT, .attempts = 5,
		           .reason = REASON_DEADLINE, .waited = DUR_S };

	ck_assert_str_eq(render(LOG_JSON, &e),
	                 JSON_HEAD "\"level\":\"error\",\"event\":\"gave-up\","
	                 "\"op\":\"connect\",\"attempts\":5,\"reason\":\"deadline\","
	                 "\"waited\":\"1s\",\"waited_ns\":1000000000}\n");
	e = (struct event){ .kind = EVENT_SUPPRESSED, .dest = "d", .lines = 9 };
	ck_assert_str_eq(render(LOG_JSON, &e),
	                 JSON_HEAD "\"level\":\"warn\",\"event\":\"suppressed\","
	                 "\"dest\":\"d\",\"lines\":9}\n");
	e = (struct event){ .kind = EVENT_STOPPING, .signal = SIGINT };
	ck_assert_str_eq(render(LOG_JSON, &e), JSON_HEAD "\"level\":\"info\",\"event\":"
	                                                 "\"stopping\",\"signal\":\"SIGINT\"}\n");
	e = (struct event){ .kind = EVENT_CONFIG, .level = LOG_DEBUG_LEVEL,
		            .message = "a \"b\" \\ c=d\n" };
	ck_assert_str_eq(render(LOG_JSON, &e), JSON_HEAD "\"level\":\"debug\",\"event\":"
	                                                 "\"config\",\"message\":\"a \\\"b\\\" "
	                                                 "\\\\ c=d\\u000a\"}\n");
	ck_assert_str_eq(render(LOG_LOGFMT, &e),
	                 LOGFMT_HEAD "level=debug event=config "
	                 "message=\"a \\\"b\\\" \\\\ c=d\\x0a\"\n");
}
END_TEST

START_TEST(long_harmless_names_stay_readable)
{
	char host[120];
	struct event e = retry_event(NULL);

	memset(host, 'h', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	e.dest = host;
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		ck_assert_ptr_nonnull(strstr(render(formats[i], &e), host));
}
END_TEST

/* Every kind with every field at its worst, in every format, made of each
 * byte in turn: the line is whole, one line, and valid. */
START_TEST(hostile_fields_leave_the_line_whole)
{
	static char evil[5000];
	struct addr a = { .family = AF_UNIX };
	struct render_stamp late = { INT64_C(253402300799), 999999999, 4194304 };
	struct fmt f;

	for (int byte = 1; byte < 256; byte++) {
		memset(evil, byte, sizeof(evil) - 1);
		memset(a.path, byte, sizeof(a.path) - 1);
		for (int kind = 0; kind < EVENT_KINDS; kind++) {
			struct event e = {
				.kind = (enum event_kind)kind, .level = LOG_ERROR_LEVEL,
				.op = OP_CONNECT, .dest = evil, .addr = &a, .attempt = ~0U,
				.max_attempts = ~0U, .attempts = ~0U,
				.error = { ERR_ERRNO, EPROTONOSUPPORT },
				.reason = REASON_NOT_RETRYABLE, .wait = -(DUR_NONE - 1),
				.elapsed = DUR_NONE - 1, .left = INT64_MIN,
				.waited = DUR_NONE - 1, .policy = evil, .to = evil,
				.rule = { evil, ~0U }, .signal = SIGVTALRM,
				.lines = UINT64_MAX, .message = evil,
				.delay = DUR_NONE - 1, .short_write = ~0U, .reset = true,
			};

			for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
				fmt_init(&f, line, sizeof(line));
				render_event(&f, formats[i], &e, &late);
				ck_assert_msg(!f.cut, "byte %d kind %d format %zu", byte, kind, i);
				ck_assert_ptr_eq(strchr(line, '\n'), line + f.len - 1);
				if (formats[i] == LOG_JSON)
					ck_assert_msg(json_valid(line), "%s", line);
				else
					for (size_t j = 0; j + 1 < f.len; j++)
						ck_assert_int_ge(line[j], ' ');
			}
		}
	}
}
END_TEST

/* Names that fill a field to the byte around every cut. */
START_TEST(every_length_fits)
{
	static const char *const patterns[] = { "x", "\xc3\xbc", "\xf0\x9f\x98\x80", "x\n", "\"" };
	static char name[1024];

	for (size_t p = 0; p < ARRAY_LEN(patterns); p++) {
		for (size_t len = 0; len < 700; len++) {
			struct event e = { .kind = EVENT_CONFIG, .message = name };

			for (size_t i = 0; i < len; i++)
				name[i] = patterns[p][i % strlen(patterns[p])];
			name[len] = '\0';
			for (size_t i = 0; i < ARRAY_LEN(formats); i++)
				render(formats[i], &e);
			ck_assert_msg(json_valid(line), "%s", line);
			e = (struct event){ .kind = EVENT_SUPPRESSED, .dest = name };
			ck_assert_msg(json_valid(render(LOG_JSON, &e)), "%s", line);
		}
	}
}
END_TEST

START_TEST(kinds_out_of_range_are_harmless)
{
	struct event e = { .kind = (enum event_kind)99 };

	ck_assert_str_eq(render(LOG_TEXT, &e), HEAD "DEBUG unknown\n");
	e = (struct event){ .kind = EVENT_CONFIG, .level = (enum log_level)9, .message = "m" };
	ck_assert_str_eq(render(LOG_TEXT, &e), HEAD "DEBUG config m\n");
	ck_assert(json_valid(render(LOG_JSON, &e)));
}
END_TEST

START_TEST(stamp_of_other_lines)
{
	ck_assert_uint_eq(render_stamp_len("", 0), 0);
	ck_assert_uint_eq(render_stamp_len("a", 1), 0);
	ck_assert_uint_eq(render_stamp_len("a b", 3), 0);
	ck_assert_uint_eq(render_stamp_len("a b c", 5), 4);
	ck_assert_uint_eq(render_stamp_len("a b c", 3), 0);
	ck_assert_uint_eq(render_stamp_len(" ", 1), 0);
}
END_TEST

START_TEST(json_checker_can_fail)
{
	static const char *const bad[] = {
		"", "{", "{}", "{}x\n", "{\"a\":}\n", "{\"a\":1,}\n", "{\"a\" 1}\n", "{\"a\":01}\n",
		"{\"a\":\"\n\"}\n", "{\"a\":\"\\x41\"}\n", "{\"a\":\"\\u00g0\"}\n",
		"{\"a\":\"\xff\"}\n", "{\"a\":\"\xc3\"}\n", "{\"a\":\"\xed\xa0\x80\"}\n",
		"{\"a\":-}\n", "{\"a\":1}\n\n", "{a:1}\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_msg(!json_valid(bad[i]), "%s", bad[i]);
	ck_assert(json_valid("{}\n"));
	ck_assert(json_valid("{\"a\":-1,\"b\":\"\xc3\xbc\\u00ff\\\"\"}\n"));
}
END_TEST

UNIT_MAIN("render", &retry_line_is_the_contract, &other_kinds_in_text,
          &json_and_logfmt_of_other_kinds, &long_harmless_names_stay_readable,
          &hostile_fields_leave_the_line_whole, &every_length_fits,
          &kinds_out_of_range_are_harmless, &stamp_of_other_lines, &json_checker_can_fail)
