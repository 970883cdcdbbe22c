/* SPDX-License-Identifier: MIT */
#include "state/shm_file.h"

#include <string.h>

#include "base/compat.h"
#include "base/duration.h"
#include "base/errname.h"
#include "base/fmt.h"
#include "base/sys.h"

/* "libretry", as the machine's own words go. */
#define MAGIC UINT64_C(0x6c69627265747279)

/* A creator needs far less. */
#define HALF_MADE_FOR DUR_S
#define LOOKS 10
#define LOOK_EVERY (500 * DUR_US)

#define HEADER_AT(member, offset) \
	_Static_assert(offsetof(struct shm_header, member) == (offset), \
	               "layout of struct shm_header")
HEADER_AT(magic, 0);
HEADER_AT(version, 8);
HEADER_AT(slot_size, 12);
HEADER_AT(slot_count, 16);
HEADER_AT(retired, 20);
HEADER_AT(created, 24);
HEADER_AT(overflow, 32);
HEADER_AT(inode, 40);
_Static_assert(sizeof(struct shm_header) == 64, "layout of struct shm_header");

/* One look at what is there. */
enum look {
	LOOK_MAPPED = SHM_MAPPED,
	LOOK_LATER = SHM_LATER,
	LOOK_NEVER = SHM_NEVER,
	LOOK_AGAIN, /* at once: somebody was faster */
	LOOK_WAIT   /* somebody is making it */
};

static const char *folder = "/dev/shm";
static bool plain;

void shm_file_folder(const char *other)
{
	folder = other ? other : "/dev/shm";
}

void shm_file_plain(bool on)
{
	plain = on;
}

void shm_path(char *path, size_t size, int64_t uid, int64_t gid)
{
	struct fmt f;

	fmt_init(&f, path, size);
	fmt_str(&f, folder);
	fmt_str(&f, "/libretry-v");
	fmt_u64(&f, SHM_VERSION);
	fmt_str(&f, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "le" : "be");
	fmt_str(&f, gid >= 0 ? "-g" : "-u");
	fmt_u64(&f, (uint64_t)(gid >= 0 ? gid : uid));
	fmt_end(&f);
}

void shm_file_name(struct shm_file *f, int64_t gid)
{
	f->gid = gid;
	f->lost = false;
	f->why[0] = '\0';
	shm_path(f->path, sizeof(f->path), sys_geteuid(), gid);
}

static enum look refuse_text(struct shm_file *f, const char *what, int64_t number)
{
	struct fmt t;

	fmt_init(&t, f->why, sizeof(f->why));
	fmt_str(&t, f->path);
	fmt_str(&t, ": ");
	fmt_str(&t, what);
	if (number >= 0)
		fmt_i64(&t, number);
	fmt_end(&t);
	return LOOK_NEVER;
}

/* <rc>: a negative errno value. What may be otherwise in a moment is no reason. */
static enum look refuse(struct shm_file *f, const char *what, long rc)
{
	const char *name = err_name((struct err){ ERR_ERRNO, (int)-rc });
	struct fmt t;

	if (rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -EINTR || rc == -EAGAIN)
		return LOOK_LATER;
	fmt_init(&t, f->why, sizeof(f->why));
	fmt_str(&t, f->path);
	fmt_str(&t, ": ");
	fmt_str(&t, what);
	fmt_str(&t, " (");
	if (name)
		fmt_str(&t, name);
	else
		fmt_i64(&t, -rc);
	fmt_char(&t, ')');
	fmt_end(&t);
	return LOOK_NEVER;
}

static mode_t mode_of(const struct shm_file *f)
{
	return f->gid >= 0 ? 0660 : 0600;
}

static int open_there(const char *path, bool writable)
{
	const int how = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

	return sys_off_stdio(sys_openat(AT_FDCWD, path, how | (writable ? O_RDWR : O_RDONLY), 0));
}

/* The file under the name, even if it is not ours to open. */
static bool look_at(const char *path, struct stat *st)
{
	int fd = sys_off_stdio(sys_openat(AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0));
	bool ok = fd >= 0 && sys_fstat(fd, st) == 0;

	if (fd >= 0)
		sys_close(fd);
	return ok;
}

/* Takes the name away if it still is this file's. Between the look and the deed it
 * may become another's, who then finds out as shm_file_same() does. */
static void unlink_same(const char *path, const struct stat *file)
{
	struct stat st;

	if (look_at(path, &st) && st.st_ino == file->st_ino && st.st_dev == file->st_dev)
		sys_unlink(path);
}

bool shm_file_known(const struct shm_header *h)
{
	return atomic_load_explicit(&h->magic, memory_order_acquire) == MAGIC &&
	       atomic_load_explicit(&h->version, memory_order_relaxed) == SHM_VERSION &&
	       atomic_load_explicit(&h->slot_size, memory_order_relaxed) == sizeof(struct slot) &&
	       atomic_load_explicit(&h->slot_count, memory_order_relaxed) == SHM_SLOTS;
}

