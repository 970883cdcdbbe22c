/* SPDX-License-Identifier: MIT */
#include "cli/stats.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/budget.h"
#include "policy/builtin.h"
#include "tests/unit/unit.h"

#define NOW (1000 * DUR_S)
#define WALL (1700000000 * DUR_S)

static struct shm_header header;
static struct slot slots[SHM_SLOTS];
static struct stats st;
static struct segment segment = { .gid = -1, .path = "/x", .whose = "user:alice" };

static void begin(void)
{
	memset(&header, 0, sizeof(header));
	memset(slots, 0, sizeof(slots));
	memset(&st, 0, sizeof(st));
}

static struct slot *add(const char *text, const char *policy)
{
	struct slot *s = slots;

	while (s->key)
		s++;
	atomic_store(&s->key, 1);
	memcpy((void *)s->text, text, strlen(text));
	memcpy((void *)s->policy, policy, strlen(policy));
	atomic_store(&s->named, 1);
	return s;
}

static void build(void)
{
	st.segment = &segment;
	stats_build(&st, &header, slots, NOW, WALL);
}

/* What <write> writes. */
static char *written(void (*write)(FILE *to))
{
	static char *text;
	size_t size;
	FILE *to;

	free(text);
	text = NULL;
	to = open_memstream(&text, &size);
	write(to);
	fclose(to);
	return text;
}

static void write_prometheus(FILE *to)
{
	stats_prometheus(to, &st);
}

static void show(FILE *to, bool json)
{
	struct out o;

	out_open(&o, to, json);
	stats_show(&o, &st);
	out_close(&o);
}

static void write_table(FILE *to)
{
	show(to, false);
}

static void write_json(FILE *to)
{
	show(to, true);
}

static bool healthy;

static void write_health(FILE *to)
{
	healthy = stats_health(to, &st);
}

/* <line> is a whole line of <text>. */
static bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at++)
		if ((at == text || at[-1] == '\n') && at[len] == '\n')
			return true;
	printf("<%s> is not in:\n%s", line, text);
	return false;
}

/* The row that begins with <start> has these words, whatever is between them. */
static bool has_row(const char *text, const char *row)
{
	char words[4096], *to = words;
	char last = '\n';

	for (const char *c = text; *c && to < words + sizeof(words) - 1; c++) {
		if (*c == ' ' && last == ' ')
			continue;
		last = *to++ = *c;
	}
	*to = '\0';
	return has_line(words, row);
}

static struct slot *example(void)
{
	struct slot *s;

	begin();
	s = add("db1:5432", "default");
	s->tally[TALLY_CALLS] = 100;
	s->tally[TALLY_RETRIES] = 30;
	s->tally[TALLY_RECOVERED] = 8;
	s->tally[TALLY_GAVE_UP_ATTEMPTS] = 1;
	s->tally[TALLY_GAVE_UP_DEADLINE] = 2;
	s->tally[TALLY_GAVE_UP_STOPPING] = 3;
	s->tally[TALLY_BUDGET_REFUSED] = 4;
	s->tally[TALLY_BREAKER_REFUSED] = 5;
	s->tally[TALLY_CONCURRENT_REFUSED] = 10;
	s->tally[TALLY_GAVE_UP_OTHER] = 6;
	s->tally[TALLY_NOT_RETRYABLE] = 7;
	s->tally[TALLY_ABANDONED] = 9;
	s->attempts[1] = 5;
	s->attempts[6] = 2;
	s->sum_attempts = 40;
	s->waits[0] = 1;
	s->waits[9] = 2;
	s->sum_wait = 201500000;
	s->last_error = ECONNREFUSED;
	s->last_failure = NOW - 3 * DUR_S;
	return s;
}

START_TEST(nothing_is_nothing)
{
	begin();
	build();
	ck_assert_uint_eq(st.count, 0);
	ck_assert(has_line(written(write_table), "No failure was counted yet."));
	st.present = false;
	ck_assert_str_eq(written(write_table), "user:alice: no statistics yet\n");
	ck_assert_str_eq(written(write_json),
	                 "{\n  \"segment\": \"user:alice\",\n  \"file\": \"/x\",\n"
	                 "  \"present\": false,\n  \"destinations\": []\n}\n");
	ck_assert(has_line(written(write_prometheus),
	                   "libretry_segment_present{segment=\"user:alice\"} 0"));
}
END_TEST

