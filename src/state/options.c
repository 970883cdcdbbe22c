/* SPDX-License-Identifier: MIT */
#include "state/options.h"

#include <stdatomic.h>

#include "state/fdtab.h"

/* The upper half is the descriptor + 1; 0: no note. */
static _Atomic uint64_t notes[OPTIONS_PLACES][OPTION_COUNT];

static _Atomic uint64_t *place(int fd, enum option option)
{
	return &notes[(unsigned)fd % OPTIONS_PLACES][option];
}

static bool is_of(uint64_t note, int fd)
{
	return fd >= 0 && note >> 32 == (uint64_t)fd + 1;
}

void options_note(int fd, enum option option, int value)
{
	atomic_store(place(fd, option), ((uint64_t)fd + 1) << 32 | (uint32_t)value);
	fdtab_raise(FDTAB_OPTIONS);
}

bool options_find(int fd, enum option option, int *value)
{
	uint64_t note = atomic_load(place(fd, option));

	*value = (int)(uint32_t)note;
	return is_of(note, fd);
}

void options_forget(int fd)
{
	for (int i = 0; i < OPTION_COUNT; i++) {
		uint64_t note = atomic_load(place(fd, i));

		if (is_of(note, fd))
			atomic_compare_exchange_strong(place(fd, i), &note, 0);
	}
}

void options_copy(int from, int to)
{
	int value;

	options_forget(to);
	for (int i = 0; i < OPTION_COUNT; i++)
		if (options_find(from, i, &value))
			options_note(to, i, value);
}

void options_reset(void)
{
	for (unsigned n = 0; n < OPTIONS_PLACES; n++)
		for (int i = 0; i < OPTION_COUNT; i++)
			atomic_store(&notes[n][i], 0);
	fdtab_lower(FDTAB_OPTIONS);
}
