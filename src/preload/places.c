/* SPDX-License-Identifier: MIT */
#include "preload/places.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
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

/* A name that somebody needed who could not wait. It is the configuration's,
 * which is never freed once it is in force. */
static const char *_Atomic wanted;

/* Destinations whose redirection has been logged, by hash; a crowd of them is
 * logged more often. */
#define LOGGED 256
static _Atomic uint64_t logged[LOGGED];

bool places_wanted(void)
{
	return atomic_load_explicit(&wanted, memory_order_relaxed) != NULL;
}

static unsigned keep(const char *host, struct addrinfo *list)
{
	struct name_ip ips[NAMES_ADDRS];
	struct name_ip ip;
	unsigned count = 0;

	for (const struct addrinfo *ai = list; ai; ai = ai->ai_next)
		if (ai->ai_addr && name_ip_from(&ip, ai->ai_addr, ai->ai_addrlen))
			count = name_ip_add(ips, count, &ip);
	freeaddrinfo(list);
	names_remember(host, ips, count, NAMES_OURS);
	return count;
}

static struct err make(void *args, int *sys_errno)
{
	const char *host = args;
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int rc = real.getaddrinfo ? real.getaddrinfo(host, NULL, &hints, &list) : EAI_SYSTEM;

	*sys_errno = errno;
	if (rc == 0)
		keep(host, list);
	return (struct err){ ERR_EAI, rc };
}

/* The caller's thread holds its signals back if it must. */
static void look_up(const char *host, int64_t limit)
{
	struct lookup_again again = { make, (void *)host };
	struct signal_hold hold;
	int sys_errno;

	/* What "let through" means in there: all that is blocked stays so. */
	signal_hold(&hold);
	sys_sigmask(SIG_BLOCK, NULL, &hold.before);
	preload_ops.lookup(&hold, &again, limit, &sys_errno);
}

unsigned places_resolve(struct signal_hold *hold, const char *host, bool wait,
                        struct name_ip *ips)
{
	int saved = errno;
	int cancel;
	unsigned count;

	if (wait && hold->before == 0) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		look_up(host, PLACES_PATIENCE);
		pthread_setcancelstate(cancel, NULL);
	}
	count = names_addresses(host, ips);
	if (count == 0)
		atomic_store(&wanted, host);
	errno = saved;
	return count;
}

void places_after_lookup(const char *host, int port)
{
	struct dest d = { .op = OP_LOOKUP, .host = host, .port = port, .proto = PROTO_ANY };
	const char *other = atomic_exchange(&wanted, NULL);
	const struct config *c = runtime_owns_process() ? runtime_config() : NULL;
	const struct rule *rule = c ? match_rule(&c->set, &d) : NULL;
	int saved = errno;
	int sys_errno;

	if (other)
		make((void *)other, &sys_errno);
	if (rule && rule->redirect && rule->redirect->host)
		make((void *)rule->redirect->host, &sys_errno);
	errno = saved;
}

static bool is_logged(const struct target *t, bool found)
{
	uint64_t hash = hash_bytes(t->addr.ip, sizeof(t->addr.ip), t->addr.port);
	_Atomic uint64_t *entry;

	/* An event loop may be unable to do what a blocking connect does. */
	hash = hash_bytes(&t->rule, sizeof(t->rule), hash + found) | 1;
	entry = &logged[hash / 2 % LOGGED];
	return atomic_exchange(entry, hash) == hash;
}

static void log_once(const struct places *p, const struct target *t, const struct addr *to)
{
	char text[ADDR_TEXT_MAX];
	struct fmt f;

	if (is_logged(t, to != NULL))
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
	struct places places = { .ops = &preload_ops,
		                 .ctx = hold,
		                 .fd = fd,
		                 .wait = !nonblocking,
		                 .rule = t->rule,
		                 .policy = t->policy,
		                 .dest = dest };
	bool found = false;

	dest_text(dest, sizeof(dest), t->name.id ? t->name.name : NULL, &t->addr, t->addr.port);
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
