/* SPDX-License-Identifier: MIT */
/* show.h - what a loaded configuration says, as tables. */
#ifndef LIBRETRY_CLI_SHOW_H
#define LIBRETRY_CLI_SHOW_H

#include <stdbool.h>

#include "cli/out.h"
#include "config/config.h"

/* The rules in the order in which they are tried, and what holds where none
 * matches. */
void show_rules(struct out *o, const struct config *c);

void show_policies(struct out *o, const struct config *c);

/* The "programs" entries; nothing for people if there are none. */
void show_programs(struct out *o, const struct config *c);

/* The faults to inject, in force or not; nothing for people if there are none. */
void show_faults(struct out *o, const struct config *c);

/* The environment overrides in force: those of <env> that are set, well-formed,
 * and not in <rejected>. */
void show_environment(struct out *o, const struct env *env, const bool rejected[ENV_COUNT]);

/* The longest that all waits of <p> together can be (ns), the deadline
 * considered and the time of the attempts not; DUR_NONE if it overflows. */
int64_t show_worst_wait(const struct policy *p);

#endif
