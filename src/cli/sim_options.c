/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/compat.h"
#include "cli/cli.h"
#include "cli/sim_options.h"
#include "config/diag.h"

static const char help[] =
	"Usage: libretry simulate [OPTION]...\n"
	"Try retry policies against a service that fails, on a virtual clock, with the\n"
	"code that retries in programs: how much success for how many attempts.\n"
	"\n"
	"  -p, --policy=LIST      policies to compare, with commas between them: names of\n"
	"                         the configuration; none; seed (those of the published\n"
	"                         simulation: none, fixed-100ms, backoff-40ms); jitters;\n"
	"                         recovery (none, independent, budget-alone, all-at-once,\n"
	"                         coordinated); or\n"
	"                         NAME=base:40ms,mult:2,jitter:full,attempts:4\n"
	"                         (default: none,default)\n"
	"  -c, --config=FILE      the configuration with the policies\n"
	"      --world=WORLD      outage (default), overload, contention, herd, budget\n"
	"      --seeds=N          runs, each with other random numbers (default: 20, and 5\n"
	"                         if they have more than 100000 requests)\n"
	"      --seed=N           the first of them (default: 42)\n"
	"      --json             one JSON array of objects instead of tables\n"
	"      --svg=FILE         draw the results\n"
	"  -h, --help             print this text\n"
	"\n"
	"World \"outage\": requests at a fixed pace, a server that is down at times.\n"
	"      --timeline=FILE    when it is down: lines \"BEGIN END\", or what libretry wrote\n"
	"                         (stats.timeline, or its log); or drawn by chance:\n"
	"                         poisson:GAP,MIN-MAX (default: poisson:2s,50ms-500ms)\n"
	"      --dest=DEST        of a log, the destination (default: what failed most)\n"
	"      --requests=N       (default: 10000)\n"
	"      --every=TIME       from one request to the next (default: 5ms)\n"
	"      --latency=TIME     of each attempt (default: 20ms)\n"
	"      --fail=SHARE       of attempts that fail while it is up (default: 1%)\n"
	"      --error=ERROR      what they fail with (default: ECONNREFUSED)\n"
	"      --legacy-cursor    the published run, its mistake, and the true figures\n"
	"\n"
	"World \"overload\": many clients, a server of limited capacity, one outage.\n"
	"      --clients=N        (default: 1000; in \"contention\": 100)\n"
	"      --hosts=N          machines that they are spread over; on each they share\n"
	"                         budget, breaker and coordinated recovery (default: one\n"
	"                         for each client)\n"
	"      --shared           the same as --hosts=1\n"
	"      --rate=N           calls a second (default: 800)\n"
	"      --capacity=N       requests a second (default: 1000)\n"
	"      --queue=N          requests in line (default: 1000)\n"
	"      --timeout=TIME     of each attempt (default: 500ms)\n"
	"      --duration=TIME    (default: 40s)\n"
	"      --down=FROM-TO     the outage (default: 5s-10s)\n"
	"\n"
	"World \"contention\": clients that change one row, of which one at a time can win.\n"
	"World \"herd\": clients that lose the server at one moment.\n"
	"      --window=TIME      of which the most retries are counted (default: 20ms)\n"
	"World \"budget\": kinds of retry budgets, at given shares of failures (--fail).\n"
	"\n"
	"Exit status: 0 done, 1 a file cannot be read or written, 2 wrong option or value.\n"
	"\n"
	"Examples:\n"
	"  libretry simulate\n"
	"  libretry simulate --policy seed,default --svg curves.svg\n"
	"  libretry simulate --timeline outages.txt --config ./libretry.conf --policy db\n"
	"  libretry simulate --world herd --clients 10000 --policy jitters\n"
	"  libretry simulate --world overload --policy recovery --hosts 10\n";

static const char *const worlds[SIM_KINDS] = { "outage", "herd", "overload", "contention",
	                                       "budget" };

const char *sim_kind_name(enum sim_kind world)
{
	return worlds[world];
}

enum form {
	FORM_FLAG, FORM_TEXT, FORM_TIME, FORM_COUNT, FORM_SHARE, FORM_ERROR, FORM_WORLD,
	FORM_SPAN, FORM_POLICY, FORM_TIMELINE, FORM_HELP
};

