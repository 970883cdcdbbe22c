/* SPDX-License-Identifier: MIT */
/* For a libretry.so that has libconfig inside: its names are local there. */
#include "preload/configure.h"

bool lcapi_load(struct lcapi *lc, void **handle, const char **why)
{
	(void)why;
	*lc = lcapi_direct;
	*handle = NULL;
	return true;
}

void lcapi_unload(void *handle)
{
	(void)handle;
}
