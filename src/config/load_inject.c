/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/compat.h"
#include "base/prng.h"
#include "config/loader.h"
#include "config/timeline.h"

/* ------------------------------------------------------------- the file --- */

/* What is not in force can harm nobody. */
static enum diag_level level_of_timeline(const struct loader *ld)
{
	return env_flag(ld->env, ENV_INJECT) ? DIAG_ERROR : DIAG_WARNING;
}

static void read_timeline(struct loader *ld, const struct node *n, struct fault *f)
{
	static const char prefix[] = "file:";
	const char *text = node_text(n);
	struct timeline t;
	char buf[512];
	struct fmt why;

	if (!text) {
		node_wrong_type(n, "a text in quotes");
		return;
	}
	if (strncmp(text, prefix, strlen(prefix)) != 0) {
		node_fault(n, DIAG_ERROR, "unknown (file:PATH)");
		return;
	}
	text += strlen(prefix);
	if (*text != '/') {
		node_fault(n, DIAG_ERROR, "needs an absolute path (file:/etc/libretry/outages)");
		return;
	}
	/* Without the variable no fault strikes: the file need not even be there. */
	if (!env_flag(ld->env, ENV_INJECT) && !ld->env->wants_all)
		return;
	fmt_init(&why, buf, sizeof(buf));
	if (timeline_load(&t, text, ld->r.keep, ld->r.scratch, &why)) {
		f->timeline = t.list;
		f->timeline_count = t.count;
		return;
	}
	fmt_end(&why);
	node_fault(n, level_of_timeline(ld), "%s", buf);
}

static void read_custom(void *ctx, const struct node *n, const struct key *k, void *target)
{
	struct fault *f = target;

	if (strcmp(k->name, "timeline") == 0)
		read_timeline(ctx, n, f);
	else
		cond_read(n, k, &f->match);
}

static void check_error(const struct node *n, struct fault *f, bool has_call)
{
	struct node error;
	const char *why;

	if (!node_member(n, "error", &error) || !node_text(&error))
		return;
	if (!err_parse(node_text(&error), &f->error))
		node_fault(&error, DIAG_ERROR, "unknown (such as ECONNREFUSED or EAI_AGAIN)");
	else if (has_call && !inject_possible(f->op, f->error, &why))
		node_fault(&error, DIAG_ERROR, "%s", why);
	else if (f->reset)
		node_fault(&error, DIAG_ERROR,
		           "a reset has an error of its own (leave one of the two out)");
	else if (f->short_write)
		node_fault(&error, DIAG_ERROR,
		           "nothing is sent then (leave out error or short_write)");
}

static void check_times(const struct node *n, const struct fault *f)
{
	const struct outage *o = &f->outage;
	struct node outage;

	if (!node_member(n, "outage", &outage))
		return;
	if (o->min > 0 && o->max > 0 && o->min > o->max)
		node_say(&outage, DIAG_ERROR, "min is more than max");
	else if (o->mean_gap == 0 || o->max == 0)
		node_say(&outage, DIAG_ERROR, "%s is missing (mean_gap, min, max)",
		         o->mean_gap == 0 ? "mean_gap" : "max");
	if (f->timeline)
		node_say(&outage, DIAG_ERROR, "not with timeline (leave one of the two out)");
}

static bool has(const struct node *n, const char *name, struct node *member)
{
	return node_member(n, name, member);
}

static void check_fault(const struct node *n, struct fault *f)
{
	struct node call, other;
	bool has_call = has(n, "call", &call);

	if (!has_call)
		node_say(n, DIAG_ERROR, "call is missing (connect, getaddrinfo, send)");
	if (has_call && f->op != OP_SEND && has(n, "short_write", &other))
		node_fault(&other, DIAG_ERROR, "only send can be cut short (call = \"send\")");
	if (has_call && f->op == OP_LOOKUP && f->reset && has(n, "reset", &other))
		node_fault(&other, DIAG_ERROR,
		           "only a connection can be reset (call = \"connect\" or \"send\")");
	if (has_call && f->op == OP_LOOKUP && (has(n, "addr", &other) || has(n, "unix", &other)))
		node_say(&other, DIAG_WARNING, "can never match: a look-up has no address yet");
	if (!has(n, "error", &other) && !f->delay && !f->delay_jitter && !f->short_write &&
	    !f->reset)
		node_say(n, DIAG_ERROR, "does nothing (error, delay, short_write or reset)");
	check_error(n, f, has_call);
	check_times(n, f);
}

