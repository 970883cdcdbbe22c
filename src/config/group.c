/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/compat.h"
#include "config/node.h"

/* The keys that may stand in <place>, as "a, b, c". */
static void say_keys(struct fmt *f, enum place place)
{
	const struct key *k;
	const char *comma = "";

	for (unsigned i = 0; (k = key_at(i)) != NULL; i++) {
		if (k->place != place)
			continue;
		diag_format(f, "%s%s", comma, k->name);
		comma = ", ";
	}
}

static void unknown_key(const struct node *n, enum place place)
{
	struct nearest near = nearest_to(n->key);
	char buf[768];
	struct fmt f;
	const struct key *k;

	for (unsigned i = 0; (k = key_at(i)) != NULL; i++)
		if (k->place == place)
			nearest_offer(&near, k->name);
	fmt_init(&f, buf, sizeof(buf));
	if (near.best) {
		nearest_say(&f, &near);
	} else {
		fmt_str(&f, " (");
		say_keys(&f, place);
		fmt_char(&f, ')');
	}
	fmt_end(&f);
	node_say(n, DIAG_UNKNOWN, "unknown key%s", buf);
}

static enum place place_inside(const struct key *k)
{
	static const struct {
		const char *name;
		enum place place;
	} inside[] = {
		{ "budget", PLACE_BUDGET },
		{ "breaker", PLACE_BREAKER },
		{ "socket", PLACE_SOCKET },
		{ "outage", PLACE_OUTAGE },
	};

	for (size_t i = 0; i < ARRAY_LEN(inside); i++)
		if (strcmp(inside[i].name, k->name) == 0)
			return inside[i].place;
	return k->place;
}

static void read_plain(const struct node *n, const struct key *k, void *target)
{
	const char *text;
	int64_t number;

	if (!value_from_node(n, k, &number, &text))
		return;
	if (k->kind == KIND_TEXT)
		text = arena_text(n->r->keep, text, strlen(text));
	key_store(k, target, number, text);
}

bool group_read(const struct node *group, enum place place, void *target,
                custom_fn *custom, void *ctx)
{
	const struct diag_sink *sink = group->r->sink;
	unsigned before = sink->count[DIAG_ERROR] + sink->hushed;

	if (!node_is_group(group)) {
		node_wrong_type(group, "a group { }");
		return false;
	}
	for (unsigned i = 0; i < node_count(group); i++) {
		struct node n = node_at(group, i);
		const struct key *k = key_find(place, n.key);

		if (node_is_passed_over(&n))
			continue;
		if (!k)
			unknown_key(&n, place);
		else if (k->kind == KIND_GROUP)
			group_read(&n, place_inside(k), target, custom, ctx);
		else if (k->kind != KIND_CUSTOM)
			read_plain(&n, k, target);
		else if (custom)
			custom(ctx, &n, k, target);
	}
	return sink->count[DIAG_ERROR] + sink->hushed == before;
}
