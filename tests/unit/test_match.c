/* SPDX-License-Identifier: MIT */
#include "policy/match.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "tests/unit/unit.h"

static struct addr ip(const char *text, uint16_t port)
{
	struct addr a;

	ck_assert_msg(addr_parse_ip(&a, text), "%s", text);
	a.port = port;
	return a;
}

static struct addr path(const char *text)
{
	struct addr a;

	memset(&a, 0, sizeof(a));
	a.family = AF_UNIX;
	a.abstract = text[0] == '@';
	memcpy(a.path, text, strlen(text) + 1);
	return a;
}

static const char *const db_hosts[] = { "db?.example.net", "db.example.net" };
static const char *const wild_hosts[] = { "*.example.net" };
static const char *const sockets[] = { "/run/mysqld/*.sock", "@app-*" };
static const struct port_range db_ports[] = { { 5432, 5432 }, { 6432, 6440 } };
static const struct port_range any_ports[] = { { 1, 65535 } };
static struct cidr nets[2];
static struct cidr link_local[1];

static const struct rule rules[] = {
	{ .name = "db", .hosts = db_hosts, .host_count = 2, .ports = db_ports, .port_count = 2 },
	{ .name = "net", .cidrs = nets, .cidr_count = 2 },
	{ .name = "sock", .unix_paths = sockets, .unix_count = 2 },
	{ .name = "wild", .hosts = wild_hosts, .host_count = 1, .proto = PROTO_TCP },
	{ .name = "ports", .ports = any_ports, .port_count = 1 },
	{ .name = "link", .cidrs = link_local, .cidr_count = 1 },
	{ .name = "all" },
};
static const struct policy_set set = { .rules = rules, .rule_count = ARRAY_LEN(rules) };

static void expect(const char *name, const struct dest *d)
{
	const struct rule *r;

	ck_assert(cidr_parse(&nets[0], "10.0.0.0/8") == CIDR_OK);
	ck_assert(cidr_parse(&nets[1], "fd00::/8") == CIDR_OK);
	ck_assert(cidr_parse(&link_local[0], "169.254.1.0/24") == CIDR_OK);
	r = match_rule(&set, d);
	ck_assert_str_eq(r ? r->name : "none", name);
}

static void expect_ip(const char *name, const char *host, const char *addr, uint16_t port)
{
	struct addr a = ip(addr, port);

	expect(name, &(struct dest){ OP_CONNECT, host, &a, port, PROTO_TCP });
}

START_TEST(first_match_wins)
{
	expect_ip("db", "db1.example.net", "10.1.2.3", 5432);
	expect_ip("db", "DB1.Example.NET.", "10.1.2.3", 6435);
	expect_ip("net", "db1.example.net", "10.1.2.3", 5433);
	expect_ip("wild", "db1.example.net", "192.0.2.1", 5433);
	expect_ip("net", NULL, "fd12::1", 80);
	expect_ip("ports", NULL, "192.0.2.1", 80);
	expect_ip("ports", "other", "192.0.2.1", 80);
}
END_TEST

START_TEST(mapped_addresses_are_folded)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(80) };
	struct addr a;

	ck_assert(inet_pton(AF_INET6, "::ffff:10.9.9.9", &six.sin6_addr) == 1);
	ck_assert(addr_from_sockaddr(&a, (struct sockaddr *)&six, sizeof(six)));
	expect("net", &(struct dest){ OP_CONNECT, NULL, &a, 80, PROTO_TCP });
}
END_TEST

START_TEST(host_condition_on_an_address_without_name)
{
	static const char *const literal[] = { "192.0.2.*" };
	struct rule r = { .hosts = literal, .host_count = 1 };
	struct addr a = ip("192.0.2.77", 1);
	struct addr b = ip("192.0.3.77", 1);

	ck_assert(rule_matches(&r, &(struct dest){ OP_CONNECT, NULL, &a, 1, PROTO_TCP }));
	ck_assert(!rule_matches(&r, &(struct dest){ OP_CONNECT, NULL, &b, 1, PROTO_TCP }));
	ck_assert(!rule_matches(&r, &(struct dest){ OP_CONNECT, "named", &a, 1, PROTO_TCP }));
}
END_TEST

START_TEST(unix_destinations)
{
	struct addr a = path("/run/mysqld/mysqld.sock");
	struct addr b = path("@app-1");
	struct addr c = path("/tmp/x");

	expect("sock", &(struct dest){ OP_CONNECT, NULL, &a, -1, PROTO_UNIX });
	expect("sock", &(struct dest){ OP_CONNECT, NULL, &b, -1, PROTO_UNIX });
	expect("all", &(struct dest){ OP_CONNECT, NULL, &c, -1, PROTO_UNIX });
}
END_TEST

