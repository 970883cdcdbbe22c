/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <netdb.h>

#include "conf_world.h"

#include "policy/classify.h"

static const char *const quiet[] = { NULL };

static const char main_file[] =
	"version = 1;\n"
	"policies = {\n"
	" slow = { base_delay = \"1s\"; max_delay = \"20s\"; deadline = \"1m\"; };\n"
	" steps = { schedule = [ \"1s\", \"2s\" ]; };\n"
	" picky = { retry_on = [ \"refused\" ]; never_on = [ \"timeout\" ]; };\n"
	"};\n"
	"destinations = (\n"
	" { host = \"a\"; policy = \"slow\"; override = { cap = \"soft\"; }; },\n"
	" { host = \"b\"; policy = \"off\"; },\n"
	" { host = \"c\"; policy = \"steps\"; } );\n"
	"programs = ( { exe = \"x\"; policy = \"slow\"; } );\n"
	"log = { to = \"syslog\"; level = \"warn\"; format = \"logfmt\"; };\n";

static struct config *load(const char *a, const char *b)
{
	const char *vars[] = { a, b, NULL };

	world_put("main.conf", main_file);
	return world_load_env(world_path("main.conf"), vars);
}

START_TEST(nothing_set)
{
	struct config *c;

	world_open();
	c = load("LIBRETRY_BASE_DELAY=", NULL);
	world_said("nothing", quiet);
	ck_assert_int_eq(config_policy(c, "slow")->backoff.base, DUR_S);
	ck_assert_int_eq(c->mode, MODE_RETRY);
	ck_assert_int_eq(c->log.to, LOG_TO_SYSLOG);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(over_every_policy)
{
	struct config *c;

	world_open();
	c = load("LIBRETRY_DEADLINE=7s", "LIBRETRY_JITTER=full");
	world_said("every", quiet);
	for (unsigned i = 0; i < c->set.policy_count; i++) {
		ck_assert_int_eq(c->set.policies[i]->deadline, 7 * DUR_S);
		ck_assert_int_eq(c->set.policies[i]->backoff.jitter, JITTER_FULL);
	}
	ck_assert_int_eq(c->set.rules[0].policy->deadline, 7 * DUR_S);
	ck_assert_int_eq(c->set.rules[0].policy->backoff.cap, CAP_SOFT);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(each_field)
{
	static const struct {
		const char *var;
		size_t offset;
		int64_t value;
	} table[] = {
		{ "LIBRETRY_BASE_DELAY=3s", offsetof(struct policy, backoff.base), 3 * DUR_S },
		{ "LIBRETRY_MAX_DELAY=40s", offsetof(struct policy, backoff.max), 40 * DUR_S },
		{ "LIBRETRY_DEADLINE=none", offsetof(struct policy, deadline), DUR_NONE },
		{ "LIBRETRY_ATTEMPT_TIMEOUT=2s", offsetof(struct policy, attempt_timeout),
		  2 * DUR_S },
		{ "LIBRETRY_ATTEMPT_TIMEOUT=none", offsetof(struct policy, attempt_timeout),
		  DUR_NONE },
		{ "LIBRETRY_MULTIPLIER=1.25", offsetof(struct policy, backoff.multiplier),
		  1250000 },
		{ "LIBRETRY_MULTIPLIER=3", offsetof(struct policy, backoff.multiplier), 3000000 },
		{ "LIBRETRY_JITTER_RATIO=0.125", offsetof(struct policy, backoff.jitter_ratio),
		  125000 },
	};

	world_open();
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct config *c = load(table[i].var, NULL);
		int64_t value;

		world_said(table[i].var, quiet);
		memcpy(&value, (const char *)config_policy(c, "slow") + table[i].offset,
		       sizeof(value));
		ck_assert_msg(value == table[i].value, "%s", table[i].var);
		config_free(c);
	}
	world_close();
}
END_TEST

START_TEST(off_stays_off)
{
	struct config *c;

	world_open();
	c = load("LIBRETRY_MAX_ATTEMPTS=9", "LIBRETRY_CAP=soft");
	ck_assert_uint_eq(config_policy(c, "off")->max_attempts, 1);
	ck_assert_int_eq(config_policy(c, "off")->backoff.cap, CAP_SOFT);
	ck_assert_uint_eq(config_policy(c, "default")->max_attempts, 9);
	ck_assert_uint_eq(c->set.rules[1].policy->max_attempts, 1);
	ck_assert_uint_eq(c->set.rules[0].policy->max_attempts, 9);
	config_free(c);
	c = load("LIBRETRY_MAX_ATTEMPTS=1", NULL);
	ck_assert_uint_eq(config_policy(c, "default")->max_attempts, 1);
	config_free(c);
	world_close();
}
END_TEST

/* A policy keeps base <= max: what was not set gives way. */
START_TEST(delays_stay_in_order)
{
	static const char *const lines[] = {
		"W LIBRETRY_BASE_DELAY: \"9s\": is more than LIBRETRY_MAX_DELAY (at most 2s)", NULL,
	};
	struct config *c;

	world_open();
	c = load("LIBRETRY_BASE_DELAY=30s", NULL);
	world_said("base", quiet);
	ck_assert_int_eq(config_policy(c, "slow")->backoff.base, 30 * DUR_S);
	ck_assert_int_eq(config_policy(c, "slow")->backoff.max, 30 * DUR_S);
	ck_assert_int_eq(config_policy(c, "container")->backoff.max, 60 * DUR_S);
	config_free(c);
	c = load("LIBRETRY_MAX_DELAY=50ms", NULL);
	world_said("max", quiet);
	ck_assert_int_eq(config_policy(c, "slow")->backoff.base, 50 * DUR_MS);
	ck_assert_int_eq(config_policy(c, "slow")->backoff.max, 50 * DUR_MS);
	config_free(c);
	c = load("LIBRETRY_BASE_DELAY=9s", "LIBRETRY_MAX_DELAY=2s");
	world_said("both", lines);
	ck_assert_int_eq(config_policy(c, "slow")->backoff.base, DUR_S);
	ck_assert_int_eq(config_policy(c, "slow")->backoff.max, 2 * DUR_S);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(formula_replaces_a_schedule)
{
	static const char *const vars[] = { "LIBRETRY_BASE_DELAY=1s", "LIBRETRY_MAX_DELAY=9s",
		                            "LIBRETRY_MULTIPLIER=3" };
	struct config *c;

	world_open();
	c = load("LIBRETRY_JITTER=none", NULL);
	ck_assert_uint_eq(config_policy(c, "steps")->backoff.schedule_len, 2);
	config_free(c);
	for (size_t i = 0; i < ARRAY_LEN(vars); i++) {
		c = load(vars[i], NULL);
		ck_assert_uint_eq(config_policy(c, "steps")->backoff.schedule_len, 0);
		config_free(c);
	}
	world_close();
}
END_TEST

START_TEST(retry_on)
{
	const struct err timeout = { ERR_ERRNO, ETIMEDOUT }, noent = { ERR_ERRNO, ENOENT },
			 noname = { ERR_EAI, EAI_NONAME }, refused = { ERR_ERRNO, ECONNREFUSED };
	struct config *c;

	world_open();
	c = load("LIBRETRY_RETRY_ON=timeout, ENOENT ,EAI_NONAME", NULL);
	world_said("retry_on", quiet);
	ck_assert(err_set_has(&config_policy(c, "slow")->retry, timeout));
	ck_assert(err_set_has(&config_policy(c, "slow")->retry, noent));
	ck_assert(err_set_has(&config_policy(c, "slow")->retry, noname));
	ck_assert(!err_set_has(&config_policy(c, "slow")->retry, refused));
	/* never_on is another setting, and wins. */
	ck_assert(!err_set_has(&config_policy(c, "picky")->retry, timeout));
	ck_assert(err_set_has(&config_policy(c, "picky")->retry, noent));
	config_free(c);
	world_close();
}
END_TEST

START_TEST(policy)
{
	static const char *const lines[] = {
		"W LIBRETRY_POLICY: \"solw\": no such policy; did you mean \"slow\"?", NULL,
	};
	struct config *c;

	world_open();
	c = load("LIBRETRY_POLICY=interactive", NULL);
	world_said("policy", quiet);
	ck_assert_str_eq(c->set.fallback_policy->name, "interactive");
	for (unsigned i = 0; i < c->set.rule_count; i++)
		ck_assert_str_eq(c->set.rules[i].policy->name, "interactive");
	ck_assert_ptr_null(c->set.programs[0].policy);
	ck_assert(c->before_connect);
	config_free(c);
	c = load("LIBRETRY_POLICY=solw", NULL);
	world_said("unknown", lines);
	ck_assert_str_eq(c->set.fallback_policy->name, "default");
	ck_assert_str_eq(c->set.rules[0].policy->name, "slow");
	ck_assert_uint_eq(c->errors, 0);
	ck_assert_uint_eq(c->warnings, 1);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(log_and_mode)
{
	struct config *c;

	world_open();
	c = load("LIBRETRY_LOG=file:/tmp/x.log", "LIBRETRY_LOG_LEVEL=debug");
	ck_assert_int_eq(c->log.to, LOG_TO_FILE);
	ck_assert_str_eq(c->log.path, "/tmp/x.log");
	ck_assert_int_eq(c->log.level, LOG_DEBUG_LEVEL);
	ck_assert_int_eq(c->log.format, LOG_LOGFMT);
	config_free(c);
	c = load("LIBRETRY_LOG=fd:3", "LIBRETRY_LOG_FORMAT=json");
	ck_assert_int_eq(c->log.to, LOG_TO_FD);
	ck_assert_int_eq(c->log.fd, 3);
	ck_assert_int_eq(c->log.format, LOG_JSON);
	config_free(c);
	c = load("LIBRETRY_LOG=none", "LIBRETRY_MODE=observe");
	ck_assert_int_eq(c->log.to, LOG_TO_NONE);
	ck_assert_int_eq(c->mode, MODE_OBSERVE);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(wrong_values_are_ignored)
{
	static const struct {
		const char *var, *said;
	} table[] = {
		{ "LIBRETRY_BASE_DELAY=5",
		  "W LIBRETRY_BASE_DELAY: \"5\": has no unit (write \"5ms\" or \"5s\")" },
		{ "LIBRETRY_BASE_DELAY=0", "W LIBRETRY_BASE_DELAY: \"0\": must be more than 0" },
		{ "LIBRETRY_MAX_DELAY=none",
		  "W LIBRETRY_MAX_DELAY: \"none\": is not a duration (a duration such as "
		  "\"100ms\", "
		  "\"2s\", \"5m\")" },
		{ "LIBRETRY_DEADLINE=25h",
		  "W LIBRETRY_DEADLINE: \"25h\": is too large (1us to 24h)" },
		{ "LIBRETRY_MULTIPLIER=0.9",
		  "W LIBRETRY_MULTIPLIER: \"0.9\": too small (1 to 100)" },
		{ "LIBRETRY_MULTIPLIER=2x",
		  "W LIBRETRY_MULTIPLIER: \"2x\": is not a number (such as 0.5)" },
		{ "LIBRETRY_MULTIPLIER=99999999999999999999",
		  "W LIBRETRY_MULTIPLIER: \"99999999999999999999\": is not a number (such as "
		  "0.5)" },
		{ "LIBRETRY_JITTER=ful",
		  "W LIBRETRY_JITTER: \"ful\": unknown (full, equal, proportional, additive, "
		  "decorrelated, none); did you mean \"full\"?" },
		{ "LIBRETRY_JITTER_RATIO=-0.5",
		  "W LIBRETRY_JITTER_RATIO: \"-0.5\": is not a number (such as 0.5)" },
		{ "LIBRETRY_JITTER_RATIO=1.0000001", NULL },
		{ "LIBRETRY_JITTER_RATIO=1.000001",
		  "W LIBRETRY_JITTER_RATIO: \"1.000001\": too large (0 to 1)" },
		{ "LIBRETRY_CAP=", NULL },
		{ "LIBRETRY_CAP=HARD", "W LIBRETRY_CAP: \"HARD\": unknown (hard, soft)" },
		{ "LIBRETRY_MAX_ATTEMPTS=0",
		  "W LIBRETRY_MAX_ATTEMPTS: \"0\": too small (1 to 1000)" },
		{ "LIBRETRY_MAX_ATTEMPTS=1e2",
		  "W LIBRETRY_MAX_ATTEMPTS: \"1e2\": is not a whole number" },
		{ "LIBRETRY_RETRY_ON=refused,,timeout",
		  "W LIBRETRY_RETRY_ON: \"refused,,timeout\": has an empty word" },
		{ "LIBRETRY_RETRY_ON=refused,",
		  "W LIBRETRY_RETRY_ON: \"refused,\": has an empty word" },
		{ "LIBRETRY_RETRY_ON=EACCES",
		  "W LIBRETRY_RETRY_ON: \"EACCES\": is never retried: waiting does not cure it "
		  "(leave "
		  "it out)" },
		{ "LIBRETRY_LOG=stdout",
		  "W LIBRETRY_LOG: \"stdout\": unknown (stderr, syslog, file:PATH, unix:PATH, "
		  "fd:N, "
		  "none)" },
		{ "LIBRETRY_LOG=file:x",
		  "W LIBRETRY_LOG: \"file:x\": needs an absolute path "
		  "(file:/var/log/libretry.log)" },
		{ "LIBRETRY_LOG_LEVEL=loud",
		  "W LIBRETRY_LOG_LEVEL: \"loud\": unknown (error, warn, info, debug)" },
		{ "LIBRETRY_LOG_FORMAT=xml",
		  "W LIBRETRY_LOG_FORMAT: \"xml\": unknown (text, logfmt, json)" },
		{ "LIBRETRY_MODE=look", "W LIBRETRY_MODE: \"look\": unknown (retry, observe)" },
		{ "LIBRETRY_MODE=re\ntry",
		  "W LIBRETRY_MODE: \"re\\u000atry\": unknown (retry, observe); did you mean "
		  "\"retry\"?" },
		{ "LIBRETRY_STATS=x", "W LIBRETRY_STATS: \"x\": unknown (none, file:PATH, shm)" },
		{ "LIBRETRY_STATS=shm", NULL },
		{ "LIBRETRY_STATS=file:/x-%p", NULL },
		{ "LIBRETRY_STATS=file:x",
		  "W LIBRETRY_STATS: \"file:x\": needs an absolute path "
		  "(file:/var/log/libretry.log)" },
		{ "LIBRETRY_TIMELINE=file:/x", NULL },
		{ "LIBRETRY_TIMELINE=none", NULL },
		{ "LIBRETRY_TIMELINE=shm",
		  "W LIBRETRY_TIMELINE: \"shm\": unknown (none, file:PATH)" },
		{ "LIBRETRY_BUDGET=none", NULL },
		{ "LIBRETRY_BUDGET=off",
		  "W LIBRETRY_BUDGET: \"off\": unknown (ratio, tokens, none)" },
		{ "LIBRETRY_INJECT=1", NULL },
		{ "LIBRETRY_INJECT=off", NULL },
		{ "LIBRETRY_INJECT=connect:ECONNREFUSED", NULL },
		{ "LIBRETRY_INJECT=conect:ECONNREFUSED",
		  "W LIBRETRY_INJECT: \"conect:ECONNREFUSED\": conect: unknown (connect, "
		  "getaddrinfo, send); did you mean \"connect\"?" },
		{ "LIBRETRY_INJECT=connect",
		  "W LIBRETRY_INJECT: \"connect\": does nothing (such as "
		  "connect:ECONNREFUSED:first=3)" },
		{ "LIBRETRY_INJECT=connect:EPIPE",
		  "W LIBRETRY_INJECT: \"connect:EPIPE\": EPIPE: connect does not return it "
		  "(see connect(2))" },
		{ "LIBRETRY_INJECT=connect:ENOPE",
		  "W LIBRETRY_INJECT: \"connect:ENOPE\": ENOPE: unknown (an error such as "
		  "ECONNREFUSED, reset, or name=value)" },
		{ "LIBRETRY_INJECT=send:reset,,send:reset",
		  "W LIBRETRY_INJECT: \"send:reset,,send:reset\": has an empty word" },
		{ "LIBRETRY_INJECT=getaddrinfo:reset",
		  "W LIBRETRY_INJECT: \"getaddrinfo:reset\": reset: only connect and send can "
		  "be reset" },
		{ "LIBRETRY_INJECT=connect:short_write=1",
		  "W LIBRETRY_INJECT: \"connect:short_write=1\": short_write: only send can be "
		  "cut short" },
		{ "LIBRETRY_INJECT=send:EPIPE:short_write=1",
		  "W LIBRETRY_INJECT: \"send:EPIPE:short_write=1\": an error excludes reset and "
		  "short_write" },
		{ "LIBRETRY_INJECT=connect:ETIMEDOUT:frist=1",
		  "W LIBRETRY_INJECT: \"connect:ETIMEDOUT:frist=1\": frist: unknown (probability, "
		  "first, every, after, delay, delay_jitter, short_write); did you mean "
		  "\"first\"?" },
		{ "LIBRETRY_INJECT=connect:ETIMEDOUT:first=x",
		  "W LIBRETRY_INJECT: \"connect:ETIMEDOUT:first=x\": first: is not a whole "
		  "number" },
		{ "LIBRETRY_INJECT=connect:ETIMEDOUT:probability=101%",
		  "W LIBRETRY_INJECT: \"connect:ETIMEDOUT:probability=101%\": probability: too "
		  "large (0 to 100)" },
		{ "LIBRETRY_INJECT=connect:ETIMEDOUT:probability=30",
		  "W LIBRETRY_INJECT: \"connect:ETIMEDOUT:probability=30\": probability: too "
		  "large (0 to 1)" },
		{ "LIBRETRY_INJECT=connect:delay=1",
		  "W LIBRETRY_INJECT: \"connect:delay=1\": delay: has no unit (write \"1ms\" or "
		  "\"1s\")" },
	};

	world_open();
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const char *lines[] = { table[i].said, NULL };
		const struct policy *p;
		struct config *c = load(table[i].var, NULL);

		world_said(table[i].var, lines);
		p = config_policy(c, "slow");
		ck_assert_uint_eq(c->errors, 0);
		ck_assert_int_eq(p->backoff.base, DUR_S);
		ck_assert_int_eq(p->backoff.max, 20 * DUR_S);
		ck_assert_int_eq(p->deadline, 60 * DUR_S);
		ck_assert_int_eq(p->backoff.multiplier, 2 * PPM);
		ck_assert_int_eq(p->backoff.jitter, JITTER_PROPORTIONAL);
		ck_assert_uint_eq(p->max_attempts, 5);
		ck_assert(err_set_has(&p->retry, (struct err){ ERR_ERRNO, ETIMEDOUT }));
		ck_assert_int_eq(c->log.to, LOG_TO_SYSLOG);
		ck_assert_int_eq(c->log.level, LOG_WARN_LEVEL);
		ck_assert_int_eq(c->log.format, LOG_LOGFMT);
		ck_assert_int_eq(c->mode, MODE_RETRY);
		config_free(c);
	}
	world_close();
}
END_TEST

/* A bad file: built-in policies, and still the environment over them. */
START_TEST(over_the_fallback)
{
	static const char *const vars[] = { "LIBRETRY_BASE_DELAY=200ms", "LIBRETRY_LOG_LEVEL=error",
		                            NULL };
	struct config *c;

	world_open();
	world_put("main.conf", "version = 1; log = { level = \"loud\"; to = \"none\"; };\n"
	                       "policies = { default = { max_attempts = 2; }; mine = { }; };\n"
	                       "destinations = ( { } ); programs = ( { exe = \"x\"; } );\n"
	                       "process = { reload = \"never\"; };");
	c = world_load_env(world_path("main.conf"), vars);
	ck_assert_uint_eq(c->errors, 1);
	ck_assert_int_eq(config_policy(c, "default")->backoff.base, 200 * DUR_MS);
	ck_assert_uint_eq(config_policy(c, "default")->max_attempts, 5);
	ck_assert_ptr_null(config_policy(c, "mine"));
	ck_assert_uint_eq(c->set.rule_count + c->set.program_count, 0);
	ck_assert_int_eq(c->log.to, LOG_TO_STDERR);
	ck_assert_int_eq(c->log.level, LOG_ERROR_LEVEL);
	ck_assert(c->process.reload);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(over_nothing)
{
	static const char *const vars[] = { "LIBRETRY_MAX_ATTEMPTS=3",
	                                    "LIBRETRY_MODE=observe", NULL };
	struct config *c;

	world_open();
	c = world_load_env(NULL, vars);
	ck_assert_uint_eq(c->set.fallback_policy->max_attempts, 3);
	ck_assert_int_eq(c->mode, MODE_OBSERVE);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(too_long_for_the_snapshot)
{
	static char big[ENV_BYTES + 64];
	static const char *const lines[] = {
		"W 1 of libretry's variables are too long; ignored", NULL,
	};
	struct config *c;

	world_open();
	memset(big, 'x', sizeof(big) - 1);
	memcpy(big, "LIBRETRY_RETRY_ON=", 18);
	c = load(big, NULL);
	world_said("long", lines);
	config_free(c);
	world_close();
}
END_TEST

static char listed[1024];

static void list(void *ctx, const char *field, const char *value, const char *variable)
{
	size_t len = strlen(listed);

	ck_assert_ptr_eq(ctx, listed);
	snprintf(listed + len, sizeof(listed) - len, "%s=%s (%s)\n", field, value, variable);
}

START_TEST(listing)
{
	char *vars[] = { "LIBRETRY_BASE_DELAY=1s", "LIBRETRY_MAX_DELAY=oops", "LIBRETRY_LOG=none",
		         "LIBRETRY_POLICY=patient", "LIBRETRY_RETRY_ON=refused",
		         "LIBRETRY_LOG_LEVEL=debug", "LIBRETRY_MODE=observe",
		         "LIBRETRY_STATS=file:/s", "LIBRETRY_TIMELINE=nowhere", NULL };

	env_snapshot(&the_env, vars, false);
	listed[0] = '\0';
	config_overrides(&the_env, list, listed);
	ck_assert_str_eq(listed, "policy=patient (LIBRETRY_POLICY)\n"
	                         "base_delay=1s (LIBRETRY_BASE_DELAY)\n"
	                         "log.level=debug (LIBRETRY_LOG_LEVEL)\n"
	                         "mode=observe (LIBRETRY_MODE)\n"
	                         "retry_on=refused (LIBRETRY_RETRY_ON)\n"
	                         "log.to=none (LIBRETRY_LOG)\n"
	                         "stats.to=file:/s (LIBRETRY_STATS)\n");
	env_snapshot(&the_env, vars, true);
	listed[0] = '\0';
	config_overrides(&the_env, list, listed);
	ck_assert_str_eq(listed, "");
}
END_TEST

/* Over the file, "none" too; and never where the environment is not to be trusted. */
START_TEST(files_to_write)
{
	static const char file[] = "version = 1; stats = { to = \"file:/a\"; timeline = "
				   "\"file:/b\"; };";
	struct config *c;

	world_open();
	world_put("main.conf", file);
	c = world_load_env(world_path("main.conf"), quiet);
	world_said("the file", quiet);
	ck_assert_str_eq(c->stats.path, "/a");
	ck_assert_str_eq(c->log.timeline, "/b");
	ck_assert(!c->process.stats_shm);
	config_free(c);
	c = world_load_env(world_path("main.conf"),
	                   (const char *[]){ "LIBRETRY_STATS=file:/c", "LIBRETRY_TIMELINE=none",
	                                     NULL });
	ck_assert_str_eq(c->stats.path, "/c");
	ck_assert_str_eq(c->log.timeline, "");
	config_free(c);
	c = world_load_env(world_path("main.conf"),
	                   (const char *[]){ "LIBRETRY_STATS=shm", NULL });
	ck_assert(c->process.stats_shm);
	ck_assert_str_eq(c->stats.path, "");
	config_free(c);
	env_snapshot(&the_env, (char *[]){ NULL }, true);
	c = config_load(world_path("main.conf"), &lcapi_direct, &the_env, NULL, NULL);
	ck_assert_str_eq(c->stats.path, "");
	ck_assert_str_eq(c->log.timeline, "");
	config_free(c);
	world_close();
}
END_TEST

UNIT_MAIN("overrides", &nothing_set, &over_every_policy, &each_field, &off_stays_off,
          &delays_stay_in_order, &formula_replaces_a_schedule, &retry_on, &policy,
          &log_and_mode, &wrong_values_are_ignored, &over_the_fallback, &over_nothing,
          &too_long_for_the_snapshot, &listing, &files_to_write)
