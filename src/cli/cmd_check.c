/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/compat.h"
#include "cli/cli.h"
#include "cli/inuse.h"
#include "cli/out.h"
#include "cli/show.h"
#include "config/config.h"

struct check {
	const char *given; /* FILE of the command line */
	bool json, quiet, strict;
	struct out out;
	struct env env;
	unsigned count[DIAG_UNREADABLE + 1];
	bool rejected[ENV_COUNT]; /* variables with a value that is not used */
};

static const char help[] =
	"Usage: libretry check [OPTION]... [FILE]\n"
	"Check a configuration and show what it says. Without FILE: the one that a\n"
	"program started here would use.\n"
	"\n"
	"      --json    one JSON object instead of text\n"
	"  -q, --quiet   only the faults; nothing if there are none\n"
	"      --strict  warnings count as errors\n"
	"  -h, --help    print this text\n"
	"\n"
	"Exit status: 0 clean, 1 warnings, 2 errors or unknown keys (or a wrong option),\n"
	"3 the file cannot be read.\n"
	"\n"
	"Examples:\n"
	"  libretry check\n"
	"  libretry check --strict ./libretry.conf\n"
	"  LIBRETRY_MAX_DELAY=1s libretry check --json /etc/libretry/libretry.conf\n";

static int usage(void)
{
	fputs("Try \"libretry check --help\".\n", stderr);
	return EXIT_USAGE;
}

enum { OPT_JSON = 256, OPT_STRICT };

/* -1: go on; else the exit status. */
static int parse(struct check *k, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPT_JSON },
		{ "quiet", no_argument, NULL, 'q' },
		{ "strict", no_argument, NULL, OPT_STRICT },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};

	for (int c; (c = getopt_long(argc, argv, "qh", options, NULL)) != -1;) {
		switch (c) {
		case OPT_JSON: k->json = true; break;
		case 'q': k->quiet = true; break;
		case OPT_STRICT: k->strict = true; break;
		case 'h':
			fputs(help, stdout);
			return cli_finish(EXIT_SUCCESS, EXIT_USAGE);
		default:
			return usage();
		}
	}
	if (optind < argc)
		k->given = argv[optind++];
	if (optind < argc) {
		cli_say("check: more than one file given");
		return usage();
	}
	return -1;
}

static void report(void *ctx, const struct diag *d)
{
	static const char *const words[] = { "note", "warning", "unknown", "error",
	                                     "unreadable" };
	struct check *k = ctx;
	const char *label = "";

	k->count[d->level]++;
	note_rejected(k->rejected, d);
	if (k->json) {
		out_cell(&k->out, words[d->level]);
		out_cell(&k->out, d->file);
		out_cell_int(&k->out, d->line);
		out_cell(&k->out, d->text);
		return;
	}
	if (d->level == DIAG_WARNING)
		label = "warning: ";
	else if (d->level == DIAG_NOTE)
		label = "note: ";
	if (k->quiet && d->level == DIAG_NOTE)
		return;
	if (d->file && d->line)
		out_say(&k->out, "%s:%u: %s%s", d->file, d->line, label, d->text);
	else
		out_say(&k->out, "%s: %s%s", d->file ? d->file : "environment", label, d->text);
}

static struct config *load(struct check *k, const char *file)
{
	static const struct out_column columns[] = {
		{ "level", NULL }, { "file", NULL }, { "line", NULL }, { "text", NULL }
	};
	struct config *c;

	out_table(&k->out, "diagnostics", NULL, columns, ARRAY_LEN(columns));
	c = config_load(file, &lcapi_direct, &k->env, report, k);
	if (k->json)
		out_table_end(&k->out);
	return c;
}

static int verdict(const struct check *k)
{
	if (k->count[DIAG_UNREADABLE])
		return EXIT_CHECK_UNREADABLE;
	if (k->count[DIAG_ERROR] || k->count[DIAG_UNKNOWN])
		return EXIT_CHECK_ERRORS;
	if (k->count[DIAG_WARNING])
		return k->strict ? EXIT_CHECK_ERRORS : EXIT_CHECK_WARNINGS;
	return EXIT_CHECK_CLEAN;
}

