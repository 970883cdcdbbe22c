/* SPDX-License-Identifier: MIT */
/*
 * prctl(): how a program confines itself. A filter of system calls that it
 * installs may kill at whatever we would ask of the kernel, and there is no way
 * to find that out but by asking. PR_SET_SECCOMP says so. libseccomp installs its
 * filters by syscall(), but sets PR_SET_NO_NEW_PRIVS before: where it is loaded that
 * says so, too. (Not everywhere: haproxy sets it, and has no filter.) From then on
 * nothing is retried in this process.
 *
 * Not seen, and then doc/guest.md says which calls retries make: a filter that
 * was there at the start, and one installed by syscall() without libseccomp.
 */
#include <link.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/glob.h"
#include "preload/real.h"
#include "preload/runtime.h"

static int is_libseccomp(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	return info->dlpi_name && glob_match("*/libseccomp.so*", info->dlpi_name,
	                                     strlen(info->dlpi_name), 0);
}

static bool confines(int option)
{
	return option == PR_SET_SECCOMP ||
	       (option == PR_SET_NO_NEW_PRIVS && dl_iterate_phdr(is_libseccomp, NULL) != 0);
}

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
	ours = runtime_owns_process() && confines(option);
	rc = real.prctl(option, a, b, c, d);
	if (rc == 0 && ours)
		runtime_confine(option == PR_SET_NO_NEW_PRIVS);
	return rc;
}
