/* SPDX-License-Identifier: MIT */
/*
 * errname.h - error numbers and their names, from one table.
 * Pure, no locale, no allocation (strerror() has both).
 */
#ifndef LIBRETRY_BASE_ERRNAME_H
#define LIBRETRY_BASE_ERRNAME_H

#include <stdbool.h>

enum err_domain {
	ERR_ERRNO = 0, /* errno of connect, send ... */
	ERR_EAI,       /* getaddrinfo's result (negative numbers in glibc) */
	ERR_HERRNO     /* h_errno of the gethostbyname family */
};

struct err {
	enum err_domain domain;
	int code;
};

/* "ECONNREFUSED", "EAI_AGAIN", "TRY_AGAIN"; NULL if there is no name. */
const char *err_name(struct err e);

/* The reverse, case-sensitive; false if unknown, then <e> is untouched. */
bool err_parse(const char *name, struct err *e);

/* The name at <index> of the whole table (for "did you mean"), NULL past it. */
const char *err_table_name(unsigned index);

#endif
