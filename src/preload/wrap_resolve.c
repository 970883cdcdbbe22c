/* SPDX-License-Identifier: MIT */
/*
 * getaddrinfo() and the gethostbyname() family. glibc does its own lookups and
 * connects below these without passing a symbol (measured), so a look-up is
 * repeated as a whole. What succeeds is remembered: rules by host name and the
 * walk over several addresses need it at the connect that follows.
 */
#include <errno.h>
#include <string.h>

#include "base/libc.h"
#include "engine/resolve.h"
#include "engine/retry.h"
#include "log/log.h"
#include "policy/match.h"
#include "preload/inject.h"
#include "preload/leaving.h"
#include "preload/ops.h"
#include "preload/places.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "preload/signal.h"
#include "preload/stale.h"
#include "state/carry.h"
#include "state/names.h"

/* The port of <service> if it is a number; names are the resolver's business. */
static int port_of(const char *service)
{
	int port = 0;

	if (!service || !*service)
		return -1;
	for (; *service; service++) {
		if (*service < '0' || *service > '9' || port > 65535)
			return -1;
		port = port * 10 + (*service - '0');
	}
	return port > 65535 ? -1 : port;
}

static bool is_literal(const char *host)
{
	struct addr a;

	return addr_may_be_ip(host) && addr_parse_ip(&a, host);
}

/* A look-up of the program's, in a form that can be made again. */
struct request {
	const char *host;
	int port;
	enum proto proto;
	struct lookup_again again;
	bool (*stale)(void *again, int64_t oldest, int64_t *age); /* see engine/resolve.h */
};

static LR_NOINLINE struct err drive(const struct request *q, const struct config *c,
                                    int64_t began, struct err error, int *sys_errno)
{
	struct dest d = {
		.op = OP_LOOKUP, .host = q->host, .port = q->port, .proto = q->proto
	};
	const struct rule *rule = match_rule(&c->set, &d);
	struct turn turn = { .word = 0 };
	struct lookup_call call = { .host = q->host,
		                    .port = q->port,
		                    .policy = rule ? rule->policy : runtime_default_policy(c),
		                    .rule = rule,
		                    .mode = runtime_mode(c),
		                    .began = kernel_time_of(began),
		                    .call = (void *)&q->again,
		                    .stale = q->stale,
		                    .turn = &turn };
	struct signal_hold hold;

	signal_hold(&hold);
	LEAVING_PUSH_IF(leaves_turn(call.policy), leave_turn, &turn);
	error = engine_lookup(&preload_ops, &hold, &call, error, sys_errno);
	LEAVING_POP(0);
	signal_release(&hold);
	return error;
}

/* Whether a look-up that failed, or is about to be made, is ours to handle. */
static const struct config *ours(const char *host)
{
	const struct config *c;

	if (!host || is_literal(host) || !runtime_owns_process())
		return NULL;
	c = runtime_config();
	return gate_now() & GATE_OFF ? NULL : c;
}

/* <q>, begun at <began>, has failed with <error>; see resolve(). */
static LR_NOINLINE struct err failed(const struct request *q, int64_t began, struct err error,
                                     int sys_errno, int entry_errno)
{
	const struct config *c = ours(q->host);

	if (c) {
		error = drive(q, c, began, error, &sys_errno);
		if (error.code == 0)
			sys_errno = entry_errno;
	}
	errno = sys_errno;
	return error;
}

/*
 * The common course: <q> is made through its .again.make, retried if that
 * failed for a passing reason; the answer's own output is in the arguments.
 */
static struct err resolve(const struct request *q, unsigned gate)
{
	int entry_errno = errno;
	int64_t began = clock_at_entry();
	const struct config *c;
	struct err e = { ERR_EAI, 0 };
	int sys_errno = entry_errno;

	if (gate & GATE_BEFORE_LOOKUP) {
		c = ours(q->host);
		if (c && runtime_mode(c) == MODE_RETRY) {
			errno = entry_errno;
			e = drive(q, c, began, e, &sys_errno);
			errno = e.code ? sys_errno : entry_errno;
			return e;
		}
	}
	errno = entry_errno;
	e = q->again.make(q->again.args, &sys_errno);
	return lr_likely(e.code == 0) ? e : failed(q, began, e, sys_errno, entry_errno);
}

/* A thread that looks names up is one that can wait. */
static bool is_chance(unsigned gate)
{
	return lr_unlikely(places_wanted() || (gate & GATE_AFTER_LOOKUP));
}

struct gai_args {
	const char *node;
	const char *service;
	const struct addrinfo *hints;
	struct addrinfo **res;
	bool stale; /* what is in *res is of before, and not to be remembered again */
};

static enum proto proto_of(const struct addrinfo *hints)
{
	return hints && hints->ai_socktype == SOCK_DGRAM ? PROTO_UDP : PROTO_ANY;
}

static struct err make_gai(void *args, int *sys_errno)
{
	struct gai_args *a = args;
	struct err e;
	int rc;

