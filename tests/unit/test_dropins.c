/* SPDX-License-Identifier: MIT */
#include "conf_world.h"

#include "policy/match.h"

static const char *const quiet[] = { NULL };

static void begin(void)
{
	world_open();
	ck_assert_int_eq(mkdir(world_path("conf.d"), 0700), 0);
	world_put("main.conf", "version = 1;\n"
	                       "policies = { shared = { max_attempts = 2; }; };\n"
	                       "destinations = ( { name = \"catch-all\"; } );\n");
}

static struct config *load(void)
{
	return world_load(world_path("main.conf"));
}

/* Names of the rules, in order. */
static const char *rules(const struct config *c)
{
	static char buf[512];
	struct fmt f;

	fmt_init(&f, buf, sizeof(buf));
	for (unsigned i = 0; i < c->set.rule_count; i++) {
		fmt_str(&f, i ? " " : "");
		fmt_str(&f, c->set.rules[i].name);
	}
	fmt_end(&f);
	return buf;
}

START_TEST(come_first_in_byte_order)
{
	static const char *const files[] = { "main.conf", "conf.d/10.conf", "conf.d/9.conf",
		                             "conf.d/B.conf", "conf.d/a.conf" };
	struct config *c;
	char path[300];

	begin();
	world_put("conf.d/a.conf",
	          "version = 1; destinations = ( { name = \"a\"; host = \"a\"; } );");
	world_put("conf.d/B.conf",
	          "version = 1; destinations = ( { name = \"B\"; host = \"B\"; } );");
	world_put("conf.d/10.conf",
	          "version = 1; destinations = ( { name = \"10\"; host = \"x\"; },"
	                            " { name = \"10b\"; host = \"y\"; } );");
	world_put("conf.d/9.conf", "version = 1;");
	c = load();
	world_said("order", quiet);
	ck_assert_str_eq(rules(c), "10 10b B a catch-all");
	ck_assert_uint_eq(c->file_count, ARRAY_LEN(files));
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		world_shorten(path, sizeof(path), c->files[i]);
		ck_assert_str_eq(path + 2, files[i]);
	}
	world_shorten(path, sizeof(path), c->set.rules[0].source.file);
	ck_assert_str_eq(path, "D/conf.d/10.conf");
	config_free(c);
	world_close();
}
END_TEST

START_TEST(other_names_are_ignored)
{
	static const char *const names[] = { ".hidden.conf", "x.conf~", "x.conf.bak", "README",
		                             ".conf", "conf", "x.CONF", "xconf" };
	char path[64];
	struct config *c;

	begin();
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "conf.d/%s", names[i]);
		world_put(path, "rubbish");
	}
	mkdir(world_path("conf.d/folder"), 0700);
	c = load();
	world_said("ignored", quiet);
	ck_assert_str_eq(rules(c), "catch-all");
	config_free(c);
	world_close();
}
END_TEST

START_TEST(policies_are_shared)
{
	struct config *c;

	begin();
	world_put("conf.d/a.conf", "version = 1;\n"
	                           "policies = { mine = { inherit = \"shared\"; }; };\n"
	                           "destinations = ( { name = \"a\"; policy = \"shared\"; host = "
	                           "\"a\"; },"
	                           " { name = \"b\"; policy = \"late\"; host = \"b\"; } );\n"
	                           "programs = ( { exe = \"x\"; policy = \"late\"; } );\n");
	world_put("conf.d/b.conf", "version = 1; policies = { late = { inherit = \"mine\"; }; };");
	c = load();
	world_said("shared", quiet);
	ck_assert_ptr_eq(c->set.rules[0].policy, config_policy(c, "shared"));
	ck_assert_uint_eq(config_policy(c, "late")->max_attempts, 2);
	ck_assert_ptr_eq(c->set.programs[0].policy, config_policy(c, "late"));
	config_free(c);
	world_close();
}
END_TEST

