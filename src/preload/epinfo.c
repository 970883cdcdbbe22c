/* SPDX-License-Identifier: MIT */
#include "preload/epinfo.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/compat.h"
#include "base/duration.h"
#include "base/fmt.h"
#include "base/sys.h"
#include "state/fdtab.h"

#define READ_MAX (1024 * 1024)
#define LINE_MAX_SIZE 160
#define CHUNK_SIZE 256

/* Records whose inode is looked at in one search. */
#define LOOKS_MAX 8192

#define PAUSE (50 * DUR_MS)

/* What the kernel keeps of a one-shot registration that has been reported. */
#define PRIVATE_EVENTS \
	((uint32_t)EPOLLONESHOT | (uint32_t)EPOLLET | (uint32_t)EPOLLWAKEUP | \
	 (uint32_t)EPOLLEXCLUSIVE)

static _Atomic int64_t not_before;

static const char *skip_spaces(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	return UINT32_MAX;
}

/* "<label> <number>" at <p>; what follows it, or NULL. */
static const char *field(const char *p, const char *label, unsigned base, uint64_t max,
                         uint64_t *value)
{
	size_t len = strlen(label);
	uint64_t v = 0;

	if (!p)
		return NULL;
	p = skip_spaces(p);
	if (strncmp(p, label, len) != 0)
		return NULL;
	p = skip_spaces(p + len);
	if (digit_value(*p) >= base)
		return NULL;
	for (unsigned d; (d = digit_value(*p)) < base; p++) {
		if (v > (max - d) / base)
			return NULL;
		v = v * base + d;
	}
	*value = v;
	return p;
}

bool epinfo_parse(const char *line, struct epinfo *e)
{
	uint64_t fd = 0;
	uint64_t events = 0;
	uint64_t pos = 0;
	const char *p = field(line, "tfd:", 10, INT_MAX, &fd);

	p = field(p, "events:", 16, UINT32_MAX, &events);
	p = field(p, "data:", 16, UINT64_MAX, &e->data);
	p = field(p, "pos:", 10, UINT64_MAX, &pos);
	p = field(p, "ino:", 16, UINT64_MAX, &e->ino);
	if (!p || (*p && *p != ' '))
		return false;
	e->fd = (int)fd;
	e->events = (uint32_t)events;
	return true;
}

static int first_of(const struct pend_ref *ref)
{
	return atomic_load_explicit(&ref->p->fds[0], memory_order_relaxed);
}

/* The live record that has the socket <st>; *looks bounds the search. */
static bool find_record(const struct stat *st, unsigned *looks, struct pend_ref *ref)
{
	unsigned at = 0;

	fdtab_record_all();
	while (*looks && fdtab_next(&at, ref)) {
		int fd = first_of(ref);
		struct stat own;

		(*looks)--;
		if (fd >= 0 && sys_fstat(fd, &own) == 0 && own.st_ino == st->st_ino &&
		    own.st_dev == st->st_dev)
			return true;
	}
	return false;
}

/* What the program asked for. Of a one-shot registration the kernel has dropped
 * that when it made its report, which then has to tell: a failed socket is ready
 * for everything but urgent data. */
static uint32_t asked_for(const struct epinfo *e, uint32_t reported)
{
	if ((e->events & EPOLLONESHOT) && !(e->events & ~PRIVATE_EVENTS))
		return e->events | reported;
	return e->events;
}

/* What of one search has been seen. */
struct sought {
	int epfd;
	uint32_t events;
	uint64_t data;
	unsigned looks; /* that are left */
	bool is_list;   /* there is any registration: it is a set, and the kernel tells */
	bool is_there;
	bool is_lost;   /* or not to be understood */
};

