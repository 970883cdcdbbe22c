/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <malloc.h>
#include <netdb.h>
#include <signal.h>

#include "conf_world.h"

#include "config/keys.h"
#include "config/loader.h"
#include "policy/builtin.h"
#include "policy/classify.h"

static struct config *load_text(const char *text)
{
	struct config *c;

	world_put("main.conf", text);
	c = world_load(world_path("main.conf"));
	ck_assert_msg(c->errors == 0 && c->unknown == 0, "%s", said.count ? said.line[0] : "?");
	return c;
}

/* Field by field: padding is not compared. */
static void same_policy(const struct policy *a, const struct policy *b)
{
	const struct key *k;

	ck_assert_str_eq(a->name, b->name);
	for (unsigned i = 0; (k = key_at(i)) != NULL; i++)
		if (k->size > 0 && (k->place == PLACE_POLICY || k->place == PLACE_BUDGET ||
		                    k->place == PLACE_BREAKER || k->place == PLACE_SOCKET))
			ck_assert_msg(memcmp((const char *)a + k->offset,
			                     (const char *)b + k->offset, k->size) == 0,
			              "%s.%s", a->name, k->name);
	ck_assert_mem_eq(&a->retry, &b->retry, sizeof(a->retry));
	ck_assert_uint_eq(a->backoff.schedule_len, b->backoff.schedule_len);
}

static void is_builtin(const struct config *c)
{
	struct log_settings log = builtin_log();
	struct process_settings process = builtin_process();
	struct policy p;
	unsigned count;

	for (count = 0; builtin_policy(count, &p); count++)
		same_policy(config_policy(c, p.name), &p);
	ck_assert_uint_eq(c->set.policy_count, count);
	ck_assert_uint_eq(c->set.rule_count, 0);
	ck_assert_uint_eq(c->set.program_count, 0);
	ck_assert_ptr_eq(c->set.fallback_policy, config_policy(c, "default"));
	ck_assert_int_eq(c->log.to, log.to);
	ck_assert_int_eq(c->log.level, log.level);
	ck_assert_int_eq(c->log.format, log.format);
	ck_assert_uint_eq(c->log.burst, log.burst);
	ck_assert_int_eq(c->log.per, log.per);
	ck_assert_uint_eq(c->process.stop_on, process.stop_on);
	ck_assert(c->process.reload && !c->process.clear_deepbind);
	ck_assert_int_eq(c->process.host_group, -1);
	ck_assert(!c->before_connect && !c->before_lookup);
}

START_TEST(nothing_is_builtin)
{
	struct config *c;

	world_open();
	c = world_load(NULL);
	is_builtin(c);
	ck_assert_uint_eq(c->file_count, 0);
	ck_assert_uint_eq(said.count, 0);
	ck_assert_ptr_null(config_policy(c, "nobody"));
	config_free(c);
	config_free(NULL);
	world_close();
}
END_TEST

START_TEST(table_defaults_are_the_builtin_ones)
{
	struct policy builtin = builtin_default();
	const struct key *k;
	unsigned seen = 0;

	world_open();
	for (unsigned i = 0; (k = key_at(i)) != NULL; i++) {
		char text[200];
		const char *quote = k->kind == KIND_RATIO || k->kind == KIND_COUNT ||
					    k->kind == KIND_BOOL
				    ? "" : "\"";
		const char *in = k->place == PLACE_BUDGET ? "budget" :
				 k->place == PLACE_BREAKER ? "breaker" : "socket";
		struct config *c;

		if (!*k->fallback || k->size == 0 || k->place < PLACE_POLICY ||
		    k->place > PLACE_SOCKET)
			continue;
		snprintf(text, sizeof(text),
		         "version = 1; policies: { x: { %s%s %s = %s%s%s; %s }; };",
		         k->place == PLACE_POLICY ? "" : in, k->place == PLACE_POLICY ? "" : ": {",
		         k->name, quote, k->fallback, quote, k->place == PLACE_POLICY ? "" : "};");
		c = load_text(text);
		ck_assert_msg(said.count == 0, "%s: %s", k->name, said.line[0]);
		ck_assert_msg(memcmp((const char *)config_policy(c, "x") + k->offset,
		                     (const char *)&builtin + k->offset, k->size) == 0,
		              "%s", k->name);
		config_free(c);
		seen++;
	}
	ck_assert_uint_ge(seen, 35);
	world_close();
}
END_TEST

