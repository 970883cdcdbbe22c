/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/fmt.h"
#include "cli/elf.h"
#include "cli/need.h"
#include "cli/preload_path.h"
#include "cli/show.h"
#include "cli/surroundings.h"
#include "policy/match.h"

#define SYSTEM_PRELOAD "/etc/ld.so.preload"
#define SAID_MAX 512

/* The child's part: this very command under the library, saying nothing but what
 * the loader says. */
static _Noreturn void probe_child(const char *library, const char *self, int to)
{
	char *args[] = { (char *)"libretry", (char *)"--version", NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(to, STDERR_FILENO) < 0 || setenv("LD_PRELOAD", library, 1) != 0)
		_exit(126);
	execv(self, args);
	_exit(126);
}

/* True, and what was said in <said>, if something is wrong. */
static bool probe(const char *library, const char *self, char *said, size_t size)
{
	size_t have = 0;
	int ends[2], status = 0;
	ssize_t got;
	pid_t child;

	said[0] = '\0';
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	fflush(NULL);
	child = fork();
	if (child == 0)
		probe_child(library, self, ends[1]);
	close(ends[1]);
	while (child > 0 && have + 1 < size &&
	       (got = read(ends[0], said + have, size - 1 - have)) > 0)
		have += (size_t)got;
	close(ends[0]);
	said[have] = '\0';
	said[strcspn(said, "\n")] = '\0';
	if (child < 0 || waitpid(child, &status, 0) != child)
		return false;
	if (!have && status != 0)
		snprintf(said, size, "this command does not start with it");
	return have || status != 0;
}

/* A library for another kind of program than this command cannot be tried. */
static bool can_probe(const char *library, const char *self)
{
	struct elf a, b;
	bool same = false;

	if (strchr(library, '$'))
		return true;
	if (!elf_open(&a, library))
		return true;
	if (elf_open(&b, self)) {
		same = elf_same_kind(&a, &b);
		elf_close(&b);
	}
	elf_close(&a);
	return same;
}

void library_findings(const char *given, const char *self, bool try, char *out, size_t size,
                      struct findings *f)
{
	char said[SAID_MAX];

	if (!preload_find(given, self, out, size)) {
		findings_add(f, FINDING_LIBRARY_MISSING, given ? given : out, strerror(errno));
		out[0] = '\0';
	} else if (preload_bad_byte(out)) {
		findings_add(f, FINDING_LIBRARY_PATH, out, NULL);
	} else if (try && can_probe(out, self) && probe(out, self, said, sizeof(said))) {
		findings_add(f, FINDING_LIBRARY_UNUSABLE, out, said);
	}
}

/* 0, or the errno that appending to <path>, which need not exist, would meet. */
static int file_trouble(const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct fmt f;

	if (access(path, W_OK) == 0)
		return 0;
	if (errno != ENOENT || !slash)
		return errno;
	fmt_init(&f, folder, sizeof(folder));
	fmt_mem(&f, path, (size_t)(slash - path) + 1);
	fmt_end(&f);
	return access(folder, W_OK | X_OK) == 0 ? 0 : errno;
}

/* 0, or the errno that a datagram to the socket <path> would meet. */
static int socket_trouble(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	int fd, trouble;

	if (len >= sizeof(to.sun_path))
		return ENAMETOOLONG;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	trouble = connect(fd, (const struct sockaddr *)&to,
	                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
	                              (path[0] == '@' ? 0 : 1))) == 0
	                  ? 0
	                  : errno;
	close(fd);
	return trouble;
}

static void log_findings(struct setup *s, struct findings *f)
{
	static const char *const words[] = { "stderr", "syslog", "file", "unix", "fd", "none" };
	const struct log_settings *log = &s->config->log;
	const char *path = log->path;
	int trouble = 0;

	s->log = words[log->to];
	if (log->to == LOG_TO_FILE) {
		trouble = file_trouble(path);
	} else if (log->to == LOG_TO_UNIX) {
		trouble = socket_trouble(path);
	} else if (log->to == LOG_TO_SYSLOG) {
		path = "/dev/log";
		trouble = socket_trouble(path);
	}
	if (trouble)
		findings_add(f, FINDING_LOG, path, strerror(trouble));
}

