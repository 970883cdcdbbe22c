/* SPDX-License-Identifier: MIT */
#include "tests/unit/conf_world.h"

#include <errno.h>
#include <netdb.h>

#include "base/prng.h"

static const char file[] =
	"version = 1;\n"
	"inject = { enabled = true; seed = 42; faults = (\n"
	"{ call = \"connect\"; host = \"db?.example.net\"; port = \"5432\"; proto = \"tcp\";\n"
	"  error = \"ECONNREFUSED\"; first = 3; after = 2; },\n"
	"{ call = \"getaddrinfo\"; host = \"*\"; error = \"EAI_AGAIN\"; probability = 0.05; },\n"
	"{ call = \"connect\"; delay = \"200ms\"; delay_jitter = \"50ms\"; },\n"
	"{ call = \"send\"; unix = \"*\"; short_write = 1; every = 10; },\n"
	"{ call = \"send\"; reset = true; outage = { mean_gap = \"2s\"; max = \"5ms\"; }; },\n"
	"{ call = \"connect\"; error = \"ETIMEDOUT\"; timeline = \"file:TIMELINE\"; }\n"
	"); };\n";

static struct config *load(const char *const *vars)
{
	char text[2048];
	const char *at = strstr(file, "TIMELINE");

	world_put("line", "1s 2s\n3s 4s\n");
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - file), file, world_path("line"),
	         at + strlen("TIMELINE"));
	world_put("main.conf", text);
	return world_load_env(world_path("main.conf"), vars);
}

START_TEST(faults_are_read)
{
	static const char *const vars[] = { "LIBRETRY_INJECT=1", NULL };
	const struct fault *f;
	struct config *c;

	world_open();
	c = load(vars);
	world_said("good", (const char *const[]){ NULL });
	ck_assert(c->inject.enabled && c->inject.seeded);
	ck_assert_uint_eq(c->inject.seed, 42);
	ck_assert_uint_eq(c->inject.count, 6);
	f = c->inject.faults;
	ck_assert_uint_eq(f[0].source.line, 3);
	ck_assert(f[0].op == OP_CONNECT && f[0].error.code == ECONNREFUSED);
	ck_assert(f[0].first == 3 && f[0].after == 2 && f[0].every == 0);
	ck_assert_int_eq(f[0].probability, PPM);
	ck_assert_str_eq(f[0].match.hosts[0], "db?.example.net");
	ck_assert(f[0].match.ports[0].low == 5432 && f[0].match.proto == PROTO_TCP);
	ck_assert(f[1].op == OP_LOOKUP && f[1].error.domain == ERR_EAI);
	ck_assert(f[1].error.code == EAI_AGAIN && f[1].probability == PPM / 20);
	ck_assert(f[2].delay == 200 * DUR_MS && f[2].delay_jitter == 50 * DUR_MS);
	ck_assert(f[2].error.code == 0 && !f[2].reset && !f[2].timeline);
	ck_assert(f[3].op == OP_SEND && f[3].short_write == 1 && f[3].every == 10);
	ck_assert_uint_eq(f[3].match.unix_count, 1);
	ck_assert(f[4].reset && f[4].outage.mean_gap == 2 * DUR_S && f[4].outage.min == 0);
	ck_assert_int_eq(f[4].outage.max, 5 * DUR_MS);
	ck_assert_uint_eq(f[5].timeline_count, 2);
	ck_assert_int_eq(f[5].timeline[1].end, 4 * DUR_S);
	config_free(c);
	world_close();
}
END_TEST

/* Both the file and the variable must want it. */
START_TEST(what_is_in_force)
{
	static const struct {
		const char *var;
		bool in_force;
		unsigned count;
	} cases[] = {
		{ NULL, false, 6 },
		{ "LIBRETRY_INJECT=", false, 6 },
		{ "LIBRETRY_INJECT=0", false, 6 },
		{ "LIBRETRY_INJECT=no", false, 6 },
		{ "LIBRETRY_INJECT=1", true, 6 },
		{ "LIBRETRY_INJECT=yes", true, 6 },
		{ "LIBRETRY_INJECT=send:reset", true, 1 },
		{ "LIBRETRY_INJECT=nonsense", false, 6 },
	};

	world_open();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *vars[] = { cases[i].var, NULL };
		struct config *c = load(vars);

		ck_assert_msg(c->inject.enabled == cases[i].in_force, "%s", cases[i].var);
		ck_assert_uint_eq(c->inject.count, cases[i].count);
		config_free(c);
	}
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *vars[] = { cases[i].var, NULL };
		struct config *c;

		/* No file, and a bad one: its faults are gone with the rest. */
		world_put("bad.conf", "version = 1; log = 1; inject = { enabled = true; faults = "
		                      "( { call = \"send\"; reset = true; } ); };");
		c = world_load_env(world_path("bad.conf"), vars);
		ck_assert(c->inject.enabled == (cases[i].count == 1));
		ck_assert_uint_eq(c->inject.count, cases[i].count == 1);
		config_free(c);
		c = world_load_env(NULL, vars);
		ck_assert(c->inject.enabled == (cases[i].count == 1));
		config_free(c);
		/* A file that does not want it. */
		world_put("off.conf", "version = 1; inject = { faults = "
		                      "( { call = \"send\"; reset = true; } ); };");
		c = world_load_env(world_path("off.conf"), vars);
		ck_assert(c->inject.enabled == (cases[i].count == 1));
		ck_assert(!c->inject.seeded);
		config_free(c);
	}
	world_close();
}
END_TEST

