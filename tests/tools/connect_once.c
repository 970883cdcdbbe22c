/* SPDX-License-Identifier: MIT */
/*
 * connect_once - a plain blocking client: connect, one line each way, close.
 *
 * Usage: connect_once ADDR PORT
 * Prints "result=N errno=N": what connect() returned and the errno after it,
 * which was EDOM before it. The access() of a path that cannot exist marks for
 * strace where start-up ends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	char line[64];
	int fd, r;

	if (argc != 3 || inet_pton(AF_INET, argv[1], &sa.sin_addr) != 1) {
		fputs("Usage: connect_once ADDR PORT\n", stderr);
		return 2;
	}
	sa.sin_port = htons((uint16_t)atoi(argv[2]));
	if (access("/nonexistent/marker", F_OK) == 0)
		return 2;
	fd = socket(AF_INET, SOCK_STREAM, 0);
	errno = EDOM;
	r = connect(fd, (struct sockaddr *)&sa, sizeof(sa));
	dprintf(STDOUT_FILENO, "result=%d errno=%d\n", r, errno);
	if (r < 0)
		return 1;
	if (write(fd, "hello\n", 6) != 6 || read(fd, line, sizeof(line)) <= 0)
		return 1;
	close(fd);
	return 0;
}
