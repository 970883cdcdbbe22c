/* SPDX-License-Identifier: MIT */
#include "state/fdtab_slot.h"

#include "base/sys.h"

struct fdtab_slot fdtab_first[FDTAB_CHUNK];
void *_Atomic fdtab_chunks[FDTAB_CHUNKS];

void *fdtab_map(void *_Atomic *where, size_t size)
{
	void *there = atomic_load_explicit(where, memory_order_acquire);
	void *made;

	if (there)
		return there;
	made = sys_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!made)
		return NULL;
	if (atomic_compare_exchange_strong(where, &there, made))
		return made;
	sys_munmap(made, size);
	return there;
}

struct fdtab_slot *fdtab_slot_make(int fd)
{
	unsigned chunk = (unsigned)fd / FDTAB_CHUNK;
	struct fdtab_slot *slots = fdtab_slot(fd);

	if (slots || (unsigned)fd >= FDTAB_FDS)
		return slots;
	slots = fdtab_map(&fdtab_chunks[chunk], sizeof(fdtab_first));
	return slots ? &slots[(unsigned)fd % FDTAB_CHUNK] : NULL;
}

bool fdtab_next_known(unsigned *fd, unsigned last)
{
	if (last >= FDTAB_FDS)
		last = FDTAB_FDS - 1;
	for (; *fd <= last; (*fd)++) {
		if (fdtab_knows((int)*fd))
			return true;
		if (!fdtab_slot((int)*fd))
			*fd |= FDTAB_CHUNK - 1;
	}
	return false;
}

bool fdtab_knows_range(unsigned first, unsigned last)
{
	return fdtab_next_known(&first, last);
}

bool fdtab_is_dup(int fd)
{
	struct fdtab_slot *slot = fdtab_slot(fd);

	return slot && (atomic_load_explicit(&slot->word, memory_order_relaxed) &
	                FDTAB_MARK_DUP) != 0;
}
