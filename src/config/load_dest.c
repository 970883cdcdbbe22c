/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "config/loader.h"
#include "policy/match.h"

/* Comparing every rule with every other one ends here; what it has not proved
 * by then is not reported. */
#define SHADOW_WORK_MAX (4UL * 1000 * 1000)

/* One entry while it is read: what needs the rest of it comes last. */
struct dest_reading {
	struct rule *rule;
	struct node policy, override, fallback, redirect;
	bool has_policy, has_override, has_fallback, has_redirect;
};

/* "redirect", or one of "fallback"; NULL after reporting. */
static struct endpoint *read_endpoint(const struct node *n, const char *text)
{
	struct endpoint *e = arena_alloc(n->r->keep, sizeof(*e));

	return e && cond_endpoint(n, text, e) ? e : NULL;
}

static const char *check_endpoint(const struct node *n, const char *text)
{
	struct endpoint e;

	return cond_endpoint(n, text, &e) ? text : NULL;
}

static void read_custom(void *ctx, const struct node *n, const struct key *k, void *target)
{
	struct dest_reading *d = ctx;

	(void)target;
	if (cond_read(n, k, d->rule))
		return;
	if (strcmp(k->name, "policy") == 0) {
		d->policy = *n;
		d->has_policy = true;
	} else if (strcmp(k->name, "override") == 0) {
		d->override = *n;
		d->has_override = true;
	} else if (strcmp(k->name, "fallback") == 0) {
		d->fallback = *n;
		d->has_fallback = true;
	} else if (!node_text(n)) {
		node_wrong_type(n, "host:port in quotes");
	} else {
		d->redirect = *n;
		d->has_redirect = true;
	}
}

/* Whether <host> is one that the rule names without a pattern. */
static bool names_host(const struct rule *r, const char *host)
{
	struct addr ip;

	for (unsigned i = 0; i < r->host_count; i++)
		if (strcasecmp(r->hosts[i], host) == 0)
			return true;
	if (r->cidr_count == 0 || !addr_parse_ip(&ip, host))
		return false;
	for (unsigned i = 0; i < r->cidr_count; i++)
		if (r->cidrs[i].bits == (ip.family == AF_INET ? 32 : 128) &&
		    cidr_match(&r->cidrs[i], &ip))
			return true;
	return false;
}

/* Whether <text> (host:port) leads back to what the rule matches. */
static bool is_itself(const struct rule *r, const char *text)
{
	const char *colon = strrchr(text, ':');
	size_t skip = *text == '[';
	bool port_fits = r->port_count == 0;
	unsigned long port = 0;
	char host[256];
	struct fmt f;

	for (const char *s = colon + 1; *s; s++)
		port = port * 10 + (unsigned long)(*s - '0');
	for (unsigned i = 0; i < r->port_count; i++)
		port_fits |= port >= r->ports[i].low && port <= r->ports[i].high;
	fmt_init(&f, host, sizeof(host));
	fmt_mem(&f, text + skip, (size_t)(colon - text) - 2 * skip);
	fmt_end(&f);
	return port_fits && names_host(r, host);
}

/* Says so if it does. */
static bool leads_back(const struct node *n, const struct rule *r, const char *text)
{
	if (!is_itself(r, text))
		return false;
	node_say(n, DIAG_ERROR, "%q: is the destination itself (another one)", text);
	return true;
}

/* Other ports of the same host may well be redirected to one of them. */
static bool has_one_port(const struct rule *r)
{
	return r->port_count == 1 && r->ports[0].low == r->ports[0].high;
}

static void read_redirect(const struct node *n, struct rule *r)
{
	struct endpoint *e = read_endpoint(n, node_text(n));

	if (e && !(has_one_port(r) && leads_back(n, r, e->text)))
		r->redirect = e;
}

