/* SPDX-License-Identifier: MIT */
/* names.h - look-ups for the suites that need some. */
#ifndef LIBRETRY_TESTS_NAMES_H
#define LIBRETRY_TESTS_NAMES_H

#include "state/names.h"

/* A look-up by <thread>, at the beginning of time. */
static inline void remember(const char *host, const struct name_ip *ips, unsigned count,
                            uintptr_t thread)
{
	struct name_list list;

	list.count = list.more = 0;
	for (unsigned i = 0; i < count; i++)
		name_list_add(&list, &ips[i]);
	names_remember(host, &list, thread, 0);
}

#endif