START_TEST(outcomes_add_up)
{
	struct slot *s = example();

	build();
	ck_assert_uint_eq(stats_gave_up(&st.dests[0]), 25);
	ck_assert_uint_eq(stats_passed(&st.dests[0]), 13);
	ck_assert_uint_eq(stats_first_ok(&st.dests[0]), 100 - 8 - 25 - 13 - 9);
	/* Who is counted before his calls are. */
	s->tally[TALLY_CALLS] = 44;
	build();
	ck_assert_uint_eq(stats_first_ok(&st.dests[0]), 0);
}
END_TEST

START_TEST(the_table_says_it)
{
	char *text;

	example();
	atomic_store(&add("lookup:db1:5432", "default")->last_error, (uint32_t)-3);
	slots[1].last_failure = NOW - 250 * DUR_MS;
	slots[1].hold = NOW + 12 * DUR_S;
	header.overflow = 7;
	build();
	text = written(write_table);
	ck_assert(has_row(text, "DESTINATION POLICY CALLS OK-AT-ONCE RETRIES RECOVERED GAVE-UP "
	                        "PASSED ABANDONED LAST-ERROR STATE"));
	ck_assert(has_row(text, "db1:5432 default 100 45 30 8 25 13 9 ECONNREFUSED, 3s ago -"));
	ck_assert(has_row(text, "lookup:db1:5432 default 0 0 0 0 0 0 0 EAI_AGAIN, 250ms ago held "
	                        "for 12s"));
	ck_assert(has_row(text, "db1:5432 default 1 2 4 5 10 3 7 6"));
	ck_assert(has_row(text, "db1:5432 default 0 5 0 0 0 0 2"));
	ck_assert(has_row(text, "db1:5432 default 1 0 0 0 0 0 0 0 0 2"));
	ck_assert_ptr_nonnull(strstr(text, "7 times there was no place left"));
	st.narrow = true;
	text = written(write_table);
	st.narrow = false;
	ck_assert(has_row(text, "DESTINATION POLICY STATE CALLS OK-AT-ONCE RETRIES RECOVERED "
	                        "GAVE-UP PASSED ABANDONED LAST-ERROR"));
	ck_assert(has_row(text, "lookup:db1:5432 default held for 12s 0 0 0 0 0 0 0 EAI_AGAIN, "
	                        "250ms ago"));
	text = written(write_table);
	ck_assert_ptr_null(strstr(text, "RETRIES-LEFT"));
}
END_TEST

START_TEST(json_says_it)
{
	char *text;

	example()->hold = NOW + 1500 * DUR_MS;
	build();
	text = written(write_json);
	ck_assert_ptr_nonnull(strstr(text, "{\"destination\": \"db1:5432\", \"policy\": "
	                                   "\"default\", \"calls\": 100, \"first_try_ok\": 45, "));
	ck_assert_ptr_nonnull(strstr(text, "\"gave_up_concurrent\": 10, \"gave_up_stopping\": 3, "
	                                   "\"passed_not_retryable\": 7, \"passed_other\": 6, "));
	ck_assert_ptr_nonnull(strstr(text, "\"hold_left\": \"1500ms\", \"budget_left\": null, "
	                                   "\"last_error\": \"ECONNREFUSED\", "
	                                   "\"last_failure_ago\": \"3s\""));
	ck_assert_ptr_nonnull(strstr(text, "\"attempts_more\": 2, \"attempts_sum\": 40, "));
	ck_assert_ptr_nonnull(strstr(text, "\"waited_more\": 2, \"waited_sum_us\": 201500000}"));
}
END_TEST

