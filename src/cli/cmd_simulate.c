/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <string.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/sim_study.h"

struct loading {
	bool quiet; /* nobody asked for this file: what is wrong with it is for "check" */
	bool unreadable, errors;
};

static void report(void *ctx, const struct diag *d)
{
	struct loading *l = ctx;
	char text[1200];
	struct fmt f;

	if (d->level < DIAG_UNKNOWN)
		return;
	l->errors |= d->level != DIAG_UNKNOWN;
	l->unreadable |= d->level == DIAG_UNREADABLE;
	if (l->quiet && d->file)
		return;
	fmt_init(&f, text, sizeof(text));
	diag_fmt(&f, d);
	fmt_end(&f);
	cli_say("simulate: %s", text);
}

/* The configuration that a program started here would have, or the one asked for.
 * NULL with *status set after a message. */
static struct config *load(const char *asked, int *status)
{
	static struct env env;
	static char path[PATH_MAX];
	struct loading l = { .quiet = !asked };
	char host[HOST_NAME_MAX + 1] = "";
	const char *file = asked;
	struct config *c;

	env_snapshot(&env, environ, getauxval(AT_SECURE) != 0);
	gethostname(host, sizeof(host) - 1);
	if (!asked && config_locate(&env, SYSCONFDIR, host, path, sizeof(path)))
		file = path;
	if (asked && strcmp(asked, "none") == 0)
		file = NULL;
	c = config_load(file, &lcapi_direct, &env, report, &l);
	if (!c) {
		cli_say("simulate: out of memory");
		*status = EXIT_FAILURE;
		return NULL;
	}
	if (!l.errors)
		return c;
	if (!asked) {
		cli_warn("simulate: %s cannot be used (see \"libretry check\"); built-in policies "
		         "only", file ? file : "the environment");
		return c;
	}
	*status = l.unreadable ? EXIT_FAILURE : EXIT_USAGE;
	config_free(c);
	return NULL;
}

static bool add_policies(const struct sim_options *o, struct sim_policies *p)
{
	static const char *const usual[SIM_KINDS] = {
		[SIM_OUTAGE] = "none,default", [SIM_HERD] = "jitters,default",
		[SIM_OVERLOAD] = "none,default", [SIM_CONTENTION] = "jitters,no-wait"
	};

	for (size_t i = 0; i < o->policy_count; i++)
		if (!sim_policies_add(p, o->policy[i]))
			return false;
	if (o->policy_count == 0 && usual[o->world])
		return sim_policies_add(p, usual[o->world]);
	return true;
}

static int simulate(const struct sim_options *o, const struct sim_policies *p)
{
	struct out out;
	int status = EXIT_USAGE;

	out_open_list(&out, stdout, o->json);
	switch (o->world) {
	case SIM_OUTAGE:
		status = o->legacy ? sim_legacy_main(o, &out) : sim_outage_main(o, p, &out);
		break;
	case SIM_HERD: status = sim_herd_main(o, p, &out); break;
	case SIM_OVERLOAD: status = sim_overload_main(o, p, &out); break;
	case SIM_CONTENTION: status = sim_contention_main(o, p, &out); break;
	case SIM_BUDGET: status = sim_budget_main(o, &out); break;
	case SIM_KINDS: break;
	}
	out_close(&out);
	return cli_finish(status, EXIT_FAILURE);
}

int cmd_simulate(int argc, char **argv)
{
	struct sim_options o;
	struct sim_policies p = { .count = 0 };
	int status = sim_options_read(&o, argc, argv);
	struct config *c;

	if (status >= 0)
		return status;
	c = load(o.config, &status);
	if (!c)
		return status;
	p.config = c;
	p.world = o.world;
	status = add_policies(&o, &p) ? simulate(&o, &p) : EXIT_USAGE;
	sim_policies_free(&p);
	config_free(c);
	free(o.policy);
	return status;
}
