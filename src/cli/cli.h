/* SPDX-License-Identifier: MIT */
/* cli.h - what the commands share: exit codes, messages, the build's folders. */
#ifndef LIBRETRY_CLI_CLI_H
#define LIBRETRY_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

/* The build system says these; the values here are for a compile by hand. */
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "(unknown)"
#endif
#ifndef PKG_LIBDIR
#define PKG_LIBDIR "/usr/local/lib"
#endif
#ifndef SYSCONFDIR
#define SYSCONFDIR "/usr/local/etc"
#endif

enum {
	EXIT_USAGE = 2,
	/* "check" */
	EXIT_CHECK_CLEAN = 0,
	EXIT_CHECK_WARNINGS = 1,
	EXIT_CHECK_ERRORS = 2,
	EXIT_CHECK_UNREADABLE = 3,
	/* "explain" */
	EXIT_EXPLAIN_GRACE = 1,
	/* "suggest" */
	EXIT_SUGGEST_NOTHING = 1,
	EXIT_SUGGEST_UNREADABLE = 3,
	/* "report" */
	EXIT_REPORT_NOTHING = 1,
	EXIT_REPORT_FAILED = 3,
	/* "doctor" */
	EXIT_DOCTOR_COVERED = 0,
	EXIT_DOCTOR_PARTLY = 1,
	EXIT_DOCTOR_NOT_COVERED = 3,
	EXIT_DOCTOR_UNKNOWN = 4,
	/* "run", as env(1) and timeout(1) have them: other codes are the program's. */
	EXIT_RUN_SETUP = 125,
	EXIT_RUN_CANNOT = 126,
	EXIT_RUN_NOT_FOUND = 127
};

/* A command gets its own name in argv[0] and returns the exit status. */
int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_hold(int argc, char **argv);
int cmd_release(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_simulate(int argc, char **argv);
int cmd_suggest(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_report(int argc, char **argv);

/* "libretry: ..." as one line on stderr. Control characters are made '?'. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "libretry: warning: ..." likewise. */
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * <path> as an absolute path in <out>: the working directory goes in front of a
 * relative one, symbolic links stay. False with errno (ENAMETOOLONG, or what
 * getcwd() says) if that cannot be done.
 */
bool cli_absolute(const char *path, char *out, size_t size);

/* Whether the name is one of a compressed file, which nothing here unpacks. */
bool cli_is_compressed(const char *path);

/* Flushes stdout; <status>, or <failed> after a message if writing went wrong. */
int cli_finish(int status, int failed);

#endif
