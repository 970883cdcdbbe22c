/* SPDX-License-Identifier: MIT */
/* One line of the log, in each of its forms. */
#include <string.h>

#include "cli/logline.h"
#include "fuzz.h"

static void as(const char *s, size_t len, enum line_form form)
{
	struct log_line line;
	char *store = malloc(len + 1);

	FUZZ_CHECK(store);
	if (logline_parse(s, len, form, store, &line)) {
		/* Texts end. */
		size_t sum = strlen(line.dest) + strlen(line.addr) + strlen(line.to) +
		             strlen(line.error) + strlen(line.reason) + strlen(line.policy) +
		             strlen(line.rule) + strlen(line.message) + strlen(line.signal);

		FUZZ_CHECK(sum <= 9 * (len + 16));
	}
	free(store);
}

void fuzz_logline(const uint8_t *data, size_t size)
{
	char *s = malloc(size ? size : 1);

	FUZZ_CHECK(s);
	memcpy(s, data, size);
	/* A line has no newline in it, and the reader replaces NULs. */
	for (size_t i = 0; i < size; i++)
		if (s[i] == '\n' || s[i] == '\0')
			s[i] = ' ';
	logline_form(s, size, false);
	logline_form(s, size, true);
	for (enum line_form form = LINE_TEXT; form <= LINE_SYSLOG; form++)
		as(s, size, form);
	free(s);
}
