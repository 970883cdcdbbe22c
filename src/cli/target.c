/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/glob.h"
#include "cli/elf.h"
#include "cli/target.h"

#define HEAD_BYTES 256 /* as much as the kernel looks at for "#!" */
#define BLANKS " \t"

/* The first line of a script. */
struct first_line {
	char interpreter[HEAD_BYTES];
	char argument[HEAD_BYTES]; /* "" if there is none */
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_called(const char *path, const char *pattern)
{
	const char *name = last_part(path);

	return glob_match(pattern, name, strlen(name), 0);
}

static unsigned privilege_traits(int fd)
{
	static const unsigned set_ids = TARGET_SETUID | TARGET_SETUID_OWN | TARGET_SETGID |
	                                TARGET_SETGID_OWN;
	unsigned traits = 0;
	struct statvfs fs;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return 0;
	if (st.st_mode & S_ISUID)
		traits |= st.st_uid == getuid() ? TARGET_SETUID_OWN : TARGET_SETUID;
	/* Without the execute bit it means something else. */
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP))
		traits |= st.st_gid == getgid() ? TARGET_SETGID_OWN : TARGET_SETGID;
	if (fgetxattr(fd, "security.capability", NULL, 0) > 0)
		traits |= getuid() == 0 ? TARGET_FILECAPS_ROOT : TARGET_FILECAPS;
	if (!traits)
		return 0;
	if (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_NOSUID))
		return TARGET_PRIVILEGES_VOID;
	/* Capabilities are not granted then, and secure mode is on all the same. */
	if ((traits & set_ids) && prctl(PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L) == 1)
		return (traits & ~set_ids) | TARGET_PRIVILEGES_VOID;
	return traits;
}

enum c_library { LIBC_UNKNOWN, LIBC_GLIBC, LIBC_MUSL };

static enum c_library libc_of_program(const struct elf *e)
{
	if (is_called(e->loader, "ld-musl-*"))
		return LIBC_MUSL;
	return is_called(e->loader, "ld-linux*.so.?") || is_called(e->loader, "ld64.so.?") ||
	                       is_called(e->loader, "ld.so.1")
	               ? LIBC_GLIBC
	               : LIBC_UNKNOWN;
}

static enum c_library libc_of_library(const struct elf *e)
{
	enum c_library is = LIBC_UNKNOWN;
	struct elf_dynamic d;

	if (!elf_dynamic_read(e, &d))
		return is;
	for (unsigned i = 0; i < d.needed_count; i++) {
		const char *name = elf_text(&d, d.needed[i]);

		if (strcmp(name, "libc.so.6") == 0)
			is = LIBC_GLIBC;
		else if (strcmp(name, "libc.so") == 0 || is_called(name, "libc.musl-*"))
			is = LIBC_MUSL;
	}
	elf_dynamic_free(&d);
	return is;
}

/* What the library was built with is right, or else what the command was. Among the
 * loaders of one C library the command's is the only one that is known to be right;
 * for the other word size of the same machine it has another name. */
static bool other_libc(const struct elf *e, const struct elf *library, const struct elf *self)
{
	enum c_library its = libc_of_program(e);
	enum c_library ours = self ? libc_of_program(self) : LIBC_UNKNOWN;
	enum c_library right = library ? libc_of_library(library) : LIBC_UNKNOWN;

	if (right == LIBC_UNKNOWN)
		right = ours != LIBC_UNKNOWN ? ours : LIBC_GLIBC;
	if (its == right && its == ours && elf_same_kind(e, self))
		return strcmp(last_part(e->loader), last_part(self->loader)) != 0;
	return its != right;
}

static unsigned image_traits(const struct elf *e, const char *path, const char *like,
                             const char *self)
{
	struct elf theirs, ours;
	bool have_ours = elf_open(&ours, self);
	bool have_theirs = elf_open(&theirs, like);
	const struct elf *kind = have_theirs ? &theirs : have_ours ? &ours : NULL;
	unsigned traits = 0;

	if (kind && !elf_same_kind(e, kind))
		traits = TARGET_FOREIGN;
	else if (e->foreign || e->damaged)
		traits = TARGET_DAMAGED;
	else if (!e->loader[0] && !is_called(path, "ld*.so*"))
		traits = TARGET_STATIC; /* the loader itself has none and honours LD_PRELOAD */
	else if (e->loader[0] && other_libc(e, have_theirs ? &theirs : NULL, have_ours ? &ours : NULL))
		traits = TARGET_OTHER_LIBC;
	if (have_theirs)
		elf_close(&theirs);
	if (have_ours)
		elf_close(&ours);
	if (e->go)
		traits |= TARGET_GO;
	if (e->type == ET_DYN)
		traits |= TARGET_PIE;
	return traits;
}

