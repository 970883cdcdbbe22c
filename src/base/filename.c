/* SPDX-License-Identifier: MIT */
#include "base/filename.h"

#include <string.h>

#include "base/sys.h"

/* What the kernel writes behind the path of a file that is gone: after an upgrade the
 * program is the same for who reads its files. */
#define DELETED " (deleted)"

void filename_program(struct fmt *f)
{
	char path[512];
	ssize_t n = sys_readlink("/proc/self/exe", path, sizeof(path) - 1);
	size_t len = n > 0 ? (size_t)n : 0;
	const size_t tail = sizeof(DELETED) - 1;
	const char *slash;

	if (len > tail && memcmp(path + len - tail, DELETED, tail) == 0)
		len -= tail;
	path[len] = '\0';
	slash = strrchr(path, '/');
	fmt_str(f, slash && slash[1] ? slash + 1 : "unknown");
}

bool filename_expand(struct fmt *f, const char *pattern)
{
	for (const char *c = pattern; *c; c++) {
		if (c[0] == '%' && c[1] == 'p')
			fmt_u64(f, (uint64_t)sys_getpid());
		else if (c[0] == '%' && c[1] == 'e')
			filename_program(f);
		else
			fmt_char(f, *c);
		if (c[0] == '%' && (c[1] == 'p' || c[1] == 'e' || c[1] == '%'))
			c++;
	}
	fmt_end(f);
	return !f->cut;
}
