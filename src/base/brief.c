/* SPDX-License-Identifier: MIT */
#include "base/brief.h"

#include <stdatomic.h>

#include "base/sys.h"

#define PLACES 16

/* What the kernel tells of such a descriptor. A program's own file has hardly all three. */
#define MODE (O_WRONLY | O_APPEND | O_NONBLOCK)
#define MODE_BITS (O_ACCMODE | O_APPEND | O_NONBLOCK)

/* By number. A place is not emptied when the file is closed: fork() copies the table of
 * descriptors before it copies the memory. */
static struct place {
	_Atomic int fd; /* 0: none */
	_Atomic uintptr_t thread;
	_Atomic uint64_t dev;
	_Atomic uint64_t ino;
} places[PLACES];

static uintptr_t self(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

static void note(int fd, const struct stat *st)
{
	struct place *p = &places[fd % PLACES];

	atomic_store(&p->fd, 0);
	atomic_store(&p->thread, self());
	atomic_store(&p->dev, st->st_dev);
	atomic_store(&p->ino, st->st_ino);
	atomic_store(&p->fd, fd);
}

int brief_open(const char *path, int flags, mode_t mode, struct stat *st)
{
	int fd = sys_openat(AT_FDCWD, path, flags | MODE | O_CLOEXEC | O_NOCTTY, mode);
	int error;

	fd = sys_off_stdio(fd);
	if (fd < 0)
		return fd;
	error = sys_fstat(fd, st);
	if (error < 0) {
		sys_close(fd);
		return error;
	}
	if (S_ISREG(st->st_mode))
		note(fd, st);
	return fd;
}

static bool is_left(const struct place *p, int fd)
{
	struct stat st;

	return sys_fstat(fd, &st) == 0 && (uint64_t)st.st_dev == atomic_load(&p->dev) &&
	       (uint64_t)st.st_ino == atomic_load(&p->ino) &&
	       (sys_fcntl(fd, F_GETFL, 0) & MODE_BITS) == MODE &&
	       sys_fcntl(fd, F_GETFD, 0) == FD_CLOEXEC;
}

void brief_postfork_child(void)
{
	for (unsigned i = 0; i < PLACES; i++) {
		struct place *p = &places[i];
		int fd = atomic_load(&p->fd);

		/* One of this thread is in use: a handler has forked. */
		if (fd == 0 || atomic_load(&p->thread) == self())
			continue;
		if (is_left(p, fd))
			sys_close(fd);
		atomic_store(&p->fd, 0);
	}
}