/* Up to <end>, without blanks around it. */
static void copy_word(char *out, const unsigned char *from, size_t len)
{
	while (len && (from[len - 1] == ' ' || from[len - 1] == '\t'))
		len--;
	memcpy(out, from, len);
	out[len] = '\0';
}

/* "#! /path argument", where the argument is all of the rest, as the kernel
 * reads it; false if it is no such line. */
static bool parse_script(const unsigned char *head, size_t len, struct first_line *line)
{
	size_t i = 2, end, start;

	if (len < 2 || head[0] != '#' || head[1] != '!')
		return false;
	for (end = i; end < len && head[end] != '\n' && head[end] != '\0';)
		end++;
	while (i < end && (head[i] == ' ' || head[i] == '\t'))
		i++;
	for (start = i; i < end && head[i] != ' ' && head[i] != '\t';)
		i++;
	copy_word(line->interpreter, head + start, i - start);
	while (i < end && (head[i] == ' ' || head[i] == '\t'))
		i++;
	copy_word(line->argument, head + i, end - i);
	return line->interpreter[0] != '\0';
}

static bool is_assignment(const char *word)
{
	const char *equals = strchr(word, '=');

	return equals && equals != word;
}

/* What of an argument "-S words" is split into words; NULL if it has no -S. */
static char *split_string(char *argument, bool *cleared)
{
	static const char name[] = "--split-string";
	size_t len = sizeof(name) - 1;

	if (strncmp(argument, name, len) == 0)
		return argument + len + (argument[len] == '=');
	for (char *at = argument + 1; *at && !strchr(BLANKS, *at); at++) {
		if (*at == 'S')
			return at + 1;
		if (*at == 'i')
			*cleared = true;
	}
	return NULL;
}

/* One option of env(1). True if the next word belongs to it. */
static bool env_option(const char *word, bool *cleared)
{
	if (strcmp(word, "-") == 0 || strcmp(word, "-i") == 0 ||
	    strcmp(word, "--ignore-environment") == 0 || strcmp(word, "-uLD_PRELOAD") == 0 ||
	    strcmp(word, "--unset=LD_PRELOAD") == 0)
		*cleared = true;
	return strcmp(word, "-u") == 0 || strcmp(word, "-C") == 0;
}

/*
 * What env(1) would start with <argument> as its one argument; NULL if nothing.
 * The argument is cut up. Only with -S is it split into words, so only then can
 * there be options and a program.
 */
static const char *env_program(char *argument, bool *cleared)
{
	char *save = NULL, *words;
	bool operand = false;

	if (argument[0] != '-')
		return argument[0] && !is_assignment(argument) ? argument : NULL;
	words = split_string(argument, cleared);
	for (char *word = words ? strtok_r(words, BLANKS, &save) : NULL; word;
	     word = strtok_r(NULL, BLANKS, &save)) {
		if (operand) {
			operand = false;
			*cleared |= strcmp(word, "LD_PRELOAD") == 0;
		} else if (word[0] == '-') {
			operand = env_option(word, cleared);
		} else if (is_assignment(word)) {
			*cleared |= strncmp(word, "LD_PRELOAD=", 11) == 0;
		} else {
			return word;
		}
	}
	return NULL;
}

static bool copy_path(char *out, const char *path)
{
	size_t len = strlen(path);

	if (len >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return false;
	}
	memmove(out, path, len + 1);
	return true;
}

/* Where the first line leads. */
static void follow(struct target *t, struct first_line *line)
{
	char found[PATH_MAX];
	bool cleared = false;
	const char *program;

	copy_path(t->path, line->interpreter);
	if (strcmp(last_part(line->interpreter), "env") != 0)
		return;
	program = env_program(line->argument, &cleared);
	if (program && target_find(program, getenv("PATH"), found, sizeof(found)))
		copy_path(t->path, found);
	if (cleared)
		t->traits |= TARGET_CLEARED;
}

struct asked {
	const char *like, *self;
	bool privileges;
};

/* What is no ELF file. True if <line> is filled: it leads on. */
static bool examine_other(struct target *t, struct first_line *line, bool *readable)
{
	unsigned char head[HEAD_BYTES];
	int fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t len = 0;

	memset(line, 0, sizeof(*line));
	*readable = fd >= 0;
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		len = read(fd, head, sizeof(head));
	else
		len = -1;
	close(fd);
	if (len < 0)
		return false;
	if (!parse_script(head, (size_t)len, line))
		memcpy(line->interpreter, "/bin/sh", sizeof("/bin/sh"));
	return true;
}

