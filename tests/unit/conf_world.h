/* SPDX-License-Identifier: MIT */
/*
 * conf_world.h - a folder of configuration files for one test, and what the
 * loader says about them. "D/" in a path stands for the folder.
 */
#ifndef LIBRETRY_TESTS_CONF_WORLD_H
#define LIBRETRY_TESTS_CONF_WORLD_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "base/fmt.h"
#include "config/config.h"

#ifndef TOP_SRCDIR
#define TOP_SRCDIR "."
#endif

#define SAID_MAX 96
#define SAID_LEN 700

static char world_dir[64];

static struct {
	unsigned count;
	char line[SAID_MAX][SAID_LEN]; /* "E D/main.conf:3: text" */
} said;

static LR_UNUSED void world_open(void)
{
	strcpy(world_dir, "/tmp/libretry-conf-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(world_dir));
	said.count = 0;
}

static LR_UNUSED int world_remove(const char *path, const struct stat *st, int flag,
                                  struct FTW *where)
{
	(void)st;
	(void)flag;
	(void)where;
	return remove(path);
}

static LR_UNUSED void world_close(void)
{
	nftw(world_dir, world_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* A path in the folder; valid until the fourth call after it. */
static LR_UNUSED const char *world_path(const char *name)
{
	static char paths[4][320];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", world_dir, name);
	return path;
}

static LR_UNUSED void world_put_bytes(const char *name, const void *bytes, size_t len)
{
	int fd = open(world_path(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static LR_UNUSED void world_put(const char *name, const char *text)
{
	world_put_bytes(name, text, strlen(text));
}

/* Copies <s> with the folder's name as "D". */
static LR_UNUSED void world_shorten(char *to, size_t size, const char *s)
{
	struct fmt f;

	fmt_init(&f, to, size);
	while (*s) {
		if (strncmp(s, world_dir, strlen(world_dir)) == 0) {
			fmt_char(&f, 'D');
			s += strlen(world_dir);
		} else {
			fmt_char(&f, *s++);
		}
	}
	fmt_end(&f);
}

static LR_UNUSED void world_hear(void *ctx, const struct diag *d)
{
	char full[1500];
	struct fmt f;

	ck_assert_ptr_eq(ctx, &said);
	ck_assert_uint_lt(said.count, SAID_MAX);
	fmt_init(&f, full, sizeof(full));
	fmt_char(&f, "NWKEU"[d->level]);
	fmt_char(&f, ' ');
	diag_fmt(&f, d);
	fmt_end(&f);
	world_shorten(said.line[said.count++], SAID_LEN, full);
}

/* env keeps pointers into itself, so it must not be copied: one for all. */
static struct env the_env;
static bool world_wants_all = true;

static LR_UNUSED struct config *world_load_env(const char *path, const char *const *vars)
{
	static char *const none[] = { NULL };
	struct config *c;

	said.count = 0;
	env_snapshot(&the_env, vars ? (char *const *)vars : none, false);
	the_env.wants_all = world_wants_all;
	c = config_load(path, &lcapi_direct, &the_env, world_hear, &said);
	ck_assert_ptr_nonnull(c);
	return c;
}

static LR_UNUSED struct config *world_load(const char *path)
{
	return world_load_env(path, NULL);
}

/* All that was said is the NULL-terminated list <lines>, in this order. */
static LR_UNUSED void world_said(const char *what, const char *const *lines)
{
	unsigned i;

	if (getenv("SHOW")) {
		printf("== %s\n", what);
		for (i = 0; i < said.count; i++)
			printf("%s\n", said.line[i]);
		return;
	}
	for (i = 0; lines[i] && i < said.count; i++)
		ck_assert_msg(strcmp(lines[i], said.line[i]) == 0,
		              "%s: expected\n%s\nbut got\n%s", what, lines[i], said.line[i]);
	ck_assert_msg(!lines[i], "%s: nobody said\n%s", what, lines[i]);
	ck_assert_msg(i == said.count, "%s: unexpected\n%s", what, said.line[i]);
}

#endif
