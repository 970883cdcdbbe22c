/* SPDX-License-Identifier: MIT */
#include "cli/need.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"

void *need(void *memory)
{
	if (!memory) {
		cli_say("out of memory");
		exit(EXIT_DOCTOR_UNKNOWN);
	}
	return memory;
}

char *need_text(const char *format, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return need(text);
}
