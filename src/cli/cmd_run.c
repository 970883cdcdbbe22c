/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/fmt.h"
#include "cli/cli.h"
#include "cli/elf.h"
#include "cli/preload_path.h"
#include "config/config.h"

#define PRELOAD_MAX 16384

struct run {
	const char *policy, *config, *log, *library, *inject;
	bool verbose, dry_run;
	char config_path[PATH_MAX];
	char log_path[PATH_MAX];
	char self[PATH_MAX];
	char library_path[PATH_MAX];
	char preload[PRELOAD_MAX];
	char **command;
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
	"      --dry-run         print the command as a shell would take it, run nothing\n"
	"      --library=PATH    the libretry.so to preload\n"
	"  -h, --help            print this text\n"
	"\n"
	"Warns of programs that a preload does not reach, and starts them all the same.\n"
	"Exit status: that of PROGRAM; 125 if libretry could not set things up, 126 if\n"
	"PROGRAM cannot be executed, 127 if it cannot be found.\n"
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

enum { OPT_DRY_RUN = 256, OPT_INJECT, OPT_LIBRARY };

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
		if (access(r->config, R_OK) != 0)
			cli_warn("%s: %s: the built-in policy will be used", r->config,
			         strerror(errno));
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

/* Warns of what a preload does not reach. Errors are execvp()'s to report. */
static void examine(const struct run *r)
{
	char path[PATH_MAX];
	struct target t;
	const char *reason;

	if (!target_find(r->command[0], getenv("PATH"), path, sizeof(path)))
		return;
	if (r->verbose)
		cli_say("program: %s", path);
	if (!target_examine(&t, path, r->library_path, r->self))
		return;
	if (r->verbose && t.script[0])
		cli_say("a script for %s", t.path);
	for (unsigned i = 0; (reason = target_reason(&t, i)) != NULL; i++)
		cli_warn("%s: %s", t.path, reason);
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

/* Whether the library will be able to append to <path>, which need not exist. */
static void examine_log_file(const char *path)
{
	char folder[PATH_MAX];
	struct fmt f;

	if (access(path, W_OK) == 0)
		return;
	if (errno == ENOENT) {
		fmt_init(&f, folder, sizeof(folder));
		fmt_mem(&f, path, (size_t)(strrchr(path, '/') - path) + 1);
		fmt_end(&f);
		if (access(folder, W_OK | X_OK) == 0)
			return;
	}
	cli_warn("%s: %s: nothing will be logged", path, strerror(errno));
}

/* What the library would find wrong with the variables, said now: in the
 * program it would be one line of a log, at the first failure. */
static void examine_variables(void)
{
	struct env env;
	struct utsname host;
	char path[PATH_MAX];
	struct config *c;
	bool file;

	env_snapshot(&env, environ, false);
	if (uname(&host) != 0)
		host.nodename[0] = '\0';
	file = config_locate(&env, SYSCONFDIR, host.nodename, path, sizeof(path));
	c = config_load(file ? path : NULL, file ? &lcapi_direct : NULL, &env, warn_of_variable,
	                NULL);
	if (c && c->log.to == LOG_TO_FILE)
		examine_log_file(c->log.path);
	config_free(c);
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

	const struct setting settings[] = {
		{ "LD_PRELOAD", r.preload },
		{ "LIBRETRY_CONFIG", r.config },
		{ "LIBRETRY_POLICY", r.policy },
		{ "LIBRETRY_LOG", r.log },
		{ "LIBRETRY_INJECT", r.inject },
		{ "LIBRETRY_LOG_LEVEL", r.verbose ? "debug" : NULL },
	};

	status = set_variables(&r, settings, ARRAY_LEN(settings));
	if (status != 0)
		return status;
	examine_variables();
	return r.dry_run ? dry_run(&r, settings, ARRAY_LEN(settings)) : execute(&r);
}
