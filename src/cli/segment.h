/* SPDX-License-Identifier: MIT */
/* segment.h - the shared memory that "stats", "hold" and "release" are about. */
#ifndef LIBRETRY_CLI_SEGMENT_H
#define LIBRETRY_CLI_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "state/shm.h"

struct segment {
	int64_t uid; /* of a group's segment: who asks */
	int64_t gid; /* -1: the segment is the user's */
	char path[SHM_PATH_MAX];
	char whose[64]; /* "user:alice", "group:db", or with a number */
};

/*
 * The segment of <user> or <group> (names or numbers, at most one of them), or of
 * who runs the command if both are NULL. False after a message: no such user or
 * group, or both given.
 */
bool segment_choose(struct segment *s, const char *user, const char *group);

/*
 * Maps the segment, calls <with> and unmaps it. 0 or an errno value: ENOENT (there is
 * none), EACCES, EPROTO (not one of ours). If somebody truncates it meanwhile, <with>
 * is left where it is, for EPROTO: so it must hold nothing. One thread at a time.
 */
int segment_with(const struct segment *s, bool writable,
                 void (*with)(void *arg, struct shm_header *h, struct slot *slots), void *arg);

/* What an errno value of segment_with() means, as a message. */
void segment_say(const struct segment *s, int error);

#endif
