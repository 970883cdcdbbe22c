/* SPDX-License-Identifier: MIT */
#include <sys/socket.h>
#include <sys/un.h>

#include "conf_world.h"

#include "config/scan.h"

/* A file and all that is said about it, in this order. */
struct bad_input {
	const char *name, *text;
	const char *said[17];
};

#include "load_errors_policy.h"
#include "load_errors_rest.h"
#include "load_errors_syntax.h"

static void run(const struct bad_input *table, size_t count)
{
	world_open();
	for (size_t i = 0; i < count; i++) {
		unsigned errors = 0, unknown = 0, warnings = 0;
		struct config *c;

		world_put("main.conf", table[i].text);
		c = world_load(world_path("main.conf"));
		world_said(table[i].name, table[i].said);
		for (unsigned j = 0; j < said.count; j++) {
			errors += said.line[j][0] == 'E';
			unknown += said.line[j][0] == 'K';
			warnings += said.line[j][0] == 'W';
		}
		ck_assert_uint_eq(c->errors, errors);
		ck_assert_uint_eq(c->unknown, unknown);
		ck_assert_uint_eq(c->warnings, warnings);
		ck_assert(!c->unreadable);
		if (errors > 0) {
			ck_assert_uint_eq(c->set.policy_count, 6);
			ck_assert_uint_eq(c->set.rule_count, 0);
			ck_assert_uint_eq(c->set.program_count, 0);
		}
		ck_assert_uint_eq(c->file_count, 1);
		config_free(c);
	}
	world_close();
}

START_TEST(text_faults)
{
	run(bad_syntax, ARRAY_LEN(bad_syntax));
}
END_TEST

START_TEST(policy_faults)
{
	run(bad_policy, ARRAY_LEN(bad_policy));
}
END_TEST

START_TEST(other_faults)
{
	run(bad_rest, ARRAY_LEN(bad_rest));
}
END_TEST

/* <name> cannot be read at all, for <reason>. */
static void unreadable(const char *name, const char *reason)
{
	char line[300];
	const char *lines[] = { line, NULL };
	struct config *c;

	snprintf(line, sizeof(line), "U %s%s: %s", *name == '/' ? "" : "D/", name, reason);
	c = world_load(*name == '/' ? name : world_path(name));
	world_said(name, lines);
	ck_assert(c->unreadable);
	ck_assert_uint_eq(c->errors, 1);
	ck_assert_uint_eq(c->set.rule_count, 0);
	ck_assert_ptr_nonnull(config_policy(c, "patient"));
	config_free(c);
}

START_TEST(hostile_files)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd;

	world_open();
	unreadable("missing", "cannot be opened: no such file (ENOENT)");
	mkdir(world_path("folder"), 0700);
	unreadable("folder", "is a folder (a regular file is expected)");
	ck_assert_int_eq(mkfifo(world_path("fifo"), 0600), 0);
	unreadable("fifo", "is a FIFO (a regular file is expected)");
	unreadable("/dev/zero", "is a device (a regular file is expected)");
	fd = open(world_path("sparse"), O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(ftruncate(fd, 50 * 1024 * 1024), 0);
	close(fd);
	unreadable("sparse", "has 52428800 bytes: too large (at most 1048576)");
	ck_assert_int_eq(symlink("loop", world_path("loop")), 0);
	unreadable("loop", "cannot be opened: a circle of symbolic links (ELOOP)");
	world_put("file", "version = 1;");
	unreadable("file/x", "cannot be opened: a part of the path is not a folder (ENOTDIR)");
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", world_path("socket"));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	unreadable("socket", "cannot be opened: not a regular file (ENXIO)");
	close(fd);
	world_close();
}
END_TEST

START_TEST(unreadable_file)
{
	world_open();
	world_put("secret", "version = 1;");
	ck_assert_int_eq(chmod(world_path("secret"), 0), 0);
	/* Root reads it all the same. */
	if (access(world_path("secret"), R_OK) != 0)
		unreadable("secret", "cannot be opened: no permission (EACCES)");
	world_close();
}
END_TEST

