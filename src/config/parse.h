/* SPDX-License-Identifier: MIT */
/* parse.h - one file as a libconfig tree. */
#ifndef LIBRETRY_CONFIG_PARSE_H
#define LIBRETRY_CONFIG_PARSE_H

#include "config/lcapi.h"
#include "config/text.h"

/* How often a file is read on behind a fault that libconfig has found. */
#define PARSE_RETRIES 32

struct parsed {
	const char *path;
	struct text text;
	config_t tree;
	bool has_tree;
	size_t size; /* bytes of text, includes included */
};

/*
 * Loads, scans and parses <path>. Every fault goes to <sink>; behind a syntax
 * error that stands on a line of its own, reading goes on. <p>->has_tree says
 * whether there is something to look at; parse_release() is due in any case.
 */
void parse_file(struct parsed *p, const char *path, const struct lcapi *lc,
                struct arena *keep, struct arena *scratch, struct diag_sink *sink);

/* Gives libconfig's memory back. */
void parse_release(struct parsed *p, const struct lcapi *lc);

#endif
