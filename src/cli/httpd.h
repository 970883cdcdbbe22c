/* SPDX-License-Identifier: MIT */
/*
 * httpd.h - libmicrohttpd, opened when "stats --serve" is asked for. Linked plainly,
 * it and the TLS libraries behind it would be loaded by every command, also by the
 * "libretry run" in front of every program (doc/decisions.md).
 */
#ifndef LIBRETRY_CLI_HTTPD_H
#define LIBRETRY_CLI_HTTPD_H

#ifdef HAVE_MICROHTTPD

#include <microhttpd.h>

/* Its functions that are used, without their "MHD_". */
#define HTTPD_FUNCTIONS(X) \
	X(start_daemon) X(stop_daemon) X(get_fdset) X(get_timeout) X(run_from_select) \
	X(create_response_from_buffer) X(add_response_header) X(queue_response) \
	X(destroy_response) X(get_connection_info)

struct httpd {
#define X(name) __typeof__(MHD_##name) *name;
	HTTPD_FUNCTIONS(X)
#undef X
};

/* Opens it, for good. NULL after a message: it is not there, or not that one. */
const struct httpd *httpd_open(void);

#endif
#endif