START_TEST(prometheus_says_it)
{
#define OF "{segment=\"user:alice\",op=\"connect\",dest=\"db1:5432\",policy=\"default\""
	static const char *const lines[] = {
		"# TYPE libretry_calls_total counter",
		"libretry_calls_total" OF "} 100",
		"libretry_giveups_total" OF ",reason=\"attempts\"} 1",
		"libretry_giveups_total" OF ",reason=\"concurrent\"} 10",
		"libretry_giveups_total" OF ",reason=\"stopping\"} 3",
		"libretry_passed_total" OF ",reason=\"not-retryable\"} 7",
		"# TYPE libretry_attempts histogram",
		"libretry_attempts_bucket" OF ",le=\"1\"} 0",
		"libretry_attempts_bucket" OF ",le=\"2\"} 5",
		"libretry_attempts_bucket" OF ",le=\"10\"} 5",
		"libretry_attempts_bucket" OF ",le=\"+Inf\"} 7",
		"libretry_attempts_sum" OF "} 40",
		"libretry_attempts_count" OF "} 7",
		"libretry_wait_seconds_bucket" OF ",le=\"0.01\"} 1",
		"libretry_wait_seconds_bucket" OF ",le=\"100\"} 1",
		"libretry_wait_seconds_bucket" OF ",le=\"+Inf\"} 3",
		"libretry_wait_seconds_sum" OF "} 201.500000",
		"libretry_wait_seconds_count" OF "} 3",
		"libretry_hold_seconds" OF "} 0.000",
		"libretry_last_failure_timestamp_seconds" OF "} 1699999997.000",
		"libretry_segment_overflow_total{segment=\"user:alice\"} 0",
		"libretry_segment_places_taken{segment=\"user:alice\"} 1"
	};
#undef OF
	char *text;

	example();
	build();
	text = written(write_prometheus);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		ck_assert(has_line(text, lines[i]));
	ck_assert_ptr_null(strstr(text, "libretry_breaker_state{"));
	ck_assert_ptr_null(strstr(text, "libretry_budget_balance{"));
}
END_TEST

START_TEST(labels_are_harmless)
{
	example();
	memset((void *)slots[0].text, 0, sizeof(slots[0].text));
	memcpy((void *)slots[0].text, "/run/a\"b\\c\n\xff", 12);
	add("lookup:db1:5432", "other");
	build();
	ck_assert(has_line(written(write_prometheus),
	                   "libretry_calls_total{segment=\"user:alice\",op=\"connect\","
	                   "dest=\"/run/a\\\\x22b\\\\x5cc\\\\x0a\\\\xff\","
	                   "policy=\"default\"} 100"));
	ck_assert(has_line(written(write_prometheus),
	                   "libretry_calls_total{segment=\"user:alice\",op=\"lookup\","
	                   "dest=\"db1:5432\",policy=\"other\"} 0"));
}
END_TEST

START_TEST(states_are_read)
{
	struct policy p = builtin_default();
	struct slot *s = example();
	char *text;

	p.breaker.enabled = true;
	p.coordinate = true;
	p.breaker.consecutive_failures = 1;
	p.breaker.open_for = p.breaker.max_open_for = 20 * DUR_S;
	p.backoff.jitter = JITTER_NONE;
	s->breaker = breaker_failed(&p, 0, NOW - 5 * DUR_S, BREAKER_NO_TICKET, false, 0).word;
	s->pace = pace_failed(&p, 0, NOW, PACE_NO_TICKET, 0);
	s->last_failure = NOW - 41 * DUR_S;
	build();
	/* Its programs have ended: nobody probes. */
	ck_assert_ptr_nonnull(strstr(written(write_table), "breaker open for 15s, was down"));
	s->last_failure = NOW - DUR_S;
	build();
	ck_assert_int_eq(st.dests[0].breaker, BREAKER_OPEN);
	text = written(write_table);
	ck_assert_ptr_nonnull(strstr(text, "breaker open for 15s, down, one probes"));
	text = written(write_prometheus);
	ck_assert_ptr_nonnull(strstr(text, "state=\"closed\"} 0\n"));
	ck_assert_ptr_nonnull(strstr(text, "state=\"open\"} 1\n"));
	ck_assert_ptr_nonnull(strstr(text, "state=\"half-open\"} 0\n"));
	ck_assert_ptr_nonnull(strstr(text, "state=\"down\"} 1\n"));
	ck_assert_ptr_nonnull(strstr(written(write_health), "\"reason\": \"breaker open\""));
	ck_assert(!healthy);
	/* Its time is over, or has been for days: then the word seems young again. */
	stats_build(&st, &header, slots, NOW + 16 * DUR_S, WALL);
	ck_assert_int_eq(st.dests[0].breaker, BREAKER_HALF_OPEN);
	stats_build(&st, &header, slots, NOW + (INT64_C(1) << 28) * DUR_MS, WALL);
	ck_assert_int_eq(st.dests[0].breaker, BREAKER_HALF_OPEN);
	ck_assert_int_eq(st.dests[0].breaker_left, 0);
	ck_assert_ptr_nonnull(strstr(written(write_health), "\"status\": \"ok\""));
}
END_TEST

START_TEST(a_hold_is_not_healthy)
{
	example()->hold = NOW + 1;
	build();
	ck_assert_ptr_nonnull(strstr(written(write_health),
	                             "\"reason\": \"held\", \"for\": \"1ms\""));
	ck_assert(!healthy);
	slots[0].hold = NOW;
	build();
	ck_assert_ptr_nonnull(strstr(written(write_health), "\"status\": \"ok\""));
	ck_assert(healthy);
}
END_TEST