bool shm_file_same(const struct shm_file *f, const struct shm_header *h)
{
	struct stat st;
	int fd = sys_off_stdio(sys_openat(AT_FDCWD, f->path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0));
	bool other = fd == -ENOENT;

	if (fd >= 0) {
		other = sys_fstat(fd, &st) == 0 && st.st_ino != atomic_load(&h->inode);
		sys_close(fd);
	}
	return !other;
}

/* Without a header, and how long for. */
static bool half_made(int fd, const struct stat *st, bool *young)
{
	int64_t age = sys_realtime() - ((int64_t)st->st_mtim.tv_sec * DUR_S + st->st_mtim.tv_nsec);
	uint64_t magic = 0;

	*young = age > -HALF_MADE_FOR && age < HALF_MADE_FOR;
	return sys_read(fd, &magic, sizeof(magic)) != (ssize_t)sizeof(magic) || magic == 0;
}

/* Whether it is whose it should be. */
static enum look check_owner(struct shm_file *f, const struct stat *st)
{
	if (f->gid < 0 && st->st_uid != sys_geteuid())
		return refuse_text(f, "belongs to another user, uid ", st->st_uid);
	if (f->gid >= 0 && st->st_gid != (gid_t)f->gid)
		return refuse_text(f, "belongs to another group, gid ", st->st_gid);
	if ((st->st_mode & 07777) != mode_of(f))
		return refuse_text(f, f->gid < 0 ? "its mode is not 0600" : "its mode is not 0660",
		                   -1);
	if (st->st_nlink > 1)
		return refuse_text(f, "it has another name besides", -1);
	return LOOK_MAPPED;
}

static enum look map(struct shm_file *f, int fd, void *place, struct shm_header **h)
{
	*h = sys_mmap(place, SHM_BYTES, PROT_READ | PROT_WRITE,
	              MAP_SHARED | (place ? MAP_FIXED : 0), fd);
	if (*h)
		return LOOK_MAPPED;
	f->lost = place != NULL;
	return refuse_text(f, "cannot be mapped", -1);
}

/* <st>: a regular file that is open as <fd>. */
static enum look take(struct shm_file *f, int fd, const struct stat *st, void *place,
                      struct shm_header **h)
{
	bool young;
	bool half = half_made(fd, st, &young);
	enum look owner;

	if (st->st_nlink == 0)
		return LOOK_AGAIN;
	if (half && young)
		return LOOK_WAIT;
	if (half && st->st_uid == sys_geteuid()) {
		unlink_same(f->path, st);
		return LOOK_AGAIN;
	}
	owner = check_owner(f, st);
	if (owner != LOOK_MAPPED)
		return owner;
	if (half)
		return refuse_text(f, "was left half-made by uid ", st->st_uid);
	if ((uint64_t)st->st_size != SHM_BYTES)
		return refuse_text(f, "is no segment of ours: its size is ", st->st_size);
	if (map(f, fd, place, h) != LOOK_MAPPED)
		return LOOK_NEVER;
	if (sys_readable(*h) && shm_file_known(*h) && atomic_load(&(*h)->inode) == st->st_ino)
		return LOOK_MAPPED;
	if (!place)
		sys_munmap(*h, SHM_BYTES);
	return refuse_text(f, "is no segment of ours: its header is foreign", -1);
}

/* Zeros: so that all pages are there. */
static long fill(int fd)
{
	static const char zeros[4096];
	size_t left = SHM_BYTES;

	while (left > 0) {
		ssize_t n = sys_write(fd, zeros, left < sizeof(zeros) ? left : sizeof(zeros));

		if (n <= 0)
			return n < 0 ? n : -ENOSPC;
		left -= (size_t)n;
	}
	return 0;
}

static enum look fill_new(struct shm_file *f, int fd, void *place, struct shm_header **h)
{
	struct stat st;
	long rc = 0;

	/* The group before the mode: nobody else's group may open it. */
	if (f->gid >= 0 && (rc = sys_fchgrp(fd, (gid_t)f->gid)) < 0)
		return refuse(f, "cannot be given to the group: is the user in it?", rc);
	/* umask has had its say in the mode of the new file. */
	if ((rc = sys_fchmod(fd, mode_of(f))) < 0 || (rc = sys_fstat(fd, &st)) < 0)
		return refuse(f, "cannot be made", rc);
	if ((rc = fill(fd)) < 0)
		return refuse(f, "no room for it", rc);
	if (map(f, fd, place, h) != LOOK_MAPPED)
		return LOOK_NEVER;
	atomic_store(&(*h)->version, SHM_VERSION);
	atomic_store(&(*h)->slot_size, (uint32_t)sizeof(struct slot));
	atomic_store(&(*h)->slot_count, SHM_SLOTS);
	atomic_store(&(*h)->created, (uint64_t)sys_realtime());
	atomic_store(&(*h)->inode, (uint64_t)st.st_ino);
	atomic_store_explicit(&(*h)->magic, MAGIC, memory_order_release);
	return LOOK_MAPPED;
}

/* Without a name until all of it is there: then nobody ever sees a half-made one.
 * LOOK_WAIT: this cannot be done here. */
