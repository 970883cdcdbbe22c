/* SPDX-License-Identifier: MIT */
/*
 * Two rules and a destination, of a text of lines:
 *
 *     1 host PATTERN      1: the first rule, 2: the second
 *     1 addr PREFIX
 *     1 port LOW-HIGH     (numbers of any size, taken modulo 2^16)
 *     1 unix PATTERN
 *     1 proto N
 *     d host NAME         d: the destination
 *     d addr ADDRESS
 *     d unix PATH
 *     d port N
 *     d op N
 *
 * Whatever the second matches, the first matches as well if it is said to shadow it.
 */
#include <string.h>

#include "base/glob.h"
#include "fuzz.h"
#include "policy/match.h"

#define MOST 4

struct lists {
	const char *hosts[MOST];
	struct cidr cidrs[MOST];
	struct port_range ports[MOST];
	const char *paths[MOST];
};

static void rule_line(struct rule *r, struct lists *l, const char *key, const char *value)
{
	struct cidr c;

	if (strcmp(key, "host") == 0 && r->host_count < MOST && *value) {
		l->hosts[r->host_count++] = value;
	} else if (strcmp(key, "addr") == 0 && r->cidr_count < MOST) {
		if (cidr_parse(&c, value) == CIDR_OK)
			l->cidrs[r->cidr_count++] = c;
	} else if (strcmp(key, "port") == 0 && r->port_count < MOST) {
		const char *dash = strchr(value, '-');
		uint16_t low = (uint16_t)strtoul(value, NULL, 10);
		uint16_t high = dash ? (uint16_t)strtoul(dash + 1, NULL, 10) : low;

		if (low <= high)
			l->ports[r->port_count++] = (struct port_range){ low, high };
	} else if (strcmp(key, "unix") == 0 && r->unix_count < MOST && *value) {
		l->paths[r->unix_count++] = value;
	} else if (strcmp(key, "proto") == 0) {
		r->proto = (enum proto)(strtoul(value, NULL, 10) % (PROTO_OTHER + 1));
	}
}

static void dest_line(struct dest *d, struct addr *a, const char *key, const char *value)
{
	if (strcmp(key, "host") == 0 && *value) {
		d->host = value;
	} else if (strcmp(key, "addr") == 0) {
		if (addr_parse_ip(a, value))
			d->addr = a;
	} else if (strcmp(key, "unix") == 0) {
		memset(a, 0, sizeof(*a));
		a->family = AF_UNIX;
		a->abstract = value[0] == '@';
		snprintf(a->path, sizeof(a->path), "%s", value);
		d->addr = a;
	} else if (strcmp(key, "port") == 0) {
		d->port = (int)(strtoul(value, NULL, 10) % 65537) - 1;
	} else if (strcmp(key, "op") == 0) {
		d->op = (enum op)(strtoul(value, NULL, 10) % (OP_SEND + 1));
	}
}

static void line_of(char *line, struct rule *r, struct lists *l, struct dest *d, struct addr *a)
{
	char *key = strchr(line, ' ');
	char *value = key ? strchr(key + 1, ' ') : NULL;

	if (!value)
		return;
	*key++ = '\0';
	*value++ = '\0';
	if (strcmp(line, "1") == 0 || strcmp(line, "2") == 0)
		rule_line(&r[*line - '1'], &l[*line - '1'], key, value);
	else if (strcmp(line, "d") == 0)
		dest_line(d, a, key, value);
}

void fuzz_match(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	static const struct policy policy = { .name = "fuzz" };
	struct lists l[2];
	struct rule r[2];
	struct dest d = { .port = -1 };
	struct addr a;
	struct policy_set set = { .rules = r, .rule_count = 2 };
	char *next = text;

	memset(l, 0, sizeof(l));
	memset(r, 0, sizeof(r));
	for (int i = 0; i < 2; i++) {
		r[i].hosts = l[i].hosts;
		r[i].cidrs = l[i].cidrs;
		r[i].ports = l[i].ports;
		r[i].unix_paths = l[i].paths;
		r[i].policy = &policy;
	}
	while (next) {
		char *line = strsep(&next, "\n");

		line_of(line, r, l, &d, &a);
	}
	if (d.addr && d.addr->family != AF_UNIX && d.port >= 0)
		a.port = (uint16_t)d.port;
	match_rule(&set, &d);
	rule_names_dest(&r[0]);
	if (rule_shadows(&r[0], &r[1]) && rule_matches(&r[1], &d))
		FUZZ_CHECK(rule_matches(&r[0], &d));
	if (r[0].host_count && d.host)
		glob_match(r[0].hosts[0], d.host, strlen(d.host), GLOB_NOCASE);
	free(text);
}
