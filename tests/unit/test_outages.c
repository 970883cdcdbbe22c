/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "cli/outages.h"
#include "policy/classify.h"

static struct seen seen;

/* Reads <lines>, each "SECONDS PID REST" with REST behind "libretry[PID] ". */
static void read_log(const char *lines, int64_t gap)
{
	char path[] = "/tmp/outages.XXXXXX";
	FILE *f = fdopen(mkstemp(path), "w");
	struct logread *r;

	ck_assert_ptr_nonnull(f);
	for (const char *at = lines; *at; at += strcspn(at, "\n") + 1) {
		double second;
		int used;
		long pid;

		ck_assert_int_eq(sscanf(at, "%lf %ld %n", &second, &pid, &used), 2);
		fprintf(f, "2026-11-29T%02d:%02d:%06.3fZ libretry[%ld] %.*s\n",
		        (int)second / 3600, (int)second / 60 % 60,
		        second - (int)second / 60 * 60, pid, (int)strcspn(at + used, "\n"),
		        at + used);
	}
	fclose(f);
	r = logread_open(path);
	ck_assert_ptr_nonnull(r);
	seen_read(&seen, r, gap);
	ck_assert_uint_eq(logread_damaged(r), 0);
	logread_close(r);
	unlink(path);
}

#define RETRY(dest) "WARN retry op=connect dest=" dest " attempt=1/5 error=ECONNREFUSED " \
	"wait=112ms elapsed=0.4ms left=29.9s policy=default\n"
#define RECOVERED(dest) "INFO recovered op=connect dest=" dest " attempts=3 waited=412ms\n"
#define GAVE_UP(dest, why) "ERROR gave-up op=connect dest=" dest " attempts=5 " \
	"error=ECONNREFUSED waited=2s reason=" why "\n"

static void expect(const struct outage_seen *o, double start, double length, bool open)
{
	int64_t zero = seen.first / (86400 * DUR_S) * (86400 * DUR_S);
	double at = (double)(o->start - zero) / (double)DUR_S;

	/* The first attempt began 0.4 ms before it was logged. */
	ck_assert_double_eq_tol(at, start - 0.0004, 1e-5);
	ck_assert_double_eq_tol((double)(o->end - o->start) / (double)DUR_S, length + 0.0004, 1e-5);
	ck_assert(o->open == open);
}

START_TEST(an_outage_ends_with_a_recovery)
{
	read_log("10 1 " RETRY("db1:1") "11 1 " RETRY("db1:1") "13 1 " RECOVERED("db1:1")
	         "20 1 " RETRY("db1:1") "21 1 " RECOVERED("db1:1"), 30 * DUR_S);
	ck_assert_uint_eq(seen.count, 1);
	ck_assert_str_eq(seen.dests[0].dest, "db1:1");
	ck_assert_uint_eq(seen.dests[0].count, 2);
	ck_assert_uint_eq(seen.dests[0].failures, 3);
	ck_assert_int_eq(seen.dests[0].elapsed, 400 * DUR_US);
	ck_assert(err_set_has(&seen.dests[0].errors, (struct err){ ERR_ERRNO, ECONNREFUSED }));
	expect(&seen.dests[0].list[0], 10, 3, false);
	ck_assert_uint_eq(seen.dests[0].list[0].failures, 2);
	expect(&seen.dests[0].list[1], 20, 1, false);
	seen_free(&seen);
}
END_TEST

START_TEST(several_processes_are_one_destination)
{
	/* In the order in which a shared file may hold them. */
	read_log("12 2 " RETRY("db1:1") "10 1 " RETRY("db1:1") "15 1 " RECOVERED("db1:1")
	         "16 2 " RECOVERED("db1:1"), 30 * DUR_S);
	ck_assert_uint_eq(seen.dests[0].count, 1);
	expect(&seen.dests[0].list[0], 10, 5, false);
	seen_free(&seen);
}
END_TEST

START_TEST(without_a_recovery_the_end_is_not_known)
{
	read_log("10 1 " RETRY("db1:1") "12 1 " GAVE_UP("db1:1", "attempts")
	         "100 1 " RETRY("db1:1") "101 1 " RETRY("db1:1"), 30 * DUR_S);
	ck_assert_uint_eq(seen.dests[0].count, 2);
	expect(&seen.dests[0].list[0], 10, 2, true);
	expect(&seen.dests[0].list[1], 100, 1, true);
	seen_free(&seen);
	/* The same, if it may be silent for so long. */
	read_log("10 1 " RETRY("db1:1") "12 1 " GAVE_UP("db1:1", "attempts")
	         "100 1 " RETRY("db1:1") "101 1 " RETRY("db1:1"), 88 * DUR_S);
	ck_assert_uint_eq(seen.dests[0].count, 1);
	expect(&seen.dests[0].list[0], 10, 91, true);
	seen_free(&seen);
}
END_TEST

/* A stop says nothing about the destination, nor does success at another place. */
START_TEST(what_does_not_count)
{
	read_log("10 1 " RETRY("db1:1") "11 1 " GAVE_UP("db1:1", "stopping"), 30 * DUR_S);
	expect(&seen.dests[0].list[0], 10, 0, true);
	seen_free(&seen);
	read_log("10 1 " RETRY("db1:1")
	         "10.5 1 WARN fallback op=connect dest=db1:1 addr=192.0.2.1:1 to=192.0.2.9:1\n"
	         "11 1 " RECOVERED("db1:1") "12 2 " RETRY("db1:1") "14 2 " RECOVERED("db1:1"),
	         30 * DUR_S);
	ck_assert_uint_eq(seen.dests[0].count, 1);
	expect(&seen.dests[0].list[0], 10, 4, false);
	seen_free(&seen);
	read_log("10 1 INFO stopping signal=SIGTERM\n11 1 " RECOVERED("db1:1"), 30 * DUR_S);
	ck_assert_uint_eq(seen.count, 0);
	ck_assert_uint_eq(seen.lines, 2);
	seen_free(&seen);
}
END_TEST

START_TEST(destinations_and_counts)
{
	read_log("10 1 " RETRY("a:1") "11 1 " RETRY("b:1") "11.5 1 " RETRY("b:1")
	         "12 1 WARN suppressed dest=b:1 lines=17\n"
	         "13 1 WARN injected op=connect dest=b:1 error=ECONNREFUSED rule=x.conf:3\n",
	         30 * DUR_S);
	ck_assert_uint_eq(seen.count, 2);
	ck_assert_str_eq(seen.dests[0].dest, "b:1");
	ck_assert_str_eq(seen.dests[1].dest, "a:1");
	ck_assert_uint_eq(seen.suppressed, 17);
	ck_assert_uint_eq(seen.injected, 1);
	ck_assert_int_eq(seen.last - seen.first, 3 * DUR_S);
	seen_free(&seen);
}
END_TEST

UNIT_MAIN("outages", &an_outage_ends_with_a_recovery, &several_processes_are_one_destination,
          &without_a_recovery_the_end_is_not_known, &what_does_not_count,
          &destinations_and_counts)
