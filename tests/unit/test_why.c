/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "base/prng.h"
#include "cli/destarg.h"
#include "cli/why.h"
#include "policy/builtin.h"
#include "policy/classify.h"
#include "policy/match.h"

static const char *const hosts[] = { "db1", "db*", "*.example.net", "192.0.2.1" };
static const char *const paths[] = { "/run/*.sock", "@name" };
static const struct port_range ports[] = { { 53, 53 }, { 6432, 6440 } };
static struct cidr cidrs[2];

static const char *const dests[] = {
	"db1:5432", "db1", "x.example.net:53", "192.0.2.1:53", "192.0.2.1:6435", "10.1.2.3:1",
	"fe80::1", "[fe80::1]:53", "224.0.0.1:53", "/run/x.sock", "/tmp/x", "@name", "fd00::1",
};

static struct rule random_rule(struct prng *r)
{
	struct rule rule = { .proto = (enum proto)prng_below(prng_next(r), PROTO_UNIX) };

	if (prng_next(r) & 1)
		rule.proto = PROTO_ANY;
	if (prng_next(r) & 1) {
		rule.hosts = hosts;
		rule.host_count = 1 + (unsigned)prng_below(prng_next(r), 3);
	}
	if (prng_next(r) & 1) {
		rule.cidrs = cidrs;
		rule.cidr_count = 1 + (prng_next(r) & 1);
	}
	if (prng_next(r) & 1) {
		rule.ports = ports;
		rule.port_count = 1 + (prng_next(r) & 1);
	}
	if (prng_next(r) % 4 == 0) {
		rule.unix_paths = paths;
		rule.unix_count = 2;
	}
	return rule;
}

/* Whether a rule takes a destination is for match.c to say; that there is a reason
 * whenever it does not, for us. */
START_TEST(agrees_with_the_matcher)
{
	unsigned matches = 0;
	struct prng r;

	prng_seed(&r, 11);
	cidr_parse(&cidrs[0], "192.0.2.0/24");
	cidr_parse(&cidrs[1], "fe80::/10");
	for (unsigned i = 0; i < 20000; i++) {
		struct rule rule = random_rule(&r);
		struct policy_set set = { .rules = &rule, .rule_count = 1 };
		struct dest_arg a;
		const char *wrong;
		char text[1024];
		struct fmt why;
		bool on_address;
		bool local;
		struct dest d;

		ck_assert(dest_arg_parse(&a, dests[i % ARRAY_LEN(dests)], &wrong));
		local = a.addr.family == AF_UNIX;
		d = (struct dest){ .op = (enum op)prng_below(prng_next(&r), OP_SEND),
			           .host = a.name[0] ? a.name : NULL,
			           .addr = a.addr.family == AF_UNSPEC ? NULL : &a.addr,
			           .port = local ? -1 : a.port,
			           .proto = local ? PROTO_UNIX : PROTO_TCP };
		fmt_init(&why, text, sizeof(text));
		if (match_rule(&set, &d)) {
			matches++;
			ck_assert(!why_no_match(&rule, &d, &why, &on_address));
			continue;
		}
		ck_assert(why_no_match(&rule, &d, &why, &on_address));
		fmt_end(&why);
		ck_assert_msg(text[0] != '\0', "no reason for %s", dests[i % ARRAY_LEN(dests)]);
		ck_assert(!on_address || (!d.addr && rule.cidr_count));
	}
	ck_assert_uint_gt(matches, 1000);
}
END_TEST

static const char *reason(const struct rule *rule, const char *dest, enum op op,
                          bool *on_address)
{
	static char text[1024];
	struct dest_arg a;
	const char *wrong;
	struct fmt why;
	struct dest d;

	ck_assert(dest_arg_parse(&a, dest, &wrong));
	d = (struct dest){ .op = op,
		           .host = a.name[0] ? a.name : NULL,
		           .addr = a.addr.family == AF_UNSPEC ? NULL : &a.addr,
		           .port = a.port,
		           .proto = a.addr.family == AF_UNIX ? PROTO_UNIX : PROTO_TCP };
	fmt_init(&why, text, sizeof(text));
	why_no_match(rule, &d, &why, on_address);
	fmt_end(&why);
	return text;
}

