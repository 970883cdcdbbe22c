/* SPDX-License-Identifier: MIT */
#include "cli/explain.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/target.h"
#include "cli/why.h"
#include "config/diag.h"
#include "policy/classify.h"
#include "policy/match.h"

/* How long a name of "fallback" may be looked up per name server, meanwhile no
 * signal gets through (libretry(7)). */
#define FALLBACK_LOOKUP (2 * DUR_S)

static void report(void *ctx, const struct diag *d)
{
	struct answer *a = ctx;
	struct fmt f;

	note_rejected(a->rejected, d);
	if (!d->file && d->level > DIAG_NOTE && d->level < DIAG_ERROR)
		cli_warn("%s", d->text);
	if (d->level != DIAG_ERROR && d->level != DIAG_UNREADABLE)
		return;
	if (!a->unusable) {
		fmt_init(&f, a->fault, sizeof(a->fault));
		diag_fmt(&f, d);
		fmt_end(&f);
	}
	a->unusable = true;
}

static bool load(struct answer *a)
{
	env_snapshot(&a->env, environ, getauxval(AT_SECURE) != 0);
	a->in_use = in_use_find(&a->env, a->q->config, true, a->path, sizeof(a->path));
	a->c = config_load(a->in_use.file, &lcapi_direct, &a->env, report, a);
	if (!a->c) {
		cli_say("out of memory");
		return false;
	}
	if (a->q->config && a->c->unreadable) {
		cli_say("%s", a->fault);
		return false;
	}
	return true;
}

static void find_dest(struct answer *a)
{
	const struct question *q = a->q;
	bool local = q->dest.addr.family == AF_UNIX;

	a->d = (struct dest){ .op = q->op,
	                      .host = q->dest.name[0] ? q->dest.name : NULL,
	                      .addr = q->dest.addr.family == AF_UNSPEC ? NULL : &q->dest.addr,
	                      .port = local ? -1 : q->dest.port,
	                      .proto = local                   ? PROTO_UNIX
	                               : q->proto != PROTO_ANY ? q->proto
	                               : q->op == OP_LOOKUP    ? PROTO_ANY
	                                                       : PROTO_TCP };
	/* A look-up has no address, not even where one is known. */
	if (q->op == OP_LOOKUP && a->d.host)
		a->d.addr = NULL;
}

static void find_rule(struct answer *a)
{
	const struct policy_set *set = &a->c->set;

	a->rule = match_rule(set, &a->d);
	a->tried = a->rule ? (unsigned)(a->rule - set->rules) : set->rule_count;
	for (unsigned i = 0; i < a->tried; i++) {
		char text[8];
		struct fmt f;
		bool on_address;

		fmt_init(&f, text, sizeof(text));
		why_no_match(&set->rules[i], &a->d, &f, &on_address);
		a->on_address |= on_address;
	}
}

/* The kernel names the file that runs, not the link or the script to it. */
static void find_program(struct answer *a)
{
	static struct target t;
	const char *exe = a->q->exe;
	char found[PATH_MAX];
	char real[PATH_MAX];
	struct fmt f;

	if (!exe)
		return;
	if (target_find(exe, getenv("PATH"), found, sizeof(found)) &&
	    target_examine(&t, found, "/proc/self/exe", "/proc/self/exe", false) &&
	    realpath(t.path, real))
		exe = real;
	fmt_init(&f, a->exe, sizeof(a->exe));
	fmt_str(&f, exe);
	fmt_end(&f);
	a->program = match_program(&a->c->set, a->exe);
}

/* As the library does it: runtime_default_policy() and runtime_mode(). */
static void find_policy(struct answer *a)
{
	bool named = env_get(&a->env, ENV_POLICY) && !a->rejected[ENV_POLICY];

	if (a->rule) {
		a->policy = a->rule->policy;
		a->policy_from = named ? "for every destination (LIBRETRY_POLICY)" : "the rule's";
	} else if (a->program && a->program->policy && !env_get(&a->env, ENV_POLICY)) {
		a->policy = a->program->policy;
		a->policy_from = "the program's, since no rule matches";
	} else {
		a->policy = a->c->set.fallback_policy;
		a->policy_from = named ? "for every destination (LIBRETRY_POLICY)"
		                       : "since no rule matches";
	}
	a->mode = a->c->mode;
	if (a->program && a->program->mode_set && !env_get(&a->env, ENV_MODE))
		a->mode = a->program->mode;
}

/* Why the library does nothing at all; NULL if it does. */
static const char *why_inert(const struct answer *a)
{
	if (env_flag(&a->env, ENV_DISABLE))
		return "LIBRETRY_DISABLE is set: the library does nothing";
	if (a->unusable && env_flag(&a->env, ENV_STRICT))
		return "the configuration has errors and LIBRETRY_STRICT is set: the library does "
		       "nothing";
	if (a->program && !a->program->enabled)
		return "the library is switched off for this program (enabled = false)";
	return NULL;
}

