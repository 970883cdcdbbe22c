/* SPDX-License-Identifier: MIT */
#include "cli/httpd.h"

#ifdef HAVE_MICROHTTPD

#include <dlfcn.h>
#include <stddef.h>

#include "base/compat.h"
#include "cli/cli.h"

static struct httpd functions;

static const struct {
	const char *name;
	size_t offset;
} rows[] = {
#define X(name) { "MHD_" #name, offsetof(struct httpd, name) },
	HTTPD_FUNCTIONS(X)
#undef X
};

const struct httpd *httpd_open(void)
{
	void *library = dlopen(MICROHTTPD_SONAME, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		cli_say("stats: --serve needs %s, as from Debian's libmicrohttpd12: %s",
		        MICROHTTPD_SONAME, dlerror());
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		void *symbol = dlsym(library, rows[i].name);

		if (!symbol) {
			cli_say("stats: --serve: %s is not the right one: %s", MICROHTTPD_SONAME,
			        dlerror());
			dlclose(library);
			return NULL;
		}
		*(void **)((char *)&functions + rows[i].offset) = symbol;
	}
	return &functions;
}

#endif
