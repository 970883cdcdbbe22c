/* SPDX-License-Identifier: MIT */
/* "hold" and "release": nobody may try a destination for a while. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fmt.h"
#include "base/glob.h"
#include "cli/cli.h"
#include "cli/out.h"
#include "cli/segment.h"

static const char help_hold[] =
	"Usage: libretry hold [OPTION]... DEST TIME\n"
	"Keep programs under the library from trying a destination for TIME (\"30s\"), for\n"
	"instance while it is being restarted: their retries wait until the time is over\n"
	"or \"libretry release DEST\" ends it, or until their own deadlines. DEST is written\n"
	"as \"libretry stats\" shows it (db1:5432, /run/db.sock), or a pattern ('db*:5432').\n"
	"\n"
	"It is heard by programs whose policy says scope = \"user\" (or \"host\", see --group)\n"
	"in its budget, and by those with statistics on. First attempts wait only where the\n"
	"policy has a breaker, or coordinate = true.\n"
	"\n"
	"  -p, --policy=POLICY  only under this policy\n"
	"  -u, --user=USER      for this user's programs, for root\n"
	"  -g, --group=GROUP    for this group's (process.host_group)\n"
	"  -h, --help           print this text\n"
	"\n"
	"Exit status: 0 done, 1 it cannot be done, 2 a wrong option or argument.\n"
	"\n"
	"Examples:\n"
	"  libretry hold db1:5432 30s && systemctl restart postgresql; libretry release db1:5432\n"
	"  libretry hold -p patient 'db*:5432' 2m\n";

static const char help_release[] =
	"Usage: libretry release [OPTION]... DEST\n"
	"End \"libretry hold\" before its time. Who waits tries again within 0.1 s. DEST is\n"
	"written as \"libretry stats\" shows it, or a pattern ('db*:5432').\n"
	"\n"
	"  -p, --policy=POLICY  only under this policy\n"
	"  -u, --user=USER      for this user's programs, for root\n"
	"  -g, --group=GROUP    for this group's (process.host_group)\n"
	"  -h, --help           print this text\n"
	"\n"
	"Exit status: 0 done, 1 no such destination is known, 2 a wrong option or argument.\n"
	"\n"
	"Examples:\n"
	"  libretry release db1:5432\n"
	"  libretry release '*'\n";

struct job {
	const char *command, *help;
	const char *dest, *policy, *user, *group;
	int64_t time;  /* ns; 0: release */
	int64_t until; /* 0, or when it ends */
	unsigned count;
	struct {
		char dest[SLOT_TEXT + 1], policy[SLOT_POLICY + 1];
		bool held; /* before */
	} done[SHM_SLOTS];
};

static int usage(const struct job *j)
{
	fprintf(stderr, "Try \"libretry %s --help\".\n", j->command);
	return EXIT_USAGE;
}

/* -1: go on; else the exit status. */
static int options(struct job *j, int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "user", required_argument, NULL, 'u' },
		{ "group", required_argument, NULL, 'g' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};

	for (int c; (c = getopt_long(argc, argv, "p:u:g:h", long_options, NULL)) != -1;) {
		switch (c) {
		case 'p': j->policy = optarg; break;
		case 'u': j->user = optarg; break;
		case 'g': j->group = optarg; break;
		case 'h':
			fputs(j->help, stdout);
			return cli_finish(EXIT_SUCCESS, EXIT_USAGE);
		default:
			return usage(j);
		}
	}
	return -1;
}

static int arguments(struct job *j, bool with_time, int argc, char **argv)
{
	enum dur_status status;

	if (argc - optind != 1 + with_time) {
		cli_say("%s: what is wanted is DEST%s", j->command,
		        with_time ? " and TIME, as in: hold db1:5432 30s" : "");
		return usage(j);
	}
	j->dest = argv[optind];
	if (!j->dest[0]) {
		cli_say("%s: DEST is empty", j->command);
		return usage(j);
	}
	if (!with_time)
		return -1;
	status = dur_parse(argv[optind + 1], &j->time);
	if (status == DUR_OK && j->time > 0)
		return -1;
	cli_say("%s: \"%s\" %s", j->command, argv[optind + 1],
	        status == DUR_OK ? "is no time" : dur_status_text(status));
	return usage(j);
}

static bool is_pattern(const char *text)
{
	return strpbrk(text, "*?") != NULL;
}

/* What the library could ever call a destination. */
static bool is_destination(const char *text)
{
	const char *colon = strrchr(text, ':');

	return text[0] == '/' || text[0] == '@' || strncmp(text, "lookup:", 7) == 0 ||
	       (colon && colon > text && colon[1] &&
	        strspn(colon + 1, "0123456789") == strlen(colon + 1));
}

/* As "stats" shows it; "[::1]:80" looks like a pattern and is none. */
static bool is_meant(const struct job *j, const char *dest, const char *policy)
{
	return (!j->policy || strcmp(j->policy, policy) == 0) &&
	       (strcmp(j->dest, dest) == 0 ||
	        (is_pattern(j->dest) && glob_match(j->dest, dest, strlen(dest), 0)));
}