START_TEST(lookups)
{
	/* The port may not be known yet; an address never is. */
	expect("db", &(struct dest){ OP_LOOKUP, "db1.example.net", NULL, -1, PROTO_ANY });
	expect("db", &(struct dest){ OP_LOOKUP, "db1.example.net", NULL, 5432, PROTO_ANY });
	expect("wild", &(struct dest){ OP_LOOKUP, "db1.example.net", NULL, 80, PROTO_ANY });
	expect("all", &(struct dest){ OP_LOOKUP, "db1.example.com", NULL, -1, PROTO_ANY });
	expect("ports", &(struct dest){ OP_LOOKUP, "db1.example.com", NULL, 7, PROTO_ANY });
}
END_TEST

START_TEST(special_addresses_need_a_rule_that_names_them)
{
	expect_ip("link", NULL, "169.254.1.7", 80);
	expect_ip("none", NULL, "169.254.169.254", 80);
	expect_ip("none", NULL, "fe80::1", 80);
	expect_ip("none", NULL, "224.0.0.1", 80);
	expect_ip("wild", "printer.example.net", "fe80::1", 80);
}
END_TEST

START_TEST(shadows)
{
	static const char *const star[] = { "*" };
	static const char *const one[] = { "db1.example.net" };
	struct cidr wide, narrow;
	struct port_range p80 = { 80, 80 }, p70_90 = { 70, 90 };
	struct rule all = { .name = "all" };
	struct rule hosts_all = { .hosts = star, .host_count = 1 };
	struct rule hosts_wild = { .hosts = wild_hosts, .host_count = 1 };
	struct rule host_one = { .hosts = one, .host_count = 1 };
	struct rule net_wide = { .cidrs = &wide, .cidr_count = 1 };
	struct rule net_narrow = { .cidrs = &narrow, .cidr_count = 1 };
	struct rule port_one = { .ports = &p80, .port_count = 1 };
	struct rule port_more = { .ports = &p70_90, .port_count = 1 };
	struct rule host_port = { .hosts = one, .host_count = 1, .ports = &p80, .port_count = 1 };
	struct rule udp = { .proto = PROTO_UDP };

	ck_assert(cidr_parse(&wide, "10.0.0.0/8") == CIDR_OK);
	ck_assert(cidr_parse(&narrow, "10.1.0.0/16") == CIDR_OK);
	ck_assert(rule_shadows(&all, &host_one));
	ck_assert(rule_shadows(&all, &port_one));
	ck_assert(rule_shadows(&hosts_all, &host_one));
	ck_assert(rule_shadows(&hosts_wild, &host_one));
	ck_assert(!rule_shadows(&host_one, &hosts_wild));
	ck_assert(rule_shadows(&net_wide, &net_narrow));
	ck_assert(!rule_shadows(&net_narrow, &net_wide));
	ck_assert(rule_shadows(&port_more, &port_one));
	ck_assert(!rule_shadows(&port_one, &port_more));
	ck_assert(!rule_shadows(&host_one, &net_narrow));
	/* Look-ups of the host without a port reach the later one. */
	ck_assert(!rule_shadows(&port_more, &host_port));
	ck_assert(rule_shadows(&host_one, &host_port));
	ck_assert(!rule_shadows(&udp, &port_one));
	/* A catch-all leaves link-local addresses to a rule that names them. */
	ck_assert(!rule_shadows(&all, &net_narrow));
}
END_TEST

START_TEST(programs)
{
	static const char *const full[] = { "/usr/bin/ssh" };
	static const char *const any_dir[] = { "*/autossh" };
	static const char *const base[] = { "backup-*" };
	static const struct program_rule list[] = {
		{ .source = { "f", 1 }, .exes = full, .exe_count = 1 },
		{ .source = { "f", 2 }, .exes = any_dir, .exe_count = 1 },
		{ .source = { "f", 3 }, .exes = base, .exe_count = 1 },
	};
	static const struct policy_set s = { .programs = list, .program_count = 3 };
	static const struct {
		const char *exe;
		unsigned line;
	} rows[] = { { "/usr/bin/ssh", 1 },      { "/usr/local/bin/ssh", 0 },
		     { "/opt/x/autossh", 2 },    { "/srv/backup-daily", 3 },
		     { "/backup-x/daily", 0 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct program_rule *r = match_program(&s, rows[i].exe);

		ck_assert_uint_eq(r ? r->source.line : 0, rows[i].line);
	}
}
END_TEST

UNIT_MAIN("match", &first_match_wins, &mapped_addresses_are_folded,
          &host_condition_on_an_address_without_name, &unix_destinations, &lookups,
          &special_addresses_need_a_rule_that_names_them, &shadows, &programs)