static void read_fallback(const struct node *n, struct rule *r)
{
	const char *const *texts;
	unsigned count = cond_texts(n, &texts, check_endpoint);
	struct endpoint *list = arena_array(n->r->keep, count, sizeof(*list));

	r->fallback = list;
	for (unsigned i = 0; list && i < count; i++) {
		if (!leads_back(n, r, texts[i]) &&
		    cond_endpoint(n, texts[i], &list[r->fallback_count]))
			r->fallback_count++;
	}
}

/* What would never be done. */
static void check_places(const struct node *n, const struct rule *r)
{
	bool fallback = r->fallback_count > 0;
	struct node key;

	if (!fallback && node_member(n, "fallback_after", &key))
		node_say(&key, DIAG_WARNING, "does nothing without fallback");
	if (!fallback && !r->redirect)
		return;
	if (!r->never && r->host_count + r->cidr_count + r->port_count + r->unix_count == 0 &&
	    node_member(n, fallback ? "fallback" : "redirect", &key))
		node_say(&key, DIAG_WARNING, "takes every connection: the entry has no condition "
		                             "(host, addr, port)");
	if (r->unix_count > 0 || r->proto == PROTO_UNIX || r->proto == PROTO_UDP) {
		if (node_member(n, fallback ? "fallback" : "redirect", &key))
			node_say(&key, DIAG_WARNING, "is for TCP only, and this entry is not");
	} else if (fallback && r->policy && r->fallback_after >= r->policy->max_attempts &&
	           node_member(n, "fallback", &key)) {
		node_say(&key, DIAG_WARNING,
		         "is never reached: attempts end after %u, and fallback_after is %u",
		         r->policy->max_attempts, r->fallback_after);
	}
}

static void read_policy(struct loader *ld, struct dest_reading *d)
{
	struct pol *p = pol_find(ld, "default");

	if (d->has_policy)
		p = pol_named(ld, &d->policy);
	if (p && d->has_override)
		p = pol_private(ld, p, &d->override);
	d->rule->policy = p ? &p->p : NULL;
}

static void say_entry(struct fmt *f, const struct node *n, const struct rule *r)
{
	node_path(f, n);
	if (r->name)
		diag_format(f, " (%q)", r->name);
}

/* Conditions of Unix sockets and of the network exclude each other. */
static void check_conditions(const struct node *n, const struct rule *r)
{
	char buf[256];
	struct fmt f;

	if (!cond_excluded(r))
		return;
	fmt_init(&f, buf, sizeof(buf));
	say_entry(&f, n, r);
	diag_format(&f, ": can never match: a Unix socket has no host, address, port or other "
	                "protocol");
	diag_send(n->r->sink, DIAG_WARNING, r->source, &f);
}

static void check_name(struct loader *ld, const struct node *entry, const struct rule *r)
{
	struct node n;

	if (!r->name || !node_member(entry, "name", &n))
		return;
	for (unsigned i = 0; i < ld->rule_count; i++) {
		const struct rule *other = &ld->rules[i];

		if (!other->name || strcmp(other->name, r->name) != 0)
			continue;
		node_fault(&n, DIAG_ERROR, "already used at %s:%u", other->source.file,
		           other->source.line);
		return;
	}
}

/* What was misspelled may have been the condition, without which the entry would
 * take everything elsewhere. */
static void check_unknown(const struct node *n, const struct dest_reading *d, unsigned unknown)
{
	if (!unknown || !(d->has_fallback || d->has_redirect || d->has_override))
		return;
	d->rule->never = true;
	node_say(n, DIAG_UNKNOWN, "matches nothing: an unknown key may have been a condition, and "
	                          "the entry has %s",
	         d->has_redirect   ? "redirect"
	         : d->has_fallback ? "fallback"
	                           : "override");
}

/* The rule for connects of which nobody can say whether they are meant by its name. */
static const struct rule *without_places(struct loader *ld, const struct rule *r)
{
	struct rule *plain;

	if (r->host_count == 0 || (r->fallback_count == 0 && !r->redirect))
		return NULL;
	plain = arena_alloc(ld->r.keep, sizeof(*plain));
	if (!plain)
		return NULL;
	*plain = *r;
	plain->fallback_count = 0;
	plain->redirect = NULL;
	plain->policy = NULL;
	return plain;
}

