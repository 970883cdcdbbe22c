/* SPDX-License-Identifier: MIT */
/*
 * settings.h - settings of the rooms of rank 2, which never see each other:
 * config/ fills them in, log/ and the preload obey them. Plain data.
 */
#ifndef LIBRETRY_POLICY_SETTINGS_H
#define LIBRETRY_POLICY_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR_LEVEL = 0, LOG_WARN_LEVEL, LOG_INFO_LEVEL, LOG_DEBUG_LEVEL };
enum log_format { LOG_TEXT = 0, LOG_LOGFMT, LOG_JSON };
enum log_to { LOG_TO_STDERR = 0, LOG_TO_SYSLOG, LOG_TO_FILE, LOG_TO_UNIX, LOG_TO_FD, LOG_TO_NONE };

#define LOG_PATH_MAX 256

struct log_settings {
	enum log_to to;
	char path[LOG_PATH_MAX]; /* LOG_TO_FILE, LOG_TO_UNIX */
	int fd;                  /* LOG_TO_FD */
	enum log_level level;
	enum log_format format;
	uint32_t burst; /* lines per destination (about ends of calls: LOG_OUTCOMES times as
	                 * many) ... */
	int64_t per;    /* ... in this time (ns), then one summary */
	/* stats.timeline: where failed attempts are written as well, whatever the rest says;
	 * "": nowhere. As base/filename reads it. */
	char timeline[LOG_PATH_MAX];
};

struct stats_settings {
	char path[LOG_PATH_MAX]; /* stats.to = "file:PATH", as base/filename reads it; "": none */
	bool json;               /* format = "json" */
	int64_t every;           /* ns */
};

struct process_settings {
	uint64_t stop_on;      /* bit n: signal n */
	bool reload;           /* reload = "on-failure" */
	bool clear_deepbind;
	bool stats_shm;        /* stats.to = "shm": outcomes are counted for all to see */
	int64_t host_group;    /* gid, whose members share scope = "host"; -1: nobody does */
};

#endif