static void words(char *to, const _Atomic uint64_t *from, size_t size)
{
	for (size_t i = 0; i < size / 8; i++) {
		uint64_t w = atomic_load_explicit(&from[i], memory_order_relaxed);

		memcpy(to + 8 * i, &w, 8);
	}
	to[size] = '\0';
}

static void set_holds(void *arg, struct shm_header *h, struct slot *slots)
{
	struct job *j = arg;
	int64_t now = slot_now();

	(void)h;
	j->count = 0;
	j->until = j->time ? dur_add(now, j->time) : 0;
	for (unsigned i = 0; i < SHM_SLOTS; i++) {
		struct slot *s = &slots[i];

		if (!atomic_load(&s->key) || !atomic_load(&s->named))
			continue;
		words(j->done[j->count].dest, s->text, SLOT_TEXT);
		words(j->done[j->count].policy, s->policy, SLOT_POLICY);
		if (!is_meant(j, j->done[j->count].dest, j->done[j->count].policy))
			continue;
		j->done[j->count].held =
			(int64_t)atomic_exchange(&s->hold, (uint64_t)j->until) > now;
		j->count++;
	}
}

/* A place for who has not met a failure yet. False after a message. */
static bool make_slot(const struct job *j, const struct segment *s)
{
	enum scope scope = s->gid >= 0 ? SCOPE_HOST : SCOPE_USER;
	bool shared = false;
	const char *why;

	shm_set_group(s->gid);
	if (shm_slot(scope, j->dest, j->policy ? j->policy : "default", &shared) && shared)
		return true;
	why = shm_trouble();
	cli_say("%s", why ? why : "there is no place left in the segment");
	return false;
}

/* Another user's segment is to belong to him. */
static bool make_slot_as(const struct job *j, const struct segment *s)
{
	int status = 0;
	pid_t pid;

	if (s->gid >= 0 || s->uid == geteuid())
		return make_slot(j, s);
	pid = fork();
	if (pid == 0) {
		if (seteuid((uid_t)s->uid) == 0)
			_exit(make_slot(j, s) ? EXIT_SUCCESS : EXIT_FAILURE);
		cli_say("%s: only root may hold for others (%s)", s->whose, strerror(errno));
		_exit(EXIT_FAILURE);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void tell(const struct job *j, bool made)
{
	char time[32];
	struct fmt f;

	fmt_init(&f, time, sizeof(time));
	fmt_dur_exact(&f, j->time);
	fmt_end(&f);
	for (unsigned i = 0; i < j->count; i++) {
		char dest[SLOT_TEXT + 1], policy[SLOT_POLICY + 1];

		memcpy(dest, j->done[i].dest, sizeof(dest));
		memcpy(policy, j->done[i].policy, sizeof(policy));
		out_printable(dest);
		out_printable(policy);
		if (j->time)
			printf("%s (policy %s): held for %s%s\n", dest, policy, time,
			       j->done[i].held ? " from now on" : "");
		else
			printf("%s (policy %s): %s\n", dest, policy,
			       j->done[i].held ? "released" : "was not held");
	}
	if (made)
		cli_say("no failure of %s was known yet%s", j->dest,
		        j->policy ? "" : "; its policy is taken to be \"default\", else say "
		                         "which with -p");
}

static int work(struct job *j, const struct segment *s)
{
	bool make = j->time && !is_pattern(j->dest);
	bool made = false;
	int error = segment_with(s, true, set_holds, j);

	if (make && ((!error && !j->count) || error == ENOENT)) {
		if (!is_destination(j->dest)) {
			cli_say("%s: a destination has a port, as %s:5432; or a pattern is meant, "
			        "as '%s:*'", j->dest, j->dest, j->dest);
			return EXIT_USAGE;
		}
		made = make_slot_as(j, s);
		if (!made)
			return EXIT_FAILURE;
		error = segment_with(s, true, set_holds, j);
	}
	if (error && error != ENOENT) {
		segment_say(s, error);
		return EXIT_FAILURE;
	}
	if (error || !j->count) {
		cli_say("%s: no such destination is known%s%s; \"libretry stats\" shows them",
		        j->dest, j->policy ? " under the policy " : "",
		        j->policy ? j->policy : "");
		return EXIT_FAILURE;
	}
	tell(j, made);
	return cli_finish(EXIT_SUCCESS, EXIT_FAILURE);
}

static int command(struct job *j, bool with_time, int argc, char **argv)
{
	struct segment s;
	int status = options(j, argc, argv);

	if (status < 0)
		status = arguments(j, with_time, argc, argv);
	if (status >= 0)
		return status;
	return segment_choose(&s, j->user, j->group) ? work(j, &s) : EXIT_FAILURE;
}

int cmd_hold(int argc, char **argv)
{
	static struct job j = { .command = "hold", .help = help_hold };

	return command(&j, true, argc, argv);
}

int cmd_release(int argc, char **argv)
{
	static struct job j = { .command = "release", .help = help_release };

	return command(&j, false, argc, argv);
}
