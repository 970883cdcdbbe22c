/* SPDX-License-Identifier: MIT */
/* process.deepbind: what a program loads so that no preload is seen by it. */
#include <dlfcn.h>

#include "base/compat.h"
#include "preload/real.h"
#include "preload/runtime.h"

/* What dlopen.S calls, and then jumps to what it returns. *flags: the second argument,
 * where it is kept, which may be wider than an int. */
void *dlopen_begins(unsigned long *flags);
LR_HIDDEN __attribute__((used)) void *dlopen_begins(unsigned long *flags)
{
	runtime_init();
#ifdef RTLD_DEEPBIND
	if (lr_unlikely(*flags & RTLD_DEEPBIND) && runtime_clears_deepbind())
		*flags &= ~(unsigned long)RTLD_DEEPBIND;
#else
	(void)flags;
#endif
	return (void *)real.dlopen;
}
