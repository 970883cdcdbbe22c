/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/compat.h"
#include "config/node.h"

static void say_choices(struct fmt *f, const struct choice *c)
{
	for (const char *comma = ""; *c->word; c++, comma = ", ")
		diag_format(f, "%s%s", comma, c->word);
}

static bool choice_from_text(const struct choice *choices, const char *text, int64_t *number,
                             struct fmt *why)
{
	struct nearest near = nearest_to(text);

	for (const struct choice *c = choices; *c->word; c++) {
		if (strcmp(c->word, text) == 0) {
			*number = c->value;
			return true;
		}
		nearest_offer(&near, c->word);
	}
	fmt_str(why, "unknown (");
	say_choices(why, choices);
	fmt_char(why, ')');
	nearest_say(why, &near);
	return false;
}

/* The range of a key as people write it. */
static void say_limit(struct fmt *f, const struct key *k, int64_t limit)
{
	if (k->kind == KIND_DURATION)
		fmt_dur_exact(f, limit);
	else if (k->kind == KIND_RATIO)
		fmt_ppm(f, limit);
	else if (k->kind == KIND_SIZE && limit > 0 && limit % 1024 == 0)
		diag_format(f, limit % 1048576 == 0 ? "%iMiB" : "%iKiB",
		            limit / (limit % 1048576 == 0 ? 1048576 : 1024));
	else
		fmt_i64(f, limit);
}

static bool in_range(const struct key *k, int64_t number, struct fmt *why)
{
	if (number >= k->low && number <= k->high)
		return true;
	fmt_str(why, number < k->low ? "too small (" : "too large (");
	say_limit(why, k, k->low);
	fmt_str(why, " to ");
	say_limit(why, k, k->high);
	if (k->flags & (KEY_NONE | KEY_OFF))
		fmt_str(why, ", or \"none\"");
	fmt_char(why, ')');
	return false;
}

static bool duration_in_range(const struct key *k, int64_t ns, struct fmt *why)
{
	if (ns == 0 && k->flags & (KEY_OFF | KEY_ZERO))
		return true;
	if (ns == 0) {
		fmt_str(why, "must be more than 0");
		return false;
	}
	if (!in_range(k, ns, why))
		return false;
	if (k->flags & KEY_SECONDS && ns % DUR_S != 0) {
		fmt_str(why, "is not a whole number of seconds");
		return false;
	}
	return true;
}

static bool duration_from_text(const struct key *k, const char *text, int64_t *number,
                               struct fmt *why)
{
	enum dur_status status;
	int64_t ns;

	if (k->flags & (KEY_NONE | KEY_OFF) && strcmp(text, "none") == 0) {
		*number = k->flags & KEY_NONE ? DUR_NONE : 0;
		return true;
	}
	status = dur_parse(text, &ns);
	if (status == DUR_OK && duration_in_range(k, ns, why)) {
		*number = ns;
		return true;
	}
	if (status == DUR_OK)
		return false;
	fmt_str(why, dur_status_text(status));
	if (status == DUR_NO_UNIT)
		diag_format(why, " (write \"%sms\" or \"%ss\")", text, text);
	else if (status == DUR_TOO_SMALL || status == DUR_TOO_LARGE)
		fmt_str(why, " (1us to 24h)");
	else
		fmt_str(why, k->flags & (KEY_NONE | KEY_OFF)
		                 ? " (a duration such as \"100ms\", \"2s\", \"5m\", or \"none\")"
		                 : " (a duration such as \"100ms\", \"2s\", \"5m\")");
	return false;
}

/* Digits at *<s>, at most 15 of them; false if there are none. */
static bool digits(const char **s, int64_t *value)
{
	unsigned n = 0;

	for (*value = 0; **s >= '0' && **s <= '9'; ++*s)
		if (n++ < 15)
			*value = *value * 10 + (**s - '0');
	return n > 0 && n <= 15;
}

/* Both digit runs may be absent only together with what follows them. */
static bool ratio_from_text(const char *text, int64_t *ppm)
{
	int64_t whole, part = 0, scale = PPM;

	if (!digits(&text, &whole) || whole > INT64_MAX / PPM / 10)
		return false;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9' && scale > 1; text++)
			part += (*text - '0') * (scale /= 10);
	while (*text >= '0' && *text <= '9' && scale == 1)
		text++;
	*ppm = whole * PPM + part;
	return *text == '\0';
}

static bool size_from_text(const char *text, int64_t *bytes)
{
	static const struct {
		const char *unit;
		int64_t bytes;
	} units[] = { { "", 1 }, { "B", 1 }, { "KiB", 1024 }, { "MiB", 1024 * 1024 } };

	if (!digits(&text, bytes))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strcmp(text, units[i].unit) == 0)
			return !__builtin_mul_overflow(*bytes, units[i].bytes, bytes);
	return false;
}