enum {
	IN_OUTAGE = 1 << SIM_OUTAGE, IN_HERD = 1 << SIM_HERD, IN_OVERLOAD = 1 << SIM_OVERLOAD,
	IN_CONTENTION = 1 << SIM_CONTENTION, IN_BUDGET = 1 << SIM_BUDGET, IN_ALL = -1
};

#define TO(member) offsetof(struct sim_options, member)
#define TIME_MAX (INT64_C(24) * 3600 * DUR_S)

/* Each option: where its value goes, and in which worlds it has a meaning. */
static const struct spec {
	const char *name;
	enum form form;
	size_t to;
	int worlds;
	int64_t low, high;
	char letter;
} specs[] = {
	{ "policy", FORM_POLICY, 0, IN_ALL & ~IN_BUDGET, 0, 0, 'p' },
	{ "config", FORM_TEXT, TO(config), IN_ALL, 0, 0, 'c' },
	{ "world", FORM_WORLD, 0, IN_ALL, 0, 0, 0 },
	{ "seeds", FORM_COUNT, TO(seeds), IN_ALL, 1, SIM_SEEDS_MAX, 0 },
	{ "seed", FORM_COUNT, TO(seed), IN_ALL, 0, INT64_MAX, 0 },
	{ "json", FORM_FLAG, TO(json), IN_ALL, 0, 0, 0 },
	{ "svg", FORM_TEXT, TO(svg), IN_OUTAGE | IN_HERD | IN_OVERLOAD, 0, 0, 0 },
	{ "help", FORM_HELP, 0, IN_ALL, 0, 0, 'h' },
	{ "timeline", FORM_TIMELINE, 0, IN_OUTAGE, 0, 0, 0 },
	{ "dest", FORM_TEXT, TO(dest), IN_OUTAGE, 0, 0, 0 },
	{ "requests", FORM_COUNT, TO(requests), IN_OUTAGE, 1, 10000000, 0 },
	{ "every", FORM_TIME, TO(every), IN_OUTAGE, DUR_US, TIME_MAX, 0 },
	{ "latency", FORM_TIME, TO(latency), IN_OUTAGE | IN_OVERLOAD | IN_CONTENTION, DUR_US,
	  TIME_MAX, 0 },
	{ "fail", FORM_SHARE, TO(fail), IN_OUTAGE | IN_BUDGET, 0, PPM, 0 },
	{ "error", FORM_ERROR, TO(error), IN_OUTAGE, 0, 0, 0 },
	{ "legacy-cursor", FORM_FLAG, TO(legacy), IN_OUTAGE, 0, 0, 0 },
	{ "clients", FORM_COUNT, TO(clients), IN_HERD | IN_OVERLOAD | IN_CONTENTION, 1, 1000000,
	  0 },
	{ "hosts", FORM_COUNT, TO(hosts), IN_OVERLOAD, 1, 1000000, 0 },
	{ "shared", FORM_FLAG, TO(shared), IN_OVERLOAD, 0, 0, 0 },
	{ "rate", FORM_COUNT, TO(rate), IN_OVERLOAD, 1, 1000000, 0 },
	{ "capacity", FORM_COUNT, TO(capacity), IN_OVERLOAD, 1, 1000000, 0 },
	{ "queue", FORM_COUNT, TO(queue), IN_OVERLOAD, 1, 1000000, 0 },
	{ "timeout", FORM_TIME, TO(timeout), IN_OVERLOAD, DUR_US, TIME_MAX, 0 },
	{ "duration", FORM_TIME, TO(duration), IN_OVERLOAD, DUR_MS, TIME_MAX, 0 },
	{ "down", FORM_SPAN, TO(down_from), IN_OVERLOAD, 0, 0, 0 },
	{ "window", FORM_TIME, TO(window), IN_HERD, DUR_US, TIME_MAX, 0 },
};

static bool wrong(const struct spec *s, const char *value, const char *what)
{
	cli_say("simulate: --%s: \"%s\" %s", s->name, value, what);
	return false;
}

/* "2s"; <what>: an example for the message. */
static bool read_time(const struct spec *s, const char *value, int64_t *ns, const char *what)
{
	enum dur_status status = dur_parse(value, ns);
	char text[128];

	if (status == DUR_OK)
		return true;
	snprintf(text, sizeof(text), "%s (%s)", dur_status_text(status), what);
	return wrong(s, value, text);
}

