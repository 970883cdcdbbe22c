/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errname.h"
#include "base/sys.h"
#include "config/text.h"

/* strerror() takes locks and allocates. */
void slurp_reason(struct fmt *f, int error)
{
	const char *name = err_name((struct err){ ERR_ERRNO, error });

	switch (error) {
	case ENOENT:
		fmt_str(f, "no such file");
		break;
	case ENOTDIR:
		fmt_str(f, "a part of the path is not a folder");
		break;
	case EACCES:
	case EPERM:
		fmt_str(f, "no permission");
		break;
	case ELOOP:
		fmt_str(f, "a circle of symbolic links");
		break;
	case ENXIO:
	case ENODEV:
		fmt_str(f, "not a regular file");
		break;
	default:
		fmt_str(f, "the system says no");
	}
	diag_format(f, name ? " (%s)" : "", name);
}

static const char *kind_of(mode_t mode)
{
	if (S_ISDIR(mode))
		return "is a folder";
	if (S_ISFIFO(mode))
		return "is a FIFO";
	if (S_ISSOCK(mode))
		return "is a socket";
	return "is a device";
}

static bool read_all(int fd, struct slurp *s, struct fmt *why)
{
	s->len = 0;
	while (s->len <= TEXT_MAX) {
		ssize_t n = sys_read(fd, s->bytes + s->len, TEXT_MAX + 1 - s->len);

		if (n == 0)
			return true;
		if (n < 0 && n != -EINTR) {
			fmt_str(why, "cannot be read: ");
			slurp_reason(why, (int)-n);
			return false;
		}
		if (n > 0)
			s->len += (size_t)n;
	}
	diag_format(why, "is too large (at most %i bytes)", (int64_t)TEXT_MAX);
	return false;
}

static bool read_regular(int fd, struct slurp *s, struct fmt *why)
{
	struct stat st;
	int rc = sys_fstat(fd, &st);

	if (rc < 0) {
		fmt_str(why, "cannot be read: ");
		slurp_reason(why, -rc);
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		diag_format(why, "%s (a regular file is expected)", kind_of(st.st_mode));
		return false;
	}
	if (st.st_size > (off_t)TEXT_MAX) {
		diag_format(why, "has %i bytes: too large (at most %i)", (int64_t)st.st_size,
		            (int64_t)TEXT_MAX);
		return false;
	}
	s->device = st.st_dev;
	s->inode = st.st_ino;
	return read_all(fd, s, why);
}

bool slurp_file(struct slurp *s, const char *path, struct fmt *why)
{
	/* A FIFO without a writer or a terminal that hangs must not stop us. */
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0);
	bool ok;

	if (fd < 0) {
		fmt_str(why, "cannot be opened: ");
		slurp_reason(why, -fd);
		return false;
	}
	ok = read_regular(fd, s, why);
	sys_close(fd);
	return ok;
}

/* Length of the UTF-8 sequence at <s>, <n> bytes before the end; 0 if bad. */
static size_t utf8_at(const unsigned char *s, size_t n)
{
	static const unsigned long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	unsigned long code = s[0] & (0xffU >> (len + 1));

	if (len <= 1)
		return len;
	if (s[0] >= 0xf8 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return len;
}

bool slurp_check(struct slurp *s, const char *path, struct diag_sink *sink)
{
	struct source at = { path, 1 };
	bool told = false;

	if (s->len >= 3 && memcmp(s->bytes, "\xef\xbb\xbf", 3) == 0) {
		s->len -= 3;
		memmove(s->bytes, s->bytes + 3, s->len);
	}
	for (size_t i = 0, step; i < s->len; i += step) {
		step = utf8_at((unsigned char *)s->bytes + i, s->len - i);
		if (s->bytes[i] == '\0') {
			diag_say(sink, DIAG_ERROR, at, "a NUL byte: this is not a text file");
			return false;
		}
		if (s->bytes[i] == '\n')
			at.line++;
		if (step > 0)
			continue;
		if (!told)
			diag_say(sink, DIAG_ERROR, at, "not valid UTF-8 (write the file in UTF-8)");
		told = true;
		s->bytes[i] = '?';
		step = 1;
	}
	return true;
}
