/* SPDX-License-Identifier: MIT */
#include "cli/shared.h"

#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/compat.h"
#include "cli/need.h"

static void want(struct shared *s, const struct config *c, const struct policy *p)
{
	if (!p || p->budget.scope == SCOPE_PROCESS)
		return;
	if (p->budget.scope == SCOPE_HOST && c->process.host_group >= 0)
		s->group.wanted = true;
	else
		s->user.wanted = true;
}

static bool is_host(const struct policy *p)
{
	return p && p->budget.scope == SCOPE_HOST;
}

/* What the policies that can be in force want; whether one of them says "host". */
static bool find_wanted(struct shared *s, const struct config *c)
{
	const struct policy_set *set = &c->set;
	bool host = is_host(set->fallback_policy);

	s->user.wanted = c->process.stats_shm;
	want(s, c, set->fallback_policy);
	for (unsigned i = 0; i < set->rule_count; i++) {
		want(s, c, set->rules[i].policy);
		host |= is_host(set->rules[i].policy);
	}
	for (unsigned i = 0; i < set->program_count; i++) {
		want(s, c, set->programs[i].policy);
		host |= is_host(set->programs[i].policy);
	}
	return host;
}

static void count(void *arg, struct shm_header *h, struct slot *slots)
{
	struct shared_segment *seg = arg;

	seg->overflow = atomic_load(&h->overflow);
	seg->taken = 0;
	for (unsigned i = 0; i < SHM_SLOTS; i++)
		seg->taken += atomic_load(&slots[i].key) != 0;
}

/* As the library looks at it: NULL, or what speaks against it. */
static const char *fault_of(const struct shared_segment *seg, const struct stat *st)
{
	bool group = seg->at.gid >= 0;

	if (S_ISLNK(st->st_mode))
		return "it is a symbolic link";
	if (!S_ISREG(st->st_mode))
		return "it is not a regular file";
	if (!group && st->st_uid != (uid_t)seg->at.uid)
		return "it belongs to another user";
	if (group && st->st_gid != (gid_t)seg->at.gid)
		return "it belongs to another group";
	if ((st->st_mode & 07777) != (group ? 0660 : 0600))
		return group ? "its mode is not 0660" : "its mode is not 0600";
	if (st->st_nlink > 1)
		return "it has another name besides";
	return NULL;
}

static void look_at(struct shared_segment *seg, struct findings *f)
{
	const char *fault;
	struct stat st;
	int error;

	seg->present = lstat(seg->at.path, &st) == 0;
	if (!seg->present)
		return;
	fault = fault_of(seg, &st);
	error = fault ? 0 : segment_with(&seg->at, false, count, seg);
	if (error)
		fault = error == EPROTO ? "it is not one of this version of libretry, or damaged"
		                        : strerror(error);
	seg->usable = !fault;
	if (fault)
		findings_add(f, FINDING_SHARED_SEGMENT, seg->at.path, fault);
	else if (seg->overflow)
		findings_add(f, FINDING_SHARED_FULL, seg->at.path, NULL);
}

/* Whether there is room for one that is not there yet. */
static void look_for_room(const char *folder, struct findings *f)
{
	struct statvfs v;
	char *text;

	if (statvfs(folder, &v) != 0)
		return;
	if (v.f_blocks == 0 || v.f_bavail * (uint64_t)v.f_frsize >= SHM_BYTES) {
		if (v.f_files > 0 && v.f_favail == 0)
			findings_add(f, FINDING_SHARED_ROOM, folder, "no inode is left");
		return;
	}
	text = need_text("%llu KiB are left, and %zu are needed",
	                 (unsigned long long)v.f_bavail * v.f_frsize / 1024,
	                 (SHM_BYTES + 1023) / 1024);
	findings_add(f, FINDING_SHARED_ROOM, folder, text);
	free(text);
}

/* False: nothing can be made in it. */
static bool look_at_folder(const char *folder, struct findings *f)
{
	struct statfs fs;
	struct stat st;
	int error = 0;

	if (stat(folder, &st) != 0)
		error = errno;
	else if (!S_ISDIR(st.st_mode))
		error = ENOTDIR;
	else if (access(folder, W_OK | X_OK) != 0)
		error = errno;
	if (error) {
		findings_add(f, FINDING_SHARED_FOLDER, folder, strerror(error));
		return false;
	}
	/* Numbers of 32 bits; the type of the member is another one in each C library. */
	if (statfs(folder, &fs) == 0 && (uint32_t)fs.f_type != TMPFS_MAGIC &&
	    (uint32_t)fs.f_type != RAMFS_MAGIC)
		findings_add(f, FINDING_SHARED_DISK, folder, NULL);
	return true;
}