START_TEST(budgets_that_are_shared_are_known)
{
	struct policy own = builtin_default(), shared = builtin_default();
	const struct policy *policies[] = { &own, &shared };
	struct config c = { .set = { .policies = policies, .policy_count = 2 } };
	struct slot *s;

	shared.name = "shared";
	shared.budget.scope = SCOPE_USER;
	example();
	s = add("db1:5432", "shared");
	add("db1:5432", "unknown");
	for (unsigned i = 0; i < 30; i++)
		s->spent = budget_retry(&shared.budget, 0, s->spent, NOW, CLASS_REFUSED).word;
	build();
	stats_budgets(&st, &c);
	ck_assert_str_eq(st.dests[1].policy, "shared");
	ck_assert_int_eq(st.dests[0].budget_left, -1);
	ck_assert_int_eq(st.dests[1].budget_left, 470);
	ck_assert_int_eq(st.dests[2].budget_left, -1);
	ck_assert(has_row(written(write_table), "db1:5432 shared 470"));
	ck_assert_ptr_nonnull(strstr(written(write_prometheus), "policy=\"shared\"} 470\n"));
	shared.budget.kind = BUDGET_TOKENS;
	ck_assert_int_eq(budget_left(&shared.budget, 0, 0, NOW), 100);
	ck_assert_int_eq(budget_left(&shared.budget, 0, 498, NOW), 0);
	ck_assert_int_eq(budget_left(&shared.budget, 0, UINT64_MAX, NOW), 0);
	shared.budget.kind = BUDGET_NONE;
	ck_assert_int_eq(budget_left(&shared.budget, 0, 5, NOW), -1);
}
END_TEST

START_TEST(rubbish_is_shown_as_it_is)
{
	char *text;

	memset(slots, 0xff, sizeof(slots));
	memset(&header, 0xff, sizeof(header));
	build();
	ck_assert_uint_eq(st.count, SHM_SLOTS);
	ck_assert_uint_eq(strlen(st.dests[0].text), SLOT_TEXT);
	text = written(write_json);
	ck_assert_ptr_nonnull(strstr(text, "\"calls\": 9223372036854775807,"));
	ck_assert_ptr_nonnull(strstr(text, "\"hold_left\": \"0s\""));
	written(write_table);
	written(write_prometheus);
}
END_TEST

/* A terminal takes orders from more than ESC: CSI is also one byte, in UTF-8 two. */
START_TEST(a_name_does_not_steer_the_terminal)
{
	char *text;

	begin();
	add("a\033[2Jb\302\2332Jc\2332Jd\303\251\303\233e:1", "p");
	build();
	text = written(write_table);
	ck_assert_ptr_nonnull(strstr(text, "a?[2Jb??2Jc?2Jd\303\251\303\233e:1"));
}
END_TEST

START_TEST(a_hold_of_days_is_none)
{
	example()->hold = (uint64_t)(NOW + DUR_MAX_CONFIG + 1);
	build();
	ck_assert_int_eq(st.dests[0].hold_left, 0);
	written(write_health);
	ck_assert(healthy);
}
END_TEST

/* Free places, and those whose name nobody has written yet. */
START_TEST(half_made_slots_are_left_out)
{
	example();
	add("b:1", "default")->named = 0;
	add("a:1", "default");
	build();
	ck_assert_uint_eq(st.count, 2);
	ck_assert_str_eq(st.dests[0].text, "a:1");
}
END_TEST

