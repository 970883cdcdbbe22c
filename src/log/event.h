/* SPDX-License-Identifier: MIT */
/*
 * event.h - one thing worth a log line. Filled on the stack by the caller,
 * used before the call returns; strings are borrowed.
 */
#ifndef LIBRETRY_LOG_EVENT_H
#define LIBRETRY_LOG_EVENT_H

#include "policy/policy.h"
#include "policy/settings.h"

enum event_kind {
	EVENT_RETRY = 0,   /* WARN  an attempt failed, another follows */
	EVENT_WOULD_RETRY, /* WARN  the same in observe mode: nothing follows */
	EVENT_RECOVERED,   /* INFO  success after retries */
	EVENT_MOVED,       /* INFO  the next attempt goes to another address */
	EVENT_FALLBACK,    /* WARN  ... to one that the rule names: fallback, */
	EVENT_WOULD_FALLBACK, /* in observe mode: nothing follows; */
	EVENT_REDIRECT,    /* WARN  and redirect, from the first attempt on, */
	EVENT_WOULD_REDIRECT, /* or not in observe mode */
	EVENT_PARKED,      /* INFO  waits for another attempt, or for an end of a hold */
	EVENT_LAYERING,    /* WARN  the program retries by itself */
	EVENT_GAVE_UP,     /* ERROR */
	EVENT_STALE,       /* WARN  after that: an old answer to the look-up is handed out */
	EVENT_ABANDONED,   /* INFO  the program closed the descriptor */
	EVENT_STOPPING,    /* INFO  a stop signal was caught */
	EVENT_SUPPRESSED,  /* WARN  lines held back by the flood protection */
	EVENT_PASSED,      /* DEBUG not our business, and why */
	EVENT_INJECTED,    /* WARN  a fault that was made on purpose */
	EVENT_CONFIG,      /* ERROR, WARN or DEBUG: .level and .message */
	EVENT_KINDS
};

struct event {
	enum event_kind kind;
	enum log_level level;      /* EVENT_CONFIG only; others have their own */
	enum op op;
	const char *dest;          /* "db1:5432"; NULL for none */
	const struct addr *addr;   /* NULL for none */
	const char *to;            /* fallback, redirect: where to; NULL for none */
	unsigned attempt;          /* retry, would-retry: the attempt that failed */
	unsigned max_attempts;
	unsigned attempts;         /* recovered, gave-up */
	struct err error;          /* .code = 0: none */
	enum reason reason;
	int64_t wait;              /* ns; printed by retry and would-retry */
	int64_t elapsed;           /* ns, of the failed attempt */
	int64_t left;              /* ns of the deadline; DUR_NONE = none */
	int64_t waited;            /* ns, recovered and gave-up */
	int64_t delay;             /* ns, injected; 0: none */
	int64_t age;               /* ns, stale */
	uint32_t short_write;      /* bytes, injected; 0: none */
	bool reset;                /* injected */
	const char *policy;        /* name */
	struct source rule;        /* where the rule stands; .file NULL = no rule */
	int signal;                /* stopping */
	uint64_t lines;            /* suppressed */
	const char *message;       /* config */
};

/* Which level a kind has; EVENT_CONFIG answers with <e>->level. Pure. */
enum log_level event_level(const struct event *e);

/* "retry", "gave-up" ...: the word in the log; never NULL. Pure. */
const char *event_name(enum event_kind kind);

/* "SIGTERM"; NULL for real-time signals and numbers that are none. Pure. */
const char *event_signal_name(int number);

#endif
