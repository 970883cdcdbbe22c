/* SPDX-License-Identifier: MIT */
#include "state/shm_file.h"

#include <dirent.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/duration.h"
#include "tests/unit/shm.h"

/* As on file systems where a file can be made without a name, and on others. */
static void in_both_ways(void (*fn)(void))
{
	for (int plain = 0; plain <= 1; plain++) {
		shm_file_plain(plain);
		fn();
	}
	shm_file_plain(false);
}

/* There is no segment, for this reason, and that is told once. */
static void refused(const char *why)
{
	const char *said;

	shm_reset(folder);
	ck_assert(!is_shared("a:1"));
	said = shm_trouble();
	ck_assert_ptr_nonnull(said);
	ck_assert_msg(strstr(said, why) && strncmp(said, folder, strlen(folder)) == 0, "%s", said);
	ck_assert(!is_shared("b:1"));
	ck_assert_ptr_null(shm_trouble());
	shm_reset(folder);
}

static void put_file(const void *bytes, size_t size, mode_t mode)
{
	int fd = open(segment, O_WRONLY | O_CREAT | O_EXCL, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

START_TEST(what_is_planted_under_the_name)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	char other[SHM_PATH_MAX + 8];
	int fd;

	open_folder();
	snprintf(other, sizeof(other), "%s/other", folder);
	/* Links to what is there, to what is not, to a segment. */
	ck_assert_int_eq(symlink("/etc/passwd", segment), 0);
	refused("is a symbolic link");
	ck_assert_int_eq(unlink(segment), 0);
	ck_assert_int_eq(symlink(other, segment), 0);
	refused("is a symbolic link");
	ck_assert_uint_eq(inode_of(other), 0);
	ck_assert_int_eq(unlink(segment), 0);
	ck_assert(is_shared("a:1"));
	ck_assert_int_eq(rename(segment, other), 0);
	ck_assert_int_eq(symlink(other, segment), 0);
	refused("is a symbolic link");
	ck_assert_int_eq(unlink(segment), 0);
	/* A segment with a second name. */
	ck_assert_int_eq(link(other, segment), 0);
	refused("it has another name besides");
	ck_assert_int_eq(unlink(segment), 0);
	ck_assert_int_eq(mkdir(segment, 0700), 0);
	refused("EISDIR");
	ck_assert_int_eq(rmdir(segment), 0);
	/* Neither waits for who writes to it. */
	ck_assert_int_eq(mkfifo(segment, 0600), 0);
	refused("is not a regular file");
	ck_assert_int_eq(unlink(segment), 0);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(un.sun_path, sizeof(un.sun_path), "%s", segment);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	refused("cannot be opened");
	close(fd);
	close_folder();
}
END_TEST

static void try_whose_mode_is_wrong(void)
{
	static const mode_t modes[] = { 0644, 0660, 0666, 0700, 0400, 04600, 01600 };
	mode_t umasks[] = { 0, 022, 0777 };
	struct stat st;

	open_folder();
	for (unsigned i = 0; i < ARRAY_LEN(umasks); i++) {
		mode_t was = umask(umasks[i]);

		ck_assert(is_shared("a:1"));
		umask(was);
		ck_assert_int_eq(stat(segment, &st), 0);
		ck_assert_uint_eq(st.st_mode & 07777, 0600);
		ck_assert_uint_eq((uint64_t)st.st_size, SHM_BYTES);
		/* All of it is there. */
		ck_assert_uint_ge((uint64_t)st.st_blocks * 512, SHM_BYTES);
		for (unsigned j = 0; j < ARRAY_LEN(modes); j++) {
			ck_assert_int_eq(chmod(segment, modes[j]), 0);
			refused(geteuid() != 0 && modes[j] == 0400 ? "EACCES" : "its mode is not");
		}
		ck_assert_int_eq(unlink(segment), 0);
		shm_reset(folder);
	}
	close_folder();
}

START_TEST(whose_mode_is_wrong)
{
	in_both_ways(try_whose_mode_is_wrong);
}
END_TEST

START_TEST(contents)
{
	static unsigned char bytes[SHM_BYTES + 4096];
	static const struct {
		size_t offset;
		uint32_t word;
	} headers[] = {
		{ 0, 0x21 }, { 4, 0 }, { 8, SHM_VERSION + 1 }, { 8, 0 }, { 12, 712 },
		{ 12, 0 },   { 16, SHM_SLOTS + 1 }, { 16, 0 }, { 40, 1 },
	};
	uint32_t random = 1;
	int fd;

	open_folder();
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)((random = random * 1664525 + 1013904223) >> 24) | 1;
	for (size_t size = 8; size < sizeof(bytes); size = size < 4096 ? size * 3 : size * 2) {
		put_file(bytes, size, 0600);
		refused("its size is");
		ck_assert_int_eq(unlink(segment), 0);
	}
	put_file(bytes, SHM_BYTES, 0600);
	refused("its header is foreign");
	ck_assert_int_eq(unlink(segment), 0);
	for (unsigned i = 0; i < ARRAY_LEN(headers); i++) {
		ck_assert(is_shared("a:1"));
		shm_reset(folder);
		fd = open(segment, O_RDWR);
		ck_assert_int_eq(pwrite(fd, &headers[i].word, 4, (off_t)headers[i].offset), 4);
		close(fd);
		refused("its header is foreign");
		ck_assert_int_eq(unlink(segment), 0);
	}
	/* Nothing was repaired, or taken away, in all this. A copy is no segment. */
	ck_assert(is_shared("a:1"));
	fd = open(segment, O_RDWR);
	ck_assert_int_eq(pread(fd, bytes, SHM_BYTES, 0), (ssize_t)SHM_BYTES);
	ck_assert_int_eq(unlink(segment), 0);
	put_file(bytes, SHM_BYTES, 0600);
	close(fd);
	refused("its header is foreign");
	close_folder();
}
END_TEST