/* What is well-formed and never happens. */
static void check_strikes(const struct node *n, const struct fault *f)
{
	if (f->probability == 0)
		node_say(n, DIAG_WARNING, "never strikes: probability is 0");
	else if (f->first > 0 && f->every > f->first)
		node_say(n, DIAG_WARNING, "never strikes: first is %u, and every %u",
		         f->first, f->every);
	else if (f->match.never)
		node_say(n, DIAG_UNKNOWN, "strikes nothing: an unknown key may have been a "
		                          "condition");
	else if (cond_excluded(&f->match))
		node_say(n, DIAG_WARNING, "can never match: a Unix socket has no host, address, "
		                          "port or other protocol");
	else if (f->match.proto == PROTO_UDP && (f->reset || f->short_write))
		node_say(n, DIAG_WARNING,
		         "never strikes: datagrams are neither reset nor cut short");
}

static void read_one(struct loader *ld, const struct node *n)
{
	struct fault *f = &ld->faults[ld->fault_count];
	unsigned unknown = ld->sink.count[DIAG_UNKNOWN];

	memset(f, 0, sizeof(*f));
	f->source = f->match.source = node_source(n);
	f->probability = PPM;
	ld->fault_count++;
	if (group_read(n, PLACE_FAULT, f, read_custom, ld))
		check_fault(n, f);
	f->match.never = ld->sink.count[DIAG_UNKNOWN] > unknown;
	check_strikes(n, f);
}

static void read_faults(void *ctx, const struct node *n, const struct key *k, void *target)
{
	struct loader *ld = ctx;
	const struct load_limit limit = { &ld->fault_count, INJECT_FAULTS_MAX, "faults" };

	(void)k;
	(void)target;
	ld->faults = arena_array(ld->r.keep, INJECT_FAULTS_MAX, sizeof(*ld->faults));
	if (ld->faults)
		load_list(ld, n, &limit, read_one);
}

void inject_read(struct loader *ld, const struct node *n)
{
	struct inject_set *set = &ld->out->inject;

	group_read(n, PLACE_INJECT, set, read_faults, ld);
	set->seeded = set->seed != 0;
	set->faults = ld->faults;
	set->count = ld->fault_count;
}

/* ------------------------------------------------------ the environment --- */

/* Takes the part of *<text> before one of <ends>, and that; false behind the
 * last. A part that is too long is cut, and then unknown. */
static bool take_part(const char **text, const char *ends, char *part, size_t size)
{
	size_t len;
	struct fmt f;

	if (!*text)
		return false;
	len = strcspn(*text, ends);
	fmt_init(&f, part, size);
	fmt_mem(&f, *text, len);
	fmt_end(&f);
	*text = (*text)[len] ? *text + len + 1 : NULL;
	return true;
}

/* "30%", or as in a file: 0.3. */
static bool set_probability(struct fault *f, char *value, struct fmt *why)
{
	static const struct key percent = {
		.kind = KIND_RATIO, .low = 0, .high = 100 * PPM
	};
	size_t len = strlen(value);
	bool in_percent = len > 0 && value[len - 1] == '%';

	if (in_percent)
		value[len - 1] = '\0';
	if (!value_from_text(in_percent ? &percent : key_find(PLACE_FAULT, "probability"), value,
	                     &f->probability, why))
		return false;
	if (in_percent)
		f->probability /= 100;
	return true;
}

static bool set_value(struct fault *f, const char *name, char *value, struct fmt *why)
{
	static const char *const names[] = { "probability", "first",        "every",      "after",
		                             "delay",       "delay_jitter", "short_write" };
	struct nearest near = nearest_to(name);
	const struct key *k;
	int64_t number;

	if (strcmp(name, "probability") == 0)
		return set_probability(f, value, why);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		nearest_offer(&near, names[i]);
		if (strcmp(names[i], name) != 0)
			continue;
		k = key_find(PLACE_FAULT, name);
		if (!value_from_text(k, value, &number, why))
			return false;
		key_store(k, f, number, NULL);
		return true;
	}
	fmt_str(why, "unknown (probability, first, every, after, delay, delay_jitter, "
	             "short_write)");
	nearest_say(why, &near);
	return false;
}

/* A part behind the call: an error's name, "reset", or "name=value". */
static bool set_part(struct fault *f, char *part, struct fmt *why)
{
	char *equals = strchr(part, '=');

	if (equals) {
		*equals = '\0';
		diag_format(why, "%s: ", part);
		return set_value(f, part, equals + 1, why);
	}
	if (strcmp(part, "reset") == 0) {
		f->reset = true;
		return true;
	}
	diag_format(why, "%s: ", part);
	if (f->error.code && err_parse(part, &f->error)) {
		fmt_str(why, "a second error (one for each fault)");
		return false;
	}
	if (err_parse(part, &f->error))
		return true;
	fmt_str(why, "unknown (an error such as ECONNREFUSED, reset, or name=value)");
	return false;
}

