/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/out.h"

static void __attribute__((format(printf, 2, 0)))
say(const char *kind, const char *format, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, args);
	out_printable(text);
	fprintf(stderr, "libretry: %s%s\n", kind, text);
}

void cli_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("", format, args);
	va_end(args);
}

void cli_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("warning: ", format, args);
	va_end(args);
}

bool cli_absolute(const char *path, char *out, size_t size)
{
	size_t used = 0;
	size_t len = strlen(path);

	if (path[0] != '/') {
		if (!getcwd(out, size))
			return false;
		used = strlen(out);
		while (path[0] == '.' && path[1] == '/') {
			path += 2;
			len -= 2;
		}
		if (used + 1 >= size) {
			errno = ENAMETOOLONG;
			return false;
		}
		if (out[used - 1] != '/')
			out[used++] = '/';
	}
	if (len >= size - used) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(out + used, path, len + 1);
	return true;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), part = strlen(end);

	return len >= part && strcmp(text + len - part, end) == 0;
}

bool cli_is_compressed(const char *path)
{
	return ends_with(path, ".gz") || ends_with(path, ".xz") || ends_with(path, ".zst");
}

int cli_finish(int status, int failed)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	cli_say("standard output: %s", strerror(errno));
	return failed;
}