START_TEST(installed_file_changes_nothing)
{
	struct config *c;

	world_open();
	c = world_load(TOP_SRCDIR "/conf/libretry.conf");
	ck_assert_msg(said.count == 0, "%s", said.line[0]);
	is_builtin(c);
	ck_assert_uint_eq(c->file_count, 1);
	config_free(c);
	world_close();
}
END_TEST

/* Takes the comment marks of the examples away: "# text" is prose, "#key" and
 * "#  key" are configuration. */
START_TEST(what_the_installed_file_shows_is_true)
{
	FILE *in = fopen(TOP_SRCDIR "/conf/libretry.conf", "r"), *out;
	char line[256], missing[256] = "";
	const struct key *k;
	struct config *c;
	static char all[32768];
	size_t len = 0;

	world_open();
	ck_assert_ptr_nonnull(in);
	out = fopen(world_path("shown.conf"), "w");
	while (fgets(line, sizeof(line), in)) {
		bool prose = line[0] == '#' && line[1] == ' ' && line[2] != ' ';

		fputs(line[0] == '#' && !prose ? line + 1 : line, out);
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s", line);
	}
	fclose(in);
	fclose(out);
	c = world_load(world_path("shown.conf"));
	ck_assert_uint_eq(c->errors + c->unknown + c->warnings, 0);
	ck_assert_uint_eq(c->set.rule_count, 2);
	ck_assert_uint_eq(c->set.program_count, 1);
	for (unsigned i = 0; i < c->set.policy_count; i++) {
		struct policy p;

		ck_assert(builtin_policy(i, &p));
		same_policy(c->set.policies[i], &p);
	}
	for (unsigned i = 0; (k = key_at(i)) != NULL; i++)
		if (k->place != PLACE_FAULT && k->place != PLACE_OUTAGE && !strstr(all, k->name))
			snprintf(missing, sizeof(missing), "%s", k->name);
	ck_assert_str_eq(missing, "");
	config_free(c);
	world_close();
}
END_TEST

START_TEST(examples_load)
{
	static const char *const names[] = { "database", "http", "batch", "containers", "full" };

	world_open();
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[512];
		struct config *c;

		snprintf(path, sizeof(path), "%s/conf/examples/%s.conf", TOP_SRCDIR, names[i]);
		c = world_load(path);
		ck_assert_msg(c->errors + c->unknown + c->warnings == 0, "%s", said.line[0]);
		ck_assert_uint_gt(c->set.rule_count + c->set.program_count, 0);
		config_free(c);
	}
	world_close();
}
END_TEST

/* Whether <text> sets <name>: the word, and then '=' or ':'. */
static bool sets(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *s = strstr(text, name); s; s = strstr(s + 1, name)) {
		const char *end = s + len + strspn(s + len, " ");

		if ((s == text || strchr(" {\n", s[-1])) && (*end == '=' || *end == ':'))
			return true;
	}
	return false;
}

