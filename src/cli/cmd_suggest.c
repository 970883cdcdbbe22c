/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/need.h"
#include "cli/suggest.h"
#include "config/timeline.h"

/* Of a timeline nobody knows it; a refusal nearby. */
#define LATENCY (1 * DUR_MS)

/* Further destinations would not be read by anybody. */
#define DESTS_MAX 20

static const char help[] =
	"Usage: libretry suggest [OPTION]... LOG|TIMELINE\n"
	"Propose a policy from the outages in a log of libretry, or in a timeline: base_delay,\n"
	"max_delay, max_attempts, deadline and the success to expect, by simulation over these\n"
	"outages. What is printed can be read by libretry as it is. LOG is text, logfmt or\n"
	"JSON, or - for standard input.\n"
	"\n"
	"      --dest=DEST       only this destination, as the log writes it\n"
	"      --target=PERCENT  of calls that begin in an outage, so many shall succeed (99)\n"
	"      --within=TIME     the longest that a call may take (2m)\n"
	"      --gap=TIME        after so long without a failure another outage begins (30s)\n"
	"      --latency=TIME    how long a failed attempt takes (as in the log, 1ms)\n"
	"      --json            one JSON object instead of text\n"
	"  -h, --help            print this text\n"
	"\n"
	"Exit status: 0, 1 nothing to learn from, 2 wrong options, 3 LOG cannot be read.\n"
	"\n"
	"Examples:\n"
	"  libretry suggest /var/log/retry.log\n"
	"  libretry suggest --within=30s --dest=db1:5432 retry.log >db1.conf\n"
	"  libretry suggest outages.timeline\n";

static int usage(void)
{
	fputs("Try \"libretry suggest --help\".\n", stderr);
	return EXIT_USAGE;
}

static bool take_time(const char *option, int64_t *ns)
{
	enum dur_status status = dur_parse(optarg, ns);

	if (status == DUR_OK && *ns > 0)
		return true;
	cli_say("--%s %s: %s (such as 30s)", option, optarg,
	        status == DUR_OK ? "is nothing" : dur_status_text(status));
	return false;
}

static bool take_target(double *share)
{
	char *end;
	double percent = strtod(optarg, &end);

	if (end != optarg && (!*end || strcmp(end, "%") == 0) && percent > 0 && percent <= 100) {
		*share = percent / 100;
		return true;
	}
	cli_say("--target %s: not understood (more than 0, at most 100, percent)", optarg);
	return false;
}

enum { OPT_DEST = 256, OPT_TARGET, OPT_WITHIN, OPT_GAP, OPT_LATENCY, OPT_JSON };

static bool take_option(struct suggest *s, int c)
{
	switch (c) {
	case OPT_DEST: s->dest = optarg; return true;
	case OPT_TARGET: return take_target(&s->target);
	case OPT_WITHIN: return take_time("within", &s->within);
	case OPT_GAP: return take_time("gap", &s->gap);
	case OPT_LATENCY: return take_time("latency", &s->latency);
	case OPT_JSON: s->json = true; return true;
	default: return false;
	}
}

/* -1: go on; else the exit status. */
static int parse(struct suggest *s, int argc, char **argv)
{
	static const struct option options[] = {
		{ "dest", required_argument, NULL, OPT_DEST },
		{ "target", required_argument, NULL, OPT_TARGET },
		{ "within", required_argument, NULL, OPT_WITHIN },
		{ "gap", required_argument, NULL, OPT_GAP },
		{ "latency", required_argument, NULL, OPT_LATENCY },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};

	for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		if (c == 'h') {
			fputs(help, stdout);
			return cli_finish(EXIT_SUCCESS, EXIT_USAGE);
		}
		if (!take_option(s, c))
			return usage();
	}
	if (argc - optind != 1) {
		cli_say(optind == argc ? "suggest: no log given" : "suggest: more than one file given");
		return usage();
	}
	s->path = argv[optind];
	return -1;
}

/* As if a log had told of one destination. */
static void from_timeline(struct suggest *s, const struct timeline *t)
{
	struct dest_seen *d = need(calloc(1, sizeof(*d)));

	d->dest = need(strdup(""));
	d->list = need(calloc(t->count, sizeof(*d->list)));
	d->count = t->count;
	for (unsigned i = 0; i < t->count; i++) {
		d->list[i] = (struct outage_seen){ .start = t->list[i].start,
			                           .last = t->list[i].end,
			                           .end = t->list[i].end };
		s->seen.last = t->list[i].end > s->seen.last ? t->list[i].end : s->seen.last;
	}
	s->seen.dests = d;
	s->seen.count = 1;
	s->timeline = true;
}

static bool read_timeline(struct suggest *s)
{
	struct arena *keep = arena_new(), *scratch = arena_new();
	struct timeline t;
	char text[256];
	struct fmt why;
	bool ok;

	need(keep);
	need(scratch);
	fmt_init(&why, text, sizeof(text));
	ok = timeline_load(&t, s->path, keep, scratch, &why);
	fmt_end(&why);
	if (ok)
		from_timeline(s, &t);
	else
		cli_say("%s: holds no line that libretry logged, and is no timeline: %s", s->path,
		        text);
	arena_free(keep);
	arena_free(scratch);
	return ok;
}

