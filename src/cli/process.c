/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compat.h"
#include "cli/elf.h"
#include "cli/need.h"
#include "cli/process.h"
#include "cli/wrapped.h"

#define LIBRARY "libretry.so"
#define DELETED " (deleted)"
#define FILE_LIMIT (1 << 22)

/* A file of /proc, with a NUL behind it; NULL with errno. */
static char *read_all(const char *pid, const char *name, size_t *size)
{
	char path[64];
	char *bytes = NULL;
	size_t have = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	do {
		bytes = need(realloc(bytes, have + 4097));
		got = read(fd, bytes + have, 4096);
		have += got > 0 ? (size_t)got : 0;
	} while (got > 0 && have < FILE_LIMIT);
	close(fd);
	if (got < 0 && !have) {
		free(bytes);
		return NULL;
	}
	bytes[have] = '\0';
	*size = have;
	return bytes;
}

/* Cuts " (deleted)" off; true if it was there. */
static bool cut_deleted(char *path)
{
	size_t len = strlen(path), end = sizeof(DELETED) - 1;

	if (len <= end || strcmp(path + len - end, DELETED) != 0)
		return false;
	path[len - end] = '\0';
	return true;
}

static bool read_exe(struct process *p, const char *pid)
{
	ssize_t len;

	snprintf(p->exe_link, sizeof(p->exe_link), "/proc/%s/exe", pid);
	len = readlink(p->exe_link, p->exe, sizeof(p->exe) - 1);
	if (len < 0)
		return false;
	p->exe[len] = '\0';
	p->exe_deleted = cut_deleted(p->exe);
	return true;
}

static bool link_is(const char *pid, const char *name, const char *other)
{
	char path[64], mine[256], theirs[256];
	ssize_t a, b = (ssize_t)strlen(other);

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	a = readlink(path, theirs, sizeof(theirs));
	if (*other != '/') {
		snprintf(path, sizeof(path), "/proc/self/%s", name);
		b = readlink(path, mine, sizeof(mine));
		other = mine;
	}
	return a < 0 || b < 0 || (a == b && memcmp(theirs, other, (size_t)a) == 0);
}

static void read_status(struct process *p, const char *pid)
{
	size_t size;
	char *text = read_all(pid, "status", &size);
	const char *at;

	p->seccomp = p->no_new_privs = -1;
	if (!text)
		return;
	at = strstr(text, "\nSeccomp:");
	if (at)
		p->seccomp = atoi(at + 9);
	at = strstr(text, "\nNoNewPrivs:");
	if (at)
		p->no_new_privs = atoi(at + 12);
	free(text);
}

/* Only a process of our own word size is understood; of others it stays false. */
static void read_auxv(struct process *p, const char *pid)
{
	size_t size = 0;
	char *bytes = read_all(pid, "auxv", &size);
	unsigned long pair[2];

	for (size_t i = 0; bytes && i + sizeof(pair) <= size; i += sizeof(pair)) {
		memcpy(pair, bytes + i, sizeof(pair));
		if (pair[0] == AT_SECURE)
			p->secure = pair[1] != 0;
	}
	free(bytes);
}

static void read_environment(struct process *p, const char *pid)
{
	size_t size = 0, count = 0;

	p->environment = read_all(pid, "environ", &size);
	if (!p->environment)
		return;
	p->variables = need(calloc(size / 2 + 2, sizeof(*p->variables)));
	for (size_t i = 0; i < size; i += strlen(p->environment + i) + 1) {
		if (p->environment[i])
			p->variables[count++] = p->environment + i;
	}
}