	if (inject_active() && !is_literal(a->node) &&
	    inject_lookup(a->node, port_of(a->service), proto_of(a->hints), &e)) {
		*sys_errno = errno;
		return e;
	}
	rc = real.getaddrinfo(a->node, a->service, a->hints, a->res);
	*sys_errno = errno;
	return (struct err){ ERR_EAI, rc };
}

static bool stale_gai(void *again, int64_t oldest, int64_t *age)
{
	struct gai_args *a = ((struct lookup_again *)again)->args;

	a->stale = stale_answer(a->node, a->service, a->hints, oldest, a->res, age);
	return a->stale;
}

/* The answer is what was asked with; the connect that follows is to no name. */
static LR_NOINLINE bool remember_number(const char *node)
{
	struct name_ip ip;
	struct addr a;

	if (!addr_parse_ip(&a, node))
		return false;
	ip.family = a.family;
	memcpy(ip.ip, a.ip, sizeof(ip.ip));
	names_remember_literal(&ip, thread_key());
	return true;
}

static inline bool remember_literal(const char *node)
{
	return lr_unlikely(addr_may_be_ip(node)) && remember_number(node);
}

static LR_NOINLINE void end_carried(const char *host, int port)
{
	char dest[DEST_TEXT_MAX];

	dest_text(dest, sizeof(dest), host, NULL, port);
	carry_succeeded(carry_key_name(dest));
}

static LR_NOINLINE void keep_gai(const char *node, const char *service,
                                 const struct addrinfo *list, unsigned gate)
{
	if (remember_literal(node))
		return;
	names_remember_answer(node, list, thread_key(), clock_at_entry());
	if (lr_unlikely(carry_watching()))
		end_carried(node, port_of(service));
	if (is_chance(gate))
		places_after_lookup(node, port_of(service));
}

static struct request gai_request(struct gai_args *a)
{
	return (struct request){ .host = a->node,
		                 .port = port_of(a->service),
		                 .proto = proto_of(a->hints),
		                 .again = { make_gai, a },
		                 .stale = stale_gai };
}

static LR_NOINLINE int gai_gated(struct gai_args *a)
{
	unsigned gate = gate_now();
	struct request q;
	struct err e;

	if (gate)
		gate = runtime_enter(false);
	/* Nothing to ask anybody: the local side, or numbers. */
	if ((gate & GATE_PASS) || !a->node)
		return real.getaddrinfo(a->node, a->service, a->hints, a->res);
	if (a->hints && (a->hints->ai_flags & AI_NUMERICHOST)) {
		remember_literal(a->node);
		return real.getaddrinfo(a->node, a->service, a->hints, a->res);
	}
	q = gai_request(a);
	e = resolve(&q, gate);
	if (e.code == 0 && !a->stale)
		keep_gai(a->node, a->service, *a->res, gate);
	return e.code;
}

static LR_NOINLINE int gai_failed(struct gai_args *a, int64_t began, int rc, int entry_errno)
{
	struct request q = gai_request(a);
	struct err e = failed(&q, began, (struct err){ ERR_EAI, rc }, errno, entry_errno);

	if (e.code == 0 && !a->stale)
		keep_gai(a->node, a->service, *a->res, 0);
	return e.code;
}

static LR_NOINLINE int gai_ungated(const char *node, const char *service,
                                   const struct addrinfo *hints, struct addrinfo **res)
{
	struct gai_args args = { node, service, hints, res, false };

	return gai_gated(&args);
}

/* The straight way: see resolve(). An answer that says nothing new is as old as the
 * question, which is not wrong, and takes no second look at the clock. */
LR_NO_CANARY int wrap_getaddrinfo(const char *node, const char *service,
                                  const struct addrinfo *hints, struct addrinfo **res)
{
	if (lr_unlikely(gate_now()) || !node || (hints && (hints->ai_flags & AI_NUMERICHOST)))
		return gai_ungated(node, service, hints, res);
	LR_KEEP(node);
	LR_KEEP(service);
	LR_KEEP(hints);
	LR_KEEP(res);
	int entry_errno = runtime_errno();
	LR_KEEP(entry_errno);
	struct timespec began;

	clock_gettime(CLOCK_MONOTONIC, &began);
	int rc = real.getaddrinfo(kept_node, kept_service, kept_hints, kept_res);

	if (lr_unlikely(rc != 0)) {
		struct gai_args args = { kept_node, kept_service, kept_hints, kept_res, false };

		return gai_failed(&args, entry_ns(&began), rc, kept_entry_errno);
	}
	if (lr_likely(names_remember_same(kept_node, *kept_res, thread_key(), entry_ns(&began))) &&
	    !is_chance(0))
		return 0;
	keep_gai(kept_node, kept_service, *kept_res, 0);
	return 0;
}

static LR_NOINLINE void remember_hostent(const char *name, const struct hostent *h)
{
	struct name_list all;

	all.count = all.more = 0;
	if (h->h_addrtype != AF_INET && h->h_addrtype != AF_INET6)
		return;
	for (unsigned i = 0; i < 1024 && h->h_addr_list[i]; i++) {
		struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
		struct sockaddr_in four = { .sin_family = AF_INET };
		struct name_ip ip;
		bool v4 = h->h_addrtype == AF_INET;

		memcpy(&four.sin_addr, h->h_addr_list[i], 4);
		if (!v4)
			memcpy(&six.sin6_addr, h->h_addr_list[i], 16);
		if (name_ip_from(&ip, v4 ? (struct sockaddr *)&four : (struct sockaddr *)&six,
		                 v4 ? sizeof(four) : sizeof(six)))
			name_list_add(&all, &ip);
	}
	names_remember(name, &all, thread_key(), clock_at_entry());
}

