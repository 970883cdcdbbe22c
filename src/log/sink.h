/* SPDX-License-Identifier: MIT */
/*
 * sink.h - one line to where the settings say, or nowhere.
 *
 * Raw system calls only: no cancellation point, nobody's wrapper, errno
 * untouched, safe in signal handlers. Nothing is kept open, nothing waits, and
 * neither SIGPIPE nor SIGXFSZ reaches the program. A line that cannot be
 * written (full disk, full pipe, nobody reading, no permission) is dropped.
 *
 * Honest limits: opening or writing a file on a file system that hangs waits
 * like any write; between looking whether a blocking pipe has room and
 * writing, another writer can fill it; a disk or a RLIMIT_FSIZE that ends in
 * the middle of a line cuts it. Who saw that there was no room begins the next
 * line with a newline; another process may write behind the half line.
 */
#ifndef LIBRETRY_LOG_SINK_H
#define LIBRETRY_LOG_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/settings.h"

/* A file that grew past this is renamed to PATH.1, over an earlier one. If that
 * cannot be (a symbolic link, no permission) lines are dropped. */
#define SINK_FILE_MAX (INT64_C(64) << 20)

#define SINK_SYSLOG "/dev/log"

/* Which file a descriptor number means. Zero = nothing known, nothing matches. */
struct sink_id {
	bool known;
	uint64_t dev;
	uint64_t ino;
};

struct sink_line {
	const char *text; /* with its newline */
	size_t len;
	enum log_level level;
	enum log_format format;
	long pid;
	bool timeline; /* for that file: a line of the log that was cut is none of it */
};

/* What <fd> is now; .known is false if it is closed. */
void sink_identify(struct sink_id *id, int fd);

/* Writes <line>; true if it was taken as a whole. <id>: what descriptor 2 or
 * settings->fd must still be, not looked at for other sinks. */
bool sink_write(const struct log_settings *settings, const struct sink_id *id,
                const struct sink_line *line);

/* To descriptor <fd>, if it is still <id> and not a network socket. */
bool sink_to_fd(int fd, const struct sink_id *id, const struct sink_line *line);

/* Appends to the file, FIFO or device <path>, created with mode 0640. */
bool sink_to_file(const char *path, const struct sink_line *line);

/* One datagram to the Unix socket <path> ("@name" = abstract). */
bool sink_to_unix(const char *path, const struct sink_line *line);

/* The same in the form that a local syslog daemon at <path> reads: priority
 * and tag in front, the stamp of the text format and the newline left out. */
bool sink_to_syslog(const char *path, const struct sink_line *line);

#endif
