/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "base/compat.h"
#include "base/duration.h"
#include "state/view.h"

/* Members that are words of struct stats_dest. */
static const struct {
	char name[21];
	uint16_t at;
} members[] = {
#define T(name, tally) { name, offsetof(struct stats_dest, tally) }
	T("calls", tally[TALLY_CALLS]),
	T("retries", tally[TALLY_RETRIES]),
	T("recovered", tally[TALLY_RECOVERED]),
	T("abandoned", tally[TALLY_ABANDONED]),
	T("gave_up_attempts", tally[TALLY_GAVE_UP_ATTEMPTS]),
	T("gave_up_deadline", tally[TALLY_GAVE_UP_DEADLINE]),
	T("gave_up_budget", tally[TALLY_BUDGET_REFUSED]),
	T("gave_up_breaker", tally[TALLY_BREAKER_REFUSED]),
	T("gave_up_concurrent", tally[TALLY_CONCURRENT_REFUSED]),
	T("gave_up_stopping", tally[TALLY_GAVE_UP_STOPPING]),
	T("passed_not_retryable", tally[TALLY_NOT_RETRYABLE]),
	T("passed_other", tally[TALLY_GAVE_UP_OTHER]),
	T("injected", tally[TALLY_INJECTED]),
	T("parked", tally[TALLY_PARKED]),
	T("probes", tally[TALLY_PROBES]),
	T("stale", tally[TALLY_STALE]),
	T("attempts_1", attempts[0]), T("attempts_2", attempts[1]), T("attempts_3", attempts[2]),
	T("attempts_4", attempts[3]), T("attempts_5", attempts[4]),
	T("attempts_6_to_10", attempts[5]), T("attempts_more", attempts[6]),
	T("attempts_sum", sum_attempts),
	T("waited_10ms", waits[0]), T("waited_30ms", waits[1]), T("waited_100ms", waits[2]),
	T("waited_300ms", waits[3]), T("waited_1s", waits[4]), T("waited_3s", waits[5]),
	T("waited_10s", waits[6]), T("waited_30s", waits[7]), T("waited_100s", waits[8]),
	T("waited_more", waits[9]), T("waited_sum_us", sum_wait),
#undef T
};

static void key(struct fmt *f, const char *name)
{
	fmt_str(f, ",\"");
	fmt_str(f, name);
	fmt_str(f, "\":");
}

static void number(struct fmt *f, const char *name, uint64_t n)
{
	key(f, name);
	fmt_u64(f, n > INT64_MAX ? INT64_MAX : n);
}

static void text(struct fmt *f, const char *name, const char *s)
{
	key(f, name);
	if (!s) {
		fmt_str(f, "null");
		return;
	}
	fmt_char(f, '"');
	fmt_json(f, s, 4 * SLOT_TEXT);
	fmt_char(f, '"');
}

static void duration(struct fmt *f, const char *name, int64_t ns)
{
	key(f, name);
	fmt_char(f, '"');
	fmt_dur_exact(f, ns);
	fmt_char(f, '"');
}

static void error(struct fmt *f, struct err e)
{
	const char *name = err_name(e);

	if (name || e.code == 0) {
		text(f, "last_error", name);
		return;
	}
	key(f, "last_error");
	fmt_char(f, '"');
	fmt_i64(f, e.code);
	fmt_char(f, '"');
}

static void flush(const struct view *v, struct fmt *f)
{
	v->flush(v->to, f->buf, f->len);
	f->len = 0;
}

static void destination(const struct view *v, struct fmt *f, const struct stats_dest *d)
{
	fmt_str(f, "{\"destination\":\"");
	fmt_json(f, d->text, sizeof(d->text));
	fmt_char(f, '"');
	text(f, "policy", d->policy);
	flush(v, f);
	number(f, "first_try_ok", stats_first_ok(d));
	number(f, "gave_up", stats_gave_up(d));
	number(f, "passed", stats_passed(d));
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		number(f, members[i].name,
		       *(const uint64_t *)(const void *)((const char *)d + members[i].at));
	text(f, "breaker", d->has_breaker ? breaker_state_name(d->breaker) : NULL);
	duration(f, "breaker_open_for", d->breaker_left);
	text(f, "pace", d->has_pace ? pace_state_name(d->pace) : NULL);
	duration(f, "hold_left", d->hold_left);
	key(f, "budget_left");
	if (d->budget_left < 0)
		fmt_str(f, "null");
	else
		fmt_i64(f, d->budget_left);
	error(f, d->last_error);
	if (d->last_failure < 0)
		text(f, "last_failure_ago", NULL);
	else
		duration(f, "last_failure_ago", d->last_failure);
	fmt_char(f, '}');
	flush(v, f);
}

void view_json(const struct view *v)
{
	struct fmt f;
	bool any = false;

	fmt_init(&f, v->room, VIEW_ROOM);
	fmt_str(&f, "{\"segment\":\"");
	fmt_json(&f, v->segment, VIEW_LINE_MAX);
	fmt_str(&f, "\",\"present\":");
	fmt_str(&f, v->present ? "true" : "false");
	key(&f, "written");
	fmt_char(&f, '"');
	fmt_utc(&f, v->wall / DUR_S, v->wall % DUR_S);
	fmt_char(&f, '"');
	number(&f, "overflow", v->overflow);
	fmt_str(&f, ",\"destinations\":[");
	for (unsigned i = 0; i < v->count; i++) {
		const struct stats_dest *d = v->dest(v->arg, i);

		if (!d)
			continue;
		fmt_str(&f, any ? ",\n" : "\n");
		any = true;
		destination(v, &f, d);
	}
	fmt_str(&f, "]}\n");
	flush(v, &f);
}
