/* SPDX-License-Identifier: MIT */
#include "config/keys.h"

#include <string.h>

#include "base/compat.h"

#define MEMBER_SIZE(type, member) sizeof(((struct type *)NULL)->member)

static const struct key table[] = {
#define K(where, word, what, type, member, least, most, words, text, bits) \
	{ .place = PLACE_##where, .name = #word, .kind = KIND_##what, \
	  .offset = offsetof(struct type, member), .size = MEMBER_SIZE(type, member), \
	  .low = (least), .high = (most), .choices = (words), .fallback = (text), \
	  .flags = (bits) },
#define G(where, word, what, text, bits) \
	{ .place = PLACE_##where, .name = #word, .kind = KIND_##what, .fallback = (text), \
	  .flags = (bits) },
	KEY_TABLE(K, G)
#undef K
#undef G
};

const struct choice choices_jitter[] = {
	{ "full", JITTER_FULL },
	{ "equal", JITTER_EQUAL },
	{ "proportional", JITTER_PROPORTIONAL },
	{ "additive", JITTER_ADDITIVE },
	{ "decorrelated", JITTER_DECORRELATED },
	{ "none", JITTER_NONE },
	{ NULL, 0 },
};
const struct choice choices_cap[] = { { "hard", CAP_HARD }, { "soft", CAP_SOFT }, { NULL, 0 } };
const struct choice choices_first[] = { { "wait", 0 }, { "immediate", 1 }, { NULL, 0 } };
const struct choice choices_send[] = {
	{ "off", SEND_OFF },
	{ "safe", SEND_SAFE },
	{ "first-write", SEND_FIRST_WRITE },
	{ NULL, 0 },
};
const struct choice choices_nonblocking[] = {
	{ "deferred", NONBLOCKING_DEFERRED },
	{ "observe", NONBLOCKING_OBSERVE },
	{ "block", NONBLOCKING_BLOCK },
	{ NULL, 0 },
};
const struct choice choices_budget[] = {
	{ "ratio", BUDGET_RATIO },
	{ "tokens", BUDGET_TOKENS },
	{ "none", BUDGET_NONE },
	{ NULL, 0 },
};
const struct choice choices_scope[] = {
	{ "process", SCOPE_PROCESS },
	{ "user", SCOPE_USER },
	{ "host", SCOPE_HOST },
	{ NULL, 0 },
};
const struct choice choices_layering[] = {
	{ "detect", LAYERING_DETECT },
	{ "yield", LAYERING_YIELD },
	{ "ignore", LAYERING_IGNORE },
	{ NULL, 0 },
};
const struct choice choices_walk[] = {
	{ "detect", WALK_DETECT },
	{ "each", WALK_EACH },
	{ "off", WALK_OFF },
	{ NULL, 0 },
};
const struct choice choices_proto[] = {
	{ "tcp", PROTO_TCP },
	{ "udp", PROTO_UDP },
	{ "unix", PROTO_UNIX },
	{ NULL, 0 },
};
const struct choice choices_mode[] = {
	{ "retry", MODE_RETRY },
	{ "observe", MODE_OBSERVE },
	{ NULL, 0 },
};
const struct choice choices_reload[] = { { "on-failure", 1 }, { "never", 0 }, { NULL, 0 } };
const struct choice choices_deepbind[] = { { "keep", 0 }, { "clear", 1 }, { NULL, 0 } };
const struct choice choices_level[] = {
	{ "error", LOG_ERROR_LEVEL },
	{ "warn", LOG_WARN_LEVEL },
	{ "info", LOG_INFO_LEVEL },
	{ "debug", LOG_DEBUG_LEVEL },
	{ NULL, 0 },
};
const struct choice choices_format[] = {
	{ "text", LOG_TEXT },
	{ "logfmt", LOG_LOGFMT },
	{ "json", LOG_JSON },
	{ NULL, 0 },
};
const struct choice choices_stats[] = { { "prometheus", 0 }, { "json", 1 }, { NULL, 0 } };
const struct choice choices_call[] = {
	{ "connect", OP_CONNECT },
	{ "getaddrinfo", OP_LOOKUP },
	{ "send", OP_SEND },
	{ NULL, 0 },
};

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