/* Regular, but fstat() says that it is empty. */
START_TEST(file_without_a_size)
{
	struct config *c;

	world_open();
	c = world_load("/proc/self/status");
	ck_assert_uint_gt(c->errors, 1);
	ck_assert(!c->unreadable);
	config_free(c);
	world_close();
}
END_TEST

START_TEST(not_a_text)
{
	static const char *const nul[] = { "E D/a:2: a NUL byte: this is not a text file", NULL };
	static const char *const latin[] = {
		"E D/b:2: not valid UTF-8 (write the file in UTF-8)",
		"E D/b:3: log.level: \"loud\": unknown (error, warn, info, debug)", NULL,
	};
	struct config *c;

	world_open();
	world_put_bytes("a", "version = 1;\n\0\xff\xff", 16);
	c = world_load(world_path("a"));
	world_said("NUL", nul);
	config_free(c);
	world_put("b", "version = 1;\n# caf\xe9\nlog = { level = \"loud\"; };\n# \xff\n");
	c = world_load(world_path("b"));
	world_said("Latin-1", latin);
	config_free(c);
	world_close();
}
END_TEST

/* libconfig 1.5 would exit the process on the first, and loop on the second. */
START_TEST(includes)
{
	static const char *const lines[] = {
		"E D/main.conf:2: @include: \".\": is a folder (a regular file is expected)",
		"E D/main.conf:3: @include: \"main.conf\": includes itself (a circle)",
		"E D/main.conf:4: @include: \"fifo\": is a FIFO (a regular file is expected)",
		"E D/part:2: syntax error near \"5s\" (a duration needs quotes: \"5s\")",
		"E D/main.conf:7: log.format: \"xml\": unknown (text, logfmt, json)",
		NULL,
	};
	struct config *c;

	world_open();
	mkfifo(world_path("fifo"), 0600);
	world_put("main.conf", "version = 1;\n@include \".\"\n@include \"main.conf\"\n"
	                       "@include \"fifo\"\nlog: {\n@include \"part\"\n"
	                       "format = \"xml\"; };\n");
	world_put("part", "\nper = 5s;\n");
	c = world_load(world_path("main.conf"));
	world_said("includes", lines);
	ck_assert_uint_eq(c->file_count, 2);
	config_free(c);
	world_close();
}
END_TEST

/* Cut anywhere, a file is either whole, or faulty in a way that is reported;
 * never something in between. */
START_TEST(truncated_files)
{
	static char all[32768], cut[32768];
	FILE *in = fopen(TOP_SRCDIR "/conf/examples/full.conf", "r");
	size_t len;
	unsigned faulty = 0;

	ck_assert_ptr_nonnull(in);
	len = fread(all, 1, sizeof(all) - 1, in);
	fclose(in);
	world_open();
	for (size_t n = 0; n < len; n += 37) {
		struct config *c;

		memcpy(cut, all, n);
		world_put_bytes("main.conf", cut, n);
		c = world_load(world_path("main.conf"));
		if (c->errors > 0) {
			ck_assert_uint_eq(c->set.rule_count, 0);
			ck_assert_uint_gt(said.count, 0);
			faulty++;
		}
		config_free(c);
	}
	ck_assert_uint_gt(faulty, len / 37 / 2);
	world_close();
}
END_TEST

/* The text before, <count> times <part> (with its number), the text after. */
static struct config *load_many(const char *before, const char *part, unsigned count,
                                const char *after)
{
	FILE *out = fopen(world_path("main.conf"), "w");

	ck_assert_ptr_nonnull(out);
	fputs(before, out);
	for (unsigned i = 0; i < count; i++) {
		const char *hole = strchr(part, '#');

		if (hole)
			fprintf(out, "%.*s%u%s", (int)(hole - part), part, i, hole + 1);
		else
			fputs(part, out);
	}
	fputs(after, out);
	fclose(out);
	return world_load(world_path("main.conf"));
}

