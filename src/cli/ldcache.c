/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ldcache.h"

#define CACHE_LIMIT (INT64_C(64) << 20)

/* Two formats; a file may hold the old one with the new one behind it. */
#define OLD_MAGIC "ld.so-1.7.0"
#define NEW_MAGIC "glibc-ld.so.cache1.1"

struct old_header {
	char magic[12];
	uint32_t count;
};

#define OLD_ENTRY 12

struct new_header {
	char magic[20];
	uint32_t count, texts_size;
	uint8_t flags, unused[3];
	uint32_t extension, unused_too[3];
};

/* Places of texts count from the header. */
struct new_entry {
	int32_t flags;
	uint32_t name, path, os_version;
	uint64_t hwcap;
};

static char *slurp(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char *bytes = NULL;
	size_t have = 0;

	*size = 0;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    st.st_size <= CACHE_LIMIT)
		bytes = malloc((size_t)st.st_size + 1);
	for (ssize_t got; bytes && have < (size_t)st.st_size; have += (size_t)got) {
		got = read(fd, bytes + have, (size_t)st.st_size - have);
		if (got <= 0)
			break;
	}
	close(fd);
	if (bytes)
		bytes[have] = '\0';
	*size = have;
	return bytes;
}

static bool new_at(const struct ldcache *c, size_t start)
{
	return start <= c->size && c->size - start >= sizeof(struct new_header) &&
	       memcmp(c->bytes + start, NEW_MAGIC, sizeof(NEW_MAGIC) - 1) == 0;
}

void ldcache_read(struct ldcache *c, const char *path)
{
	struct new_header head;
	size_t room;

	memset(c, 0, sizeof(*c));
	c->bytes = slurp(path, &c->size);
	if (!c->bytes)
		return;
	if (c->size >= sizeof(struct old_header) &&
	    memcmp(c->bytes, OLD_MAGIC, sizeof(OLD_MAGIC) - 1) == 0) {
		struct old_header old;

		memcpy(&old, c->bytes, sizeof(old));
		c->start = sizeof(old) + (size_t)old.count * OLD_ENTRY;
		c->start = (c->start + 7) & ~(size_t)7;
	}
	if (!new_at(c, c->start))
		return;
	memcpy(&head, c->bytes + c->start, sizeof(head));
	room = (c->size - c->start - sizeof(head)) / sizeof(struct new_entry);
	c->entries = head.count < room ? head.count : room;
}

void ldcache_free(struct ldcache *c)
{
	free(c->bytes);
	memset(c, 0, sizeof(*c));
}

/* The NUL behind the bytes ends every text. */
static const char *text_at(const struct ldcache *c, uint32_t place)
{
	return place < c->size - c->start ? c->bytes + c->start + place : "";
}

const char *ldcache_find(const struct ldcache *c, const char *name, unsigned index)
{
	for (size_t i = 0; i < c->entries; i++) {
		struct new_entry e;

		memcpy(&e, c->bytes + c->start + sizeof(struct new_header) + i * sizeof(e),
		       sizeof(e));
		if (e.hwcap == 0 && strcmp(text_at(c, e.name), name) == 0 && index-- == 0)
			return text_at(c, e.path);
	}
	return NULL;
}