START_TEST(half_made_files)
{
	static const size_t sizes[] = { 0, 3, 8, 64, 4096, SHM_BYTES };
	static const char zeros[SHM_BYTES];
	struct stat st;

	open_folder();
	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		/* Somebody may be making it: until the next time. */
		put_file(zeros, sizes[i], 0600);
		ck_assert(!is_shared("a:1"));
		ck_assert_ptr_null(shm_trouble());
		ck_assert_int_eq(stat(segment, &st), 0);
		ck_assert_uint_eq((uint64_t)st.st_size, sizes[i]);
		/* He has died. */
		age(segment, 2);
		ck_assert(is_shared("a:1"));
		ck_assert_int_eq(unlink(segment), 0);
		shm_reset(folder);
		/* A clock that was set back makes nobody wait until then. */
		put_file(zeros, sizes[i], 0600);
		age(segment, -3600);
		ck_assert(is_shared("a:1"));
		ck_assert_int_eq(unlink(segment), 0);
		shm_reset(folder);
	}
	close_folder();
}
END_TEST

static void try_no_folder(void)
{
	char inside[128];

	open_folder();
	shm_reset("/nonexistent/libretry");
	ck_assert(!is_shared("a:1"));
	ck_assert_ptr_nonnull(strstr(shm_trouble(), "cannot be made (ENOENT)"));
	snprintf(inside, sizeof(inside), "%s/file", folder);
	close(open(inside, O_CREAT, 0600));
	shm_reset(inside);
	ck_assert(!is_shared("a:1"));
	ck_assert_ptr_nonnull(strstr(shm_trouble(), "ENOTDIR"));
	shm_reset(folder);
	close_folder();
}

START_TEST(no_folder)
{
	in_both_ways(try_no_folder);
}
END_TEST

/* A mount of <options> over the folder, for this process alone; false if we may not. */
static bool mounted(const char *options, unsigned long flags)
{
	return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", folder, "tmpfs", flags, options) == 0;
}