/* The four forms of gethostbyname, told apart by what is set. */
struct host_args {
	const char *name;
	int af; /* -1: gethostbyname */
	bool reentrant;
	struct hostent *ret;
	char *buf;
	size_t size;
	struct hostent **result;
	int *herr;
	/* Answers. */
	struct hostent *host;
	int rc;
};

static int call_reentrant(const struct host_args *a)
{
	if (a->af < 0)
		return real.gethostbyname_r(a->name, a->ret, a->buf, a->size, a->result, a->herr);
	return real.gethostbyname2_r(a->name, a->af, a->ret, a->buf, a->size, a->result, a->herr);
}

/* How the gethostbyname family says what getaddrinfo says, as glibc does it. */
static struct err fail_host(struct host_args *a, int eai, int *sys_errno)
{
	static const struct {
		int eai, herr, rc, sys_errno;
	} table[] = {
		{ EAI_AGAIN, TRY_AGAIN, EAGAIN, 0 },
		{ EAI_NONAME, HOST_NOT_FOUND, 0, 0 },
		{ EAI_NODATA, NO_DATA, 0, 0 },
		{ EAI_ADDRFAMILY, NO_DATA, 0, 0 },
		{ EAI_MEMORY, NETDB_INTERNAL, ENOMEM, ENOMEM },
		{ 0, NO_RECOVERY, EIO, 0 },
	};
	size_t i = 0;

	while (table[i].eai && table[i].eai != eai)
		i++;
	a->host = NULL;
	a->rc = table[i].rc;
	if (a->reentrant) {
		*a->result = NULL;
		*a->herr = table[i].herr;
	} else {
		h_errno = table[i].herr;
	}
	*sys_errno = table[i].sys_errno ? table[i].sys_errno : errno;
	return (struct err){ ERR_HERRNO, table[i].herr };
}

/*
 * The reentrant forms answer ERANGE when the caller's buffer is too small: not
 * a failure of the look-up but a request for more room, which must get through
 * at once. It arrives as NETDB_INTERNAL with errno ERANGE, which no policy can
 * retry.
 */
static struct err make_host(void *args, int *sys_errno)
{
	struct host_args *a = args;
	struct err e;

	if (inject_active() && !is_literal(a->name) &&
	    inject_lookup(a->name, -1, PROTO_ANY, &e))
		return fail_host(a, e.code, sys_errno);
	if (a->reentrant) {
		a->rc = call_reentrant(a);
		a->host = a->rc == 0 ? *a->result : NULL;
	} else {
		a->host = a->af < 0 ? real.gethostbyname(a->name)
		                    : real.gethostbyname2(a->name, a->af);
	}
	*sys_errno = a->rc == ERANGE ? ERANGE : errno;
	if (a->host)
		return (struct err){ ERR_HERRNO, 0 };
	return (struct err){ ERR_HERRNO, a->reentrant ? *a->herr : h_errno };
}

static void by_host(struct host_args *args)
{
	struct request q = {
		.host = args->name, .port = -1, .proto = PROTO_ANY, .again = { make_host, args }
	};
	unsigned gate = gate_now();
	int sys_errno;

	if (lr_unlikely(gate))
		gate = runtime_enter(false);
	if ((gate & GATE_PASS) || !args->name) {
		make_host(args, &sys_errno);
		return;
	}
	resolve(&q, gate);
	if (args->host && !remember_literal(args->name)) {
		remember_hostent(args->name, args->host);
		if (lr_unlikely(carry_watching()))
			end_carried(args->name, -1);
		if (is_chance(gate))
			places_after_lookup(args->name, -1);
	}
}

struct hostent *wrap_gethostbyname(const char *name)
{
	struct host_args args = { .name = name, .af = -1 };

	by_host(&args);
	return args.host;
}

struct hostent *wrap_gethostbyname2(const char *name, int af)
{
	struct host_args args = { .name = name, .af = af };

	by_host(&args);
	return args.host;
}

int wrap_gethostbyname_r(const char *name, struct hostent *ret, char *buf, size_t size,
                         struct hostent **result, int *herr)
{
	struct host_args args = { .name = name, .af = -1, .reentrant = true, .ret = ret,
		                  .buf = buf, .size = size, .result = result, .herr = herr };

	by_host(&args);
	return args.rc;
}

int wrap_gethostbyname2_r(const char *name, int af, struct hostent *ret, char *buf, size_t size,
                          struct hostent **result, int *herr)
{
	struct host_args args = { .name = name, .af = af, .reentrant = true, .ret = ret,
		                  .buf = buf, .size = size, .result = result, .herr = herr };

	by_host(&args);
	return args.rc;
}
