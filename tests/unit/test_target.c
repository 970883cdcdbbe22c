/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/target.h"
#include "unit.h"

static char folder[] = "/tmp/test-target-XXXXXX";
static char path[64];

/* A file in a folder of its own; <mode> 0: none. */
static const char *put(const char *name, const char *text, mode_t mode)
{
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
	if (!mode)
		return path;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
	return path;
}

static void setup(void)
{
	strcpy(folder, "/tmp/test-target-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void cleanup(const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		put(names[i], "", 0);
	ck_assert_int_eq(rmdir(folder), 0);
}

static bool examine(struct target *t, const char *file)
{
	return target_examine(t, file, "/proc/self/exe", "/proc/self/exe", true);
}

/* First lines, where they lead to (the part behind the last slash), and whether
 * LD_PRELOAD gets there. */
static const struct {
	const char *text, *leads_to;
	bool cleared;
} lines[] = {
	{ "#!/bin/sh\n", "sh", false },
	{ "#! /bin/sh -e\n", "sh", false },
	{ "#!\t /bin/sh", "sh", false },
	{ "#!/bin/sh \t\n", "sh", false },
	{ "", "sh", false },
	{ "echo\n", "sh", false },
	{ "#!\n", "sh", false },
	{ "\177ELF", "sh", false },
	{ "#!/usr/bin/env sh\n", "sh", false },
	{ "#!/usr/bin/env\n", "env", false },
	/* One argument: a program of that very name, blanks and all. */
	{ "#!/usr/bin/env sh -e\n", "env", false },
	{ "#!/usr/bin/env nosuchprogram\n", "env", false },
	{ "#!/usr/bin/env A=1\n", "env", false },
	{ "#!/usr/bin/env -i\n", "env", true },
	{ "#!/usr/bin/env -\n", "env", false },
	{ "#!/usr/bin/env -S sh -e\n", "sh", false },
	{ "#!/usr/bin/env -Ssh -e\n", "sh", false },
	{ "#!/usr/bin/env -vS sh\n", "sh", false },
	{ "#!/usr/bin/env --split-string=sh -e\n", "sh", false },
	{ "#!/usr/bin/env --split-string sh\n", "sh", false },
	{ "#!/usr/bin/env -S A=1 B=2 sh\n", "sh", false },
	{ "#!/usr/bin/env -S -u A sh\n", "sh", false },
	{ "#!/usr/bin/env -S -C / sh\n", "sh", false },
	{ "#!/usr/bin/env -S\n", "env", false },
	{ "#!/usr/bin/env -S -u\n", "env", false },
	{ "#!/usr/bin/env -iS sh\n", "sh", true },
	{ "#!/usr/bin/env -S -i sh\n", "sh", true },
	{ "#!/usr/bin/env -S - sh\n", "sh", true },
	{ "#!/usr/bin/env -S --ignore-environment sh\n", "sh", true },
	{ "#!/usr/bin/env -S -u LD_PRELOAD sh\n", "sh", true },
	{ "#!/usr/bin/env -S -uLD_PRELOAD sh\n", "sh", true },
	{ "#!/usr/bin/env -S --unset=LD_PRELOAD sh\n", "sh", true },
	{ "#!/usr/bin/env -S LD_PRELOAD=x sh\n", "sh", true },
	{ "#!/usr/bin/env -S LD_PRELOADED=x sh\n", "sh", false },
};

START_TEST(first_lines)
{
	static const char *const names[] = { "script" };
	struct target t;

	setup();
	setenv("PATH", "/usr/bin:/bin", 1);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		const char *file = put("script", lines[i].text, 0700);

		ck_assert_msg(examine(&t, file), "<%s>: %s", lines[i].text, strerror(errno));
		ck_assert_msg(strcmp(strrchr(t.path, '/') + 1, lines[i].leads_to) == 0,
		              "<%s>: leads to %s", lines[i].text, t.path);
		ck_assert_msg(!!(t.traits & TARGET_CLEARED) == lines[i].cleared,
		              "<%s>: traits %x", lines[i].text, t.traits);
		ck_assert_str_eq(t.script, file);
		ck_assert(t.elf);
	}
	cleanup(names, 1);
}
END_TEST

START_TEST(chains)
{
	static const char *const names[] = { "a", "b", "loop" };
	char text[128];
	struct target t;

	setup();
	put("a", "#!/bin/sh\n", 0700);
	snprintf(text, sizeof(text), "#!%s/a\n", folder);
	ck_assert(examine(&t, put("b", text, 0700)));
	ck_assert_str_eq(t.path, "/bin/sh");
	ck_assert_str_eq(strrchr(t.script, '/'), "/b");
	snprintf(text, sizeof(text), "#!%s/loop\n", folder);
	ck_assert(!examine(&t, put("loop", text, 0700)));
	ck_assert_int_eq(errno, ELOOP);
	ck_assert(!examine(&t, put("a", "#!/nonexistent/sh\n", 0700)));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert(!examine(&t, "/nonexistent/a"));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert(examine(&t, folder));
	ck_assert(!t.elf);
	cleanup(names, ARRAY_LEN(names));
}
END_TEST

