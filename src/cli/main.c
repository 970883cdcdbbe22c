/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compat.h"
#include "cli/cli.h"
#include "config/diag.h"

static const struct command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "run", "start a program with libretry.so preloaded", cmd_run },
	{ "check", "check a configuration file and show what it says", cmd_check },
	{ "stats", "show what was counted, and what breakers and budgets say", cmd_stats },
	{ "hold", "keep programs from trying a destination for a while", cmd_hold },
	{ "release", "end a hold", cmd_release },
	{ "explain", "show which rule applies to a destination, and what it does", cmd_explain },
	{ "simulate", "try policies against outages on a virtual clock", cmd_simulate },
	{ "suggest", "propose a policy from a log of failures", cmd_suggest },
	{ "doctor", "tell whether a program can be covered", cmd_doctor },
	{ "report", "make an HTML page of a log", cmd_report },
};

static void print_usage(FILE *to)
{
	fputs("Usage: libretry COMMAND [ARGUMENT]...\n"
	      "Retry failing connects and name lookups of unmodified programs.\n\n", to);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(to, "  %-8s  %s\n", commands[i].name, commands[i].summary);
	fputs("\n"
	      "  -h, --help     print this text; \"libretry help COMMAND\" tells more\n"
	      "  -V, --version  print the version\n"
	      "\n"
	      "Manual pages: libretry(1), libretry.conf(5), libretry(7).\n", to);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

static int unknown(const char *name)
{
	struct nearest near = nearest_to(name);

	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		nearest_offer(&near, commands[i].name);
	if (near.best)
		cli_say("%s: no such command; did you mean \"%s\"?", name, near.best);
	else
		cli_say("%s: no such command", name);
	fputs("Try \"libretry --help\".\n", stderr);
	return EXIT_USAGE;
}

static int help(int argc, char **argv)
{
	static char option[] = "--help";
	const struct command *c;

	if (argc < 2) {
		print_usage(stdout);
		return cli_finish(EXIT_SUCCESS, EXIT_USAGE);
	}
	c = find_command(argv[1]);
	if (!c)
		return unknown(argv[1]);

	char *args[] = { argv[1], option, NULL };

	return c->run(2, args);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct command *c;

	if (!word) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return help(argc - 1, argv + 1);
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
		puts("libretry " PACKAGE_VERSION);
		return cli_finish(EXIT_SUCCESS, EXIT_USAGE);
	}
	if (word[0] == '-') {
		cli_say("%s: no such option", word);
		fputs("Try \"libretry --help\".\n", stderr);
		return EXIT_USAGE;
	}
	c = find_command(word);
	return c ? c->run(argc - 1, argv + 1) : unknown(word);
}
