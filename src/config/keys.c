/* SPDX-License-Identifier: MIT */
#include "config/keys.h"

#include <string.h>

#include "base/compat.h"

#define MEMBER_SIZE(type, member) sizeof(((struct type *)NULL)->member)

static const struct key table[] = {
#define K(where, word, what, type, member, least, most, words, text, bits) \
	{ .place = PLACE_##where, .name = #word, .kind = KIND_##what, \
	  .offset = offsetof(struct type, member), .size = MEMBER_SIZE(type, member), \
	  .low = (least), .high = (most), .choices = (words), .fallback = text, \
	  .flags = (bits) },
#define G(where, word, what, text, bits) \
	{ .place = PLACE_##where, .name = #word, .kind = KIND_##what, .fallback = text, \
	  .flags = (bits) },
	KEY_TABLE(K, G)
#undef K
#undef G
};

/* An array that is filled to its end would have no end. */
#define FITS(member, text) \
	_Static_assert(sizeof(text) <= MEMBER_SIZE(key, member), "too long: " text);
#define K(where, word, what, type, member, least, most, words, text, bits) \
	FITS(name, #word) FITS(fallback, text)
#define G(where, word, what, text, bits) FITS(name, #word) FITS(fallback, text)
KEY_TABLE(K, G)
#undef K
#undef G

static const struct choice list_jitter[] = {
	{ "full", JITTER_FULL },
	{ "equal", JITTER_EQUAL },
	{ "proportional", JITTER_PROPORTIONAL },
	{ "additive", JITTER_ADDITIVE },
	{ "decorrelated", JITTER_DECORRELATED },
	{ "none", JITTER_NONE },
	{ "", 0 },
};
static const struct choice list_cap[] = { { "hard", CAP_HARD }, { "soft", CAP_SOFT }, { "", 0 } };
static const struct choice list_first[] = { { "wait", 0 }, { "immediate", 1 }, { "", 0 } };
static const struct choice list_send[] = {
	{ "off", SEND_OFF },
	{ "safe", SEND_SAFE },
	{ "first-write", SEND_FIRST_WRITE },
	{ "", 0 },
};
static const struct choice list_nonblocking[] = {
	{ "deferred", NONBLOCKING_DEFERRED },
	{ "observe", NONBLOCKING_OBSERVE },
	{ "block", NONBLOCKING_BLOCK },
	{ "", 0 },
};
static const struct choice list_budget[] = {
	{ "ratio", BUDGET_RATIO },
	{ "tokens", BUDGET_TOKENS },
	{ "none", BUDGET_NONE },
	{ "", 0 },
};
static const struct choice list_scope[] = {
	{ "process", SCOPE_PROCESS },
	{ "user", SCOPE_USER },
	{ "host", SCOPE_HOST },
	{ "", 0 },
};
static const struct choice list_layering[] = {
	{ "detect", LAYERING_DETECT },
	{ "yield", LAYERING_YIELD },
	{ "ignore", LAYERING_IGNORE },
	{ "", 0 },
};
static const struct choice list_walk[] = {
	{ "detect", WALK_DETECT },
	{ "each", WALK_EACH },
	{ "off", WALK_OFF },
	{ "", 0 },
};
static const struct choice list_proto[] = {
	{ "tcp", PROTO_TCP },
	{ "udp", PROTO_UDP },
	{ "unix", PROTO_UNIX },
	{ "", 0 },
};
static const struct choice list_mode[] = {
	{ "retry", MODE_RETRY },
	{ "observe", MODE_OBSERVE },
	{ "", 0 },
};
static const struct choice list_reload[] = { { "on-failure", 1 }, { "never", 0 }, { "", 0 } };
static const struct choice list_deepbind[] = { { "keep", 0 }, { "clear", 1 }, { "", 0 } };
static const struct choice list_level[] = {
	{ "error", LOG_ERROR_LEVEL },
	{ "warn", LOG_WARN_LEVEL },
	{ "info", LOG_INFO_LEVEL },
	{ "debug", LOG_DEBUG_LEVEL },
	{ "", 0 },
};
static const struct choice list_format[] = {
	{ "text", LOG_TEXT },
	{ "logfmt", LOG_LOGFMT },
	{ "json", LOG_JSON },
	{ "", 0 },
};
static const struct choice list_stats[] = { { "prometheus", 0 }, { "json", 1 }, { "", 0 } };
static const struct choice list_call[] = {
	{ "connect", OP_CONNECT },
	{ "getaddrinfo", OP_LOOKUP },
	{ "send", OP_SEND },
	{ "", 0 },
};

const struct choice *key_choices(const struct key *k)
{
	switch (k->choices) {
	case choices_jitter:
		return list_jitter;
	case choices_cap:
		return list_cap;
	case choices_first:
		return list_first;
	case choices_send:
		return list_send;
	case choices_nonblocking:
		return list_nonblocking;
	case choices_budget:
		return list_budget;
	case choices_scope:
		return list_scope;
	case choices_layering:
		return list_layering;
	case choices_walk:
		return list_walk;
	case choices_proto:
		return list_proto;
	case choices_mode:
		return list_mode;
	case choices_reload:
		return list_reload;
	case choices_deepbind:
		return list_deepbind;
	case choices_level:
		return list_level;
	case choices_format:
		return list_format;
	case choices_stats:
		return list_stats;
	case choices_call:
		return list_call;
	case choices_none:
		break;
	}
	return NULL;
}

const struct key *key_at(unsigned index)
{
	return index < ARRAY_LEN(table) ? &table[index] : NULL;
}

const struct key *key_find(enum place place, const char *name)
{
	for (unsigned i = 0; i < ARRAY_LEN(table); i++)
		if (table[i].place == place && strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

void key_store(const struct key *k, void *target, int64_t number, const char *text)
{
	char *member = (char *)target + k->offset;

	if (k->size == 0)
		return;
	if (k->kind == KIND_TEXT) {
		memcpy(member, &text, sizeof(text));
	} else if (k->size == sizeof(int64_t)) {
		memcpy(member, &number, sizeof(number));
	} else if (k->size == sizeof(uint32_t)) {
		uint32_t word = (uint32_t)number;

		memcpy(member, &word, sizeof(word));
	} else {
		bool flag = number != 0;

		memcpy(member, &flag, sizeof(flag));
	}
}
