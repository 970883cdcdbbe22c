/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/report.h"

struct request {
	const char *output; /* NULL: standard output */
	const char *title;
	bool json;
};

static const char help[] =
	"Usage: libretry report [OPTION]... LOG...\n"
	"Make one HTML page of a log: what failed, what was saved, how long it lasted.\n"
	"LOG is a file that libretry wrote, in text, logfmt or JSON, or \"-\". Lines of\n"
	"others in it are passed over.\n"
	"\n"
	"  -o, --output=FILE  write to FILE instead of standard output\n"
	"  -t, --title=TITLE  the title of the page\n"
	"      --json         the figures as JSON instead of a page\n"
	"  -h, --help         print this text\n"
	"\n"
	"Exit status: 0 done, 1 done, but there is no line of libretry in the log,\n"
	"2 a wrong option, 3 a file cannot be read or written.\n"
	"\n"
	"Examples:\n"
	"  libretry report -o outage.html /var/log/orders-retry.log\n"
	"  zcat retry.log.*.gz | libretry report -o week.html --title \"Last week\" -\n"
	"  libretry report --json retry.log | jq '.total[0].saved'\n";

static int usage(void)
{
	fputs("Try \"libretry report --help\".\n", stderr);
	return EXIT_USAGE;
}

enum { OPT_JSON = 256 };

/* -1: go on; else the exit status. */
static int parse(struct request *q, int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "title", required_argument, NULL, 't' },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "ho:t:", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			q->output = strcmp(optarg, "-") == 0 ? NULL : optarg;
			break;
		case 't':
			q->title = optarg;
			break;
		case OPT_JSON:
			q->json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return cli_finish(EXIT_SUCCESS, EXIT_USAGE);
		default:
			return usage();
		}
	}
	if (optind == argc) {
		cli_say("report: no log given (a file, or \"-\" for standard input)");
		return usage();
	}
	if (!q->output && !q->json && isatty(STDOUT_FILENO)) {
		cli_say("report: the page would go to the terminal (name a file with -o)");
		return usage();
	}
	return -1;
}

static bool read_log(struct report *r, const char *path)
{
	if (cli_is_compressed(path)) {
		cli_say("report: %s is compressed "
		        "(unpack it: zcat LOG | libretry report -o FILE -)", path);
		return false;
	}
	if (report_read(r, path))
		return true;
	cli_say("report: %s: %s", path, strerror(errno));
	return false;
}

/* The page must not go over the log it was made of. */
static bool is_log(const char *path, char **logs, int count)
{
	struct stat out, log;

	if (stat(path, &out) < 0 || !S_ISREG(out.st_mode))
		return false;
	for (int i = 0; i < count; i++) {
		if (stat(logs[i], &log) == 0 && log.st_dev == out.st_dev &&
		    log.st_ino == out.st_ino)
			return true;
	}
	return false;
}

static void write_to(const struct report *r, const struct request *q, FILE *to)
{
	char title[256];

	if (q->json) {
		report_json(r, to);
		return;
	}
	if (q->title)
		snprintf(title, sizeof(title), "%s", q->title);
	else if (r->file_count > 1)
		snprintf(title, sizeof(title), "Retries in %zu logs", r->file_count);
	else
		snprintf(title, sizeof(title), "Retries in %.200s",
		         strcmp(r->files[0], "-") == 0 ? "a log" : r->files[0]);
	report_page(r, title, to);
}

static bool write_report(const struct report *r, const struct request *q)
{
	FILE *to;
	bool bad;

	if (!q->output) {
		write_to(r, q, stdout);
		return cli_finish(0, 1) == 0;
	}
	to = fopen(q->output, "we");
	if (!to) {
		cli_say("report: %s: %s", q->output, strerror(errno));
		return false;
	}
	write_to(r, q, to);
	bad = ferror(to) || fflush(to) != 0;
	if (fclose(to) != 0 || bad) {
		cli_say("report: %s: %s", q->output, strerror(errno));
		return false;
	}
	return true;
}

int cmd_report(int argc, char **argv)
{
	struct request q = { NULL, NULL, false };
	struct report r = { .event_count = 0 };
	int status = parse(&q, argc, argv);

	if (status >= 0)
		return status;
	argv += optind;
	argc -= optind;
	if (q.output && is_log(q.output, argv, argc)) {
		cli_say("report: %s is the log itself (name another file with -o)", q.output);
		return EXIT_REPORT_FAILED;
	}
	r.files = (const char *const *)argv;
	r.file_count = (size_t)argc;
	for (int i = 0; i < argc; i++) {
		if (!read_log(&r, argv[i])) {
			report_free(&r);
			return EXIT_REPORT_FAILED;
		}
	}
	report_model(&r);
	status = EXIT_SUCCESS;
	if (!write_report(&r, &q))
		status = EXIT_REPORT_FAILED;
	else if (!r.event_count)
		status = EXIT_REPORT_NOTHING;
	if (status == EXIT_REPORT_NOTHING)
		cli_warn("report: no line of libretry in %s (%lu of others, %lu damaged); "
		         "is it the log? See \"log.to\" in libretry.conf(5)",
		         argc > 1 ? "these files" : argv[0], r.foreign, r.damaged);
	report_free(&r);
	return status;
}