/* The kernel cuts a first line at 256 bytes; nothing is read or kept beyond. */
START_TEST(long_lines)
{
	static const char *const names[] = { "script" };
	char text[2000];
	struct target t;

	setup();
	for (size_t len = 240; len < 300; len++) {
		memset(text, 'x', sizeof(text));
		memcpy(text, "#!/", 3);
		text[len] = '\0';
		examine(&t, put("script", text, 0700));
		memcpy(text, "#!/usr/bin/env -S A=", 20);
		ck_assert(examine(&t, put("script", text, 0700)));
		memcpy(text, "#!/bin/sh ", 10);
		ck_assert(examine(&t, put("script", text, 0700)));
		ck_assert_str_eq(t.path, "/bin/sh");
	}
	memset(text, ' ', sizeof(text));
	memcpy(text, "#!", 2);
	text[sizeof(text) - 1] = '\0';
	ck_assert(examine(&t, put("script", text, 0700)));
	ck_assert_str_eq(t.path, "/bin/sh");
	cleanup(names, 1);
}
END_TEST

START_TEST(finding)
{
	static const char *const names[] = { "prog", "plain" };
	char out[PATH_MAX], search[256];

	setup();
	put("plain", "x", 0600);
	put("prog", "x", 0700);
	snprintf(search, sizeof(search), "/nonexistent:%s:/bin", folder);
	ck_assert(target_find("prog", search, out, sizeof(out)));
	ck_assert_str_eq(out, path);
	ck_assert(target_find("sh", search, out, sizeof(out)));
	ck_assert_str_eq(out, "/bin/sh");
	ck_assert(!target_find("plain", search, out, sizeof(out)));
	ck_assert_int_eq(errno, EACCES);
	ck_assert(!target_find("nosuch", search, out, sizeof(out)));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert(!target_find("", search, out, sizeof(out)));
	ck_assert(!target_find("nosuch/sh", search, out, sizeof(out)));
	ck_assert(target_find("/bin/sh", "", out, sizeof(out)));
	ck_assert(target_find("sh", NULL, out, sizeof(out)));
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert(target_find("prog", ":/bin", out, sizeof(out)));
	ck_assert_str_eq(out, "prog");
	ck_assert(!target_find("prog", search, out, 8));
	cleanup(names, ARRAY_LEN(names));
}
END_TEST

/* The order of the table is the order of weight: findings_verdict() relies on it. */
START_TEST(weights)
{
	struct findings f = { 0 };
	char *line;

	for (int c = 1; c < FINDING_COUNT; c++) {
		ck_assert_msg(finding_effect(c) <= finding_effect(c - 1), "%s", finding_word(c));
		for (int other = 0; other < c; other++)
			ck_assert_str_ne(finding_word(c), finding_word(other));
		/* Whatever is missing, somebody can do something about. */
		ck_assert(finding_effect(c) == COVERED || finding_advice(c));
	}
	ck_assert_int_eq(findings_verdict(&f), COVERED);
	findings_add(&f, FINDING_RUNTIME, "/bin/x", "X");
	ck_assert_int_eq(findings_verdict(&f), COVERED);
	findings_add(&f, FINDING_GO, "/bin/x", NULL);
	findings_add(&f, FINDING_GO, "/bin/x", NULL);
	ck_assert_uint_eq(f.count, 2);
	ck_assert_int_eq(findings_verdict(&f), PARTLY);
	findings_add(&f, FINDING_STATIC, NULL, "");
	ck_assert_int_eq(findings_verdict(&f), NOT_COVERED);
	ck_assert_int_eq(f.list[0].code, FINDING_STATIC);
	ck_assert_int_eq(f.list[2].code, FINDING_RUNTIME);
	line = finding_line(&f.list[0]);
	ck_assert_str_eq(line, finding_text(FINDING_STATIC));
	free(line);
	line = finding_line(&f.list[2]);
	ck_assert_ptr_nonnull(strstr(line, "/bin/x: "));
	ck_assert_ptr_nonnull(strstr(line, " (X)"));
	free(line);
	findings_free(&f);
	ck_assert_uint_eq(f.count, 0);
}
END_TEST

UNIT_MAIN("target", &first_lines, &chains, &long_lines, &finding, &weights)