START_TEST(reasons)
{
	struct rule host = { .hosts = hosts, .host_count = 1 };
	struct rule both = { .hosts = hosts, .host_count = 1, .ports = ports, .port_count = 2 };
	struct rule addr = { .cidrs = cidrs, .cidr_count = 1 };
	struct rule local = { .unix_paths = paths, .unix_count = 1 };
	struct rule udp = { .proto = PROTO_UDP };
	struct rule any = { .name = "any" };
	bool on;

	cidr_parse(&cidrs[0], "192.0.2.0/24");
	ck_assert_str_eq(reason(&host, "db2:1", OP_CONNECT, &on), "host: db2 is not db1");
	ck_assert_str_eq(reason(&host, "192.0.2.1:1", OP_CONNECT, &on),
	                 "host: 192.0.2.1 is not db1");
	ck_assert_str_eq(reason(&both, "db2:1", OP_CONNECT, &on),
	                 "host: db2 is not db1; port: 1 is not 53, 6432-6440");
	ck_assert(!on);
	ck_assert_str_eq(reason(&addr, "db1:1", OP_CONNECT, &on),
	                 "addr: whether the address is in 192.0.2.0/24 is not known (--addr)");
	ck_assert(on);
	ck_assert_str_eq(reason(&addr, "db1", OP_LOOKUP, &on),
	                 "addr: a look-up has no address yet");
	ck_assert(!on);
	ck_assert_str_eq(reason(&addr, "10.0.0.1:1", OP_CONNECT, &on),
	                 "addr: 10.0.0.1 is not in 192.0.2.0/24");
	ck_assert_str_eq(reason(&local, "db1:1", OP_CONNECT, &on),
	                 "unix: this is no Unix socket");
	ck_assert_str_eq(reason(&local, "/tmp/x", OP_CONNECT, &on),
	                 "unix: /tmp/x is not /run/*.sock");
	ck_assert_str_eq(reason(&host, "/tmp/x", OP_CONNECT, &on),
	                 "host: a Unix socket has none");
	ck_assert_str_eq(reason(&udp, "db1:1", OP_CONNECT, &on), "proto: tcp is not udp");
	ck_assert_ptr_nonnull(strstr(reason(&any, "fe80::1", OP_CONNECT, &on), "link-local"));
	ck_assert_str_eq(reason(&any, "db1:1", OP_CONNECT, &on), "");
}
END_TEST

static bool retried(const struct policy *p, const struct dest *d, const char *name, char *text,
                    size_t size)
{
	struct err e;
	struct fmt why;
	bool once, result;

	ck_assert_msg(err_parse(name, &e), "%s", name);
	fmt_init(&why, text, size);
	result = why_retried(p, NULL, d, e, &why, &once);
	fmt_end(&why);
	ck_assert_str_ne(text, "");
	return result;
}

/* For connects and look-ups: what policy_retries() says, for every error there is. */
START_TEST(agrees_with_the_classifier)
{
	struct addr local = { .family = AF_UNIX, .path = "/run/x" };
	struct dest d[] = { { .op = OP_CONNECT, .proto = PROTO_TCP },
		            { .op = OP_CONNECT, .proto = PROTO_UNIX, .addr = &local },
		            { .op = OP_LOOKUP } };
	struct policy p = builtin_default();
	const char *name;

	err_set_add_class(&p.retry, CLASS_UNIX_MISSING);
	err_set_remove(&p.retry, (struct err){ ERR_ERRNO, ETIMEDOUT });
	for (size_t k = 0; k < ARRAY_LEN(d); k++) {
		for (unsigned i = 0; (name = err_table_name(i)) != NULL; i++) {
			char text[256];
			struct err e;
			bool mine;

			err_parse(name, &e);
			mine = (d[k].op == OP_LOOKUP) == (e.domain != ERR_ERRNO);
			ck_assert_msg(retried(&p, &d[k], name, text, sizeof(text)) ==
			                      (mine && policy_retries(&p, d[k].op, e, ECONNREFUSED,
			                                              d[k].addr != NULL)),
			              "%s of %s: %s", name, op_name(d[k].op), text);
		}
	}
}
END_TEST

