/* SPDX-License-Identifier: MIT */
#include "state/stats_file.h"

#include <stdatomic.h>
#include <string.h>

#include "base/brief.h"
#include "base/compat.h"
#include "base/filename.h"
#include "base/quiet.h"
#include "base/sys.h"
#include "state/shm.h"
#include "state/view.h"

static const struct stats_settings *_Atomic current;
static _Atomic int64_t next;    /* when it is due; 0: nothing was counted yet */
static _Atomic bool written;    /* ... by this process */
static _Atomic bool behind;
static _Atomic bool busy;       /* somebody has the two below */
static struct stats_dest view;
static char room[VIEW_ROOM];

struct file {
	int fd;
	bool bad;
};

void stats_file_configure(const struct stats_settings *s)
{
	atomic_store(&current, s && s->path[0] ? s : NULL);
}

bool stats_file_on(void)
{
	return atomic_load_explicit(&current, memory_order_acquire) != NULL;
}

bool stats_file_counted(bool end, int64_t now)
{
	const struct stats_settings *s = atomic_load_explicit(&current, memory_order_acquire);
	int64_t due = 0;

	if (!s)
		return false;
	atomic_store(&behind, true);
	if (atomic_compare_exchange_strong(&next, &due, dur_add(now, s->every)))
		return end;
	return now >= due || (end && !atomic_load(&written));
}

bool stats_file_behind(void)
{
	return stats_file_on() && atomic_load(&behind);
}

static void put(void *to, const char *text, size_t len)
{
	struct file *file = to;

	file->bad = file->bad || quiet_write(file->fd, text, len) != (ssize_t)len;
}

static const struct stats_dest *own(void *arg, unsigned i)
{
	const struct slot *s = &shm_own()[i];

	if (!atomic_load_explicit(&s->key, memory_order_relaxed) ||
	    !atomic_load_explicit(&s->named, memory_order_acquire))
		return NULL;
	view_read(&view, s, *(const int64_t *)arg);
	return &view;
}

/* (Another function of libc's, strstr(), would cost every process its look-up.) */
static bool has_number(const char *pattern)
{
	for (; *pattern; pattern++)
		if (pattern[0] == '%' && pattern[1] == 'p')
			return true;
	return false;
}

static void name_process(struct fmt *f, const char *pattern)
{
	fmt_str(f, "process:");
	filename_program(f);
	if (has_number(pattern)) {
		fmt_char(f, ':');
		fmt_u64(f, (uint64_t)sys_getpid());
	}
	fmt_end(f);
}

static LR_NOINLINE bool fill(int fd, const struct stats_settings *s, int64_t now)
{
	struct file file = { .fd = fd };
	char name[128];
	struct fmt f;
	struct view v = { .segment = name,
		          .present = true,
		          .wall = sys_realtime(),
		          .places = SHM_OWN_SLOTS,
		          .overflow = shm_own_overflow(),
		          .count = SHM_OWN_SLOTS,
		          .dest = own,
		          .arg = &now,
		          .flush = put,
		          .to = &file,
		          .room = room };

	fmt_init(&f, name, sizeof(name));
	name_process(&f, s->path);
	for (unsigned i = 0; i < SHM_OWN_SLOTS; i++)
		v.taken += own(&now, i) != NULL;
	if (s->json)
		view_json(&v);
	else
		view_prometheus(&v);
	return !file.bad;
}

/* Of a name that no collector reads, in the same folder. One that is there already is of
 * a process of this number that was killed, or somebody's trap. */
static int open_aside(const char *aside)
{
	const int flags = O_CREAT | O_EXCL | O_NOFOLLOW;
	struct stat st;
	int fd = brief_open(aside, flags, 0644, &st);

	if (fd == -EEXIST && sys_unlink(aside) == 0)
		fd = brief_open(aside, flags, 0644, &st);
	return fd;
}

/* A name that stands for something else than a file, as /dev/null or /dev/stdout do, is not
 * ours to replace. */
static bool may_replace(const char *path)
{
	struct stat st;
	int fd = sys_off_stdio(sys_openat(AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0));
	bool plain = fd == -ENOENT;

	if (fd < 0)
		return plain;
	plain = sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	sys_close(fd);
	return plain;
}

static LR_NOINLINE void replace(const struct stats_settings *s, int64_t now)
{
	char path[LOG_PATH_MAX], aside[LOG_PATH_MAX + 32];
	const char *slash;
	struct fmt f;
	int fd;
	bool whole;

	fmt_init(&f, path, sizeof(path));
	if (!filename_expand(&f, s->path) || !may_replace(path))
		return;
	slash = strrchr(path, '/');
	fmt_init(&f, aside, sizeof(aside));
	fmt_mem(&f, path, (size_t)(slash + 1 - path));
	fmt_char(&f, '.');
	fmt_str(&f, slash + 1);
	fmt_char(&f, '.');
	fmt_u64(&f, (uint64_t)sys_getpid());
	fmt_end(&f);
	fd = open_aside(aside);
	if (fd < 0)
		return;
	/* Its reader is somebody else. */
	sys_fchmod(fd, 0644);
	whole = fill(fd, s, now);
	sys_close(fd);
	if (!whole || sys_rename(aside, path) != 0)
		sys_unlink(aside);
}

void stats_file_write(int64_t now)
{
	const struct stats_settings *s = atomic_load_explicit(&current, memory_order_acquire);
	const uint64_t all = SYS_SIGALL;
	uint64_t before = 0;

	if (!s || sys_sigmask(SIG_BLOCK, &all, &before) < 0)
		return;
	/* A handler that jumps out would leave it busy for good. */
	if (!atomic_exchange(&busy, true)) {
		atomic_store(&behind, false);
		atomic_store(&written, true);
		atomic_store(&next, dur_add(now, s->every));
		replace(s, now);
		atomic_store(&busy, false);
	}
	sys_sigmask(SIG_SETMASK, &before, NULL);
}

void stats_file_postfork_child(void)
{
	atomic_store(&next, 0);
	atomic_store(&written, false);
	atomic_store(&behind, false);
	/* Another thread's, which is not here. */
	atomic_store(&busy, false);
}