static void program_findings(const struct config *c, const struct env *env, const char *exe,
                             struct findings *f)
{
	const struct program_rule *rule = exe ? match_program(&c->set, exe) : NULL;
	bool own = rule && rule->mode_set && !env_get(env, ENV_MODE);
	enum mode mode = own ? rule->mode : c->mode;

	if (rule && !rule->enabled) {
		char *place = need_text("%s:%u", rule->source.file ? rule->source.file : "",
		                        rule->source.line);

		findings_add(f, FINDING_PROGRAM_DISABLED, exe, place);
		free(place);
	}
	if (mode == MODE_OBSERVE)
		findings_add(f, FINDING_OBSERVE, exe, NULL);
}

static void note_policy(struct setup *s, const struct policy *p, const char **name)
{
	int64_t wait = p ? show_worst_wait(p) : 0;

	if (wait <= s->worst_wait)
		return;
	s->worst_wait = wait;
	*name = p->name;
}

static void grace_findings(struct setup *s, int64_t grace, struct findings *f)
{
	const struct policy_set *set = &s->config->set;
	const char *name = "";
	char text[160];
	struct fmt t;

	s->term_stops = (s->config->process.stop_on & (UINT64_C(1) << SIGTERM)) != 0;
	note_policy(s, set->fallback_policy, &name);
	for (unsigned i = 0; i < set->rule_count; i++)
		note_policy(s, set->rules[i].policy, &name);
	for (unsigned i = 0; i < set->program_count; i++)
		note_policy(s, set->programs[i].policy, &name);
	if (grace < 0 || s->term_stops || s->worst_wait <= grace)
		return;
	fmt_init(&t, text, sizeof(text));
	fmt_str(&t, "policy ");
	fmt_word(&t, name, 64);
	fmt_str(&t, " waits for up to ");
	fmt_dur(&t, s->worst_wait);
	fmt_end(&t);
	findings_add(f, FINDING_GRACE, s->in_use.file, text);
}

void setup_findings(struct setup *s, const struct env *env, const char *given, const char *exe,
                    int64_t grace, diag_fn *report, struct findings *f)
{
	const struct config *c;

	memset(s, 0, sizeof(*s));
	if (env_flag(env, ENV_DISABLE))
		findings_add(f, FINDING_DISABLED, exe, NULL);
	s->in_use = in_use_find(env, given, true, s->path, sizeof(s->path));
	s->config = need(config_load(s->in_use.file, s->in_use.file ? &lcapi_direct : NULL, env,
	                             report, NULL));
	c = s->config;
	if (c->errors && env_flag(env, ENV_STRICT))
		findings_add(f, FINDING_STRICT, s->in_use.file, NULL);
	else if (c->unreadable)
		findings_add(f, FINDING_CONFIG_UNREADABLE, s->in_use.file, NULL);
	else if (c->errors)
		findings_add(f, FINDING_CONFIG_ERRORS, s->in_use.file, NULL);
	else if (c->warnings || c->unknown)
		findings_add(f, FINDING_CONFIG_WARNINGS, s->in_use.file, NULL);
	program_findings(c, env, exe, f);
	log_findings(s, f);
	grace_findings(s, grace, f);
	if (LR_JUMPS && s->config->process.clear_deepbind)
		findings_change(f, FINDING_DEEPBIND, FINDING_DEEPBIND_CLEARED);
}

void setup_free(struct setup *s)
{
	config_free(s->config);
	s->config = NULL;
}

void system_preload_findings(struct findings *f)
{
	FILE *file = fopen(SYSTEM_PRELOAD, "re");
	char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0) {
		line[strcspn(line, "#\n")] = '\0';
		if (line[strspn(line, " \t:")])
			findings_add(f, FINDING_SYSTEM_PRELOAD, NULL, line);
	}
	free(line);
	if (file)
		fclose(file);
}
