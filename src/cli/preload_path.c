/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/glob.h"
#include "cli/cli.h"
#include "cli/preload_path.h"

#define LIBRARY "libretry.so"
#define SEPARATORS ": "

#ifndef PKG_MULTIARCH
#if defined(__x86_64__) && !defined(__ILP32__)
#define PKG_MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define PKG_MULTIARCH "aarch64-linux-gnu"
#elif defined(__i386__)
#define PKG_MULTIARCH "i386-linux-gnu"
#elif defined(__riscv) && __riscv_xlen == 64
#define PKG_MULTIARCH "riscv64-linux-gnu"
#else
#define PKG_MULTIARCH "."
#endif
#endif

/* Length of <path> without its last part and the slash before that. */
static size_t folder_len(const char *path, size_t len)
{
	while (len && path[len - 1] != '/')
		len--;
	return len ? len - 1 : 0;
}

static bool try_place(const char *dir, size_t dir_len, const char *below, char *out, size_t size)
{
	struct fmt f;

	fmt_init(&f, out, size);
	fmt_mem(&f, dir, dir_len);
	fmt_str(&f, below);
	fmt_str(&f, "/" LIBRARY);
	fmt_end(&f);
	if (f.cut) {
		errno = ENAMETOOLONG;
		return false;
	}
	return access(out, R_OK) == 0;
}

bool preload_find(const char *given, const char *self, char *out, size_t size)
{
	size_t dir = folder_len(self, strlen(self));
	size_t up = folder_len(self, dir);

	if (given) {
		if (given[0] == '/' && strchr(given, '$')) {
			snprintf(out, size, "%s", given);
			return true;
		}
		return cli_absolute(given, out, size) && access(out, R_OK) == 0;
	}
	return try_place(self, dir, "", out, size) ||
	       try_place(self, up, "/lib", out, size) ||
	       try_place(self, up, "/lib/" PKG_MULTIARCH, out, size) ||
	       try_place(PKG_LIBDIR, strlen(PKG_LIBDIR), "", out, size);
}

char preload_bad_byte(const char *path)
{
	const char *bad = strpbrk(path, SEPARATORS);

	return bad ? *bad : '\0';
}

static const char *base_of(const char *entry, size_t len, size_t *base_len)
{
	size_t start = len;

	while (start && entry[start - 1] != '/')
		start--;
	*base_len = len - start;
	return entry + start;
}

static bool is_ours(const char *library, const char *entry, size_t len)
{
	size_t base_len;
	const char *base = base_of(entry, len, &base_len);

	return (strlen(library) == len && memcmp(library, entry, len) == 0) ||
	       (base_len == strlen(LIBRARY) && memcmp(base, LIBRARY, base_len) == 0);
}

static bool is_sanitizer(const char *entry, size_t len)
{
	size_t base_len;
	const char *base = base_of(entry, len, &base_len);

	return glob_match("lib[alt]san.so*", base, base_len, 0) ||
	       glob_match("libhwasan.so*", base, base_len, 0) ||
	       glob_match("libclang_rt.?san*.so*", base, base_len, 0);
}

static void add_entry(struct fmt *f, const char *entry, size_t len)
{
	if (f->len)
		fmt_char(f, ':');
	fmt_mem(f, entry, len);
}

bool preload_merge(const char *library, const char *old, char *out, size_t size)
{
	bool placed = false;
	struct fmt f;

	fmt_init(&f, out, size);
	for (old = old ? old : ""; *(old += strspn(old, SEPARATORS));) {
		size_t len = strcspn(old, SEPARATORS);

		if (!placed && !is_sanitizer(old, len)) {
			add_entry(&f, library, strlen(library));
			placed = true;
		}
		if (!is_ours(library, old, len))
			add_entry(&f, old, len);
		old += len;
	}
	if (!placed)
		add_entry(&f, library, strlen(library));
	fmt_end(&f);
	return !f.cut;
}
