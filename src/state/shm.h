/* SPDX-License-Identifier: MIT */
/*
 * shm.h - where slots come from: this process's own, or a segment in /dev/shm that
 * all processes of a user map, or all of a group.
 *
 * Attached lazily, by the first failure whose policy has that scope, never in a
 * constructor; nobody's state is changed by attaching. The name carries layout
 * version, word order and uid (or gid): another layout is another name, and nothing
 * is ever repaired. Opened without O_CREAT first; then made without a name (O_TMPFILE),
 * which it gets when it is ready, or, where that cannot be done, with O_CREAT|O_EXCL;
 * always O_NOFOLLOW|O_CLOEXEC, mode 0600 (a group's: 0660); checked: a regular file, the
 * owner (a group's: the group), the mode, the size, the header. On any doubt (no
 * /dev/shm, full, read-only, a link, a stranger's, a foreign header) there is no
 * segment, which is remembered and logged once by the caller, and slots of this
 * process stand in. The descriptor is closed at once. In secure mode (AT_SECURE)
 * there is never one.
 *
 * With O_EXCL a creator that is killed half-way leaves a file without a header: one that is older
 * than a second, of its own uid, and still without a header, is unlinked by whoever
 * finds it. A younger one is waited for, 5 ms at most, once a second; then, and when
 * there is no descriptor or no memory to be had at this moment, slots of this process
 * stand in until the next time.
 *
 * The pages are written when the file is made, so a full /dev/shm shows there and not
 * as SIGBUS later. That somebody truncates it afterwards is found by asking the kernel
 * (sys_readable) before shm_slot() uses a slot, and ends the use of the segment.
 * (Between that look and the use it is not; whoever keeps a slot for long asks
 * shm_check() before he uses it again.)
 *
 * A segment that is retired, truncated, or no longer what is found under its name
 * (looked at once a second: a logout may remove it, and a process may change its uid)
 * is let go of, and the one under the name is attached, or made. Slots of one that was
 * let go of stay readable and writable, for nobody: their place becomes memory of
 * this process, and is not used again before SHM_FORMER others were let go of. Where
 * the kernel has no memory for that, the place is left alone for good, and nothing is
 * attached any more.
 *
 * Lock-free. Async-signal-safe once attached; attaching makes system calls and holds
 * nothing. errno untouched. After fork the child goes on with the mapping.
 */
#ifndef LIBRETRY_STATE_SHM_H
#define LIBRETRY_STATE_SHM_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/policy.h"
#include "state/slot.h"

#define SHM_VERSION 1
#define SHM_SLOTS 256
#define SHM_OWN_SLOTS 64
#define SHM_FORMER 8
#define SHM_PATH_MAX 160

/* A segment, as others see it; "libretry stats" reads it as well. */
struct shm_header {
	_Alignas(8) _Atomic uint64_t magic;
	_Atomic uint32_t version;
	_Atomic uint32_t slot_size;
	_Atomic uint32_t slot_count;
	_Atomic uint32_t retired;  /* "stats --reset": let go of it, and attach anew */
	_Atomic uint64_t created;  /* ns since the epoch */
	_Atomic uint64_t overflow; /* how often there was no slot left */
	_Atomic uint64_t inode;    /* the file's own */
	_Atomic uint64_t spare[2];
};

#define SHM_BYTES (sizeof(struct shm_header) + SHM_SLOTS * sizeof(struct slot))

/*
 * The slot of destination <dest> under the policy <policy_name>, made if there is
 * none; NULL if there is no room (in a segment counted in .overflow): then nothing is
 * limited. Never the segment's for SCOPE_PROCESS. *shared: it is the segment's.
 * Texts that are cut (SLOT_TEXT, SLOT_POLICY) and then alike share a slot.
 */
struct slot *shm_slot(enum scope scope, const char *dest, const char *policy_name,
                      bool *shared);

/* Before a slot is used that was found some time ago: if somebody has truncated the
 * segment since, its use ends, and <s> is zeros of this process. No system call for
 * other slots. False: there was no memory for that; <s> must not be used. */
bool shm_check(const struct slot *s);

/* Which group shares a segment for SCOPE_HOST; -1 (at first): none, and SCOPE_HOST is
 * SCOPE_USER. */
void shm_set_group(int64_t gid);

/* Why there is no segment, for people, once (then NULL): "/dev/shm/...: what". */
const char *shm_trouble(void);

/* This process's slots keep what they know of destinations, and begin to count anew:
 * what the parent counted is the parent's. */
void shm_postfork_child(void);

/* For the command. The path of a user's segment, or of a group's (<gid> >= 0), into
 * SHM_PATH_MAX bytes. */
void shm_path(char *path, size_t size, int64_t uid, int64_t gid);
/* Maps an existing one, whosesoever; NULL with errno (EPROTO: not one of ours, or
 * half-made). *slots: its first. */
struct shm_header *shm_map(const char *path, bool writable, struct slot **slots);
void shm_unmap(struct shm_header *h);
/* "stats --reset": marks it as retired and takes its name away; a damaged one's only. 0 or an
 * errno value, as of shm_map(). */
int shm_retire(const char *path);

/* This process's slots, SHM_OWN_SLOTS of them, and how often there was none left. */
struct slot *shm_own(void);
uint64_t shm_own_overflow(void);

/* ns, the clock of all words and of the engine (CLOCK_MONOTONIC): the same in all
 * processes of the machine, but in those of another time namespace. */
int64_t slot_now(void);

/* Tests: as if never attached, and own slots fresh; and another folder than /dev/shm,
 * whose text is kept (NULL: that one). */
void shm_reset(const char *folder);

#endif