static void on_a_full_one(void)
{
	const char *said;

	if (!mounted("size=64k,mode=1777", 0))
		return;
	must(!is_shared("a:1"));
	said = shm_trouble();
	must(said && strstr(said, "no room for it (ENOSPC)"));
	must(inode_of(segment) == 0);
	/* As soon as there is room, another process has one. */
	must(mount("none", folder, "tmpfs", MS_REMOUNT, "size=1m") == 0);
	must(!is_shared("a:1"));
	shm_reset(folder);
	must(is_shared("a:1"));
	/* No page can be missing later. */
	must(mount("none", folder, "tmpfs", MS_REMOUNT, "size=192k") == 0);
	for (unsigned i = 0; i < SHM_SLOTS; i++) {
		char dest[16];
		bool shared;
		struct slot *s;

		snprintf(dest, sizeof(dest), "%u", i);
		s = user_slot(dest, &shared);
		must(!s || shared);
		if (s)
			atomic_store(&s->tally[TALLY_CALLS], 1);
	}
}

static void on_a_read_only_one(void)
{
	const char *said;

	if (!mounted("size=1m,mode=1777", 0))
		return;
	must(is_shared("a:1"));
	shm_reset(folder);
	/* With a segment, and then without. */
	must(mount("none", folder, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m") == 0);
	must(!is_shared("a:1"));
	said = shm_trouble();
	must(said && strstr(said, "EROFS"));
	shm_reset(folder);
	must(mount("none", folder, "tmpfs", MS_REMOUNT, "size=1m") == 0);
	must(unlink(segment) == 0);
	must(mount("none", folder, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m") == 0);
	must(!is_shared("a:1"));
	said = shm_trouble();
	must(said && strstr(said, "EROFS"));
}

static void try_file_systems(void)
{
	if (geteuid() != 0)
		return;
	open_folder();
	ck_assert_int_eq(in_child(on_a_full_one), 0);
	ck_assert_int_eq(in_child(on_a_read_only_one), 0);
	close_folder();
}

START_TEST(file_systems)
{
	/* It answers the call by which pages are tried itself. */
	if (unit_valgrind())
		return;
	in_both_ways(try_file_systems);
}
END_TEST

static void with_a_small_limit(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = SHM_BYTES - 1;
	must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	must(!is_shared("a:1"));
	must(strstr(shm_trouble(), "EFBIG") != NULL);
	must(inode_of(segment) == 0);
	limit.rlim_cur = SHM_BYTES;
	must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	shm_reset(folder);
	must(is_shared("a:1"));
}

/* What cannot be had at this moment can be had later. */
static void without_descriptors(void)
{
	struct rlimit limit = { 0, 0 };
	struct rlimit before;

	getrlimit(RLIMIT_NOFILE, &before);
	limit.rlim_max = before.rlim_max;
	must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	must(!is_shared("a:1"));
	must(shm_trouble() == NULL);
	must(setrlimit(RLIMIT_NOFILE, &before) == 0);
	must(is_shared("a:1"));
}

static void with_closed_stdio(void)
{
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	if (!is_shared("a:1"))
		_exit(1);
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			_exit(2);
}

static void try_limits(void)
{
	open_folder();
	ck_assert_int_eq(in_child(with_a_small_limit), 0);
	unlink(segment);
	ck_assert_int_eq(in_child(without_descriptors), 0);
	unlink(segment);
	ck_assert_int_eq(in_child(with_closed_stdio), 0);
	close_folder();
}

START_TEST(limits)
{
	/* It keeps descriptors of its own, and their limit. */
	if (unit_valgrind())
		return;
	in_both_ways(try_limits);
}
END_TEST

static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned count = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		count++;
	closedir(d);
	return count;
}

static void try_no_descriptor_is_left(void)
{
	unsigned before;

	open_folder();
	before = descriptors();
	ck_assert(is_shared("a:1"));
	shm_reset(folder);
	ck_assert(is_shared("a:1"));
	ck_assert_int_eq(chmod(segment, 0644), 0);
	refused("its mode is not");
	ck_assert_int_eq(truncate(segment, 0), 0);
	ck_assert(!is_shared("a:1"));
	shm_retire(segment);
	ck_assert_uint_eq(descriptors(), before);
	close_folder();
}

START_TEST(no_descriptor_is_left)
{
	in_both_ways(try_no_descriptor_is_left);
}
END_TEST

static void as_nobody(void)
{
	become(NOBODY);
	shm_reset(folder);
	shm_path(segment, sizeof(segment), NOBODY, -1);
	must(is_shared("a:1"));
	must(inode_of(segment) != 0);
}

static void as_nobody_without(void)
{
	become(NOBODY);
	shm_reset(folder);
	must(!is_shared("a:1"));
	must(strstr(shm_trouble(), "EACCES") != NULL);
}

/* Root made the parent's segment before; after the change of user it is left. */
static void drop_root(void)
{
	struct shm_file f;
	struct shm_header *h;

	must(is_shared("a:1"));
	shm_file_name(&f, -1);
	must(shm_file_attach(&f, NULL, true, &h) == SHM_MAPPED);
	must(shm_file_same(&f, h));
	become(NOBODY);
	shm_file_name(&f, -1);
	must(!shm_file_same(&f, h));
}

static void try_users(void)
{
	char roots[SHM_PATH_MAX];
	char nobodys[SHM_PATH_MAX];
	struct stat st;

	if (geteuid() != 0)
		return;
	open_folder();
	strcpy(roots, segment);
	shm_path(nobodys, sizeof(nobodys), NOBODY, -1);
	/* Each has one of his own. */
	ck_assert(is_shared("a:1"));
	ck_assert_int_eq(in_child(as_nobody), 0);
	ck_assert_int_eq(stat(roots, &st), 0);
	ck_assert_uint_eq(st.st_uid, 0);
	ck_assert_int_eq(stat(nobodys, &st), 0);
	ck_assert_uint_eq(st.st_uid, NOBODY);
	/* A stranger's under the name: of root's, and of another's. */
	ck_assert_int_eq(chown(roots, NOBODY, NOBODY), 0);
	refused("belongs to another user, uid 65534");
	ck_assert_int_eq(unlink(roots), 0);
	ck_assert_int_eq(chown(nobodys, 0, 0), 0);
	ck_assert_int_eq(in_child(as_nobody_without), 0);
	/* Half-made by a stranger: not ours to take away. */
	ck_assert_int_eq(truncate(nobodys, 0), 0);
	age(nobodys, 10);
	ck_assert_int_eq(rename(nobodys, roots), 0);
	ck_assert_int_eq(chown(roots, NOBODY, NOBODY), 0);
	refused("belongs to another user");
	ck_assert_uint_ne(inode_of(roots), 0);
	ck_assert_int_eq(unlink(roots), 0);
	ck_assert_int_eq(in_child(drop_root), 0);
	close_folder();
}

START_TEST(users)
{
	in_both_ways(try_users);
}
END_TEST

#define GROUP 54321

static void share_as(uid_t uid, bool member, unsigned expected)
{
	gid_t groups[] = { GROUP };
	struct slot *s;
	bool shared;

	must(setgroups(member, groups) == 0 && setresgid(uid, uid, uid) == 0 &&
	     setresuid(uid, uid, uid) == 0);
	shm_reset(folder);
	shm_set_group(GROUP);
	s = shm_slot(SCOPE_HOST, "a:1", "default", &shared);
	must(s && shared == member);
	must(atomic_fetch_add(&s->tally[TALLY_CALLS], 1) == expected);
	must(!member == (shm_trouble() != NULL));
	/* The user's own is another. */
	s = user_slot("a:1", &shared);
	must(s && shared && atomic_load(&s->tally[TALLY_CALLS]) == 0);
}

static void first_member(void)
{
	share_as(NOBODY, true, 0);
}

static void second_member(void)
{
	share_as(12345, true, 1);
}

static void no_member(void)
{
	share_as(12346, false, 0);
}

static void try_groups(void)
{
	char path[SHM_PATH_MAX];
	struct slot *s;
	struct stat st;
	bool shared;

	if (geteuid() != 0)
		return;
	open_folder();
	shm_path(path, sizeof(path), 0, GROUP);
	/* Nobody has made it, and who is not in the group cannot. */
	ck_assert_int_eq(in_child(no_member), 0);
	ck_assert_uint_eq(inode_of(path), 0);
	ck_assert_int_eq(in_child(first_member), 0);
	ck_assert_int_eq(in_child(second_member), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_gid, GROUP);
	ck_assert_uint_eq(st.st_mode & 07777, 0660);
	ck_assert_int_eq(in_child(no_member), 0);
	/* Root may, and another group is another segment. */
	shm_set_group(GROUP);
	s = shm_slot(SCOPE_HOST, "a:1", "default", &shared);
	ck_assert(s && shared);
	ck_assert_uint_eq(atomic_load(&s->tally[TALLY_CALLS]), 2);
	shm_set_group(GROUP + 1);
	s = shm_slot(SCOPE_HOST, "a:1", "default", &shared);
	ck_assert(s && shared);
	ck_assert_uint_eq(atomic_load(&s->tally[TALLY_CALLS]), 0);
	shm_set_group(-1);
	ck_assert_ptr_eq(shm_slot(SCOPE_HOST, "a:1", "default", &shared), user_slot("a:1", &shared));
	/* Not the group's any more. */
	ck_assert_int_eq(chown(path, NOBODY, NOBODY), 0);
	shm_set_group(GROUP);
	ck_assert_ptr_nonnull(shm_slot(SCOPE_HOST, "a:1", "default", &shared));
	ck_assert(!shared);
	ck_assert_ptr_nonnull(strstr(shm_trouble(), "belongs to another group, gid 65534"));
	ck_assert_int_eq(chown(path, NOBODY, GROUP), 0);
	/* Half-made by another, who is dead: his to take away. */
	ck_assert_int_eq(truncate(path, 0), 0);
	age(path, 10);
	shm_reset(folder);
	shm_set_group(GROUP);
	ck_assert_ptr_nonnull(shm_slot(SCOPE_HOST, "a:1", "default", &shared));
	ck_assert(!shared);
	ck_assert_ptr_nonnull(strstr(shm_trouble(), "was left half-made by uid 65534"));
	close_folder();
}

START_TEST(groups)
{
	in_both_ways(try_groups);
}
END_TEST

/* The same program once more, set-user-id: see below. */
static void run_secure(void)
{
	char path[SHM_PATH_MAX];

	snprintf(path, sizeof(path), "%s/secure", folder);
	become(NOBODY);
	setenv("SHM_TEST_SECURE", folder, 1);
	execl(path, path, NULL);
	_exit(77);
}

START_TEST(secure_mode)
{
	char path[SHM_PATH_MAX], bytes[4096];
	int from, to, status;
	ssize_t n;

	/* In secure mode the loader does not look where that leads: it has no libraries then. */
	if (geteuid() != 0 || getenv("LD_LIBRARY_PATH"))
		return;
	open_folder();
	snprintf(path, sizeof(path), "%s/secure", folder);
	ck_assert_int_eq(chmod(folder, 0777), 0);
	from = open("/proc/self/exe", O_RDONLY);
	to = open(path, O_WRONLY | O_CREAT, 0700);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		ck_assert_int_eq(write(to, bytes, (size_t)n), n);
	ck_assert_int_eq(fchmod(to, 04755), 0);
	close(from);
	close(to);
	status = in_child(run_secure);
	/* 77: it cannot be tried here. */
	ck_assert(status == 0 || status == 77);
	close_folder();
}
END_TEST

__attribute__((constructor)) static void secure_program(void)
{
	const char *where = getenv("SHM_TEST_SECURE");
	char path[SHM_PATH_MAX];

	if (!where)
		return;
	if (!getauxval(AT_SECURE))
		_exit(77);
	shm_reset(where);
	must(!is_shared("a:1"));
	must(strstr(shm_trouble(), "secure mode") != NULL);
	shm_path(path, sizeof(path), geteuid(), -1);
	must(inode_of(path) == 0);
	_exit(0);
}

UNIT_MAIN("shm_file", &what_is_planted_under_the_name, &whose_mode_is_wrong, &contents,
          &half_made_files, &no_folder, &file_systems, &limits, &no_descriptor_is_left, &users,
          &groups, &secure_mode)
