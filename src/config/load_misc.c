/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <string.h>

#include "base/compat.h"
#include "config/loader.h"

/* Signals that may end a wait. Synchronous ones and those that no handler can
 * catch are known, to say why they are refused. */
static const struct {
	const char *name;
	int number;
	bool refused;
} signals[] = {
	{ "SIGTERM", SIGTERM, false },     { "SIGINT", SIGINT, false },
	{ "SIGHUP", SIGHUP, false },       { "SIGQUIT", SIGQUIT, false },
	{ "SIGUSR1", SIGUSR1, false },     { "SIGUSR2", SIGUSR2, false },
	{ "SIGALRM", SIGALRM, false },     { "SIGVTALRM", SIGVTALRM, false },
	{ "SIGPROF", SIGPROF, false },     { "SIGPWR", SIGPWR, false },
	{ "SIGXCPU", SIGXCPU, false },     { "SIGXFSZ", SIGXFSZ, false },
	{ "SIGTSTP", SIGTSTP, false },     { "SIGCONT", SIGCONT, false },
	{ "SIGTTIN", SIGTTIN, false },     { "SIGTTOU", SIGTTOU, false },
	{ "SIGIO", SIGIO, false },         { "SIGPOLL", SIGPOLL, false },
	{ "SIGURG", SIGURG, false },       { "SIGWINCH", SIGWINCH, false },
	{ "SIGCHLD", SIGCHLD, false },     { "SIGPIPE", SIGPIPE, false },
	{ "SIGKILL", SIGKILL, true },      { "SIGSTOP", SIGSTOP, true },
	{ "SIGSEGV", SIGSEGV, true },      { "SIGBUS", SIGBUS, true },
	{ "SIGFPE", SIGFPE, true },        { "SIGILL", SIGILL, true },
	{ "SIGTRAP", SIGTRAP, true },      { "SIGABRT", SIGABRT, true },
	{ "SIGSYS", SIGSYS, true },        { "SIGSTKFLT", SIGSTKFLT, true },
};

static void add_signal(const struct node *n, uint64_t *set)
{
	const char *text = node_text(n);
	struct nearest near;
	char buf[64];
	struct fmt f;

	if (!text) {
		node_wrong_type(n, "the name of a signal in quotes");
		return;
	}
	near = nearest_to(text);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		if (strcmp(signals[i].name + 3, text) == 0)
			near = (struct nearest){ text, signals[i].name, 0 };
		nearest_offer(&near, signals[i].name);
		if (strcmp(signals[i].name, text) != 0)
			continue;
		if (signals[i].refused)
			node_fault(n, DIAG_ERROR, "cannot end a wait (SIGTERM, SIGINT, SIGHUP, "
			                          "SIGQUIT, SIGUSR1, ...)");
		else
			*set |= UINT64_C(1) << signals[i].number;
		return;
	}
	fmt_init(&f, buf, sizeof(buf));
	nearest_say(&f, &near);
	fmt_end(&f);
	node_fault(n, DIAG_ERROR,
	           "unknown (SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, ...)%s", buf);
}

static void read_process(void *ctx, const struct node *n, const struct key *k, void *target)
{
	struct process_settings *p = target;

	(void)ctx;
	if (strcmp(k->name, "host_group") == 0) {
		host_group_read(n, p);
		return;
	}
	if (!node_is_list(n)) {
		node_wrong_type(n, "a list of texts, such as [ \"SIGTERM\", \"SIGINT\" ],");
		return;
	}
	p->stop_on = 0;
	for (unsigned i = 0; i < node_count(n); i++) {
		struct node name = node_at(n, i);

		add_signal(&name, &p->stop_on);
	}
}

/* The descriptor of "fd:N"; -1 if it is none. */
static int fd_number(const char *s)
{
	int n = 0;

	if (!*s || strlen(s) > 6)
		return -1;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return -1;
		n = n * 10 + (*s - '0');
	}
	return n;
}

