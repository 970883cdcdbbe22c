/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/compat.h"
#include "cli/cli.h"
#include "cli/explain.h"
#include "config/diag.h"

#define REPLICAS_MAX 1000000
#define CALLS_MAX 1000

static const char help[] =
	"Usage: libretry explain [OPTION]... [connect|lookup|send] DEST\n"
	"Show what the library does when a call to DEST fails: which rule applies and why\n"
	"the ones before it do not, the waits, and how long all of it can take. DEST is\n"
	"host:port, host, address:port, [v6]:port, /unix/path or @abstract. Nobody is\n"
	"asked and nothing is connected.\n"
	"\n"
	"      --op=CALL       connect (default), lookup or send\n"
	"      --addr=ADDRESS  the address that the name has, for rules with addr\n"
	"      --proto=PROTO   tcp (default) or udp\n"
	"      --exe=PROGRAM   the program that calls, for the entries of programs\n"
	"      --error=NAME    what the call fails with, such as ECONNREFUSED or EAI_AGAIN\n"
	"      --config=FILE   this file instead of the one in use; none: built in\n"
	"      --replicas=N    so many copies of the program run\n"
	"      --outer=N[,N]   calls that each layer above makes of one request\n"
	"      --grace=TIME    time for a stop, such as 30s: status 1 if it can take longer\n"
	"      --json          one JSON object instead of text\n"
	"  -h, --help          print this text\n"
	"\n"
	"Exit status: 0, 1 if --grace is too short, 2 wrong options, 3 FILE or memory.\n"
	"\n"
	"Examples:\n"
	"  libretry explain db1:5432\n"
	"  libretry explain db1:5432 --exe /usr/bin/psql --error ECONNREFUSED\n"
	"  libretry explain lookup db1\n"
	"  libretry explain /run/mysqld/mysqld.sock --grace 30s --outer 3,3\n";

static int usage(void)
{
	fputs("Try \"libretry explain --help\".\n", stderr);
	return EXIT_USAGE;
}

static bool take_op(struct question *q, const char *word)
{
	static const enum op ops[] = { OP_CONNECT, OP_LOOKUP, OP_SEND };

	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		if (strcmp(word, op_name(ops[i])) != 0)
			continue;
		q->op = ops[i];
		return true;
	}
	return false;
}

static bool take_proto(struct question *q, const char *word)
{
	if (strcmp(word, "tcp") == 0)
		q->proto = PROTO_TCP;
	else if (strcmp(word, "udp") == 0)
		q->proto = PROTO_UDP;
	else
		cli_say("--proto %s: unknown (tcp, udp)", word);
	return q->proto != PROTO_ANY;
}

static bool take_error(struct question *q, const char *name)
{
	struct nearest near = nearest_to(name);
	const char *known;

	q->error_name = name;
	if (err_parse(name, &q->error))
		return true;
	for (unsigned i = 0; (known = err_table_name(i)) != NULL; i++)
		nearest_offer(&near, known);
	if (near.best)
		cli_say("--error %s: unknown; did you mean \"%s\"?", name, near.best);
	else
		cli_say("--error %s: unknown (a name such as ECONNREFUSED or EAI_AGAIN)", name);
	return false;
}

static bool number(const char *text, unsigned long most, unsigned *value, char **end)
{
	unsigned long n;

	if (*text < '0' || *text > '9')
		return false;
	n = strtoul(text, end, 10);
	*value = (unsigned)n;
	return n >= 1 && n <= most;
}

static bool take_outer(struct question *q, const char *text)
{
	char *end = NULL;

	for (const char *at = text;; at = end + 1) {
		if (q->outer_count == OUTER_MAX ||
		    !number(at, CALLS_MAX, &q->outer[q->outer_count], &end) ||
		    (*end && *end != ','))
			break;
		q->outer_count++;
		if (!*end)
			return true;
	}
	cli_say("--outer %s: not understood (1 to %d calls for each of at most %d layers, such "
	        "as 3,3)", text, CALLS_MAX, OUTER_MAX);
	return false;
}

static bool take_replicas(struct question *q, const char *text)
{
	char *end = NULL;

	if (number(text, REPLICAS_MAX, &q->replicas, &end) && !*end)
		return true;
	cli_say("--replicas %s: not understood (1 to %d)", text, REPLICAS_MAX);
	return false;
}

