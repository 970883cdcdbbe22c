/* SPDX-License-Identifier: MIT */
/*
 * prctl(): how a program confines itself. A filter of system calls that it
 * installs may kill at whatever we would ask of the kernel, and there is no way
 * to find that out but by asking. PR_SET_SECCOMP says so. libseccomp installs its
 * filters by syscall(), but sets PR_SET_NO_NEW_PRIVS right before: where the call is
 * libseccomp's own that says so, too. (Not where it is the program's: haproxy sets it, and
 * has no filter, and so does apt, which has libseccomp for a filter that is off.) From then
 * on nothing is retried in this process.
 *
 * Not seen, and then doc/guest.md says which calls retries make: a filter that
 * was there at the start, one installed by syscall() without libseccomp, and one of a
 * libseccomp that was told to leave PR_SET_NO_NEW_PRIVS alone.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/glob.h"
#include "preload/real.h"
#include "preload/runtime.h"

static bool is_libseccomp(const char *path)
{
	return path && glob_match("*/libseccomp.so*", path, strlen(path), 0);
}

static int is_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	return is_libseccomp(info->dlpi_name);
}

/* Whether libseccomp has made the call that returns to <caller>. That may be a wrapper's:
 * another library's, before us, or without optimization our own. Then it is not known, and
 * that libseccomp is there must do. */
static bool is_by_libseccomp(void *caller)
{
	void *first = dlsym(RTLD_DEFAULT, "prctl");
	Dl_info its, ours, front;

	if (!dladdr(caller, &its))
		return false;
	if (first && dladdr(first, &front) && dladdr(&runtime_gate, &ours) &&
	    front.dli_fbase == ours.dli_fbase && its.dli_fbase != ours.dli_fbase)
		return is_libseccomp(its.dli_fname);
	return dl_iterate_phdr(is_loaded, NULL) != 0;
}

static bool confines(int option, void *caller)
{
	return option == PR_SET_SECCOMP ||
	       (option == PR_SET_NO_NEW_PRIVS && is_by_libseccomp(caller));
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
	ours = runtime_owns_confined() && confines(option, __builtin_return_address(0));
	rc = real.prctl(option, a, b, c, d);
	if (rc == 0 && ours)
		runtime_confine(option == PR_SET_NO_NEW_PRIVS);
	return rc;
}
