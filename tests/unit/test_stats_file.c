/* SPDX-License-Identifier: MIT */
#include "state/stats_file.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/shm.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/libretry-stats-XXXXXX";
static char path[64];
static struct stats_settings settings;

static void begin(bool json)
{
	bool shared;

	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	settings = (struct stats_settings){ .json = json, .every = 10 * DUR_S };
	snprintf(settings.path, sizeof(settings.path), "%s", path);
	shm_reset(NULL);
	stats_file_postfork_child();
	stats_file_configure(&settings);
	atomic_store(&shm_slot(SCOPE_PROCESS, "db1:5432", "default", &shared)->tally[TALLY_CALLS],
	             42);
}

static void end(void)
{
	stats_file_configure(NULL);
	unlink(path);
	ck_assert_msg(rmdir(folder) == 0, "something is left in %s", folder);
}

static const char *content(void)
{
	static char text[16384];
	FILE *in = fopen(path, "r");
	size_t n;

	if (!in)
		return NULL;
	n = fread(text, 1, sizeof(text) - 1, in);
	text[n] = '\0';
	fclose(in);
	return text;
}

START_TEST(due_at_ends_then_every_so_often)
{
	begin(false);
	ck_assert(!stats_file_behind());
	/* A retry is not written at once, its end is. */
	ck_assert(!stats_file_counted(false, 100 * DUR_S));
	ck_assert(stats_file_behind());
	ck_assert(!stats_file_counted(false, 109 * DUR_S));
	ck_assert(stats_file_counted(true, 101 * DUR_S));
	/* Nor is it kept back for ever if there is no end. */
	ck_assert(stats_file_counted(false, 110 * DUR_S));
	stats_file_write(110 * DUR_S);
	ck_assert(!stats_file_behind());
	ck_assert(!stats_file_counted(true, 119 * DUR_S));
	ck_assert(stats_file_behind());
	ck_assert(stats_file_counted(false, 120 * DUR_S));
	/* A child has nothing to say yet. */
	stats_file_postfork_child();
	ck_assert(!stats_file_behind());
	ck_assert(stats_file_counted(true, 120 * DUR_S));
	stats_file_configure(NULL);
	ck_assert(!stats_file_on() && !stats_file_behind());
	ck_assert(!stats_file_counted(true, 999 * DUR_S));
	end();
}
END_TEST

START_TEST(written_as_a_whole)
{
	struct stat st;

	begin(false);
	errno = 77;
	stats_file_write(DUR_S);
	ck_assert_int_eq(errno, 77);
	ck_assert_ptr_nonnull(strstr(content(), "libretry_calls_total{segment=\"process:"));
	ck_assert_ptr_nonnull(strstr(content(), ",op=\"connect\",dest=\"db1:5432\",policy=\"default\"} "
	                                        "42\n"));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0644);
	end();
	begin(true);
	stats_file_write(DUR_S);
	ck_assert_ptr_nonnull(strstr(content(), "\"calls\":42,"));
	end();
}
END_TEST

/* The old content stays, nothing else is left, and no signal is seen. */
START_TEST(no_room)
{
	const struct rlimit little = { 1000, RLIM_INFINITY };
	struct rlimit before;
	char old[16384];
	sigset_t pending;

	begin(false);
	stats_file_write(DUR_S);
	strcpy(old, content());
	atomic_store(&shm_own()[0].tally[TALLY_CALLS], 1);
	getrlimit(RLIMIT_FSIZE, &before);
	setrlimit(RLIMIT_FSIZE, &little);
	stats_file_write(2 * DUR_S);
	setrlimit(RLIMIT_FSIZE, &before);
	sigpending(&pending);
	ck_assert(!sigismember(&pending, SIGXFSZ));
	ck_assert(strcmp(content(), old) == 0);
	end();
}
END_TEST

/* One of a process that was killed, and a trap: where it leads is left alone. */
START_TEST(what_stands_in_the_way)
{
	char aside[96], victim[96];

	begin(false);
	snprintf(aside, sizeof(aside), "%s/.file.%ld", folder, (long)getpid());
	snprintf(victim, sizeof(victim), "%s/victim", folder);
	ck_assert_int_eq(symlink(victim, aside), 0);
	stats_file_write(DUR_S);
	ck_assert_ptr_nonnull(content());
	ck_assert_int_ne(access(victim, F_OK), 0);
	/* No folder, no file, nobody's trouble. */
	snprintf(settings.path, sizeof(settings.path), "%s/no/file", folder);
	stats_file_write(2 * DUR_S);
	end();
}
END_TEST

/* What is no file stays what it is: a device, and what /dev/stdout is. */
START_TEST(only_files_are_replaced)
{
	struct stat st;

	begin(false);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	stats_file_write(DUR_S);
	ck_assert(lstat(path, &st) == 0 && S_ISFIFO(st.st_mode));
	unlink(path);
	ck_assert_int_eq(symlink("/dev/null", path), 0);
	stats_file_write(2 * DUR_S);
	ck_assert(lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
	end();
}
END_TEST

UNIT_MAIN("stats_file", &due_at_ends_then_every_so_often, &written_as_a_whole, &no_room,
          &what_stands_in_the_way, &only_files_are_replaced)
