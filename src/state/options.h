/* SPDX-License-Identifier: MIT */
/*
 * options.h - the options of TCP sockets that Linux forgets when an attempt to connect
 * fails (its tcp_disconnect() does, for TCP_MAXSEG and TCP_WINDOW_CLAMP): what the program
 * set them to, by descriptor, for the next attempt.
 *
 * A note is one word; the number modulo OPTIONS_PLACES is the place, a newer one takes it.
 * Lock-free, safe in threads, signal handlers and a forked child. No errno, no system call.
 * A descriptor that dies unseen leaves its note to who gets the number.
 */
#ifndef LIBRETRY_STATE_OPTIONS_H
#define LIBRETRY_STATE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define OPTIONS_PLACES 256

enum option {
	OPTION_MAXSEG = 0,
	OPTION_WINDOW_CLAMP,
	OPTION_COUNT
};

/* The program has set <option> of <fd>, >= 0, to <value>. Sets FDTAB_OPTIONS. */
void options_note(int fd, enum option option, int value);

/* False: it did not, that we know. */
bool options_find(int fd, enum option option, int *value);

/* <fd> is closed, or names another file from now on. */
void options_forget(int fd);

/* <to>, >= 0, names the same socket as <from> from now on. */
void options_copy(int from, int to);

void options_reset(void); /* tests */

#endif