bool value_from_text(const struct key *k, const char *text, int64_t *number,
                     struct fmt *why)
{
	const char *end = text;

	switch (k->kind) {
	case KIND_DURATION:
		return duration_from_text(k, text, number, why);
	case KIND_CHOICE:
		return choice_from_text(key_choices(k), text, number, why);
	case KIND_RATIO:
		if (ratio_from_text(text, number))
			return in_range(k, *number, why);
		fmt_str(why, "is not a number (such as 0.5)");
		return false;
	case KIND_COUNT:
		if (digits(&end, number) && !*end)
			return in_range(k, *number, why);
		fmt_str(why, "is not a whole number");
		return false;
	case KIND_SIZE:
		if (size_from_text(text, number))
			return in_range(k, *number, why);
		fmt_str(why, "is not a size (such as \"64KiB\", \"1MiB\")");
		return false;
	case KIND_BOOL:
		*number = strcmp(text, "true") == 0;
		if (*number || strcmp(text, "false") == 0)
			return true;
		fmt_str(why, "unknown (true, false)");
		return false;
	default:
		*number = 0;
		return true;
	}
}

/* A number of any type as the key counts it: ppm or units. */
static bool number_of(const struct node *n, const struct key *k, int64_t *number)
{
	int64_t unit = k->kind == KIND_RATIO ? PPM : 1;
	double value;

	switch (config_setting_type(n->s)) {
	case CONFIG_TYPE_INT:
		*number = n->r->lc->config_setting_get_int(n->s) * unit;
		return true;
	case CONFIG_TYPE_INT64:
		if (__builtin_mul_overflow((int64_t)n->r->lc->config_setting_get_int64(n->s), unit,
		                           number))
			*number = n->r->lc->config_setting_get_int64(n->s) < 0 ? INT64_MIN
			                                                       : INT64_MAX;
		return true;
	case CONFIG_TYPE_FLOAT:
		if (k->kind != KIND_RATIO)
			return false;
		value = n->r->lc->config_setting_get_float(n->s);
		if (value > -1e9 && value < 1e9)
			*number = (int64_t)(value * (double)PPM + (value < 0 ? -0.5 : 0.5));
		else
			*number = value < 0 ? INT64_MIN : INT64_MAX;
		return true;
	default:
		return false;
	}
}

/* A duration without quotes. */
static bool bare_duration(const struct node *n, const struct key *k, int64_t *number)
{
	char buf[64];
	struct fmt f;

	fmt_init(&f, buf, sizeof(buf));
	node_value(&f, n);
	fmt_end(&f);
	if (strcmp(buf, "0") == 0 && k->flags & (KEY_OFF | KEY_ZERO)) {
		*number = 0;
		return true;
	}
	node_fault(n, DIAG_ERROR, "has no unit (write \"%sms\" or \"%ss\")", buf, buf);
	return false;
}

static bool checked_text(const struct node *n, const struct key *k, const char *text,
                         int64_t *number)
{
	char buf[512];
	struct fmt why;

	fmt_init(&why, buf, sizeof(buf));
	if (value_from_text(k, text, number, &why))
		return true;
	fmt_end(&why);
	node_fault(n, DIAG_ERROR, "%s", buf);
	return false;
}

static const char *expected(const struct key *k)
{
	switch (k->kind) {
	case KIND_DURATION:
		return "a duration in quotes, such as \"100ms\",";
	case KIND_RATIO:
		return "a number without quotes";
	case KIND_COUNT:
		return "a whole number without quotes";
	case KIND_SIZE:
		return "a size in quotes, such as \"64KiB\",";
	case KIND_BOOL:
		return "true or false without quotes";
	case KIND_CHOICE:
		return "a word in quotes";
	default:
		return "a text in quotes";
	}
}

bool value_from_node(const struct node *n, const struct key *k, int64_t *number,
                     const char **text)
{
	bool is_number = config_setting_is_number(n->s);
	char buf[256];
	struct fmt why;

	*number = 0;
	*text = node_text(n);
	if (k->kind == KIND_BOOL && config_setting_type(n->s) == CONFIG_TYPE_BOOL) {
		*number = n->r->lc->config_setting_get_bool(n->s);
		return true;
	}
	if (k->kind == KIND_DURATION && is_number)
		return bare_duration(n, k, number);
	if ((k->kind == KIND_RATIO || k->kind == KIND_COUNT || k->kind == KIND_SIZE) &&
	    number_of(n, k, number)) {
		fmt_init(&why, buf, sizeof(buf));
		if (in_range(k, *number, &why))
			return true;
		fmt_end(&why);
		node_fault(n, DIAG_ERROR, "%s", buf);
		return false;
	}
	if (*text && k->kind != KIND_RATIO && k->kind != KIND_COUNT && k->kind != KIND_BOOL)
		return checked_text(n, k, *text, number);
	node_wrong_type(n, expected(k));
	return false;
}
