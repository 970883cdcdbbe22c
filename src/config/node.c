/* SPDX-License-Identifier: MIT */
#include "config/node.h"

#include <string.h>

#include "config/scan.h"

#define NODE_DEPTH_MAX (SCAN_DEPTH_MAX + 1)

struct node node_root(const struct reading *r, const struct parsed *file)
{
	return (struct node){ .r = r, .file = file, .s = config_root_setting(&file->tree) };
}

unsigned node_count(const struct node *n)
{
	int count = config_setting_is_aggregate(n->s) ? n->r->lc->config_setting_length(n->s) : 0;

	return count > 0 ? (unsigned)count : 0;
}

struct node node_at(const struct node *n, unsigned index)
{
	config_setting_t *s = n->r->lc->config_setting_get_elem(n->s, index);

	return (struct node){ n->r, n->file, n, node_is_group(n) ? config_setting_name(s) : NULL,
		              index, s };
}

bool node_member(const struct node *n, const char *name, struct node *member)
{
	config_setting_t *s = NULL;

	if (node_is_group(n))
		s = n->r->lc->config_setting_get_member(n->s, name);
	if (!s)
		return false;
	*member = (struct node){ n->r, n->file, n, config_setting_name(s), 0, s };
	return true;
}

bool node_is_group(const struct node *n)
{
	return config_setting_is_group(n->s);
}

bool node_is_list(const struct node *n)
{
	return config_setting_is_list(n->s) || config_setting_is_array(n->s);
}

const char *node_text(const struct node *n)
{
	if (config_setting_type(n->s) != CONFIG_TYPE_STRING)
		return NULL;
	return n->r->lc->config_setting_get_string(n->s);
}

bool node_is_passed_over(const struct node *n)
{
	char path[256];
	struct fmt f;

	if (!n->key || *n->key != '*')
		return false;
	fmt_init(&f, path, sizeof(path));
	node_path(&f, n);
	fmt_end(&f);
	return text_noted(n->file->text.faulty, n->file->text.faulty_count, path);
}

struct source node_source(const struct node *n)
{
	return text_source(&n->file->text, config_setting_source_line(n->s));
}

void node_path(struct fmt *f, const struct node *n)
{
	const struct node *way[NODE_DEPTH_MAX];
	unsigned depth = 0;

	for (; n && n->up && depth < NODE_DEPTH_MAX; n = n->up)
		way[depth++] = n;
	for (unsigned i = depth; i-- > 0;) {
		if (way[i]->key)
			diag_format(f, i + 1 < depth ? ".%s" : "%s", way[i]->key);
		else
			diag_format(f, "[%u]", way[i]->index);
	}
}

static void value_float(struct fmt *f, double value)
{
	int64_t ppm;

	/* What does not fit as ppm is out of any range here. */
	if (!(value > -1e12 && value < 1e12)) {
		fmt_str(f, "a huge number");
		return;
	}
	ppm = (int64_t)(value * 1e6 + (value < 0 ? -0.5 : 0.5));
	fmt_ppm(f, ppm);
	if (ppm % PPM == 0)
		fmt_str(f, ".0");
}

void node_value(struct fmt *f, const struct node *n)
{
	const struct lcapi *lc = n->r->lc;

	switch (config_setting_type(n->s)) {
	case CONFIG_TYPE_INT:
		fmt_i64(f, lc->config_setting_get_int(n->s));
		break;
	case CONFIG_TYPE_INT64:
		fmt_i64(f, lc->config_setting_get_int64(n->s));
		break;
	case CONFIG_TYPE_FLOAT:
		value_float(f, lc->config_setting_get_float(n->s));
		break;
	case CONFIG_TYPE_BOOL:
		fmt_str(f, lc->config_setting_get_bool(n->s) ? "true" : "false");
		break;
	case CONFIG_TYPE_STRING:
		diag_format(f, "%q", lc->config_setting_get_string(n->s));
		break;
	case CONFIG_TYPE_GROUP:
		fmt_str(f, "{...}");
		break;
	default:
		fmt_str(f, "(...)");
	}
}

/* Reports "path: [value: ]what", unless the path's fault is known already. */
static void tell(const struct node *n, enum diag_level level, bool value,
                 const char *format, va_list args)
{
	char buf[DIAG_TEXT_MAX];
	struct fmt f;

	fmt_init(&f, buf, sizeof(buf));
	node_path(&f, n);
	fmt_end(&f);
	if (text_noted(n->file->text.faulty, n->file->text.faulty_count, buf)) {
		n->r->sink->hushed++;
		return;
	}
	if (n->up)
		fmt_str(&f, ": ");
	if (value) {
		node_value(&f, n);
		fmt_str(&f, ": ");
	}
	diag_vformat(&f, format, args);
	diag_send(n->r->sink, level, node_source(n), &f);
}

void node_say(const struct node *n, enum diag_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(n, level, false, format, args);
	va_end(args);
}

void node_fault(const struct node *n, enum diag_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(n, level, true, format, args);
	va_end(args);
}

static const char *type_name(const struct node *n)
{
	switch (config_setting_type(n->s)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		return "a whole number";
	case CONFIG_TYPE_FLOAT:
		return "a number with a fraction";
	case CONFIG_TYPE_BOOL:
		return "true or false";
	case CONFIG_TYPE_STRING:
		return "a text";
	case CONFIG_TYPE_GROUP:
		return "a group { }";
	default:
		return "a list";
	}
}

void node_wrong_type(const struct node *n, const char *expected)
{
	node_fault(n, DIAG_ERROR, "is %s (%s is expected)", type_name(n), expected);
}
