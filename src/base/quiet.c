/* SPDX-License-Identifier: MIT */
#include "base/quiet.h"

#include "base/sys.h"

ssize_t quiet_write(int fd, const void *bytes, size_t len)
{
	/* With SIGTTOU blocked the kernel lets a background process write to
	 * its terminal (tostop) instead of stopping it. */
	const uint64_t held = SYS_SIGBIT(SIGPIPE) | SYS_SIGBIT(SIGXFSZ) | SYS_SIGBIT(SIGTTOU);
	uint64_t mask, pending = 0, ours = 0;
	ssize_t n;

	if (sys_sigmask(SIG_BLOCK, &held, &mask) < 0)
		return -1;
	sys_sigpending(&pending);
	n = sys_write(fd, bytes, len);
	if (n == -EPIPE)
		ours = SYS_SIGBIT(SIGPIPE);
	else if (n == -EFBIG)
		ours = SYS_SIGBIT(SIGXFSZ);
	if (ours & ~pending)
		sys_sigtake(&ours);
	sys_sigmask(SIG_SETMASK, &mask, NULL);
	return n;
}
