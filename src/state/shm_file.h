/* SPDX-License-Identifier: MIT */
/*
 * shm_file.h - a segment as a file: found, checked, made. Inside of state/shm, whose
 * header says what is checked and why.
 *
 * System calls only; nothing is held, nothing is left open; errno untouched.
 */
#ifndef LIBRETRY_STATE_SHM_FILE_H
#define LIBRETRY_STATE_SHM_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "state/shm.h"

#define SHM_WHY_MAX (SHM_PATH_MAX + 96)

enum shm_answer {
	SHM_MAPPED = 0,
	SHM_LATER, /* not now: half-made, no descriptor, no memory */
	SHM_NEVER  /* .why says why */
};

struct shm_file {
	int64_t gid; /* -1: the user's own */
	bool lost;   /* <place> could not be mapped over: what is there is not known */
	char path[SHM_PATH_MAX];
	char why[SHM_WHY_MAX];
};

/* Another folder than /dev/shm, for tests; NULL: that one. */
void shm_file_folder(const char *folder);

/* Tests: as if no file could be made without a name. */
void shm_file_plain(bool on);

/* The effective user's segment, or the group's. */
void shm_file_name(struct shm_file *f, int64_t gid);

/* Maps the segment, at <place> (SHM_BYTES long, and given up to it) unless that is
 * NULL, and makes it if there is none. <patient>: waits 5 ms for one in the making. */
enum shm_answer shm_file_attach(struct shm_file *f, void *place, bool patient,
                                struct shm_header **h);

/* Whether <h> is the header of a segment of this layout. */
bool shm_file_known(const struct shm_header *h);

/* Whether the name leads to the file that <h> was mapped from; true if that cannot be
 * found out. */
bool shm_file_same(const struct shm_file *f, const struct shm_header *h);

#endif
