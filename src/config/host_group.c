/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/sys.h"
#include "config/loader.h"

#define GID_MAX UINT64_C(4294967294) /* one more says "no change" to the kernel */

/* A file, byte by byte. */
struct bytes {
	int fd;
	size_t at, len;
	char chunk[512];
};

/* -1: the end. */
static int next_byte(struct bytes *b)
{
	if (b->at == b->len) {
		ssize_t n;

		while ((n = sys_read(b->fd, b->chunk, sizeof(b->chunk))) == -EINTR)
			;
		if (n <= 0)
			return -1;
		b->len = (size_t)n;
		b->at = 0;
	}
	return (unsigned char)b->chunk[b->at++];
}

/* Behind the end of the line, or at the end of the file (false). */
static bool skip_line(struct bytes *b, int c)
{
	while (c != '\n' && c != -1)
		c = next_byte(b);
	return c != -1;
}

/* "name:password:number:members"; *c: the last byte that was read. */
static bool line_is_of(struct bytes *b, const char *name, uint64_t *gid, int *c)
{
	unsigned digits = 0;

	while (*name && (*c = next_byte(b)) == (unsigned char)*name)
		name++;
	if (*name || (*c = next_byte(b)) != ':')
		return false;
	while ((*c = next_byte(b)) != ':')
		if (*c == '\n' || *c == -1)
			return false;
	for (*gid = 0; (*c = next_byte(b)) >= '0' && *c <= '9' && digits < 10; digits++)
		*gid = *gid * 10 + (uint64_t)(*c - '0');
	return digits > 0 && (*c == ':' || *c == '\n' || *c == -1) && *gid <= GID_MAX;
}

bool host_group_find(const char *path, const char *name, int64_t *gid)
{
	struct bytes b = { .fd = sys_off_stdio(sys_openat(AT_FDCWD, path,
		                   O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)) };
	bool found = false;
	uint64_t number;
	int c = 0;

	if (b.fd < 0)
		return false;
	do
		found = line_is_of(&b, name, &number, &c);
	while (!found && skip_line(&b, c));
	sys_close(b.fd);
	if (found)
		*gid = (int64_t)number;
	return found;
}

/* Of digits only. */
static bool is_number(const char *text, uint64_t *number)
{
	size_t len = strspn(text, "0123456789");

	*number = GID_MAX + 1;
	if (len == 0 || text[len])
		return false;
	if (len <= 10)
		for (*number = 0; *text; text++)
			*number = *number * 10 + (uint64_t)(*text - '0');
	return true;
}

void host_group_read(const struct node *n, struct process_settings *p)
{
	const char *text = node_text(n);
	uint64_t number;

	p->host_group = -1;
	if (!text)
		node_wrong_type(n, "the name or the number of a group in quotes");
	else if (!*text || strchr(text, ':'))
		node_fault(n, DIAG_ERROR, "is no name of a group");
	else if (strcmp(text, "none") == 0)
		return;
	else if (!is_number(text, &number)) {
		if (!host_group_find("/etc/group", text, &p->host_group))
			node_fault(n, DIAG_WARNING,
			           "no such group in /etc/group (others by their number): scope = "
			           "\"host\" will be the same as \"user\"");
	} else if (number > GID_MAX) {
		node_fault(n, DIAG_ERROR, "too large a number (at most 4294967294)");
	} else {
		p->host_group = (int64_t)number;
	}
}
