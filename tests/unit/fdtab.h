/* SPDX-License-Identifier: MIT */
/* fdtab.h - what the suites of fdtab share. */
#ifndef LIBRETRY_TESTS_FDTAB_H
#define LIBRETRY_TESTS_FDTAB_H

#include "state/fdtab_note.h"

#include "tests/unit/unit.h"

static LR_UNUSED struct pend_ref begin(int fd, enum pend_state state)
{
	struct pend_ref ref;

	ck_assert(fdtab_begin(fd, &ref));
	if (state != PEND_BUSY)
		fdtab_release(&ref, state);
	return ref;
}

static LR_UNUSED int first_fd(const struct pend_ref *ref)
{
	return atomic_load(&ref->p->fds[0]);
}

/* Connects under way: records, and those that have but a note. */
static LR_UNUSED unsigned count_busy(void)
{
	return fdtab_busy() % FDTAB_NOTED + fdtab_busy() / FDTAB_NOTED;
}

static LR_UNUSED unsigned count_live(void)
{
	struct pend_ref ref;
	unsigned at = 0;
	unsigned n = 0;

	while (fdtab_next(&at, &ref))
		n++;
	return n;
}

/* Forgets <fd> as close() does. */
static LR_UNUSED bool close_fd(int fd, bool *alone)
{
	struct pend_ref ref;

	if (!fdtab_forget(fd, &ref, alone))
		return false;
	if (*alone)
		fdtab_drop(&ref);
	return true;
}

static LR_UNUSED bool watch_of(int fd, int epfd, struct watch *w)
{
	for (unsigned i = 0; i < FDTAB_WATCHES; i++)
		if (fdtab_watch_get(fd, i, w) && w->epfd == epfd)
			return true;
	return false;
}

#endif