static bool check_short(const struct fault *f, struct fmt *why)
{
	const char *impossible = NULL;

	if (f->error.code && !inject_possible(f->op, f->error, &impossible))
		diag_format(why, "%s: %s", err_name(f->error), impossible);
	else if (f->short_write && f->op != OP_SEND)
		fmt_str(why, "short_write: only send can be cut short");
	else if (f->reset && f->op == OP_LOOKUP)
		fmt_str(why, "reset: only connect and send can be reset");
	else if ((f->reset || f->short_write) && f->error.code)
		fmt_str(why, "an error excludes reset and short_write");
	else if (!f->error.code && !f->delay && !f->delay_jitter && !f->short_write && !f->reset)
		fmt_str(why, "does nothing (such as connect:ECONNREFUSED:first=3)");
	else
		return true;
	return false;
}

/* "connect:ECONNREFUSED:first=3" */
static bool parse_one(const char *text, struct fault *f, struct fmt *why)
{
	char part[64];
	int64_t call;

	memset(f, 0, sizeof(*f));
	f->probability = PPM;
	take_part(&text, ":", part, sizeof(part));
	diag_format(why, "%s: ", part);
	if (!value_from_text(key_find(PLACE_FAULT, "call"), part, &call, why))
		return false;
	f->op = (enum op)call;
	for (why->len = 0; take_part(&text, ":", part, sizeof(part)); why->len = 0)
		if (!set_part(f, part, why))
			return false;
	return check_short(f, why);
}

bool inject_parse(const char *text, struct fault *faults, unsigned *count, struct fmt *why)
{
	char one[256];
	struct fault spare;

	*count = 0;
	while (take_part(&text, ",;", one, sizeof(one))) {
		const char *start = one + strspn(one, " \t");
		struct fault *f = faults ? &faults[*count] : &spare;

		/* One comma too many at the end harms nobody. */
		if (!*start && !text && *count > 0)
			break;
		if (!*start) {
			fmt_str(why, "has an empty word");
			return false;
		}
		if (*count == INJECT_FAULTS_MAX) {
			diag_format(why, "too many faults (at most %u)", INJECT_FAULTS_MAX);
			return false;
		}
		if (!parse_one(start, f, why))
			return false;
		f->source = (struct source){ env_name(ENV_INJECT), ++*count };
	}
	return true;
}

/* LIBRETRY_SEED=42 is seed = 42; anything else is a seed, too. */
static uint64_t seed_from(const char *text)
{
	char buf[64];
	struct fmt nobody;
	int64_t number;

	fmt_init(&nobody, buf, sizeof(buf));
	if (value_from_text(key_find(PLACE_INJECT, "seed"), text, &number, &nobody))
		return (uint64_t)number;
	return hash_bytes(text, strlen(text), 0);
}

static bool is_off(const char *text)
{
	static const char *const no[] = { "0", "no", "false", "off" };

	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		if (strcmp(no[i], text) == 0)
			return true;
	return false;
}

/* The variable's own faults, instead of the file's. */
static void use_variable(struct loader *ld, const char *text)
{
	struct inject_set *set = &ld->out->inject;
	struct fault *faults = arena_array(ld->r.keep, INJECT_FAULTS_MAX, sizeof(*faults));
	unsigned count;
	char buf[512];
	struct fmt why;

	fmt_init(&why, buf, sizeof(buf));
	set->enabled = false;
	if (!faults)
		return;
	if (!inject_parse(text, faults, &count, &why)) {
		fmt_end(&why);
		diag_say(&ld->sink, DIAG_WARNING, (struct source){ NULL, 0 }, "%s: %q: %s",
		         env_name(ENV_INJECT), text, buf);
		return;
	}
	set->enabled = true;
	set->faults = faults;
	set->count = count;
}

bool config_inject(const char *text, struct fmt *why)
{
	unsigned count;

	return env_is_true(text) || is_off(text) || inject_parse(text, NULL, &count, why);
}

bool inject_well_formed(const struct env *env)
{
	const char *text = env_get(env, ENV_INJECT);
	char buf[512];
	struct fmt nobody;

	fmt_init(&nobody, buf, sizeof(buf));
	return text && config_inject(text, &nobody);
}

void inject_apply(struct loader *ld)
{
	struct inject_set *set = &ld->out->inject;
	const char *text = env_get(ld->env, ENV_INJECT);
	const char *seed = env_get(ld->env, ENV_SEED);

	if (seed) {
		set->seeded = true;
		set->seed = seed_from(seed);
	}
	if (!text || is_off(text))
		set->enabled = false;
	else if (!env_flag(ld->env, ENV_INJECT))
		use_variable(ld, text);
}
