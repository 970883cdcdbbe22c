/* SPDX-License-Identifier: MIT */
#include "cli/destarg.h"

#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static bool parse_unix(struct dest_arg *d, const char *text, const char **why)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t len = strlen(text);
	bool abstract = text[0] == '@';

	*why = "is too long for a Unix socket (at most 107 bytes)";
	if (len >= sizeof(sun.sun_path))
		return false;
	*why = "has no name behind the '@'";
	if (len < 2 && abstract)
		return false;
	memcpy(sun.sun_path, text, len);
	if (abstract)
		sun.sun_path[0] = '\0';
	return addr_from_sockaddr(&d->addr, (const struct sockaddr *)&sun,
	                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
	                                      !abstract));
}

static bool parse_port(struct dest_arg *d, const char *text)
{
	int port = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || port > 65535)
			return false;
		port = port * 10 + (*text - '0');
	}
	d->port = port;
	return port <= 65535;
}

static bool parse_host(struct dest_arg *d, const char *text, size_t len, bool brackets,
                       const char **why)
{
	char host[sizeof(d->name)];
	char *scope;

	*why = "has no host";
	if (len == 0)
		return false;
	*why = "has a host name that is too long (at most 255 bytes)";
	if (len >= sizeof(host))
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	scope = strchr(host, ':') ? strchr(host, '%') : NULL;
	if (scope)
		*scope = '\0';
	if (addr_parse_ip(&d->addr, host))
		return true;
	d->addr.family = AF_UNSPEC;
	*why = "has brackets around what is no IPv6 address ([fd00::1]:80)";
	if (brackets)
		return false;
	*why = "is no IPv6 address, and a name has no colon (host:port, [fd00::1]:80)";
	if (strchr(host, ':'))
		return false;
	*why = "is no host name (host:port, address:port, /path, @name)";
	if (strpbrk(host, " \t\r\n/@"))
		return false;
	memcpy(d->name, host, len + 1);
	return true;
}

static bool parse_network(struct dest_arg *d, const char *text, const char **why)
{
	const char *colon = strrchr(text, ':');
	const char *close = strchr(text, ']');
	const char *no_port = "needs a number behind the colon, the port (0 to 65535)";
	bool brackets = text[0] == '[';

	if (brackets) {
		*why = "has no ']' ([fd00::1]:80)";
		if (!close || (close[1] && close[1] != ':'))
			return false;
		if (!parse_host(d, text + 1, (size_t)(close - text) - 1, true, why))
			return false;
		*why = no_port;
		return !close[1] || parse_port(d, close + 2);
	}
	/* More than one colon is an address without a port. */
	if (!colon || strchr(text, ':') != colon)
		return parse_host(d, text, strlen(text), false, why);
	if (!parse_host(d, text, (size_t)(colon - text), false, why))
		return false;
	*why = no_port;
	return parse_port(d, colon + 1);
}

bool dest_arg_parse(struct dest_arg *d, const char *text, const char **why)
{
	bool ok;

	memset(d, 0, sizeof(*d));
	d->port = -1;
	if (strstr(text, "://")) {
		*why = "is a URL (host:port is wanted)";
		return false;
	}
	if (text[0] == '/' || text[0] == '@')
		return parse_unix(d, text, why);
	ok = parse_network(d, text, why);
	if (ok && d->addr.family != AF_UNSPEC && d->port >= 0)
		d->addr.port = (uint16_t)d->port;
	return ok;
}