static enum look make_aside(struct shm_file *f, void *place, struct shm_header **h)
{
	int fd = sys_off_stdio(sys_openat(AT_FDCWD, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
	enum look look;
	char in_proc[40];
	struct fmt t;
	int rc;

	if (fd < 0)
		return LOOK_WAIT;
	look = fill_new(f, fd, place, h);
	if (look == LOOK_MAPPED) {
		fmt_init(&t, in_proc, sizeof(in_proc));
		fmt_str(&t, "/proc/self/fd/");
		fmt_i64(&t, fd);
		fmt_end(&t);
		rc = sys_link(fd, in_proc, f->path);
		if (rc < 0) {
			look = rc == -EEXIST ? LOOK_AGAIN : LOOK_WAIT;
			if (!place)
				sys_munmap(*h, SHM_BYTES);
		}
	}
	sys_close(fd);
	return look;
}

static enum look make(struct shm_file *f, void *place, struct shm_header **h)
{
	const int how = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	struct stat st;
	enum look look;
	int fd;

	/* More than this, and the kernel kills with SIGXFSZ. */
	if (sys_limit(RLIMIT_FSIZE) < SHM_BYTES)
		return refuse(f, "cannot be made", -EFBIG);
	look = plain ? LOOK_WAIT : make_aside(f, place, h);
	if (look != LOOK_WAIT)
		return look;
	fd = sys_off_stdio(sys_openat(AT_FDCWD, f->path, how, 0600));
	if (fd == -EEXIST)
		return LOOK_AGAIN;
	if (fd < 0)
		return refuse(f, "cannot be made", fd);
	look = fill_new(f, fd, place, h);
	if (look != LOOK_MAPPED && sys_fstat(fd, &st) == 0)
		unlink_same(f->path, &st);
	sys_close(fd);
	return look;
}

/* What cannot be opened yet may be in the making: a group's file has mode 0600 first. */
static enum look not_opened(struct shm_file *f, int rc)
{
	struct stat st;

	if (rc == -EACCES && f->gid >= 0 && look_at(f->path, &st) && S_ISREG(st.st_mode) &&
	    st.st_size == 0 && sys_realtime() - (int64_t)st.st_mtim.tv_sec * DUR_S < 2 * DUR_S)
		return LOOK_WAIT;
	if (rc == -ELOOP)
		return refuse_text(f, "is a symbolic link", -1);
	return refuse(f, rc == -EACCES && f->gid >= 0 ? "is the user in the group? It cannot be "
	                                                "opened" : "cannot be opened", rc);
}

static enum look look_once(struct shm_file *f, void *place, struct shm_header **h)
{
	struct stat st;
	enum look look;
	int fd = open_there(f->path, true);

	if (fd == -ENOENT)
		return make(f, place, h);
	if (fd < 0)
		return not_opened(f, fd);
	if (sys_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		look = refuse_text(f, "is not a regular file", -1);
	else
		look = take(f, fd, &st, place, h);
	sys_close(fd);
	return look;
}

enum shm_answer shm_file_attach(struct shm_file *f, void *place, bool patient,
                                struct shm_header **h)
{
	const struct timespec a_while = { 0, LOOK_EVERY };

	for (unsigned i = 0; i < LOOKS; i++) {
		enum look look = look_once(f, place, h);

		if (look != LOOK_AGAIN && look != LOOK_WAIT)
			return (enum shm_answer)look;
		if (look == LOOK_WAIT && !patient)
			break;
		if (look == LOOK_WAIT)
			sys_ppoll(NULL, 0, &a_while);
	}
	return SHM_LATER;
}

/* For shm_map(): 0 or an errno value. */
static int map_known(int fd, bool writable, struct shm_header **h)
{
	struct stat st;

	if (sys_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != SHM_BYTES)
		return EPROTO;
	*h = sys_mmap(NULL, SHM_BYTES, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd);
	if (!*h)
		return ENOMEM;
	if (sys_readable(*h) && shm_file_known(*h))
		return 0;
	sys_munmap(*h, SHM_BYTES);
	return EPROTO;
}

struct shm_header *shm_map(const char *path, bool writable, struct slot **slots)
{
	struct shm_header *h;
	int fd = open_there(path, writable);
	int error = fd < 0 ? -fd : map_known(fd, writable, &h);

	if (fd >= 0)
		sys_close(fd);
	if (error) {
		errno = error;
		return NULL;
	}
	*slots = (struct slot *)(h + 1);
	return h;
}

void shm_unmap(struct shm_header *h)
{
	sys_munmap(h, SHM_BYTES);
}

int shm_retire(const char *path)
{
	struct shm_header *h;
	struct stat st;
	int fd = open_there(path, true);
	int error = fd < 0 ? -fd : map_known(fd, true, &h);

	if (!error) {
		atomic_store(&h->retired, 1);
		shm_unmap(h);
	}
	/* Who has a damaged one sees that its name is gone. */
	if ((!error || error == EPROTO) && sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		unlink_same(path, &st);
		error = 0;
	}
	if (fd >= 0)
		sys_close(fd);
	return error;
}
