/* SPDX-License-Identifier: MIT */
#include "preload/places.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <resolv.h>
#include <stdatomic.h>
#include <string.h>

#include "base/prng.h"
#include "base/sys.h"
#include "engine/place.h"
#include "engine/retry.h"
#include "policy/match.h"
#include "preload/ops.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "state/said.h"

/* A name that somebody needed who could not wait. It is the configuration's,
 * which is never freed once it is in force. */
const char *_Atomic places_wanted_host;

/* How long an answer is good enough, and how long a failure is remembered. */
#define GOOD_FOR (60 * DUR_S)
#define BAD_FOR (30 * DUR_S)

/* The last look-up of a name has failed: when, and its hash. */
struct failure {
	_Atomic uint64_t name;
	_Atomic int64_t at;
};

#define FAILURES 64
static struct failure failures[FAILURES];

static uint64_t hash_of(const char *host)
{
	return hash_bytes(host, strlen(host), 0) | 1;
}

static struct failure *failure_of(const char *host)
{
	return &failures[hash_of(host) / 2 % FAILURES];
}

/* Within the last <span> ns. */
static bool has_failed(const char *host, int64_t now, int64_t span)
{
	const struct failure *f = failure_of(host);

	return atomic_load(&f->name) == hash_of(host) &&
	       dur_sub(now, atomic_load(&f->at)) < span;
}

static void note_outcome(const char *host, bool failed)
{
	struct failure *f = failure_of(host);
	uint64_t hash = hash_of(host);

	if (failed) {
		atomic_store(&f->at, clock_at_entry());
		atomic_store(&f->name, hash);
	} else {
		atomic_compare_exchange_strong(&f->name, &hash, 0);
	}
}

static LR_NOINLINE unsigned keep(const char *host, struct addrinfo *answer)
{
	struct name_list list;
	struct name_ip ip;

	list.count = list.more = 0;
	for (const struct addrinfo *ai = answer; ai; ai = ai->ai_next)
		if (ai->ai_addr && name_ip_from(&ip, ai->ai_addr, ai->ai_addrlen))
			name_list_add(&list, &ip);
	freeaddrinfo(answer);
	names_remember(host, &list, NAMES_OURS, clock_at_entry());
	return list.count;
}

/* A name with a dot in it is meant as it stands: no search list is gone through, each
 * entry of which would take its time. */
static int ask(const char *host, const struct addrinfo *hints, struct addrinfo **answer)
{
	unsigned long options = _res.options;
	int rc;

	if (strchr(host, '.'))
		_res.options &= ~(unsigned long)(RES_DNSRCH | RES_DEFNAMES);
	rc = real.getaddrinfo(host, NULL, hints, answer);
	_res.options = options;
	return rc;
}

static struct err make(void *args, int *sys_errno)
{
	const char *host = args;
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int rc = real.getaddrinfo ? ask(host, &hints, &list) : EAI_SYSTEM;

	*sys_errno = errno;
	note_outcome(host, rc != 0 || keep(host, list) == 0);
	return (struct err){ ERR_EAI, rc };
}

/* Looks <host> up, about <limit> ns; the caller's thread holds its signals back if it
 * must. Each server is asked once. */
static void look_up(const char *host, int64_t limit)
{
	struct lookup_again again = { make, (void *)host };
	struct signal_hold outside;
	struct signal_hold hold;
	int sys_errno;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if ((_res.options & RES_INIT) && _res.nscount > 1)
		limit /= _res.nscount;
	signal_hold(&outside);
	/* What "let through" means in there: all that is blocked stays so. */
	hold = outside;
	sys_sigmask(SIG_BLOCK, NULL, &hold.before);
	preload_ops.lookup(&hold, &again, limit < DUR_S ? DUR_S : limit, &sys_errno);
	signal_release(&outside);
	pthread_setcancelstate(cancel, NULL);
}

unsigned places_resolve(struct signal_hold *hold, const char *host, int64_t limit,
                        struct name_ip *ips)
{
	int saved = errno;
	int64_t now = clock_at_entry();
	int64_t at = 0;
	unsigned count = names_addresses(host, ips, &at);
	bool old = count == 0 || dur_sub(now, at) >= GOOD_FOR;

	if (old && limit >= DUR_S && hold->before == 0 && !has_failed(host, now, BAD_FOR)) {
		signal_let(hold);
		signal_hold_again(hold);
		if (!signal_stopping()) {
			look_up(host, limit);
			count = names_addresses(host, ips, &at);
			old = false;
		}
	}
	if (old)
		atomic_store(&places_wanted_host, host);
	errno = saved;
	return count;
}

/* Looks <host> up if it is not known, or not any more; *left is what is left of the
 * time for it. */
static void look_ahead(const char *host, int64_t good_for, int64_t bad_for, int64_t *left)
{
	struct name_ip ips[NAMES_ADDRS];
	int64_t began = clock_at_entry();
	int64_t at = 0;

	if (*left < DUR_S || has_failed(host, began, bad_for) ||
	    (names_addresses(host, ips, &at) > 0 && dur_sub(began, at) < good_for))
		return;
	look_up(host, *left);
	at = dur_sub(clock_at_entry(), began);
	*left = at < DUR_S ? *left - at : 0;
}

