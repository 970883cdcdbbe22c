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

/* Budgets, breakers and the like, of the policies and of the rules that have one of their
 * own. */
void show_limits(struct out *o, const struct config *c);

/* The "programs" entries; nothing for people if there are none. */
void show_programs(struct out *o, const struct config *c);

/* The faults to inject, in force or not; nothing for people if there are none. */
void show_faults(struct out *o, const struct config *c);

/* The environment overrides in force: those of <env> that are set, well-formed,
 * and not in <rejected>. */
void show_environment(struct out *o, const struct env *env, const bool rejected[ENV_COUNT]);

/* Three cells: where it stands, for people, and "file" and "line". */
void show_source(struct out *o, struct source source);

/* What <r> asks for: "host=db1 port=5432"; "everything". */
void show_conditions(struct fmt *f, const struct rule *r);

/* "proportional 0.5", "none" */
void show_jitter(struct fmt *f, const struct backoff *b);

/* "process", "user", "host" */
const char *show_scope(enum scope scope);

/* "ratio 0.2 and 10 a second, over 10s", "tokens", "none" */
void show_budget(struct fmt *f, const struct budget *b);

/* "off", "opens after 5 failures in a row, for 1s to 30s" */
void show_breaker(struct fmt *f, const struct breaker *b);

/* Whole classes by their names, single errors by theirs. */
void show_errors(struct fmt *f, const struct err_set *set);

/* <ns> in two or three digits, rounded up or down so that a range is never told too
 * narrow: "131s", "2.25s", "no limit". */
void show_dur(struct fmt *f, int64_t ns, bool up);

/* The longest that all waits of <p> together can be (ns), the deadline
 * considered and the time of the attempts not; DUR_NONE if it overflows. */
int64_t show_worst_wait(const struct policy *p);

#endif