static bool take_grace(struct question *q, const char *text)
{
	enum dur_status status = dur_parse(text, &q->grace);

	if (status == DUR_OK)
		return true;
	cli_say("--grace %s: %s (such as 30s)", text, dur_status_text(status));
	return false;
}

static bool take_addr(struct dest_arg *addr, const char *text)
{
	const char *why;

	if (dest_arg_parse(addr, text, &why) && addr->addr.family != AF_UNSPEC &&
	    addr->addr.family != AF_UNIX && addr->port < 0)
		return true;
	cli_say("--addr %s: is no address (such as 192.0.2.10)", text);
	return false;
}

enum { OPT_OP = 256, OPT_ADDR, OPT_PROTO, OPT_EXE, OPT_ERROR, OPT_CONFIG, OPT_REPLICAS,
       OPT_OUTER, OPT_GRACE, OPT_JSON };

static bool take_option(struct question *q, struct dest_arg *addr, int c)
{
	switch (c) {
	case OPT_OP:
		if (take_op(q, optarg))
			return true;
		cli_say("--op %s: unknown (connect, lookup, send)", optarg);
		return false;
	case OPT_ADDR: return take_addr(addr, optarg);
	case OPT_PROTO: return take_proto(q, optarg);
	case OPT_EXE: q->exe = optarg; return true;
	case OPT_ERROR: return take_error(q, optarg);
	case OPT_CONFIG: q->config = optarg; return true;
	case OPT_REPLICAS: return take_replicas(q, optarg);
	case OPT_OUTER: return take_outer(q, optarg);
	case OPT_GRACE: return take_grace(q, optarg);
	case OPT_JSON: q->json = true; return true;
	default: return false;
	}
}

/* What is left after the options: a call, perhaps, and the destination. */
static bool take_dest(struct question *q, const struct dest_arg *addr, int count, char **words)
{
	const char *why;

	if (count == 2 && take_op(q, words[0])) {
		words++;
		count--;
	}
	if (count != 1) {
		cli_say(count ? "explain: one destination is wanted, after connect, lookup or send"
		              : "explain: no destination given");
		return false;
	}
	q->text = words[0];
	if (!dest_arg_parse(&q->dest, q->text, &why)) {
		cli_say("\"%s\" %s", q->text, why);
		return false;
	}
	if (addr->addr.family == AF_UNSPEC)
		return true;
	if (!q->dest.name[0]) {
		cli_say("--addr: %s is no name", q->text);
		return false;
	}
	q->dest.addr = addr->addr;
	if (q->dest.port >= 0)
		q->dest.addr.port = (uint16_t)q->dest.port;
	return true;
}

/* -1: go on; else the exit status. */
static int parse(struct question *q, int argc, char **argv)
{
	static const struct option options[] = {
		{ "op", required_argument, NULL, OPT_OP },
		{ "addr", required_argument, NULL, OPT_ADDR },
		{ "proto", required_argument, NULL, OPT_PROTO },
		{ "exe", required_argument, NULL, OPT_EXE },
		{ "error", required_argument, NULL, OPT_ERROR },
		{ "config", required_argument, NULL, OPT_CONFIG },
		{ "replicas", required_argument, NULL, OPT_REPLICAS },
		{ "outer", required_argument, NULL, OPT_OUTER },
		{ "grace", required_argument, NULL, OPT_GRACE },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	struct dest_arg addr = { .addr = { .family = AF_UNSPEC } };

	for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		if (c == 'h') {
			fputs(help, stdout);
			return cli_finish(EXIT_SUCCESS, EXIT_USAGE);
		}
		if (!take_option(q, &addr, c))
			return usage();
	}
	return take_dest(q, &addr, argc - optind, argv + optind) ? -1 : usage();
}

int cmd_explain(int argc, char **argv)
{
	static struct question q = { .grace = DUR_NONE };
	static struct answer a;
	struct out o;
	int status = parse(&q, argc, argv);

	if (status >= 0)
		return status;
	if (!explain_answer(&a, &q))
		return EXIT_CHECK_UNREADABLE;
	out_open(&o, stdout, q.json);
	explain_say(&o, &a);
	out_close(&o);
	status = explain_grace_holds(&a) ? EXIT_SUCCESS : EXIT_EXPLAIN_GRACE;
	config_free(a.c);
	return cli_finish(status, EXIT_CHECK_UNREADABLE);
}
