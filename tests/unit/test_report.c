/* SPDX-License-Identifier: MIT */
/* report_read.c, report_calls.c, report_model.c: from lines to calls, outages
 * and totals. What the page makes of them is in tests/preload/report.sh. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/report.h"

static struct report r;

/* Reads the lines, whose stamps and numbers of programs go before them:
 * "7.250 42 WARN retry ..." is 7.25 s after 12:00 of process 42. */
static void given(const char *lines)
{
	char path[] = "/tmp/report.XXXXXX";
	FILE *f = fdopen(mkstemp(path), "w");
	unsigned s, ms, pid;
	int used;

	ck_assert_ptr_nonnull(f);
	memset(&r, 0, sizeof(r));
	while (sscanf(lines, "%u.%u %u %n", &s, &ms, &pid, &used) == 3) {
		const char *end = strchr(lines, '\n');

		fprintf(f, "2026-11-29T12:%02u:%02u.%03uZ libretry[%u] %.*s", s / 60, s % 60, ms,
		        pid, (int)(end + 1 - lines - used), lines + used);
		lines = end + 1;
	}
	fclose(f);
	ck_assert(report_read(&r, path));
	unlink(path);
	ck_assert_uint_eq(r.damaged, 0);
	report_model(&r);
}

static int64_t after_noon(const char *seconds)
{
	int64_t ns = 0;

	ck_assert_int_eq(dur_parse(seconds, &ns), DUR_OK);
	return INT64_C(1795953600) * DUR_S + ns;
}

static void outcomes(uint64_t recovered, uint64_t gave_up, uint64_t abandoned,
                     uint64_t unfinished)
{
	ck_assert_uint_eq(r.all.calls[REP_RECOVERED], recovered);
	ck_assert_uint_eq(r.all.calls[REP_GAVE_UP], gave_up);
	ck_assert_uint_eq(r.all.calls[REP_ABANDONED], abandoned);
	ck_assert_uint_eq(r.all.calls[REP_UNFINISHED], unfinished);
}

static void outage(uint32_t i, const char *from, const char *to, bool recovered, uint64_t failed)
{
	ck_assert_uint_lt(i, r.outage_count);
	ck_assert_int_eq(r.outages[i].from, after_noon(from));
	ck_assert_int_eq(r.outages[i].to, after_noon(to));
	ck_assert_int_eq(r.outages[i].recovered, recovered);
	ck_assert_uint_eq(r.outages[i].failed, failed);
}

#define RETRY "WARN retry op=connect dest=db error=ECONNREFUSED elapsed=10ms "
#define RECOVERED "INFO recovered op=connect dest=db "
#define GAVE_UP "ERROR gave-up op=connect dest=db error=ETIMEDOUT "

START_TEST(nothing)
{
	given("");
	outcomes(0, 0, 0, 0);
	ck_assert_uint_eq(r.dest_count + r.program_count + r.outage_count, 0);
	ck_assert_int_eq(report_effective(&r.all), -1);
	ck_assert_int_eq(report_actual(&r.all), -1);
	report_free(&r);
}
END_TEST

START_TEST(one_call_saved)
{
	given("1.010 7 " RETRY "attempt=1/5 wait=100ms\n"
	      "1.120 7 " RETRY "attempt=2/5 wait=200ms\n"
	      "1.325 7 " RECOVERED "attempts=3 waited=300ms\n");
	outcomes(1, 0, 0, 0);
	ck_assert_uint_eq(r.call_count, 1);
	ck_assert_uint_eq(r.calls[0].attempts, 3);
	ck_assert_int_eq(r.calls[0].from, after_noon("1s"));
	ck_assert_int_eq(r.calls[0].to, after_noon("1.325s"));
	ck_assert_int_eq(r.calls[0].waited, 300 * DUR_MS);
	ck_assert_uint_eq(r.all.failed, 2);
	ck_assert_uint_eq(r.all.attempts, 3);
	ck_assert_uint_eq(r.outage_count, 1);
	outage(0, "1s", "1.325s", true, 2);
	ck_assert_int_eq(report_effective(&r.all), PPM);
	ck_assert_int_eq(report_actual(&r.all), 333333);
	report_free(&r);
}
END_TEST

/* The last attempt of a call that gave up has no line but this one; a signal
 * that ends a wait is not an attempt. */
START_TEST(calls_given_up)
{
	given("1.010 7 " RETRY "attempt=1/2 wait=1s\n"
	      "2.030 7 " GAVE_UP "attempts=2 reason=attempts waited=1s\n"
	      "3.010 7 " RETRY "attempt=1/2 wait=1s\n"
	      "3.500 7 " GAVE_UP "attempts=1 reason=stopping waited=490ms\n"
	      "4.000 8 " GAVE_UP "attempts=1 reason=deadline waited=0us\n");
	outcomes(0, 3, 0, 0);
	ck_assert_uint_eq(r.call_count, 3);
	ck_assert_uint_eq(r.all.failed, 4);
	ck_assert_int_eq(report_effective(&r.all), 0);
	outage(0, "1s", "4s", false, 4);
	ck_assert_uint_eq(r.reason_count, 3);
	ck_assert_uint_eq(r.error_count, 2);
	ck_assert_str_eq(r.words.list[r.errors[0].name], "ETIMEDOUT");
	ck_assert_uint_eq(r.errors[0].count, 3);
	report_free(&r);
}
END_TEST