static bool read_bounded_time(const struct spec *s, const char *value, int64_t *ns)
{
	char low[32], high[32], text[128];
	struct fmt f;

	if (!read_time(s, value, ns, "such as 20ms, 1.5s, 2m"))
		return false;
	if (*ns >= s->low && *ns <= s->high)
		return true;
	fmt_init(&f, low, sizeof(low));
	fmt_dur_exact(&f, s->low);
	fmt_end(&f);
	fmt_init(&f, high, sizeof(high));
	fmt_dur_exact(&f, s->high);
	fmt_end(&f);
	snprintf(text, sizeof(text), "is too %s (%s to %s)", *ns < s->low ? "short" : "long", low,
	         high);
	return wrong(s, value, text);
}

static bool read_count(const struct spec *s, const char *value, int64_t *number)
{
	char *end;
	char text[128];

	errno = 0;
	*number = strtoll(value, &end, 10);
	if (*value >= '0' && *value <= '9' && !*end && !errno && *number >= s->low &&
	    *number <= s->high)
		return true;
	snprintf(text, sizeof(text), "is no number that fits (%lld to %lld)", (long long)s->low,
	         (long long)s->high);
	return wrong(s, value, text);
}

/* "1%" or "0.01" */
static bool read_share(const struct spec *s, const char *value, int64_t *ppm)
{
	char *end;
	double share = strtod(value, &end);

	if (*end == '%') {
		share /= 100;
		end++;
	}
	if (((*value >= '0' && *value <= '9') || *value == '.') && !*end && share >= 0 &&
	    share <= 1) {
		*ppm = (int64_t)(share * (double)PPM + 0.5);
		return true;
	}
	return wrong(s, value, "is no share (0 to 1, or 0% to 100%)");
}

static bool read_error(const struct spec *s, const char *value, struct err *error)
{
	const char *why = "is no error (a name of errno, such as ECONNREFUSED)";

	if (err_parse(value, error) && inject_possible(OP_CONNECT, *error, &why))
		return true;
	return wrong(s, value, why);
}

static bool read_world(const struct spec *s, const char *value, struct sim_options *o)
{
	for (int i = 0; i < SIM_KINDS; i++)
		if (strcmp(worlds[i], value) == 0) {
			o->world = i;
			return true;
		}
	return wrong(s, value, "is no world (outage, overload, contention, herd, budget)");
}

/* "5s-10s" */
static bool read_span(const struct spec *s, const char *value, int64_t *from, int64_t *to)
{
	char *copy = strdup(value);
	char *dash = copy ? strchr(copy, '-') : NULL;
	bool good = false;

	if (!dash) {
		free(copy);
		return wrong(s, value, "is no span (FROM-TO, such as 5s-10s)");
	}
	*dash = '\0';
	if (read_time(s, copy, from, "FROM-TO, such as 5s-10s") &&
	    read_time(s, dash + 1, to, "FROM-TO, such as 5s-10s"))
		good = *to >= *from || wrong(s, value, "ends before it begins (FROM-TO)");
	free(copy);
	return good;
}

static bool read_timeline(const struct spec *s, const char *value, struct sim_options *o)
{
	static const char start[] = "poisson:";
	static const char form[] = "poisson:GAP,MIN-MAX, such as poisson:2s,50ms-500ms";
	const char *comma;
	char gap[48];
	bool good;

	o->timeline = NULL;
	if (strncmp(value, start, sizeof(start) - 1) != 0) {
		o->timeline = value;
		return true;
	}
	value += sizeof(start) - 1;
	comma = strchr(value, ',');
	if (!comma)
		return wrong(s, value, "wants two things (poisson:GAP,MIN-MAX, such as "
		                       "poisson:2s,50ms-500ms)");
	snprintf(gap, sizeof(gap), "%.*s", (int)(comma - value), value);
	good = read_time(s, gap, &o->shape.mean_gap, form) &&
	       read_span(s, comma + 1, &o->shape.min, &o->shape.max);
	if (good && o->shape.mean_gap < DUR_MS)
		return wrong(s, gap, "is too short a gap (1ms or more)");
	return good;
}

