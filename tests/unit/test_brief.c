/* SPDX-License-Identifier: MIT */
#include "base/brief.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static char folder[] = "/tmp/libretry-brief-XXXXXX";
static char path[64];

static void begin(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	brief_postfork_child();
}

static void end(void)
{
	unlink(path);
	rmdir(folder);
}

static int open_one(void)
{
	struct stat st;
	int fd;

	errno = 77;
	fd = brief_open(path, O_CREAT, 0600, &st);
	ck_assert_int_ge(fd, 3);
	ck_assert_int_eq(errno, 77);
	ck_assert(S_ISREG(st.st_mode));
	return fd;
}

static void *open_there(void *fd)
{
	*(int *)fd = open_one();
	return NULL;
}

static int open_elsewhere(void)
{
	pthread_t thread;
	int fd = -1;

	ck_assert_int_eq(pthread_create(&thread, NULL, open_there, &fd), 0);
	pthread_join(thread, NULL);
	return fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

START_TEST(what_others_had_open_is_closed)
{
	int theirs, own;

	begin();
	theirs = open_elsewhere();
	own = open_one();
	brief_postfork_child();
	ck_assert(!is_open(theirs) && is_open(own));
	close(own);
	end();
}
END_TEST

/* Under the number, though of the same file, is something of the program's by now. */
START_TEST(what_the_program_has_stays)
{
	static const int modes[] = { O_WRONLY | O_APPEND | O_CLOEXEC,
		                     O_RDWR | O_APPEND | O_NONBLOCK | O_CLOEXEC,
		                     O_WRONLY | O_APPEND | O_NONBLOCK };

	begin();
	for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		int fd = open_elsewhere();

		close(fd);
		ck_assert_int_eq(open(path, modes[i]), fd);
		brief_postfork_child();
		ck_assert(is_open(fd));
		close(fd);
	}
	end();
}
END_TEST

START_TEST(what_cannot_be_opened)
{
	struct stat st;

	begin();
	errno = 77;
	ck_assert_int_eq(brief_open(path, 0, 0, &st), -ENOENT);
	ck_assert_int_eq(brief_open(folder, 0, 0, &st), -EISDIR);
	ck_assert_int_eq(errno, 77);
	end();
}
END_TEST

UNIT_MAIN("brief", &what_others_had_open_is_closed, &what_the_program_has_stays,
          &what_cannot_be_opened)
