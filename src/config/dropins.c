/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "config/loader.h"

/* Names looked at, whether they are ours or not. */
#define ENTRIES_MAX 65536
#define BUFFER 32768

struct listing {
	struct loader *ld;
	const char *dir; /* with the slash */
	const char **paths;
	unsigned count;
	unsigned seen;
	bool full;
};

static bool is_dropin(const char *name)
{
	static const char end[] = ".conf";
	size_t len = strlen(name);

	return *name != '.' && len >= sizeof(end) && strcmp(name + len - sizeof(end) + 1, end) == 0;
}

static const char *join(struct loader *ld, const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	char *path = arena_alloc(ld->r.keep, n + m + 1);

	if (!path)
		return "";
	memcpy(path, a, n);
	memcpy(path + n, b, m);
	return path;
}

/* In byte order; qsort() may allocate. */
static void insert(struct listing *l, const char *name)
{
	const char *path;
	unsigned i;

	if (l->count == LOAD_DROPINS_MAX) {
		l->full = true;
		return;
	}
	path = join(l->ld, l->dir, name);
	for (i = l->count++; i > 0 && strcmp(l->paths[i - 1], path) > 0; i--)
		l->paths[i] = l->paths[i - 1];
	l->paths[i] = path;
}

static void unreadable(struct listing *l, int error)
{
	char buf[128];
	struct fmt f;

	fmt_init(&f, buf, sizeof(buf));
	fmt_str(&f, "cannot be opened: ");
	slurp_reason(&f, error);
	diag_send(&l->ld->sink, DIAG_UNREADABLE, (struct source){ l->dir, 0 }, &f);
}

static void list(struct listing *l, int fd, char *buffer)
{
	for (;;) {
		ssize_t n = sys_getdents(fd, buffer, BUFFER);

		if (n < 0)
			unreadable(l, (int)-n);
		if (n <= 0)
			return;
		for (ssize_t at = 0; at < n;) {
			const struct sys_dirent *entry = (const void *)(buffer + at);

			if (is_dropin(entry->name))
				insert(l, entry->name);
			if (l->full || ++l->seen == ENTRIES_MAX) {
				diag_say(&l->ld->sink, DIAG_ERROR, (struct source){ l->dir, 0 },
				         "too many files (at most %u)", LOAD_DROPINS_MAX);
				return;
			}
			at += entry->reclen;
		}
	}
}

unsigned dropins_list(struct loader *ld, const char *path, const char **paths)
{
	struct listing l = { .ld = ld, .paths = paths };
	const char *slash = strrchr(path, '/');
	char *buffer = arena_alloc(ld->r.scratch, BUFFER);
	int fd;

	l.dir = join(ld, arena_text(ld->r.scratch, path, slash ? (size_t)(slash - path) + 1 : 0),
	             "conf.d/");
	if (!buffer)
		return 0;
	fd = sys_openat(AT_FDCWD, l.dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0) {
		if (fd != -ENOENT)
			unreadable(&l, -fd);
		return 0;
	}
	list(&l, fd, buffer);
	sys_close(fd);
	return l.count;
}