/* The breaker refuses what was announced: no attempt more. With another call that has made
 * one attempt less, and one whose last failure opened it. */
START_TEST(refused_in_the_end)
{
	given("1.010 7 " RETRY "attempt=1/5 wait=100ms\n"
	      "1.050 7 " RETRY "attempt=1/5 wait=500ms\n"
	      "1.120 7 " RETRY "attempt=2/5 wait=200ms\n"
	      "1.325 7 " GAVE_UP "attempts=2 reason=breaker waited=300ms\n"
	      "1.560 7 " GAVE_UP "attempts=2 reason=breaker waited=500ms\n");
	outcomes(0, 2, 0, 0);
	ck_assert_uint_eq(r.call_count, 2);
	ck_assert_int_eq(r.calls[0].waited, 300 * DUR_MS);
	ck_assert_uint_eq(r.all.failed, 4);
	ck_assert_uint_eq(r.all.attempts, 4);
	outage(0, "1s", "1.560s", false, 4);
	report_free(&r);
}
END_TEST

/* One call, although lines in the middle of it are missing. */
START_TEST(suppressed_in_the_middle)
{
	given("1.010 7 " RETRY "attempt=1/5 wait=100ms\n"
	      "9.000 7 " RETRY "attempt=1/5 wait=100ms\n"
	      "9.010 7 " RETRY "attempt=1/5 wait=300ms\n"
	      "9.700 7 " RETRY "attempt=4/5 wait=100ms\n"
	      "9.810 7 " GAVE_UP "attempts=5 reason=attempts waited=700ms\n"
	      "9.900 7 " RECOVERED "attempts=4 waited=800ms\n"
	      "9.950 7 WARN suppressed dest=db lines=4\n");
	outcomes(1, 1, 0, 1);
	ck_assert_uint_eq(r.call_count, 3);
	ck_assert_int_eq(r.calls[0].outcome, REP_UNFINISHED);
	report_free(&r);
}
END_TEST

/* Told apart by the times at which they are due. */
START_TEST(calls_side_by_side)
{
	given("1.010 7 " RETRY "attempt=1/5 wait=1s\n"
	      "1.110 7 " RETRY "attempt=1/5 wait=100ms\n"
	      "1.220 7 " RETRY "attempt=2/5 wait=3s\n"
	      "2.020 7 " RETRY "attempt=2/5 wait=100ms\n"
	      "2.121 7 " RECOVERED "attempts=3 waited=1.1s\n"
	      "4.221 7 " RECOVERED "attempts=3 waited=3.1s\n");
	outcomes(2, 0, 0, 0);
	ck_assert_uint_eq(r.call_count, 2);
	ck_assert_int_eq(r.calls[0].waited, 1100 * DUR_MS);
	ck_assert_int_eq(r.calls[1].waited, 3100 * DUR_MS);
	ck_assert_int_eq(r.waits[0], 1100 * DUR_MS);
	ck_assert_int_eq(r.all.longest_wait, 3100 * DUR_MS);
	report_free(&r);
}
END_TEST

START_TEST(calls_of_others)
{
	given("1.010 7 " RETRY "attempt=1/5 wait=100ms\n"
	      "1.020 8 " RETRY "attempt=1/5 wait=100ms\n"
	      "1.030 7 WARN retry op=lookup dest=db attempt=1/5 error=EAI_AGAIN wait=100ms "
	      "elapsed=1ms\n"
	      "1.125 8 " RECOVERED "attempts=2 waited=100ms\n"
	      "1.135 7 INFO abandoned op=connect dest=db attempts=1 waited=100ms\n"
	      "1.145 7 INFO stopping signal=SIGTERM\n");
	outcomes(1, 0, 1, 1);
	ck_assert_uint_eq(r.calls[0].outcome, REP_ABANDONED);
	ck_assert_uint_eq(r.calls[1].outcome, REP_RECOVERED);
	ck_assert_uint_eq(r.calls[2].outcome, REP_UNFINISHED);
	ck_assert_uint_eq(r.program_count, 2);
	ck_assert_str_eq(r.programs.list[r.program_order[0]], "7");
	ck_assert_str_eq(r.words.list[r.program_signal[r.program_order[0]]], "SIGTERM");
	ck_assert_uint_eq(r.program_signal[r.program_order[1]], 0);
	/* The abandoned one and the other are not of those with an end. */
	ck_assert_uint_eq(r.all.attempts, 2);
	report_free(&r);
}
END_TEST