/* The registration is of the file <st>, which has its number still. */
static LR_NOINLINE bool leads_to_record(struct sought *s, const struct epinfo *e,
                                        const struct stat *st)
{
	struct pend_ref ref;
	struct pend_ref known;

	if (fdtab_find(e->fd, &known) && first_of(&known) == e->fd)
		return true;
	if (!find_record(st, &s->looks, &ref)) {
		s->is_lost |= s->looks == 0;
		return false;
	}
	if ((fdtab_find(e->fd, &known) && known.p == ref.p) || fdtab_join(&ref, e->fd, false))
		return true;
	/* There is no room for it. */
	s->is_lost = true;
	return false;
}

/*
 * A registration belongs to an open file, and the number that it was made under
 * may be another file's by now: then nobody can modify it any more, and it is of
 * no use to us. <line> is "" for one that is too long. The descriptor that was
 * learnt, or -1.
 */
static int learn_line(struct sought *s, const char *line)
{
	struct epinfo e;
	struct stat st;

	if (!epinfo_parse(line, &e)) {
		s->is_lost |= !*line || strncmp(line, "tfd:", 4) == 0;
		return -1;
	}
	s->is_list = true;
	if (e.data != s->data)
		return -1;
	s->is_there = true;
	if (sys_fstat(e.fd, &st) != 0 || (uint64_t)st.st_ino != e.ino) {
		s->is_lost = true;
	} else if (S_ISSOCK(st.st_mode) && leads_to_record(s, &e, &st)) {
		fdtab_watch_set(e.fd, s->epfd, asked_for(&e, s->events), s->data);
		return e.fd;
	}
	return -1;
}

/* The registrations as they are read from <info>; see epinfo_learn(). */
static int search(int info, struct sought *s)
{
	char chunk[CHUNK_SIZE];
	char line[LINE_MAX_SIZE];
	size_t total = 0;
	size_t len = 0;

	while (total < READ_MAX) {
		ssize_t n = sys_read(info, chunk, sizeof(chunk));

		if (n == 0 && s->is_list && !s->is_lost)
			return s->is_there ? EPINFO_OTHER : EPINFO_GONE;
		if (n <= 0)
			return EPINFO_UNKNOWN;
		total += (size_t)n;
		for (ssize_t i = 0; i < n; i++) {
			int fd;

			if (chunk[i] != '\n') {
				if (len < sizeof(line))
					line[len++] = chunk[i];
				continue;
			}
			line[len < sizeof(line) ? len : 0] = '\0';
			len = 0;
			fd = learn_line(s, line);
			if (fd >= 0)
				return fd;
		}
	}
	return EPINFO_UNKNOWN;
}

LR_NOINLINE int epinfo_learn_at(int epfd, uint32_t events, uint64_t data, int64_t now)
{
	struct sought s = { .epfd = epfd, .events = events, .data = data, .looks = LOOKS_MAX };
	int found = EPINFO_UNKNOWN;
	char path[48];
	struct fmt f;
	int info;

	if (epfd < 0 || now < atomic_load_explicit(&not_before, memory_order_relaxed))
		return EPINFO_UNKNOWN;
	fmt_init(&f, path, sizeof(path));
	/* A thread may have a table of its own. */
	fmt_str(&f, "/proc/thread-self/fdinfo/");
	fmt_u64(&f, (uint64_t)epfd);
	fmt_end(&f);
	info = sys_off_stdio(sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0));
	if (info >= 0) {
		found = search(info, &s);
		sys_close(info);
	}
	if (found == EPINFO_UNKNOWN)
		atomic_store_explicit(&not_before, now + PAUSE, memory_order_relaxed);
	return found;
}

/* Searches that tell something take a tenth of the time at most. */
int epinfo_learn(int epfd, uint32_t events, uint64_t data)
{
	int64_t began = sys_monotonic();
	int found = epinfo_learn_at(epfd, events, data, began);

	if (found == EPINFO_GONE || found == EPINFO_OTHER) {
		int64_t now = sys_monotonic();

		atomic_store_explicit(&not_before, now + 9 * (now - began), memory_order_relaxed);
	}
	return found;
}
