/* SPDX-License-Identifier: MIT */
#include "cli/why.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "config/diag.h"
#include "policy/classify.h"
#include "policy/match.h"

/* Of a list, that many are shown. */
#define SHOWN 4

static const char *const protos[] = { "any", "tcp", "udp", "unix" };

static void clause(struct fmt *why)
{
	if (why->len)
		fmt_str(why, "; ");
}

static void list_end(struct fmt *why, unsigned count)
{
	if (count > SHOWN)
		diag_format(why, " or %u more", count - SHOWN);
}

static void globs(struct fmt *why, const char *const *list, unsigned count)
{
	for (unsigned i = 0; i < count && i < SHOWN; i++)
		diag_format(why, i ? ", %s" : "%s", list[i]);
	list_end(why, count);
}

static void dest_name(struct fmt *f, const struct dest *d)
{
	if (d->host)
		fmt_str(f, d->host);
	else if (d->addr)
		addr_fmt_ip(f, d->addr);
}

static void why_host(const struct rule *r, const struct dest *d, struct fmt *why)
{
	clause(why);
	fmt_str(why, "host: ");
	dest_name(why, d);
	fmt_str(why, " is not ");
	globs(why, r->hosts, r->host_count);
}

static void why_addr(const struct rule *r, const struct dest *d, struct fmt *why)
{
	clause(why);
	if (!d->addr) {
		fmt_str(why, d->op == OP_LOOKUP ? "addr: a look-up has no address yet"
		                                : "addr: whether the address is in ");
	} else {
		fmt_str(why, "addr: ");
		addr_fmt_ip(why, d->addr);
		fmt_str(why, " is not in ");
	}
	if (!d->addr && d->op == OP_LOOKUP)
		return;
	for (unsigned i = 0; i < r->cidr_count && i < SHOWN; i++) {
		fmt_str(why, i ? ", " : "");
		cidr_fmt(why, &r->cidrs[i]);
	}
	list_end(why, r->cidr_count);
	if (!d->addr)
		fmt_str(why, " is not known (--addr)");
}

static void why_port(const struct rule *r, const struct dest *d, struct fmt *why)
{
	clause(why);
	if (d->port < 0) {
		fmt_str(why, "port: none is known, and no host is named");
		return;
	}
	diag_format(why, "port: %u is not ", (unsigned)d->port);
	for (unsigned i = 0; i < r->port_count && i < SHOWN; i++) {
		diag_format(why, i ? ", %u" : "%u", (unsigned)r->ports[i].low);
		if (r->ports[i].high != r->ports[i].low)
			diag_format(why, "-%u", (unsigned)r->ports[i].high);
	}
	list_end(why, r->port_count);
}

/* Each condition by itself, as a rule of its own. */
static void why_network(const struct rule *r, const struct dest *d, struct fmt *why)
{
	struct rule host = { .hosts = r->hosts, .host_count = r->host_count };
	struct rule addr = { .cidrs = r->cidrs, .cidr_count = r->cidr_count };
	struct rule port = { .ports = r->ports, .port_count = r->port_count };

	if (r->unix_count) {
		clause(why);
		fmt_str(why, "unix: this is no Unix socket");
	}
	if (!rule_matches(&host, d))
		why_host(r, d, why);
	if (!rule_matches(&addr, d))
		why_addr(r, d, why);
	if (d->port < 0 ? r->port_count && !r->host_count : !rule_matches(&port, d))
		why_port(r, d, why);
}

static void why_unix(const struct rule *r, const struct dest *d, struct fmt *why)
{
	struct rule path = { .unix_paths = r->unix_paths, .unix_count = r->unix_count };

	if (r->host_count || r->cidr_count || r->port_count) {
		clause(why);
		fmt_str(why, r->host_count   ? "host"
		             : r->cidr_count ? "addr"
		                             : "port");
		fmt_str(why, ": a Unix socket has none");
	}
	if (rule_matches(&path, d))
		return;
	clause(why);
	fmt_str(why, "unix: ");
	addr_fmt_ip(why, d->addr);
	fmt_str(why, " is not ");
	globs(why, r->unix_paths, r->unix_count);
}

