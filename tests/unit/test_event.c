/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <signal.h>
#include <string.h>

#include "log/event.h"

START_TEST(kinds_have_names_and_levels)
{
	static const struct {
		enum event_kind kind;
		const char *name;
		enum log_level level;
	} cases[] = {
		{ EVENT_RETRY, "retry", LOG_WARN_LEVEL },
		{ EVENT_WOULD_RETRY, "would-retry", LOG_WARN_LEVEL },
		{ EVENT_RECOVERED, "recovered", LOG_INFO_LEVEL },
		{ EVENT_MOVED, "moved", LOG_INFO_LEVEL },
		{ EVENT_FALLBACK, "fallback", LOG_WARN_LEVEL },
		{ EVENT_WOULD_FALLBACK, "would-fallback", LOG_WARN_LEVEL },
		{ EVENT_REDIRECT, "redirect", LOG_WARN_LEVEL },
		{ EVENT_WOULD_REDIRECT, "would-redirect", LOG_WARN_LEVEL },
		{ EVENT_GAVE_UP, "gave-up", LOG_ERROR_LEVEL },
		{ EVENT_ABANDONED, "abandoned", LOG_INFO_LEVEL },
		{ EVENT_STOPPING, "stopping", LOG_INFO_LEVEL },
		{ EVENT_SUPPRESSED, "suppressed", LOG_WARN_LEVEL },
		{ EVENT_PASSED, "passed", LOG_DEBUG_LEVEL },
		{ EVENT_STALE, "stale", LOG_WARN_LEVEL },
		{ EVENT_INJECTED, "injected", LOG_WARN_LEVEL },
		{ EVENT_PARKED, "parked", LOG_INFO_LEVEL },
		{ EVENT_LAYERING, "layering", LOG_WARN_LEVEL },
		{ EVENT_CONFIG, "config", LOG_ERROR_LEVEL },
	};

	ck_assert_uint_eq(ARRAY_LEN(cases), EVENT_KINDS);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		/* Only EVENT_CONFIG looks at .level. */
		struct event e = { .kind = cases[i].kind, .level = LOG_ERROR_LEVEL };

		ck_assert_str_eq(event_name(cases[i].kind), cases[i].name);
		ck_assert_int_eq(event_level(&e), cases[i].level);
	}
	struct event config = { .kind = EVENT_CONFIG, .level = LOG_DEBUG_LEVEL };
	ck_assert_int_eq(event_level(&config), LOG_DEBUG_LEVEL);
}
END_TEST

START_TEST(numbers_out_of_range_are_harmless)
{
	struct event e = { .kind = EVENT_KINDS, .level = LOG_ERROR_LEVEL };

	ck_assert_str_eq(event_name(EVENT_KINDS), "unknown");
	ck_assert_str_eq(event_name((enum event_kind)-1), "unknown");
	ck_assert_int_eq(event_level(&e), LOG_DEBUG_LEVEL);
}
END_TEST

START_TEST(signals_have_names)
{
	ck_assert_str_eq(event_signal_name(SIGTERM), "SIGTERM");
	ck_assert_str_eq(event_signal_name(SIGINT), "SIGINT");
	ck_assert_str_eq(event_signal_name(SIGHUP), "SIGHUP");
	ck_assert_str_eq(event_signal_name(SIGQUIT), "SIGQUIT");
	ck_assert_ptr_null(event_signal_name(0));
	ck_assert_ptr_null(event_signal_name(-1));
	ck_assert_ptr_null(event_signal_name(SIGRTMIN));
}
END_TEST

UNIT_MAIN("event", &kinds_have_names_and_levels, &numbers_out_of_range_are_harmless,
          &signals_have_names)