START_TEST(reasons_for_errors)
{
	static const struct {
		enum op op;
		enum proto proto;
		const char *error;
		bool retried;
		const char *text;
	} rows[] = {
		{ OP_CONNECT, PROTO_TCP, "ECONNREFUSED", true, "class refused" },
		{ OP_CONNECT, PROTO_TCP, "EHOSTUNREACH", false, "never_on takes it out" },
		{ OP_CONNECT, PROTO_TCP, "ETIMEDOUT", false,
		  "neither it nor its class timeout is in retry_on" },
		{ OP_CONNECT, PROTO_TCP, "EACCES", false, "on the fixed list" },
		{ OP_CONNECT, PROTO_TCP, "EAGAIN", false, "only for Unix sockets" },
		{ OP_CONNECT, PROTO_TCP, "EIO", true, "named in retry_on" },
		{ OP_CONNECT, PROTO_TCP, "ENOSPC", false, "in no class" },
		{ OP_CONNECT, PROTO_TCP, "EAI_AGAIN", false, "--op lookup" },
		{ OP_LOOKUP, PROTO_ANY, "EAI_NONAME", false, "class dns-missing" },
		{ OP_LOOKUP, PROTO_ANY, "TRY_AGAIN", true, "class dns-temporary" },
		{ OP_LOOKUP, PROTO_ANY, "EAI_SYSTEM", true, "if errno says" },
		{ OP_SEND, PROTO_TCP, "ECONNRESET", true, "if no byte went either way" },
		{ OP_SEND, PROTO_TCP, "EPIPE", false, "not an error of a send" },
		{ OP_SEND, PROTO_TCP, "ECONNREFUSED", false, "not an error of a send" },
		{ OP_SEND, PROTO_UDP, "ECONNREFUSED", true, "at once" },
		{ OP_SEND, PROTO_UDP, "ENOBUFS", false, "only if a rule names" },
		{ OP_SEND, PROTO_TCP, "ENOBUFS", true, "blocking" },
	};
	struct policy p = builtin_default();

	err_set_add(&p.retry, (struct err){ ERR_ERRNO, EIO });
	err_set_remove(&p.retry, (struct err){ ERR_ERRNO, EHOSTUNREACH });
	err_set_add(&p.never, (struct err){ ERR_ERRNO, EHOSTUNREACH });
	err_set_remove_class(&p.retry, CLASS_TIMEOUT);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dest d = { .op = rows[i].op, .proto = rows[i].proto };
		char text[256];

		ck_assert_msg(retried(&p, &d, rows[i].error, text, sizeof(text)) == rows[i].retried,
		              "%s: %s", rows[i].error, text);
		ck_assert_msg(strstr(text, rows[i].text) != NULL, "%s: %s", rows[i].error, text);
	}
	p.send = SEND_FIRST_WRITE;
	{
		struct dest d = { .op = OP_SEND, .proto = PROTO_TCP };
		char text[256];

		ck_assert(retried(&p, &d, "EPIPE", text, sizeof(text)));
		p.send = SEND_OFF;
		ck_assert(!retried(&p, &d, "ECONNRESET", text, sizeof(text)));
	}
}
END_TEST

UNIT_MAIN("why", &agrees_with_the_matcher, &reasons, &agrees_with_the_classifier,
          &reasons_for_errors)
