/* SPDX-License-Identifier: MIT */
#include "policy/decide.h"

#include <errno.h>

#include "policy/builtin.h"
#include "tests/unit/unit.h"

static struct decision ask(const struct policy *p, int error, unsigned attempt, int64_t elapsed,
                           int64_t limit)
{
	struct failure f = { .op = OP_CONNECT, .err = { ERR_ERRNO, error } };
	struct progress so_far = { .attempt = attempt, .elapsed = elapsed, .limit = limit };

	return decide(p, &f, &so_far, 0);
}

START_TEST(verdicts)
{
	struct policy p = builtin_default();
	struct decision d;

	d = ask(&p, ECONNREFUSED, 1, DUR_MS, DUR_NONE);
	ck_assert(d.verdict == VERDICT_RETRY && d.class == CLASS_REFUSED);
	ck_assert_int_eq(d.wait, 50 * DUR_MS); /* the low end, random = 0 */
	ck_assert_int_eq(d.ceiling, 150 * DUR_MS);
	ck_assert_int_eq(d.left, 30 * DUR_S - DUR_MS);

	d = ask(&p, EACCES, 1, 0, DUR_NONE);
	ck_assert(d.verdict == VERDICT_PASS && d.reason == REASON_NOT_RETRYABLE);
	d = ask(&p, EACCES, 2, 0, DUR_NONE);
	ck_assert(d.verdict == VERDICT_GIVE_UP && d.reason == REASON_NOT_RETRYABLE);
	d = ask(&p, ECONNREFUSED, 5, 0, DUR_NONE);
	ck_assert(d.verdict == VERDICT_GIVE_UP && d.reason == REASON_ATTEMPTS);
	p.max_attempts = 1;
	d = ask(&p, ECONNREFUSED, 1, 0, DUR_NONE);
	ck_assert(d.verdict == VERDICT_PASS && d.reason == REASON_OFF);
}
END_TEST

/* No wait is begun that would end at the deadline or after it. */
START_TEST(deadline)
{
	struct policy p = builtin_default();
	struct decision d;

	p.backoff.jitter = JITTER_NONE;
	p.deadline = DUR_S;
	d = ask(&p, ECONNREFUSED, 1, DUR_S - 100 * DUR_MS - 1, DUR_NONE);
	ck_assert(d.verdict == VERDICT_RETRY);
	d = ask(&p, ECONNREFUSED, 1, DUR_S - 100 * DUR_MS, DUR_NONE);
	ck_assert(d.verdict == VERDICT_GIVE_UP && d.reason == REASON_DEADLINE);
	/* One attempt alone can pass it: the time of calls counts. */
	d = ask(&p, ETIMEDOUT, 1, 127 * DUR_S, DUR_NONE);
	ck_assert(d.verdict == VERDICT_GIVE_UP && d.reason == REASON_DEADLINE);
	ck_assert_int_eq(d.left, 0);
	p.deadline = DUR_NONE;
	d = ask(&p, ETIMEDOUT, 1, 127 * DUR_S, DUR_NONE);
	ck_assert(d.verdict == VERDICT_RETRY && d.left == DUR_NONE);
	/* The program's own bound counts as the deadline does. */
	d = ask(&p, ECONNREFUSED, 1, 0, 100 * DUR_MS);
	ck_assert(d.verdict == VERDICT_GIVE_UP && d.reason == REASON_DEADLINE);
}
END_TEST

START_TEST(every_reason_and_op_has_a_word)
{
	for (int r = REASON_NONE; r <= REASON_UNUSABLE; r++)
		ck_assert_str_ne(reason_name((enum reason)r), "?");
	ck_assert_str_eq(op_name(OP_CONNECT), "connect");
	ck_assert_str_eq(op_name(OP_LOOKUP), "lookup");
	ck_assert_str_eq(op_name(OP_SEND), "send");
}
END_TEST

UNIT_MAIN("decide", &verdicts, &deadline, &every_reason_and_op_has_a_word)
