/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compat.h"
#include "cli/cli.h"
#include "cli/imports.h"
#include "cli/known.h"
#include "cli/preload_path.h"
#include "cli/surroundings.h"
#include "cli/target.h"

#define PRELOAD_MAX 16384

struct run {
	const char *policy, *config, *log, *library, *inject;
	bool verbose, dry_run, require;
	char config_path[PATH_MAX];
	char log_path[PATH_MAX];
	char self[PATH_MAX];
	char library_path[PATH_MAX];
	char preload[PRELOAD_MAX];
	char **command;
	char program[PATH_MAX]; /* the file that runs in the end; "": not known */
	struct findings findings;
};

static const char help[] =
	"Usage: libretry run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	"Start PROGRAM with libretry.so preloaded.\n"
	"\n"
	"  -p, --policy=POLICY   use POLICY for every destination (LIBRETRY_POLICY)\n"
	"  -c, --config=FILE     use this configuration file (LIBRETRY_CONFIG);\n"
	"                        \"none\": the built-in policies only\n"
	"  -l, --log=LOG         where the log goes (LIBRETRY_LOG): stderr, file:PATH,\n"
	"                        syslog, unix:PATH, fd:N or none\n"
	"      --inject=FAULT    make calls fail on purpose (LIBRETRY_INJECT), such as\n"
	"                        connect:ECONNREFUSED:probability=30%\n"
	"  -v, --verbose         say what is done, and log everything\n"
	"                        (LIBRETRY_LOG_LEVEL=debug)\n"
	"      --require         do not start a program that would not be covered\n"
	"      --dry-run         print the command as a shell would take it, run nothing\n"
	"      --library=PATH    the libretry.so to preload\n"
	"  -h, --help            print this text\n"
	"\n"
	"Warns of programs that a preload does not reach, and starts them all the same (one\n"
	"of another C library without the preload), but for --require; \"libretry doctor PROGRAM\" tells more.\n"
	"Exit status: that of PROGRAM; 125 if libretry could not set things up or --require\n"
	"forbids it, 126 if PROGRAM cannot be executed, 127 if it cannot be found.\n"
	"\n"
	"Examples:\n"
	"  libretry run wget http://build.example.net/report\n"
	"  libretry run -p patient -l file:/tmp/retry.log -- backup --all\n"
	"  libretry run --inject connect:ECONNREFUSED:first=2 curl http://localhost:8080/\n"
	"  libretry run --dry-run -c ./test.conf curl http://localhost:8080/\n";

static int usage(void)
{
	fputs("Try \"libretry run --help\".\n", stderr);
	return EXIT_RUN_SETUP;
}

/* Who asks for a fault must not take a run without it for one with it. */
static bool check_inject(const char *text)
{
	char buf[512];
	struct fmt why;

	fmt_init(&why, buf, sizeof(buf));
	if (!text || config_inject(text, &why))
		return true;
	fmt_end(&why);
	cli_say("run: --inject: %s: %s", text, buf);
	return false;
}

enum { OPT_DRY_RUN = 256, OPT_INJECT, OPT_LIBRARY, OPT_REQUIRE };

/* -1: go on; else the exit status. */
static int parse(struct run *r, int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "config", required_argument, NULL, 'c' },
		{ "log", required_argument, NULL, 'l' },
		{ "inject", required_argument, NULL, OPT_INJECT },
		{ "verbose", no_argument, NULL, 'v' },
		{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
		{ "library", required_argument, NULL, OPT_LIBRARY },
		{ "require", no_argument, NULL, OPT_REQUIRE },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};

	/* '+': options end at the program's name; the rest is its own. */
	for (int c; (c = getopt_long(argc, argv, "+p:c:l:vh", options, NULL)) != -1;) {
		switch (c) {
		case 'p': r->policy = optarg; break;
		case 'c': r->config = optarg; break;
		case 'l': r->log = optarg; break;
		case 'v': r->verbose = true; break;
		case OPT_DRY_RUN: r->dry_run = true; break;
		case OPT_REQUIRE: r->require = true; break;
		case OPT_INJECT: r->inject = optarg; break;
		case OPT_LIBRARY: r->library = optarg; break;
		case 'h':
			fputs(help, stdout);
			return cli_finish(EXIT_SUCCESS, EXIT_RUN_SETUP);
		default:
			return usage();
		}
	}
	if (optind == argc) {
		cli_say("run: no program given");
		return usage();
	}
	r->command = argv + optind;
	return check_inject(r->inject) ? -1 : usage();
}

static bool find_library(struct run *r)
{
	char bad;

	if (!preload_find(r->library, r->self, r->library_path, sizeof(r->library_path))) {
		cli_say("%s: %s; --library=PATH names another one",
		          r->library ? r->library : r->library_path, strerror(errno));
		return false;
	}
	bad = preload_bad_byte(r->library_path);
	if (bad) {
		cli_say("%s: the path holds a %s, where the loader would split it; "
		          "put libretry.so (or a link to it) elsewhere",
		          r->library_path, bad == ' ' ? "space" : "colon");
		return false;
	}
	if (!preload_merge(r->library_path, getenv("LD_PRELOAD"), r->preload,
	                   sizeof(r->preload))) {
		cli_say("LD_PRELOAD is too long");
		return false;
	}
	return true;
}