/* Every key is in full.conf. */
START_TEST(full_uses_every_key)
{
	static char all[32768];
	FILE *in = fopen(TOP_SRCDIR "/conf/examples/full.conf", "r");
	struct config *c;
	const struct key *k;

	ck_assert_ptr_nonnull(in);
	all[fread(all, 1, sizeof(all) - 1, in)] = '\0';
	fclose(in);

	world_open();
	c = world_load(TOP_SRCDIR "/conf/examples/full.conf");
	for (unsigned i = 0; (k = key_at(i)) != NULL; i++)
		ck_assert_msg(sets(all, k->name), "%s", k->name);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(full_is_read_as_written)
{
	struct config *c;
	const struct policy *p;
	const struct rule *r;

	world_open();
	c = world_load(TOP_SRCDIR "/conf/examples/full.conf");
	p = config_policy(c, "default");
	ck_assert_int_eq(p->backoff.base, 200 * DUR_MS);
	ck_assert_int_eq(p->backoff.multiplier, 3 * PPM / 2);
	ck_assert_int_eq(p->backoff.jitter_ratio, 2 * PPM / 5);
	ck_assert_int_eq(p->dns_attempt_timeout, 3 * DUR_S);
	ck_assert(err_set_has(&p->retry, (struct err){ ERR_ERRNO, ENOENT }));
	ck_assert(err_set_has(&p->retry, (struct err){ ERR_ERRNO, EHOSTUNREACH }));
	ck_assert(!err_set_has(&p->retry, (struct err){ ERR_ERRNO, EHOSTDOWN }));
	ck_assert_int_eq(p->address_walk, WALK_EACH);
	ck_assert_uint_eq(p->socket.syn_count, 3);
	ck_assert_int_eq(p->socket.keepalive_idle, 60 * DUR_S);
	ck_assert_uint_eq(p->replay_buffer, 16384);
	ck_assert_int_eq(p->budget.kind, BUDGET_TOKENS);
	ck_assert(p->breaker.enabled && p->carry);
	p = config_policy(c, "agreed");
	ck_assert_uint_eq(p->backoff.schedule_len, 4);
	ck_assert_int_eq(p->backoff.schedule[0], 0);
	ck_assert_int_eq(p->backoff.schedule[3], 5 * DUR_S);
	ck_assert_uint_eq(p->max_attempts, 5);
	p = config_policy(c, "quick");
	ck_assert(p->backoff.first_immediate);
	ck_assert_int_eq(p->backoff.base, 50 * DUR_MS);
	r = &c->set.rules[1];
	ck_assert_str_eq(r->name, "orders");
	ck_assert_uint_eq(r->host_count, 2);
	ck_assert_str_eq(r->hosts[1], "orders-[ab].example.net");
	ck_assert_uint_eq(r->port_count, 2);
	ck_assert_uint_eq(r->ports[1].low, 6432);
	ck_assert_uint_eq(r->ports[1].high, 6440);
	ck_assert_int_eq(r->proto, PROTO_TCP);
	ck_assert_str_eq(r->policy->name, "agreed");
	ck_assert_int_eq(r->policy->deadline, 60 * DUR_S);
	ck_assert_int_eq(config_policy(c, "agreed")->deadline, 30 * DUR_S);
	ck_assert_uint_eq(r->fallback_count, 3);
	ck_assert_uint_eq(r->fallback_after, 2);
	ck_assert_uint_eq(c->set.rules[0].cidr_count, 2);
	ck_assert_str_eq(c->set.rules[3].unix_paths[1], "@queue");
	ck_assert(!c->set.programs[0].enabled && !c->set.programs[0].mode_set);
	ck_assert(c->set.programs[1].mode_set && c->set.programs[1].mode == MODE_OBSERVE);
	ck_assert_str_eq(c->set.programs[1].policy->name, "quick");
	ck_assert_uint_eq(c->process.stop_on, UINT64_C(1) << SIGTERM | UINT64_C(1) << SIGINT |
	                                              UINT64_C(1) << SIGUSR1);
	ck_assert(!c->process.reload && c->process.clear_deepbind);
	ck_assert_int_eq(c->process.host_group, 65534);
	ck_assert_str_eq(c->log.path, "/var/log/libretry.log");
	ck_assert_int_eq(c->log.format, LOG_LOGFMT);
	ck_assert(c->before_connect && c->before_lookup);
	config_free(c);
	world_close();
}
END_TEST

static void finds_group(const char *name, int64_t expected)
{
	int64_t gid = -7;

	ck_assert_msg(host_group_find(world_path("group"), name, &gid) == (expected >= 0), "%s",
	              name);
	ck_assert_int_eq(gid, expected >= 0 ? expected : -7);
}

START_TEST(groups_are_found)
{
	static const char more[] = "\nadm\nad:x:1:\nadm:!:4:a,b\nbad:x:\nworse:x:4294967295:\n"
				   "no:x:12a:\n\n:x:5:\nwheel:*:4294967294:\n+nis::9:\n"
				   "worst:x:10000000000:\n#";
	static const char first[] = "root:x:0:\nmany:x:7:";
	static const char last[] = "\nlast:x:77";
	struct config *c;
	char line[3000];

	world_open();
	/* Long lists of members, so that lines lie across the chunks that are read. */
	memset(line, 'm', sizeof(line));
	memcpy(line, first, strlen(first));
	memcpy(line + 1500, more, strlen(more));
	memcpy(line + sizeof(line) - strlen(last), last, strlen(last));
	world_put_bytes("group", line, sizeof(line));
	finds_group("root", 0);
	finds_group("many", 7);
	finds_group("adm", 4);
	finds_group("ad", 1);
	finds_group("wheel", 4294967294);
	finds_group("last", 77);
	finds_group("bad", -1);
	finds_group("worse", -1);
	finds_group("worst", -1);
	finds_group("no", -1);
	finds_group("roo", -1);
	finds_group("rootx", -1);
	finds_group("m", -1);
	ck_assert(!host_group_find(world_path("nothing"), "root", &(int64_t){ 0 }));
	ck_assert(!host_group_find(world_dir, "root", &(int64_t){ 0 }));
	c = load_text("version = 1; process: { host_group = \"root\"; };");
	ck_assert_int_eq(c->process.host_group, 0);
	config_free(c);
	c = load_text("version = 1; process: { host_group = \"none\"; };");
	ck_assert_int_eq(c->process.host_group, -1);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(inheritance)
{
	struct config *c;

	world_open();
	c = load_text("version = 1; policies: {\n"
	              " late = { inherit = \"early\"; max_delay = \"9s\"; };\n"
	              " early = { inherit = \"base\"; base_delay = \"3s\"; };\n"
	              " base = { base_delay = \"2s\"; deadline = \"40s\"; never_on = [\"reset\"]; "
	              "};\n"
	              " default = { max_attempts = 3; };\n"
	              " heir = { inherit = \"default\"; };\n"
	              " plain = { };\n"
	              " patient = { inherit = \"patient\"; max_attempts = 4; };\n"
	              " more = { inherit = \"base\"; retry_on = [ \"reset\", \"refused\" ]; };\n"
	              " steps = { inherit = \"base\"; schedule = [ \"1s\" ]; };\n"
	              " formula = { inherit = \"steps\"; base_delay = \"1s\"; };\n"
	              "};\n");
	ck_assert_int_eq(config_policy(c, "late")->backoff.base, 3 * DUR_S);
	ck_assert_int_eq(config_policy(c, "late")->backoff.max, 9 * DUR_S);
	ck_assert_int_eq(config_policy(c, "late")->deadline, 40 * DUR_S);
	ck_assert_uint_eq(config_policy(c, "heir")->max_attempts, 3);
	/* Not from the file's "default": from the built-in one. */
	ck_assert_uint_eq(config_policy(c, "plain")->max_attempts, 5);
	ck_assert_uint_eq(config_policy(c, "patient")->max_attempts, 4);
	ck_assert_int_eq(config_policy(c, "patient")->backoff.base, DUR_S);
	ck_assert(!err_set_has(&config_policy(c, "more")->retry,
	                       (struct err){ ERR_ERRNO, ECONNRESET }));
	ck_assert(err_set_has(&config_policy(c, "more")->retry,
	                      (struct err){ ERR_ERRNO, ECONNREFUSED }));
	ck_assert(!err_set_has(&config_policy(c, "more")->retry,
	                       (struct err){ ERR_ERRNO, ETIMEDOUT }));
	ck_assert_uint_eq(config_policy(c, "steps")->backoff.schedule_len, 1);
	ck_assert_uint_eq(config_policy(c, "formula")->backoff.schedule_len, 0);
	ck_assert_str_eq(config_policy(c, "late")->name, "late");
	ck_assert_uint_eq(config_policy(c, "late")->source.line, 2);
	ck_assert_ptr_null(config_policy(c, "off")->source.file);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(override_is_private)
{
	struct config *c;

	world_open();
	c = load_text("version = 1; destinations = (\n"
	              " { host = \"a\"; policy = \"patient\"; override = { max_attempts = 2; }; "
	              "},\n"
	              " { host = \"b\"; policy = \"patient\"; override = { never_on = "
	              "[\"refused\"]; "
	              "breaker = { enabled = false; }; }; },\n"
	              " { host = \"c\"; policy = \"patient\"; },\n"
	              " { host = \"d\"; override = { }; } );\n");
	ck_assert_uint_eq(c->set.rules[0].policy->max_attempts, 2);
	ck_assert_uint_eq(c->set.rules[1].policy->max_attempts, 8);
	ck_assert(!err_set_has(&c->set.rules[1].policy->retry,
	                       (struct err){ ERR_ERRNO, ECONNREFUSED }));
	ck_assert(!c->set.rules[1].policy->breaker.enabled);
	ck_assert(c->set.rules[2].policy->breaker.enabled);
	ck_assert_ptr_eq(c->set.rules[2].policy, config_policy(c, "patient"));
	ck_assert_ptr_ne(c->set.rules[3].policy, config_policy(c, "default"));
	ck_assert_str_eq(c->set.rules[3].policy->name, "default");
	ck_assert_uint_eq(c->set.policy_count, 6);
	ck_assert_uint_eq(c->set.rules[1].source.line, 3);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(conditions)
{
	struct config *c;
	const struct rule *r;

	world_open();
	c = load_text("version = 1,\n"
	              "destinations = (\n"
	              " { host = \"db.\"; port = 5432; },\n"
	              " { host = ( \"x\", \"y.\" ); port = \"1 , 2 - 3,65535\"; },\n"
	              " { addr = \"::ffff:10.0.0.0/104\"; },\n"
	              " { unix = \"*\"; } );\n"
	              "policies = { p = { multiplier = 2; jitter_ratio = 1; deadline = \"none\"; "
	              "socket = { user_timeout = 0; keepalive_idle = \"0\"; }; max_retries = 0; }; "
	              "};");
	r = c->set.rules;
	ck_assert_str_eq(r[0].hosts[0], "db");
	ck_assert_uint_eq(r[0].ports[0].low, 5432);
	ck_assert_uint_eq(r[0].ports[0].high, 5432);
	ck_assert_str_eq(r[1].hosts[1], "y");
	ck_assert_uint_eq(r[1].port_count, 3);
	ck_assert_uint_eq(r[1].ports[1].high, 3);
	ck_assert_int_eq(r[2].cidrs[0].family, AF_INET);
	ck_assert_uint_eq(r[2].cidrs[0].bits, 8);
	ck_assert_int_eq(config_policy(c, "p")->deadline, DUR_NONE);
	ck_assert_int_eq(config_policy(c, "p")->backoff.multiplier, 2 * PPM);
	ck_assert_uint_eq(config_policy(c, "p")->max_attempts, 1);
	config_free(c);
	world_close();
}
END_TEST

/* A text may go over lines and hold what looks like a directive; libconfig 1.5
 * exits the process on the real thing. */
START_TEST(directive_in_a_text)
{
	struct config *c;

	world_open();
	c = load_text("version = 1;\n/*\n@include \".\"\n*/\n"
	              "destinations = ( { name = \"one\n@include \\\".\\\" \"; } );\n");
	ck_assert_str_eq(c->set.rules[0].name, "one\n@include \".\" ");
	config_free(c);
	world_close();
}
END_TEST

START_TEST(includes_keep_their_lines)
{
	struct config *c;
	char name[256];

	world_open();
	world_put("dests", "destinations = (\n  { name = \"x\"; }\n);\n");
	c = load_text("version = 1;\n@include \"dests\"\npolicies = {\n  p = { }; };\n");
	world_shorten(name, sizeof(name), c->set.rules[0].source.file);
	ck_assert_str_eq(name, "D/dests");
	ck_assert_uint_eq(c->set.rules[0].source.line, 2);
	ck_assert_uint_eq(config_policy(c, "p")->source.line, 4);
	ck_assert_uint_eq(c->file_count, 2);
	config_free(c);
	world_close();
}
END_TEST

/* What is asked of a rule or policy before the first attempt counts only if
 * it can be met: the presets have time-outs of their own. */
START_TEST(looks_ahead)
{
	static const struct {
		const char *text;
		bool connect, lookup;
	} table[] = {
		{ "", false, false },
		{ "policies = { x = { attempt_timeout = \"1s\"; }; };", false, false },
		{ "policies = { default = { attempt_timeout = \"1s\"; }; };", true, false },
		{ "destinations = ( { policy = \"interactive\"; } );", true, false },
		{ "policies = { default = { breaker = { enabled = true; }; }; };", true, true },
		{ "policies = { default = { coordinate = true; }; };", true, true },
		{ "programs = ( { exe = \"x\"; policy = \"interactive\"; } );", true, false },
		{ "destinations = ( { override = { socket = { syn_count = 1; }; }; } );", true,
		  false },
		{ "destinations = ( { override = { dns_attempt_timeout = \"1s\"; }; } );", false,
		  true },
	};

	world_open();
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		char text[256];
		struct config *c;

		snprintf(text, sizeof(text), "version = 1; %s", table[i].text);
		c = load_text(text);
		ck_assert_msg(c->before_connect == table[i].connect, "%s", table[i].text);
		ck_assert_msg(c->before_lookup == table[i].lookup, "%s", table[i].text);
		config_free(c);
	}
	world_close();
}
END_TEST

/* libconfig gives back what it takes, and nothing of ours is in malloc. A few
 * hundred bytes of difference are malloc's own caches, which count as used; a
 * tree or a policy set kept there would be tens of kilobytes each. */
START_TEST(malloc_is_as_before)
{
	struct config *kept[50];
	size_t before;

	world_open();
	config_free(world_load(TOP_SRCDIR "/conf/examples/full.conf"));
	before = mallinfo2().uordblks;
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		kept[i] = world_load(TOP_SRCDIR "/conf/examples/full.conf");
	ck_assert_uint_lt(mallinfo2().uordblks, before + 65536);
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		config_free(kept[i]);
	world_close();
}
END_TEST

START_TEST(leaves_no_descriptor)
{
	int before = dup(0), after;
	struct config *c;

	world_open();
	close(before);
	c = world_load(TOP_SRCDIR "/conf/examples/full.conf");
	after = dup(0);
	ck_assert_int_eq(before, after);
	close(after);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(no_libconfig)
{
	static const char *const lines[] = {
		"U D/main.conf: cannot be read: libconfig is not there", NULL,
	};
	struct config *c;

	world_open();
	world_put("main.conf", "version = 1;");
	env_snapshot(&the_env, NULL, false);
	c = config_load(world_path("main.conf"), NULL, &the_env, world_hear, &said);
	world_said("no libconfig", lines);
	ck_assert(c->unreadable);
	is_builtin(c);
	config_free(c);
	world_close();
}
END_TEST

UNIT_MAIN("load", &nothing_is_builtin, &table_defaults_are_the_builtin_ones,
          &installed_file_changes_nothing, &what_the_installed_file_shows_is_true,
          &examples_load, &full_uses_every_key, &full_is_read_as_written,
          &groups_are_found, &inheritance,
          &override_is_private, &conditions, &directive_in_a_text,
          &includes_keep_their_lines, &looks_ahead, &malloc_is_as_before,
          &leaves_no_descriptor, &no_libconfig)
