/* SPDX-License-Identifier: MIT */
#include "log/log.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/filename.h"
#include "base/sys.h"
#include "log/flood.h"
#include "log/render.h"
#include "log/sink.h"

static const struct log_settings *current;
/* How calls ended has a limit of its own: their retries, which are more, must not use it
 * up, or an outage could not be counted from the log. */
static struct flood flood;
static struct flood outcomes;
static uint32_t dropped;

/* What descriptor 2 was at the start, and what the log's own one was. */
static struct sink_id stderr_id;
static struct sink_id fd_id;

static const struct log_settings *settings(void)
{
	return __atomic_load_n(&current, __ATOMIC_ACQUIRE);
}

void log_start(void)
{
	sink_identify(&stderr_id, STDERR_FILENO);
}

void log_identify(int fd)
{
	sink_identify(&fd_id, fd);
}

void log_configure(const struct log_settings *s)
{
	__atomic_store_n(&current, s, __ATOMIC_RELEASE);
}

static bool wanted(const struct log_settings *s, enum log_level level)
{
	return s && s->to != LOG_TO_NONE && level <= s->level;
}

bool log_wants(enum log_level level)
{
	const struct log_settings *s = settings();

	return wanted(s, level) || (s && s->timeline[0] && level <= LOG_INFO_LEVEL);
}

/* Out of line: the buffer is on the stack only while it is needed. To the file <path>, if
 * there is one, in the form that all who read a log know best. */
LR_NOINLINE static void write_event(const struct log_settings *s, const struct event *e,
                                    const char *path)
{
	enum log_format format = path ? LOG_TEXT : s->format;
	char text[LOG_LINE_MAX + 1];
	struct render_stamp stamp = { .pid = sys_getpid() };
	struct sink_line line = {
		.text = text, .level = event_level(e), .format = format, .pid = stamp.pid,
		.timeline = path != NULL
	};
	bool to_stderr = s->to == LOG_TO_STDERR || s->fd == STDERR_FILENO;
	struct timespec now;
	struct fmt f;

	if (clock_gettime(CLOCK_REALTIME, &now) == 0) {
		stamp.seconds = now.tv_sec;
		stamp.nanoseconds = now.tv_nsec;
	}
	fmt_init(&f, text, sizeof(text));
	render_event(&f, format, e, &stamp);
	line.len = f.len;
	if (path)
		sink_to_file(path, &line);
	else if (!sink_write(s, to_stderr ? &stderr_id : &fd_id, &line))
		__atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
}

/* Not gated by level: it stands for lines that had passed the gate. */
LR_NOINLINE static void write_summary(const struct log_settings *s, const struct flood_held *held)
{
	const struct event e = {
		.kind = EVENT_SUPPRESSED,
		.dest = held->dest[0] ? held->dest : NULL,
		.lines = held->lines,
	};

	write_event(s, &e, NULL);
}

static int64_t monotonic(void)
{
	struct timespec now = { 0, 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * DUR_S + now.tv_nsec;
}

/* What tells when a destination was down: failed attempts, the success after them, and
 * that a success was one of another place. */
static bool tells_of_outage(enum event_kind kind)
{
	return kind == EVENT_RETRY || kind == EVENT_WOULD_RETRY || kind == EVENT_GAVE_UP ||
	       kind == EVENT_RECOVERED || kind == EVENT_FALLBACK || kind == EVENT_INJECTED;
}

/* No flood protection: an outage is measured by all of its failures. */
LR_NOINLINE static void write_timeline(const struct log_settings *s, const struct event *e)
{
	char path[LOG_PATH_MAX];
	struct fmt f;

	fmt_init(&f, path, sizeof(path));
	if (filename_expand(&f, s->timeline))
		write_event(s, e, path);
}

static bool is_outcome(enum event_kind kind)
{
	return kind == EVENT_RECOVERED || kind == EVENT_GAVE_UP || kind == EVENT_ABANDONED;
}

static uint32_t times(uint32_t burst, uint32_t n)
{
	return burst > UINT32_MAX / n ? UINT32_MAX : burst * n;
}

void log_emit(const struct event *e)
{
	const struct log_settings *s = settings();
	struct flood_limit limit;
	struct flood_held held;
	int saved = errno; /* clock_gettime() may be another library's */
	bool admitted, outcome;

	if (s && s->timeline[0] && tells_of_outage(e->kind)) {
		write_timeline(s, e);
		errno = saved;
	}
	if (!wanted(s, event_level(e)))
		return;
	outcome = is_outcome(e->kind);
	limit = (struct flood_limit){ outcome ? times(s->burst, LOG_OUTCOMES) : s->burst, s->per };
	admitted = flood_admit(outcome ? &outcomes : &flood, &limit,
	                       e->dest ? e->dest : event_name(e->kind), e->dest != NULL, monotonic(), &held);
	if (held.lines > 0)
		write_summary(s, &held);
	if (admitted)
		write_event(s, e, NULL);
	errno = saved;
}

void log_flush(void)
{
	const struct log_settings *s = settings();
	struct flood_held held;
	unsigned cursor = 0;
	int saved = errno;

	if (!s || s->to == LOG_TO_NONE)
		return;
	while (flood_drain(&flood, &cursor, &held))
		write_summary(s, &held);
	cursor = 0;
	while (flood_drain(&outcomes, &cursor, &held))
		write_summary(s, &held);
	errno = saved;
}

void log_postfork_child(void)
{
	flood_forget(&flood);
	flood_forget(&outcomes);
}

uint32_t log_dropped(void)
{
	return __atomic_load_n(&dropped, __ATOMIC_RELAXED);
}