static void read_one(struct loader *ld, const struct node *n)
{
	struct rule *r = &ld->rules[ld->rule_count];
	struct dest_reading d = { .rule = r };
	unsigned unknown = ld->sink.count[DIAG_UNKNOWN];
	bool good;

	memset(r, 0, sizeof(*r));
	r->source = node_source(n);
	r->fallback_after = 1;
	good = group_read(n, PLACE_DEST, r, read_custom, &d);
	check_unknown(n, &d, ld->sink.count[DIAG_UNKNOWN] - unknown);
	read_policy(ld, &d);
	if (d.has_redirect)
		read_redirect(&d.redirect, r);
	if (d.has_fallback)
		read_fallback(&d.fallback, r);
	r->plain = without_places(ld, r);
	if (good)
		check_conditions(n, r);
	check_places(n, r);
	check_name(ld, n, r);
	ld->rule_nodes[ld->rule_count++] = good ? load_keep_node(ld, n) : NULL;
}

void dests_read(struct loader *ld, const struct unit *u)
{
	const struct load_limit limit = { &ld->rule_count, LOAD_DESTS_MAX, "destinations" };

	load_list(ld, u->destinations, &limit, read_one);
}

/* What <r> takes, in a few words. */
static void say_conditions(struct fmt *f, const struct rule *r)
{
	size_t before = f->len;

	for (unsigned i = 0; i < r->host_count && i < 3; i++)
		diag_format(f, i ? ", %s" : "%s", r->hosts[i]);
	for (unsigned i = 0; i < r->cidr_count && i < 3; i++) {
		fmt_str(f, f->len > before ? ", " : "");
		cidr_fmt(f, &r->cidrs[i]);
	}
	for (unsigned i = 0; i < r->unix_count && i < 3; i++)
		diag_format(f, f->len > before ? ", %s" : "%s", r->unix_paths[i]);
	for (unsigned i = 0; i < r->port_count && i < 3; i++) {
		const struct port_range *p = &r->ports[i];

		diag_format(f, f->len > before ? ", port %u" : "port %u", (unsigned)p->low);
		if (p->high != p->low)
			diag_format(f, "-%u", (unsigned)p->high);
	}
	if (f->len == before)
		fmt_str(f, "everything");
}

static void say_shadowed(struct loader *ld, unsigned earlier, unsigned later)
{
	const struct rule *a = &ld->rules[earlier], *b = &ld->rules[later];
	char buf[DIAG_TEXT_MAX];
	struct fmt f;

	fmt_init(&f, buf, sizeof(buf));
	say_entry(&f, ld->rule_nodes[later], b);
	fmt_str(&f, ": can never match: ");
	node_path(&f, ld->rule_nodes[earlier]);
	if (ld->rule_nodes[earlier]->file != ld->rule_nodes[later]->file)
		diag_format(&f, " at %s:%u", a->source.file, a->source.line);
	fmt_str(&f, " already takes ");
	say_conditions(&f, a);
	diag_send(&ld->sink, DIAG_WARNING, b->source, &f);
}

static unsigned long work_of(const struct rule *a, const struct rule *b)
{
	return 1 + (unsigned long)a->host_count * b->host_count +
	       (unsigned long)a->cidr_count * b->cidr_count +
	       (unsigned long)a->port_count * b->port_count +
	       (unsigned long)a->unix_count * b->unix_count;
}

void dests_shadowed(struct loader *ld)
{
	unsigned long work = 0;

	for (unsigned later = 1; later < ld->rule_count; later++) {
		for (unsigned earlier = 0; earlier < later; earlier++) {
			work += work_of(&ld->rules[earlier], &ld->rules[later]);
			if (work > SHADOW_WORK_MAX)
				return;
			if (!ld->rule_nodes[earlier] || !ld->rule_nodes[later])
				continue;
			if (rule_shadows(&ld->rules[earlier], &ld->rules[later])) {
				say_shadowed(ld, earlier, later);
				break;
			}
		}
	}
}
