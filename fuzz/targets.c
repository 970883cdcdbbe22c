/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

#include <string.h>

const struct fuzz_target fuzz_targets[] = {
	{ "addr", fuzz_addr },
	{ "conf", fuzz_conf },
	{ "duration", fuzz_duration },
	{ "env", fuzz_env },
	{ "logline", fuzz_logline },
	{ "match", fuzz_match },
	{ "timeline", fuzz_timeline },
	{ NULL, NULL },
};

/* libconfig forgets the string that it was reading when it meets a syntax error;
 * nothing that we could do frees it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig.so\n";
}

const struct fuzz_target *fuzz_find(const char *name)
{
	for (const struct fuzz_target *t = fuzz_targets; t->name; t++)
		if (strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_CHECK(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}
