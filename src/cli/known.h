/* SPDX-License-Identifier: MIT */
/* known.h - programs and functions of which more is known than their file says. */
#ifndef LIBRETRY_CLI_KNOWN_H
#define LIBRETRY_CLI_KNOWN_H

#include "cli/findings.h"

struct known_program {
	const char *name; /* glob on the last part of the path */
	enum finding_code code;
	const char *detail;
	/* Libraries that it will load, from its folder, a blank between; NULL */
	const char *later;
};

struct known_name {
	const char *name; /* glob on a symbol */
	enum finding_code code;
	bool defined;     /* it counts where it is defined, not where it is imported */
};

/* The entry for a program at <path>; NULL: nothing is known. */
const struct known_program *known_program(const char *path);

/* The entry for a symbol; NULL: nothing is known. */
const struct known_name *known_name(const char *symbol, bool defined);

#endif