START_TEST(programs_come_first_too)
{
	struct config *c;

	begin();
	world_put("main.conf", "version = 1; programs = ( { exe = \"*\"; } );");
	world_put("conf.d/a.conf",
	          "version = 1; programs = ( { exe = \"x\"; enabled = false; } );");
	c = load();
	ck_assert_uint_eq(c->set.program_count, 2);
	ck_assert(!match_program(&c->set, "/bin/x")->enabled);
	ck_assert(match_program(&c->set, "/bin/y")->enabled);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(names_are_unique)
{
	static const char *const lines[] = {
		"E D/conf.d/a.conf:3: policies.shared: already defined at D/main.conf:2",
		"E D/conf.d/b.conf:2: policies.twin: already defined at D/conf.d/a.conf:4",
		"E D/conf.d/b.conf:3: destinations[0].name: \"n\": already used at "
		"D/conf.d/a.conf:5",
		"E D/main.conf:3: destinations[0].name: \"catch-all\": already used at "
		"D/conf.d/b.conf:3",
		NULL,
	};
	struct config *c;

	begin();
	world_put("conf.d/a.conf", "version = 1;\npolicies = {\nshared = { };\ntwin = { }; };\n"
	                           "destinations = ( { name = \"n\"; host = \"n\"; } );");
	world_put("conf.d/b.conf", "version = 1;\npolicies = { twin = { }; };\n"
	                           "destinations = ( { name = \"n\"; host = \"m\"; }, "
	                           "{ name = \"catch-all\"; host = \"o\"; } );");
	c = load();
	world_said("unique", lines);
	ck_assert_uint_eq(c->set.rule_count, 0);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(some_sections_belong_in_the_main_file)
{
	static const char *const lines[] = {
		"E D/conf.d/a.conf:2: log: belongs in the main file (D/main.conf)",
		"E D/conf.d/a.conf:3: process: belongs in the main file (D/main.conf)",
		"E D/conf.d/a.conf:4: stats: belongs in the main file (D/main.conf)",
		"E D/conf.d/a.conf:5: inject: belongs in the main file (D/main.conf)",
		NULL,
	};

	begin();
	world_put("conf.d/a.conf", "version = 1;\nlog = { };\nprocess = { };\nstats = { };\n"
	                           "inject = { };\n");
	config_free(load());
	world_said("main", lines);
	world_close();
}
END_TEST

START_TEST(each_is_checked_like_the_main_file)
{
	static const char *const lines[] = {
		"E D/conf.d/b.conf:1: syntax error near \"5s\" (a duration needs quotes: \"5s\")",
		"E D/conf.d/a.conf: version: is missing (write \"version = 1;\")",
		NULL,
	};
	static const char *const dead[] = {
		"W D/main.conf:3: destinations[0] (\"catch-all\"): can never match: "
		"destinations[0] "
		"at D/conf.d/a.conf:1 already takes everything",
		NULL,
	};
	struct config *c;

	begin();
	world_put("conf.d/a.conf", "destinations = ( );");
	world_put("conf.d/b.conf", "version = 1; policies = { p = { deadline = 5s; }; };");
	c = load();
	ck_assert_uint_eq(said.count, 2);
	ck_assert_str_eq(said.line[0], lines[1]);
	ck_assert_str_eq(said.line[1], lines[0]);
	ck_assert_uint_eq(c->errors, 2);
	ck_assert_uint_eq(c->set.rule_count, 0);
	config_free(c);
	unlink(world_path("conf.d/b.conf"));
	world_put("conf.d/a.conf", "version = 1; destinations = ( { } );");
	c = load();
	world_said("dead", dead);
	ck_assert_uint_eq(c->set.rule_count, 2);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(hostile_ones)
{
	static const char *const lines[] = {
		"U D/conf.d/a.conf: is a folder (a regular file is expected)",
		"U D/conf.d/b.conf: is a FIFO (a regular file is expected)",
		"U D/conf.d/c.conf: has 52428800 bytes: too large (at most 1048576)",
		"U D/conf.d/d.conf: cannot be opened: no such file (ENOENT)",
		"E D/conf.d/e.conf:1: a NUL byte: this is not a text file",
		NULL,
	};
	struct config *c;
	int fd;

	begin();
	mkdir(world_path("conf.d/a.conf"), 0700);
	mkfifo(world_path("conf.d/b.conf"), 0600);
	fd = open(world_path("conf.d/c.conf"), O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(ftruncate(fd, 50 * 1024 * 1024), 0);
	close(fd);
	ck_assert_int_eq(symlink("nowhere", world_path("conf.d/d.conf")), 0);
	world_put_bytes("conf.d/e.conf", "\0", 1);
	c = load();
	world_said("hostile", lines);
	ck_assert(c->unreadable);
	ck_assert_uint_eq(c->errors, 5);
	ck_assert_uint_eq(c->set.rule_count, 0);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(folder_that_is_none)
{
	static const char *const lines[] = {
		"U D/conf.d/: cannot be opened: a part of the path is not a folder (ENOTDIR)", NULL,
	};
	struct config *c;

	begin();
	rmdir(world_path("conf.d"));
	c = load();
	world_said("none", quiet);
	config_free(c);
	world_put("conf.d", "");
	c = load();
	world_said("file", lines);
	config_free(c);
	world_close();
}
END_TEST

/* Whose conf.d it is cannot be known if the main file is not there. */
START_TEST(not_beside_a_missing_file)
{
	static const char *const lines[] = {
		"U D/other.conf: cannot be opened: no such file (ENOENT)", NULL,
	};

	begin();
	world_put("conf.d/a.conf", "rubbish");
	config_free(world_load(world_path("other.conf")));
	world_said("missing", lines);
	world_close();
}
END_TEST

START_TEST(relative_main_file)
{
	struct config *c;
	char cwd[256];

	begin();
	world_put("conf.d/a.conf",
	          "version = 1; destinations = ( { name = \"a\"; host = \"a\"; } );");
	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	ck_assert_int_eq(chdir(world_dir), 0);
	c = world_load("main.conf");
	ck_assert_str_eq(rules(c), "a catch-all");
	ck_assert_str_eq(c->files[1], "conf.d/a.conf");
	config_free(c);
	ck_assert_int_eq(chdir(cwd), 0);
	world_close();
}
END_TEST

START_TEST(number_is_bounded)
{
	static const char *const lines[] = {
		"E D/conf.d/: too many files (at most 256)", NULL,
	};
	struct config *c;
	char path[64];

	begin();
	for (int i = 0; i < 256; i++) {
		snprintf(path, sizeof(path), "conf.d/%03d.conf", i);
		world_put(path, "version = 1;");
	}
	c = load();
	world_said("256", quiet);
	ck_assert_uint_eq(c->file_count, 257);
	config_free(c);
	world_put("conf.d/more.conf", "version = 1;");
	c = load();
	world_said("257", lines);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(sum_of_sizes_is_bounded)
{
	size_t len = 1024 * 1024;
	char *big = malloc(len), path[64], last[128];
	struct config *c;

	begin();
	memset(big, ' ', len);
	memcpy(big, "version = 1;", 12);
	for (int i = 0; i < 9; i++) {
		snprintf(path, sizeof(path), "conf.d/%d.conf", i);
		world_put_bytes(path, big, len);
	}
	c = load();
	snprintf(last, sizeof(last),
	         "E D/conf.d/8.conf: all files together are too large (at most %d bytes)",
	         8 * 1024 * 1024);
	ck_assert_uint_eq(said.count, 1);
	ck_assert_str_eq(said.line[0], last);
	config_free(c);
	free(big);
	world_close();
}
END_TEST

/* What a file that cannot be parsed may define is not called missing. */
START_TEST(no_faults_that_follow_from_others)
{
	static const char *const lines[] = {
		"E D/conf.d/a.conf:2: policies: the bracket is not closed", NULL,
	};

	begin();
	world_put("main.conf", "version = 1; destinations = ( { policy = \"mine\"; } );");
	world_put("conf.d/a.conf", "version = 1;\npolicies = { mine = { };\n");
	config_free(load());
	world_said("follow", lines);
	world_close();
}
END_TEST

UNIT_MAIN("dropins", &come_first_in_byte_order, &other_names_are_ignored, &policies_are_shared,
          &programs_come_first_too, &names_are_unique,
          &some_sections_belong_in_the_main_file, &each_is_checked_like_the_main_file,
          &hostile_ones, &folder_that_is_none, &not_beside_a_missing_file,
          &relative_main_file, &number_is_bounded, &sum_of_sizes_is_bounded,
          &no_faults_that_follow_from_others)
