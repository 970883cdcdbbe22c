/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "cli/cli.h"
#include "cli/stats.h"

static const char help[] =
	"Usage: libretry stats [OPTION]...\n"
	"Show what programs under the library have counted and remember together: calls,\n"
	"retries, failures, breakers, budgets, for each destination and policy. Programs\n"
	"count if LIBRETRY_STATS=shm is in their environment, or stats.to = \"shm\" in\n"
	"their configuration.\n"
	"\n"
	"      --json           one JSON object instead of tables\n"
	"  -w, --watch [SECONDS]  show it again and again, each second; q ends\n"
	"      --prometheus     the text format of Prometheus\n"
	"  -o, --output=FILE    --prometheus into a file, which is replaced at once\n"
	"      --serve=ADDR:PORT  answer HTTP there: /metrics and /health\n"
	"      --reset          forget everything: counts, breakers, budgets, holds\n"
	"  -u, --user=USER      of this user, for root\n"
	"  -g, --group=GROUP    of this group (process.host_group)\n"
	"  -h, --help           print this text\n"
	"\n"
	"Exit status: 0 done, 1 there are no statistics or they cannot be read, 2 a wrong\n"
	"option. Without statistics --prometheus and --serve say so in what they print.\n"
	"\n"
	"Examples:\n"
	"  LIBRETRY_STATS=shm libretry run ./orders & libretry stats --watch\n"
	"  libretry stats --json | jq '.destinations[] | select(.gave_up > 0)'\n"
	"  libretry stats --prometheus -o /var/lib/prometheus/node-exporter/libretry.prom\n"
	"  libretry stats --serve 127.0.0.1:9469\n";

struct wanted {
	bool json, watch, prometheus, reset;
	int64_t every;
	const char *output, *serve, *user, *group;
};

static int usage(void)
{
	fputs("Try \"libretry stats --help\".\n", stderr);
	return EXIT_USAGE;
}

/* Seconds, or a duration with its unit. */
static bool parse_every(const char *text, int64_t *every)
{
	enum dur_status status = dur_parse(text, every);
	char with_unit[32];
	struct fmt f;

	if (status == DUR_NO_UNIT) {
		fmt_init(&f, with_unit, sizeof(with_unit));
		fmt_str(&f, text);
		fmt_char(&f, 's');
		fmt_end(&f);
		status = dur_parse(with_unit, every);
	}
	if (status == DUR_OK && *every >= 10 * DUR_MS)
		return true;
	cli_say("stats: --watch: \"%s\" %s", text,
	        status == DUR_OK ? "is too short (at least 10ms)" : dur_status_text(status));
	return false;
}

enum { OPT_JSON = 256, OPT_PROMETHEUS, OPT_SERVE, OPT_RESET };

/* False: not one of ours, or its value makes no sense. */
static bool option(struct wanted *w, int c)
{
	switch (c) {
	case OPT_JSON: w->json = true; return true;
	case OPT_PROMETHEUS: w->prometheus = true; return true;
	case OPT_SERVE: w->serve = optarg; return true;
	case OPT_RESET: w->reset = true; return true;
	case 'o': w->output = optarg; return true;
	case 'u': w->user = optarg; return true;
	case 'g': w->group = optarg; return true;
	case 'w':
		w->watch = true;
		return !optarg || parse_every(optarg, &w->every);
	default:
		return false;
	}
}

static bool makes_sense(const struct wanted *w)
{
	unsigned ways = (unsigned)(w->json || w->watch) + w->prometheus + (w->serve != NULL) +
	                w->reset;

	if (ways > 1)
		cli_say("stats: --json and --watch, --prometheus, --serve and --reset exclude each "
		        "other");
	else if (w->output && !w->prometheus)
		cli_say("stats: -o is for --prometheus");
	return ways <= 1 && (!w->output || w->prometheus);
}

/* -1: go on; else the exit status. */
static int parse(struct wanted *w, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPT_JSON },
		{ "watch", optional_argument, NULL, 'w' },
		{ "prometheus", no_argument, NULL, OPT_PROMETHEUS },
		{ "output", required_argument, NULL, 'o' },
		{ "serve", required_argument, NULL, OPT_SERVE },
		{ "reset", no_argument, NULL, OPT_RESET },
		{ "user", required_argument, NULL, 'u' },
		{ "group", required_argument, NULL, 'g' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};

	for (int c; (c = getopt_long(argc, argv, "w::o:u:g:h", options, NULL)) != -1;) {
		if (c == 'h') {
			fputs(help, stdout);
			return cli_finish(EXIT_SUCCESS, EXIT_USAGE);
		}
		if (!option(w, c))
			return usage();
	}
	/* "--watch 2" as well as "--watch=2". */
	if (w->watch && optind == argc - 1 && !parse_every(argv[optind++], &w->every))
		return usage();
	if (optind < argc) {
		cli_say("stats: %s: an argument that nobody asked for", argv[optind]);
		return usage();
	}
	return makes_sense(w) ? -1 : usage();
}

static int reset(const struct segment *s)
{
	int error = shm_retire(s->path);

	if (error == ENOENT) {
		printf("%s: there is nothing to forget\n", s->whose);
	} else if (error) {
		segment_say(s, error);
		return EXIT_FAILURE;
	} else {
		printf("%s: forgotten; running programs begin anew at their next failure\n",
		       s->whose);
	}
	return cli_finish(EXIT_SUCCESS, EXIT_FAILURE);
}

static int show(struct stats *st, const struct segment *s, const struct wanted *w)
{
	int error = stats_take(st, s);
	struct out o;

	if (error && (error != ENOENT || !w->prometheus)) {
		segment_say(s, error);
		return EXIT_FAILURE;
	}
	if (w->output)
		return stats_prometheus_file(w->output, st) ? EXIT_SUCCESS : EXIT_FAILURE;
	if (w->prometheus) {
		stats_prometheus(stdout, st);
	} else {
		out_open(&o, stdout, w->json);
		stats_show(&o, st);
		out_close(&o);
	}
	return cli_finish(EXIT_SUCCESS, EXIT_FAILURE);
}

int cmd_stats(int argc, char **argv)
{
	static struct stats st;
	struct wanted w = { .every = DUR_S };
	struct segment segment;
	int status = parse(&w, argc, argv);

	if (status >= 0)
		return status;
	if (!segment_choose(&segment, w.user, w.group))
		return EXIT_FAILURE;
	if (w.reset)
		return reset(&segment);
	if (w.serve)
		return stats_serve(&st, &segment, w.serve);
	if (w.watch)
		return stats_watch(&st, &segment, w.json, w.every);
	return show(&st, &segment, &w);
}
