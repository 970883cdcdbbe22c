/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "config/loader.h"

/* The texts of <n>, one or a list; the number, 0 after reporting. */
static unsigned count_texts(const struct node *n)
{
	unsigned count = node_count(n), good = 0;

	if (node_text(n))
		return 1;
	if (!node_is_list(n)) {
		node_wrong_type(n, "a text in quotes, or a list of them,");
		return 0;
	}
	if (count == 0 || count > LOAD_ITEMS_MAX) {
		node_say(n, DIAG_ERROR, "has %u entries (1 to %u)", count, LOAD_ITEMS_MAX);
		return 0;
	}
	for (unsigned i = 0; i < count; i++) {
		struct node item = node_at(n, i);

		if (node_text(&item))
			good++;
		else
			node_wrong_type(&item, "a text in quotes");
	}
	return good == count ? count : 0;
}

/* The one at <index> of those that count_texts() has counted. */
static struct node text_at(const struct node *n, unsigned index)
{
	return node_text(n) ? *n : node_at(n, index);
}

unsigned cond_texts(const struct node *n, const char *const **texts, check_text_fn *check)
{
	unsigned count = count_texts(n), good = 0;
	const char **list = arena_array(n->r->keep, count, sizeof(*list));

	for (unsigned i = 0; list && i < count; i++) {
		struct node item = text_at(n, i);
		const char *text = check(&item, node_text(&item));

		if (text)
			list[good++] = arena_text(n->r->keep, text, strlen(text));
	}
	*texts = list;
	return good;
}

/* RFC 1035, without the dot at the end. */
#define HOST_LEN_MAX 253

/* "db1:5432" looks like a port in the wrong place; "::1" does not. */
static bool has_port(const char *host)
{
	const char *colon = strchr(host, ':');

	return colon && colon > host && !strchr(colon + 1, ':') &&
	       strspn(colon + 1, "0123456789") == strlen(colon + 1) && colon[1];
}

static const char *check_host(const struct node *n, const char *text)
{
	size_t len = strlen(text);

	if (len == 0 || strcmp(text, ".") == 0) {
		node_fault(n, DIAG_ERROR,
		           "is empty (a name or a pattern such as \"*.example.net\")");
		return NULL;
	}
	if (strchr(text, '/')) {
		node_fault(n, DIAG_ERROR, "is not a host name (prefixes belong in \"addr\", paths "
		                          "in \"unix\")");
		return NULL;
	}
	if (len > HOST_LEN_MAX || text[strcspn(text, " \t@,;")])
		node_fault(n, DIAG_WARNING, "no host is called so (a list is [ \"a\", \"b\" ])");
	else if (has_port(text))
		node_fault(n, DIAG_WARNING, "no host is called so (the port belongs in \"port\")");
	if (text[len - 1] == '.')
		return arena_text(n->r->scratch, text, len - 1);
	return text;
}

static const char *check_unix(const struct node *n, const char *text)
{
	if (*text == '/' || *text == '*' || (*text == '@' && text[1]))
		return text;
	node_fault(n, DIAG_ERROR, "is not an absolute path (\"/run/x.sock\", or \"@name\" for an "
	                          "abstract one)");
	return NULL;
}

static void read_addr(const struct node *n, struct rule *rule)
{
	unsigned count = count_texts(n);
	struct cidr *list = arena_array(n->r->keep, count, sizeof(*list));

	rule->cidrs = list;
	for (unsigned i = 0; list && i < count; i++) {
		struct node item = text_at(n, i);
		struct cidr *c = &list[rule->cidr_count];
		char repaired[ADDR_TEXT_MAX];
		struct fmt f;

		switch (cidr_parse(c, node_text(&item))) {
		case CIDR_OK:
			rule->cidr_count++;
			break;
		case CIDR_HOST_BITS:
			fmt_init(&f, repaired, sizeof(repaired));
			cidr_fmt(&f, c);
			fmt_end(&f);
			node_fault(&item, DIAG_ERROR, "has host bits set (write %q)", repaired);
			break;
		case CIDR_BAD_LENGTH:
			node_fault(&item, DIAG_ERROR,
			           "has a bad prefix length (0 to 32, for IPv6 0 to 128)");
			break;
		default:
			node_fault(&item, DIAG_ERROR,
			           "is not an address (such as \"192.0.2.1\", \"10.0.0.0/8\", "
			           "\"fd00::/8\"; names belong in \"host\")");
		}
	}
}

/* A port number at *<s>; 0 if there is none from 1 to 65535. */
static unsigned port_number(const char **s)
{
	unsigned long value = 0;
	const char *from = *s;

	for (; **s >= '0' && **s <= '9' && *s - from < 6; ++*s)
		value = value * 10 + (unsigned long)(**s - '0');
	return value <= 65535 ? (unsigned)value : 0;
}

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " ");
}

