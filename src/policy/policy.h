/* SPDX-License-Identifier: MIT */
/*
 * policy.h - the vocabulary of the project: what a policy, a destination, an
 * attempt and a decision are. Types only; everything here is plain data that
 * somebody else owns (the configuration's arena, or a test's stack).
 *
 * Room rule: policy/ is pure. No I/O, no clock, no malloc, no globals that
 * change, no errno.
 */
#ifndef LIBRETRY_POLICY_POLICY_H
#define LIBRETRY_POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/duration.h"
#include "base/errname.h"

enum op { OP_CONNECT = 0, OP_LOOKUP, OP_SEND };

enum jitter {
	JITTER_PROPORTIONAL = 0, /* centre * (1 - r ... 1 + r) */
	JITTER_FULL,             /* 0 ... ceiling */
	JITTER_EQUAL,            /* ceiling/2 ... ceiling */
	JITTER_ADDITIVE,         /* ceiling ... ceiling * (1 + r) */
	JITTER_DECORRELATED,     /* base ... 3 * previous, capped */
	JITTER_NONE
};

enum cap { CAP_HARD = 0, CAP_SOFT };

enum send_mode { SEND_SAFE = 0, SEND_OFF, SEND_FIRST_WRITE };
enum nonblocking { NONBLOCKING_DEFERRED = 0, NONBLOCKING_OBSERVE, NONBLOCKING_BLOCK };
enum budget_kind { BUDGET_RATIO = 0, BUDGET_TOKENS, BUDGET_NONE };
enum scope { SCOPE_PROCESS = 0, SCOPE_USER, SCOPE_HOST };
enum layering { LAYERING_DETECT = 0, LAYERING_YIELD, LAYERING_IGNORE };
enum address_walk { WALK_DETECT = 0, WALK_EACH, WALK_OFF };
enum mode { MODE_RETRY = 0, MODE_OBSERVE };

/* Classes of failures: reference in classify.c, one row each. */
enum err_class {
	CLASS_REFUSED = 0,
	CLASS_TIMEOUT,
	CLASS_UNREACHABLE,
	CLASS_RESET,
	CLASS_LOCAL_RESOURCE,
	CLASS_DNS_TEMPORARY,
	CLASS_DNS_MISSING,
	CLASS_UNIX_MISSING,
	CLASS_COUNT,
	CLASS_NONE = CLASS_COUNT
};

/* A set of errors: errno values 0-191 and getaddrinfo codes 0 ... -31. */
struct err_set {
	uint64_t errnos[3];
	uint32_t eais;
};

#define SCHEDULE_MAX 64

/* So many calls of a process, to all its destinations, can be counted that are in a
 * retry: see max_concurrent_retries. */
#define CONCURRENT_MAX 4096

/* Parts per million: no floating point runs inside the host. */
#define PPM INT64_C(1000000)

struct backoff {
	int64_t base;           /* ns, > 0 */
	int64_t base_local;     /* ns, base for local-resource errors */
	int64_t max;            /* ns, >= base */
	int64_t multiplier;     /* ppm, >= PPM */
	int64_t jitter_ratio;   /* ppm, 0 ... PPM */
	enum jitter jitter;
	enum cap cap;
	bool first_immediate;   /* first_retry = "immediate": wait 1 is zero */
	unsigned schedule_len;  /* 0: the formula */
	int64_t schedule[SCHEDULE_MAX]; /* ns; the last repeats */
};

struct budget {
	enum budget_kind kind;
	int64_t ratio; /* ppm */
	uint32_t min_retries_per_second;
	int64_t ttl;
	enum scope scope;
};

struct breaker {
	bool enabled;
	uint32_t consecutive_failures;
	int64_t failure_ratio; /* ppm, 0 = off */
	uint32_t minimum_calls;
	int64_t window;
	int64_t open_for;
	int64_t max_open_for;
	uint32_t half_open_probes;
};

/* Socket options set before connect; 0 = leave alone. */
struct socket_options {
	uint32_t syn_count;
	int64_t user_timeout;
	int64_t keepalive_idle;
	int64_t keepalive_interval;
	uint32_t keepalive_count;
};

/* Where something was written. file = NULL: built in. */
struct source {
	const char *file;
	unsigned line;
};

struct policy {
	const char *name;
	struct source source;
	struct backoff backoff;
	uint32_t max_attempts;       /* the first call included; 1 = off */
	int64_t deadline;            /* ns, DUR_NONE = no limit */
	int64_t attempt_timeout;     /* ns, DUR_NONE = the kernel's own */
	int64_t dns_attempt_timeout; /* ns, whole seconds, DUR_NONE = resolver's */
	struct err_set retry;        /* retry_on without never_on, resolved */
	struct err_set never;        /* never_on, for "explain" only */
	enum send_mode send;
	uint32_t replay_buffer;      /* bytes */
	enum nonblocking nonblocking;
	struct budget budget;
	struct breaker breaker;
	bool coordinate;             /* policy/pace */
	uint32_t max_concurrent_retries; /* 0: no limit */
	bool carry;
	int64_t carry_for;
	enum layering layering;
	enum address_walk address_walk;
	int64_t stale_dns;           /* ns, DUR_NONE = "none" */
	struct socket_options socket;
};

