/* SPDX-License-Identifier: MIT */
/*
 * keys.h - every key of the configuration language, in one table: where it may
 * stand, what it takes, where its value goes, what it is by default, and
 * whether this version acts on it.
 */
#ifndef LIBRETRY_CONFIG_KEYS_H
#define LIBRETRY_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/inject.h"
#include "policy/policy.h"
#include "policy/settings.h"

enum place {
	PLACE_ROOT = 0,
	PLACE_POLICY, /* also "override" in a destination */
	PLACE_BUDGET,
	PLACE_BREAKER,
	PLACE_SOCKET,
	PLACE_DEST,
	PLACE_PROGRAM,
	PLACE_PROCESS,
	PLACE_LOG,
	PLACE_STATS,
	PLACE_INJECT,
	PLACE_FAULT,
	PLACE_OUTAGE
};

enum kind {
	KIND_DURATION = 0, /* "100ms"; ns */
	KIND_RATIO,        /* a number; ppm */
	KIND_COUNT,        /* a whole number */
	KIND_SIZE,         /* "64KiB"; bytes */
	KIND_BOOL,
	KIND_CHOICE,       /* one word of .choices */
	KIND_TEXT,
	KIND_GROUP,        /* a group with keys of its own */
	KIND_CUSTOM        /* read by the loader's own function */
};

enum {
	KEY_NONE = 1,      /* "none" is DUR_NONE */
	KEY_OFF = 2,       /* "none" and 0 are 0 */
	KEY_SECONDS = 4,   /* whole seconds only */
	KEY_ZERO = 8       /* a duration of 0 makes sense */
};

/* No pointers here and in keys: they would be relocated in every process, most of which
 * read no configuration. */
struct choice {
	char word[16]; /* at most 15 letters; "" ends the list */
	int value;
};

/* The lists: see key_choices(). */
enum choices {
	choices_none = 0,
	choices_jitter, choices_cap, choices_first, choices_send, choices_nonblocking,
	choices_budget, choices_scope, choices_layering, choices_walk, choices_proto,
	choices_mode, choices_reload, choices_deepbind, choices_level, choices_format,
	choices_stats, choices_call
};

struct key {
	enum place place;
	char name[24];
	enum kind kind;
	size_t offset; /* of the value in the structure of the place ... */
	size_t size;   /* ... and its size; 0: it goes nowhere */
	int64_t low, high;
	enum choices choices;
	char fallback[16]; /* the default as it would be written; "": none */
	unsigned flags;
};

/* Kernel limits: TCP_SYNCNT 255, TCP_KEEPIDLE and TCP_KEEPINTVL 32767s,
 * TCP_KEEPCNT 127, TCP_USER_TIMEOUT in ms. */
#define KEY_MANY INT64_C(1000000)
#define KEY_KEEPALIVE_MAX (INT64_C(32767) * DUR_S)
#define KEY_MIN DUR_MIN_CONFIG
#define KEY_MAX DUR_MAX_CONFIG

/*
 * K(place, name, kind, structure, member, low, high, choices, default, flags);
 * G(place, name, kind, default, flags) for those that have no single value.
 */