/* "5432,6432-6440": the next range at *<s>, with the comma behind it. */
static const char *next_range(const char **s, struct port_range *range)
{
	unsigned low, high;

	*s = skip_blanks(*s);
	low = high = port_number(s);
	if (low > 0 && *skip_blanks(*s) == '-') {
		*s = skip_blanks(skip_blanks(*s) + 1);
		high = port_number(s);
	}
	*s = skip_blanks(*s);
	if (low == 0 || high == 0 || (**s && **s != ','))
		return "is not a port (1 to 65535, such as \"5432\" or \"5432,6432-6440\")";
	if (low > high)
		return "begins above its end (low-high)";
	if (**s == ',' && !*skip_blanks(++*s))
		return "ends in a comma";
	range->low = (uint16_t)low;
	range->high = (uint16_t)high;
	return NULL;
}

static void read_port_text(const struct node *n, const char *text, struct rule *rule)
{
	struct port_range *list;
	unsigned count = 1;

	for (const char *s = text; *s; s++)
		count += *s == ',';
	if (count > LOAD_ITEMS_MAX) {
		node_say(n, DIAG_ERROR, "has %u entries (1 to %u)", count, LOAD_ITEMS_MAX);
		return;
	}
	list = arena_array(n->r->keep, count, sizeof(*list));
	rule->ports = list;
	if (!list)
		return;
	do {
		const char *wrong = next_range(&text, &list[rule->port_count]);

		if (wrong) {
			node_fault(n, DIAG_ERROR, "%s", wrong);
			return;
		}
		rule->port_count++;
	} while (*text);
}

static void read_port(const struct node *n, struct rule *rule)
{
	static const struct key number = { .kind = KIND_COUNT, .low = 1, .high = 65535 };
	struct port_range *one;
	const char *text;
	int64_t port;

	if (node_text(n)) {
		read_port_text(n, node_text(n), rule);
		return;
	}
	if (config_setting_type(n->s) != CONFIG_TYPE_INT) {
		node_wrong_type(n, "a port such as 5432 or \"5432,6432-6440\"");
		return;
	}
	if (!value_from_node(n, &number, &port, &text))
		return;
	one = arena_alloc(n->r->keep, sizeof(*one));
	if (!one)
		return;
	one->low = one->high = (uint16_t)port;
	rule->ports = one;
	rule->port_count = 1;
}

bool cond_read(const struct node *n, const struct key *k, struct rule *rule)
{
	if (strcmp(k->name, "host") == 0)
		rule->host_count = cond_texts(n, &rule->hosts, check_host);
	else if (strcmp(k->name, "addr") == 0)
		read_addr(n, rule);
	else if (strcmp(k->name, "port") == 0)
		read_port(n, rule);
	else if (strcmp(k->name, "unix") == 0)
		rule->unix_count = cond_texts(n, &rule->unix_paths, check_unix);
	else
		return false;
	return true;
}

bool cond_excluded(const struct rule *r)
{
	bool network = r->host_count + r->cidr_count + r->port_count > 0;
	bool local = r->unix_count > 0 || r->proto == PROTO_UNIX;

	return (network && local) ||
	       (r->unix_count > 0 && r->proto != PROTO_ANY && r->proto != PROTO_UNIX);
}

/* The host of <text>, without brackets, is an address, or may be a name. */
static bool endpoint_host(const struct node *n, const char *text, size_t len, struct endpoint *e)
{
	bool brackets = len > 2 && text[0] == '[' && text[len - 1] == ']';
	char host[256];
	struct fmt f;

	if (len == 0 || len >= sizeof(host) || memchr(text, '/', len))
		return false;
	fmt_init(&f, host, sizeof(host));
	fmt_mem(&f, text + brackets, len - 2 * brackets);
	fmt_end(&f);
	if (addr_parse_ip(&e->addr, host))
		return brackets == (strchr(host, ':') != NULL);
	e->host = arena_text(n->r->keep, host, strlen(host));
	return !brackets && strlen(host) <= HOST_LEN_MAX && !host[strcspn(host, ": \t@,;*?[]\\")];
}

bool cond_endpoint(const struct node *n, const char *text, struct endpoint *e)
{
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : "";
	unsigned number = port_number(&port);

	memset(e, 0, sizeof(*e));
	if (number > 0 && !*port && endpoint_host(n, text, (size_t)(colon - text), e)) {
		e->text = arena_text(n->r->keep, text, strlen(text));
		e->addr.port = (uint16_t)number;
		return true;
	}
	node_fault(n, DIAG_ERROR,
	           "is not host:port (such as \"db2.example.net:5432\", \"192.0.2.7:5432\", "
	           "\"[fd00::7]:5432\")");
	return false;
}
