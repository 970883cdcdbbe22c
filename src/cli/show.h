/* SPDX-License-Identifier: MIT */
/* show.h - what a loaded configuration says, as tables. */
#ifndef LIBRETRY_CLI_SHOW_H
#define LIBRETRY_CLI_SHOW_H

#include <stdbool.h>

#include "base/fmt.h"
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

/* What <r> asks for: "host=db1 port=5432"; "everything". */
void show_conditions(struct fmt *f, const struct rule *r);

/* "proportional 0.5", "none" */
void show_jitter(struct fmt *f, const struct backoff *b);

/* Whole classes by their names, single errors by theirs. */
void show_errors(struct fmt *f, const struct err_set *set);

/* <ns> in two or three digits, rounded up or down so that a range is never told too
 * narrow: "131s", "2.25s", "no limit". */
void show_dur(struct fmt *f, int64_t ns, bool up);

/* The longest that all waits of <p> together can be (ns), the deadline
 * considered and the time of the attempts not; DUR_NONE if it overflows. */
int64_t show_worst_wait(const struct policy *p);

#endif
