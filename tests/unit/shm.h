/* SPDX-License-Identifier: MIT */
/* shm.h - a folder like /dev/shm for one test, and children that try something there. */
#ifndef LIBRETRY_TESTS_SHM_H
#define LIBRETRY_TESTS_SHM_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "state/shm.h"
#include "tests/unit/unit.h"

#define NOBODY 65534

static char folder[64];
static char segment[SHM_PATH_MAX]; /* of the effective user */

static LR_UNUSED void open_folder(void)
{
	strcpy(folder, "/tmp/libretry-shm-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chmod(folder, 01777), 0);
	shm_reset(folder);
	shm_path(segment, sizeof(segment), geteuid(), -1);
	ck_assert_int_eq(strncmp(segment, folder, strlen(folder)), 0);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *where)
{
	(void)st;
	(void)flag;
	(void)where;
	return remove(path);
}

static LR_UNUSED void close_folder(void)
{
	shm_reset(NULL);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static LR_UNUSED struct slot *user_slot(const char *dest, bool *shared)
{
	return shm_slot(SCOPE_USER, dest, "default", shared);
}

static LR_UNUSED bool is_shared(const char *dest)
{
	bool shared;

	return user_slot(dest, &shared) && shared;
}

static LR_UNUSED ino_t inode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_ino : 0;
}

static LR_UNUSED void age(const char *path, int seconds)
{
	struct timespec times[2];

	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= seconds;
	times[1] = times[0];
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* In a child: what ck_assert() is in a test. */
#define must(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1); \
		} \
	} while (0)

/* Runs <fn> in a child: 0, or what it passed to _exit(). */
static LR_UNUSED int in_child(void (*fn)(void))
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		fn();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

static LR_UNUSED void become(uid_t uid)
{
	must(setgroups(0, NULL) == 0 && setresgid(uid, uid, uid) == 0 &&
	     setresuid(uid, uid, uid) == 0);
}

#endif