static bool read_value(const struct spec *s, const char *value, struct sim_options *o)
{
	void *to = (char *)o + s->to;

	o->every_given |= s->to == TO(every) && s->form == FORM_TIME;
	o->fail_given |= s->form == FORM_SHARE;
	switch (s->form) {
	case FORM_FLAG: *(bool *)to = true; return true;
	case FORM_TEXT: *(const char **)to = value; return true;
	case FORM_TIME: return read_bounded_time(s, value, to);
	case FORM_COUNT: return read_count(s, value, to);
	case FORM_SHARE: return read_share(s, value, to);
	case FORM_ERROR: return read_error(s, value, to);
	case FORM_WORLD: return read_world(s, value, o);
	case FORM_SPAN: return read_span(s, value, &o->down_from, &o->down_to);
	case FORM_TIMELINE: return read_timeline(s, value, o);
	case FORM_POLICY:
		o->policy = reallocarray(o->policy, o->policy_count + 1, sizeof(*o->policy));
		if (!o->policy)
			abort();
		o->policy[o->policy_count++] = value;
		return true;
	case FORM_HELP: break;
	}
	return false;
}

/* An option that the world does not obey would be a silent lie. */
static bool has_meaning(const struct spec *s, enum sim_kind world)
{
	char list[80] = "";
	struct fmt f;

	if (s->worlds & 1 << world)
		return true;
	fmt_init(&f, list, sizeof(list));
	for (int i = 0; i < SIM_KINDS; i++)
		if (s->worlds & 1 << i) {
			fmt_str(&f, f.len ? ", --world " : "--world ");
			fmt_str(&f, worlds[i]);
		}
	fmt_end(&f);
	cli_say("simulate: --%s means nothing in the world \"%s\" (%s)", s->name, worlds[world],
	        list);
	return false;
}

/* What the published run was made with is fixed. */
static bool fits_legacy(const struct spec *s)
{
	if (s->worlds == IN_ALL || s->form == FORM_FLAG)
		return true;
	cli_say("simulate: --%s does not go with --legacy-cursor, which repeats one run (--seed, "
	        "--seeds, --json)", s->name);
	return false;
}

static int usage(void)
{
	fputs("Try \"libretry simulate --help\".\n", stderr);
	return EXIT_USAGE;
}

#define FIRST_OPTION 256

static const struct spec *spec_of(int c)
{
	for (size_t i = 0; i < ARRAY_LEN(specs); i++)
		if (c == FIRST_OPTION + (int)i || c == specs[i].letter)
			return &specs[i];
	return NULL;
}

static int read_all(struct sim_options *o, int argc, char **argv, unsigned *given)
{
	struct option options[ARRAY_LEN(specs) + 1] = { { NULL, 0, NULL, 0 } };

	for (size_t i = 0; i < ARRAY_LEN(specs); i++)
		options[i] = (struct option){ .name = specs[i].name,
		                              .has_arg = specs[i].form == FORM_FLAG ||
		                                         specs[i].form == FORM_HELP ?
		                                         no_argument : required_argument,
		                              .val = FIRST_OPTION + (int)i };
	for (int c; (c = getopt_long(argc, argv, "p:c:h", options, NULL)) != -1;) {
		const struct spec *s = c == '?' ? NULL : spec_of(c);

		if (!s)
			return usage();
		if (s->form == FORM_HELP) {
			fputs(help, stdout);
			return cli_finish(EXIT_SUCCESS, EXIT_USAGE);
		}
		if (!read_value(s, optarg, o))
			return EXIT_USAGE;
		*given |= 1u << (s - specs);
	}
	if (optind == argc)
		return -1;
	cli_say("simulate: %s: what is this? (only options are expected)", argv[optind]);
	return usage();
}

int sim_options_read(struct sim_options *o, int argc, char **argv)
{
	unsigned given = 0;
	int status;

	*o = (struct sim_options){ .seed = 42,
	                           .requests = 10000,
	                           .every = 5 * DUR_MS,
	                           .fail = PPM / 100,
	                           .error = { ERR_ERRNO, ECONNREFUSED },
	                           .shape = { 2 * DUR_S, 50 * DUR_MS, 500 * DUR_MS },
	                           .down_from = -1,
	                           .down_to = -1 };
	status = read_all(o, argc, argv, &given);
	if (status >= 0)
		return status;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++)
		if (given & 1u << i && (!has_meaning(&specs[i], o->world) ||
		                        (o->legacy && !fits_legacy(&specs[i]))))
			return EXIT_USAGE;
	if (o->shared && o->hosts > 1) {
		cli_say("simulate: --shared is --hosts=1, and --hosts=%llu is not (one of them)",
		        (unsigned long long)o->hosts);
		return EXIT_USAGE;
	}
	if (!o->latency && o->world == SIM_OUTAGE)
		o->latency = 20 * DUR_MS;
	return -1;
}
