/* SPDX-License-Identifier: MIT */
/* builtin.h - the policies that exist without any configuration file. */
#ifndef LIBRETRY_POLICY_BUILTIN_H
#define LIBRETRY_POLICY_BUILTIN_H

#include "policy/policy.h"
#include "policy/settings.h"

/* "default", "interactive", "patient", "container", "automotive", "off", by
 * index; false past the end. <p> is a copy that the caller may change. */
bool builtin_policy(unsigned index, struct policy *p);

/* The built-in "default". */
struct policy builtin_default(void);

/* To stderr, info, text, 20 lines per destination per 10s. */
struct log_settings builtin_log(void);

/* SIGTERM, SIGINT, SIGHUP, SIGQUIT end waits; reload on failure; no
 * group shares. */
struct process_settings builtin_process(void);

/* To no file; for Prometheus, every 15s. */
struct stats_settings builtin_stats(void);

#endif
