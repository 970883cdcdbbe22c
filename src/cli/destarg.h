/* SPDX-License-Identifier: MIT */
/* destarg.h - a destination as people write it on a command line. */
#ifndef LIBRETRY_CLI_DESTARG_H
#define LIBRETRY_CLI_DESTARG_H

#include "base/addr.h"

struct dest_arg {
	char name[256];   /* a host name; "" if there is none */
	struct addr addr; /* .family AF_UNSPEC: not known */
	int port;         /* -1: none given */
};

/*
 * "db1:5432", "db1", "192.0.2.1:80", "[fd00::1]:80", "fd00::1", "/run/x.sock",
 * "@abstract". A scope ("fe80::1%eth0") is left out, as rules do not know any.
 * False: <why> says what is wrong, as a clause.
 */
bool dest_arg_parse(struct dest_arg *d, const char *text, const char **why);

#endif