static const char *why_off(const struct answer *a)
{
	const struct question *q = a->q;
	bool datagram = a->d.proto == PROTO_UDP;

	if (why_inert(a))
		return why_inert(a);
	if (q->op == OP_LOOKUP && !a->d.host)
		return "this is no name: nothing is asked for, so the look-up is passed through";
	if (q->op == OP_CONNECT && datagram)
		return "connects of datagram sockets are passed through";
	if (a->d.addr && addr_is_special(a->d.addr) && !a->rule)
		return "a link-local, multicast or broadcast address is passed through unless a "
		       "rule names it";
	if (a->policy->max_attempts <= 1)
		return "max_attempts is 1";
	if (q->op == OP_SEND && a->policy->send == SEND_OFF)
		return "send is \"off\"";
	if (a->mode == MODE_OBSERVE)
		return "mode is \"observe\": the log says what would be done";
	return NULL;
}

static void find_error(struct answer *a)
{
	const struct question *q = a->q;
	bool local = a->d.addr && a->d.addr->family == AF_UNIX;
	struct fmt f;

	a->retried = true;
	if (!q->error_name)
		return;
	fmt_init(&f, a->error_why, sizeof(a->error_why));
	a->retried = why_retried(a->policy, a->rule, &a->d, q->error, &f, &a->once);
	fmt_end(&f);
	a->how.local = classify(q->op, q->error, 0, local) == CLASS_LOCAL_RESOURCE;
}

static void find_limits(struct answer *a)
{
	const struct policy *p = a->policy;
	const struct socket_options *o = &p->socket;
	bool local = a->d.addr && a->d.addr->family == AF_UNIX;
	bool acts = !a->inert && a->mode == MODE_RETRY;

	syn_limits_read(&a->syn, "/proc/sys/net/ipv4");
	/* Set also where nothing is retried. */
	if (acts && o->syn_count)
		a->syn.retries = o->syn_count;
	if (acts)
		a->syn.user_timeout = o->user_timeout;
	if (a->d.host) {
		resolver_limits_read(&a->resolver, a->d.host);
		if (acts && p->dns_attempt_timeout != DUR_NONE) {
			a->resolver.timeout = (unsigned)(p->dns_attempt_timeout / DUR_S);
			a->resolver.attempts = 1;
		}
		a->lookup = resolver_time(&a->resolver);
	}
	if (a->q->op == OP_LOOKUP)
		a->how.attempt = a->lookup;
	else if (a->d.proto == PROTO_UDP)
		a->how.attempt = 0;
	else
		a->how.attempt = local ? DUR_NONE : syn_time(&a->syn, &a->syns);
	a->how.cuts = a->q->op != OP_LOOKUP;
	a->how.first_free = a->q->op == OP_CONNECT;
	a->how.parks = acts && p->coordinate;
	a->how.once = a->off || !a->retried;
	a->how.at_once = a->once;
}

static int64_t max64(int64_t x, int64_t y)
{
	return x > y ? x : y;
}

/*
 * How long can a thread of the program be held up after SIGTERM? By a wait, which
 * the signal ends; by an attempt, which goes on in the kernel or the resolver as it
 * would without us if the handler has SA_RESTART or runs in another thread.
 */
static void find_stop(struct answer *a)
{
	int64_t attempt = a->f.attempt;
	bool names = false;

	a->stop_on_term = a->c->process.stop_on >> SIGTERM & 1;
	for (unsigned i = 0; a->rule && i < a->rule->fallback_count; i++)
		names |= a->rule->fallback[i].host != NULL;
	if (names && !a->off) {
		struct resolver_limits r;

		resolver_limits_read(&r, "");
		a->stop_fallback = FALLBACK_LOOKUP * r.servers;
	}
	if (a->q->op != OP_LOOKUP)
		attempt = max64(attempt, a->lookup);
	if (a->off || !a->retried)
		a->stop = attempt;
	else if (a->stop_on_term)
		a->stop = dur_add(dur_add(STOP_WAITS, attempt), a->stop_fallback);
	else
		a->stop = dur_add(max64(a->f.total, attempt), a->stop_fallback);
}

bool explain_answer(struct answer *a, const struct question *q)
{
	memset(a, 0, sizeof(*a));
	a->q = q;
	if (!load(a))
		return false;
	find_dest(a);
	find_rule(a);
	find_program(a);
	find_policy(a);
	a->inert = why_inert(a) != NULL;
	a->off = why_off(a);
	find_error(a);
	find_limits(a);
	foresee(&a->f, a->policy, &a->how);
	find_stop(a);
	return true;
}

bool explain_grace_holds(const struct answer *a)
{
	return a->q->grace == DUR_NONE || a->stop <= a->q->grace;
}
