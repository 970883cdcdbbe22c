/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/glob.h"
#include "cli/elf.h"

#define HEAD_BYTES 256 /* as much as the kernel looks at for "#!" */
#define PHDR_LIMIT 256
#define NOTE_BYTES 1024
#define GO_BUILD_ID 4 /* type of the note that the Go linker writes */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

struct image {
	unsigned char class, data;
	uint16_t machine;
	unsigned phnum;
	uint64_t phoff;
	char loader[PATH_MAX]; /* PT_INTERP; "" if there is none */
	bool go;
};

struct segment {
	uint32_t type;
	uint64_t offset, size;
};

static bool parse_head(struct image *im, const unsigned char *head, size_t len)
{
	union {
		Elf32_Ehdr e32;
		Elf64_Ehdr e64;
	} h;

	memset(im, 0, sizeof(*im));
	if (len < sizeof(h) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return false;
	memcpy(&h, head, sizeof(h));
	im->class = head[EI_CLASS];
	im->data = head[EI_DATA];
	im->machine = h.e32.e_machine; /* at the same place in both */
	if (im->data != NATIVE_DATA)
		return true; /* foreign whatever the rest says */
	if (im->class == ELFCLASS64 && h.e64.e_phentsize == sizeof(Elf64_Phdr)) {
		im->phoff = h.e64.e_phoff;
		im->phnum = h.e64.e_phnum;
	} else if (im->class == ELFCLASS32 && h.e32.e_phentsize == sizeof(Elf32_Phdr)) {
		im->phoff = h.e32.e_phoff;
		im->phnum = h.e32.e_phnum;
	}
	if (im->phnum > PHDR_LIMIT)
		im->phnum = PHDR_LIMIT;
	return true;
}

static bool read_segment(int fd, const struct image *im, unsigned index, struct segment *s)
{
	bool wide = im->class == ELFCLASS64;
	size_t size = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	union {
		Elf32_Phdr p32;
		Elf64_Phdr p64;
	} p;

	if (im->phoff > INT64_MAX - PHDR_LIMIT * sizeof(p) ||
	    pread(fd, &p, size, (off_t)(im->phoff + index * size)) != (ssize_t)size)
		return false;
	s->type = wide ? p.p64.p_type : p.p32.p_type;
	s->offset = wide ? p.p64.p_offset : p.p32.p_offset;
	s->size = wide ? p.p64.p_filesz : p.p32.p_filesz;
	return s->offset <= INT64_MAX;
}

/* Notes have the same layout in both classes. */
static bool has_go_note(int fd, const struct segment *s)
{
	unsigned char notes[NOTE_BYTES];
	size_t want = s->size < sizeof(notes) ? s->size : sizeof(notes);
	ssize_t got = pread(fd, notes, want, (off_t)s->offset);
	uint64_t at = 0;

	while (got > 0 && at + sizeof(Elf64_Nhdr) <= (uint64_t)got) {
		Elf64_Nhdr n;

		memcpy(&n, notes + at, sizeof(n));
		at += sizeof(n);
		if (n.n_type == GO_BUILD_ID && n.n_namesz == 4 && at + 4 <= (uint64_t)got &&
		    memcmp(notes + at, "Go\0", 4) == 0)
			return true;
		at += (n.n_namesz + UINT64_C(3)) & ~UINT64_C(3);
		at += (n.n_descsz + UINT64_C(3)) & ~UINT64_C(3);
	}
	return false;
}

static void read_segments(int fd, struct image *im)
{
	struct segment s;

	for (unsigned i = 0; i < im->phnum && read_segment(fd, im, i, &s); i++) {
		if (s.type == PT_INTERP && s.size && s.size < sizeof(im->loader)) {
			ssize_t got = pread(fd, im->loader, s.size, (off_t)s.offset);

			im->loader[got > 0 ? got : 0] = '\0';
		} else if (s.type == PT_NOTE && has_go_note(fd, &s)) {
			im->go = true;
		}
	}
}

static bool read_image(const char *path, struct image *im)
{
	unsigned char head[HEAD_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;
	bool ok;

	if (fd < 0)
		return false;
	len = read(fd, head, sizeof(head));
	ok = len > 0 && parse_head(im, head, (size_t)len);
	if (ok)
		read_segments(fd, im);
	close(fd);
	return ok;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The dynamic loader itself has no loader, but honours LD_PRELOAD. */
static bool is_loader(const char *path)
{
	const char *name = last_part(path);

	return glob_match("ld*.so*", name, strlen(name), 0);
}

static unsigned privilege_traits(int fd)
{
	unsigned traits = 0;
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
	return traits;
}

static unsigned image_traits(const struct image *im, const char *path, const char *like,
                             const char *self)
{
	unsigned traits = 0;
	struct image ours;

	if (!read_image(like, &ours) && !read_image(self, &ours))
		return 0;
	if (im->class != ours.class || im->data != ours.data || im->machine != ours.machine)
		return TARGET_FOREIGN;
	if (!im->loader[0])
		return is_loader(path) ? 0 : TARGET_STATIC;
	if (im->go)
		traits |= TARGET_GO;
	if (read_image(self, &ours) && ours.loader[0] &&
	    strcmp(last_part(ours.loader), last_part(im->loader)) != 0)
		traits |= TARGET_OTHER_LIBC;
	return traits;
}

/* "#! /path arg" to "/path"; false if it is no such line. */
static bool parse_script(const unsigned char *head, size_t len, char *out, size_t size)
{
	size_t i = 2, n = 0;

	if (len < 2 || head[0] != '#' || head[1] != '!')
		return false;
	while (i < len && (head[i] == ' ' || head[i] == '\t'))
		i++;
	while (i < len && head[i] > ' ' && n + 1 < size)
		out[n++] = (char)head[i++];
	out[n] = '\0';
	return n > 0;
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

/* One file. True with <next> filled for a script, empty else. */
static bool examine_one(struct target *t, const char *like, const char *self, char *next)
{
	unsigned char head[HEAD_BYTES];
	int fd = open(t->path, O_RDONLY | O_CLOEXEC);
	struct image im;
	ssize_t len;

	next[0] = '\0';
	if (fd < 0)
		return false;
	len = read(fd, head, sizeof(head));
	if (len < 0)
		len = 0;
	if (parse_head(&im, head, (size_t)len)) {
		read_segments(fd, &im);
		t->elf = true;
		t->traits = privilege_traits(fd) | image_traits(&im, t->path, like, self);
	} else {
		/* The kernel ignores the privilege bits of scripts. */
		parse_script(head, (size_t)len, next, HEAD_BYTES);
	}
	close(fd);
	return true;
}

bool target_examine(struct target *t, const char *path, const char *like, const char *self)
{
	char next[HEAD_BYTES];

	memset(t, 0, sizeof(*t));
	if (!copy_path(t->path, path))
		return false;
	for (unsigned depth = 0; depth <= TARGET_DEPTH; depth++) {
		if (!examine_one(t, like, self, next))
			return false;
		if (!next[0])
			return true;
		if (depth == 0)
			copy_path(t->script, t->path);
		copy_path(t->path, next);
	}
	errno = ELOOP;
	return false;
}

const char *target_reason(const struct target *t, unsigned index)
{
	static const struct {
		unsigned trait;
		const char *text;
	} reasons[] = {
		{ TARGET_FOREIGN, "built for another architecture: the loader cannot use "
		                  "this libretry.so there" },
		{ TARGET_STATIC, "statically linked: there is no loader that would preload "
		                 "anything" },
		{ TARGET_SETUID, "set-user-ID: the loader ignores preloads there" },
		{ TARGET_SETUID_OWN, "set-user-ID: the loader ignores preloads there, "
		                     "unless the owner runs it" },
		{ TARGET_SETGID, "set-group-ID: the loader ignores preloads there" },
		{ TARGET_SETGID_OWN, "set-group-ID: the loader ignores preloads there, "
		                     "unless its own group runs it" },
		{ TARGET_FILECAPS, "file capabilities: the loader ignores preloads there" },
		{ TARGET_FILECAPS_ROOT, "file capabilities: the loader ignores preloads there, "
		                        "unless root runs it" },
		{ TARGET_OTHER_LIBC, "uses another C library than libretry.so, and may fail to "
		                     "start with it" },
		{ TARGET_GO, "a Go program: it makes its system calls itself and is not "
		             "reached" },
	};

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if ((t->traits & reasons[i].trait) && index-- == 0)
			return reasons[i].text;
	}
	return NULL;
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