static void limit(unsigned fits, const char *before, const char *part, const char *after,
                  const char *complaint)
{
	const char *lines[] = { complaint, NULL };
	struct config *c = load_many(before, part, fits, after);

	ck_assert_msg(c->errors == 0, "%s", said.line[0]);
	config_free(c);
	c = load_many(before, part, fits + 1, after);
	world_said(part, lines);
	ck_assert_uint_eq(c->errors, 1);
	config_free(c);
}

START_TEST(totals)
{
	world_open();
	/* Six names are built in, and count. */
	limit(250, "version = 1; policies = {\n", "p# = { };\n", "};",
	      "E D/main.conf:252: policies.p250: too many policies (at most 256)");
	limit(1023, "version = 1; destinations = (\n{ host = \"first\"; }",
	      ",{ host = \"h#\"; }\n", ");",
	      "E D/main.conf:1025: destinations[1024]: too many destinations (at most 1024)");
	world_close();
}
END_TEST

START_TEST(bounded_lists)
{
	world_open();
	limit(255, "version = 1; destinations = ( { host = [ \"x\"", ", \"h#\"", " ]; } );",
	      "E D/main.conf:1: destinations[0].host: has 257 entries (1 to 256)");
	limit(255, "version = 1; destinations = ( { addr = [ \"10.0.0.0\"", ", \"10.0.0.1\"",
	      " ]; } );", "E D/main.conf:1: destinations[0].addr: has 257 entries (1 to 256)");
	limit(255, "version = 1; destinations = ( { port = \"1", ",#1", "\"; } );",
	      "E D/main.conf:1: destinations[0].port: has 257 entries (1 to 256)");
	limit(255, "version = 1; programs = ( { exe = \"x\"; }", ", { exe = \"x#\"; }", " );",
	      "E D/main.conf:1: programs[256]: too many programs (at most 256)");
	world_close();
}
END_TEST

START_TEST(bounded_groups)
{
	static const char *const lines[] = {
		"E D/main.conf:1: zoo: too many members (at most 4096)", NULL,
	};
	struct config *c;

	world_open();
	c = load_many("version = 1; zoo = {", " k# = 1;", SCAN_MEMBERS_MAX + 1, "};");
	world_said("members", lines);
	config_free(c);
	c = load_many("version = 1; zoo = ( 0", ", #", SCAN_MEMBERS_MAX + 1, ");");
	world_said("elements", lines);
	config_free(c);
	world_close();
}
END_TEST

static void count_only(void *ctx, const struct diag *d)
{
	unsigned *count = ctx;

	(void)d;
	++*count;
}

START_TEST(reports_are_bounded)
{
	unsigned heard = 0;
	struct config *c;
	FILE *out;

	world_open();
	out = fopen(world_path("main.conf"), "w");
	fputs("version = 1; log = {\n", out);
	for (unsigned i = 0; i < 4000; i++)
		fprintf(out, "k%u = 1s;\n", i);
	fputs("};", out);
	fclose(out);
	env_snapshot(&the_env, NULL, false);
	c = config_load(world_path("main.conf"), &lcapi_direct, &the_env, count_only, &heard);
	ck_assert_uint_eq(heard, 500);
	ck_assert_uint_eq(c->errors, 4000);
	ck_assert_uint_eq(c->unknown, 4000);
	config_free(c);
	c = config_load(world_path("main.conf"), &lcapi_direct, &the_env, NULL, NULL);
	ck_assert_uint_eq(c->errors, 4000);
	config_free(c);
	world_close();
}
END_TEST

UNIT_MAIN("load_errors", &text_faults, &policy_faults, &other_faults, &hostile_files,
          &unreadable_file, &file_without_a_size, &not_a_text, &includes, &truncated_files,
          &totals, &bounded_lists, &bounded_groups, &reports_are_bounded)