void places_after_lookup(const char *host, int port)
{
	struct dest d = { .op = OP_LOOKUP, .host = host, .port = port, .proto = PROTO_ANY };
	const char *other = atomic_exchange(&places_wanted_host, NULL);
	const struct config *c = runtime_owns_process() ? runtime_config() : NULL;
	const struct rule *rule = c ? match_rule(&c->set, &d) : NULL;
	int64_t left = PLACE_PATIENCE;
	int saved = errno;

	if (!c || runtime_mode(c) != MODE_RETRY)
		return;
	if (rule && rule->redirect && rule->redirect->host)
		look_ahead(rule->redirect->host, GOOD_FOR, BAD_FOR, &left);
	if (other)
		look_ahead(other, GOOD_FOR, BAD_FOR, &left);
	/* While all is well, once: a program that makes one connect has no other chance. */
	for (unsigned i = 0; rule && i < rule->fallback_count; i++)
		if (rule->fallback[i].host)
			look_ahead(rule->fallback[i].host, DUR_NONE, DUR_NONE, &left);
	errno = saved;
}

static bool was_logged(const struct target *t, uint64_t what)
{
	uint64_t hash = hash_bytes(t->addr.ip, sizeof(t->addr.ip), t->addr.port);

	return said_before(hash_bytes(&t->rule, sizeof(t->rule), hash + what));
}

/* What the log calls the destination, and who. */
static struct places places_for(const struct target *t, struct signal_hold *hold, char *dest,
                                size_t size)
{
	dest_text(dest, size, t->name.id ? t->name.name : NULL, &t->addr, t->addr.port);
	return (struct places){ .ops = &preload_ops,
		                .ctx = hold,
		                .fd = -1,
		                .patience = PLACE_PATIENCE,
		                .family = t->addr.family,
		                .rule = t->rule,
		                .policy = t->policy,
		                .dest = dest };
}

static LR_NOINLINE void log_ambiguous(const struct target *t)
{
	char dest[DEST_TEXT_MAX];
	struct places places = places_for(t, NULL, dest, sizeof(dest));
	const struct rule *r = t->rule;

	place_log(&places, r->redirect ? EVENT_REDIRECT : EVENT_FALLBACK, &t->addr,
	          r->redirect ? r->redirect->text : r->fallback[0].text, REASON_AMBIGUOUS);
}

/* Whether one of the names of <t>'s address is none that its rule is for. */
static LR_NOINLINE bool has_other_name(const struct target *t)
{
	struct name_entry e;
	struct dest d = { .op = OP_CONNECT,
	                  .host = e.name,
	                  .addr = &t->addr,
	                  .port = t->addr.port,
	                  .proto = PROTO_TCP };

	for (unsigned at = 0; names_next(&at, &t->addr, &e);)
		if (!rule_matches(t->rule, &d))
			return true;
	return false;
}

bool places_ambiguous(const struct target *t)
{
	int saved = errno;

	if (t->addr.family == AF_UNIX || !has_other_name(t))
		return false;
	if (t->mode == MODE_RETRY && !was_logged(t, 2))
		log_ambiguous(t);
	errno = saved;
	return true;
}

static void log_once(const struct places *p, const struct target *t, const struct addr *to)
{
	char text[ADDR_TEXT_MAX];
	struct fmt f;

	/* An event loop may be unable to do what a blocking connect does. */
	if (was_logged(t, to != NULL))
		return;
	if (!to) {
		place_log(p, t->mode == MODE_OBSERVE ? EVENT_WOULD_REDIRECT : EVENT_REDIRECT,
		          &t->addr, t->rule->redirect->text,
		          t->mode == MODE_OBSERVE ? REASON_NONE : REASON_UNUSABLE);
		return;
	}
	fmt_init(&f, text, sizeof(text));
	addr_fmt(&f, to);
	fmt_end(&f);
	place_log(p, EVENT_REDIRECT, &t->addr, text, REASON_NONE);
}

static LR_NOINLINE bool redirect(int fd, const struct target *t, struct signal_hold *hold,
                                 bool nonblocking, struct addr *to)
{
	char dest[DEST_TEXT_MAX];
	struct places places = places_for(t, hold, dest, sizeof(dest));
	bool found = false;

	places.fd = fd;
	places.wait = !nonblocking;
	if (nonblocking)
		places.patience = 0;
	if (t->mode == MODE_RETRY)
		found = place_find(&places, &t->addr, t->rule->redirect, to);
	log_once(&places, t, found ? to : NULL);
	return found;
}

bool places_redirect(int fd, const struct target *t, bool nonblocking, struct addr *to)
{
	struct signal_hold hold;
	enum condition is;
	int saved = errno;
	bool found;

	if (!t->rule || !t->rule->redirect || t->addr.family == AF_UNIX)
		return false;
	/* A second connect, to learn how the first has ended. */
	is = probe_condition(fd);
	if (is == CONDITION_TRYING || is == CONDITION_CONNECTED)
		return false;
	signal_hold(&hold);
	found = redirect(fd, t, &hold, nonblocking, to);
	signal_release(&hold);
	errno = saved;
	return found;
}
