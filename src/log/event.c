/* SPDX-License-Identifier: MIT */
#include "log/event.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compat.h"

/* Names in their rows, not in pointers that the loader would have to relocate. */
static const struct {
	char name[15];
	uint8_t level;
} kinds[EVENT_KINDS] = {
	[EVENT_RETRY] = { "retry", LOG_WARN_LEVEL },
	[EVENT_WOULD_RETRY] = { "would-retry", LOG_WARN_LEVEL },
	[EVENT_RECOVERED] = { "recovered", LOG_INFO_LEVEL },
	[EVENT_MOVED] = { "moved", LOG_INFO_LEVEL },
	[EVENT_FALLBACK] = { "fallback", LOG_WARN_LEVEL },
	[EVENT_WOULD_FALLBACK] = { "would-fallback", LOG_WARN_LEVEL },
	[EVENT_REDIRECT] = { "redirect", LOG_WARN_LEVEL },
	[EVENT_WOULD_REDIRECT] = { "would-redirect", LOG_WARN_LEVEL },
	[EVENT_PARKED] = { "parked", LOG_INFO_LEVEL },
	[EVENT_LAYERING] = { "layering", LOG_WARN_LEVEL },
	[EVENT_GAVE_UP] = { "gave-up", LOG_ERROR_LEVEL },
	[EVENT_STALE] = { "stale", LOG_WARN_LEVEL },
	[EVENT_ABANDONED] = { "abandoned", LOG_INFO_LEVEL },
	[EVENT_STOPPING] = { "stopping", LOG_INFO_LEVEL },
	[EVENT_SUPPRESSED] = { "suppressed", LOG_WARN_LEVEL },
	[EVENT_PASSED] = { "passed", LOG_DEBUG_LEVEL },
	[EVENT_INJECTED] = { "injected", LOG_WARN_LEVEL },
	[EVENT_CONFIG] = { "config", LOG_DEBUG_LEVEL },
};

/* The value is the name, so a signal that does not exist does not compile. */
#define SIGNAL_TABLE(X) \
	X(SIGHUP) X(SIGINT) X(SIGQUIT) X(SIGABRT) X(SIGUSR1) X(SIGUSR2) X(SIGPIPE) \
	X(SIGALRM) X(SIGTERM) X(SIGCHLD) X(SIGCONT) X(SIGTSTP) X(SIGTTIN) X(SIGTTOU) \
	X(SIGURG) X(SIGXCPU) X(SIGXFSZ) X(SIGVTALRM) X(SIGPROF) X(SIGWINCH) X(SIGIO) \
	X(SIGPWR) X(SIGSYS) X(SIGTRAP)

static const struct {
	char name[11];
	uint8_t number;
} signals[] = {
#define X(n) { #n, n },
	SIGNAL_TABLE(X)
#undef X
};
#define X(n) _Static_assert(sizeof(#n) <= sizeof(signals[0].name), #n);
SIGNAL_TABLE(X)
#undef X

enum log_level event_level(const struct event *e)
{
	if (e->kind == EVENT_CONFIG)
		return e->level;
	return (unsigned)e->kind < EVENT_KINDS ? kinds[e->kind].level : LOG_DEBUG_LEVEL;
}

const char *event_name(enum event_kind kind)
{
	return (unsigned)kind < EVENT_KINDS ? kinds[kind].name : "unknown";
}

const char *event_signal_name(int number)
{
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		if (signals[i].number == number)
			return signals[i].name;
	}
	return NULL;
}
