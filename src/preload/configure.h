/* SPDX-License-Identifier: MIT */
/*
 * configure.h - reading the configuration inside the host: with a libconfig
 * that is loaded for the moment, and with faults going to the log.
 */
#ifndef LIBRETRY_PRELOAD_CONFIGURE_H
#define LIBRETRY_PRELOAD_CONFIGURE_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

/*
 * config_load() of <path> (NULL: built in) with libconfig by dlopen(). Faults
 * are collected for configure_report(); with <again>, those of a file that
 * cannot be used are logged at once. NULL: no memory. One caller at a time.
 */
struct config *configure_load(const char *path, const struct env *env, bool again);

/* Logs what configure_load() collected, by the settings now in force: one
 * ERROR line for a bad file, a WARN line for each unknown key and each bad
 * variable (the first few), and at debug level what is in force. */
void configure_report(const struct config *c, const struct env *env);

/* A number that changes when <path>, another file of <c> (which may be NULL), or
 * the set of drop-ins beside <path> does (device, inode, size, time). */
uint64_t configure_fingerprint(const struct config *c, const char *path);

/*
 * Fills <lc> from libconfig: the one inside this object (--enable-linked-libconfig),
 * or one that is loaded with RTLD_LOCAL so that its names enter nobody's scope. <handle>
 * is for lcapi_unload(). False with a reason in <why> if it is not there, or if it could
 * not be kept apart from the program.
 */
bool lcapi_load(struct lcapi *lc, void **handle, const char **why);
void lcapi_unload(void *handle);

/* pthread_atfork(), once; the child's handlers of every room in rank order. */
void atfork_register(void);

#endif
