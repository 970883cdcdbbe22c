/* SPDX-License-Identifier: MIT */
/* errno_main - what a program finds at main(): errno, descriptors, threads. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int threads(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");
	int n = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Threads: %d", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

int main(void)
{
	int at_main = errno, fds = 0;
	DIR *d = opendir("/proc/self/fd");

	/* Its own descriptor and the two dots do not count. */
	while (d && readdir(d))
		fds++;
	printf("errno=%d fds=%d threads=%d\n", at_main, fds - 3, threads());
	if (d)
		closedir(d);
	return 0;
}
