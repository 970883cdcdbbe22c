/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/duration.h"
#include "base/libc.h"
#include "cli/cli.h"
#include "cli/imports.h"
#include "cli/known.h"
#include "cli/need.h"
#include "cli/out.h"
#include "cli/preload_path.h"
#include "cli/process.h"
#include "cli/shared.h"
#include "cli/surroundings.h"
#include "cli/target.h"

struct doctor {
	const char *subject; /* NULL: the host */
	const char *config, *library_given, *grace_text;
	int64_t grace;       /* ns, -1: not asked */
	bool json, is_pid;
	char self[PATH_MAX], library[PATH_MAX];
	char path[PATH_MAX]; /* of the program, as it is shown */
	struct process process;
	struct target target;
	struct imports imports;
	struct setup setup;
	struct shared shared;
	struct findings findings;
	enum coverage verdict;
	struct out out;
};

static const char help[] =
	"Usage: libretry doctor [OPTION]... [PROGRAM|PID]\n"
	"Tell whether the library reaches PROGRAM (looked up in PATH), or the process PID;\n"
	"without either, whether it works on this host. The program is not run.\n"
	"\n"
	"  -c, --config=FILE   judge by this configuration file; \"none\": the built-in\n"
	"                      policies only\n"
	"      --grace=TIME    also find out whether a stop by SIGTERM could take longer\n"
	"                      than this, such as 30s\n"
	"      --library=PATH  the libretry.so to judge by\n"
	"      --json          one JSON object instead of text\n"
	"  -h, --help          print this text\n"
	"\n"
	"The verdict comes first: covered, partly or not-covered. Reasons follow, each\n"
	"with what to do about it; libretry-doctor(1) lists them all.\n"
	"\n"
	"Exit status: 0 covered, 1 partly, 2 wrong usage, 3 not covered, 4 if it cannot be\n"
	"told (no such program, no permission).\n"
	"\n"
	"Examples:\n"
	"  libretry doctor\n"
	"  libretry doctor curl\n"
	"  libretry doctor $(pidof -s nginx)\n"
	"  libretry doctor --json ./orders | jq -r '.reasons[].reason'\n";

static int usage(void)
{
	fputs("Try \"libretry doctor --help\".\n", stderr);
	return EXIT_USAGE;
}

enum { OPT_JSON = 256, OPT_GRACE, OPT_LIBRARY };

static bool parse_grace(struct doctor *d)
{
	enum dur_status status = dur_parse(d->grace_text, &d->grace);

	if (status == DUR_OK)
		return true;
	cli_say("doctor: --grace: %s: %s (a time such as 30s or 500ms)", d->grace_text,
	        dur_status_text(status));
	return false;
}

/* -1: go on; else the exit status. */
static int parse(struct doctor *d, int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "grace", required_argument, NULL, OPT_GRACE },
		{ "library", required_argument, NULL, OPT_LIBRARY },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};

	d->grace = -1;
	for (int c; (c = getopt_long(argc, argv, "c:h", options, NULL)) != -1;) {
		switch (c) {
		case 'c': d->config = optarg; break;
		case OPT_GRACE: d->grace_text = optarg; break;
		case OPT_LIBRARY: d->library_given = optarg; break;
		case OPT_JSON: d->json = true; break;
		case 'h':
			fputs(help, stdout);
			return cli_finish(EXIT_SUCCESS, EXIT_USAGE);
		default:
			return usage();
		}
	}
	if (d->grace_text && !parse_grace(d))
		return usage();
	if (optind < argc)
		d->subject = argv[optind++];
	if (optind < argc) {
		cli_say("doctor: %s: only one program or PID can be asked about (leave its "
		        "arguments out)", argv[optind]);
		return usage();
	}
	d->is_pid = d->subject && *d->subject && !d->subject[strspn(d->subject, "0123456789")];
	return -1;
}