/* Those of processes with another libretry.so. */
static void look_for_others(const struct shared_segment *seg, const char *folder,
                            struct findings *f)
{
	const char *mine = strrchr(seg->at.path, '/') + 1;
	const char *whose = strrchr(mine, '-');
	DIR *d = opendir(folder);

	for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
		const char *end = strrchr(e->d_name, '-');

		if (strncmp(e->d_name, "libretry-v", 10) == 0 && strcmp(e->d_name, mine) != 0 &&
		    end && strcmp(end, whose) == 0)
			findings_add(f, FINDING_SHARED_VERSION, folder, e->d_name);
	}
	if (d)
		closedir(d);
}

/* A container has a memory of its own, unless it was given that of the host. */
static void look_for_walls(const struct shared *s, const struct shared_who *who,
                           struct findings *f)
{
	bool inside = access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
	struct stat here, there;
	bool other = stat(s->folder, &here) == 0 &&
	             stat(who->root[0] ? "/dev/shm" : "/proc/1/root/dev/shm", &there) == 0 &&
	             here.st_dev != there.st_dev;

	if (inside || other)
		findings_add(f, FINDING_SHARED_PRIVATE, s->folder,
		             inside && !other ? "this is a container" : NULL);
}

static bool is_member(gid_t gid)
{
	gid_t groups[1024];
	int n = getgroups(ARRAY_LEN(groups), groups);

	for (int i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return n < 0 || getegid() == gid || geteuid() == 0;
}

static void place(struct segment *at, const struct shared *s, int64_t uid, int64_t gid)
{
	char path[SHM_PATH_MAX];
	struct fmt t;

	at->uid = uid;
	at->gid = gid;
	shm_path(path, sizeof(path), uid, gid);
	fmt_init(&t, at->path, sizeof(at->path));
	fmt_str(&t, s->folder);
	fmt_str(&t, strrchr(path, '/'));
	fmt_end(&t);
}

void shared_findings(struct shared *s, const struct config *c, const struct shared_who *who,
                     struct findings *f)
{
	struct shared_segment *const both[] = { &s->user, &s->group };
	int64_t group = c->process.host_group;
	bool host, good;

	memset(s, 0, sizeof(*s));
	snprintf(s->folder, sizeof(s->folder), "%s/dev/shm", who->root);
	host = find_wanted(s, c);
	place(&s->user.at, s, who->uid, -1);
	place(&s->group.at, s, who->uid, group);
	if (host && group < 0)
		findings_add(f, FINDING_SHARED_NO_GROUP, NULL, NULL);
	if (!s->user.wanted && !s->group.wanted)
		return;
	if (s->group.wanted && who->self && !is_member((gid_t)group))
		findings_add(f, FINDING_SHARED_GROUP, NULL, NULL);
	good = look_at_folder(s->folder, f);
	for (size_t i = 0; good && i < ARRAY_LEN(both); i++) {
		if (!both[i]->wanted)
			continue;
		look_at(both[i], f);
		if (!both[i]->present)
			look_for_room(s->folder, f);
		look_for_others(both[i], s->folder, f);
	}
	if (good)
		look_for_walls(s, who, f);
}

static void show_one(const struct shared_segment *seg, struct out *o, const char *label)
{
	if (!seg->wanted)
		return;
	if (!seg->present)
		out_say(o, "  %-14s %s (made at the first failure)", label, seg->at.path);
	else if (seg->usable)
		out_say(o, "  %-14s %s (%u of %d places taken)", label, seg->at.path, seg->taken,
		        SHM_SLOTS);
	else
		out_say(o, "  %-14s %s (cannot be used)", label, seg->at.path);
}

void shared_show(const struct shared *s, struct out *o)
{
	static const struct out_column columns[] = {
		{ "path", NULL }, { "present", NULL }, { "usable", NULL },
		{ "places_taken", NULL }, { "places", NULL }, { "overflow", NULL }
	};
	const struct shared_segment *const both[] = { &s->user, &s->group };

	show_one(&s->user, o, "shared memory");
	show_one(&s->group, o, "of the group");
	if (!s->user.wanted && !s->group.wanted)
		out_say(o, "  %-14s none: no policy in use has another scope than \"process\", and "
		           "stats.to is not \"shm\"", "shared memory");
	if (!o->json)
		return;
	out_table(o, "segments", NULL, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		if (!both[i]->wanted)
			continue;
		out_cell(o, both[i]->at.path);
		out_cell_bool(o, both[i]->present);
		out_cell_bool(o, both[i]->usable);
		out_cell_int(o, both[i]->taken);
		out_cell_int(o, SHM_SLOTS);
		out_cell_int(o, (int64_t)both[i]->overflow);
	}
	out_table_end(o);
}