bool why_no_match(const struct rule *r, const struct dest *d, struct fmt *why,
                  bool *on_address)
{
	bool special = d->addr && addr_is_special(d->addr);
	struct rule proto = { .proto = r->proto };
	struct rule any_addr = *r;

	any_addr.cidr_count = 0;
	*on_address = false;
	if ((!special || rule_names_dest(r)) && rule_matches(r, d))
		return false;
	if (r->never) {
		fmt_str(why, "an unknown key in it may have been a condition, so it matches "
		             "nothing (\"libretry check\")");
		return true;
	}
	*on_address = !d->addr && d->op != OP_LOOKUP && rule_matches(&any_addr, d);
	if (!rule_matches(&proto, d)) {
		clause(why);
		diag_format(why, "proto: %s is not %s", protos[d->proto], protos[r->proto]);
	}
	if (d->addr && d->addr->family == AF_UNIX)
		why_unix(r, d, why);
	else
		why_network(r, d, why);
	if (special && !rule_names_dest(r)) {
		clause(why);
		fmt_str(why, "link-local, multicast and broadcast addresses need a rule "
		             "that names hosts or addresses");
	}
	return true;
}

/* The errors of a send that mean that nothing was taken; the others are the
 * program's whatever the policy says. */
static bool sends(const struct policy *p, const struct rule *rule, const struct dest *d,
                  struct err e, struct fmt *why, bool *once)
{
	bool datagram = d->proto == PROTO_UDP;

	switch (e.code) {
	case ECONNREFUSED:
		*once = datagram;
		if (!datagram)
			break;
		fmt_str(why, "of a connected socket: it belongs to the datagram before, so the "
		             "call is made once more, at once");
		return true;
	case ENOBUFS:
	case ENOMEM:
		if (datagram && !rule) {
			fmt_str(why, "for datagrams only if a rule names the destination");
			return false;
		}
		fmt_str(why, "on blocking sockets");
		return true;
	case EPIPE:
		if (p->send != SEND_FIRST_WRITE || datagram)
			break;
		fmt_str(why, "as ECONNRESET, while what was sent is kept (send = \"first-write\")");
		return true;
	case ECONNRESET:
	case ECONNABORTED:
		if (datagram)
			break;
		fmt_str(why, p->send == SEND_FIRST_WRITE
		                     ? "if nothing was received yet: the connection is made again "
		                       "and what was sent goes again"
		                     : "if no byte went either way: the connection is made again");
		return true;
	default:
		break;
	}
	fmt_str(why, "not an error of a send that took nothing");
	return false;
}

static bool of_wrong_call(const struct dest *d, struct err e, struct fmt *why)
{
	if (d->op == OP_LOOKUP) {
		if (e.domain != ERR_ERRNO)
			return false;
		fmt_str(why, "no result of a look-up, such as EAI_AGAIN");
		return true;
	}
	if (e.domain == ERR_ERRNO)
		return false;
	diag_format(why, "a result of look-ups, not of %s: --op lookup", op_name(d->op));
	return true;
}

/* Not in the set: which of the reasons is it? */
static void why_not_in_set(const struct policy *p, struct err e, enum err_class class,
                           struct fmt *why)
{
	if (err_set_has(&p->never, e))
		fmt_str(why, "never_on takes it out");
	else if (class == CLASS_NONE)
		fmt_str(why, "in no class, and retry_on does not name it");
	else
		diag_format(why, "neither it nor its class %s is in retry_on", class_name(class));
}

bool why_retried(const struct policy *p, const struct rule *rule, const struct dest *d,
                 struct err e, struct fmt *why, bool *once)
{
	bool local = d->addr && d->addr->family == AF_UNIX;
	enum err_class class = classify(d->op, e, ECONNREFUSED, local);
	/* As the send that took it for one is told (again.c). */
	struct err asked = d->op == OP_SEND && e.code == EPIPE
	                           ? (struct err){ ERR_ERRNO, ECONNRESET }
	                           : e;

	*once = false;
	if (of_wrong_call(d, e, why))
		return false;
	if (err_is_fixed(e)) {
		fmt_str(why, "on the fixed list of what is never retried: waiting does not cure "
		             "it");
		return false;
	}
	if (e.domain == ERR_ERRNO && (e.code == EAGAIN || e.code == ENOENT) && !local) {
		fmt_str(why, "only for Unix sockets");
		return false;
	}
	if (d->op == OP_SEND) {
		size_t before = why->len;

		if (p->send == SEND_OFF) {
			fmt_str(why, "send = \"off\"");
			return false;
		}
		if (!sends(p, rule, d, e, why, once))
			return false;
		if (err_set_has(&p->retry, asked))
			return true;
		why->len = before;
	} else if (err_set_has(&p->retry, e)) {
		if (class == CLASS_NONE)
			fmt_str(why, "named in retry_on");
		else
			diag_format(why, "class %s", class_name(class));
		if (e.domain == ERR_EAI && e.code == EAI_SYSTEM)
			fmt_str(why, ", if errno says what retry_on has");
		return true;
	}
	why_not_in_set(p, asked, class, why);
	return false;
}