/* One file; false with errno if it cannot be read. */
static bool examine_one(struct target *t, const struct asked *a, struct first_line *line,
                        bool *leads_on)
{
	struct elf e;
	bool readable;

	*leads_on = false;
	if (!elf_open(&e, t->path)) {
		if (errno != ENOEXEC)
			return false;
		*leads_on = examine_other(t, line, &readable);
		return readable;
	}
	t->elf = true;
	/* The kernel ignores the privilege bits of scripts, so only here. */
	if (a->privileges)
		t->traits |= privilege_traits(e.fd);
	t->traits |= image_traits(&e, t->path, a->like, a->self);
	copy_path(t->loader, e.loader);
	elf_close(&e);
	return true;
}

bool target_examine(struct target *t, const char *path, const char *like, const char *self,
                    bool privileges)
{
	const struct asked asked = { like, self, privileges };
	struct first_line line;
	bool leads_on;

	memset(t, 0, sizeof(*t));
	if (!copy_path(t->path, path))
		return false;
	for (unsigned depth = 0; depth <= TARGET_DEPTH; depth++) {
		if (!examine_one(t, &asked, &line, &leads_on))
			return false;
		if (!leads_on)
			return true;
		if (depth == 0)
			copy_path(t->script, t->path);
		follow(t, &line);
	}
	errno = ELOOP;
	return false;
}

static const char *detail_of(const struct target *t, unsigned trait)
{
	if (trait == TARGET_STATIC && (t->traits & TARGET_GO))
		return "a Go program";
	if (trait == TARGET_OTHER_LIBC)
		return is_called(t->loader, "ld-musl-*") ? "it uses musl"
		       : is_called(t->loader, "ld*.so*") ? "it uses glibc"
		                                         : NULL;
	return NULL;
}

void target_findings(const struct target *t, struct findings *f)
{
	static const struct {
		unsigned trait;
		enum finding_code code;
	} rows[] = {
		{ TARGET_STATIC, FINDING_STATIC },
		{ TARGET_FOREIGN, FINDING_ARCHITECTURE },
		{ TARGET_DAMAGED, FINDING_DAMAGED },
		{ TARGET_SETUID, FINDING_SET_USER_ID },
		{ TARGET_SETGID, FINDING_SET_GROUP_ID },
		{ TARGET_FILECAPS, FINDING_FILE_CAPABILITIES },
		{ TARGET_OTHER_LIBC, FINDING_OTHER_LIBC },
		{ TARGET_CLEARED, FINDING_CLEARED },
		{ TARGET_GO, FINDING_GO },
		{ TARGET_SETUID_OWN, FINDING_SET_USER_ID_OWN },
		{ TARGET_SETGID_OWN, FINDING_SET_GROUP_ID_OWN },
		{ TARGET_FILECAPS_ROOT, FINDING_FILE_CAPABILITIES_ROOT },
		{ TARGET_PRIVILEGES_VOID, FINDING_PRIVILEGES_VOID },
	};
	/* Each of these says it all. */
	static const unsigned alone = TARGET_STATIC | TARGET_FOREIGN | TARGET_DAMAGED;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned trait = rows[i].trait;

		if (!(t->traits & trait) || ((t->traits & alone) && !(trait & alone)))
			continue;
		findings_add(f, rows[i].code, rows[i].code == FINDING_CLEARED ? t->script : t->path,
		             detail_of(t, trait));
	}
}

static bool try_file(const char *path, int *worst)
{
	struct stat st;

	if (stat(path, &st) != 0) {
		if (errno == EACCES)
			*worst = EACCES;
		return false;
	}
	if (S_ISREG(st.st_mode) && access(path, X_OK) == 0)
		return true;
	*worst = EACCES;
	return false;
}

bool target_find(const char *name, const char *search, char *out, size_t size)
{
	char standard[256];
	int worst = ENOENT;
	size_t len = strlen(name);

	if (!search) {
		confstr(_CS_PATH, standard, sizeof(standard));
		search = standard;
	}
	if (strchr(name, '/') || !len)
		search = "";
	for (const char *end;; search = end + 1) {
		size_t dir;

		end = strchrnul(search, ':');
		dir = (size_t)(end - search);
		if (dir + len + 2 <= size) {
			memcpy(out, search, dir);
			/* An empty part is the working directory. */
			if (dir)
				out[dir++] = '/';
			memcpy(out + dir, name, len + 1);
			if (len && try_file(out, &worst))
				return true;
		}
		if (!*end)
			break;
	}
	errno = worst;
	return false;
}
