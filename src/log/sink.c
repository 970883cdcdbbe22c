/* SPDX-License-Identifier: MIT */
#include "log/sink.h"

#include <string.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "base/brief.h"
#include "base/compat.h"
#include "base/fmt.h"
#include "base/quiet.h"
#include "base/sys.h"
#include "log/render.h"

static void set_id(struct sink_id *id, const struct stat *st)
{
	id->known = true;
	id->dev = st->st_dev;
	id->ino = st->st_ino;
}

static bool same_id(const struct sink_id *id, const struct stat *st)
{
	return id->known && id->dev == st->st_dev && id->ino == st->st_ino;
}

void sink_identify(struct sink_id *id, int fd)
{
	struct stat st;

	memset(id, 0, sizeof(*id));
	if (sys_fstat(fd, &st) == 0)
		set_id(id, &st);
}

/* A full disk may have cut a line, of this process or of another: of the log, and of the
 * timeline. */
static bool cut[2];

static bool has_no_room(ssize_t n, size_t len)
{
	return (n > 0 && (size_t)n < len) || n == -ENOSPC || n == -EDQUOT || n == -EFBIG;
}

/* A pipe that polls as writable takes PIPE_BUF bytes without waiting. */
static bool put(int fd, const struct sink_line *line)
{
	const struct timespec now = { 0, 0 };
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	ssize_t n;

	if (sys_ppoll(&p, 1, &now) != 1 || !(p.revents & POLLOUT))
		return false;
	if (__atomic_load_n(&cut[line->timeline], __ATOMIC_RELAXED)) {
		if (quiet_write(fd, "\n", 1) != 1)
			return false;
		__atomic_store_n(&cut[line->timeline], false, __ATOMIC_RELAXED);
	}
	n = quiet_write(fd, line->text, line->len);
	if (has_no_room(n, line->len))
		__atomic_store_n(&cut[line->timeline], true, __ATOMIC_RELAXED);
	return n == (ssize_t)line->len;
}

static bool put_socket(int fd, const struct sink_line *line)
{
	int domain = AF_INET;
	socklen_t len = sizeof(domain);

	/* What a network peer reads is the program's protocol. */
	if (sys_getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 || domain == AF_INET ||
	    domain == AF_INET6)
		return false;
	return sys_sendto(fd, line->text, line->len, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) ==
	       (ssize_t)line->len;
}

bool sink_to_fd(int fd, const struct sink_id *id, const struct sink_line *line)
{
	struct stat st;

	if (sys_fstat(fd, &st) < 0 || !same_id(id, &st))
		return false;
	return S_ISSOCK(st.st_mode) ? put_socket(fd, line) : put(fd, line);
}

static int open_log(const char *path, struct stat *st)
{
	return brief_open(path, O_CREAT, 0640, st);
}

static bool too_large(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_size >= SINK_FILE_MAX;
}

/*
 * Renames <path> if it still is the file <id>: another process may have done
 * it. Between the look and the rename one still can; then an almost empty file
 * replaces the full one, and lines are lost but the bound holds.
 */
static void rotate(const char *path, const struct sink_id *id)
{
	char to[LOG_PATH_MAX + 2];
	struct stat st;
	struct fmt f;
	bool same;
	int fd = sys_off_stdio(sys_openat(AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0));

	if (fd < 0)
		return;
	same = sys_fstat(fd, &st) == 0 && same_id(id, &st);
	sys_close(fd);
	fmt_init(&f, to, sizeof(to));
	fmt_str(&f, path);
	fmt_str(&f, ".1");
	fmt_end(&f);
	if (same && !f.cut)
		sys_rename(path, to);
}

bool sink_to_file(const char *path, const struct sink_line *line)
{
	struct sink_id id;
	struct stat st;
	bool done;
	int fd = open_log(path, &st);

	if (fd < 0)
		return false;
	if (too_large(&st)) {
		set_id(&id, &st);
		sys_close(fd);
		rotate(path, &id);
		fd = open_log(path, &st);
		if (fd < 0)
			return false;
	}
	done = !too_large(&st) && put(fd, line);
	sys_close(fd);
	return done;
}

/* Length of the address, 0 if <path> does not fit. */
static socklen_t unix_address(struct sockaddr_un *un, const char *path)
{
	size_t len = strlen(path);

	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	if (len == 0 || len >= sizeof(un->sun_path))
		return 0;
	memcpy(un->sun_path, path, len);
	if (path[0] == '@')
		un->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static bool send_datagram(const char *path, const struct iovec *parts, size_t count)
{
	struct sockaddr_un un;
	struct msghdr msg = {
		.msg_name = &un,
		.msg_namelen = unix_address(&un, path),
		.msg_iov = (struct iovec *)parts,
		.msg_iovlen = count,
	};
	size_t total = 0;
	bool done;
	int fd;

	if (msg.msg_namelen == 0)
		return false;
	for (size_t i = 0; i < count; i++)
		total += parts[i].iov_len;
	fd = sys_off_stdio(sys_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return false;
	done = sys_sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)total;
	sys_close(fd);
	return done;
}

bool sink_to_unix(const char *path, const struct sink_line *line)
{
	const struct iovec part = { (char *)line->text, line->len };

	return send_datagram(path, &part, 1);
}

bool sink_to_syslog(const char *path, const struct sink_line *line)
{
	/* Facility "user" (1), and the severities of RFC 3164. */
	static const unsigned char severity[] = {
		[LOG_ERROR_LEVEL] = 3,
		[LOG_WARN_LEVEL] = 4,
		[LOG_INFO_LEVEL] = 6,
		[LOG_DEBUG_LEVEL] = 7,
	};
	unsigned level = line->level < ARRAY_LEN(severity) ? line->level : LOG_DEBUG_LEVEL;
	size_t skip = 0, len = line->len;
	char head[48];
	struct iovec parts[2];
	struct fmt f;

	if (line->format == LOG_TEXT)
		skip = render_stamp_len(line->text, len);
	if (len > skip && line->text[len - 1] == '\n')
		len--;
	fmt_init(&f, head, sizeof(head));
	fmt_char(&f, '<');
	fmt_u64(&f, 8U + severity[level]);
	fmt_str(&f, ">libretry[");
	fmt_u64(&f, (uint64_t)line->pid);
	fmt_str(&f, "]: ");
	parts[0] = (struct iovec){ head, fmt_end(&f) };
	parts[1] = (struct iovec){ (char *)line->text + skip, len - skip };
	return send_datagram(path, parts, ARRAY_LEN(parts));
}

bool sink_write(const struct log_settings *settings, const struct sink_id *id,
                const struct sink_line *line)
{
	switch (settings->to) {
	case LOG_TO_STDERR:
		return sink_to_fd(STDERR_FILENO, id, line);
	case LOG_TO_FD:
		return sink_to_fd(settings->fd, id, line);
	case LOG_TO_FILE:
		return sink_to_file(settings->path, line);
	case LOG_TO_UNIX:
		return sink_to_unix(settings->path, line);
	case LOG_TO_SYSLOG:
		return sink_to_syslog(SINK_SYSLOG, line);
	case LOG_TO_NONE:
		break;
	}
	return true;
}