/* The path behind "file:" or "unix:" into <out>; false after saying why not. */
static bool path_from(const char *path, char *out, size_t size, struct fmt *why)
{
	size_t len = strlen(path);

	if (*path != '/') {
		fmt_str(why, "needs an absolute path (file:/var/log/libretry.log)");
		return false;
	}
	if (len >= size) {
		diag_format(why, "has too long a path (at most %u bytes)", (unsigned)size - 1);
		return false;
	}
	memcpy(out, path, len + 1);
	return true;
}

bool log_to_parse(const char *text, struct log_settings *s, struct fmt *why)
{
	static const struct choice words[] = {
		{ "stderr", LOG_TO_STDERR }, { "syslog", LOG_TO_SYSLOG }, { "none", LOG_TO_NONE },
		{ "", 0 },
	};
	struct nearest near = nearest_to(text);
	bool file = strncmp(text, "file:", 5) == 0;

	if (file || strncmp(text, "unix:", 5) == 0) {
		if (!path_from(text + 5, s->path, sizeof(s->path), why))
			return false;
		s->to = file ? LOG_TO_FILE : LOG_TO_UNIX;
		return true;
	}
	if (strncmp(text, "fd:", 3) == 0 && fd_number(text + 3) >= 0) {
		s->fd = fd_number(text + 3);
		s->to = LOG_TO_FD;
		return true;
	}
	for (const struct choice *c = words; *c->word; c++) {
		nearest_offer(&near, c->word);
		if (strcmp(c->word, text) == 0) {
			s->to = (enum log_to)c->value;
			return true;
		}
	}
	fmt_str(why, "unknown (stderr, syslog, file:PATH, unix:PATH, fd:N, none)");
	nearest_say(why, &near);
	return false;
}

static void read_log(void *ctx, const struct node *n, const struct key *k, void *target)
{
	struct log_settings *s = target;
	char buf[256];
	struct fmt why;

	(void)ctx;
	(void)k;
	fmt_init(&why, buf, sizeof(buf));
	if (!node_text(n)) {
		node_wrong_type(n, "a text in quotes");
	} else if (!log_to_parse(node_text(n), s, &why)) {
		fmt_end(&why);
		node_fault(n, DIAG_ERROR, "%s", buf);
	} else if (s->to == LOG_TO_FD && s->fd != 2) {
		node_fault(n, DIAG_WARNING,
		           "nothing will be written (only LIBRETRY_LOG can name a descriptor: what a "
		           "program has there is not known from a file)");
	}
}

bool stats_to_parse(const char *text, bool *shm, char *path, struct fmt *why)
{
	bool to_shm = shm && strcmp(text, "shm") == 0;

	if (strncmp(text, "file:", 5) == 0) {
		if (!path_from(text + 5, path, LOG_PATH_MAX, why))
			return false;
	} else if (to_shm || strcmp(text, "none") == 0) {
		path[0] = '\0';
	} else {
		fmt_str(why, shm ? "unknown (none, file:PATH, shm)" : "unknown (none, file:PATH)");
		return false;
	}
	if (shm)
		*shm = to_shm;
	return true;
}

/* "to" and "timeline". */
static void read_stats(void *ctx, const struct node *n, const struct key *k, void *target)
{
	bool timeline = strcmp(k->name, "timeline") == 0;
	struct config *c = ctx;
	char buf[256];
	struct fmt why;

	(void)target;
	fmt_init(&why, buf, sizeof(buf));
	if (!node_text(n)) {
		node_wrong_type(n, "a text in quotes");
		return;
	}
	if (timeline ? stats_to_parse(node_text(n), NULL, c->log.timeline, &why)
	             : stats_to_parse(node_text(n), &c->process.stats_shm, c->stats.path, &why))
		return;
	fmt_end(&why);
	node_fault(n, DIAG_ERROR, "%s", buf);
}

void misc_read(struct loader *ld, const struct node *n)
{
	if (strcmp(n->key, "process") == 0)
		group_read(n, PLACE_PROCESS, &ld->out->process, read_process, NULL);
	else if (strcmp(n->key, "log") == 0)
		group_read(n, PLACE_LOG, &ld->out->log, read_log, NULL);
	else if (strcmp(n->key, "stats") == 0)
		group_read(n, PLACE_STATS, &ld->out->stats, read_stats, ld->out);
	else
		inject_read(ld, n);
}
