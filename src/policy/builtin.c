/* SPDX-License-Identifier: MIT */
#include "policy/builtin.h"

#include <signal.h>
#include <string.h>

#include "base/compat.h"
#include "policy/classify.h"

struct policy builtin_default(void)
{
	struct policy p;

	memset(&p, 0, sizeof(p));
	p.name = "default";
	p.backoff.base = 100 * DUR_MS;
	p.backoff.base_local = 1 * DUR_S;
	p.backoff.max = 5 * DUR_S;
	p.backoff.multiplier = 2 * PPM;
	p.backoff.jitter = JITTER_PROPORTIONAL;
	p.backoff.jitter_ratio = PPM / 2;
	p.backoff.cap = CAP_HARD;
	p.max_attempts = 5;
	p.deadline = 30 * DUR_S;
	p.attempt_timeout = DUR_NONE;
	p.dns_attempt_timeout = DUR_NONE;
	p.retry = err_set_default();
	p.send = SEND_SAFE;
	p.replay_buffer = 64 * 1024;
	p.nonblocking = NONBLOCKING_DEFERRED;
	p.budget = (struct budget){ .kind = BUDGET_RATIO,
	                            .ratio = PPM / 5,
	                            .min_retries_per_second = 50,
	                            .ttl = 10 * DUR_S,
	                            .scope = SCOPE_PROCESS };
	p.breaker = (struct breaker){ .consecutive_failures = 5,
	                              .minimum_calls = 5,
	                              .window = 30 * DUR_S,
	                              .open_for = 5 * DUR_S,
	                              .max_open_for = 300 * DUR_S,
	                              .half_open_probes = 1 };
	p.carry_for = 10 * DUR_S;
	p.layering = LAYERING_DETECT;
	p.address_walk = WALK_DETECT;
	p.stale_dns = DUR_NONE;
	return p;
}

/* Give up while the user still looks at the screen. */
static void make_interactive(struct policy *p)
{
	p->backoff.base = 50 * DUR_MS;
	p->backoff.max = 1 * DUR_S;
	p->deadline = 3 * DUR_S;
	p->attempt_timeout = 1 * DUR_S;
}

/* A database that restarts: outages of seconds, callers that can wait. */
static void make_patient(struct policy *p)
{
	p->backoff.base = 1 * DUR_S;
	p->backoff.max = 30 * DUR_S;
	p->max_attempts = 8;
	p->deadline = 120 * DUR_S;
	p->attempt_timeout = 5 * DUR_S;
	p->breaker.enabled = true;
}

/* Two published presets, kept under their own names. */
static void make_container(struct policy *p)
{
	p->backoff.base = 1 * DUR_S;
	p->backoff.max = 60 * DUR_S;
	p->backoff.jitter = JITTER_ADDITIVE;
	p->backoff.jitter_ratio = 3 * PPM / 10;
	p->backoff.cap = CAP_SOFT;
	p->deadline = 90 * DUR_S;
}

static void make_automotive(struct policy *p)
{
	p->max_attempts = 6;
	p->backoff.cap = CAP_SOFT;
}

static void make_off(struct policy *p)
{
	p->max_attempts = 1;
}

static void make_default(struct policy *p)
{
	(void)p;
}

bool builtin_policy(unsigned index, struct policy *p)
{
	static const struct {
		const char *name;
		void (*make)(struct policy *p);
	} table[] = {
		{ "default", make_default },       { "interactive", make_interactive },
		{ "patient", make_patient },       { "container", make_container },
		{ "automotive", make_automotive }, { "off", make_off },
	};

	if (index >= ARRAY_LEN(table))
		return false;
	*p = builtin_default();
	p->name = table[index].name;
	table[index].make(p);
	return true;
}

struct log_settings builtin_log(void)
{
	struct log_settings s;

	memset(&s, 0, sizeof(s));
	s.to = LOG_TO_STDERR;
	s.fd = -1;
	s.level = LOG_INFO_LEVEL;
	s.format = LOG_TEXT;
	s.burst = 20;
	s.per = 10 * DUR_S;
	return s;
}

struct process_settings builtin_process(void)
{
	struct process_settings s;

	memset(&s, 0, sizeof(s));
	s.stop_on = UINT64_C(1) << SIGTERM | UINT64_C(1) << SIGINT | UINT64_C(1) << SIGHUP |
	            UINT64_C(1) << SIGQUIT;
	s.reload = true;
	s.host_group = -1;
	return s;
}

struct stats_settings builtin_stats(void)
{
	struct stats_settings s;

	memset(&s, 0, sizeof(s));
	s.every = 15 * DUR_S;
	return s;
}