/* "2 errors, 1 unknown key and 1 warning" */
static void fmt_counts(struct fmt *f, const struct check *k)
{
	static const struct {
		enum diag_level level;
		const char *noun;
	} rows[] = {
		{ DIAG_ERROR, "error" }, { DIAG_UNKNOWN, "unknown key" },
		{ DIAG_WARNING, "warning" }, { DIAG_NOTE, "note" }
	};
	unsigned kinds = 0, printed = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		kinds += k->count[rows[i].level] != 0;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned n = k->count[rows[i].level];

		if (!n)
			continue;
		if (printed)
			fmt_str(f, printed + 1 == kinds ? " and " : ", ");
		printed++;
		fmt_u64(f, n);
		fmt_char(f, ' ');
		fmt_str(f, rows[i].noun);
		if (n != 1)
			fmt_char(f, 's');
	}
	if (!kinds)
		fmt_str(f, "no faults");
}

static void summary(struct check *k, const struct in_use *in_use)
{
	const char *instead = env_flag(&k->env, ENV_STRICT)
	                              ? "every call would pass through untouched (LIBRETRY_STRICT)"
	                              : "the built-in policy would be used";
	const char *outcome = in_use->file ? "the file is used" : "the built-in policies are used";
	char text[160];
	struct fmt f;

	fmt_init(&f, text, sizeof(text));
	fmt_counts(&f, k);
	fmt_end(&f);
	if (k->count[DIAG_UNREADABLE])
		out_say(&k->out, "unreadable: %s", instead);
	else if (k->count[DIAG_ERROR])
		out_say(&k->out, "%s: %s", text, instead);
	else if (k->count[DIAG_UNKNOWN])
		out_say(&k->out, "%s: %s, without the unknown keys", text, outcome);
	else
		out_say(&k->out, "%s: %s", text, outcome);
}

/* The object's members that follow the faults. */
static void result(struct check *k, const struct config *c, const struct in_use *in_use)
{
	bool usable = !k->count[DIAG_ERROR] && !k->count[DIAG_UNREADABLE];

	out_member_int(&k->out, "errors", k->count[DIAG_ERROR]);
	out_member_int(&k->out, "unknown_keys", k->count[DIAG_UNKNOWN]);
	out_member_int(&k->out, "warnings", k->count[DIAG_WARNING]);
	out_member_int(&k->out, "notes", k->count[DIAG_NOTE]);
	out_member_bool(&k->out, "usable", usable);
	out_member_int(&k->out, "exit_status", verdict(k));
	if (k->quiet)
		return;
	summary(k, in_use);
	if (!usable)
		return;
	in_use_files(&k->out, c);
	out_member(&k->out, "mode", c->mode == MODE_OBSERVE ? "observe" : "retry");
	show_rules(&k->out, c);
	show_policies(&k->out, c);
	show_limits(&k->out, c);
	show_programs(&k->out, c);
	show_faults(&k->out, c);
	show_environment(&k->out, &k->env, k->rejected);
}

int cmd_check(int argc, char **argv)
{
	static struct check k;
	char path[PATH_MAX];
	char text[PATH_MAX + 64];
	struct in_use in_use;
	struct config *c;
	int status = parse(&k, argc, argv);

	if (status >= 0)
		return status;
	env_snapshot(&k.env, environ, getauxval(AT_SECURE) != 0);
	k.env.wants_all = true;
	in_use = in_use_find(&k.env, k.given, false, path, sizeof(path));
	out_open(&k.out, stdout, k.json);
	in_use_members(&k.out, &in_use);
	in_use_text(&in_use, text, sizeof(text));
	if (!k.quiet)
		out_say(&k.out, "%s", text);
	c = load(&k, in_use.file);
	if (!c) {
		cli_say("out of memory");
		return EXIT_CHECK_UNREADABLE;
	}
	result(&k, c, &in_use);
	out_close(&k.out);
	status = verdict(&k);
	config_free(c);
	return cli_finish(status, EXIT_CHECK_UNREADABLE);
}