START_TEST(a_file_is_replaced_as_a_whole)
{
	char dir[] = "/tmp/test_stats.XXXXXX", path[64], missing[64];
	struct stat info;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x.prom", dir);
	snprintf(missing, sizeof(missing), "%s/no/x.prom", dir);
	example();
	build();
	ck_assert(stats_prometheus_file(path, &st));
	ck_assert(stats_prometheus_file(path, &st));
	ck_assert_int_eq(stat(path, &info), 0);
	ck_assert_uint_eq(info.st_mode & 0777, 0644);
	ck_assert_int_eq(info.st_size, (off_t)strlen(written(write_prometheus)));
	ck_assert(!stats_prometheus_file(missing, &st));
	ck_assert_int_eq(unlink(path), 0);
	/* A folder under the name: what was written aside goes away again. */
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert(!stats_prometheus_file(path, &st));
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

static void truncate_it(void *arg, struct shm_header *h, struct slot *there)
{
	(void)there;
	ck_assert_int_eq(truncate(arg, 0), 0);
	ck_abort_msg("a page that is gone was read: %u", (unsigned)atomic_load(&h->created));
}

START_TEST(a_segment_may_go_away)
{
	char dir[] = "/tmp/test_stats.XXXXXX";
	struct segment s;
	bool shared;

	begin();
	ck_assert_ptr_nonnull(mkdtemp(dir));
	shm_reset(dir);
	ck_assert(segment_choose(&s, NULL, NULL));
	ck_assert_int_eq(stats_take(&st, &s), ENOENT);
	ck_assert(!st.present);
	shm_slot(SCOPE_USER, "db1:5432", "default", &shared);
	ck_assert(shared);
	ck_assert_int_eq(stats_take(&st, &s), 0);
	ck_assert(st.present);
	ck_assert_str_eq(st.dests[0].text, "db1:5432");
	ck_assert_int_eq(segment_with(&s, true, truncate_it, s.path), EPROTO);
	ck_assert_int_eq(stats_take(&st, &s), EPROTO);
	unlink(s.path);
	ck_assert_int_eq(rmdir(dir), 0);
	shm_reset(NULL);
}
END_TEST

START_TEST(users_and_groups_have_names)
{
	struct segment s;

	ck_assert(segment_choose(&s, "root", NULL));
	ck_assert_int_eq(s.uid, 0);
	ck_assert_str_eq(s.whose, "user:root");
	ck_assert(segment_choose(&s, "3999999999", NULL));
	ck_assert_str_eq(s.whose, "user:3999999999");
	ck_assert(segment_choose(&s, NULL, "0"));
	ck_assert_int_eq(s.gid, 0);
	ck_assert_str_eq(s.whose, "group:root");
	ck_assert(!segment_choose(&s, "no such user", NULL));
	ck_assert(!segment_choose(&s, "4294967295", NULL));
	ck_assert(!segment_choose(&s, NULL, "-1"));
	ck_assert(!segment_choose(&s, "root", "root"));
}
END_TEST

static const struct stats_dest *dest(void *arg, unsigned i)
{
	(void)arg;
	return &st.dests[i];
}

static void put(void *to, const char *text, size_t len)
{
	fwrite(text, 1, len, to);
}

static void write_view_json(FILE *to)
{
	static char room[VIEW_ROOM];
	const struct view v = { .segment = "process:x", .present = true, .wall = WALL,
		                .count = st.count, .dest = dest, .flush = put, .to = to,
		                .room = room };

	view_json(&v);
}

/* The members of the first destination of <text>, one a line, in order. */
static char *first_of(char *text)
{
	json_error_t e;
	json_t *all = json_loads(text, 0, &e), *first;
	char *dump;

	ck_assert_msg(all != NULL, "%s: %s", e.text, text);
	first = json_array_get(json_object_get(all, "destinations"), 0);
	ck_assert_ptr_nonnull(first);
	dump = json_dumps(first, JSON_SORT_KEYS | JSON_INDENT(1));
	json_decref(all);
	return dump;
}

/* What a process writes of itself is what the command says of a segment. */
START_TEST(json_of_a_process_is_the_same)
{
	struct slot *s = example();
	char *one, *other;

	s->hold = NOW + 1500 * DUR_MS;
	s->pace = 12345;
	build();
	st.dests[0].budget_left = 7;
	one = first_of(written(write_json));
	other = first_of(written(write_view_json));
	ck_assert_str_eq(one, other);
	free(one);
	free(other);
	s->last_error = 9999;
	s->last_failure = 0;
	memcpy((void *)s->text, "lookup:a\"b\\", 11);
	build();
	one = first_of(written(write_json));
	other = first_of(written(write_view_json));
	ck_assert_str_eq(one, other);
	free(one);
	free(other);
}
END_TEST

UNIT_MAIN("stats", &nothing_is_nothing, &outcomes_add_up, &the_table_says_it, &json_says_it,
          &json_of_a_process_is_the_same,
          &prometheus_says_it, &labels_are_harmless, &states_are_read, &a_hold_is_not_healthy,
          &budgets_that_are_shared_are_known, &rubbish_is_shown_as_it_is,
          &a_name_does_not_steer_the_terminal, &a_hold_of_days_is_none,
          &half_made_slots_are_left_out, &a_file_is_replaced_as_a_whole,
          &a_segment_may_go_away, &users_and_groups_have_names)