/* What a suppressed line would have said is taken from the numbers. */
START_TEST(calls_without_a_beginning)
{
	given("5.000 7 " RECOVERED "attempts=4 waited=2s\n"
	      "6.000 7 " GAVE_UP "attempts=5 reason=attempts waited=3s\n"
	      "6.010 7 WARN suppressed dest=db lines=11\n"
	      "7.010 7 " RETRY "attempt=3/5 wait=1s\n");
	outcomes(1, 1, 0, 1);
	ck_assert_uint_eq(r.all.failed, 3 + 5 + 3);
	ck_assert_uint_eq(r.all.suppressed, 11);
	ck_assert_uint_eq(r.outage_count, 1);
	outage(0, "3s", "7.01s", false, 2);
	report_free(&r);
}
END_TEST

START_TEST(outages_apart)
{
	given("1.010 7 " RETRY "attempt=1/5 wait=100ms\n"
	      "1.120 7 " RECOVERED "attempts=2 waited=100ms\n"
	      "2.010 7 " RETRY "attempt=1/5 wait=70s\n"
	      /* Still waiting: the same outage, though it is more than a minute. */
	      "72.020 7 " RETRY "attempt=2/5 wait=1s\n"
	      /* Nothing since, and no recovery: another one. */
	      "190.010 7 " RETRY "attempt=1/5 wait=1s\n"
	      "191.010 7 WARN retry op=connect dest=other attempt=1/5 wait=1s elapsed=0us\n"
	      "192.010 7 INFO recovered op=connect dest=other attempts=2 waited=1s\n");
	ck_assert_uint_eq(r.outage_count, 4);
	outage(0, "1s", "1.12s", true, 1);
	outage(1, "2s", "72.02s", false, 2);
	outage(2, "190s", "190.01s", false, 1);
	outage(3, "191.01s", "192.01s", true, 1);
	ck_assert_uint_eq(r.all.outages, 4);
	ck_assert_int_eq(r.all.down, 120 * DUR_MS + 70020 * DUR_MS + 10 * DUR_MS + DUR_S);
	report_free(&r);
}
END_TEST

START_TEST(observed)
{
	given("1.010 7 WARN would-retry op=connect dest=db attempt=1/5 error=ECONNREFUSED "
	      "wait=100ms elapsed=10ms\n");
	outcomes(0, 0, 0, 0);
	ck_assert_uint_eq(r.all.observed, 1);
	ck_assert_uint_eq(r.dest_count, 1);
	outage(0, "1s", "1.01s", false, 1);
	report_free(&r);
}
END_TEST

/* The order of the file does not matter, nor that there is another one. */
START_TEST(order_of_lines)
{
	given("1.325 7 " RECOVERED "attempts=3 waited=300ms\n"
	      "1.120 7 " RETRY "attempt=2/5 wait=200ms\n"
	      "1.010 7 " RETRY "attempt=1/5 wait=100ms\n");
	outcomes(1, 0, 0, 0);
	ck_assert_uint_eq(r.call_count, 1);
	outage(0, "1s", "1.325s", true, 2);
	report_free(&r);
}
END_TEST

START_TEST(most_trouble_first)
{
	given("1.010 7 WARN retry op=connect dest=a attempt=1/5 wait=1s elapsed=0us\n"
	      "1.010 8 WARN retry op=connect dest=b attempt=1/5 wait=1s elapsed=0us\n"
	      "2.010 8 WARN retry op=connect dest=b attempt=2/5 wait=1s elapsed=0us\n"
	      "3.010 9 DEBUG config the file is used\n"
	      "4.010 9 DEBUG config the file is used\n");
	ck_assert_uint_eq(r.dest_count, 2);
	ck_assert_str_eq(r.dests.list[r.dest_order[0]], "b");
	ck_assert_uint_eq(r.program_count, 3);
	ck_assert_str_eq(r.programs.list[r.program_order[0]], "8");
	ck_assert_uint_eq(r.message_count, 1);
	ck_assert_uint_eq(r.message_total, 2);
	report_free(&r);
}
END_TEST

/* Calls that never end do not take time with the square, nor is one forgotten. */
START_TEST(many_open_calls)
{
	const unsigned calls = unit_rounds(100000);
	char path[] = "/tmp/report.XXXXXX";
	FILE *f = fdopen(mkstemp(path), "w");

	ck_assert_ptr_nonnull(f);
	memset(&r, 0, sizeof(r));
	for (unsigned i = 0; i < calls; i++)
		fprintf(f, "2026-11-29T12:%02u:%02u.%03uZ libretry[1] " RETRY
		        "attempt=1/5 wait=100ms\n", i / 60000, i / 1000 % 60, i % 1000);
	fclose(f);
	ck_assert(report_read(&r, path));
	unlink(path);
	report_model(&r);
	outcomes(0, 0, 0, calls);
	ck_assert_uint_eq(r.all.failed, calls);
	report_free(&r);
}
END_TEST

UNIT_MAIN("report", &nothing, &one_call_saved, &calls_given_up, &refused_in_the_end,
          &suppressed_in_the_middle, &calls_side_by_side,
          &calls_of_others, &calls_without_a_beginning, &outages_apart, &observed,
          &order_of_lines, &most_trouble_first, &many_open_calls)