START_TEST(short_form)
{
	static const char *const vars[] = {
		"LIBRETRY_INJECT=connect:ECONNREFUSED:first=3,getaddrinfo:EAI_AGAIN:probability="
		"30%; send:short_write=2:every=4:after=1; connect:delay=20ms:delay_jitter=5ms:"
		"probability=0.25,send:reset,",
		NULL
	};
	const struct fault *f;
	struct config *c = world_load_env(NULL, vars);

	world_said("short form", (const char *const[]){ NULL });
	ck_assert_uint_eq(c->inject.count, 5);
	f = c->inject.faults;
	ck_assert(f[0].op == OP_CONNECT && f[0].error.code == ECONNREFUSED && f[0].first == 3);
	ck_assert_int_eq(f[0].probability, PPM);
	ck_assert(f[1].op == OP_LOOKUP && f[1].error.code == EAI_AGAIN);
	ck_assert_int_eq(f[1].probability, 300000);
	ck_assert(f[2].op == OP_SEND && f[2].short_write == 2 && f[2].every == 4 &&
	          f[2].after == 1);
	ck_assert(f[3].delay == 20 * DUR_MS && f[3].delay_jitter == 5 * DUR_MS);
	ck_assert_int_eq(f[3].probability, PPM / 4);
	ck_assert(f[4].reset && f[4].op == OP_SEND);
	ck_assert_str_eq(f[4].source.file, "LIBRETRY_INJECT");
	ck_assert_uint_eq(f[4].source.line, 5);
	config_free(c);
}
END_TEST

START_TEST(too_many)
{
	static char var[INJECT_FAULTS_MAX * 16 + 64] = "LIBRETRY_INJECT=";
	static char text[INJECT_FAULTS_MAX * 64];
	const char *vars[] = { var, NULL };
	struct config *c;

	world_open();
	for (unsigned i = 0; i < INJECT_FAULTS_MAX; i++)
		strcat(var, "send:reset,");
	c = world_load_env(NULL, vars);
	world_said("just enough", (const char *const[]){ NULL });
	ck_assert_uint_eq(c->inject.count, INJECT_FAULTS_MAX);
	config_free(c);
	strcat(var, "send:reset");
	c = world_load_env(NULL, vars);
	ck_assert_uint_eq(said.count, 1);
	ck_assert_ptr_nonnull(strstr(said.line[0], "too many faults (at most 64)"));
	ck_assert(!c->inject.enabled);
	config_free(c);

	strcpy(text, "version = 1; inject = { faults = (\n");
	for (unsigned i = 0; i <= INJECT_FAULTS_MAX; i++)
		strcat(text, i ? ",\n{ call = \"send\"; reset = true; }"
		               : "{ call = \"send\"; reset = true; }");
	strcat(text, "); };\n");
	world_put("main.conf", text);
	c = world_load(world_path("main.conf"));
	world_said("too many", (const char *const[]){ "E D/main.conf:66: inject.faults[64]: too "
	                                              "many faults (at most 64)", NULL });
	config_free(c);
	world_close();
}
END_TEST

START_TEST(seeds)
{
	static const struct {
		const char *var;
		uint64_t seed;
	} cases[] = {
		{ NULL, 42 },
		{ "LIBRETRY_SEED=7", 7 },
		{ "LIBRETRY_SEED=0", 0 },
		{ "LIBRETRY_SEED=99999999999999", 0 },
		{ "LIBRETRY_SEED=blue", 0 },
	};

	world_open();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *vars[] = { "LIBRETRY_INJECT=1", cases[i].var, NULL };
		struct config *c = load(vars);
		uint64_t seed = cases[i].seed;

		if (i > 2)
			seed = hash_bytes(cases[i].var + 14, strlen(cases[i].var + 14), 0);
		ck_assert(c->inject.seeded);
		ck_assert_uint_eq(c->inject.seed, seed);
		config_free(c);
	}
	world_close();
}
END_TEST

/* A file that is not needed need not be there; who checks is told all the same. */
START_TEST(timelines_of_what_is_not_in_force)
{
	static const char text[] =
		"version = 1; inject = { enabled = true; faults = (\n"
		"{ call = \"connect\"; error = \"ETIMEDOUT\"; timeline = \"file:/nowhere/x\"; } ); };";
	static const char *const on[] = { "LIBRETRY_INJECT=1", NULL };
	static const char *const other[] = { "LIBRETRY_INJECT=send:reset", NULL };

	world_open();
	world_put("main.conf", text);
	for (int i = 0; i < 4; i++) {
		struct config *c;

		world_wants_all = i == 3;
		c = world_load_env(world_path("main.conf"), i == 1 ? on : i == 2 ? other : NULL);
		ck_assert_uint_eq(c->errors, i == 1);
		ck_assert_uint_eq(c->warnings, i == 3);
		config_free(c);
	}
	world_wants_all = true;
	world_close();
}
END_TEST

UNIT_MAIN("load inject", &faults_are_read, &what_is_in_force, &short_form, &too_many, &seeds,
          &timelines_of_what_is_not_in_force)