#define KEY_TABLE(K, G) \
	G(ROOT, version, CUSTOM, "1", 0) \
	G(ROOT, policies, CUSTOM, "", 0) \
	G(ROOT, destinations, CUSTOM, "", 0) \
	G(ROOT, programs, CUSTOM, "", 0) \
	G(ROOT, process, CUSTOM, "", 0) \
	G(ROOT, log, CUSTOM, "", 0) \
	G(ROOT, stats, CUSTOM, "", 0) \
	G(ROOT, inject, CUSTOM, "", 0) \
	\
	G(POLICY, inherit, CUSTOM, "default", 0) \
	K(POLICY, base_delay, DURATION, policy, backoff.base, KEY_MIN, KEY_MAX, 0, \
	  "100ms", 0) \
	K(POLICY, multiplier, RATIO, policy, backoff.multiplier, PPM, 100 * PPM, 0, "2", 0) \
	K(POLICY, max_delay, DURATION, policy, backoff.max, KEY_MIN, KEY_MAX, 0, "5s", 0) \
	K(POLICY, jitter, CHOICE, policy, backoff.jitter, 0, 0, choices_jitter, \
	  "proportional", 0) \
	K(POLICY, jitter_ratio, RATIO, policy, backoff.jitter_ratio, 0, PPM, 0, "0.5", 0) \
	K(POLICY, cap, CHOICE, policy, backoff.cap, 0, 0, choices_cap, "hard", 0) \
	K(POLICY, first_retry, CHOICE, policy, backoff.first_immediate, 0, 0, choices_first, \
	  "wait", 0) \
	G(POLICY, schedule, CUSTOM, "", 0) \
	K(POLICY, base_delay_local, DURATION, policy, backoff.base_local, KEY_MIN, \
	  KEY_MAX, 0, "1s", 0) \
	K(POLICY, max_attempts, COUNT, policy, max_attempts, 1, 1000, 0, "5", 0) \
	G(POLICY, max_retries, CUSTOM, "4", 0) \
	K(POLICY, deadline, DURATION, policy, deadline, KEY_MIN, KEY_MAX, 0, "30s", KEY_NONE) \
	K(POLICY, attempt_timeout, DURATION, policy, attempt_timeout, KEY_MIN, KEY_MAX, \
	  0, "none", \
	  KEY_NONE) \
	K(POLICY, dns_attempt_timeout, DURATION, policy, dns_attempt_timeout, DUR_S, 30 * DUR_S, \
	  0, "none", KEY_NONE | KEY_SECONDS) \
	G(POLICY, retry_on, CUSTOM, "", 0) \
	G(POLICY, never_on, CUSTOM, "", 0) \
	K(POLICY, send, CHOICE, policy, send, 0, 0, choices_send, "safe", 0) \
	K(POLICY, replay_buffer, SIZE, policy, replay_buffer, 0, 1024 * 1024, 0, "64KiB", 0) \
	K(POLICY, nonblocking, CHOICE, policy, nonblocking, 0, 0, choices_nonblocking, \
	  "deferred", 0) \
	G(POLICY, budget, GROUP, "", 0) \
	K(BUDGET, kind, CHOICE, policy, budget.kind, 0, 0, choices_budget, "ratio", 0) \
	K(BUDGET, ratio, RATIO, policy, budget.ratio, 0, 10 * PPM, 0, "0.2", 0) \
	K(BUDGET, min_retries_per_second, COUNT, policy, budget.min_retries_per_second, 0, \
	  KEY_MANY, 0, "50", 0) \
	K(BUDGET, ttl, DURATION, policy, budget.ttl, DUR_S, 60 * DUR_S, 0, "10s", 0) \
	K(BUDGET, scope, CHOICE, policy, budget.scope, 0, 0, choices_scope, "process", \
	  0) \
	G(POLICY, breaker, GROUP, "", 0) \
	K(BREAKER, enabled, BOOL, policy, breaker.enabled, 0, 1, 0, "false", 0) \
	K(BREAKER, consecutive_failures, COUNT, policy, breaker.consecutive_failures, 0, \
	  KEY_MANY, 0, "5", 0) \
	K(BREAKER, failure_ratio, RATIO, policy, breaker.failure_ratio, 0, PPM, 0, "0", 0) \
	K(BREAKER, minimum_calls, COUNT, policy, breaker.minimum_calls, 1, KEY_MANY, 0, "5", \
	  0) \
	K(BREAKER, window, DURATION, policy, breaker.window, DUR_S, KEY_MAX, 0, "30s", 0) \
	K(BREAKER, open_for, DURATION, policy, breaker.open_for, KEY_MIN, KEY_MAX, 0, "5s", 0) \
	K(BREAKER, max_open_for, DURATION, policy, breaker.max_open_for, KEY_MIN, KEY_MAX, \
	  0, "5m", 0) \
	K(BREAKER, half_open_probes, COUNT, policy, breaker.half_open_probes, 1, KEY_MANY, 0, \
	  "1", 0) \
	K(POLICY, coordinate, BOOL, policy, coordinate, 0, 1, 0, "false", 0) \
	K(POLICY, max_concurrent_retries, COUNT, policy, max_concurrent_retries, 0, \
	  CONCURRENT_MAX, 0, "0", 0) \
	K(POLICY, carry, BOOL, policy, carry, 0, 1, 0, "false", 0) \
	K(POLICY, carry_for, DURATION, policy, carry_for, KEY_MIN, KEY_MAX, 0, "10s", 0) \
	K(POLICY, layering, CHOICE, policy, layering, 0, 0, choices_layering, "detect", 0) \
	K(POLICY, address_walk, CHOICE, policy, address_walk, 0, 0, choices_walk, "detect", 0) \
	K(POLICY, stale_dns, DURATION, policy, stale_dns, KEY_MIN, KEY_MAX, 0, "none", \
	  KEY_NONE) \
	G(POLICY, socket, GROUP, "", 0) \
	K(SOCKET, syn_count, COUNT, policy, socket.syn_count, 0, 255, 0, "0", 0) \
	K(SOCKET, user_timeout, DURATION, policy, socket.user_timeout, DUR_MS, KEY_MAX, \
	  0, "none", \
	  KEY_OFF) \
	K(SOCKET, keepalive_idle, DURATION, policy, socket.keepalive_idle, DUR_S, \
	  KEY_KEEPALIVE_MAX, 0, "none", KEY_OFF | KEY_SECONDS) \
	K(SOCKET, keepalive_interval, DURATION, policy, socket.keepalive_interval, DUR_S, \
	  KEY_KEEPALIVE_MAX, 0, "none", KEY_OFF | KEY_SECONDS) \
	K(SOCKET, keepalive_count, COUNT, policy, socket.keepalive_count, 0, 127, 0, "0", 0) \
	\
	K(DEST, name, TEXT, rule, name, 0, 0, 0, "", 0) \
	G(DEST, comment, TEXT, "", 0) \
	G(DEST, host, CUSTOM, "", 0) \
	G(DEST, addr, CUSTOM, "", 0) \
	G(DEST, port, CUSTOM, "", 0) \
	G(DEST, unix, CUSTOM, "", 0) \
	K(DEST, proto, CHOICE, rule, proto, 0, 0, choices_proto, "", 0) \
	G(DEST, policy, CUSTOM, "default", 0) \
	G(DEST, override, CUSTOM, "", 0) \
	G(DEST, fallback, CUSTOM, "", 0) \
	K(DEST, fallback_after, COUNT, rule, fallback_after, 1, 1000, 0, "1", 0) \
	G(DEST, redirect, CUSTOM, "", 0) \
	\
	G(PROGRAM, name, TEXT, "", 0) \
	G(PROGRAM, comment, TEXT, "", 0) \
	G(PROGRAM, exe, CUSTOM, "", 0) \
	K(PROGRAM, enabled, BOOL, program_rule, enabled, 0, 1, 0, "true", 0) \
	K(PROGRAM, mode, CHOICE, program_rule, mode, 0, 0, choices_mode, "retry", 0) \
	G(PROGRAM, policy, CUSTOM, "", 0) \
	\
	G(PROCESS, stop_on, CUSTOM, "", 0) \
	K(PROCESS, reload, CHOICE, process_settings, reload, 0, 0, choices_reload, \
	  "on-failure", 0) \
	G(PROCESS, host_group, CUSTOM, "none", 0) \
	K(PROCESS, deepbind, CHOICE, process_settings, clear_deepbind, 0, 0, choices_deepbind, \
	  "keep", 0) \
	\
	G(LOG, to, CUSTOM, "stderr", 0) \
	K(LOG, level, CHOICE, log_settings, level, 0, 0, choices_level, "info", 0) \
	K(LOG, format, CHOICE, log_settings, format, 0, 0, choices_format, "text", 0) \
	K(LOG, burst, COUNT, log_settings, burst, 1, KEY_MANY, 0, "20", 0) \
	K(LOG, per, DURATION, log_settings, per, DUR_MS, KEY_MAX, 0, "10s", 0) \
	\
	G(STATS, to, CUSTOM, "none", 0) \
	K(STATS, format, CHOICE, stats_settings, json, 0, 0, choices_stats, "prometheus", \
	  0) \
	K(STATS, every, DURATION, stats_settings, every, DUR_S, KEY_MAX, 0, "15s", 0) \
	G(STATS, timeline, CUSTOM, "none", 0) \
	\
	K(INJECT, enabled, BOOL, inject_set, enabled, 0, 1, 0, "false", 0) \
	K(INJECT, seed, COUNT, inject_set, seed, 0, INT32_MAX, 0, "0", 0) \
	G(INJECT, faults, CUSTOM, "", 0) \
	\
	G(FAULT, comment, TEXT, "", 0) \
	K(FAULT, call, CHOICE, fault, op, 0, 0, choices_call, "", 0) \
	G(FAULT, host, CUSTOM, "", 0) \
	G(FAULT, addr, CUSTOM, "", 0) \
	G(FAULT, port, CUSTOM, "", 0) \
	G(FAULT, unix, CUSTOM, "", 0) \
	K(FAULT, proto, CHOICE, fault, match.proto, 0, 0, choices_proto, "", 0) \
	G(FAULT, error, TEXT, "", 0) \
	K(FAULT, first, COUNT, fault, first, 1, KEY_MANY, 0, "", 0) \
	K(FAULT, every, COUNT, fault, every, 1, KEY_MANY, 0, "", 0) \
	K(FAULT, after, COUNT, fault, after, 0, KEY_MANY, 0, "", 0) \
	K(FAULT, probability, RATIO, fault, probability, 0, PPM, 0, "1", 0) \
	K(FAULT, delay, DURATION, fault, delay, KEY_MIN, KEY_MAX, 0, "", KEY_ZERO) \
	K(FAULT, delay_jitter, DURATION, fault, delay_jitter, KEY_MIN, KEY_MAX, 0, \
	  "", KEY_ZERO) \
	K(FAULT, short_write, COUNT, fault, short_write, 1, KEY_MANY, 0, "", 0) \
	K(FAULT, reset, BOOL, fault, reset, 0, 1, 0, "false", 0) \
	G(FAULT, timeline, CUSTOM, "", 0) \
	G(FAULT, outage, GROUP, "", 0) \
	K(OUTAGE, mean_gap, DURATION, fault, outage.mean_gap, KEY_MIN, KEY_MAX, 0, "", 0) \
	K(OUTAGE, min, DURATION, fault, outage.min, KEY_MIN, KEY_MAX, 0, "", 0) \
	K(OUTAGE, max, DURATION, fault, outage.max, KEY_MIN, KEY_MAX, 0, "", 0)

/* The key <name> of <place>; NULL if there is none. */
const struct key *key_find(enum place place, const char *name);

/* The key at <index> of the whole table; NULL past it. */
const struct key *key_at(unsigned index);

/* The words that a key of KIND_CHOICE takes. */
const struct choice *key_choices(const struct key *k);

/* Writes <number> to the member of <target> that <k> describes, a text to one
 * of KIND_TEXT. A key without a member is left alone. */
void key_store(const struct key *k, void *target, int64_t number, const char *text);

#endif
