/* SPDX-License-Identifier: MIT */
/* classify.h - what kind of failure an error is. Pure. */
#ifndef LIBRETRY_POLICY_CLASSIFY_H
#define LIBRETRY_POLICY_CLASSIFY_H

#include "policy/policy.h"

/* "refused" ... ; NULL for CLASS_NONE. */
const char *class_name(enum err_class c);
/* CLASS_NONE if unknown. */
enum err_class class_parse(const char *name);

/* Adds the members of <c> to <set>. */
void err_set_add_class(struct err_set *set, enum err_class c);
void err_set_remove_class(struct err_set *set, enum err_class c);
/* One error; h_errno codes count as their getaddrinfo twins. False if the
 * error cannot be in a set. */
bool err_set_add(struct err_set *set, struct err e);
void err_set_remove(struct err_set *set, struct err e);
bool err_set_has(const struct err_set *set, struct err e);

/* The built-in retry_on. */
struct err_set err_set_default(void);

/* Errors that may never be in retry_on: the fixed set of design section 4. */
bool err_is_fixed(struct err e);

/*
 * The class of a failed call. <op> and <unix_dest> matter: EAGAIN is a full
 * queue on a Unix connect and nothing elsewhere, ENOENT counts for Unix only.
 * <sys_errno>: errno at the time, looked at for EAI_SYSTEM and NETDB_INTERNAL.
 * CLASS_NONE if the error is in no class (it may still be retried by name).
 */
enum err_class classify(enum op op, struct err e, int sys_errno, bool unix_dest);

/* Whether <p> retries this failure. */
bool policy_retries(const struct policy *p, enum op op, struct err e, int sys_errno,
                    bool unix_dest);

#endif
