/* SPDX-License-Identifier: MIT */
/* decide.h - retry after a wait, give up, or not our business. Pure. */
#ifndef LIBRETRY_POLICY_DECIDE_H
#define LIBRETRY_POLICY_DECIDE_H

#include "policy/policy.h"

struct failure {
	enum op op;
	struct err err;
	int sys_errno;  /* errno, for EAI_SYSTEM and NETDB_INTERNAL */
	bool unix_dest;
};

/*
 * VERDICT_RETRY: wait .wait, then try again. VERDICT_PASS: this failure was
 * never ours (off, or the first error is not retryable). VERDICT_GIVE_UP:
 * retrying ends here, for .reason. No wait follows the last attempt, and none
 * is begun that would end past the deadline or the program's own limit.
 */
struct decision decide(const struct policy *p, const struct failure *f,
                       const struct progress *so_far, uint64_t random);

#endif