/* Paths are made absolute: the program may change its working directory. */
static bool resolve_paths(struct run *r)
{
	static const char file[] = "file:";
	size_t prefix = sizeof(file) - 1;

	if (r->config && strcmp(r->config, "none") != 0) {
		if (!cli_absolute(r->config, r->config_path, sizeof(r->config_path))) {
			cli_say("%s: %s", r->config, strerror(errno));
			return false;
		}
		r->config = r->config_path;
	}
	if (r->log && strncmp(r->log, file, prefix) == 0 && r->log[prefix]) {
		memcpy(r->log_path, file, prefix);
		if (!cli_absolute(r->log + prefix, r->log_path + prefix,
		                  sizeof(r->log_path) - prefix)) {
			cli_say("%s: %s", r->log, strerror(errno));
			return false;
		}
		r->log = r->log_path;
	}
	return true;
}

/* One word of a shell command. */
static void print_word(const char *word)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	                           "0123456789_@%+:,./-";

	if (*word && !word[strspn(word, safe)]) {
		fputs(word, stdout);
		return;
	}
	putchar('\'');
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*word);
	}
	putchar('\'');
}

struct setting {
	const char *name, *value;
};

static int dry_run(const struct run *r, const struct setting *settings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!settings[i].value)
			continue;
		printf("%s=", settings[i].name);
		print_word(settings[i].value);
		putchar(' ');
	}
	for (char **word = r->command; *word; word++) {
		print_word(*word);
		putchar(word[1] ? ' ' : '\n');
	}
	return cli_finish(EXIT_SUCCESS, EXIT_RUN_SETUP);
}

/* Faults of variables, whose file is NULL; those of files are for "check", and
 * for the library's log. */
static void warn_of_variable(void *ctx, const struct diag *d)
{
	(void)ctx;
	if (!d->file && d->level >= DIAG_WARNING)
		cli_warn("%s", d->text);
}

/* Looks at the file that would run, not at the libraries that it needs: those can
 * only add to what "doctor" knows. <program> stays "" if nothing is known; errors are
 * execvp()'s to report. */
static void examine(struct run *r)
{
	struct findings *f = &r->findings;
	static struct target t;
	const struct known_program *known;
	char found[PATH_MAX];
	struct imports im;

	if (!target_find(r->command[0], getenv("PATH"), found, sizeof(found)))
		return;
	if (r->verbose)
		cli_say("program: %s", found);
	if (!target_examine(&t, found, r->library_path, r->self, true) || !t.elf)
		return;
	if (r->verbose && t.script[0])
		cli_say("a script for %s", t.path);
	if (!realpath(t.path, r->program))
		memcpy(r->program, t.path, sizeof(t.path));
	target_findings(&t, f);
	known = known_program(r->program);
	if (known)
		findings_add(f, known->code, t.path, known->detail);
	imports_init(&im, "");
	imports_add(&im, t.path, false, false);
	imports_findings(&im, f);
	imports_free(&im);
}

/* What the library would find wrong with the program, the configuration and the
 * variables, said now: in the program it would be one line of a log, at the first
 * failure. False if the program must not be started. */
static bool judge(struct run *r)
{
	struct findings *f = &r->findings;
	enum coverage verdict;
	char path[PATH_MAX];
	static struct setup setup;
	struct env env;

	env_snapshot(&env, environ, false);
	setup_findings(&setup, &env, NULL, r->program[0] ? r->program : NULL, -1,
	               warn_of_variable, f);
	setup_free(&setup);
	if (r->require)
		library_findings(r->library, r->self, true, path, sizeof(path), f);
	verdict = findings_verdict(f);
	for (size_t i = 0; i < f->count && finding_effect(f->list[i].code) != COVERED; i++) {
		char *line = finding_line(&f->list[i]);

		cli_warn("%s", line);
		free(line);
	}
	findings_free(f);
	if (!r->require || verdict != NOT_COVERED)
		return true;
	cli_say("%s is not started: --require, and it would not be covered", r->command[0]);
	return false;
}

static int set_variables(const struct run *r, const struct setting *settings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!settings[i].value)
			continue;
		if (r->verbose)
			cli_say("%s=%s", settings[i].name, settings[i].value);
		if (setenv(settings[i].name, settings[i].value, 1) != 0) {
			cli_say("%s: %s", settings[i].name, strerror(errno));
			return EXIT_RUN_SETUP;
		}
	}
	return 0;
}

static int execute(const struct run *r)
{
	execvp(r->command[0], r->command);

	int error = errno;

	cli_say("%s: %s", r->command[0], strerror(error));
	return error == ENOENT ? EXIT_RUN_NOT_FOUND : EXIT_RUN_CANNOT;
}

int cmd_run(int argc, char **argv)
{
	static struct run r;
	ssize_t len;
	int status = parse(&r, argc, argv);

	if (status >= 0)
		return status;
	len = readlink("/proc/self/exe", r.self, sizeof(r.self) - 1);
	r.self[len > 0 ? len : 0] = '\0';
	if (!find_library(&r) || !resolve_paths(&r))
		return EXIT_RUN_SETUP;
	if (r.verbose)
		cli_say("library: %s", r.library_path);

	examine(&r);
	/* The loader would not start it with a library that it cannot link. */
	bool fatal = findings_have(&r.findings, FINDING_OTHER_LIBC);
	const struct setting settings[] = {
		{ "LD_PRELOAD", fatal ? NULL : r.preload },
		{ "LIBRETRY_CONFIG", r.config },
		{ "LIBRETRY_POLICY", r.policy },
		{ "LIBRETRY_LOG", r.log },
		{ "LIBRETRY_INJECT", r.inject },
		{ "LIBRETRY_LOG_LEVEL", r.verbose ? "debug" : NULL },
	};

	status = set_variables(&r, settings, ARRAY_LEN(settings));
	if (status != 0)
		return status;
	if (!judge(&r))
		return EXIT_RUN_SETUP;
	return r.dry_run ? dry_run(&r, settings, ARRAY_LEN(settings)) : execute(&r);
}