/* PROTO_OTHER: of a destination; only a rule for any protocol holds for it. */
enum proto { PROTO_ANY = 0, PROTO_TCP, PROTO_UDP, PROTO_UNIX, PROTO_OTHER };

struct port_range {
	uint16_t low, high; /* inclusive */
};

/* "host:port", another place than the one that the program asked for. */
struct endpoint {
	const char *text; /* as it was written */
	const char *host; /* a name; NULL: .addr is the place */
	struct addr addr; /* of a name the port only */
};

/* One entry of "destinations". Empty condition = matches everything. */
struct rule {
	const char *name;          /* NULL if the entry has none */
	struct source source;
	const char *const *hosts;  /* globs, without a trailing dot */
	unsigned host_count;
	const struct cidr *cidrs;
	unsigned cidr_count;
	const struct port_range *ports;
	unsigned port_count;
	const char *const *unix_paths; /* globs; "@..." for abstract names */
	unsigned unix_count;
	enum proto proto;
	const struct policy *policy; /* with the entry's override applied */
	const struct endpoint *fallback;
	unsigned fallback_count;
	uint32_t fallback_after;       /* attempts before the first fallback */
	const struct endpoint *redirect; /* NULL: none */
	const struct rule *plain;        /* if it goes by a name and has such places:
	                                  * the same without them (and with no policy
	                                  * of its own: that of this one counts) */
	bool never;                      /* matches nothing: what it says is not known */
};

/* One entry of "programs". */
struct program_rule {
	struct source source;
	const char *const *exes; /* globs; without '/' they match the last part */
	unsigned exe_count;
	bool enabled;
	enum mode mode;
	bool mode_set;
	const struct policy *policy; /* NULL: no default of its own */
};

/* What decides for one process. Rules in the order in which they are tried. */
struct policy_set {
	const struct policy *fallback_policy; /* where no rule matches */
	const struct policy *const *policies;
	unsigned policy_count;
	const struct rule *rules;
	unsigned rule_count;
	const struct program_rule *programs;
	unsigned program_count;
};

/* What a call is aimed at. Lookups have no address yet. */
struct dest {
	enum op op;
	const char *host;        /* name given to the resolver; NULL: not known */
	const struct addr *addr; /* NULL for a lookup */
	int port;                /* 0-65535; -1: not known */
	enum proto proto;
};

enum reason {
	REASON_NONE = 0,
	REASON_ATTEMPTS,      /* max_attempts reached */
	REASON_DEADLINE,      /* the next wait or attempt would pass it */
	REASON_BUDGET,
	REASON_CONCURRENT,    /* max_concurrent_retries other calls are in a retry */
	REASON_BREAKER,
	REASON_HOLD,          /* somebody asked to leave the destination alone */
	REASON_LAYERED,       /* the program retries by itself */
	REASON_PACE,          /* another attempt finds out whether it is back */
	REASON_STOPPING,      /* a signal of stop_on was caught */
	REASON_INTERRUPTED,   /* another signal handler without SA_RESTART ran */
	REASON_NOT_RETRYABLE, /* the error is in no class of retry_on */
	REASON_OFF,           /* max_attempts = 1 */
	REASON_NONBLOCKING,
	REASON_DATAGRAM,
	REASON_SPECIAL,       /* link-local, multicast, broadcast, no rule names it */
	REASON_OTHER_ADDRESS, /* another address of the name could answer */
	REASON_NAME_EXHAUSTED,/* the name has just used up its retries */
	REASON_DISABLED,      /* switched off for this program */
	REASON_UNUSABLE,      /* a place that the rule names cannot be used */
	REASON_AMBIGUOUS      /* the address has other names, too: nobody knows whose
	                       * connect it is */
};

/* "attempts", "deadline" ...: the word in the log. */
const char *reason_name(enum reason r);
const char *op_name(enum op op); /* "connect", "lookup", "send" */

enum verdict { VERDICT_PASS = 0, VERDICT_RETRY, VERDICT_GIVE_UP };

/* What has happened in one operation so far. */
struct progress {
	unsigned attempt;      /* attempts made, >= 1 */
	int64_t elapsed;       /* ns since the operation began, calls included */
	int64_t previous_wait; /* ns, 0 before the first (decorrelated jitter) */
	unsigned carried;      /* waits of calls before that the first one comes after */
	int64_t limit;         /* ns, the program's own bound; DUR_NONE */
};

struct decision {
	enum verdict verdict;
	enum reason reason;
	enum err_class class;
	int64_t wait;    /* ns, for VERDICT_RETRY */
	int64_t ceiling; /* ns, the most that this wait could have been */
	int64_t left;    /* ns of the deadline at the time of the decision */
};

#endif