/* False after a message. */
static bool read_input(struct suggest *s)
{
	struct logread *r;

	if (cli_is_compressed(s->path)) {
		cli_say("%s is compressed (unpack it: zcat LOG | libretry suggest -)", s->path);
		return false;
	}
	r = logread_open(s->path);
	if (!r) {
		cli_say("%s: %s", s->path, strerror(errno));
		return false;
	}
	seen_read(&s->seen, r, s->gap);
	s->damaged = logread_damaged(r) > 0;
	logread_close(r);
	if (s->seen.lines)
		return true;
	if (strcmp(s->path, "-") != 0)
		return read_timeline(s);
	cli_say("standard input: holds no line that libretry logged");
	return false;
}

static int compare(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* "for-db1-5432": what libconfig takes for a name, and no other policy's. */
static void name_policy(const struct suggest *s, struct suggestion *list, size_t index)
{
	struct suggestion *g = &list[index];
	struct fmt f;

	fmt_init(&f, g->name, sizeof(g->name) - 8);
	fmt_str(&f, s->timeline ? "suggested" : "for");
	for (const char *c = g->dest->dest; *c; c++) {
		if (!is_plain(*c))
			continue;
		if (c == g->dest->dest || !is_plain(c[-1]))
			fmt_char(&f, '-');
		fmt_char(&f, *c);
	}
	fmt_end(&f);
	for (size_t i = 0; i < index; i++) {
		if (strcmp(list[i].name, g->name) != 0)
			continue;
		f.cap = sizeof(g->name);
		fmt_char(&f, '-');
		fmt_u64(&f, index + 1);
		fmt_end(&f);
		return;
	}
}

static void work_out(const struct suggest *s, struct suggestion *g)
{
	struct interval *list = need(calloc(g->dest->count + 1, sizeof(*list)));
	int64_t *lengths = need(calloc(g->dest->count + 1, sizeof(*lengths)));
	struct sim_outages outages;
	struct advice_world w = { .outages = &outages,
		                  .target = s->target,
		                  .within = s->within };
	size_t count = seen_intervals(g->dest, list, &g->open);

	sim_outages_set(&outages, list, count);
	g->counted = outages.count;
	for (size_t i = 0; i < outages.count; i++)
		g->down += lengths[i] = outages.list[i].end - outages.list[i].start;
	if (g->counted) {
		qsort(lengths, g->counted, sizeof(*lengths), compare);
		g->shortest = lengths[0];
		g->median = lengths[g->counted / 2];
		g->longest = lengths[g->counted - 1];
		g->latency = s->latency != DUR_NONE ? s->latency
		             : s->timeline          ? LATENCY
		                                    : g->dest->elapsed;
		w.latency = g->latency;
		g->possible = advise(&g->advice, &w);
	}
	sim_outages_free(&outages);
	free(list);
	free(lengths);
}

/* All destinations that something was learnt of. *<wanted>: whether --dest is there. */
static size_t learn(const struct suggest *s, struct suggestion *list, bool *wanted)
{
	size_t count = 0;

	*wanted = !s->dest;
	for (size_t i = 0; i < s->seen.count && count < DESTS_MAX; i++) {
		struct suggestion *g = &list[count];

		if (s->dest && strcmp(s->dest, s->seen.dests[i].dest) != 0)
			continue;
		*wanted = true;
		memset(g, 0, sizeof(*g));
		g->dest = &s->seen.dests[i];
		work_out(s, g);
		if (!g->counted) {
			cli_warn("%s: failed only once, so nothing is known about how long it lasts",
			         g->dest->dest);
			continue;
		}
		name_policy(s, list, count);
		count++;
	}
	if (count == DESTS_MAX && s->seen.count > DESTS_MAX)
		cli_warn("%zu destinations failed; the %d with the most failures are looked at "
		         "(--dest)", s->seen.count, DESTS_MAX);
	return count;
}

int cmd_suggest(int argc, char **argv)
{
	static struct suggestion list[DESTS_MAX];
	static struct suggest s = { .target = 0.99,
		                    .within = 120 * DUR_S,
		                    .gap = SEEN_GAP,
		                    .latency = DUR_NONE };
	bool wanted, any = false;
	struct out o;
	size_t count;
	int status = parse(&s, argc, argv);

	if (status >= 0)
		return status;
	if (!read_input(&s))
		return EXIT_SUGGEST_UNREADABLE;
	count = learn(&s, list, &wanted);
	if (!wanted)
		cli_say("--dest %s: no failure of it in %s", s.dest, s.path);
	else if (!count)
		cli_say("%s: no outage to learn from", s.path);
	if (count) {
		out_open(&o, stdout, s.json);
		suggest_say(&o, &s, list, count);
		out_close(&o);
	}
	for (size_t i = 0; i < count; i++)
		any |= list[i].possible;
	seen_free(&s.seen);
	return cli_finish(any ? EXIT_SUCCESS : EXIT_SUGGEST_NOTHING, EXIT_SUGGEST_UNREADABLE);
}
