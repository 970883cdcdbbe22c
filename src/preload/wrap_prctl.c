/* SPDX-License-Identifier: MIT */
/*
 * prctl(): how a program confines itself. A filter of system calls that it
 * installs may kill at whatever we would ask of the kernel, and there is no way
 * to find that out but by asking. PR_SET_NO_NEW_PRIVS comes before a filter (it
 * needs it, or root), so from either on nothing is retried in this process.
 *
 * Not seen, and then doc/guest.md says which calls retries make: a filter that
 * was there at the start, and one installed by syscall() alone.
 */
#include <sys/prctl.h>

#include "preload/real.h"
#include "preload/runtime.h"

int wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	unsigned gate = gate_now();
	bool ours;
	int rc;

	if (lr_unlikely(gate & GATE_UNINIT))
		gate = runtime_init();
	if (lr_likely(option != PR_SET_NO_NEW_PRIVS && option != PR_SET_SECCOMP) ||
	    (gate & GATE_PASS))
		return real.prctl(option, a, b, c, d);
	/* Asked before the call: afterwards it may be forbidden. */
	ours = runtime_owns_process();
	rc = real.prctl(option, a, b, c, d);
	if (rc == 0 && ours)
		runtime_confine(option == PR_SET_NO_NEW_PRIVS);
	return rc;
}