static void add_mapped(struct process *p, const char *path)
{
	for (size_t i = p->mapped_count; i-- > 0;) {
		if (strcmp(p->mapped[i], path) == 0)
			return;
	}
	p->mapped = need(reallocarray(p->mapped, p->mapped_count + 1, sizeof(*p->mapped)));
	p->mapped[p->mapped_count++] = need(strdup(path));
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "begin-end rwxp offset major:minor inode   path" */
static void read_line(struct process *p, char *line)
{
	char *path = strchr(line, '/');
	char *access = strchr(line, ' ');
	bool deleted;

	if (!path || !access || access > path || access[3] != 'x')
		return;
	deleted = cut_deleted(path);
	if (strcmp(last_part(path), LIBRARY) == 0) {
		snprintf(p->library, sizeof(p->library), "%s", path);
		p->library_deleted = deleted;
	} else if (!deleted) {
		add_mapped(p, path);
	}
}

static bool read_maps(struct process *p, const char *pid)
{
	size_t size;
	char *text = read_all(pid, "maps", &size), *save = NULL;

	if (!text)
		return false;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		read_line(p, line);
	free(text);
	return true;
}

bool process_read(struct process *p, const char *pid)
{
	char path[40];

	memset(p, 0, sizeof(*p));
	snprintf(path, sizeof(path), "/proc/%s", pid);
	if (access(path, F_OK) != 0) {
		errno = ESRCH;
		return false;
	}
	if (!read_exe(p, pid) || !read_maps(p, pid)) {
		process_free(p);
		return false;
	}
	if (!link_is(pid, "root", "/") || !link_is(pid, "ns/mnt", ""))
		snprintf(p->root, sizeof(p->root), "/proc/%s/root", pid);
	read_status(p, pid);
	read_auxv(p, pid);
	read_environment(p, pid);
	return true;
}

void process_free(struct process *p)
{
	int saved = errno;

	for (size_t i = 0; i < p->mapped_count; i++)
		free(p->mapped[i]);
	free(p->mapped);
	free(p->variables);
	free(p->environment);
	memset(p, 0, sizeof(*p));
	errno = saved;
}

const char *process_variable(const struct process *p, const char *name)
{
	size_t len = strlen(name);

	for (char **v = p->variables; v && *v; v++) {
		if (strncmp(*v, name, len) == 0 && (*v)[len] == '=')
			return *v + len + 1;
	}
	return NULL;
}

/* The same file, or the same build of it. */
static bool same_build(const char *a, const char *b)
{
	struct stat x, y;
	struct elf e, g;
	bool same = false;

	if (stat(a, &x) != 0 || stat(b, &y) != 0)
		return false;
	if (x.st_dev == y.st_dev && x.st_ino == y.st_ino)
		return true;
	if (!elf_open(&e, a))
		return false;
	if (elf_open(&g, b)) {
		same = e.build_id_len && e.build_id_len == g.build_id_len &&
		       memcmp(e.build_id, g.build_id, e.build_id_len) == 0;
		elf_close(&g);
	}
	elf_close(&e);
	return same;
}

void process_findings(const struct process *p, const char *own, struct findings *f)
{
	const char *preload = process_variable(p, "LD_PRELOAD");
	char *path;

	if (p->root[0])
		findings_add(f, FINDING_OTHER_NAMESPACE, p->exe, NULL);
	if (p->library[0]) {
		path = need_text("%s%s", p->root, p->library);
		if (p->library_deleted)
			findings_add(f, FINDING_STALE, p->library, NULL);
		else if (*own && !same_build(path, own))
			findings_add(f, FINDING_OTHER_BUILD, p->exe, p->library);
		free(path);
		return;
	}
	if (p->secure)
		findings_add(f, FINDING_SECURE, p->exe, NULL);
	findings_add(f, FINDING_NOT_LOADED, p->exe,
	             !p->variables             ? NULL
	             : !preload                ? "it was started without LD_PRELOAD"
	             : strstr(preload, LIBRARY) ? "its LD_PRELOAD names it, and the loader did "
	                                          "not take it"
	                                        : "its LD_PRELOAD does not name it");
}

void process_limits(const struct process *p, const char *file, struct findings *f)
{
	if (p->seccomp == 1)
		findings_add(f, FINDING_SECCOMP_STRICT, file, NULL);
	else if (p->seccomp == 2)
		findings_add(f, FINDING_SECCOMP, file, NULL);
	if (p->no_new_privs == 1)
		findings_add(f, FINDING_NO_NEW_PRIVS, file, NULL);
}

static int by_name(const void *key, const void *row)
{
	return strcmp(key, ((const struct wrapped *)row)->name);
}

static void count_wrapped(void *ctx, const char *name, bool defined)
{
	unsigned *count = ctx;

	if (defined && bsearch(name, wrapped, wrapped_count, sizeof(*wrapped), by_name))
		++*count;
}

/* What another preload and ours both wrap. */
static void other_preload(const char *path, struct findings *f)
{
	struct elf_dynamic d;
	unsigned count = 0;
	char *detail;
	struct elf e;

	if (strchr(path, '/') && elf_open(&e, path)) {
		if (elf_dynamic_read(&e, &d)) {
			elf_symbols(&e, &d, count_wrapped, &count);
			elf_dynamic_free(&d);
		}
		elf_close(&e);
	}
	detail = need_text("it wraps %u of the functions of libretry.so as well", count);
	findings_add(f, FINDING_OTHER_PRELOAD, path, count ? detail : NULL);
	free(detail);
}

void preload_findings(const char *value, bool here, struct findings *f)
{
	char *list = need(strdup(value ? value : "")), *save = NULL;

	for (char *path = strtok_r(list, ": ", &save); path; path = strtok_r(NULL, ": ", &save)) {
		if (strcmp(last_part(path), LIBRARY) != 0)
			other_preload(path, f);
		else if (here)
			findings_add(f, FINDING_ALREADY, NULL, path);
	}
	free(list);
}