/* Libraries that a program is known to load later, from its own folder. */
static void add_later(struct doctor *d, const struct known_program *known)
{
	char *list = need(strdup(known->later)), *save = NULL;
	const char *slash = strrchr(d->path, '/');

	for (char *name = strtok_r(list, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
		char *path = need_text("%.*s/%s", slash ? (int)(slash - d->path) : 1,
		                       slash ? d->path : ".", name);
		char *real = realpath(path, NULL);

		if (real)
			imports_add(&d->imports, real, true, true);
		free(real);
		free(path);
	}
	free(list);
}

/* What is known of the program by its name, and of the script by its language. */
static void known_findings(struct doctor *d)
{
	const struct known_program *known = known_program(d->path);

	if (!known)
		return;
	findings_add(&d->findings, known->code, d->path, known->detail);
	if (known->later && !d->is_pid)
		add_later(d, known);
}

static void look_at_setup(struct doctor *d, char *const *variables, const char *exe)
{
	struct shared_who who = { .uid = geteuid(), .self = !d->is_pid, .root = "" };
	struct stat st;
	struct env env;

	env_snapshot(&env, variables, d->is_pid && d->process.secure);
	setup_findings(&d->setup, &env, d->config, exe, d->grace, NULL, &d->findings);
	if (d->is_pid) {
		char *self = need_text("/proc/%s", d->subject);

		if (stat(self, &st) == 0)
			who.uid = st.st_uid;
		who.root = d->process.root;
		free(self);
	}
	shared_findings(&d->shared, d->setup.config, &who, &d->findings);
}

/* What holds for everything that is started here. */
static void look_at_host(struct doctor *d)
{
	struct process self;

	library_findings(d->library_given, d->self, true, d->library, sizeof(d->library),
	                 &d->findings);
	preload_findings(getenv("LD_PRELOAD"), true, &d->findings);
	system_preload_findings(&d->findings);
	if (process_read(&self, "self")) {
		process_limits(&self, NULL, &d->findings);
		process_free(&self);
	}
}

static bool cannot_tell(const struct doctor *d, const char *why)
{
	cli_say("%s: %s", d->subject, why);
	return false;
}

static bool examine(struct doctor *d, const char *path, bool privileges)
{
	char *real;

	if (!target_examine(&d->target, path, d->library, d->self, privileges)) {
		char why[PATH_MAX + 128];

		if (!d->target.script[0])
			return cannot_tell(d, strerror(errno));
		snprintf(why, sizeof(why), "its interpreter %s: %s", d->target.path,
		         strerror(errno));
		return cannot_tell(d, why);
	}
	if (!d->target.elf)
		return cannot_tell(d, "not a program");
	real = realpath(d->target.path, NULL);
	if (real && strlen(real) < sizeof(d->path))
		memcpy(d->path, real, strlen(real) + 1);
	else
		memcpy(d->path, d->target.path, sizeof(d->path));
	free(real);
	return true;
}

static bool look_at_program(struct doctor *d)
{
	char found[PATH_MAX];

	look_at_host(d);
	if (!target_find(d->subject, getenv("PATH"), found, sizeof(found))) {
		if (errno != ENOENT)
			return cannot_tell(d, strerror(errno));
		return cannot_tell(d, strchr(d->subject, '/') ? "no such file"
		                                              : "not found in PATH");
	}
	if (!examine(d, found, true))
		return false;
	target_findings(&d->target, &d->findings);
	if (!(d->target.traits & (TARGET_FOREIGN | TARGET_DAMAGED | TARGET_STATIC)))
		imports_add(&d->imports, d->path, true, false);
	known_findings(d);
	imports_findings(&d->imports, &d->findings);
	look_at_setup(d, environ, d->path);
	return true;
}

static bool look_at_process(struct doctor *d)
{
	const char *const nothing = NULL;
	struct process *p = &d->process;

	if (!process_read(p, d->subject)) {
		if (errno == ESRCH)
			return cannot_tell(d, "no such process (./NAME for a program of that "
			                      "name)");
		if (errno == ENOENT)
			return cannot_tell(d, "no program runs there: a kernel thread, or it has "
			                      "ended");
		return cannot_tell(d, "not permitted; ask as its user or as root");
	}
	/* Only to compare with: what counts is the library that is there. */
	if (!preload_find(d->library_given, d->self, d->library, sizeof(d->library)))
		d->library[0] = '\0';
	if (!examine(d, p->root[0] || p->exe_deleted ? p->exe_link : p->exe, false))
		return false;
	memcpy(d->path, p->exe, sizeof(d->path));
	memcpy(d->target.path, p->exe, sizeof(d->target.path));
	process_findings(p, d->library, &d->findings);
	if (!p->library[0] || (d->target.traits & TARGET_GO))
		target_findings(&d->target, &d->findings);
	process_limits(p, p->exe, &d->findings);
	preload_findings(process_variable(p, "LD_PRELOAD"), false, &d->findings);
	imports_free(&d->imports);
	imports_init(&d->imports, p->root);
	imports_add(&d->imports, p->exe, false, false);
	for (size_t i = 0; i < p->mapped_count; i++)
		imports_add(&d->imports, p->mapped[i], false, false);
	known_findings(d);
	imports_findings(&d->imports, &d->findings);
	look_at_setup(d, p->variables ? p->variables : (char *const *)&nothing, p->exe);
	return true;
}

static void fact(struct doctor *d, const char *key, const char *label, const char *value)
{
	out_member(&d->out, key, value);
	if (value && *value)
		out_say(&d->out, "  %-14s %s", label, value);
}

/* "dynamically linked, position independent" */
static const char *kind_of(const struct target *t)
{
	if (t->traits & TARGET_FOREIGN)
		return "of another architecture";
	if (t->traits & TARGET_STATIC)
		return "statically linked";
	return t->traits & TARGET_PIE ? "dynamically linked, position independent"
	                              : "dynamically linked";
}

static void show_facts(struct doctor *d)
{
	char text[PATH_MAX + 64];

	if (d->subject) {
		fact(d, "program", "program", d->path);
		fact(d, "script", "script", d->target.script[0] ? d->target.script : NULL);
		fact(d, "kind", "kind", kind_of(&d->target));
		fact(d, "loader", "loader", d->target.loader[0] ? d->target.loader : NULL);
	}
	if (d->is_pid) {
		out_member_int(&d->out, "pid", atoll(d->subject));
		fact(d, "library", "library", d->process.library[0] ? d->process.library : NULL);
	} else {
		fact(d, "library", "library", d->library[0] ? d->library : NULL);
		fact(d, "libc", "C library", libc_version());
	}
	in_use_members(&d->out, &d->setup.in_use);
	in_use_text(&d->setup.in_use, text, sizeof(text));
	out_say(&d->out, "  %-14s %s", "configuration", text);
	in_use_files(&d->out, d->setup.config);
	/* As log.to spells it. */
	snprintf(text, sizeof(text), d->setup.config->log.path[0] ? "%s:%s" : "%s", d->setup.log,
	         d->setup.config->log.path);
	fact(d, "log", "log", text);
	shared_show(&d->shared, &d->out);
	if (d->grace >= 0)
		out_say(&d->out, "  %-14s %s", "stop",
		        d->setup.term_stops
		                ? "SIGTERM, if it is caught, ends all waits within 100 ms"
		                : "SIGTERM does not end waits");
	out_member_bool(&d->out, "stop_on_sigterm", d->setup.term_stops);
}

static void show_lines(struct doctor *d, const char *title, bool notes)
{
	bool titled = false;

	for (size_t i = 0; i < d->findings.count; i++) {
		const struct finding *f = &d->findings.list[i];
		const char *advice = finding_advice(f->code);
		char *line;

		if ((finding_effect(f->code) == COVERED) != notes)
			continue;
		if (!titled) {
			out_say(&d->out, "%s", "");
			out_say(&d->out, "%s", title);
		}
		titled = true;
		line = finding_line(f);
		out_say(&d->out, "  %s: %s", finding_word(f->code), line);
		if (advice)
			out_say(&d->out, "    what to do: %s", advice);
		free(line);
	}
}

static void reasons_json(struct doctor *d)
{
	static const struct out_column columns[] = {
		{ "reason", NULL }, { "effect", NULL }, { "file", NULL },
		{ "text", NULL }, { "detail", NULL }, { "advice", NULL }
	};

	out_table(&d->out, "reasons", NULL, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < d->findings.count; i++) {
		const struct finding *f = &d->findings.list[i];
		enum coverage effect = finding_effect(f->code);

		out_cell(&d->out, finding_word(f->code));
		out_cell(&d->out, effect == COVERED ? "note" : coverage_word(effect));
		out_cell(&d->out, f->file);
		out_cell(&d->out, finding_text(f->code));
		out_cell(&d->out, f->detail);
		out_cell(&d->out, finding_advice(f->code));
	}
	out_table_end(&d->out);
}

static void show_libraries(struct doctor *d)
{
	static const struct out_column columns[] = { { "path", NULL }, { "later", NULL } };

	if (!d->json)
		return;
	out_table(&d->out, "objects", NULL, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < d->imports.object_count; i++) {
		out_cell(&d->out, d->imports.objects[i].path);
		out_cell_bool(&d->out, d->imports.objects[i].later);
	}
	out_table_end(&d->out);
}

static void headline(struct doctor *d)
{
	const char *word = coverage_word(d->verdict);

	if (!d->subject)
		out_say(&d->out, "%s: programs that are started here%s", word,
		        d->verdict == NOT_COVERED ? "" : " with \"libretry run\"");
	else if (d->is_pid)
		out_say(&d->out, "%s: process %s (%s)", word, d->subject, d->path);
	else if (d->target.script[0])
		out_say(&d->out, "%s: %s, which runs the script %s", word, d->path, d->subject);
	else
		out_say(&d->out, "%s: %s", word, d->subject);
}

static void show(struct doctor *d)
{
	out_open(&d->out, stdout, d->json);
	out_member(&d->out, "verdict", coverage_word(d->verdict));
	headline(d);
	show_lines(d, d->verdict == NOT_COVERED ? "Why not:" : "What is missing:", false);
	if (d->json)
		reasons_json(d);
	else
		out_say(&d->out, "%s", "");
	out_say(&d->out, "Looked at:");
	show_facts(d);
	if (d->subject)
		imports_show(&d->imports, &d->out);
	show_libraries(d);
	show_lines(d, "Worth knowing:", true);
	out_close(&d->out);
}

int cmd_doctor(int argc, char **argv)
{
	static const int statuses[] = { EXIT_DOCTOR_COVERED, EXIT_DOCTOR_PARTLY,
	                                EXIT_DOCTOR_NOT_COVERED };
	static struct doctor d;
	int status = parse(&d, argc, argv);
	bool told = true;
	ssize_t len;

	if (status >= 0)
		return status;
	len = readlink("/proc/self/exe", d.self, sizeof(d.self) - 1);
	d.self[len > 0 ? len : 0] = '\0';
	imports_init(&d.imports, "");
	if (d.is_pid) {
		told = look_at_process(&d);
	} else if (d.subject) {
		told = look_at_program(&d);
	} else {
		look_at_host(&d);
		look_at_setup(&d, environ, NULL);
	}
	d.verdict = findings_verdict(&d.findings);
	if (told)
		show(&d);
	setup_free(&d.setup);
	imports_free(&d.imports);
	findings_free(&d.findings);
	process_free(&d.process);
	return told ? cli_finish(statuses[d.verdict], EXIT_DOCTOR_UNKNOWN) : EXIT_DOCTOR_UNKNOWN;
}
